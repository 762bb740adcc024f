"""The updates of the tools that users come from, against plain restatements.

Each restatement is a few lines of arithmetic written from the tool's published formula,
without arrays and without anything of the package.  Several hundred recorded results push
some parameters to their bounds; θ must be the same to 1e-12 after each of them.  The tools
step by the nominal c·δ, so the tuner is told to (`nominal`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from ringmaster.tuners.space import Space
from ringmaster.tuners.spsa.method import (
    Annealing,
    Blog,
    Classic,
    GainMethod,
    Gains,
    WeatherFactory,
)
from ringmaster.tuners.spsa.perturbation import Counting
from ringmaster.tuners.spsa.tuner import Spsa
from tests.tuners.spsa.spaces import space_of

ITERATIONS = 400
SPACE = space_of((50, 0, 100), (3, 0, 40, True), (-1.05, -3, -1), (7, 0, 9, True), (0.5, 0, 1))
C_END = [4.0, 1.5, 0.1, 0.2, 0.02]
R_END = [0.02, 0.05, 0.4, 0.3, 0.002]


@dataclass
class Recorded:
    """A tune: of each iteration δ, W−L and the tuner's θ after it, and θ⁺ and θ⁻."""

    deltas: list[list[float]]
    results: list[float]
    thetas: list[list[float]]
    plus: list[list[float]]
    minus: list[list[float]]


def played(gains: Gains, counting: Counting, *, against_third: bool = False) -> Recorded:
    """Play a tune; θ⁺ does best where the first δ is 1 and the third −1."""
    games = counting.games_per_iteration
    tuner = Spsa(GainMethod(SPACE, gains, nominal=True), seed=5, counting=counting)
    rng = random.Random(20)
    recorded = Recorded([], [], [], [], [])
    for i in range(1, ITERATIONS + 1):
        perturbation = tuner.ask(i)
        drift = 0.25 * perturbation.delta[0] - 0.25 * perturbation.delta[2]
        if against_third:
            w = [rng.choice([-1, 0, 1]) for _ in range(2)]
            result = 2 if rng.random() < drift else w[0] - w[1]
        else:
            result = sum(
                1 if drift > rng.random() else rng.choice([-1, 0, 1]) for _ in range(games)
            )
        tuner.tell(i, perturbation.plus, perturbation.minus, result, 1 if against_third else games)
        recorded.deltas.append(perturbation.delta.tolist())
        recorded.results.append(result)
        recorded.thetas.append(tuner.theta.tolist())
        recorded.plus.append(perturbation.plus.tolist())
        recorded.minus.append(perturbation.minus.tolist())
    return recorded


def clip(x: float, i: int) -> float:
    return min(max(x, float(SPACE.minimum[i])), float(SPACE.maximum[i]))


#: (parameter, number of the iteration from 1) to (perturbation, factor of δ·(W−L)).
Restated = Callable[[int, int], tuple[float, float]]


def compare(recorded: Recorded, restated: Restated, space: Space = SPACE) -> None:
    at_bounds = 0
    for i in range(len(space)):
        theta = float(space.start[i])
        for number, (delta, s) in enumerate(
            zip(recorded.deltas, recorded.results, strict=True), start=1
        ):
            c, factor = restated(i, number)
            if not space.integer[i]:
                assert recorded.plus[number - 1][i] == pytest.approx(
                    clip(theta + c * delta[i], i), rel=1e-12
                )
                assert recorded.minus[number - 1][i] == pytest.approx(
                    clip(theta - c * delta[i], i), rel=1e-12
                )
            theta = clip(theta + factor * delta[i] * s, i)
            assert recorded.thetas[number - 1][i] == pytest.approx(theta, rel=1e-12, abs=1e-12)
            at_bounds += theta in (space.minimum[i], space.maximum[i])
    # the recording would prove little if it never met a bound
    assert at_bounds > 10


def sequences(N: float, alpha: float, gamma: float, A: float) -> Classic:
    return Classic(np.array(C_END), np.array(R_END), N, alpha, gamma, A, SPACE.least_c * 0)


