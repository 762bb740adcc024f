"""The report of a texel competition, as text, data and charts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.result_lines import finite, number_of, void_line
from ringmaster.competitions.texel.evaluations import probe_lines
from ringmaster.competitions.texel.move_accuracy import MoveComparison
from ringmaster.competitions.texel.state import REFERENCE, Comparison, TexelState
from ringmaster.competitions.texel.tuning import Tuning
from ringmaster.competitions.tuning.chart_parts import measured
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, value_text
from ringmaster.errors import counted
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import (
    LEFT,
    Cell,
    Chart,
    ChartGroup,
    Column,
    Interval,
    Level,
    Listing,
    Piece,
    Role,
    Series,
    Table,
    Text,
    Whiskers,
)
from ringmaster.tuners.texel.optimiser import Errors, Optimiser, Step
from ringmaster.tuners.texel.ridge import OwnTable, RidgePath
from ringmaster.tuners.texel.targets import ENTROPIES

#: Most steps of the course in a report, and in the live display.
MOST_STEPS, LATEST = 24, 4
#: Most rows of an optimiser's own table in a report.
MOST_ROWS = 40

_number = "{:.4g}".format


def _error(value: float | None) -> str | None:
    return None if value is None else f"{value:.8f}"


_PARAMETERS = (
    Column("code", "parameter", align=LEFT, live=True),
    Column("start", "start", value_text, live=True),
    Column("value", "best", value_text, live=True),
    Column("change", "change", "{:+.6g}".format, in_data=False),
    Column("interval", "95 %", lambda ends: " to ".join(map(_number, ends)), in_data=False),
    Column("engine_value", "engine", value_text),
    Column("low"),
    Column("high"),
    Column("flags"),
    Column("frozen"),
    Column("remark", "", align=LEFT, in_data=False),
)
_COURSE = (
    Column("passes", "passes", _number, live=True),
    Column("label", "step", align=LEFT, live=True),
    Column("training", "training", _error, live=True),
    Column("validation", "validation", _error, live=True),
    Column("taken", "", lambda taken: "" if taken else "not taken", align=LEFT, live=True),
    Column("parameters"),
    Column("extra"),
)


class TuneReport(msgspec.Struct, frozen=True):
    """The report of a tune.

    best, start   values of all parameters, as engines receive them
    engine_value  returns the delivered value for a parameter's index and played value
    """

    tuning: Tuning
    best: ValuesByCode
    start: ValuesByCode
    engine_value: Callable[[int, float], Any]

    def blocks(self, match: Sequence[Table | Text] = ()) -> Iterator[Table | Text]:
        """Yield the report's blocks, with those of the closing match."""
        state = self.tuning.state
        if not state.told:
            yield Text(tuple(self.plan() or ("the positions have not been read yet",)))
        notes = []
        if self._intervals():
            notes.append("95 %: interval of the best value, by game, within the bounds")
        if state.left:
            values = ", ".join(f"{code} {v:.6g}" for code, v in state.left.items())
            notes.append(f"removed parameters, last values: {values}")
        yield self._parameters().table(self._title(), notes)
        if state.improvement is not None:
            yield Text((state.improvement.text(),))
        if state.comparison is not None:
            yield _comparison(state.comparison, kind_of_error(self.tuning.settings["loss"]))
        if self._moves is not None:
            yield self._moves.table(self.tuning.settings["move_accuracy"])
        yield from match
        if state.told:
            yield self._course_table(MOST_STEPS)
        yield from map(_own_table, self._own_tables())
        yield from self._entropies()
        yield Text(tuple(self._facts()))

    def short(self) -> Iterator[Table | Text]:
        yield self._parameters().table(self._title(), live=True)
        if self.tuning.state.told:
            yield self._course_table(LATEST)

    def plan(self) -> list[str]:
        """Return the plan of the tune, shown before the first result."""
        state, shards = self.tuning.state, self.tuning.shards
        if not state.train:
            return []
        name, count = self.tuning.settings["optimiser"].name, len(self.tuning.codes)
        lines = [
            f"{counted(state.train, 'position')} of training in "
            f"{counted(shards.of_train, 'shard')}, "
            f"{state.validation:,} of validation in {shards.of_validation}"
        ]
        parameters = counted(count, "parameter")
        step = {
            "gauss_newton": f": a step takes about {count + 1} passes ({parameters})",
            "local_search": f": a sweep takes {count} to {2 * count} passes of training",
            "linear": ": three passes in all",
        }.get(name, "")
        lines.append(f"optimiser {name}{step}")
        rate = (state.facts or {}).get("rate")
        if rate:
            seconds = (state.train + state.validation) / rate
            lines.append(
                f"at {rate:,.0f} positions/s a pass takes about {_duration(seconds)} of one engine"
            )
        return lines

    def phase(self) -> str:
        """Return the current activity, for the line of progress."""
        state = self.tuning.state
        if state.done and all(one.complete for one in state.filters.values()):
            if state.moves is None or state.moves.complete:
                return "tuned"
            hits = state.moves.hits
            return f"move accuracy: {len(hits) - hits.count(None)}/{len(hits)}"
        if state.facts is None:
            return "probing the engine" if state.probes else "not begun"
        for name, one in {**state.filters, **state.open}.items():
            come = sum(loss is not None for loss in one.losses)
            if come < len(one.losses):
                number = int(name)
                activity = f"pass {state.told_before + number}"
                if number < 0:
                    activity = "reference engine" if number <= REFERENCE else "quiet filter"
                return f"{activity}: {come}/{len(one.losses)}"
        return "tuning"

    @property
    def _moves(self) -> MoveComparison | None:
        moves = self.tuning.state.moves
        return MoveComparison(moves) if moves is not None and moves.complete else None

    def _title(self) -> str:
        state = self.tuning.state
        where = "tuned" if state.done else self.phase()
        return f"{self.tuning.settings['optimiser'].name}, {counted(state.passes, 'pass')}; {where}"

    @property
    def _optimiser(self) -> Optimiser | None:
        """The optimiser once it has a result."""
        return self.tuning.optimiser if self.tuning.state.told else None

    def _parameters(self) -> Listing:
        ends, flags = self._intervals(), self._flags()
        rows = []
        for i, p in enumerate(self.tuning.parameters):
            start, value = self.start[p.code], self.best[p.code]
            low, high = ends.get(p.code, (None, None))
            remark = ", ".join(flags.get(p.code, ()))
            if p.code not in self.tuning.codes:
                remark = "anchor" if p.code == self.tuning.settings["anchor"] else "frozen"
            rows.append(
                {
                    "code": p.code,
                    "start": start,
                    "value": value,
                    "change": value - start or None,
                    "interval": ends.get(p.code),
                    "engine_value": self.engine_value(i, value),
                    "low": finite(low),
                    "high": finite(high),
                    "flags": flags.get(p.code, []),
                    "frozen": p.code not in self.tuning.codes,
                    "remark": remark or None,
                }
            )
        return Listing(_PARAMETERS, tuple(rows))

    def _intervals(self) -> dict[str, tuple[float, float]]:
        ends = None if self._optimiser is None else self._optimiser.intervals
        if ends is None:
            return {}
        low, high = ends[0].tolist(), ends[1].tolist()
        return dict(zip(self.tuning.codes, zip(low, high, strict=True), strict=True))

    def _flags(self) -> dict[str, list[str]]:
        codes = self.tuning.codes
        own = {} if self._optimiser is None else self._optimiser.flags()
        flags = {codes[place]: list(words) for place, words in own.items()}
        moved = (self.tuning.state.facts or {}).get("moved") or ()
        for code, some in zip(codes, moved, strict=False):
            if not some:
                flags.setdefault(code, ["no score changes with it"])
        return flags

    def _course(self, most: int | None = None) -> Listing:
        """Return the first and the latest steps, `most` together."""
        optimiser = self.tuning.optimiser
        steps = [] if optimiser is None else list(optimiser.course)
        if most is not None and len(steps) > most:
            steps = [steps[0], *steps[len(steps) - most + 1 :]]
        # labels repeat some numbers
        names = dict.fromkeys(
            name for step in steps for name in step.extra if f"{name} " not in step.label
        )
        extras = [Column(f"extra {n}", n, _number, live=True, in_data=False) for n in names]
        rows = [
            {
                "passes": step.passes,
                "label": step.label,
                "training": finite(step.train),
                "validation": finite(step.validation),
                "taken": step.taken,
                "parameters": dict(zip(self.tuning.codes, step.theta, strict=True)),
                "extra": step.extra,
                **{f"extra {name}": value for name, value in step.extra.items()},
            }
            for step in steps
        ]
        return Listing((*_COURSE, *extras), tuple(rows))

    def _course_table(self, most: int) -> Table:
        shown, whole = self._course(most), len(self._course().rows)
        steps = f", {most} of {whole} steps" if whole > most else ""
        return shown.table(f"errors ({kind_of_error(self.tuning.settings['loss'])}){steps}")

    def _own_tables(self) -> list[OwnTable]:
        tables = [] if self._optimiser is None else self._optimiser.report()
        return tables + ([] if self.tuning.sweep is None else self.tuning.sweep.report())

    def _entropies(self) -> Iterator[Table]:
        entropies = self.tuning.state.entropies
        if not entropies:
            return
        columns = (
            Column("against", "against", align=LEFT),
            *(Column(name, name, _error) for name in entropies),
            Column("least", "least possible", _error),
        )
        # the first half of the names are cross entropies, the second half their lower limits
        half = len(ENTROPIES) // 2
        names = zip(("target", "result", "teacher"), ENTROPIES, ENTROPIES[half:], strict=False)
        least = next(iter(entropies.values()))
        rows = [
            {
                "against": label,
                **{at: e[crossed] for at, e in entropies.items()},
                "least": least[own],
            }
            for label, crossed, own in names
            if least[own] is not None
        ]
        part = "validation" if self.tuning.state.validation else "training"
        yield Listing(columns, tuple(rows)).table(f"cross entropy of the positions of {part}, nats")

    def _facts(self) -> Iterator[str]:
        state = self.tuning.state
        labelling, left_out = state.labelling, ""
        if labelling is not None:
            yield from labelling.scales()
            yield from (f"warning: {warning}" for warning in labelling.warnings)
            left_out = ", ".join(f"{n:,} {reason}" for reason, n in labelling.left_out.items())
        if state.train:
            positions = f"{state.train + state.validation:,}"
            yield f"positions: {positions}{left_out and '; left out: '}{left_out}"
        for note in state.notes:
            yield from textwrap.wrap(note, 100, subsequent_indent="    ")
        if state.facts is not None:
            # the parameters' remarks name those without effect
            yield from probe_lines(state.facts, (), self.tuning.settings["score"])
        if state.seconds > 0:
            yield (
                f"{state.positions:,} positions scored, {state.positions / state.seconds:,.0f}/s "
                "an engine"
            )
        if state.void_kinds:
            yield void_line(state.void_kinds, unit="evaluations")

    def data(self) -> dict[str, Any]:
        state, labelling = self.tuning.state, self.tuning.state.labelling
        return {
            "optimiser": self.tuning.settings["optimiser"].name,
            "phase": self.phase(),
            "passes": state.passes,
            "shards": {"completed": state.shards, "void": number_of(state.void_kinds)},
            "positions": {
                "training": state.train,
                "validation": state.validation,
                "left_out": {} if labelling is None else labelling.left_out,
                "notes": state.notes,
                "scored": state.positions,
                "rate": state.positions / state.seconds if state.seconds > 0 else None,
            },
            "engine": state.facts,
            "win_rate_scale": None if labelling is None else labelling.scale,
            "teacher_scale": None if labelling is None else labelling.teacher_scale,
            "fitted_scales": {} if labelling is None else labelling.fits,
            "errors": {"start": _errors_data(state.start), "best": _errors_data(state.best)},
            "reference": msgspec.to_builtins(state.comparison),
            "sweep": self._sweep(),
            "move_accuracy": self._moves and self._moves.data(),
            "improvement": msgspec.to_builtins(state.improvement),
            "entropies": state.entropies,
            "parameters": self._parameters().data(),
            "course": self._course().data(),
            "tables": [
                {"title": title, "headers": list(headers), "rows": [list(row) for row in rows]}
                for title, headers, rows in self._own_tables()
            ],
        }

    def _sweep(self) -> list[dict[str, Any]]:
        sweep = self.tuning.sweep
        return [
            {
                **msgspec.to_builtins(row),
                "theta": dict(zip(self.tuning.codes, row.theta, strict=True)),
            }
            for row in ([] if sweep is None else sweep.rows)
        ]


