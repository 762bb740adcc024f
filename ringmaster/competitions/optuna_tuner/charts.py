"""Charts of an optuna_tuner: the best estimate so far, results by value, and importance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from ringmaster.competitions.optuna_tuner.settings import SearchedParameter
from ringmaster.competitions.optuna_tuner.state import OptunaState, Trial
from ringmaster.competitions.tuning.chart_parts import (
    importance_chart,
    name_of,
    number,
    rate_text,
    thinned,
)
from ringmaster.model.report import (
    Band,
    Chart,
    ChartGroup,
    HeatMap,
    Interval,
    Piece,
    Series,
    Whiskers,
)
from ringmaster.stats.elo import Z95, wilson
from ringmaster.tuners.search.space import Dimension, Space
from ringmaster.tuners.search.surrogate import Surrogate

#: Points of the course of the best estimate; fewer of many trials, which take long.
_POINTS, _FEW_POINTS, _MANY_TRIALS = 16, 8, 400
#: Groups of values, and cells of a surface along an axis.
_GROUPS, _CELLS = 10, 8


def trial_charts(
    space: Space,
    parameters: Sequence[SearchedParameter],
    state: OptunaState,
    surrogate: Surrogate | None,
) -> list[ChartGroup]:
    """Return the charts; none before two trials have ended.

    surrogate  estimates of all ended trials
    """
    ended = state.in_order_of_end()
    if surrogate is None or len(ended) < 2:
        return []
    number_of_best, best = ended[surrogate.rows[surrogate.best]]
    played = [trial for _, trial in ended if sum(trial.pairs.counts)]
    groups = [_best(space, state, surrogate, number_of_best)]
    charts = []
    for i, p in enumerate(parameters):
        if not p.frozen and (chart := _by_value(i, p, space.dimensions[i], played, best)):
            charts.append(chart)
    text = (
        "Score of the trials by groups of values. The 95 % intervals are of the games; the other "
        "parameters vary too."
    )
    groups.append(ChartGroup("Results by value", tuple(charts), text, "samples"))
    importance = surrogate.importance()
    if importance:
        order = sorted(importance, key=lambda code: -importance[code])
        if len(order) > 1:
            groups.append(_surface(parameters, space, played, order[:2]))
        unknown = [p.code for p in parameters if not p.frozen and p.code not in importance]
        groups.append(
            importance_chart(
                "Importance",
                {**{code: 100 * importance[code] for code in order}, **dict.fromkeys(unknown)},
                "share of the variance, %",
                "too few different values yet",
                "The share of the estimated scores' variance that needs a parameter, alone or with "
                "others, over the whole range.",
            )
        )
    return [group for group in groups if group.charts]


def _best(space: Space, state: OptunaState, surrogate: Surrogate, best: int) -> ChartGroup:
    ended = state.in_order_of_end()
    trials = [(float(n), trial.score) for n, trial in ended if trial.games and not trial.hopeless]
    early = [(float(n), trial.score) for n, trial in ended if trial.hopeless]
    course = _course(space, state)
    pieces: list[Piece] = [
        Band(
            "95 % of the estimate", tuple((x, low, high) for x, _, low, high in course), "estimate"
        ),
        Series("best estimate so far", tuple((x, score) for x, score, _, _ in course), "estimate"),
    ]
    for name, points, role in (("trial", trials, "main"), ("ended early", early, "aside")):
        if points:
            shown = tuple(thinned(sorted(points)))
            pieces.append(Series(name, shown, role, joined=False))  # type: ignore[arg-type]
    estimate = surrogate.estimates[surrogate.best]
    name = "the start values" if best == 0 else f"trial {best}"
    note = f"best: {name}, {estimate.score:.3f} ± {Z95 * estimate.deviation:.3f} (95 %)"
    chart = Chart("Scores", tuple(pieces), "trial", "score, points a game", note)
    text = (
        "Dots are the trials' own scores. An estimate uses all trials together, and draws lucky "
        "ones back to trials with similar values."
    )
    return ChartGroup("Best candidate so far", (chart,), text, "best")


def _course(space: Space, state: OptunaState) -> list[tuple[float, float, float, float]]:
    """Return the best estimate with its 95 % interval after some numbers of trials."""
    ended = state.in_order_of_end()
    observations = [trial.observation() for _, trial in ended]
    course = []
    points = _POINTS if len(ended) <= _MANY_TRIALS else _FEW_POINTS
    step = max(1, math.ceil(len(ended) / points))
    for count in range(len(ended), 0, -step):
        surrogate = Surrogate(space, observations[:count])
        estimate = surrogate.estimates[surrogate.best]
        error = Z95 * estimate.deviation
        score = estimate.score
        course.append((float(count - 1), score, max(score - error, 0.0), min(score + error, 1.0)))
    return course[::-1]


def _totals(trials: Sequence[Trial]) -> tuple[float, int]:
    """Return points and games in complete pairs."""
    counts = [sum(column) for column in zip(*(t.pairs.counts for t in trials), strict=True)]
    return sum(i * n for i, n in enumerate(counts)) / 2, 2 * sum(counts)


def _by_value(
    i: int, p: SearchedParameter, d: Dimension, trials: Sequence[Trial], best: Trial
) -> Chart | None:
    """Return the scores of groups of neighbouring values, None without two of them."""
    pairs = [(value, t) for t in trials if (value := t.values[i]) is not None]
    distinct = sorted({value for value, _ in pairs})
    length = 1 if d.choices else math.ceil(len(distinct) / _GROUPS)
    marks = []
    for first in range(0, len(distinct), length or 1):
        values = distinct[first : first + length]
        part = [(v, t) for v, t in pairs if values[0] <= v <= values[-1]]
        points, games = _totals([t for _, t in part])
        low, high = wilson(points, games)
        middle = sum(_shown(d, v) for v, _ in part) / len(part)
        marks.append((middle, points / games, low, high))
    if len(marks) < 2:
        return None
    pieces: list[Piece] = [Whiskers("trials (95 %)", tuple(marks))]
    value = best.values[i]
    note = "the best candidate does not have it"
    if value is not None:
        pieces.append(Interval("best candidate", _shown(d, value), along="x"))
        note = f"best candidate: {name_of(p.shown(p.played_value(value)))}"
    label = "log10 of the value" if d.log else "value"
    names = () if p.choices is None else tuple(map(str, p.choices.choices))
    bounds = (0.0, 1.0)
    return Chart(p.code, tuple(pieces), label, "score, points a game", note, bounds, names)


def _shown(d: Dimension, value: float) -> float:
    """Return a value's place on the axis of a chart."""
    return math.log10(value) if d.log else float(value)


