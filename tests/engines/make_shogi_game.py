"""Writes scripted_shogi_game.py: the first 200 plies of a random shogi game in which
no position comes twice and no king is in check.  Needs the `cshogi` library.

usage: python make_shogi_game.py > scripted_shogi_game.py
"""

from __future__ import annotations

import random
import textwrap
from itertools import count

import cshogi

PLIES = 200


def random_game(seed: int) -> list[str] | None:
    """Return the moves; None when the game ends before, comes back to a position, or
    has a check (which keeps it far from every rule of repetition)."""
    rng = random.Random(seed)
    board = cshogi.Board()
    moves: list[str] = []
    seen: set[str] = set()
    while len(moves) < PLIES:
        position = board.sfen().rsplit(" ", 1)[0]
        if position in seen:
            return None
        seen.add(position)
        legal = sorted(cshogi.move_to_usi(move) for move in board.legal_moves)
        rng.shuffle(legal)
        for move in legal:
            board.push_usi(move)
            if not board.is_check():
                break
            board.pop()
        else:
            return None
        moves.append(move)
    return moves


def main() -> None:
    game = next(game for game in map(random_game, count()) if game is not None)
    print('"""A shogi game without an end.  Made by make_shogi_game.py."""\n')
    print("GAME = (")
    for line in textwrap.wrap(" ".join(game), 84, drop_whitespace=False):
        print(f'    "{line}"')
    print(")")


if __name__ == "__main__":
    main()
