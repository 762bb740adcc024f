"""Measure optuna_tuner on simulated games: its time for a game, and the candidates it chooses.

    python benchmarks/optuna_trials.py [--trials 1000] [--seeds 1] [--samplers tpe cmaes]

The score of a candidate is known: a hill over two of six parameters, one choice, and one parameter
beside that choice.  For each sampler: the tuner's own time for a game and that of a restart, games
played, and the true scores of the chosen, the luckiest and the best candidate; means of all seeds.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import msgspec

from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from ringmaster.tuners.search.optuna_study import SAMPLERS
from tests.competitions.settings_of import call, make, uci


def true_score(options: dict[str, Any]) -> float:
    """Return a candidate's expected score against the start values, about 0.05 at best above ½."""
    x, y = options["x0"] / 100, options["x1"] / 100
    loss = 0.3 * (x - 0.7) ** 2 + 0.15 * (y - 0.3) ** 2
    gain = 0.02 if options["style"] == "wild" else 0.0
    return 0.54 + gain - 0.1 * abs(options.get("risk", 5) - 5) / 9 - loss


def tuner(sampler: str, trials: int, games: int, error: float | None, seed: int) -> Any:
    parameters = [
        call("Parameter", f"x{i}", start=50, min=0, max=100, integer=True) for i in range(6)
    ]
    parameters.append(call("Parameter", "style", start="solid", choices=["solid", "wild"]))
    parameters.append(call("Parameter", "risk", start=2, min=1, max=9, only_if={"style": "wild"}))
    return make(
        "optuna_tuner",
        game="chess",
        players={"e": uci()},
        player="e",
        parameters=parameters,
        sampler=sampler,
        number_of_trials=trials,
        games_per_trial=games,
        end_hopeless=error,
        seed=seed,
    )


def result(job: GameJob, rng: random.Random) -> GameResult:
    """Return a game with two thirds of draws."""
    seat = next(i for i, player in enumerate(job.players) if player.code == "e:trial")
    score = true_score(dict(job.players[seat].options))
    x = rng.random()
    if x < 2 / 3 * (1 - abs(2 * score - 1)):
        return GameResult(job.id, job.attempt, "draw", reason="stalemate", score="1/2-1/2")
    winner = seat if rng.random() < 0.5 + (score - 0.5) * 3 else 1 - seat
    return GameResult(job.id, job.attempt, "win", winner=winner, reason="mate", score="1-0")


def measure(
    sampler: str, trials: int, games: int, error: float | None, seed: int
) -> tuple[float, ...]:
    """Return the columns of the table."""
    tune, rng = tuner(sampler, trials, games, error, seed), random.Random(seed)
    spent, late, late_games, played = 0.0, 0.0, 0, 0
    while True:
        before = time.perf_counter()
        job = tune.next_job()
        middle = time.perf_counter()
        if job is None:
            break
        outcome = result(job, rng)
        after = time.perf_counter()
        tune.record_result(job.ticket, outcome)
        used = middle - before + time.perf_counter() - after
        spent, played = spent + used, played + 1
        if job.ticket["t"] >= trials * 0.9:
            late, late_games = late + used, late_games + 1
    state = msgspec.json.encode(tune.state())
    fresh = tuner(sampler, trials + 1, games, error, seed)
    before = time.perf_counter()
    fresh.restore(msgspec.json.decode(state))
    fresh.next_job()
    restart = time.perf_counter() - before
    summary = tune.summary().data()
    rows = summary["candidates"]
    chosen = true_score(rows[0]["parameters"])
    luckiest = true_score(max(rows, key=lambda row: row["score"])["parameters"])
    best = max(true_score(row["parameters"]) for row in rows)
    return (
        1000 * spent / played,
        1000 * late / late_games,
        restart,
        played,
        summary["trials"]["ended_early"],
        chosen,
        luckiest,
        best,
        rows[0]["estimate"],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--games", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--error", type=float, default=0.05, help="end_hopeless; 0 for None")
    parser.add_argument("--samplers", nargs="+", default=["tpe", "cmaes"], choices=SAMPLERS)
    arguments = parser.parse_args()
    print("         ms/game last 10% restart s    games  ended   chosen luckiest     best estimate")
    for sampler in arguments.samplers:
        error = arguments.error or None
        rows = [
            measure(sampler, arguments.trials, arguments.games, error, seed)
            for seed in range(arguments.seeds)
        ]
        means = [sum(column) / len(column) for column in zip(*rows, strict=True)]
        formats = ("8.2f", "8.2f", "9.1f", "8.0f", "6.0f", "8.3f", "8.3f", "8.3f", "8.3f")
        cells = (format(mean, text) for mean, text in zip(means, formats, strict=True))
        print(f"{sampler:7}", *cells, flush=True)


if __name__ == "__main__":
    main()
