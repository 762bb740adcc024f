"""Make controlfiles/openings.epd: short, varied, balanced chess openings.

Each opening is a random walk from the initial position, through moves that the engine scores
within MARGIN centipawns of the best.  A new position is written if a deeper search scores it
as balanced.  One thread and a cleared hash before every search give the same output for the same
seed and engine version.

    python scripts/make_openings.py --engine stockfish > controlfiles/openings.epd
"""

from __future__ import annotations

import argparse
import random
import sys

import chess
import chess.engine

MARGIN = 70
CHOICES = 8
WALK = chess.engine.Limit(depth=8)
CHECK = chess.engine.Limit(depth=14)


def candidates(engine: chess.engine.SimpleEngine, board: chess.Board) -> list[chess.Move]:
    """Return the moves at most MARGIN centipawns worse than the best."""
    lines = engine.analyse(board, WALK, multipv=CHOICES, game=object())
    scores = [line["score"].relative.score(mate_score=100_000) for line in lines]
    return [
        line["pv"][0]
        for line, score in zip(lines, scores, strict=True)
        if score >= scores[0] - MARGIN
    ]


def walk(engine: chess.engine.SimpleEngine, rng: random.Random, plies: int) -> chess.Board:
    """Return the position after `plies` random good moves."""
    board = chess.Board()
    for _ in range(plies):
        board.push(rng.choice(sorted(candidates(engine, board), key=str)))
    return board


def main() -> None:
    """Print the openings as EPD lines."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engine", default="stockfish", help="UCI engine for the scores")
    parser.add_argument("--count", type=int, default=1000, help="number of openings")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-score", type=int, default=60, help="centipawns, either side")
    arguments = parser.parse_args()

    rng = random.Random(arguments.seed)
    seen: set[str] = set()
    with chess.engine.SimpleEngine.popen_uci(arguments.engine) as engine:
        engine.configure({"Threads": 1})
        while len(seen) < arguments.count:
            board = walk(engine, rng, rng.choice((6, 8)))
            epd = board.epd()
            if epd in seen or board.is_check() or board.is_game_over():
                continue
            score = engine.analyse(board, CHECK, game=object())["score"].relative
            if abs(score.score(mate_score=100_000)) > arguments.max_score:
                continue
            seen.add(epd)
            print(f'{epd} id "demo.{len(seen):03d}";')
            if len(seen) % 50 == 0:
                print(f"{len(seen)} openings", file=sys.stderr)


if __name__ == "__main__":
    main()
