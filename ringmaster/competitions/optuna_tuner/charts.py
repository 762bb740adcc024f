"""Charts of an optuna_tuner: scores, the best so far, parameters and their importance."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ringmaster.competitions.optuna_tuner.state import OptunaState
from ringmaster.competitions.tuning.searched_parameter import SearchedParameter
from ringmaster.model.report import (
    Chart,
    ChartGroup,
    Compared,
    Comparison,
    Interval,
    Level,
    Piece,
    Series,
    Whiskers,
)
from ringmaster.stats.elo import Z95
from ringmaster.tuners.search.space import Space
from ringmaster.tuners.search.surrogate import Surrogate

#: Points of the course of the best estimate.
_POINTS = 25


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
    best = ended[surrogate.rows[surrogate.best]]
    samples = tuple((float(number), trial.score) for number, trial in ended if trial.games)
    early = tuple((float(number), trial.score) for number, trial in ended if trial.hopeless)
    pieces: list[Piece] = [
        Series("score", samples, "main", joined=False),
        Series("ended early", early, "aside", joined=False),
        Whiskers("best estimate so far", tuple(_course(space, state)), "estimate"),
    ]
    groups = [
        ChartGroup(
            "Trials",
            (Chart("scores", tuple(pieces), "trial", "score", f"best: trial {best[0]}"),),
            "Estimates (with 95 %) draw the luckiest trials back to trials with similar values.",
        )
    ]
    charts = []
    for i, p in enumerate(parameters):
        if p.frozen:
            continue
        points = [
            (float(value), trial.score)
            for _, trial in ended
            if trial.games and (value := trial.values[i]) is not None
        ]
        note = ""
        if p.choices is not None:
            note = ", ".join(f"{k} = {c}" for k, c in enumerate(p.choices.choices))
        marks: list[Piece] = [Series("trials", tuple(points), "main", joined=False)]
        value = best[1].values[i]
        if value is not None:
            marks.append(Interval("best", float(value), along="x"))
        marks.append(Level("best estimate", surrogate.estimates[surrogate.best].score))
        charts.append(Chart(p.code, tuple(marks), "value", "score", note))
    groups.append(ChartGroup("Parameters", tuple(charts), "The score of each trial by its value."))
    importance = surrogate.importance()
    if not importance:
        return groups
    rows = tuple(
        Compared(code, share, share, share, f"{share:.0%}")
        for code, share in sorted(importance.items(), key=lambda item: -item[1])
    )
    title = "share of the estimates' variance"
    groups.append(
        ChartGroup(
            "Importance",
            (Comparison(title, rows, "share", mark=0.0),),
            "The share that needs a parameter, alone or with others, over the whole range.",
        )
    )
    return groups


def _course(space: Space, state: OptunaState) -> list[tuple[float, float, float, float]]:
    """Return the best estimate with its 95 % interval after some numbers of trials."""
    ended = state.in_order_of_end()
    observations = [trial.observation() for _, trial in ended]
    course = []
    step = max(1, math.ceil(len(ended) / _POINTS))
    for count in range(len(ended), 0, -step):
        surrogate = Surrogate(space, observations[:count])
        estimate = surrogate.estimates[surrogate.best]
        error = Z95 * estimate.deviation
        score = estimate.score
        course.append((float(count - 1), score, score - error, score + error))
    return course[::-1]
