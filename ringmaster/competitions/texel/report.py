"""The report of a texel competition, as text and as data."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.result_lines import finite
from ringmaster.competitions.texel.evaluations import repeatability
from ringmaster.competitions.texel.state import REFERENCE, Comparison, Quality
from ringmaster.competitions.texel.tuning import Tuning, improvement_line
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode, value_text
from ringmaster.errors import counted
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.report import LEFT, RIGHT, Cell, Table, Text
from ringmaster.tuners.texel.optimiser import Optimiser, Step
from ringmaster.tuners.texel.sweep import Swept
from ringmaster.tuners.texel.targets import ENTROPIES

#: Most steps of the course in a report.
MOST_STEPS = 24
#: Steps in the live display.
LATEST = 4
#: Most rows of an optimiser's own table in a report.
MOST_ROWS = 40


class TuneReport(msgspec.Struct, frozen=True):
    """The report of a tune.

    values        settings of the control file
    best, start   values of all parameters, as engines receive them
    engine_value  returns the delivered value for a parameter's index and played value
    """

    tuning: Tuning
    parameters: Sequence[TunedParameter]
    values: Mapping[str, Any]
    best: ValuesByCode
    start: ValuesByCode
    engine_value: Callable[[int, float], Any]

    def blocks(self, match: Sequence[Table | Text] = ()) -> list[Table | Text]:
        """Return the report's blocks: results, then their course, then the input.

        match  blocks of the closing match
        """
        state = self.tuning.state
        blocks: list[Table | Text] = []
        if not state.told:
            blocks.append(Text(tuple(self.plan() or ("the positions have not been read yet",))))
        blocks.append(self._parameters())
        if state.improvement is not None:
            blocks.append(Text((improvement_line(state.improvement),)))
        if state.comparison is not None:
            blocks.append(_comparison(state.comparison, kind_of_error(self.values["loss"])))
        blocks += match
        if state.told:
            blocks.append(self._course(MOST_STEPS))
        if self.tuning.optimiser is not None and state.told:
            blocks += self._own_tables(self.tuning.optimiser)
        blocks += self._entropies()
        if state.earlier:
            blocks.append(self._earlier())
        blocks.append(Text(tuple(self._facts())))
        return blocks

    def short(self) -> list[Table | Text]:
        """Return the blocks of the live display."""
        rows: list[tuple[Cell, ...]] = [
            (p.code, value_text(self.start[p.code]), value_text(self.best[p.code]))
            for p in self.parameters
        ]
        blocks: list[Table | Text] = [
            Table(("parameter", "start", "best"), tuple(rows), self._title(), (), _ALIGNED[:3])
        ]
        if self.tuning.state.told:
            blocks.append(self._course(LATEST))
        return blocks

    def plan(self) -> list[str]:
        """Return the plan of the tune, shown before the first result."""
        state, shards = self.tuning.state, self.tuning.shards
        if not state.train:
            return []
        name, count = self.values["optimiser"].name, len(self.tuning.codes)
        lines = [
            f"{counted(state.train, 'position')} of training in "
            f"{counted(shards.of_train, 'shard')}, "
            f"{state.validation:,} of validation in {shards.of_validation}"
        ]
        parameters = counted(count, "parameter")
        step = {
            "gauss_newton": f"a step takes about {count + 1} passes ({parameters})",
            "local_search": f"a sweep takes {count} to {2 * count} passes of training",
            "linear": "three passes in all",
        }.get(name)
        lines.append(f"optimiser {name}" + (f": {step}" if step else ""))
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
            return "tuned"
        if state.facts is None:
            return "probing the engine" if state.probes else "not begun"
        for name, one in {**state.filters, **state.open}.items():
            come = sum(loss is not None for loss in one.losses)
            if come < len(one.losses):
                number = int(name)
                activity = (
                    "quiet filter"
                    if number < 0
                    else f"pass {self.tuning.state.told_before + number}"
                )
                if number <= REFERENCE:
                    activity = "reference engine"
                return f"{activity}: {come}/{len(one.losses)}"
        return "tuning"

    def _title(self) -> str:
        state = self.tuning.state
        where = "tuned" if state.done else self.phase()
        passes = counted(state.passes, "pass")
        return f"{self.values['optimiser'].name}, {passes}; {where}"

    def _parameters(self) -> Table:
        ends = self._intervals()
        flags = self._flags()
        rows: list[tuple[Cell, ...]] = []
        for i, p in enumerate(self.parameters):
            value = self.best[p.code]
            tuned = p.code in self.tuning.codes
            interval = ends.get(p.code)
            change = value - self.start[p.code]
            still = "anchor" if p.code == self.values["anchor"] else "frozen"
            rows.append(
                (
                    p.code,
                    value_text(self.start[p.code]),
                    value_text(value),
                    f"{change:+.6g}" if change else None,
                    None if interval is None else f"{interval[0]:.4g} to {interval[1]:.4g}",
                    value_text(self.engine_value(i, value)),
                    ", ".join(flags.get(p.code, ())) if tuned else still,
                )
            )
        notes = []
        if ends:
            notes.append("95 %: interval of the best value, by game, within the bounds")
        if self.tuning.state.left:
            values = ", ".join(f"{code} {v:.6g}" for code, v in self.tuning.state.left.items())
            notes.append(f"removed parameters, last values: {values}")
        return Table(
            ("parameter", "start", "best", "change", "95 %", "engine", ""),
            tuple(rows),
            self._title(),
            tuple(notes),
            (*_ALIGNED, LEFT),
        )

    def _intervals(self) -> dict[str, tuple[float, float]]:
        ends = None if self.tuning.optimiser is None else self.tuning.optimiser.intervals
        if ends is None or not self.tuning.state.told:
            return {}
        low, high = ends[0].tolist(), ends[1].tolist()
        return dict(zip(self.tuning.codes, zip(low, high, strict=True), strict=True))

    def _flags(self) -> dict[str, tuple[str, ...]]:
        flags: dict[str, list[str]] = {}
        if self.tuning.optimiser is not None and self.tuning.state.told:
            for place, words in self.tuning.optimiser.flags().items():
                flags[self.tuning.codes[place]] = list(words)
        moved = (self.tuning.state.facts or {}).get("moved") or ()
        for code, some in zip(self.tuning.codes, moved, strict=False):
            if not some and not flags.get(code):
                flags[code] = ["no score changes with it"]
        return {code: tuple(words) for code, words in flags.items()}

    def _steps(self) -> Sequence[Step]:
        return () if self.tuning.optimiser is None else self.tuning.optimiser.course

    def _course(self, most: int) -> Table:
        steps = list(self._steps())
        shown = steps if len(steps) <= most else [steps[0], *steps[len(steps) - most + 1 :]]
        extra = list(
            # labels repeat some numbers
            dict.fromkeys(n for step in shown for n in step.extra if f"{n} " not in step.label)
        )
        rows: list[tuple[Cell, ...]] = [
            (
                f"{step.passes:.4g}",
                step.label,
                _error(step.train),
                _error(step.validation),
                "" if step.taken else "not taken",
                *(f"{step.extra[name]:.4g}" if name in step.extra else None for name in extra),
            )
            for step in shown
        ]
        notes = []
        if len(shown) < len(steps):
            notes.append(f"{len(steps) - len(shown)} earlier steps are not shown")
        return Table(
            ("passes", "step", "training", "validation", "", *extra),
            tuple(rows),
            f"errors ({kind_of_error(self.values['loss'])})",
            tuple(notes),
            (RIGHT, LEFT, RIGHT, RIGHT, LEFT, *([RIGHT] * len(extra))),
        )

    def _own_tables(self, optimiser: Optimiser) -> Iterator[Table]:
        for title, headers, rows in optimiser.report():
            cut = rows[:MOST_ROWS]
            more = (f"and {len(rows) - len(cut)} more",) if len(cut) < len(rows) else ()
            cells = tuple(tuple(_cell(cell) for cell in row) for row in cut)
            align = tuple(
                LEFT if any(isinstance(row[i], str) for row in cut) else RIGHT
                for i in range(len(headers))
            )
            yield Table(headers, cells, title, more, align)

    def _entropies(self) -> list[Table | Text]:
        entropies = self.tuning.state.entropies
        if not entropies:
            return []
        rows: list[tuple[Cell, ...]] = []
        # the first half of the names are cross entropies, the second half their lower limits
        half = len(ENTROPIES) // 2
        names = zip(("target", "result", "teacher"), ENTROPIES, ENTROPIES[half:], strict=False)
        for label, crossed, own in names:
            floor = next(iter(entropies.values())).get(own)
            if floor is not None:
                cells = (_error(entropies[at].get(crossed)) for at in entropies)
                rows.append((label, *cells, _error(floor)))
        part = "validation" if self.tuning.state.validation else "training"
        return [
            Table(
                ("against", *entropies, "least possible"),
                tuple(rows),
                f"cross entropy of the positions of {part}, nats",
                (),
                (LEFT, *([RIGHT] * (len(entropies) + 1))),
            )
        ]

    def _earlier(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (
                c.passes,
                _error(c.start.train),
                _error(c.best.train),
                _error(c.start.validation),
                _error(c.best.validation),
                c.why if len(c.why) <= 60 else c.why[:59] + "…",
            )
            for c in self.tuning.state.earlier
        ]
        return Table(
            ("passes", "training", "best", "validation", "best", "ended by"),
            tuple(rows),
            "before restarts of the optimiser (errors of other settings are not comparable)",
            (),
            (*([RIGHT] * 5), LEFT),
        )

    def _facts(self) -> Iterator[str]:
        state = self.tuning.state
        labelling = state.labelling
        if labelling is not None:
            yield from labelling.scales()
            yield from (f"warning: {warning}" for warning in labelling.warnings)
            counted = state.train + state.validation
            out = ", ".join(f"{n:,} {reason}" for reason, n in labelling.left_out.items())
            yield f"positions: {counted:,}" + (f"; left out: {out}" if out else "")
        elif state.train:
            yield f"positions: {state.train + state.validation:,}"
        for note in state.notes:
            yield from textwrap.wrap(note, 100, subsequent_indent="    ")
        facts = state.facts
        if facts is not None:
            name = f"{facts['name']}, " if facts.get("name") else ""
            yield (
                f"engine: {name}apply {facts.get('apply')}, {facts.get('in_flight')} in flight, "
                f"score {self.values['score'].text}"
            )
            if said := repeatability(facts, self.values["score"].kind):
                yield f"scores: {said}"
        if state.seconds > 0:
            yield (
                f"{state.positions:,} positions scored, {state.positions / state.seconds:,.0f}/s "
                "an engine"
            )

    def data(self) -> dict[str, Any]:
        """Return the tune's part of `show --json`."""
        state = self.tuning.state
        ends, flags = self._intervals(), self._flags()
        parameters = []
        for i, p in enumerate(self.parameters):
            low, high = ends.get(p.code, (None, None))
            value = self.best[p.code]
            parameters.append(
                {
                    "code": p.code,
                    "start": p.start,
                    "value": value,
                    "engine_value": self.engine_value(i, value),
                    "low": finite(low),
                    "high": finite(high),
                    "flags": list(flags.get(p.code, ())),
                    "frozen": p.code not in self.tuning.codes,
                }
            )
        labelling = state.labelling
        return {
            "optimiser": self.values["optimiser"].name,
            "phase": self.phase(),
            "passes": state.passes,
            "shards": {"completed": state.shards, "void": state.void},
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
            "errors": {"start": _quality(state.start), "best": _quality(state.best)},
            "reference": _struct(state.comparison),
            "sweep": self._sweep(),
            "improvement": _struct(state.improvement),
            "entropies": state.entropies,
            "parameters": parameters,
            "course": [
                {
                    "passes": step.passes,
                    "label": step.label,
                    "training": finite(step.train),
                    "validation": finite(step.validation),
                    "taken": step.taken,
                    "parameters": dict(zip(self.tuning.codes, step.theta, strict=True)),
                    **({"extra": step.extra} if step.extra else {}),
                }
                for step in self._steps()
            ],
            "tables": [
                {"title": title, "headers": list(headers), "rows": [list(row) for row in rows]}
                for title, headers, rows in (
                    self.tuning.optimiser.report()
                    if self.tuning.optimiser is not None and state.told
                    else ()
                )
            ],
            "earlier": [_struct(chapter) for chapter in state.earlier],
        }

    def _sweep(self) -> list[dict[str, Any]]:
        """Return the pairs of a sweep and their results."""
        if not isinstance(self.tuning.optimiser, Swept):
            return []
        return [
            {**_struct(row), "theta": dict(zip(self.tuning.codes, row.theta, strict=True))}
            for row in self.tuning.optimiser.rows
        ]


