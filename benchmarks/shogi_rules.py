"""What a ply of shogi costs the referee, and what its record costs, in µs of CPU.

    python benchmarks/shogi_rules.py [--games 100]

Random games from the usual position, played again from strings as engines give
them: `play` and `ending` each ply, as the game loop does.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable

from rsshogi.core import Board

from ringmaster.games.csa import write_csa
from ringmaster.games.kif import write_kif
from ringmaster.games.shogi import new_shogi_game
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.record import GameRecord, MoveRecord


def random_game(seed: int) -> list[str]:
    rng = random.Random(seed)
    game, board = new_shogi_game(), Board()
    while game.ending() is None and len(game.moves) < 300:
        move = rng.choice(board.legal_moves())
        board.apply_move(move)
        game.play(move.to_usi())
    return game.moves


def play(moves: list[str], entering_king: str) -> None:
    game = new_shogi_game(entering_king=entering_king)
    game.ending()
    for move in moves:
        game.play(move)
        game.ending()


def record_of(moves: list[str]) -> GameRecord:
    played = tuple(
        MoveRecord(move, i % 2, seconds=0.5, score=i, depth=12, pv=tuple(moves[i : i + 10]))
        for i, move in enumerate(moves)
    )
    settings = GameSettings(game="shogi", record_info=("pv",))
    names = ("a", "b")
    return GameRecord("0", "", "", names, names, settings, Opening(), played, "0-1", "resignation")


def best(what: Callable[[], object], plies: int, rounds: int = 5) -> float:
    """Return µs of CPU a ply, the best of several rounds."""
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        what()
        taken.append(time.process_time() - start)
    return min(taken) / plies * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description="what a ply of shogi costs")
    parser.add_argument("--games", type=int, default=100)
    games = [random_game(seed) for seed in range(parser.parse_args().games)]
    plies = sum(map(len, games))
    print(f"{len(games)} random games, {plies} plies; µs of CPU a ply")
    for rule in ("27", "trial"):
        cost = best(lambda rule=rule: [play(moves, rule) for moves in games], plies)
        print(f"rules, entering_king {rule!r}: {cost:.2f}")
    records = [record_of(moves) for moves in games[:20]]
    plies = sum(len(record.moves) for record in records)
    for name, write in (("CSA", write_csa), ("KIF", write_kif)):
        cost = best(lambda write=write: [write(record) for record in records], plies)
        print(f"{name} record with lines of 10 plies: {cost:.1f}")


if __name__ == "__main__":
    main()
