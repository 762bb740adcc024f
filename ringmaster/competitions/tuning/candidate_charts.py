"""Charts of candidates against an opponent: values tried, and results, by game."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence

import numpy as np

from ringmaster.competitions.competition import Played
from ringmaster.model.report import Chart, ChartGroup, Interval, Level, Piece, Series, Whiskers
from ringmaster.model.results import GameResult
from ringmaster.stats.elo import wilson

#: Most games with a dot of their own, and most windows of games with a mean.
MOST_POINTS, WINDOWS = 1000, 48


class CandidateCharts:
    """Collects games for the charts.

    codes      of the parameters; only numerical values are charted
    opponents  their codes
    regions    estimate of a parameter, and the ends of its region, by code
    """

    def __init__(
        self,
        codes: Sequence[str],
        *opponents: str,
        regions: Mapping[str, tuple[float, float, float]] = {},
    ) -> None:
        self._opponents = opponents
        self._regions = regions
        self._points = array("d")
        #: A value for each game, nan for others than finite numbers.
        self._values = {code: array("d") for code in codes}

    def record_result(self, played: Played, result: GameResult) -> None:
        """Add a game unless it is void."""
        if result.outcome == "void":
            return
        seat = 1 if played.players[0] in self._opponents else 0
        self._points.append(result.points(seat))
        for code, values in self._values.items():
            value = played.parameters[seat].get(code)
            is_number = isinstance(value, int | float) and math.isfinite(value)
            values.append(float(value) if is_number else math.nan)  # type: ignore[arg-type]

    def charts(self) -> list[ChartGroup]:
        """Return the charts; none before the first result."""
        if not self._points:
            return []
        charts = [chart for code in self._values if (chart := self._parameter(code)) is not None]
        groups = []
        if charts:
            text = "Each dot is a game's value; the line is their mean over some games."
            groups.append(ChartGroup("Values tried", tuple(charts), text))
        points = np.asarray(self._points)
        whiskers = []
        for window in self._windows():
            low, high = wilson(float(points[window].sum()), len(window))
            mean = 100 * float(points[window].mean())
            whiskers.append((_middle(window), mean, 100 * low, 100 * high))
        pieces: tuple[Piece, ...] = (Level("even", 50.0), Whiskers("points", tuple(whiskers)))
        note = f"{points.sum():g} of {len(points)} ({points.mean():.1%})"
        title = f"Points against {' and '.join(self._opponents)}"
        chart = Chart(title, pieces, "games", "%", note, (0.0, 100.0))
        text = "Results of the candidates at that time, with 95 % intervals."
        return [*groups, ChartGroup("Results", (chart,), text)]

    def _windows(self) -> list[np.ndarray]:
        """Return the numbers of the games, from 0, in windows of similar size."""
        games = len(self._points)
        return np.array_split(np.arange(games), min(games, WINDOWS))

    def _parameter(self, code: str) -> Chart | None:
        values = np.asarray(self._values[code])
        stride = math.ceil(len(values) / MOST_POINTS)
        games = np.flatnonzero(np.isfinite(values))
        if not len(games):
            return None
        dots = tuple((float(i + 1), float(values[i])) for i in games if (i + 1) % stride == 0)
        line = []
        for window in self._windows():
            finite = values[window][np.isfinite(values[window])]
            if len(finite):
                line.append((_middle(window), float(finite.mean())))
        pieces: list[Piece] = [
            Series("a game's value", dots, joined=False),
            Series("mean", tuple(line), "average"),
        ]
        note = f"lately {line[-1][1]:.4g}"
        if code in self._regions:
            estimate, low, high = self._regions[code]
            pieces.append(Interval("estimate", estimate, low, high))
            note = f"estimate {estimate:.4g}, region {low:.4g} … {high:.4g}"
        return Chart(code, tuple(pieces), "games", "", note)


def _middle(window: np.ndarray) -> float:
    """Return the middle of a window on the axis of games."""
    return (float(window[0]) + float(window[-1]) + 1) / 2
