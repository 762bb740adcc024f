"""Charts of a texel competition: errors, parameters, calibration, and an optimiser's own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ringmaster.competitions.texel.state import TexelState
from ringmaster.competitions.tuning.chart_parts import measured
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import (
    Chart,
    ChartGroup,
    Interval,
    Level,
    Piece,
    Role,
    Series,
    Whiskers,
)
from ringmaster.tuners.texel.optimiser import Optimiser, RidgePath, Step


def tune_charts(
    parameters: Sequence[TunedParameter], state: TexelState, optimiser: Optimiser | None, loss: str
) -> list[ChartGroup]:
    """Return the charts of a tune; none before its first pass.

    parameters  tuned ones
    loss        the kind of error in words
    """
    if optimiser is None or not state.told:
        return []
    steps = list(optimiser.course)
    groups = [
        ChartGroup(
            "Errors",
            tuple(_errors(steps, loss)),
            "If the error of validation rises while that of training falls, the values overfit "
            "the positions of training.",
            "errors",
        ),
        ChartGroup(
            "Parameters",
            tuple(_courses(parameters, steps, optimiser)),
            "The accepted values; at the right the best, with its 95 % interval if the optimiser "
            "has one.",
            "trajectory",
        ),
        ChartGroup(
            "Ridge",
            tuple(_ridge(path, loss) for path in optimiser.ridge_paths if len(path.rows) > 1),
            "Errors at each strength of the ridge; the lowest error of validation is the best.",
            "ridge",
        ),
        ChartGroup("Of the optimiser", tuple(_extra(steps)), "", "optimiser"),
        ChartGroup(
            "Calibration",
            tuple(_calibration(state)),
            "Points of positions by their score, before and after the tune. Results on the line "
            "mean that scores are calibrated. The 95 % intervals count the positions of a game "
            "as one.",
            "calibration",
        ),
    ]
    return [group for group in groups if group.charts]


def _line(
    name: str, points: Iterable[tuple[float, float | None]], role: Role, *, joined: bool = True
) -> list[Series]:
    """Return a series of the known points, none without any."""
    known = tuple((x, y) for x, y in points if y is not None)
    return [Series(name, known, role, joined)] if known else []


def _errors(steps: Sequence[Step], loss: str) -> Iterable[Chart]:
    taken = [step for step in steps if step.taken]
    train = _line("training", [(s.passes, s.train) for s in taken], "main")
    held = _line("validation", [(s.passes, s.validation) for s in taken], "average")
    rejected = [(step.passes, step.train) for step in steps if not step.taken]
    note = ""
    for line in (held or train)[:1]:
        errors = [error for _, error in line.points]
        first, least = errors[0], min(errors)
        note = f"{line.name}: {first:.6g} to {least:.6g} ({100 * (least / first - 1):+.2f} %)"
    pieces = [*train, *held, *_line("not taken", rejected, "aside", joined=False)]
    if pieces:
        yield Chart("Error", tuple(pieces), "passes", loss, note)


def _courses(
    parameters: Sequence[TunedParameter], steps: Sequence[Step], optimiser: Optimiser
) -> Iterable[Chart]:
    ends, flags = optimiser.intervals, optimiser.flags()
    for i, p in enumerate(parameters):
        best = optimiser.best[i]
        low, high = (None, None) if ends is None else (float(ends[0][i]), float(ends[1][i]))
        pieces = (
            Level("start", p.start),
            Series("value", tuple((step.passes, step.theta[i]) for step in steps if step.taken)),
            Interval("best", best, low, high),
        )
        note = f"{p.start:.6g} → {best:.6g}, range {p.minimum:.6g} to {p.maximum:.6g}"
        note = "; ".join([note, *flags.get(i, ())])
        yield Chart(p.code, pieces, "passes", "value", note, (p.minimum, p.maximum))


def _ridge(path: RidgePath, loss: str) -> Chart:
    # no ridge is left of all strengths
    left = min((math.log10(s) for s, *_ in path.rows if s > 0), default=0.0) - 1
    places = [math.log10(s) if s > 0 else left for s, *_ in path.rows]
    train = zip(places, (error for _, error, *_ in path.rows), strict=True)
    held = zip(places, (error for _, _, error, _ in path.rows), strict=True)
    pieces = [*_line("training", train, "main"), *_line("validation", held, "average")]
    notes = [] if path.used is None else [path.edge or f"{path.used:g} used"]
    if left in places:
        notes.append("at the left: no ridge")
    return Chart(path.title, tuple(pieces), "log10 of the strength", loss, "; ".join(notes))


def _extra(steps: Sequence[Step]) -> Iterable[Chart]:
    for name in dict.fromkeys(name for step in steps for name in step.extra):
        points = tuple((s.passes, s.extra[name]) for s in steps if name in s.extra)
        if len({value for _, value in points}) > 1:
            yield Chart(name, (Series(name, points),), "passes", name)


def _calibration(state: TexelState) -> Iterable[Chart]:
    for name, rows in state.calibration.items():
        assert state.labelling is not None
        low, high = min(row[0] for row in rows), max(row[0] for row in rows)
        places = [low + k / 40 * (high - low) for k in range(41)]
        line = [(q, 100 / (1 + math.exp(-q / state.labelling.scale))) for q in places]
        pieces: list[Piece] = [*_line("win probability by the score", line, "average")]
        known = [row for row in rows if row[5] > 0]
        if known:
            marks = [measured(row[0], row[4] * row[5], row[5]) for row in known]
            pieces.append(Whiskers("results (95 %)", tuple(marks)))
        if not known or any(abs(row[1] - row[4]) > 1e-6 for row in known):
            targets = [(row[0], 100 * row[1]) for row in rows]
            pieces += _line("targets", targets, "aside", joined=False)
        title, label = f"{name.capitalize()} values", "score, centipawns"
        yield Chart(title, tuple(pieces), label, "points, %", "", (0.0, 100.0))
