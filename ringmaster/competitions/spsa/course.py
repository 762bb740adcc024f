"""The recent course of tuned values as bars of one line of text, for the live display."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

#: Most points in memory; above them every second one is dropped.
MOST_POINTS = 128
#: Bars of a course.
BARS = 16
_LEVELS = "▁▂▃▄▅▆▇█"
#: The height of the bars is at least this share of the parameter's range.
_LEAST_SPAN = 0.02
#: A trend is a change from one quarter of the course to the next by this share of its span.
_TREND = 0.15


class Course:
    """Equally spaced values of θ since the start of the run; few, however long it takes."""

    def __init__(self) -> None:
        self._codes: tuple[str, ...] = ()
        self._points: list[list[float]] = []
        self._stride = 1
        self._skipped = 0

    def record(self, codes: Sequence[str], theta: list[float]) -> None:
        """Add the values after an iteration; other parameters than before begin anew."""
        if tuple(codes) != self._codes:
            self._codes, self._points, self._stride = tuple(codes), [], 1
        self._skipped += 1
        if self._points and self._skipped < self._stride:
            return
        self._skipped = 0
        self._points.append(theta)
        if len(self._points) > MOST_POINTS:
            self._points = self._points[::2]
            self._stride *= 2

    def values(self, code: str) -> list[float]:
        """Return the values of a parameter, oldest first."""
        if code not in self._codes:
            return []
        index = self._codes.index(code)
        return [point[index] for point in self._points]


def bars(values: Sequence[float], spread: float) -> str:
    """Return values as bars of eight heights, from their least to their greatest; "" for fewer
    than two.

    spread  size of the parameter's range; small changes of a parameter look small
    """
    if len(values) < 2:
        return ""
    count = min(BARS, len(values))
    ends = [len(values) * i // count for i in range(count + 1)]
    means = [sum(values[i:j]) / (j - i) for i, j in pairwise(ends)]
    low, high = min(means), max(means)
    span = max(high - low, _LEAST_SPAN * spread) or 1.0
    start = (low + high - span) / 2
    return "".join(_LEVELS[min(7, int(8 * (mean - start) / span))] for mean in means)


def trend(values: Sequence[float], spread: float) -> str:
    """Return an arrow for the change in the last half of the values; "" for fewer than eight."""
    quarter = len(values) // 4
    if quarter < 2:
        return ""
    span = max(max(values) - min(values), _LEAST_SPAN * spread)
    last, before = values[-quarter:], values[-2 * quarter : -quarter]
    change = (sum(last) - sum(before)) / quarter
    return "→" if abs(change) <= _TREND * span else "↑" if change > 0 else "↓"
