"""The live display as lines of text that fit a terminal of a given size.  What
puts the lines on a terminal is `terminal.py`; nothing here knows of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Literal

import msgspec

from ringmaster.model.report import Cell, Progress, Report, Table, Text
from ringmaster.reporting.rate import Estimate, format_duration, format_rate
from ringmaster.reporting.tables import render_report, render_table
from ringmaster.reporting.text import ELLIPSIS, cut, pad, sanitise, width

Style = Literal["", "heading", "bar", "dim", "warning"]


@dataclass(frozen=True)
class RunningGame:
    """A game (or another job) in progress: its players in move order, seconds since it began,
    plies played (None: not known)."""

    id: str
    players: tuple[str, ...]
    seconds: float | None = None
    plies: int | None = None


@dataclass(frozen=True)
class View:
    """All that a display shows.

    started             when this run began, on the display's clock
    completed_this_run  what has been counted since, in the units of `progress`
    running             games in progress, oldest first
    results             the latest result lines, the newest last
    parallel            games at a time, or what else is counted
    hint                how to stop, e.g. "Ctrl-X to stop after the current games"
    """

    heading: str
    progress: Progress
    started: float
    completed_this_run: int = 0
    description: str = ""
    report: Report = field(default_factory=Report)
    running: Sequence[RunningGame | str] = ()
    results: Sequence[str] = ()
    warnings: Sequence[str] = ()
    parallel: int = 1
    hint: str = ""


@dataclass(frozen=True)
class Line:
    """One line of the display; `filled` columns of a bar are lit."""

    text: str
    style: Style = ""
    filled: int = 0


# What is given up, one after the other until all fits: a section is cut down to
# so many lines, the report takes its next shorter form (see `_forms`), or blank
# lines go.  Games in progress and the last results are what a user watches, so
# the report is shortened before they are.
_DENSER, _BLANKS = "denser", "blanks"
_STEPS = (
    ("description", 0),
    ("results", 3),
    ("running", 3),
    (_DENSER, 1),
    (_DENSER, 2),
    (_DENSER, 3),
    ("running", 2),
    ("warnings", 1),
    (_BLANKS, 0),
    (_DENSER, 4),
    ("report", 8),
    ("running", 1),
    ("report", 1),
    ("warnings", 0),
    ("running", 0),
    ("results", 1),
    ("report", 0),
    ("results", 0),
)
_BAR_WIDTH = 40
_LEAST_BAR = 10
# A bar grows and shrinks in these steps, not with every digit beside it.
_BAR_STEP = 5


def compose(view: View, estimate: Estimate, now: float, columns: int, rows: int) -> list[Line]:
    """Return the lines of a display at most `columns` wide and `rows` high.

    now  on the clock of `view.started`
    """
    top = [_heading(view, now, columns), _progress(view.progress, estimate, columns)]
    sections = {
        "description": _description(view.description),
        "report": [],
        "running": _running(view, columns),
        "results": [Line(sanitise(line, columns)) for line in view.results],
        "warnings": [
            Line(sanitise(line, columns), "warning")
            for text in (*view.progress.warnings, *view.warnings)
            for line in text.splitlines()
        ],
        "hint": [Line(_shorten_hint(sanitise(view.hint), columns), "dim")] if view.hint else [],
    }
    page = _Page(sections, _forms(view.report, columns), columns, _jobs(view))
    page.fit(rows - len(top))
    lines = top + page.lines()
    if len(lines) > rows:
        # too low for anything but the first lines
        lines = lines[: max(rows, 1)]
    return [Line(cut(line.text, columns), line.style, line.filled) for line in lines]


class _Page:
    """The sections from top to bottom: which of their lines are shown, and
    which sections have a blank line above."""

    def __init__(
        self, sections: dict[str, list[Line]], forms: Iterator[list[str]], columns: int, jobs: str
    ) -> None:
        """forms  of the report, each shorter than the one before
        jobs   what it is that runs: games, shards"""
        self._titles = {"running": f"{jobs} in progress", "results": "last results"}
        self._whole = sections
        self._forms = forms
        self._columns = columns
        self._count = {name: len(lines) for name, lines in sections.items()}
        self._blanks = set(sections)
        self._next_form()

    def fit(self, room: int) -> None:
        """Give up what must be given up to take `room` lines at most, if that
        is possible at all."""
        for name, least in _STEPS:
            excess = self._height() - room
            if excess <= 0:
                break
            if name == _DENSER:
                self._next_form()
            elif name == _BLANKS:
                self._drop_blanks(excess)
            elif self._count[name] > least:
                self._count[name] = max(least, self._count[name] - excess)
        self._use_up(room)

    def lines(self) -> list[Line]:
        """Return what is shown."""
        lines = []
        for name, whole in self._whole.items():
            if not self._count[name]:
                continue
            if name in self._blanks:
                lines.append(Line(""))
            if name in self._titles:
                lines.append(Line(self._titles[name], "dim"))
            lines += _shorten(name, whole, self._count[name], self._columns)
        return lines

    def _height(self) -> int:
        return sum(
            count + (name in self._blanks) + (name in self._titles)
            for name, count in self._count.items()
            if count
        )

    def _next_form(self) -> None:
        self._whole["report"] = [Line(line) for line in next(self._forms)]
        self._count["report"] = len(self._whole["report"])

    def _drop_blanks(self, excess: int) -> None:
        # from the top, where the bar and the titles divide the page well enough
        shown = [name for name, count in self._count.items() if count]
        self._blanks.difference_update(shown[:excess])

    def _use_up(self, room: int) -> None:
        """Give lines back where the last step set more of them free than needed."""
        for name in ("report", "warnings"):
            self._lengthen(name, room)
        for name in reversed(self._whole):
            if self._count[name] and name not in self._blanks and self._height() < room:
                self._blanks.add(name)
        for name in ("running", "results"):
            self._lengthen(name, room)

    def _lengthen(self, name: str, room: int) -> None:
        if self._count[name]:
            spare = max(0, room - self._height())
            self._count[name] = min(self._count[name] + spare, len(self._whole[name]))


def _shorten(name: str, lines: list[Line], count: int, columns: int) -> list[Line]:
    if count >= len(lines):
        return lines
    if name in ("results", "warnings"):
        # the latest
        return lines[len(lines) - count :]
    more = ELLIPSIS
    if name == "running":
        more += f" and {len(lines) - max(1, count - 1)} more"
    if count > 1 or name == "description":
        return [*lines[: count - 1], Line(more, "dim")]
    return [Line(f"{cut(lines[0].text.rstrip(), columns - width(more) - 2)}  {more}")]


def _shorten_hint(text: str, columns: int) -> str:
    """Return the clauses of a hint that fit, at least the words that do."""
    if width(text) <= columns:
        return text
    clauses = text.split(", ")
    for count in range(len(clauses) - 1, 0, -1):
        shorter = ", ".join(clauses[:count])
        if width(shorter) <= columns:
            return shorter
    words = cut(clauses[0], columns).rpartition(" ")[0]
    return words + ELLIPSIS if words else cut(clauses[0], columns)


def _forms(report: Report, columns: int) -> Iterator[list[str]]:
    """Yield a report as lines: whole; without notes; without blank lines, totals
    and all but the first lines of titles; without headers that repeat; and with
    one line for each table whose rows are the sides of a match."""
    yield render_report(report).splitlines()
    blocks = [
        msgspec.structs.replace(b, notes=()) if isinstance(b, Table) else b for b in report.blocks
    ]
    yield render_report(Report(tuple(blocks))).splitlines()
    blocks = [
        msgspec.structs.replace(b, title=_first_line(b), rows=_without_totals(b))
        if isinstance(b, Table)
        else b
        for b in blocks
    ]
    yield _without_blanks(render_report(Report(tuple(blocks))).splitlines())
    yield _without_blanks(_with_headers_once(blocks))
    yield _without_blanks(_with_one_line_a_table(blocks, columns))


def _without_blanks(lines: list[str]) -> list[str]:
    return [line for line in lines if line]


def _first_line(table: Table) -> str:
    lines = render_table(Table((), (), table.title)).splitlines()
    return next((line for line in lines if line), "")


def _without_totals(table: Table) -> tuple[tuple[Cell, ...], ...]:
    """Return the rows without the last one if it, alone, names nothing."""
    named = [row[:1] not in ((), ("",), (None,)) for row in table.rows]
    return table.rows[:-1] if named and all(named[:-1]) and not named[-1] else table.rows


def _with_headers_once(blocks: list[Table | Text]) -> list[str]:
    lines: list[str] = []
    for _, group in groupby(blocks, _columns_of):
        tables = list(group)
        first = tables[0]
        if isinstance(first, Text) or not any(first.headers):
            lines += render_report(Report(tuple(tables))).splitlines()
            continue
        # drawn as one table, so that all columns stand under the one header
        rows = [row for table in tables if isinstance(table, Table) for row in table.rows]
        drawn = iter(
            render_table(msgspec.structs.replace(first, rows=tuple(rows), title="")).splitlines()
        )
        header = [next(drawn)]
        for table in tables:
            if isinstance(table, Table):
                lines += [table.title, *header, *islice(drawn, len(table.rows))]
                header = []
    return lines


def _columns_of(block: Table | Text) -> object:
    return (block.headers, block.align) if isinstance(block, Table) else None


def _with_one_line_a_table(blocks: list[Table | Text], columns: int) -> list[str]:
    scores = [_scores(b) if isinstance(b, Table) else "" for b in blocks]
    # a title gives way to the scores, but not altogether
    rooms = [max(columns - 3 - width(score), columns // 4) for score in scores]
    titles = [
        cut(block.title, room) if score and isinstance(block, Table) else ""
        for block, score, room in zip(blocks, scores, rooms, strict=True)
    ]
    longest = max(map(width, titles), default=0)
    lines = []
    for block, title, score, room in zip(blocks, titles, scores, rooms, strict=True):
        if score:
            lines.append(f"{pad(title, min(longest, room))}   {score}" if longest else score)
        else:
            lines += _with_headers_once([block])
    return lines


def _scores(table: Table) -> str:
    """Return "a 7.5  b 4.5" from the first two columns, "" for a table that
    cannot be told so: a header above the first column says that the rows are
    of something (parameters), whose second column need not be what matters."""
    if any(table.headers[:1]):
        return ""
    rows = render_table(Table((), tuple(row[:2] for row in table.rows))).splitlines()
    return "  ".join(" ".join(row.split()) for row in rows)


def _heading(view: View, now: float, columns: int) -> Line:
    left = sanitise(view.heading)
    jobs = _jobs(view)
    jobs = jobs.removesuffix("s") if view.parallel == 1 else jobs
    right = f"{view.parallel} {jobs} at a time, {format_duration(now - view.started)}"
    if width(left) + 2 + width(right) <= columns:
        return Line(pad(left, columns - width(right)) + right, "heading")
    return Line(cut(left, columns), "heading")


def _jobs(view: View) -> str:
    return sanitise(view.progress.label)


def describe_progress(progress: Progress, estimate: Estimate) -> str:
    """Return "120/4000 games  3%  12.3 games/s  5 min 15 s left"."""
    label = sanitise(progress.label)
    if progress.total is None:
        parts = [f"{progress.completed} {label}", format_rate(estimate.rate, label)]
    else:
        parts = [f"{progress.completed}/{progress.total} {label}"]
        if progress.total > 0:
            # never 100 % before the last game
            parts.append(f"{100 * min(progress.completed, progress.total) // progress.total}%")
        parts.append(format_rate(estimate.rate, label))
        parts.append(f"{format_duration(estimate.left)} left")
    if progress.phase:
        parts.append(sanitise(progress.phase))
    return "  ".join(parts)


def _progress(progress: Progress, estimate: Estimate, columns: int) -> Line:
    text = describe_progress(progress, estimate)
    length = min(_BAR_WIDTH, columns - width(text) - 2)
    length -= length % _BAR_STEP
    if not progress.total or length < _LEAST_BAR:
        return Line(text)
    filled = length * min(progress.completed, progress.total) // progress.total
    return Line("━" * length + "  " + text, "bar", filled)


def _description(text: str) -> list[Line]:
    return [Line(sanitise(line).rstrip(), "dim") for line in text.strip().splitlines()[:3]]


def _running(view: View, columns: int) -> list[Line]:
    games = [game for game in view.running if isinstance(game, RunningGame)]
    ids = max((width(sanitise(game.id, 20)) for game in games), default=0)
    lines = []
    for game in view.running:
        if isinstance(game, str):
            lines.append(Line(sanitise(game, columns)))
            continue
        facts = []
        if game.seconds is not None:
            facts.append(format_duration(game.seconds))
        if game.plies is not None:
            facts.append(f"{game.plies} plies")
        right = ", ".join(facts)
        left = pad(sanitise(game.id, 20), ids) + "  " + " v ".join(map(sanitise, game.players))
        room = columns - width(right) - 2
        # the column of times stays in place while names of other lengths come and go
        lines.append(Line(pad(cut(left, room), min(room, 50)) + "  " + right if right else left))
    return lines