def kind_of_error(loss: str) -> str:
    """Return the kind of error of the setting `loss` in words."""
    return "mean squared error" if loss == "squared" else f"mean {loss.replace('_', ' ')}, nats"


def _errors_data(errors: Errors) -> dict[str, float | None]:
    return {"training": finite(errors.train), "validation": finite(errors.validation)}


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _own_table(own: OwnTable) -> Table:
    """Return a table of an optimiser, cut to MOST_ROWS."""
    title, headers, rows = own
    shown = tuple(tuple(map(_cell, row)) for row in rows[:MOST_ROWS])
    more = (f"and {len(rows) - len(shown)} more",) if len(shown) < len(rows) else ()
    return Table(headers, shown, title, more)


def _cell(value: Any) -> Cell:
    if isinstance(value, float):
        # errors differ in later digits
        return f"{value:.8g}"
    return value if value is None or isinstance(value, int) else str(value)


def _comparison(comparison: Comparison, kind: str) -> Table:
    player = comparison.player
    columns = (
        Column("part", "", align=LEFT),
        Column("start", "start", _error),
        Column("best", "best", _error),
        Column("reference", player, _error),
    )
    errors = msgspec.to_builtins(comparison)
    rows = [
        {
            "part": part,
            **{column.key: (errors[column.key] or {}).get(key) for column in columns[1:]},
        }
        for part, key in (("training", "train"), ("validation", "validation"))
        if errors["start"].get(key) is not None
    ]
    notes = [f"the win-rate scale of {player} is {comparison.scale:.5g} centipawns"]
    if comparison.missing:
        notes.append(f"{comparison.missing:g} positions without a score of {player} are left out")
    return Listing(columns, tuple(rows)).table(f"errors and the reference {player} ({kind})", notes)


def tune_charts(tuning: Tuning) -> list[ChartGroup]:
    """Return the charts of a tune; none before its first pass."""
    parameters, state, optimiser = tuning.tuned, tuning.state, tuning.optimiser
    if optimiser is None or not state.told:
        return []
    loss = kind_of_error(tuning.settings["loss"])
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
