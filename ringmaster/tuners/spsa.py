"""Simultaneous perturbation stochastic approximation, as the field runs it.

J. C. Spall, "Implementation of the simultaneous perturbation algorithm for
stochastic optimization", IEEE Trans. Aerospace and Electronic Systems 34(3),
1998, with the gain sequences of the SPSA Tuner, fishtest and OpenBench:

    c₀ = c_end·N^γ        a_end = r_end·c_end²     a₀ = a_end·(A+N)^α
    c_k = c₀/k^γ          a_k = a₀/(A+k)^α         R_k = a_k/c_k²
    θ± = clip(θ ± c_k·δ)  θ ← clip(θ + R_k·d·(W−L))

d is the difference that was really played, (θ⁺ − θ⁻)/2 after clipping and
rounding, where the sources put c_k·δ.  Integer parameters are rounded with one
uniform u for both sides, floor(v + u), so that rounding is unbiased and can
neither hide nor reverse a perturbation; their c_k is at least ½ (OpenBench), in
R_k too.  Where a bound makes both sides equal, the free side moves by one.

Pure ask and tell: no engines, no files, no clock.  δ and u are functions of
(seed, k), so an iteration can be computed again from k and θ alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ringmaster.model.parameters import SpsaParameter
from ringmaster.model.randomness import SPSA_STREAM, uniform, words

#: The smallest perturbation of an integer parameter: both sides differ by 1.
SMALLEST_INTEGER_C = 0.5


@dataclass(frozen=True)
class Schedule:
    """The gain sequences of one parameter over `iterations` iterations.

    A is absolute (iterations), alpha and gamma as in Spall.
    """

    parameter: SpsaParameter
    iterations: int
    alpha: float
    gamma: float
    A: float

    def c(self, k: int) -> float:
        """Return the perturbation at iteration k = 1..N."""
        c = self.parameter.c_end * math.pow(self.iterations / k, self.gamma)
        return max(c, SMALLEST_INTEGER_C) if self.parameter.integer else c

    def a(self, k: int) -> float:
        """Return the step gain at iteration k."""
        return self.parameter.r_end * self.parameter.c_end**2 * self._decay(k)

    def R(self, k: int) -> float:  # noqa: N802 - the field's symbol
        """Return the relative apply factor a_k/c_k² at iteration k."""
        # not as a/c²: the squares of a small c vanish
        return self.parameter.r_end * (self.parameter.c_end / self.c(k)) ** 2 * self._decay(k)

    def _decay(self, k: int) -> float:
        """Return a_k/a_end."""
        return math.pow((self.A + self.iterations) / (self.A + k), self.alpha)


@dataclass(frozen=True)
class Perturbation:
    """One iteration: what the two sides play with.

    k            iteration, from 1
    theta        θ when the iteration was asked for
    delta        ±1 for each parameter
    plus, minus  the values that the engines are given
    """

    k: int
    theta: tuple[float, ...]
    delta: tuple[int, ...]
    plus: tuple[int | float, ...]
    minus: tuple[int | float, ...]

    def differences(self) -> tuple[float, ...]:
        """Return (θ⁺ − θ⁻)/2 as it is really played."""
        return realised_differences(self.plus, self.minus)


def realised_differences(plus: Sequence[float], minus: Sequence[float]) -> tuple[float, ...]:
    """Return (θ⁺ − θ⁻)/2 of the values that were played."""
    return tuple((p - m) / 2 for p, m in zip(plus, minus, strict=True))


class Spsa:
    """The tuner's state: θ, and how many iterations have been asked and told."""

    def __init__(
        self,
        parameters: Sequence[SpsaParameter],
        iterations: int,
        *,
        alpha: float = 0.602,
        gamma: float = 0.101,
        A: float | None = None,
        seed: int = 0,
    ) -> None:
        """A defaults to a tenth of the iterations."""
        self.parameters = tuple(parameters)
        self.iterations = iterations
        self.seed = seed
        stability = 0.1 * iterations if A is None else A
        self.schedules = tuple(
            Schedule(p, iterations, alpha, gamma, stability) for p in self.parameters
        )
        self.theta: list[float] = [float(p.start) for p in self.parameters]
        self.told = 0

    def perturbation(self, k: int, theta: Sequence[float]) -> Perturbation:
        """Return iteration k as it is asked for at `theta`; changes nothing."""
        count = len(self.parameters)
        random = words(self.seed, SPSA_STREAM, k, 2 * count)
        delta = tuple(1 if word >> 63 else -1 for word in random[:count])
        plus: list[int | float] = []
        minus: list[int | float] = []
        for i, parameter in enumerate(self.parameters):
            step = self.schedules[i].c(k) * delta[i]
            u = uniform(random[count + i])
            high, low = (
                _played(parameter, theta[i] + abs(step), u),
                _played(parameter, theta[i] - abs(step), u),
            )
            if high == low:
                # at a bound, where one side could not move
                high, low = (high + 1, low) if high < parameter.maximum else (high, low - 1)
            plus.append(high if step > 0 else low)
            minus.append(low if step > 0 else high)
        return Perturbation(k, tuple(theta), delta, tuple(plus), tuple(minus))

    def ask(self, k: int) -> Perturbation:
        """Return iteration k at the present θ."""
        return self.perturbation(k, self.theta)

    def tell(self, k: int, differences: Sequence[float], result: float) -> None:
        """Learn from iteration k.

        differences  (θ⁺ − θ⁻)/2 as played, in the order of the parameters
        result       W − L of θ⁺ against θ⁻ summed over the iteration's games (a
                     draw is 0)

        Iterations may come back in any order.
        """
        for i, d in enumerate(differences):
            step = self.schedules[i].R(k) * d * result
            self.theta[i] = self.parameters[i].clip(self.theta[i] + step)
        self.told += 1

    def values(self) -> tuple[int | float, ...]:
        """Return the present θ as engines would be given it."""
        return tuple(p.engine_value(t) for p, t in zip(self.parameters, self.theta, strict=True))


def _played(parameter: SpsaParameter, value: float, u: float) -> int | float:
    value = parameter.clip(value)
    return math.floor(value + u) if parameter.integer else value
