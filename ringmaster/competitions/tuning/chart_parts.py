"""Parts of charts that several tuners have: rates with intervals, results in groups, values of
parameters on an axis, and the closing match."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from ringmaster.competitions.result_lines import is_number
from ringmaster.competitions.tournaments.matchup_charts import MatchupCourses
from ringmaster.errors import counted
from ringmaster.model.report import Bars, BarSeries, Chart, ChartGroup, Level, Piece, Whiskers
from ringmaster.stats.elo import wilson

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: Most windows of games, and fewest games of one.
WINDOWS, FEWEST = 96, 16
#: Most groups of games with an interval of their own.
SHOWN = 24
#: Fewest games of a rate: single games are 0 or 100 %.
FEWEST_OF_RATE = 4
#: Most cells along an axis.
MOST_CELLS = 24


def measured(x: float, points: float, games: float) -> tuple[float, float, float, float]:
    """Return x, a share of points in percent, and the ends of its 95 % interval."""
    low, high = wilson(points, games)
    return x, 100 * points / games, 100 * low, 100 * high


def rate_text(points: float, games: int) -> str:
    _, rate, low, high = measured(0.0, points, games)
    return f"{rate:.1f} % of {counted(games, 'game')} (95 %: {low:.1f} to {high:.1f} %)"


def number(value: float) -> str:
    """Return a number with four digits, whole ones above 1,000."""
    text = f"{value:.4g}" if abs(value) < 1000 else f"{value:.6g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e15 else text


def name_of(value: Any) -> str:
    return number(value) if is_number(value) else str(value)


def value_groups(
    values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], most: int
) -> npt.NDArray[np.intp]:
    """Return the group of each value, from 0 without a gap.

    Neighbouring values are grouped until they have 1/most of the whole weight; equal values are
    in one group.
    """
    # takes 0.1 s, which only charts need
    import numpy as np

    distinct, place = np.unique(values, return_inverse=True)
    summed = np.cumsum(np.bincount(place, weights))
    least, full = summed[-1] / most * (1 - 1e-9), 0.0
    #: The last distinct value of each group.
    ends: list[int] = []
    while full + least <= summed[-1]:
        ends.append(int(np.searchsorted(summed, full + least)))
        full = summed[ends[-1]]
    # the rest belongs to the last group
    return np.searchsorted(ends[:-1], np.arange(len(distinct)))[place]


def parameter_chart(
    code: str, pieces: Sequence[Piece], note: str, bounds: tuple[float, float], *, signal: bool
) -> Chart:
    """Return the course of a parameter, within its range, by the games."""
    note = note if signal else f"{note}, no signal yet"
    return Chart(code, tuple(pieces), "games", "value", note, bounds)


def on_axis(value: float, *, log: bool) -> float:
    return math.log10(value) if log else float(value)


#: Labels of axes of values, by whether they are logarithmic.
VALUE_LABEL = {False: "value", True: "log10 of the value"}


def window_size(games: int) -> int:
    """Return the number of games of a window, for the course of this number of games."""
    return max(FEWEST, math.ceil(games / WINDOWS))


def game_groups(games: int) -> list[tuple[int, int]]:
    """Return the first game and the end of each group of windows, at most `SHOWN`."""
    window = window_size(games)
    size = window * math.ceil(math.ceil(games / window) / SHOWN)
    starts = list(range(0, games, size))
    if len(starts) > 1 and 2 * (games - starts[-1]) < size:
        # a last group that is much smaller than the others belongs to the group before
        starts.pop()
    return list(pairwise([*starts, games]))


def results_charts(points: Sequence[float], players: str, opponents: str) -> ChartGroup:
    """Return the points of games (0 to 1) by groups of games, no chart for too few games."""
    games = len(points)
    text = f"Points of {players} by groups of games, with 95 % intervals."
    if games < FEWEST_OF_RATE:
        return ChartGroup("Results", (), text, "results")
    marks = [
        measured((first + end + 1) / 2, sum(points[first:end]), end - first)
        for first, end in game_groups(games)
    ]
    pieces = (Level("even", 50.0), Whiskers("points (95 %)", tuple(marks)))
    title, note = f"Points against {opponents}", rate_text(sum(points), games)
    chart = Chart(title, pieces, "games", "points, %", note, (0.0, 100.0))
    return ChartGroup("Results", (chart,), text, "results")


def cells_of(
    values: Sequence[Any], most: int = MOST_CELLS
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the names of cells on an axis, and the cell of each value, in their order.

    Equal neighbours share a cell, and many are grouped.
    """
    distinct = [list(same) for _, same in groupby(values, key=name_of)]
    names, cells = [], []
    length = max(1, math.ceil(len(distinct) / most))
    for first in range(0, len(distinct), length):
        part = distinct[first : first + length]
        low, high = name_of(part[0][0]), name_of(part[-1][-1])
        names.append(low if low == high else f"{low} to {high}")
        cells += [len(names) - 1] * sum(len(same) for same in part)
    return tuple(names), tuple(cells)


def importance_chart(
    title: str, values: Mapping[str, float | None], label: str, unknown: str, text: str
) -> ChartGroup:
    """Return bars of the parameters' importance, in the order of the values.

    values   by code, None where it is unknown
    unknown  the reason, for the note
    """
    missing = [code for code, value in values.items() if value is None]
    note = f"unknown, {unknown}: {', '.join(missing)}" if missing else ""
    bars = BarSeries(title.lower(), tuple(values.values()))
    chart = Bars(title, tuple(values), (bars,), "parameter", label, note)
    return ChartGroup("Importance", (chart,), text, "importance")


def closing_charts(matches: MatchupCourses) -> list[ChartGroup]:
    """Return the charts of the closing matches, none without a result."""
    groups = matches.charts("Closing match")
    return [
        msgspec.structs.replace(group, key=f"closing-{group.key}" if place else "closing")
        for place, group in enumerate(groups)
    ]
