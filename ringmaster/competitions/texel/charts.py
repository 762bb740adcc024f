"""Charts of a texel competition: errors, parameters, calibration, and an optimiser's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ringmaster.competitions.texel.state import Labelling, TexelState
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
from ringmaster.tuners.texel.optimiser import Optimiser, Step


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
    groups = [_errors(steps, loss), _courses(parameters, steps, optimiser)]
    groups += _path(optimiser, loss)
    groups += _extra(steps)
    if state.labelling is not None and state.calibration:
        groups.append(_calibration(state.labelling, state.calibration))
    return [group for group in groups if group.charts]


def _errors(steps: Sequence[Step], loss: str) -> ChartGroup:
    pieces: list[Piece] = []
    train = [(s.passes, s.train) for s in steps if s.taken and s.train is not None]
    held = [(s.passes, s.validation) for s in steps if s.taken and s.validation is not None]
    if train:
        pieces.append(Series("training", tuple(train), "main"))
    if held:
        pieces.append(Series("validation", tuple(held), "average"))
    rejected = tuple(
        (step.passes, step.train) for step in steps if not step.taken and step.train is not None
    )
    if rejected:
        pieces.append(Series("not taken", rejected, "aside", joined=False))
    note = ""
    if held or train:
        first, last = (held or train)[0][1], min(error for _, error in held or train)
        part = "validation" if held else "training"
        note = f"{part}: {first:.6g} to {last:.6g} ({100 * (last / first - 1):+.2f} %)"
    chart = Chart("Error", tuple(pieces), "passes", loss, note)
    return ChartGroup(
        "Errors",
        (chart,) if pieces else (),
        "If the error of validation rises while that of training falls, the values overfit the "
        "positions of training.",
        "errors",
    )


def _courses(
    parameters: Sequence[TunedParameter], steps: Sequence[Step], optimiser: Optimiser
) -> ChartGroup:
    charts = []
    ends = optimiser.intervals
    flags = optimiser.flags()
    for i, p in enumerate(parameters):
        points = tuple((step.passes, step.theta[i]) for step in steps if step.taken)
        best = optimiser.best[i]
        low = high = None
        if ends is not None:
            low, high = float(ends[0][i]), float(ends[1][i])
        pieces: tuple[Piece, ...] = (
            Level("start", p.start),
            Series("value", points),
            Interval("best", best, low, high),
        )
        note = f"{p.start:.6g} → {best:.6g}, range {p.minimum:.6g} to {p.maximum:.6g}"
        if i in flags:
            note += f"; {', '.join(flags[i])}"
        charts.append(Chart(p.code, pieces, "passes", "value", note, (p.minimum, p.maximum)))
    return ChartGroup(
        "Parameters",
        tuple(charts),
        "The accepted values; at the right the best, with its 95 % interval if the optimiser has "
        "one.",
        "trajectory",
    )


def _extra(steps: Sequence[Step]) -> list[ChartGroup]:
    names = list(dict.fromkeys(name for step in steps for name in step.extra))
    charts = []
    for name in names:
        points = tuple((s.passes, s.extra[name]) for s in steps if name in s.extra)
        if len({value for _, value in points}) > 1:
            charts.append(Chart(name, (Series(name, points),), "passes", name))
    return [ChartGroup("Of the optimiser", tuple(charts), "", "optimiser")] if charts else []


def _path(optimiser: Optimiser, loss: str) -> list[ChartGroup]:
    """Return the errors along a ridge path, from the optimiser's table."""
    charts = []
    for title, headers, rows in optimiser.report():
        if "ridge" not in title.lower() or len(rows) < 2:
            continue
        strengths = [_float(row[0]) or 0.0 for row in rows]
        # no ridge is left of all strengths
        left = min((math.log10(s) for s in strengths if s > 0), default=0.0) - 1
        places = [math.log10(s) if s > 0 else left for s in strengths]
        pieces: list[Piece] = []
        for name in ("training", "validation"):
            at = next((i for i, header in enumerate(headers) if header[:5] == name[:5]), None)
            errors = [] if at is None else [_float(row[at]) for row in rows]
            points = tuple((x, e) for x, e in zip(places, errors, strict=False) if e is not None)
            if points:
                role: Role = "main" if name == "training" else "average"
                pieces.append(Series(name, points, role))
        if pieces:
            used = next((s for s, row in zip(strengths, rows, strict=True) if "used" in row), None)
            note = "" if used is None else f"{used:g} used"
            if 0.0 in strengths:
                note += f"{'; ' if note else ''}at the left: no ridge"
            charts.append(Chart(title, tuple(pieces), "log10 of the strength", loss, note))
    text = "Errors at each strength of the ridge; the lowest error of validation is the best."
    return [ChartGroup("Ridge", tuple(charts), text, "ridge")] if charts else []


def _float(value: object) -> float | None:
    """Return a cell of a table as a number, None if it is not one."""
    try:
        return float(value)  # type: ignore[arg-type]  # what is no number raises
    except (TypeError, ValueError):
        return None


def _calibration(labelling: Labelling, bins: Mapping[str, list[list[float]]]) -> ChartGroup:
    charts = []
    for name, rows in bins.items():
        expected = _expected(labelling, [row[0] for row in rows])
        pieces: list[Piece] = [Series("win probability by the score", expected, "average")]
        known = [row for row in rows if row[5] > 0]
        if known:
            marks = [measured(row[0], row[4] * row[5], row[5]) for row in known]
            pieces.append(Whiskers("results (95 %)", tuple(marks)))
        if not known or any(abs(row[1] - row[4]) > 1e-6 for row in known):
            targets = tuple((row[0], 100 * row[1]) for row in rows)
            pieces.append(Series("targets", targets, "aside", joined=False))
        label = "score, centipawns"
        title = f"{name.capitalize()} values"
        charts.append(Chart(title, tuple(pieces), label, "points, %", "", (0.0, 100.0)))
    return ChartGroup(
        "Calibration",
        tuple(charts),
        "Points of positions by their score, before and after the tune. Results on the line mean "
        "that scores are calibrated. The 95 % intervals count the positions of a game as one.",
        "calibration",
    )


def _expected(labelling: Labelling, scores: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return the expected points over the range of some scores."""
    low, high = min(scores), max(scores)
    places = [low + k / 40 * (high - low) for k in range(41)]
    return tuple((q, 100 / (1 + math.exp(-q / labelling.scale))) for q in places)
