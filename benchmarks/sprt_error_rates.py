"""Measure the error rate of the sequential test when one of its hypotheses is true.

    python benchmarks/sprt_error_rates.py [--runs 10000] [--seed 1] [--only TEXT]

The ratio of a simulated match is computed after every game (3 results) or pair (5 results),
until the match is decided.  Results follow BayesElo's model with 200 Elo for draws.  The
opening of a pair favours one side by a normal deviate of 100 Elo; the pair has both colours.  The
difference of the players makes H0, or H1, exactly true.

All matches are simulated in arrays by a separate solver.  Near a bound, `ringmaster.stats.sprt`
decides ("judged" counts this); it also judges random other matches.  "apart" is the largest
difference of the two ratios.  If it is below NEAR, every match ended at the right result.

"planned" is the number of games that `plan` expects.
"""

from __future__ import annotations

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ringmaster.stats.elo import NELO
from ringmaster.stats.sprt import Sprt, forecast

DRAW_ELO = 200.0
OPENING_ELO = 100.0
#: Distance from a bound within which `Sprt` decides.
NEAR = 0.005
#: Results of every match between two judgements of a random match.
SAMPLED = 20
Array = np.ndarray[Any, Any]

TESTS = {
    "normalized 0 to 50": ("normalized", 0.0, 50.0),
    "normalized -30 to 0": ("normalized", -30.0, 0.0),
    "logistic 0 to 50": ("logistic", 0.0, 50.0),
    "logistic -30 to 0": ("logistic", -30.0, 0.0),
    "normalized 0 to 20": ("normalized", 0.0, 20.0),
    "logistic 0 to 20": ("logistic", 0.0, 20.0),
    "normalized 0 to 5": ("normalized", 0.0, 5.0),
}
TRUTHS = {0: "H0", 0.5: "middle", 1: "H1"}


def game(elo: float) -> Array:
    """Return the probabilities of loss, draw and win, (3,)."""
    win = 1 / (1 + 10 ** ((DRAW_ELO - elo) / 400))
    loss = 1 / (1 + 10 ** ((DRAW_ELO + elo) / 400))
    return np.array([loss, 1 - win - loss, win])


def pair(elo: float) -> Array:
    """Return the probabilities of 0, ½, 1, 1½ and 2 points in a pair, (5,)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    total = np.zeros(5)
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        bias = OPENING_ELO * node
        total += weight * np.convolve(game(elo + bias), game(elo - bias))
    return total


def strength(p: Array, model: str) -> float:
    """Return the first side's Elo or normalised Elo."""
    worth = np.linspace(0, 1, len(p))
    mean = float(p @ worth)
    if model == "logistic":
        return 400 * math.log10(mean / (1 - mean))
    spread = math.sqrt(float(p @ (worth - mean) ** 2) * (2 if len(p) == 5 else 1))
    return (mean - 0.5) / spread * NELO


def truth(results: int, model: str, elo: float) -> Array:
    """Return the probability of each result if the strength is exactly `elo`."""
    outcome = pair if results == 5 else game
    return outcome(brentq(lambda x: strength(outcome(x), model) - elo, -400, 400, xtol=1e-10))


class Fits:
    """The best fits under one hypothesis for many matches; each starts from the last fit."""

    def __init__(self, model: str, elo: float, results: int, runs: int) -> None:
        self.worth = np.linspace(0, 1, results)
        self.score = 1 / (1 + 10 ** (-elo / 400)) if model == "logistic" else 0.5
        self.t = 0.0 if model == "logistic" else elo / NELO * math.sqrt(2 if results == 5 else 1)
        self.theta = np.zeros(runs)
        self.sigma = np.full(runs, 0.25)

    def keep(self, undecided: Array) -> None:
        """Drop the other matches."""
        self.theta, self.sigma = self.theta[undecided], self.sigma[undecided]

    def logs(self, seen: Array, rounds: int) -> Array:
        """Return log(p/seen) of each result for each match."""
        for _ in range(rounds if self.t else 1):
            if self.t:
                mean = 0.5 + self.t * self.sigma[:, None]
                far = (self.worth - mean) / self.sigma[:, None]
                b = self.worth - 0.5 - self.t * self.sigma[:, None] * (1 + far * far) / 2
            else:
                b = np.broadcast_to(self.worth - self.score, seen.shape)
            with np.errstate(divide="ignore"):
                ends = (seen - 1) / b
            low = np.where(b > 0, ends, -np.inf).max(axis=1)
            high = np.where(b < 0, ends, np.inf).min(axis=1)
            theta = np.clip(self.theta, low, high)
            for _ in range(2 * rounds):
                share = b / (1 + theta[:, None] * b)
                value = (seen * share).sum(axis=1)
                low = np.where(value > 0, theta, low)
                high = np.where(value > 0, high, theta)
                theta = theta + value / (seen * share * share).sum(axis=1)
                outside = (theta < low) | (theta > high)
                theta = np.where(outside, (low + high) / 2, theta)
            self.theta = theta
            if self.t:
                p = seen / (1 + theta[:, None] * b)
                self.sigma = np.sqrt((p * (self.worth - mean) ** 2).sum(axis=1))
        return -np.log1p(self.theta[:, None] * b)


