"""Charts of a tune: the course and the regression of each parameter.

θ, its averages and the regression come from the tuner.  Perturbations and results by
value come from the recorded games, since the schedule may have been edited.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import numpy as np

from ringmaster.competitions.tournaments.matchup_charts import MOST_POINTS, thinned
from ringmaster.competitions.tuning.chart_parts import (
    VALUE_LABEL,
    number,
    on_axis,
    parameter_chart,
    value_groups,
)
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
from ringmaster.tuners.space import Array
from ringmaster.tuners.spsa.tuner import Finding, Spsa

#: Most games that are drawn, and most values of one side in them; of more, a sample.
MOST_DRAWN, MOST_VALUES = 100_000, 4_000_000
#: Most groups of values of a parameter.
GROUPS = 12


class TuneCharts:
    """Collects the games of a tune for charts.

    parameters  the tuned parameters, in the order of the tuner's arrays
    share       of the games that will be added, a sample by chance below 1
    """

    def __init__(
        self, parameters: Sequence[TunedParameter], tuner: Spsa, share: float = 1.0
    ) -> None:
        self._parameters = tuple(parameters)
        self._tuner = tuner
        #: (games, θ).
        games_before = tuner.counting.games_before
        self._course = thinned(
            [(float(games_before(k + 1)), theta) for k, theta in tuner.trajectory.points()]
        )
        self._share = share
        self._own, self._other, self._scores = array("d"), array("d"), array("d")

    def add(self, own: Sequence[float], other: Sequence[float] | None, score: float) -> None:
        """Add a game that is not void.

        own, other  values of θ⁺ and θ⁻, NaN for parameters newer than the game; against a
                    reference the values of the side that played, and None
        score       of the first of them: 1, 0 or −1 for a win, draw or loss
        """
        self._own.extend(own)
        self._other.extend(other or ())
        self._scores.append(score)

    def charts(self) -> list[ChartGroup]:
        """Return the charts; none before the first completed iteration."""
        if not self._course:
            return []
        distances, midpoints = self._played()
        courses, regressions = [], []
        findings = self._tuner.findings()
        for i, (parameter, finding) in enumerate(zip(self._parameters, findings, strict=True)):
            distance, midpoint = distances[:, i], midpoints[:, i]
            courses.append(self._parameter(i, parameter, finding, distance))
            chart = self._regression(parameter, finding, distance, midpoint)
            if chart is not None:
                regressions.append(chart)
        text = (
            "The band about θ shows the played values. At the right: the estimate, and the "
            "95 % interval of the optimum, if the results show one."
        )
        groups = [ChartGroup("Parameters", tuple(courses), text, "trajectory")]
        if regressions:
            text = (
                "Elo gain by a higher value, by the played value (95 % intervals). The line "
                "crosses zero at the optimum."
            )
            if self._share < 1:
                games = f"{len(self._scores):,} games"
                text += f" From {games}, a sample by chance of one in {1 / self._share:.0f}."
            groups.append(ChartGroup("Results by value", tuple(regressions), text, "results"))
        return groups

    def _played(self) -> tuple[Array, Array]:
        """Return distances and midpoints of the sides on axes, (games, n); NaN where absent."""
        n = len(self._parameters)
        own = self._on_axes(np.array(self._own).reshape(-1, n))
        if self._other:
            other = self._on_axes(np.array(self._other).reshape(-1, n))
            return (own - other) / 2, (own + other) / 2
        # approximately θ when the game was recorded
        games = np.arange(len(own)) / self._share
        x = [0.0, *(games for games, _ in self._course)]
        y = np.array([self._tuner.began.tolist(), *(theta for _, theta in self._course)])
        theta = self._on_axes(np.stack([np.interp(games, x, y[:, i]) for i in range(n)], axis=1))
        return own - theta, theta

    def _on_axes(self, values: Array) -> Array:
        """Return values, (…, n), with the common logarithms of those on a logarithmic scale."""
        space = self._tuner.space
        return space.theta(values) / space.unit

    def _parameter(
        self, i: int, parameter: TunedParameter, finding: Finding, distance: Array
    ) -> Chart:
        start = parameter.start
        line = [(0.0, start), *((games, theta[i]) for games, theta in self._course)]
        last = line[-1][0]
        pieces: list[Piece] = []
        if len(distance):
            # root mean squares of groups of games
            parts = np.array_split(distance, min(MOST_POINTS, len(distance)))
            counts = [max(1, np.count_nonzero(np.isfinite(part))) for part in parts]
            root = np.sqrt([np.nansum(part**2) for part in parts] / np.array(counts))
            sizes = np.array([len(part) for part in parts])
            x = (np.cumsum(sizes) - sizes / 2) / self._share
            centre = np.interp(x, [p[0] for p in line], [p[1] for p in line])
            if parameter.scale == "log":
                low, high = centre / 10**root, centre * 10**root
            else:
                low, high = centre - root, centre + root
            low, high = np.maximum(low, parameter.minimum), np.minimum(high, parameter.maximum)
            band = tuple(zip(x.tolist(), low.tolist(), high.tolist(), strict=True))
            pieces.append(Band("perturbation", band))
        pieces.append(Level("start", start))
        pieces.append(Series("θ", tuple(line)))
        pieces.append(Level("mean of the last half", finding.mean, "average", last / 2, last))
        pieces.append(Interval("estimate", finding.estimate, finding.shown.low, finding.shown.high))
        note = (
            f"{number(start)} → {number(parameter.played_value(finding.estimate))}, "
            f"range {number(parameter.minimum)} to {number(parameter.maximum)}"
        )
        bounds = (parameter.minimum, parameter.maximum)
        return parameter_chart(parameter.code, pieces, note, bounds, signal=finding.shown.signal)

    def _regression(
        self, parameter: TunedParameter, finding: Finding, distance: Array, midpoint: Array
    ) -> Chart | None:
        """Return the gain in Elo a unit of the axis by the played value.

        The expected W − L of m + d against m − d is 2d·slope/C; of m + d against a
        reference it is half of that, plus a term independent of d.
        """
        moved = np.isfinite(distance) & (distance != 0)
        if not moved.any():
            return None
        d, m, scores = distance[moved], midpoint[moved], np.array(self._scores)
        scale = C / 2 if self._other else C
        # variance a game, from iterations: the games of a pair are not independent
        regression = self._tuner.regression
        variance = float(np.square(scores).mean())
        if regression.games and self._other:
            variance = regression.squares / regression.games
        group = value_groups(m, d * d, GROUPS)
        sums = (np.bincount(group, term) for term in (d * d, d * d * m, d * scores[moved]))
        points = []
        for dd, ddm, ds in zip(*(column.tolist() for column in sums), strict=True):
            gain, error = scale * ds / dd, scale * Z95 * math.sqrt(variance / dd)
            points.append((ddm / dd, gain, gain - error, gain + error))
        pieces: list[Piece] = [Level("no gain", 0.0)]
        left, right, fit = points[0][0], points[-1][0], finding.fit
        log = parameter.scale == "log"
        unit = finding.estimate * math.log(10) if log else 1.0
        if fit.optimum is not None and fit.curvature is not None:
            within = parameter.minimum <= fit.optimum <= parameter.maximum
            optimum, low, high = (
                None if value is None else on_axis(value, log=log)
                for value in (fit.optimum, fit.low, fit.high)
            )
            assert optimum is not None
            pieces.append(Interval("fitted optimum", optimum, low, high, along="x"))
            if within:
                left, right = min(left, optimum), max(right, optimum)
            ends = [(x, -2 * fit.curvature * unit**2 * (x - optimum)) for x in (left, right)]
        else:
            ends = [(left, fit.slope * unit), (right, fit.slope * unit)]
        pieces.append(Whiskers("results (95 %)", tuple(points)))
        if right > left:
            pieces.append(Series("fit", tuple(ends), "average"))
        label = "Elo a factor of 10" if log else "Elo a unit"
        return Chart(parameter.code, tuple(pieces), VALUE_LABEL[log], label, _summary(finding))


def _summary(finding: Finding) -> str:
    fit = finding.fit
    if not finding.shown.signal:
        return "no signal yet"
    if fit.optimum is None:
        text = f"{fit.slope:+.3g} ± {Z95 * fit.slope_error:.2g} Elo a unit (95 %)"
    else:
        text = f"fitted optimum {number(fit.optimum)}"
        if fit.low is not None and fit.high is not None:
            text += f" (95 %: {number(fit.low)} to {number(fit.high)})"
    if finding.shown.elo_at_stake is not None:
        text += f", {finding.shown.elo_at_stake:+z.1f} Elo over the start"
    return text
