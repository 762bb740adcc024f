"""Lay out the live display as lines of text that fit a terminal of a given size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal, NamedTuple

import msgspec

from ringmaster.model.report import Cell, Report, Table, Text
from ringmaster.reporting.progress import (
    DisplayView,
    RateEstimate,
    describe_progress,
    format_duration,
)
from ringmaster.reporting.tables import cell_text, render_report, render_table
from ringmaster.reporting.text import (
    ELLIPSIS,
    LINE_LIMIT,
    cut,
    folded,
    lines_of,
    pad,
    sanitise,
    width,
)

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


class _Cut(NamedTuple):
    """A step that cuts a section down to a number of lines."""

    section: str
    lines: int


_NEXT_FORM, _NO_BLANKS = "the next shorter form of the report", "no blank lines"
#: Steps that shorten the display, in this order, until it fits.  The report has the answer, so it
#: is cut last.
_STEPS = (
    _Cut("results", 3),
    _Cut("description", 0),
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
#: Lines of a verdict, and of a description.
_VERDICT_LINES, _DESCRIPTION_LINES = 3, 3
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
    line with the page's address, the run's name and keys.  A wide screen has the report on the
    left.

    now       the time on the clock of `view.started`
    messages  recent messages, in addition to the view's warnings
    """
    top = [*_verdict(view.verdict, columns), _progress(view, estimate, columns)]
    bottom = [_status(view, now, columns)]
    room = rows - len(top) - len(bottom)
    if view.help:
        middle = [Line(""), *_lines(view.help, columns)][: max(0, room)]
    elif columns >= _WIDE:
        middle = _two_columns(view, columns, room, messages)
    else:
        sections = {
            "description": _description(view.description, columns),
            "report": [],
            "results": _lines(view.results, columns),
            "running": _running(view, columns),
            "warnings": _warnings(view, columns, messages),
        }
        page = _Page(sections, _forms(view.report, columns), columns, _jobs(view))
        middle = page.lines(room)
    blanks = [Line("")] * (room - len(middle))
    return [*top, *middle, *blanks, *bottom][: max(rows, 1)]


def _lines(texts: Iterable[str], columns: int, style: Style = "") -> list[Line]:
    """Return texts as lines that are broken between words."""
    lines = folded((line for text in texts for line in lines_of(text)), columns)
    return [Line(cut(line, columns), style) for line in lines]


def _warnings(view: DisplayView, columns: int, messages: Sequence[str]) -> list[Line]:
    return [*_lines(view.warnings, columns, "warning"), *_lines(messages, columns)]


