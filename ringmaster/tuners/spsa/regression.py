"""Least-squares fits of the results to the played values, one for each parameter.

Near an optimum o where a distance x costs e·x² Elo, an iteration whose sides are m ± d
has the expected score

    E[W−L]/games = d·(a − b·m)        b = 4e/C,  a = b·o

δ is drawn independently in each iteration, so the other parameters are noise of mean
zero.  The sums Σg·d², Σg·d²m, Σg·d²m², Σd·s, Σd·m·s (g games, s = W−L) are sufficient,
and do not depend on the order of results.

θ follows the results, so m is not independent of them.  Without an effect θ is a random
walk, and fitting a − b·m to its own steps is the regression of Dickey and Fuller
("Distribution of the estimators for autoregressive time series with a unit root", J.
American Statistical Association 74, 1979), with an overestimated b.  Their quantiles, not
normal ones, decide here whether a curvature is visible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ringmaster.tuners.space import Array, Flags, Space

#: Elo for a point of expected W−L a game between near equals: E[W−L] = Δ/C.
C = 800 / math.log(10)
#: Standard deviations of a 95 % interval.
Z95 = 1.959963984540054
#: Critical values of a slope, two-sided, and a curvature, one-sided (Fuller,
#: "Introduction to Statistical Time Series", 1976, table 8.5.2, τ_μ, any length):
#: 2½ % each, so that a parameter without effect shows a signal in 5 % of all tunes.
SLOPE_TEST, CURVATURE_TEST = 2.241402727604947, 3.12
#: Least spread of played values, in ranges, for a fit of a curvature.
LEAST_SPREAD = 3e-5
#: Prior games of variance ½: a few draws do not make the results certain.
KNOWN_GAMES, KNOWN_VARIANCE = 4.0, 0.5


class Fit(msgspec.Struct, frozen=True):
    """The fit of one parameter, in the parameter's units.

    slope, slope_error  Elo per unit at the mean of the played values, and its standard
                        error
    curvature           e: a distance x from the optimum costs e·x² Elo; None, like the
                        following fields, if it is not significant
    optimum             zero of the fitted slope, possibly outside the bounds
    low, high           95 % interval of the optimum (Fieller's), clipped to the bounds
    elo_at_stake        Elo gain from the start to the estimate on the fitted parabola
    games_to_halve      further games at the optimum that halve the interval
    signal              whether slope or curvature is significant (95 % together)
    """

    slope: float
    slope_error: float
    curvature: float | None
    optimum: float | None
    low: float | None
    high: float | None
    elo_at_stake: float | None
    signal: bool
    games_to_halve: int | None


class Lines(msgspec.Struct, frozen=True, eq=False):
    """The fits of many parameters as arrays, (…, n); m is counted from `start + mean`.

    a, a_error, b, b_error  of a − b·m, and their standard errors; without spread b is
                            zero and its error infinite
    mean                    mean of the midpoints, weighted with d², from `start`
    weight, spread          Σg·d² and Σg·d²(m − mean)²
    """

    a: Array
    a_error: Array
    b: Array
    b_error: Array
    mean: Array
    weight: Array
    spread: Array

    @property
    def visible(self) -> Flags:
        """Return whether the curvature is significant."""
        return self.b > CURVATURE_TEST * self.b_error

    @property
    def signal(self) -> Flags:
        """Return whether slope or curvature is significant."""
        return (np.abs(self.a) > SLOPE_TEST * self.a_error) | self.visible

    def interval(self) -> tuple[Array, Array, Array]:
        """Return the zero of the line and its 95 % interval, counted from `start`.

        E. C. Fieller, "Some problems in interval estimation", J. Royal Statistical
        Society B 16, 1954.  Meaningful where `visible`.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            zero = self.a / self.b
            g = np.square(Z95 * self.b_error / self.b)
            square = np.square(self.a_error) * (1 - g) + np.square(zero * self.b_error)
            half = Z95 / (self.b * (1 - g)) * np.sqrt(square)
            centre = self.mean + zero / (1 - g)
        return self.mean + zero, centre - half, centre + half


def lines(space: Space, sums: Array, games: float, squares: Array) -> Lines:
    """Fit a line to each parameter's sums, (…, 5, n); squares is Σs², (…)."""
    s0, s1, s2, t0, t1 = (sums[..., i, :] for i in range(5))
    # per game: an iteration's score has a variance of `games` times this
    known = KNOWN_GAMES * KNOWN_VARIANCE
    variance = ((np.asarray(squares) + known) / (games + KNOWN_GAMES))[..., np.newaxis]
    played = s0 > 0
    weight = np.where(played, s0, 1.0)
    mean = s1 / weight
    spread = np.maximum(s2 - s1 * mean, 0.0)
    wide = played & (spread > LEAST_SPREAD**2 * s0 * np.square(space.width))
    span = np.where(wide, spread, 1.0)
    return Lines(
        a=t0 / weight,
        a_error=np.where(played, np.sqrt(variance / weight), np.inf),
        b=np.where(wide, (mean * t0 - t1) / span, 0.0),
        b_error=np.where(wide, np.sqrt(variance / span), np.inf),
        mean=mean,
        weight=s0,
        spread=spread,
    )


class Regression:
    """The sums of all results, (5, n); midpoints count from `start`.

    games    of all iterations
    squares  Σs²
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._sums = np.zeros((5, len(space)))
        self.games = 0.0
        self.squares = 0.0

    def add(self, plus: Array, minus: Array, result: float, games: float) -> None:
        """Add an iteration: the played values (n,), W − L, and the games."""
        d = (plus - minus) / 2
        m = (plus - self._space.start) - d
        weight = games * d * d
        score = d * result
        sums = self._sums
        sums[0] += weight
        sums[3] += score
        sums[4] += score * m
        weight *= m
        sums[1] += weight
        weight *= m
        sums[2] += weight
        self.games += games
        self.squares += result * result

    def column(self, i: int) -> list[float]:
        """Return the start and the five sums of a parameter."""
        return [float(self._space.start[i]), *self._sums[:, i].tolist()]

    def set_column(self, i: int, column: Sequence[float]) -> None:
        """Set a parameter to the `column` of another regression, with possibly another start."""
        start, s0, s1, s2, t0, t1 = column
        shift = start - float(self._space.start[i])
        self._sums[:, i] = (
            s0,
            s1 + shift * s0,
            s2 + 2 * shift * s1 + shift * shift * s0,
            t0,
            t1 + shift * t0,
        )

    def sums(self) -> Array:
        """Return Σg·d², Σg·d²m, Σg·d²m², Σd·s, Σd·m·s, (5, n); m counts from the start."""
        return self._sums.copy()

    def lines(self) -> Lines:
        """Return the fits as arrays, (n,)."""
        return lines(self._space, self._sums, self.games, np.asarray(self.squares))

    def fits(self, c: Array | None = None, estimate: Array | None = None) -> list[Fit]:
        """Return one fit for each parameter.

        c         perturbations of future games, (n,), for `games_to_halve`; None: the mean
                  perturbation so far
        estimate  of the optimum, (n,), for `elo_at_stake`; None: the fitted optimum within
                  the bounds
        """
        fitted = self.lines()
        zero, low, high = fitted.interval()
        rate = fitted.weight / max(self.games, 1.0) if c is None else np.square(c)
        if estimate is None:
            estimate = self._space.clip(self._space.start + zero)
        rows = np.stack([zero, low, high, rate, estimate], axis=-1).tolist()
        return [self._fit(fitted, i, *row) for i, row in enumerate(rows)]

    def _fit(
        self,
        fitted: Lines,
        i: int,
        zero: float,
        low: float,
        high: float,
        rate: float,
        estimate: float,
    ) -> Fit:
        slope, error = C / 2 * float(fitted.a[i]), C / 2 * float(fitted.a_error[i])
        signal = bool(fitted.signal[i])
        if not fitted.visible[i]:
            return Fit(slope, error, None, None, None, None, None, signal, None)
        start = float(self._space.start[i])
        bottom, top = float(self._space.minimum[i]), float(self._space.maximum[i])
        e = C / 4 * float(fitted.b[i])
        optimum = start + zero
        weight, spread = float(fitted.weight[i]), float(fitted.spread[i])
        needed = weight_to_halve(weight, spread, zero - float(fitted.mean[i]))
        return Fit(
            slope,
            error,
            e,
            optimum,
            min(max(start + low, bottom), top),
            min(max(start + high, bottom), top),
            e * (zero**2 - (estimate - optimum) ** 2),
            signal,
            round(needed / rate) if rate > 0 else None,
        )

    def state(self) -> dict[str, Any]:
        """Return the state as JSON data."""
        return {"sums": self._sums.tolist(), "games": self.games, "squares": self.squares}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the state."""
        self._sums = np.array(state["sums"], dtype=np.float64)
        self.games, self.squares = state["games"], state["squares"]


def weight_to_halve(weight: float, spread: float, distance: float) -> float:
    """Return the Σg·d² at the optimum that halves its standard error.

    The variance of a line's zero at a distance z from the mean is proportional to
    1/W + z²/S, with the weight W = Σg·d² and the spread S.  A further weight X at the zero
    moves the mean towards it, z → z·W/(W+X), and adds z²·W·X/(W+X) to S.  3·W always
    suffices; a large z needs less.
    """

    def variance(more: float) -> float:
        total = weight + more
        moved = distance * weight / total
        return 1 / total + moved**2 / (spread + distance**2 * weight * more / total)

    target = variance(0.0) / 4
    few, enough = 0.0, 3 * weight
    for _ in range(50):
        middle = (few + enough) / 2
        few, enough = (few, middle) if variance(middle) <= target else (middle, enough)
    return enough
