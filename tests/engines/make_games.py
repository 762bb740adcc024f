"""Writes scripted_games.py: random chess games that end in mate after a given number
of plies and that no rule ends before.  Needs the `chess` library.

usage: python make_games.py > scripted_games.py
"""

from __future__ import annotations

import random
import textwrap
from itertools import count

import chess

LENGTHS = (40, 100, 200)


def random_game(seed: int, longest: int) -> list[str] | None:
    """Return a game ended by mate; None when it ends otherwise, is longer, comes
    back to a position, or has 40 moves without capture or pawn move."""
    rng = random.Random(seed)
    board = chess.Board()
    moves: list[str] = []
    seen: set[str] = set()
    while len(moves) <= longest:
        legal = list(board.legal_moves)
        if not legal:
            return moves if board.is_checkmate() else None
        position = board.epd()
        if position in seen or board.halfmove_clock >= 80 or board.is_insufficient_material():
            return None
        seen.add(position)
        move = rng.choice(legal)
        moves.append(move.uci())
        board.push(move)
    return None


def main() -> None:
    wanted = set(LENGTHS)
    games: dict[int, list[str]] = {}
    for seed in count():
        if not wanted:
            break
        game = random_game(seed, max(wanted))
        if game is not None and len(game) in wanted:
            wanted.remove(len(game))
            games[len(game)] = game
    print('"""Chess games that end in mate, by plies.  Made by make_games.py."""\n')
    print("GAMES: dict[int, str] = {")
    for plies, moves in sorted(games.items()):
        print(f"    {plies}: (")
        for line in textwrap.wrap(" ".join(moves), 84, drop_whitespace=False):
            print(f'        "{line}"')
        print("    ),")
    print("}")


if __name__ == "__main__":
    main()