_ALIGNED = (LEFT, *([RIGHT] * 5))


def kind_of_error(loss: str) -> str:
    """Return the kind of error of the setting `loss` in words."""
    kind = loss.replace("_", " ")
    return "mean squared error" if kind == "squared" else f"mean {kind}, nats"


def _struct(value: Any) -> Any:
    return None if value is None else msgspec.to_builtins(value)


def _quality(quality: Quality) -> dict[str, float | None]:
    return {"training": finite(quality.train), "validation": finite(quality.validation)}


def _error(value: float | None) -> str | None:
    return None if value is None else f"{value:.8f}"


def _cell(value: Any) -> Cell:
    if isinstance(value, float):
        # errors differ in later digits
        return f"{value:.8g}"
    return value if value is None or isinstance(value, int) else str(value)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _comparison(comparison: Comparison, kind: str) -> Table:
    """Return the errors side by side.

    kind  kind of the errors, in words
    """
    rows: list[tuple[Cell, ...]] = []
    for name, field in (("training", "train"), ("validation", "validation")):
        columns = (comparison.start, comparison.best, comparison.reference)
        values = [None if each is None else getattr(each, field) for each in columns]
        if values[0] is not None:
            rows.append((name, *(None if v is None else f"{v:.8f}" for v in values)))
    notes = [f"the win-rate scale of {comparison.player} is {comparison.scale:.5g} centipawns"]
    if comparison.missing:
        notes.append(
            f"{comparison.missing:g} positions without a score of {comparison.player} are left out"
        )
    return Table(
        ("", "start", "best", comparison.player),
        tuple(rows),
        f"errors and the reference {comparison.player} ({kind})",
        tuple(notes),
        (LEFT, RIGHT, RIGHT, RIGHT),
    )
