"""Charts of a tune: the course and the regression of each parameter.

θ, its averages and the regression come from the tuner.  Perturbations and results by
value come from the recorded games, since the schedule may have been edited.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ringmaster.competitions.tuning.chart_parts import number
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import (
    Band,
    Chart,
    ChartGroup,
    Interval,
    Level,
    Piece,
    Series,
    Whiskers,
)
from ringmaster.stats.elo import NELO as C
from ringmaster.stats.elo import Z95
from ringmaster.tuners.spsa import Array, OptimumInterval, Spsa
from ringmaster.tuners.spsa.regression import Fit

T = TypeVar("T")

#: Most points of a course.
MOST_POINTS = 400
#: Bins of a parameter's past range, and bins shown after merging by weight.
FINE, SHOWN = 240, 12
#: Games summed at a time.
CHUNK = 4096


class TuneCharts:
    """Sums the games of a tune for charts.

    parameters   the tuned parameters, in the order of the tuner's arrays
    games        approximate number of games of the tune
    games_after  returns the number of games of a number of iterations
    share        of the games that will be added, a sample by chance below 1
    """

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        tuner: Spsa,
        games: int,
        games_after: Callable[[int], int],
        share: float = 1.0,
    ) -> None:
        self._parameters = tuple(parameters)
        self._tuner = tuner
        #: (games, θ).
        self._course = thinned(
            [(float(games_after(k)), theta) for k, theta in tuner.trajectory.points()]
        )
        self._share = share
        self._window = max(1, math.ceil(games * share / MOST_POINTS))
        self._rows: list[tuple[Sequence[float], Sequence[float] | None, float]] = []
        self.games = 0
        n = len(self._parameters)
        #: (games, root mean square of d) by window.
        self._distances: list[tuple[float, Array]] = []
        self._open = np.zeros((2, n))
        self._squares = 0.0
        self._has_reference = False
        path = np.array([theta for _, theta in self._course]).reshape(-1, n)
        space = tuner.space
        low = path.min(axis=0) if len(path) else space.start
        high = path.max(axis=0) if len(path) else space.start
        self._low = low - 1e-9 * space.width
        self._bin = np.maximum(high - low, 2e-9 * space.width) / FINE * (1 + 1e-9)
        #: Σd², Σd²m, Σd·s by bin of m, (3, n, FINE).
        self._sums = np.zeros((3, n, FINE))

    def add(self, own: Sequence[float], other: Sequence[float] | None, score: float) -> None:
        """Add a game that is not void.

        own, other  values of θ⁺ and θ⁻, NaN for parameters newer than the game; against a
                    reference the values of the side that played, and None
        score       of the first of them: 1, 0 or −1 for a win, draw or loss
        """
        self.games += 1
        self._squares += score * score
        self._has_reference |= other is None
        self._rows.append((own, other, score))
        if len(self._rows) >= CHUNK:
            self._sum_rows()

    def _sum_rows(self) -> None:
        """Add the buffered games to the sums."""
        if not self._rows:
            return
        first, n = self.games - len(self._rows), len(self._parameters)
        high = np.array([row[0] for row in self._rows])
        if self._has_reference:
            # approximately θ when the game was recorded
            m = self._theta_at(np.arange(first, self.games) / self._share)
            d = high - m
        else:
            low = np.array([row[1] for row in self._rows])
            d, m = (high - low) / 2, (high + low) / 2
        scores = np.array([row[2] for row in self._rows])
        self._rows.clear()
        present = np.isfinite(d)
        d, m = np.where(present, d, 0.0), np.where(present, m, 0.0)
        bins = np.clip((m - self._low) / self._bin, 0, FINE - 1).astype(np.int64)
        place = (bins + FINE * np.arange(n)).ravel()
        dd = d * d
        for sums, values in zip(self._sums, (dd, dd * m, d * scores[:, np.newaxis]), strict=True):
            sums += np.bincount(place, values.ravel(), n * FINE).reshape(n, FINE)
        done = 0
        while done < len(d):
            end = min(len(d), done + self._window - (first + done) % self._window)
            self._open += [dd[done:end].sum(axis=0), present[done:end].sum(axis=0)]
            done = end
            if (first + done) % self._window == 0:
                self._close(first + done)

    def _close(self, games: int) -> None:
        """End a window after `games` games."""
        middle = (games - ((games - 1) % self._window + 1) / 2) / self._share
        self._distances.append((middle, np.sqrt(self._open[0] / np.maximum(self._open[1], 1))))
        self._open = np.zeros_like(self._open)

    def _theta_at(self, games: npt.NDArray[np.float64]) -> Array:
        """Return θ after numbers of games, (games, n)."""
        x = [0.0, *(games for games, _ in self._course)]
        y = np.array([self._tuner.space.start.tolist(), *(theta for _, theta in self._course)])
        return np.stack([np.interp(games, x, y[:, i]) for i in range(y.shape[1])], axis=1)

    def charts(self) -> list[ChartGroup]:
        """Return the charts; none before the first completed iteration."""
        self._sum_rows()
        if self.games % self._window:
            self._close(self.games)
        if not self._course:
            return []
        fits = self._tuner.fits()
        intervals: Sequence[Fit | OptimumInterval] = self._tuner.intervals() or fits
        estimate = self._tuner.estimate().tolist()
        mean = self._tuner.averages.mean().tolist()
        courses = [
            self._parameter(i, p, interval, estimate[i], mean[i])
            for i, (p, interval) in enumerate(zip(self._parameters, intervals, strict=True))
        ]
        groups = [
            ChartGroup(
                "Parameters",
                tuple(courses),
                "The band about θ shows the played values. At the right: the estimate, and the "
                "95 % interval of the optimum, if the results show one.",
                "trajectory",
            )
        ]
        regressions = [
            chart
            for i, (p, fit) in enumerate(zip(self._parameters, fits, strict=True))
            if (chart := self._regression(i, p, fit, intervals[i])) is not None
        ]
        if regressions:
            groups.append(
                ChartGroup(
                    "Results by value",
                    tuple(regressions),
                    "Elo gain by a higher value, by the played value (95 % intervals). The line "
                    f"crosses zero at the optimum.{self._sampled()}",
                    "results",
                )
            )
        return groups

    def _parameter(
        self,
        i: int,
        parameter: TunedParameter,
        interval: Fit | OptimumInterval,
        estimate: float,
        mean: float,
    ) -> Chart:
        start = parameter.start
        line = [(0.0, start), *((games, theta[i]) for games, theta in self._course)]
        last = line[-1][0]
        pieces: list[Piece] = []
        if self._distances:
            x = [games for games, _ in self._distances]
            centre = np.interp(x, [p[0] for p in line], [p[1] for p in line])
            distance = np.array([d[i] for _, d in self._distances])
            low = np.maximum(centre - distance, parameter.minimum)
            high = np.minimum(centre + distance, parameter.maximum)
            band = tuple(zip(x, low.tolist(), high.tolist(), strict=True))
            pieces.append(Band("perturbation", band))
        pieces.append(Level("start", start))
        pieces.append(Series("θ", tuple(line)))
        pieces.append(Level("mean of the last half", mean, "average", last / 2, last))
        pieces.append(Interval("estimate", estimate, interval.low, interval.high))
        note = (
            f"{number(start)} → {number(parameter.played_value(estimate))}, "
            f"range {number(parameter.minimum)} to {number(parameter.maximum)}"
        )
        if not interval.signal:
            note += ", no signal yet"
        bounds = (parameter.minimum, parameter.maximum)
        return Chart(parameter.code, tuple(pieces), "games", "value", note, bounds)

    def _regression(
        self, i: int, parameter: TunedParameter, fit: Fit, interval: Fit | OptimumInterval
    ) -> Chart | None:
        """Return the gain in Elo a unit by the played value.

        The expected W − L of m + d against m − d is 2d·slope/C; of m + d against a
        reference it is half of that, plus a term independent of d.
        """
        scale = C if self._has_reference else C / 2
        # variance a game, from iterations: the games of a pair are not independent
        regression = self._tuner.regression
        variance = self._squares / max(self.games, 1)
        if regression.games and not self._has_reference:
            variance = regression.squares / regression.games
        points = []
        for dd, ddm, ds in _merged(self._sums[:, i]):
            error = scale * Z95 * math.sqrt(variance / dd)
            gain = scale * ds / dd
            points.append((ddm / dd, gain, gain - error, gain + error))
        if not points:
            return None
        pieces: list[Piece] = [Level("no gain", 0.0)]
        left, right = points[0][0], points[-1][0]
        if fit.optimum is not None and fit.curvature is not None:
            within = parameter.minimum <= fit.optimum <= parameter.maximum
            pieces.append(Interval("fitted optimum", fit.optimum, fit.low, fit.high, along="x"))
            if within:
                left, right = min(left, fit.optimum), max(right, fit.optimum)
            ends = [(x, -2 * fit.curvature * (x - fit.optimum)) for x in (left, right)]
        else:
            ends = [(left, fit.slope), (right, fit.slope)]
        pieces.append(Whiskers("results (95 %)", tuple(points)))
        if right > left:
            pieces.append(Series("fit", tuple(ends), "average"))
        return Chart(parameter.code, tuple(pieces), "value", "Elo a unit", _summary(fit, interval))

    def _sampled(self) -> str:
        if self._share == 1:
            return ""
        return f" From {self.games:,} games, a sample by chance of one in {1 / self._share:.0f}."


def thinned(points: Sequence[T]) -> list[T]:
    """Return at most MOST_POINTS points, evenly spaced, the last one included."""
    stride = max(1, math.ceil(len(points) / MOST_POINTS))
    return list(points[::-stride])[::-1]


def _merged(sums: Array) -> list[tuple[float, float, float]]:
    """Return (Σd², Σd²m, Σd·s) of about SHOWN groups of bins with similar weight.

    sums  (3, FINE)
    """
    whole = float(sums[0].sum())
    groups: list[tuple[float, float, float]] = []
    if whole <= 0:
        return groups
    group = np.zeros(3)
    for one in sums.T:
        group = group + one
        if group[0] >= whole / SHOWN:
            groups.append((float(group[0]), float(group[1]), float(group[2])))
            group = np.zeros(3)
    if group[0] > 0:
        if groups and group[0] < whole / SHOWN / 3:
            group = group + groups.pop()
        groups.append((float(group[0]), float(group[1]), float(group[2])))
    return groups


def _summary(fit: Fit, interval: Fit | OptimumInterval) -> str:
    """Return the regression in words."""
    if not interval.signal:
        return "no signal yet"
    if fit.optimum is None:
        text = f"{fit.slope:+.3g} ± {Z95 * fit.slope_error:.2g} Elo a unit (95 %)"
    else:
        text = f"fitted optimum {number(fit.optimum)}"
        if fit.low is not None and fit.high is not None:
            text += f" (95 %: {number(fit.low)} to {number(fit.high)})"
    if interval.elo_at_stake is not None:
        text += f", {interval.elo_at_stake:+z.1f} Elo over the start"
    return text
