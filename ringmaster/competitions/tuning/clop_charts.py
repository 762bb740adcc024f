"""Charts of a clop_tuner: samples and estimates in the course of the games, results by value,
the fitted model and the effects of the parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ringmaster.competitions.tuning.chart_parts import (
    FEWEST,
    FEWEST_OF_RATE,
    VALUE_LABEL,
    importance_chart,
    measured,
    number,
    on_axis,
    parameter_chart,
    results_charts,
    value_groups,
)
from ringmaster.model.report import (
    Band,
    Chart,
    ChartGroup,
    HeatMap,
    Interval,
    Level,
    Piece,
    Series,
    Whiskers,
)
from ringmaster.tuners.clop import Axis, Clop, Finding
from ringmaster.tuners.space import Array

#: Groups of games in their course, and by value.
_WINDOWS, _GROUPS = 48, 12
#: Cells of a surface along an axis, and the least weight of a sample in a shown cell.
_CELLS, _LEAST_WEIGHT = 20, 0.05
#: Earlier estimates, and most work for them: games times squared coefficients (half a second).
_EARLIER, _WORK = 12, 1e7


def clop_charts(codes: Sequence[str], tuner: Clop, opponents: str) -> list[ChartGroup]:
    """Return the charts of the tuned parameters; none for a few games."""
    if len(tuner) < FEWEST_OF_RATE:
        return []
    findings = tuner.findings()
    x, y = tuner.games()
    estimates = _estimates(tuner, findings)
    courses = tuple(_course(i, code, tuner, x, estimates) for i, code in enumerate(codes))
    groups = [
        ChartGroup(
            "Values in the course of the games",
            courses,
            "The band has 95 % of the samples at that time. At the right: the estimate with the "
            "region that holds 95 % of the weight of all samples.",
            "trajectory",
        ),
        _samples(codes, tuner, findings, x, y),
    ]
    at = np.array(
        [axis.coordinate(f.estimate) for axis, f in zip(tuner.axes, findings, strict=True)]
    )
    if len(codes) > 1 and any(finding.signal for finding in findings):
        effects = tuner.effects(at)
        groups.append(_surface(codes, tuner, at, effects))
        order = np.argsort(-effects, kind="stable").tolist()
        groups.append(
            importance_chart(
                "Effect",
                {codes[i]: 100 * float(effects[i]) if findings[i].signal else None for i in order},
                "win rate, percentage points",
                "no signal yet",
                "How much the win rate changes over a parameter's range, the others at their "
                "estimates, by a fit to all games.",
            )
        )
    groups.append(results_charts(y.tolist(), "the samples", opponents))
    return [group for group in groups if group.charts]


def _estimates(tuner: Clop, findings: Sequence[Finding]) -> list[tuple[int, Sequence[float]]]:
    """Return (games, estimates) after some numbers of games, the present one last."""
    games, n = len(tuner), len(tuner.axes)
    work = games * ((n + 1) * (n + 2) / 2) ** 2
    earlier = min(_EARLIER, int(2 * _WORK / work))
    counts = sorted({games * k // earlier for k in range(1, earlier)})
    course: list[tuple[int, Sequence[float]]] = []
    for count in counts:
        if count >= FEWEST and (estimate := tuner.first(count).estimate()) is not None:
            course.append((count, estimate))
    return [*course, (games, [finding.estimate for finding in findings])]


def _course(
    i: int, code: str, tuner: Clop, x: Array, estimates: Sequence[tuple[int, Sequence[float]]]
) -> Chart:
    axis, finding, games = tuner.axes[i], tuner.findings()[i], len(x)
    band, middles = [], []
    first = 0
    for part in np.array_split(x[:, i], max(1, min(_WINDOWS, games // FEWEST))):
        middle = first + (len(part) + 1) / 2
        low, median, high = map(axis.exact, np.quantile(part, [0.025, 0.5, 0.975]).tolist())
        band.append((middle, low, high))
        middles.append((middle, median))
        first += len(part)
    line = tuple((float(count), values[i]) for count, values in estimates)
    pieces: list[Piece] = []
    if len(band) > 1:
        pieces.append(Band("95 % of the samples", tuple(band)))
        pieces.append(Series("median of the samples", tuple(middles), "aside"))
    pieces.append(Series("estimate so far", line, "estimate"))
    pieces.append(Interval("estimate and region", finding.estimate, finding.low, finding.high))
    note = (
        f"estimate {number(finding.estimate)}, region {number(finding.low)} to "
        f"{number(finding.high)}"
    )
    bounds = (axis.minimum, axis.maximum)
    return parameter_chart(code, pieces, note, bounds, signal=finding.signal)


def _samples(
    codes: Sequence[str], tuner: Clop, findings: Sequence[Finding], x: Array, y: Array
) -> ChartGroup:
    charts = []
    most = max(1, min(_GROUPS, len(y) // FEWEST))
    for i, (code, axis, finding) in enumerate(zip(codes, tuner.axes, findings, strict=True)):
        distinct, group = np.unique(x[:, i], return_inverse=True)
        if len(distinct) > 2 * _GROUPS:
            group = value_groups(x[:, i], np.ones(len(y)), most)
        games, points = np.bincount(group), np.bincount(group, y)
        middles = map(axis.exact, (np.bincount(group, x[:, i]) / games).tolist())
        marks = tuple(
            measured(on_axis(middle, log=axis.logarithmic), won, played)
            for middle, won, played in zip(middles, points.tolist(), games.tolist(), strict=True)
            if played >= FEWEST_OF_RATE
        )
        if len(marks) < 2:
            continue
        pieces: list[Piece] = [Level("even", 50.0), Whiskers("points (95 %)", marks)]
        if len(codes) == 1:
            grid = np.linspace(*axis.ends, 81)
            rates, weights = tuner.win_rates(grid[:, np.newaxis])
            shown = weights >= _LEAST_WEIGHT
            line = zip(grid[shown].tolist(), rates[shown].tolist(), strict=True)
            curve = tuple(
                (on_axis(axis.exact(p), log=axis.logarithmic), 100 * rate) for p, rate in line
            )
            pieces.append(Series("fitted model", curve, "average"))
        estimate = on_axis(finding.estimate, log=axis.logarithmic)
        pieces.append(Interval("estimate", estimate, along="x"))
        label = VALUE_LABEL[axis.logarithmic]
        charts.append(Chart(code, tuple(pieces), label, "points, %", "", (0.0, 100.0)))
    text = "Points of the samples by groups of values, with 95 % intervals."
    if len(codes) > 1:
        text += " The other parameters vary, so an effect looks smaller than it is."
    return ChartGroup("Results by value", tuple(charts), text, "samples")


def _cells(axis: Axis) -> tuple[Array, tuple[str, ...]]:
    """Return coordinates along an axis, and the names of their values."""
    if axis.integer and axis.maximum - axis.minimum < _CELLS:
        values = np.arange(axis.minimum, axis.maximum + 1).tolist()
        return np.array([axis.coordinate(value) for value in values]), tuple(map(number, values))
    low, high = axis.ends
    points = low + (np.arange(_CELLS) + 0.5) / _CELLS * (high - low)
    return points, tuple(number(axis.round(axis.exact(p))) for p in points.tolist())


def _surface(codes: Sequence[str], tuner: Clop, at: Array, effects: Array) -> ChartGroup:
    """Return the fitted win rate over the two parameters of most effect."""
    i, j = sorted(np.argsort(-effects, kind="stable")[:2].tolist())
    (columns, x_names), (rows, y_names) = _cells(tuner.axes[i]), _cells(tuner.axes[j])
    points = np.tile(at, (len(rows) * len(columns), 1))
    points[:, i] = np.tile(columns, len(rows))
    points[:, j] = np.repeat(rows, len(columns))
    rates, weights = tuner.win_rates(points)
    known = np.where(weights >= _LEAST_WEIGHT, 100 * rates, np.nan).reshape(len(rows), -1)
    cells = tuple(
        tuple(None if math.isnan(value) else value for value in row) for row in known.tolist()
    )
    note = "the other parameters at their estimates" if len(codes) > 2 else ""
    title = f"{codes[i]} and {codes[j]}"
    chart = HeatMap(title, x_names, y_names, cells, "% of the points", codes[i], codes[j], note)
    text = (
        "The win rate by the fitted model. Open cells are confidently below average and hardly "
        "played."
    )
    return ChartGroup("Fitted model", (chart,), text, "surface")
