"""Print varied openings for self-play: the lines of a book, each with a few random legal moves.

Two equal engines repeat the same game from the same opening, but a set of labelled positions
needs thousands of games.

    python scripts/random_book.py chess controlfiles/openings.epd > book.epd
    python scripts/random_book.py shogi controlfiles/openings.sfen > book.sfen

Chess: all lines with none, one, two and three random moves, in random order.  Shogi: 1,600
positions, two to six random moves after the lines (needs cshogi, in the extra `test`).
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

SHOGI_POSITIONS = 1600


def chess_book(lines: list[str]) -> list[str]:
    """Return positions as EPD without operations."""
    import chess

    draw = random.Random(6)
    positions: dict[str, None] = {}
    for moves in range(4):
        for line in lines:
            board = chess.Board(" ".join(line.split()[:4]).rstrip(";") + " 0 1")
            for _ in range(moves):
                legal = list(board.legal_moves)
                if not legal:
                    break
                board.push(draw.choice(legal))
            if not board.is_game_over() and not board.is_check():
                positions[board.epd()] = None
    book = list(positions)
    draw.shuffle(book)
    return book


def shogi_book(lines: list[str]) -> list[str]:
    """Return positions as SFEN lines from lines `startpos moves …`."""
    import cshogi

    draw = random.Random(7)
    positions: dict[str, None] = {}
    number = 0
    while len(positions) < SHOGI_POSITIONS:
        board = cshogi.Board()
        for move in lines[number % len(lines)].split("moves")[1].split():
            board.push_usi(move)
        number += 1
        for _ in range(draw.choice([2, 3, 4, 5, 6])):
            legal = list(board.legal_moves)
            if not legal:
                break
            board.push(draw.choice(legal))
        if not board.is_check() and not board.is_game_over():
            positions[f"sfen {board.sfen()}"] = None
    return list(positions)


def main() -> None:
    """Print the book of a game."""
    game, path = sys.argv[1:]
    text = Path(path).read_text(encoding="utf-8").splitlines()
    lines = [line.strip() for line in text if line.strip() and not line.startswith("#")]
    book = {"chess": chess_book, "shogi": shogi_book}[game](lines)
    print("\n".join(book))


if __name__ == "__main__":
    main()
