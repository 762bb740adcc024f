"""The tuner: asks for iterations, is told their results, in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from ringmaster.tuners.spsa.averages import Averages
from ringmaster.tuners.spsa.method import Interval, Memory, Method
from ringmaster.tuners.spsa.perturbation import Perturbation, Rounding, draw, draw_signs, sides
from ringmaster.tuners.spsa.regression import Fit, Regression
from ringmaster.tuners.spsa.space import Array, Space
from ringmaster.tuners.spsa.trajectory import Trajectory

Counts = Literal["iterations", "pairs", "games"]
#: What is taken for the estimate.
Trust = Literal["auto", "last", "mean"]


class Counting(msgspec.Struct, frozen=True):
    """What k counts.

    "iterations"  1, 2, 3, … (SPSA Tuner, OpenBench)
    "pairs"       pairs begun before the iteration, and 1 (fishtest)
    "games"       games, those of the iteration included (weather-factory, YaneuraOu)

    fishtest counts the pairs that have come back when it hands out and when it takes in
    an iteration; here they are counted in the order in which they are begun, so that k
    does not depend on which comes back first.  With one iteration under way at a time
    the two are the same.

    earlier  (iterations, games of each) that came before the present number of games
             an iteration was chosen
    """

    counts: Counts = "iterations"
    games_per_iteration: int = 2
    earlier: tuple[tuple[int, int], ...] = ()

    def games_before(self, iteration: int) -> int:
        """Return the number of games of all iterations before this one."""
        games, left = 0, iteration - 1
        for iterations, each in self.earlier:
            if left < iterations:
                return games + left * each
            games, left = games + iterations * each, left - iterations
        return games + left * self.games_per_iteration

    def place(self, game: int) -> tuple[int, int]:
        """Return the iteration of a game, and its number in it; games are counted from 0."""
        before, iterations = 0, 0
        for number, each in self.earlier:
            if game < before + number * each:
                return iterations + (game - before) // each + 1, (game - before) % each
            before, iterations = before + number * each, iterations + number
        more, number = divmod(game - before, self.games_per_iteration)
        return iterations + more + 1, number

    def iterations(self, games: int) -> int:
        """Return how many whole iterations so many games are."""
        return self.place(games)[0] - 1

    def k(self, iteration: int) -> int:
        """Return k of an iteration, which is counted from 1."""
        if self.counts == "pairs":
            return self.games_before(iteration) // 2 + 1
        return self.games_before(iteration + 1) if self.counts == "games" else iteration

    def length(self, iterations: int) -> int:
        """Return N, the length of a tune, in the same unit."""
        if self.counts == "iterations":
            return iterations
        games = self.games_before(iterations + 1)
        return games // 2 if self.counts == "pairs" else games


class Spsa:
    """One tune: what it has learnt, and how far it has come.

    told     iterations told
    seed     key of δ and of the rounding
    slots    which of an iteration's random numbers are each parameter's, (n,): what is
             drawn for one then does not depend on which others there are
    trust    what the estimate is: the method's own or by the drift test, the last θ, its
             mean over the last half
    """

    def __init__(
        self,
        method: Method,
        *,
        seed: int = 0,
        rounding: Rounding = "stochastic",
        counting: Counting | None = None,
        slots: Sequence[int] | None = None,
        trust: Trust = "auto",
    ) -> None:
        self.method = method
        self.trust = trust
        self.seed = seed
        self.rounding: Rounding = rounding
        self.counting = counting or Counting()
        self.memory: Memory = method.start()
        self.regression = Regression(method.space)
        self.averages = Averages(method.space.start)
        self.trajectory = Trajectory()
        self.told = 0
        self.slots = np.array(range(len(method.space)) if slots is None else slots)
        self._drawn = int(self.slots.max()) + 1

    @property
    def space(self) -> Space:
        """The parameters that are tuned."""
        return self.method.space

    @property
    def theta(self) -> Array:
        """θ, about which the next iteration plays, (n,)."""
        return self.method.centre(self.memory)

    def _draw(self, iteration: int) -> tuple[Array, Array]:
        delta, u = draw(self.seed, iteration, self._drawn)
        return delta[self.slots], u[self.slots]

    def perturbation(self, iteration: int, theta: Array) -> Perturbation:
        """Return an iteration as it is asked for at `theta`; changes nothing."""
        k = self.counting.k(iteration)
        delta, u = self._draw(iteration)
        middle, shift = theta, self.method.shift(self.memory)
        if shift is not None:
            signs = draw_signs(self.seed, iteration, self._drawn)
            middle = self.space.clip(theta + shift * signs[self.slots])
        plus, minus = sides(
            self.space, middle, self.method.c(k, self.memory), delta, u, self.rounding
        )
        return Perturbation(iteration, k, theta, delta, plus, minus)

    def ask(self, iteration: int) -> Perturbation:
        """Return an iteration at the present θ."""
        return self.perturbation(iteration, self.theta)

    def tell(
        self,
        iteration: int,
        plus: Sequence[float] | Array,
        minus: Sequence[float] | Array,
        result: float,
        games: float = 2,
    ) -> None:
        """Learn from an iteration.

        plus, minus  the values played, (n,); NaN for a parameter that the iteration
                     did not have: it learns nothing
        result       W − L of θ⁺ against θ⁻ summed over the iteration's games (a
                     draw is 0); where each plays a third player, W − L of θ⁺ less
                     W − L of θ⁻
        games        how many games of θ⁺ that is: against a third player, half of those
                     played.  So E[W−L] = games·Δ/C in either case.
        """
        high, low = np.asarray(plus, dtype=np.float64), np.asarray(minus, dtype=np.float64)
        before = self.theta
        delta, _ = self._draw(iteration)
        absent = np.isnan(high)
        if absent.any():
            high, low = np.where(absent, before, high), np.where(absent, before, low)
            delta = np.where(absent, 0.0, delta)
        self.method.take(
            self.memory,
            self.counting.k(iteration),
            high,
            low,
            delta,
            np.asarray(result, dtype=np.float64),
            games,
        )
        self.told += 1
        theta = self.theta
        self.regression.take(high, low, result, games)
        self.averages.take(theta, theta - before)
        self.trajectory.take(self.told, theta)

    def fits(self) -> list[Fit]:
        """Return the regression's fit for each parameter; the games to come are as the
        next ones."""
        next_k = self.counting.k(self.told + 1)
        return self.regression.fits(self.method.c(next_k, self.memory), self.estimate())

    def intervals(self) -> list[Interval] | None:
        """Return what the method itself knows of each parameter, if it does."""
        return self.method.intervals(self.memory)

    def estimate(self) -> Array:
        """Return what to make of the tune so far, (n,), by `trust`."""
        own = self.method.estimate(self.memory) if self.trust == "auto" else None
        if own is not None:
            return own
        mean = self.trust == "mean"
        if self.trust == "auto":
            mean = bool(self.averages.drift().settled)
        return self.averages.mean() if mean and self.told else self.theta

    def state(self) -> dict[str, Any]:
        """Return the state as JSON data."""
        return {
            "told": self.told,
            "memory": {name: array.tolist() for name, array in self.memory.items()},
            "regression": self.regression.state(),
            "averages": self.averages.state(),
            "trajectory": self.trajectory.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state."""
        self.told = state["told"]
        self.memory = {
            name: np.array(values, dtype=np.float64) for name, values in state["memory"].items()
        }
        self.regression.restore(state["regression"])
        self.averages.restore(state["averages"])
        self.trajectory.restore(state["trajectory"])
