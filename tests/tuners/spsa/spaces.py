"""Spaces, tuners and memories for the tests of the SPSA tuner."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.spsa.method import (
    Annealing,
    Blog,
    Classic,
    Constant,
    GainMethod,
    Memory,
    Method,
    WeatherFactory,
)


def space_of(*parameters: Sequence[float | bool]) -> Space:
    """Return a space of (start, minimum, maximum) or (start, minimum, maximum, integer)."""
    columns = [np.array([float(p[i]) for p in parameters]) for i in range(3)]
    integer = np.array([bool(p[3]) if len(p) > 3 else False for p in parameters])
    return Space(*columns, integer)


#: A float, an integer at the foot of a narrow range, a float near its ceiling.
MIXED = space_of((50, 0, 100), (0, 0, 9, True), (-1.05, -3, -1))


def filled(space: Space, share: float) -> Array:
    """Return a share of each range."""
    return np.asarray(share * space.width)


def classic(
    space: Space,
    N: float = 1000,
    c: float = 0.05,
    r: float = 0.02,
    *,
    alpha: float = 0.602,
    gamma: float = 0.101,
    A: float = 100,
    nominal: bool = False,
) -> GainMethod:
    """Return the classic method; c is a share of the ranges."""
    gains = Classic(filled(space, c), np.full(len(space), r), N, alpha, gamma, A, space.least_c)
    return GainMethod(space, gains, nominal)


def constant(space: Space) -> GainMethod:
    return GainMethod(space, Constant(filled(space, 0.1), np.full(len(space), 0.01)))


def blog(space: Space) -> GainMethod:
    anneal = Annealing(10, 1000)
    gains = Blog(filled(space, 0.02), np.full(len(space), 0.01), anneal, anneal, space.least_c)
    return GainMethod(space, gains)


def weather_factory(space: Space) -> GainMethod:
    gains = WeatherFactory(filled(space, 0.1), 1.0, 1.0, 1000.0, 0.601, 0.102, space.least_c)
    return GainMethod(space, gains)


#: Every method with gain sequences, by name.
GAIN_METHODS = {
    "classic": classic,
    "constant": constant,
    "blog": blog,
    "weather_factory": weather_factory,
}


def of_each(memory: Memory) -> list[Memory]:
    """Return the memories of the tunes of one."""
    count = len(memory["theta"])
    return [{name: array[i] for name, array in memory.items()} for i in range(count)]


def step_of(method: Method, k: float, delta: Array, result: float) -> Array:
    """Return the step of a fresh θ by one result."""
    from ringmaster.tuners.spsa.perturbation import sides

    memory = method.start()
    before = method.centre(memory)
    u = np.full(len(delta), 0.5)
    plus, minus = sides(method.space, before, method.c(k), delta, u, "stochastic")
    method.learn(memory, k, plus, minus, delta, np.asarray(result), 2)
    return np.asarray(method.centre(memory) - before)
