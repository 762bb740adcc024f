"""Each parameter by itself: a least-squares fit of the results to what was played.

Near an optimum o where a distance x costs e·x² Elo, an iteration whose sides are m ± d
has the expected score

    E[W−L]/games = d·(a − b·m)        b = 4e/C,  a = b·o

Since δ is drawn anew for each iteration, the other parameters are noise of mean zero
to this one; its sums Σg·d², Σg·d²m, Σg·d²m², Σd·s, Σd·m·s (g games, s = W−L) are all that
the fit needs.  They do not depend on the order of the results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringmaster.tuners.spsa.gains import C
from ringmaster.tuners.spsa.space import Array, Space

#: Standard deviations of a 95 % interval.
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Fit:
    """What the results say of one parameter, in its own units.

    slope, slope_error  gain in Elo a unit at the mean of what was played, and its
                        standard error
    curvature           Elo lost a unit² from the optimum, None where it is not visible (its
                        95 % interval holds zero)
    optimum             where the fitted slope is zero, None without a visible curvature
    low, high           95 % interval of the optimum (Fieller's), None where it has no end
    elo_at_stake        Elo gained from the start to the fitted optimum (or bound), None
                        without a signal
    signal              whether slope or curvature can be told from zero (95 %)
    games_to_halve      further games that halve the interval, None without one
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


class Regression:
    """The sums of all results, (n,) each; midpoints are counted from `start`."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._sums = np.zeros((5, len(space)))
        self.games = 0.0
        self.squares = 0.0

    def take(self, plus: Array, minus: Array, result: float, games: float) -> None:
        """Add an iteration: values played (n,), W − L, and its games."""
        d = (plus - minus) / 2
        m = (plus + minus) / 2 - self._space.start
        weight = games * d * d
        score = d * result
        self._sums += np.array([weight, weight * m, weight * m * m, score, score * m])
        self.games += games
        self.squares += result * result

    def column(self, i: int) -> list[float]:
        """Return what is known of a parameter: its start and five sums."""
        return [float(self._space.start[i]), *self._sums[:, i].tolist()]

    def set_column(self, i: int, column: Sequence[float]) -> None:
        """Take over what `column` of another regression gave, which may have counted
        from another start."""
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

    def fits(self) -> list[Fit]:
        """Return one fit for each parameter."""
        return [self._fit(i) for i in range(len(self._space))]

    def _fit(self, i: int) -> Fit:
        s0, s1, s2, t0, t1 = (float(x) for x in self._sums[:, i])
        if not self.games or not s0:
            return Fit(0.0, math.inf, None, None, None, None, None, False, None)
        # per game: an iteration's score has a variance of `games` times this
        variance = max(self.squares / self.games, 1e-12)
        mean = s1 / s0
        spread = max(s2 - s1 * mean, 0.0)
        a = t0 / s0
        slope_error = math.sqrt(variance / s0)
        start = float(self._space.start[i])
        slope, error = C * a / 2, C * slope_error / 2
        signal = abs(a) > Z95 * slope_error
        if spread < 1e-9 * s0 * float(self._space.width[i]) ** 2:
            return Fit(slope, error, None, None, None, None, None, signal, None)
        b = -(t1 - mean * t0) / spread
        b_error = math.sqrt(variance / spread)
        visible = b > Z95 * b_error
        signal = signal or visible
        if not visible:
            return Fit(slope, error, None, None, None, None, None, signal, None)
        # the zero of a − b·x, x from the mean of the midpoints; a and b independent
        zero = a / b
        g = (Z95 * b_error / b) ** 2
        half = Z95 / (b * (1 - g)) * math.sqrt(slope_error**2 * (1 - g) + (zero * b_error) ** 2)
        centre = start + mean + zero / (1 - g)
        optimum = start + mean + zero
        low, high = float(self._space.minimum[i]), float(self._space.maximum[i])
        e = b * C / 4
        inside = min(max(optimum, low), high)
        stake = e * ((start - optimum) ** 2 - (inside - optimum) ** 2)
        return Fit(
            slope,
            error,
            e,
            optimum,
            max(centre - half, low),
            min(centre + half, high),
            stake,
            signal,
            3 * round(self.games),
        )

    def state(self) -> dict[str, Any]:
        """Return the state as JSON data."""
        return {"sums": self._sums.tolist(), "games": self.games, "squares": self.squares}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state."""
        self._sums = np.array(state["sums"], dtype=np.float64)
        self.games, self.squares = state["games"], state["squares"]