def _cells(p: SearchedParameter, d: Dimension) -> tuple[str, ...]:
    """Return the names of a parameter's cells."""
    if p.choices is not None:
        return tuple(map(str, p.choices.choices))
    if d.integer and d.high - d.low < _CELLS:
        return tuple(number(d.low + k) for k in range(round(d.high - d.low) + 1))
    ends = [
        d.low * (d.high / d.low) ** (k / _CELLS) if d.log else d.low + k / _CELLS * (d.high - d.low)
        for k in range(_CELLS + 1)
    ]
    return tuple(f"{number(a)} to {number(b)}" for a, b in itertools.pairwise(ends))


def _surface(
    parameters: Sequence[SearchedParameter],
    space: Space,
    trials: Sequence[Trial],
    codes: Sequence[str],
) -> ChartGroup:
    """Return the mean score over two parameters."""
    axes = sorted(i for i, p in enumerate(parameters) if p.code in codes)
    names = [_cells(parameters[i], space.dimensions[i]) for i in axes]
    members: dict[tuple[int, ...], list[Trial]] = {}
    for trial in trials:
        cell = []
        for i, cells in zip(axes, names, strict=True):
            value, d = trial.values[i], space.dimensions[i]
            if value is None:
                break
            if d.choices:
                cell.append(int(value))
            else:
                cell.append(min(int(d.place(value) * len(cells)), len(cells) - 1))
        else:
            members.setdefault(tuple(cell), []).append(trial)
    totals = {cell: _totals(those) for cell, those in members.items()}
    columns, rows = (range(len(cells)) for cells in names)
    values = tuple(
        tuple(totals[x, y][0] / totals[x, y][1] if (x, y) in totals else None for x in columns)
        for y in rows
    )
    texts = tuple(
        tuple(rate_text(*totals[x, y]) if (x, y) in totals else "no trial" for x in columns)
        for y in rows
    )
    labels = [parameters[i].code for i in axes]
    title = f"{labels[0]} and {labels[1]}"
    label = "score, points a game"
    chart = HeatMap(title, names[0], names[1], values, label, labels[0], labels[1], "", texts)
    text = "Mean score of the trials over the two most important parameters; open: no trial."
    return ChartGroup("Scores over two parameters", (chart,), text, "surface")
