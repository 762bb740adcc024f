"""The SPSA tuner: ask for iterations, tell their results in any order, and continue a
tune after an edit of its parameters or method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.spsa.course import Averages, ThinnedTrajectory
from ringmaster.tuners.spsa.method import Memory, Method, OptimumInterval
from ringmaster.tuners.spsa.perturbation import (
    Counting,
    Perturbation,
    Rounding,
    draw,
    draw_signs,
    sides,
)
from ringmaster.tuners.spsa.regression import Fit, Regression

#: The estimate: chosen by the method or the drift test, the last θ, or its mean over the
#: last half.
EstimateRule = Literal["auto", "last", "mean"]


class Finding(msgspec.Struct, frozen=True):
    """The results for one parameter, in its units; slopes and curvatures at the estimate.

    estimate, mean  see `Spsa.estimate`; the mean of θ over the last half
    shown           optimum, interval and signal, by the method's own knowledge if it has any
    fit             of the regression
    """

    estimate: float
    mean: float
    shown: OptimumInterval | Fit
    fit: Fit


class Spsa:
    """One tune.  Values go in and out in the parameters' units; the method works on their scales.

    iterations    completed iterations
    seed          key of δ and of the rounding
    random_index  index of each parameter's random numbers in an iteration, (n,); so they
                  do not depend on the other parameters
    """

    def __init__(
        self,
        method: Method,
        *,
        seed: int = 0,
        rounding: Rounding = "stochastic",
        counting: Counting | None = None,
        random_index: Sequence[int] | None = None,
        estimate_rule: EstimateRule = "auto",
    ) -> None:
        self.method = method
        self.estimate_rule = estimate_rule
        self.seed = seed
        self.rounding: Rounding = rounding
        self.counting = counting or Counting()
        self.memory: Memory = method.start()
        self.regression = Regression(method.space)
        self.averages = Averages(method.space.start)
        self.trajectory = ThinnedTrajectory()
        self.iterations = 0
        self.random_index = np.array(
            range(len(method.space)) if random_index is None else random_index
        )
        self._random_numbers = int(self.random_index.max()) + 1

    @property
    def space(self) -> Space:
        """The tuned parameters."""
        return self.method.space

    @property
    def theta(self) -> Array:
        """The values of θ, the centre of the next iteration, (n,)."""
        return self.space.values(self._centre)

    @property
    def _centre(self) -> Array:
        """θ on the parameters' scales, (n,)."""
        return self.method.centre(self.memory)

    def c(self, k: float) -> Array:
        """Return the perturbations of k about θ, in the parameters' units, (n,)."""
        return self.method.c(k, self.memory) * self.space.rate(self._centre)

    @property
    def began(self) -> Array:
        """The values at which the tune began, (n,)."""
        return self.space.values(self.space.start)

    def _draw(self, iteration: int) -> tuple[Array, Array]:
        delta, u = draw(self.seed, iteration, self._random_numbers)
        return delta[self.random_index], u[self.random_index]

    def ask(self, iteration: int, theta: Array | None = None) -> Perturbation:
        """Return an iteration about `theta` on the parameters' scales, by default the present θ.

        Changes nothing.
        """
        if theta is None:
            theta = self._centre
        k = self.counting.k(iteration)
        delta, u = self._draw(iteration)
        signs = delta
        if self.method.shifted:
            signs = draw_signs(self.seed, iteration, self._random_numbers)[self.random_index]
        middle, c = self.method.place(
            np.array([float(iteration)]),
            self.memory,
            theta,
            self.method.c(k, self.memory),
            delta[np.newaxis],
            signs[np.newaxis],
        )
        plus, minus = (
            side[0] for side in sides(self.space, middle, c, delta[np.newaxis], u, self.rounding)
        )
        return Perturbation(iteration, k, theta, delta, plus, minus)

    def tell(
        self,
        iteration: int,
        plus: Sequence[float] | Array,
        minus: Sequence[float] | Array,
        result: float,
        games: float = 2,
    ) -> None:
        """Learn from an iteration.

        plus, minus  the played values, (n,); NaN for a parameter that did not take part
        result       W − L of θ⁺ against θ⁻ over the iteration (a draw is 0); against a
                     reference, W − L of θ⁺ minus W − L of θ⁻
        games        number of games of θ⁺, so that E[W−L] = games·Δ/C in both cases
        """
        high, low = (self.space.theta(np.asarray(v, dtype=np.float64)) for v in (plus, minus))
        before = self._centre
        delta, _ = self._draw(iteration)
        absent = np.isnan(high)
        if absent.any():
            high, low = np.where(absent, before, high), np.where(absent, before, low)
            delta = np.where(absent, 0.0, delta)
        self.method.learn(
            self.memory,
            self.counting.k(iteration),
            high,
            low,
            delta,
            np.asarray(result, dtype=np.float64),
            games,
        )
        self.iterations += 1
        theta = self._centre
        if not self.method.is_probe(iteration):
            self.regression.add(high, low, result, games)
        self.averages.add(theta, theta - before)
        self.trajectory.add(self.iterations, self.theta)

    def fits(self) -> list[Fit]:
        """Return the regression's fit of each parameter, on the parameters' scales."""
        next_k = self.counting.k(self.iterations + 1)
        return self.regression.fits(self.method.c(next_k, self.memory), self._estimate())

    def findings(self) -> list[Finding]:
        """Return the results for each parameter."""
        fits, own = self.fits(), None
        mean, estimate = self._centre, self._estimate()
        if self.iterations:
            own, mean = self.method.intervals(self.memory), self.averages.mean()
        shown: Sequence[OptimumInterval | Fit] = fits if own is None else own
        fits, shown = (self._in_units(each, estimate) for each in (fits, shown))
        values = self.space.values
        rows = zip(values(estimate).tolist(), values(mean).tolist(), shown, fits, strict=True)
        return [Finding(*row) for row in rows]

    def _in_units(self, results: Sequence[Any], estimate: Array) -> list[Any]:
        """Return intervals or fits on logarithmic scales in the parameters' units."""
        converted = []
        for i, (result, rate) in enumerate(zip(results, self.space.rate(estimate), strict=True)):
            fields = msgspec.structs.asdict(result) if self.space.is_logarithmic(i) else {}
            powers = {"slope": 1, "slope_error": 1, "curvature": 2}
            for name, value in fields.items():
                if value is not None and name in ("optimum", "low", "high"):
                    fields[name] = math.exp(min(value, 700.0))
                elif value is not None and name in powers:
                    fields[name] = value / float(rate) ** powers[name]
            converted.append(msgspec.structs.replace(result, **fields))
        return converted

    def estimate(self) -> Array:
        """Return the values of the estimate of the optimum, (n,)."""
        return self.space.values(self._estimate())

    def _estimate(self) -> Array:
        auto = self.estimate_rule == "auto"
        own = self.method.estimate(self.memory) if auto else None
        if own is not None:
            return own
        mean = bool(self.averages.drift().settled) if auto else self.estimate_rule == "mean"
        return self.averages.mean() if mean and self.iterations else self._centre

    def state(self) -> dict[str, Any]:
        """Return the state as JSON data."""
        return {
            "told": self.iterations,
            "memory": {name: array.tolist() for name, array in self.memory.items()},
            "regression": self.regression.state(),
            "averages": self.averages.state(),
            "trajectory": self.trajectory.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the state."""
        self.iterations = state["told"]
        self.memory = {
            name: np.array(values, dtype=np.float64) for name, values in state["memory"].items()
        }
        self.regression.restore(state["regression"])
        self.averages.restore(state["averages"])
        self.trajectory.restore(state["trajectory"])

    def resume(self, earlier: Spsa, places: Sequence[int | None], *, same_method: bool) -> None:
        """Continue from the θ of an earlier tune; this one has no results yet.

        places       index of each parameter in `earlier`; a parameter without one begins at
                     its start
        same_method  whether the method and all arguments of the parameters are unchanged

        Keeps the regression's sums of every parameter with a place and the same scale.  The
        averages restart if a parameter is new or has another scale, or if θ is outside of the new
        bounds.
        """
        self.iterations = earlier.iterations
        self.regression.games = earlier.regression.games
        self.regression.squares = earlier.regression.squares
        theta, kept = self.began.copy(), list(places)
        for i, place in enumerate(places):
            if place is not None:
                theta[i] = earlier.theta[place]
                if self.space.is_logarithmic(i) == earlier.space.is_logarithmic(place):
                    self.regression.set_column(i, earlier.regression.column(place))
                else:
                    kept[i] = None
        theta = self.space.theta(theta)
        inside = self.space.clip(theta)
        if same_method:
            self.memory = {name: array.copy() for name, array in earlier.memory.items()}
        else:
            self.memory = self.method.resume(inside, self.regression, self.iterations)
        columns = [place for place in kept if place is not None]
        if len(columns) == len(places) and np.array_equal(theta, inside):
            self.averages = earlier.averages.rearranged(columns, self._centre)
        else:
            self.averages = Averages(self._centre)
        self.trajectory = earlier.trajectory.rearranged(places, self.theta)
