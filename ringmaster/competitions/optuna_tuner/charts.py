"""Charts of an optuna_tuner: the best estimate so far, results by value, and importance."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ringmaster.competitions.optuna_tuner.settings import SearchedParameter
from ringmaster.competitions.optuna_tuner.state import OptunaState, Trial
from ringmaster.competitions.tuning.chart_parts import (
    VALUE_LABEL,
    cells_of,
    importance_chart,
    name_of,
    on_axis,
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
    number_of_best, best = state.estimated(surrogate)[surrogate.best]
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
            groups.append(_surface(parameters, played, order[:2]))
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
    band = tuple((x, low, high) for x, _, low, high in course)
    line = tuple((x, score) for x, score, _, _ in course)
    pieces: list[Piece] = [
        Band("95 % of the estimate", band, "estimate"),
        Series("best estimate so far", line, "estimate"),
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
    course = []
    points = _POINTS if state.ended <= _MANY_TRIALS else _FEW_POINTS
    step = max(1, math.ceil(state.ended / points))
    for count in range(state.ended, 0, -step):
        surrogate = state.surrogate(space, count)
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
    names, cells = _cells(i, p, trials, _GROUPS)
    marks = []
    for cell in range(len(names)):
        part = [(v, t) for t in trials if (v := t.values[i]) is not None and cells[v] == cell]
        points, games = _totals([trial for _, trial in part])
        low, high = wilson(points, games)
        middle = sum(on_axis(value, log=d.log) for value, _ in part) / len(part)
        marks.append((middle, points / games, low, high))
    if len(marks) < 2:
        return None
    pieces: list[Piece] = [Whiskers("trials (95 %)", tuple(marks))]
    value = best.values[i]
    note = "the best candidate does not have it"
    if value is not None:
        pieces.append(Interval("best candidate", on_axis(value, log=d.log), along="x"))
        note = f"best candidate: {name_of(p.shown(p.played_value(value)))}"
    names = () if p.choices is None else tuple(map(str, p.choices.choices))
    bounds = (0.0, 1.0)
    return Chart(
        p.code, tuple(pieces), VALUE_LABEL[d.log], "score, points a game", note, bounds, names
    )


def _cells(
    i: int, p: SearchedParameter, trials: Sequence[Trial], most: int
) -> tuple[tuple[str, ...], dict[int | float | None, int]]:
    """Return the names of groups of a parameter's values, and the group of each value."""
    values = sorted({value for t in trials if (value := t.values[i]) is not None})
    shown = [p.shown(p.played_value(value)) for value in values]
    groups = cells_of(shown, most if p.choices is None else len(values))
    return groups.names, dict(zip(values, groups.cells, strict=True))


def _surface(
    parameters: Sequence[SearchedParameter],
    trials: Sequence[Trial],
    codes: Sequence[str],
) -> ChartGroup:
    """Return the mean score over two parameters."""
    axes = sorted(i for i, p in enumerate(parameters) if p.code in codes)
    (columns, column_of), (rows, row_of) = (_cells(i, parameters[i], trials, _CELLS) for i in axes)
    members: dict[tuple[int | None, int | None], list[Trial]] = {}
    for trial in trials:
        x, y = (trial.values[i] for i in axes)
        members.setdefault((column_of.get(x), row_of.get(y)), []).append(trial)
    totals = [
        [_totals(members[x, y]) if (x, y) in members else None for x in range(len(columns))]
        for y in range(len(rows))
    ]
    values = tuple(tuple(total and total[0] / total[1] for total in row) for row in totals)
    texts = tuple(
        tuple(rate_text(*total) if total else "no trial" for total in row) for row in totals
    )
    labels = [parameters[i].code for i in axes]
    title = f"{labels[0]} and {labels[1]}"
    label = "score, points a game"
    chart = HeatMap(title, columns, rows, values, label, labels[0], labels[1], "", texts)
    text = "Mean score of the trials over the two most important parameters; open: no trial."
    return ChartGroup("Scores over two parameters", (chart,), text, "surface")
