"""Compare `simulate` with a plain restatement of the SPSA Tuner's simulation of one variable.

    python benchmarks/spsa_simul_1var.py [--runs 200] [--pairs 50000] [--seed 1]

Elo = −0.0001·x² (e = 1), start 100, range ±1000, c_end 100, R_end 0.002, α 0.602,
γ 0.101, A a tenth of the pairs, no draws.  The two-sample test of Kolmogorov and Smirnov compares
the final values, with 1 and with 8 pairs in progress: D, and its p-value.
"""

from __future__ import annotations

import argparse
from collections import deque

import numpy as np
from scipy.stats import ks_2samp

from ringmaster.tuners.simulation import (
    FixedDraws,
    SimulatedPlayers,
    SimulatedTune,
    simulate,
    spsa_tuner,
)
from ringmaster.tuners.spsa import Classic, Counting, GainMethod, Space

START, BOUND, C_END, R_END, ALPHA, GAMMA = 100.0, 1000.0, 100.0, 0.002, 0.602, 0.101


def restated(runs: int, pairs: int, in_flight: int, seed: int) -> np.ndarray:
    """Return final values, (runs,), from the published formulas."""
    random = np.random.default_rng([seed, 99, in_flight])
    A = 0.1 * pairs
    c0 = C_END * pairs**GAMMA
    a0 = R_END * C_END**2 * (A + pairs) ** ALPHA
    theta = np.full(runs, START)
    playing: deque[tuple[np.ndarray, np.ndarray]] = deque()
    for k in range(1, pairs + 1):
        c = c0 / k**GAMMA
        R = a0 / (A + k) ** ALPHA / c**2
        delta = random.choice([-1.0, 1.0], runs)
        plus = np.clip(theta + c * delta, -BOUND, BOUND)
        minus = np.clip(theta - c * delta, -BOUND, BOUND)
        elo = -0.0001 * plus**2 + 0.0001 * minus**2
        win = 1 / (1 + 10 ** (-elo / 400))
        result = np.zeros(runs)
        for _ in range(2):
            result += np.where(random.random(runs) < win, 1.0, -1.0)
        playing.append((R * c * delta, result))
        while len(playing) >= in_flight or (k == pairs and playing):
            step, result = playing.popleft()
            theta = np.clip(theta + step * result, -BOUND, BOUND)
    return theta


def simulated(runs: int, pairs: int, in_flight: int, seed: int) -> np.ndarray:
    """Return final values, (runs,), of the package."""
    one = np.ones(1)
    space = Space(START * one, -BOUND * one, BOUND * one, np.zeros(1, dtype=bool))
    gains = Classic(C_END * one, R_END * one, pairs, ALPHA, GAMMA, 0.1 * pairs, 0 * one)
    method = GainMethod(space, gains)
    tune = SimulatedTune(method, pairs, Counting(), in_flight=in_flight, estimate_rule="last")
    course = simulate(tune, SimulatedPlayers(spsa_tuner(one), FixedDraws(0.0)), runs, seed=seed)
    return course.values[:, 0]


def main() -> None:
    """Print a row for each number of pairs in progress."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print("in flight     simulate: mean  deviation     formula: mean  deviation        D        p")
    for in_flight in (1, 8):
        pair = (arguments.runs, arguments.pairs, in_flight, arguments.seed)
        ours, theirs = simulated(*pair), restated(*pair)
        test = ks_2samp(ours, theirs)
        print(
            f"{in_flight:9}{ours.mean():19.2f}{ours.std(ddof=1):11.2f}"
            f"{theirs.mean():18.2f}{theirs.std(ddof=1):11.2f}"
            f"{test.statistic:9.3f}{test.pvalue:9.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