def shortest(test: Sprt, pattern: list[int]) -> int:
    """Return the number of repetitions of `pattern` that decides the test, at most 1000."""
    return next((n for n in range(1, 1000) if test.judge([n * x for x in pattern])), 1000)


def simulate(
    runs: int, seed: int, name: str, results: int, true: float
) -> tuple[str, int, float, float, float, int, int, float]:
    """Return the name, results and true hypothesis of a simulation with its figures.

    true  0 for H0, 1 for H1, ½ for the middle, where H0 counts as wrong

    The figures are the share of wrong decisions, the mean number of games, the largest number of
    results, the judgements of `Sprt`, and the largest difference to it.
    """
    model, elo0, elo1 = TESTS[name]
    test = Sprt(elo0, elo1, model=model)  # type: ignore[arg-type]
    low, high = test.bounds
    p = truth(results, model, elo0 + true * (elo1 - elo0))
    edges = np.cumsum(p)[:-1]
    key = [seed, results, 2 if true == 0.5 else int(true), list(TESTS).index(name)]
    rng, sample = np.random.default_rng(key), np.random.default_rng([*key, 1])
    counts = np.zeros((runs, results))
    null, other = (Fits(model, elo, results, runs) for elo in (elo0, elo1))
    wrong = played = number = judged = 0
    apart = 0.0
    # equal results decide first
    equal = ([0] * place + [1] + [0] * (results - 1 - place) for place in range(results))
    first = min(shortest(test, pattern) for pattern in equal)
    while len(counts):
        number += 1
        drawn = np.searchsorted(edges, rng.random(len(counts)))
        counts[np.arange(len(counts)), drawn] += 1
        if number < first:
            continue
        filled = np.where(counts == 0, 1e-3, counts)
        seen = filled / filled.sum(axis=1)[:, None]
        rounds = 12 if number < first + 10 else 4 if number < first + 150 else 2
        llr = number * (seen * (other.logs(seen, rounds) - null.logs(seen, rounds))).sum(axis=1)
        near = (llr <= low + NEAR) | (llr >= high - NEAR)
        ended = np.zeros(len(counts), dtype=bool)
        judged_rows = {int(row) for row in np.flatnonzero(near)}
        if number % SAMPLED == 0:
            judged_rows.add(int(sample.integers(len(counts))))
        for row in judged_rows:
            row_counts = [int(n) for n in counts[row]]
            judged += 1
            apart = max(apart, abs(test.llr(row_counts) - float(llr[row])))
            ended[row] = bool(test.judge(row_counts))
        if ended.any():
            accepted_h1 = llr[ended] > 0
            wrong += int((accepted_h1 != (true > 0)).sum())
            played += number * int(ended.sum())
            counts = counts[~ended]
            null.keep(~ended)
            other.keep(~ended)
    games = played / runs * (2 if results == 5 else 1)
    return name, results, true, wrong / runs, games, number, judged, apart


def planned(name: str, results: int, true: float) -> float:
    """Return the mean number of games that `plan` expects."""
    model, elo0, elo1 = TESTS[name]
    test = Sprt(elo0, elo1, model=model)  # type: ignore[arg-type]
    return forecast(test, truth(results, model, elo0 + true * (elo1 - elo0)).tolist())["games"]


def main() -> None:
    """Print a row for each test, truth and kind of result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="the test's name, or a part of names")
    parser.add_argument("--results", type=int, choices=(3, 5), help="only games, or only pairs")
    parser.add_argument("-j", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    heads = ("test", "results", "true", "wrong", "games", "planned", "longest", "judged", "apart")
    print("{:22}{:>8}{:>7}{:>9}{:>8}{:>9}{:>10}{:>9}{:>9}".format(*heads))
    jobs = [
        (name, results, true)
        for name in TESTS
        if arguments.only == name or (arguments.only not in TESTS and arguments.only in name)
        for results in ((arguments.results,) if arguments.results else (3, 5))
        for true in TRUTHS
    ]
    run = partial(simulate, arguments.runs, arguments.seed)
    with ProcessPoolExecutor(arguments.j) as pool:
        for row in pool.map(run, *zip(*jobs, strict=True)):
            name, results, true, wrong, games, longest, judged, apart = row
            longest *= 2 if results == 5 else 1
            print(
                f"{name:22}{results:8}{TRUTHS[true]:>7}{wrong:9.2%}{games:8.0f}"
                f"{planned(name, results, true):9.0f}{longest:10}{judged:9}{apart:9.0e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