def test_spsa_tuner() -> None:
    """One pair an iteration, A absolute, integers only rounded for the engine."""
    N, A = ITERATIONS, 40

    def restated(i: int, k: int) -> tuple[float, float]:
        c0 = C_END[i] * N**0.101
        a0 = R_END[i] * C_END[i] ** 2 * (A + N) ** 0.602
        c = c0 / k**0.101
        a = a0 / (A + k) ** 0.602
        return c, a / c**2 * c

    compare(played(sequences(N, 0.602, 0.101, A), Counting()), restated)


@pytest.mark.parametrize("games", [2, 8, 32])
def test_fishtest(games: int) -> None:
    """One δ for a batch of pairs; k counts the pairs that are finished, and one more;
    N is half of the games; A = A_ratio·N."""
    N = ITERATIONS * games // 2
    A = 0.1 * N

    def restated(i: int, batch: int) -> tuple[float, float]:
        finished = (batch - 1) * (games // 2)
        k = finished + 1
        c = C_END[i] * N**0.101 / k**0.101
        a = R_END[i] * C_END[i] ** 2 * (A + N) ** 0.602 / (A + k) ** 0.602
        return c, a / c**2 * c

    counting = Counting("pairs", games)
    assert counting.length(ITERATIONS) == N
    compare(played(sequences(N, 0.602, 0.101, A), counting), restated)


def test_openbench() -> None:
    """Integers have a c of at least ½, and R is of the c so raised; k counts iterations of
    several pairs."""
    N, A, games = ITERATIONS, 0.1 * ITERATIONS, 16
    gains = Classic(np.array(C_END), np.array(R_END), N, 0.602, 0.101, A, SPACE.least_c)
    raised = 0

    def restated(i: int, k: int) -> tuple[float, float]:
        nonlocal raised
        c = C_END[i] * N**0.101 / k**0.101
        if SPACE.integer[i] and c < 0.5:
            c, raised = 0.5, raised + 1
        a = R_END[i] * C_END[i] ** 2 * (A + N) ** 0.602 / (A + k) ** 0.602
        r = a / c**2
        return c, r * c

    compare(played(gains, Counting("iterations", games)), restated)
    assert raised


@pytest.mark.parametrize("games", [2, 32])
def test_weather_factory(games: int) -> None:
    """t counts games, those of the step included; the step is a·step/c times W−L."""
    step, a, c, A = np.array(C_END), 10.0, 1.0, 5000.0
    gains = WeatherFactory(step, a, c, A, 0.601, 0.102, SPACE.least_c * 0)

    def restated(i: int, number: int) -> tuple[float, float]:
        t = number * games
        a_t = a / (t + A) ** 0.601
        c_t = c / t**0.102
        return step[i] * c_t, step[i] * a_t / c_t

    compare(played(gains, Counting("games", games)), restated)


def test_yaneuraou_tool() -> None:
    """θ⁺ and θ⁻ each play a game against a fixed engine, w is ±1 or 0: the parameter moves
    by δ·step·delta·mobility·(w₊−w₋)/2.  There is no schedule."""
    mobility = 3.0
    none = Annealing()
    gains = Blog(np.array(C_END), np.array(R_END) * mobility, none, none, SPACE.least_c * 0)

    def restated(i: int, number: int) -> tuple[float, float]:
        return C_END[i], C_END[i] * R_END[i] * mobility / 2

    compare(played(gains, Counting("games"), against_third=True), restated)


def test_blog_with_annealing() -> None:
    """θ moves by ε·s⊙Δ/2 for each win more than losses; s starts 3 times and ε 50 times
    as large and cools exponentially over 500 games."""
    s, epsilon = np.array(C_END), 0.02
    gains = Blog(
        s,
        np.full(len(SPACE), epsilon),
        Annealing(3, 500),
        Annealing(50, 500),
        SPACE.least_c * 0,
    )

    def restated(i: int, number: int) -> tuple[float, float]:
        left = max(1 - 2 * number / 500, 0)
        wide = s[i] * 3**left
        return wide, epsilon * 50**left * wide / 2

    compare(played(gains, Counting("games")), restated)
