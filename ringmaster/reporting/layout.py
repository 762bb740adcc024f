"""Lay out the live display as lines of text that fit a terminal of a given size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal, NamedTuple

import msgspec

from ringmaster.model.report import Cell, Report, Table, Text
from ringmaster.reporting.progress import (
    DisplayView,
    RateEstimate,
    RunningGame,
    describe_progress,
    format_duration,
    share_done,
)
from ringmaster.reporting.tables import cell_text, render_report, render_table
from ringmaster.reporting.text import ELLIPSIS, cut, pad, sanitise, width

Style = Literal["", "verdict", "bar", "dim", "warning"]


@dataclass(frozen=True)
class Line:
    """One line of the display; a bar has `filled` lit columns.

    beside  the rest of the line in another style: a second column
    """

    text: str
    style: Style = ""
    filled: int = 0
    beside: Line | None = None

    @property
    def whole(self) -> str:
        """The text with that of the second column."""
        return self.text if self.beside is None else self.text + self.beside.text


class _Cut(NamedTuple):
    """A step that cuts a section down to a number of lines."""

    section: str
    lines: int


_NEXT_FORM, _NO_BLANKS = "the next shorter form of the report", "no blank lines"
#: Steps that shorten the display, in this order, until it fits.  The report has the answer, so it
#: is cut last.
_STEPS = (
    _Cut("description", 0),
    _Cut("results", 3),
    _Cut("running", 3),
    _Cut("warnings", 3),
    _NO_BLANKS,
    _NEXT_FORM,
    _NEXT_FORM,
    _Cut("running", 2),
    _Cut("results", 1),
    _Cut("warnings", 1),
    _NEXT_FORM,
    _Cut("report", 8),
    _Cut("running", 1),
    _Cut("report", 6),
    _Cut("running", 0),
    _Cut("results", 0),
    _Cut("warnings", 0),
    _Cut("report", 0),
)
_BAR_WIDTH = 40
_LEAST_BAR = 10
# The width of a bar is a multiple of this, so that it rarely changes.
_BAR_STEP = 5
#: Lines of a verdict.
_VERDICT_LINES = 2
#: Results on a screen of fewer rows than TALL.
_FEW_RESULTS, _TALL = 3, 30
#: Columns from which there is a second column, its least width, and the gap before it.
_WIDE, _SECOND, _GAP = 140, 60, 3


def compose(
    view: DisplayView,
    estimate: RateEstimate,
    now: float,
    columns: int,
    rows: int,
    messages: Sequence[str] = (),
) -> list[Line]:
    """Return the lines of a display at most `columns` wide and `rows` high.

    From the top: verdict, progress, report, last results, games in progress, warnings, and a
    line with the run's name and keys.  A wide screen has the report on the left.

    now       the time on the clock of `view.started`
    messages  recent messages, in addition to the view's warnings
    """
    top = [*_verdict(view.verdict, columns), _progress(view, estimate, columns)]
    bottom = [_status(view, now, columns)]
    room = rows - len(top) - len(bottom)
    if view.help:
        middle = [Line(""), *(Line(sanitise(line, columns)) for line in view.help)][: max(0, room)]
    elif columns >= _WIDE:
        middle = _two_columns(view, columns, room, messages)
    else:
        sections = {
            "description": _description(view.description),
            "report": [],
            **_events(view, columns, messages),
        }
        page = _Page(sections, _forms(view.report, columns), columns, _jobs(view))
        page.fit(room, results=_FEW_RESULTS if rows < _TALL else room)
        middle = page.lines()
    lines = [*top, *middle]
    if room > len(middle):
        lines += [Line("")] * (room - len(middle))
    lines = (lines + bottom)[: max(rows, 1)]
    return [_cut_line(line, columns) for line in lines]


def _cut_line(line: Line, columns: int) -> Line:
    if line.beside is not None:
        return line
    return Line(cut(line.text, columns), line.style, line.filled)


def _events(view: DisplayView, columns: int, messages: Sequence[str]) -> dict[str, list[Line]]:
    """Return the sections besides the report."""
    return {
        "results": [Line(sanitise(line, columns)) for line in view.results],
        "running": _running(view, columns),
        "warnings": [
            *(
                Line(sanitise(line, columns), "warning")
                for text in (*view.progress.warnings, *view.warnings)
                for line in text.splitlines()
            ),
            *(Line(sanitise(line, columns)) for text in messages for line in text.splitlines()),
        ],
    }


def _two_columns(view: DisplayView, columns: int, room: int, messages: Sequence[str]) -> list[Line]:
    """Return the report with the other sections to its right."""
    most = columns - _SECOND - _GAP
    events = _events(view, columns, messages)
    warnings = events.pop("warnings")
    left = _Page(
        {"description": _description(view.description), "report": [], "warnings": warnings},
        _forms(view.report, most),
        most,
        _jobs(view),
    )
    left.fit(room)
    first = [Line(cut(line.text, most), line.style) for line in left.lines()]
    margin = max([columns // 2, *(width(line.text) for line in first)]) + _GAP
    second_columns = columns - margin
    # games in progress stay in place above a growing list of results
    sections = {name: events[name] for name in ("running", "results")}
    right = _Page(sections, iter(()), second_columns, _jobs(view))
    right.fit(room, results=room)
    second = [Line(cut(line.text, second_columns), line.style) for line in right.lines()]
    return [
        Line(pad(one.text, margin), one.style, beside=other) if other.text else one
        for one, other in zip_longest(first, second, fillvalue=Line(""))
    ]


class _Page:
    """Sections from top to bottom, with the number of lines shown and blank lines above."""

    def __init__(
        self, sections: dict[str, list[Line]], forms: Iterator[list[str]], columns: int, jobs: str
    ) -> None:
        """forms  the report, each form shorter than the one before
        jobs   "games", "shards", …"""
        self._titles = {"running": f"{jobs} in progress", "results": "last results"}
        self._whole = sections
        self._forms = forms
        self._columns = columns
        self._count = {name: len(lines) for name, lines in sections.items()}
        self._blanks = set(sections)
        self._next_form()

    def fit(self, room: int, results: int = 0) -> None:
        """Shorten the page to `room` lines, if possible.

        results  most results
        """
        if "results" in self._count:
            self._count["results"] = min(self._count["results"], results)
        whole = dict(self._count)
        for step in _STEPS:
            excess = self._height() - room
            if excess <= 0:
                break
            if isinstance(step, _Cut):
                if self._count.get(step.section, 0) > step.lines:
                    shorter = self._count[step.section] - excess
                    self._count[step.section] = max(step.lines, shorter)
            elif step == _NEXT_FORM:
                self._next_form()
                whole = {**whole, "report": self._count.get("report", 0)}
            else:
                self._drop_blanks(excess)
        self._use_up(room, whole)

    def lines(self) -> list[Line]:
        """Return the lines of all sections."""
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
        if "report" in self._whole:
            self._whole["report"] = [Line(line) for line in next(self._forms)]
            self._count["report"] = len(self._whole["report"])

    def _drop_blanks(self, excess: int) -> None:
        # from the bottom, where titles divide the page
        shown = [name for name, count in self._count.items() if count]
        self._blanks.difference_update(shown[::-1][:excess])

    def _use_up(self, room: int, whole: dict[str, int]) -> None:
        """Give lines back where the last step freed more than necessary.

        whole  most lines of each section
        """
        for name in self._whole:
            if self._count[name] and name not in self._blanks and self._height() < room:
                self._blanks.add(name)
        for name in ("report", "warnings", "running", "results"):
            if self._count.get(name):
                spare = max(0, room - self._height())
                self._count[name] = min(self._count[name] + spare, whole[name])


def _shorten(name: str, lines: list[Line], count: int, columns: int) -> list[Line]:
    if count >= len(lines):
        return lines
    if name in ("results", "warnings"):
        return lines[len(lines) - count :]
    more = ELLIPSIS
    if name == "running":
        more += f" and {len(lines) - max(1, count - 1)} more"
    if count > 1 or name == "description":
        return [*lines[: count - 1], Line(more, "dim")]
    return [Line(f"{cut(lines[0].text.rstrip(), columns - width(more) - 2)}  {more}")]


def _forms(report: Report, columns: int) -> Iterator[list[str]]:
    """Yield ever shorter forms of a report.

    1. The whole report.
    2. Without notes.
    3. Without blank lines; titles of one line.
    4. One line a row, however much of it is cut.
    """
    yield _render(report.blocks, columns)
    blocks = [
        msgspec.structs.replace(b, notes=()) if isinstance(b, Table) else b for b in report.blocks
    ]
    yield _render(blocks, columns)
    blocks = [
        msgspec.structs.replace(b, title=_first_line(b)) if isinstance(b, Table) else b
        for b in blocks
    ]
    yield [line for line in _render(blocks, columns) if line]
    yield [line for line in render_report(Report(tuple(blocks))).splitlines() if line]


def _render(blocks: Iterable[Table | Text], columns: int) -> list[str]:
    return render_report(
        Report(tuple(_folded(b, columns) if isinstance(b, Table) else b for b in blocks))
    ).splitlines()


#: Most columns of a table that move to a second line of each row.
_MOST_FOLDED = 6
_LEAST_HEADER = 3


def _folded(table: Table, columns: int) -> Table | Text:
    """Return a table that is too wide with two lines a row: the last columns move to the
    second line, each with its header.  A cross table stays as it is."""

    def first_columns(count: int) -> Table:
        return msgspec.structs.replace(
            table,
            headers=table.headers[:count],
            rows=tuple(row[:count] for row in table.rows),
            title="",
            notes=(),
        )

    def is_too_wide(part: Table) -> bool:
        return max(map(width, render_table(part).splitlines()), default=0) > columns

    number = len(table.headers)
    if not is_too_wide(first_columns(number)):
        return table
    for count in range(number - 1, max(0, number - 1 - _MOST_FOLDED), -1):
        # the short headers of a cross table mean nothing away from their columns
        if min(map(len, table.headers[count:])) < _LEAST_HEADER:
            break
        part = first_columns(count)
        if is_too_wide(part):
            continue
        header, *lines = render_table(part).split("\n")
        pairs = zip(lines, table.rows, strict=True)
        rows = [text for line, row in pairs for text in (line, _second_line(table, row, count))]
        return Text(
            (*table.title.splitlines(), header, *(row for row in rows if row), *table.notes)
        )
    return table


def _second_line(table: Table, row: tuple[Cell, ...], first: int) -> str:
    """Return the cells of a row from column `first` on, with their headers; "" for none."""
    cells = zip(table.headers[first:], map(cell_text, row[first:]), strict=False)
    text = "   ".join(f"{header} {cell}" for header, cell in cells if cell)
    return text and "    " + text


def _first_line(table: Table) -> str:
    lines = map(sanitise, table.title.splitlines())
    return next((line for line in lines if line), "")


def _verdict(text: str, columns: int) -> list[Line]:
    """Return a verdict in at most two lines."""
    words = sanitise(text).strip()
    lines: list[str] = []
    while words and len(lines) < _VERDICT_LINES:
        if width(words) <= columns or len(lines) == _VERDICT_LINES - 1:
            lines.append(cut(words, columns))
            break
        start = cut(words, columns + 1)[:-1].rpartition(" ")[0] or cut(words, columns)[:-1]
        lines.append(start)
        words = words[len(start) :].strip()
    return [Line(line, "verdict") for line in lines]


def _status(view: DisplayView, now: float, columns: int) -> Line:
    """Return the last line: keys, and as much as fits of the run's name, games at a time and
    time."""
    jobs = _jobs(view)
    jobs = jobs.removesuffix("s") if view.parallel == 1 else jobs
    right = sanitise(view.hint)
    if width(right) > columns:
        return Line(_shorten_hint(right, columns), "dim")
    parts = [
        sanitise(view.heading),
        f"{view.parallel} {jobs} at a time",
        format_duration(now - view.started),
    ]
    room = columns - width(right) - 2
    left = ", ".join(parts)
    while width(left) > room and len(parts) > 1:
        parts.pop()
        left = ", ".join(parts)
    if width(left) > room:
        left = cut(left, room) if room >= _LEAST_NAME else ""
    gap = columns - width(right)
    return Line(pad(left, gap) + right if left else right, "dim")


#: Columns below which a cut name of the run says nothing.
_LEAST_NAME = 8


def _shorten_hint(text: str, columns: int) -> str:
    """Return the first keys of a hint that fit."""
    keys = text.split("  ")
    for count in range(len(keys) - 1, 0, -1):
        shorter = "  ".join(keys[:count])
        if width(shorter) <= columns:
            return shorter
    return cut(text, columns)


def _jobs(view: DisplayView) -> str:
    return sanitise(view.progress.label)


def _progress(view: DisplayView, estimate: RateEstimate, columns: int) -> Line:
    text = describe_progress(view, estimate)
    if width(text) > columns:
        text = describe_progress(view, estimate, is_short=True)
    length = min(_BAR_WIDTH, columns - width(text) - 2)
    length -= length % _BAR_STEP
    share = share_done(view)
    if share is None or length < _LEAST_BAR:
        return Line(text)
    return Line("━" * length + "  " + text, "bar", int(length * share))


def _description(text: str) -> list[Line]:
    return [Line(sanitise(line).rstrip(), "dim") for line in text.strip().splitlines()[:3]]


def _running(view: DisplayView, columns: int) -> list[Line]:
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
        # padded, so that the column of times stays in place while names change
        lines.append(Line(pad(cut(left, room), min(room, 50)) + "  " + right if right else left))
    return lines