def _two_columns(view: DisplayView, columns: int, room: int, messages: Sequence[str]) -> list[Line]:
    """Return the report with the other sections to its right."""
    most = columns - _SECOND - _GAP
    left = _Page(
        {
            "description": _description(view.description, most),
            "report": [],
            "warnings": _warnings(view, most, messages),
        },
        _forms(view.report, most),
        most,
        _jobs(view),
    )
    first = left.lines(room)
    margin = max([columns // 2, *(width(line.text) for line in first)]) + _GAP
    rest = columns - margin
    # games in progress stay in place above a growing list of results
    sections = {"running": _running(view, rest), "results": _lines(view.results, rest)}
    right = _Page(sections, iter(()), rest, _jobs(view))
    return [
        replace(one, text=pad(one.text, margin), beside=other) if other.text else one
        for one, other in zip_longest(first, right.lines(room), fillvalue=Line(""))
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

    def _fit(self, room: int) -> None:
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
                # from the bottom, where titles divide the page
                shown = [name for name, count in self._count.items() if count]
                self._blanks.difference_update(shown[::-1][:excess])
        self._use_up(room, whole)

    def lines(self, room: int) -> list[Line]:
        """Return the page, shortened to `room` lines if possible."""
        self._fit(room)
        lines = []
        for name, whole in self._whole.items():
            if not self._count[name]:
                continue
            if name in self._blanks:
                lines.append(Line(""))
            if name in self._titles:
                lines.append(Line(self._titles[name], "dim"))
            lines += _shorten(name, whole, self._count[name], self._columns)
        return [replace(line, text=cut(line.text, self._columns)) for line in lines]

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
        last = lines[len(lines) - count :]
        # not the end of a line without its start
        first = next((i for i, line in enumerate(last) if not line.text.startswith(" ")), 0)
        return last[first:]
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
        msgspec.structs.replace(b, title=b.title.strip().split("\n")[0])
        if isinstance(b, Table)
        else b
        for b in blocks
    ]
    yield [line for line in _render(blocks, columns) if line]
    yield [line for line in render_report(Report(tuple(blocks))).splitlines() if line]


def _render(blocks: Iterable[Table | Text], columns: int) -> list[str]:
    return render_report(
        Report(tuple(_with_second_lines(b, columns) if isinstance(b, Table) else b for b in blocks))
    ).splitlines()


#: Most columns of a table that move to a second line of each row.
_MOST_FOLDED = 6
_LEAST_HEADER = 3


def _with_second_lines(table: Table, columns: int) -> Table | Text:
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
        rows = [
            text
            for line, row in pairs
            for text in (line, *folded(_second_line(table, row, count), columns, 0))
        ]
        return Text((*table.title.splitlines(), header, *rows, *table.notes))
    return table


def _second_line(table: Table, row: tuple[Cell, ...], first: int) -> list[str]:
    """Return a line of the cells from column `first` on, with their headers; [] for none."""
    cells = zip(table.headers[first:], map(cell_text, row[first:]), strict=False)
    text = "   ".join(f"{header} {cell}" for header, cell in cells if cell)
    return ["    " + text] if text else []


def _verdict(text: str, columns: int) -> list[Line]:
    """Return a verdict in a few lines at most."""
    lines = folded([sanitise(text, LINE_LIMIT).strip()], columns, 0)
    last = " ".join(lines[_VERDICT_LINES - 1 :])
    return [
        Line(cut(line, columns), "verdict") for line in (*lines[: _VERDICT_LINES - 1], last) if line
    ]


def _status(view: DisplayView, now: float, columns: int) -> Line:
    """Return the last line: the page's address, the run's name, games at a time and time as far
    as there is room, and keys.

    Keys give way to the address, which is of no use when it is cut.
    """
    jobs = _jobs(view)
    jobs = jobs.removesuffix("s") if view.parallel == 1 else jobs
    parts = [
        sanitise(view.heading),
        f"{view.parallel} {jobs} at a time",
        format_duration(now - view.started),
    ]
    keys = sanitise(view.hint).split("  ")
    address = view.page and view.page + "  "
    right = _joined(keys, "  ", columns - width(address))
    if not right:
        address = ""
        right = _joined(keys, "  ", columns) or cut(keys[0], columns)
    left = address + _joined(parts, ", ", columns - width(address) - width(right) - 2)
    return Line(pad(left, columns - width(right)) + right if left else right, "dim")


def _joined(parts: Sequence[str], separator: str, columns: int) -> str:
    """Return as many of the first parts as fit."""
    while parts and width(separator.join(parts)) > columns:
        parts = parts[:-1]
    return separator.join(parts)


def _jobs(view: DisplayView) -> str:
    return sanitise(view.progress.label)


def _progress(view: DisplayView, estimate: RateEstimate, columns: int) -> Line:
    text = describe_progress(view, estimate)
    if width(text) > columns:
        text = cut(describe_progress(view, estimate, is_short=True), columns)
    length = min(_BAR_WIDTH, columns - width(text) - 2)
    length -= length % _BAR_STEP
    share = view.share
    if share is None or length < _LEAST_BAR:
        return Line(text)
    return Line("━" * length + "  " + text, "bar", int(length * share))


def _description(text: str, columns: int) -> list[Line]:
    return _lines([text.strip()], columns, "dim")[:_DESCRIPTION_LINES]


def _running(view: DisplayView, columns: int) -> list[Line]:
    games = [(sanitise(id, 20), players) for id, players in view.running.items()]
    most = max((width(id) for id, _ in games), default=0)
    return [
        Line(f"{pad(id, most)}  {' v '.join(sanitise(code, columns) for code in players)}")
        for id, players in games
    ]
