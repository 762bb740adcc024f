"""Lay out the live display as lines of text that fit a terminal of a given size."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Literal

import msgspec

from ringmaster.model.report import Cell, Progress, Report, Table, Text
from ringmaster.reporting.tables import cell_text, render_report, render_table
from ringmaster.reporting.text import ELLIPSIS, cut, pad, sanitise, width

#: Seconds before now that a rate covers.
WINDOW = 60.0
#: The least number of games that a rate covers, however long they took.
LEAST_GAMES = 10
# Seconds between two samples.
_SPACING = 0.25


@dataclass(frozen=True)
class RateEstimate:
    """Games a second, and seconds until the last game; None when unknown."""

    rate: float | None = None
    left: float | None = None


class RateMeter:
    """Measure games a second over the last WINDOW seconds.

    Where LEAST_GAMES games took longer, measure over their time: long games have a rate, too.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def measure(self, view: DisplayView, now: float) -> RateEstimate:
        """Record the progress of a view and return the estimate for it."""
        progress, count = view.progress, view.completed_this_run
        if not self._samples:
            self._samples.append((view.started, 0))
        self._sample(now, count)
        remaining = None if progress.total is None else progress.total - progress.completed
        return self._estimate(now, count, remaining)

    def _sample(self, now: float, count: int) -> None:
        samples = self._samples
        last_time, last_count = samples[-1]
        if count != last_count and now - last_time >= _SPACING:
            samples.append((now, count))
        while len(samples) > 2:
            time, earlier = samples[1]
            if now - time < WINDOW or count - earlier < LEAST_GAMES:
                break
            samples.popleft()

    def _estimate(self, now: float, count: int, remaining: int | None) -> RateEstimate:
        time, earlier = self._samples[0]
        rate = (count - earlier) / (now - time) if now > time and count > earlier else None
        if remaining is not None and remaining <= 0:
            return RateEstimate(rate, 0.0)
        return RateEstimate(rate, None if rate is None or remaining is None else remaining / rate)


def format_rate(rate: float | None, label: str = "games") -> str:
    """Return a rate such as "12.3 games/s", "4.5 games/min", "2.1 games/h"; "–" when unknown.

    The unit is the first one that gives a number above 1.
    """
    if rate is None:
        return "–"
    for unit, seconds in (("s", 1), ("min", 60), ("h", 3600)):
        value = rate * seconds
        if value >= 0.95 or unit == "h":
            break
    return f"{value:.0f} {label}/{unit}" if value >= 99.5 else f"{value:.1f} {label}/{unit}"


def format_duration(seconds: float | None) -> str:
    """Return a duration: "45 s", "3 min 05 s", "2 h 07 min", "3 d 04 h"; "–" when unknown."""
    if seconds is None:
        return "–"
    # at most 1000 years: a rate near zero gives any number
    whole = min(int(max(seconds, 0.0) + 0.5), 1000 * 365 * 86400)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"


Style = Literal["", "heading", "bar", "dim", "warning"]


@dataclass(frozen=True)
class RunningGame:
    """A game, or another job, in progress.

    players  in move order
    seconds  since the game began; None: unknown
    plies    played; None: unknown
    """

    id: str
    players: tuple[str, ...]
    seconds: float | None = None
    plies: int | None = None


@dataclass(frozen=True)
class DisplayView:
    """The contents of a display.

    started             the start of this run, on the display's clock
    completed_this_run  games, or other units of `progress`, since then
    running             games in progress, oldest first
    results             the latest result lines, newest last
    parallel            games at a time
    hint                keys to press, e.g. "Ctrl-X to stop after the current games"
    verdict             the result so far in one sentence, "" for none
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
    verdict: str = ""


@dataclass(frozen=True)
class Line:
    """One line of the display; a bar has `filled` lit columns."""

    text: str
    style: Style = ""
    filled: int = 0


# Steps that shorten the display, in this order, until it fits: cut a section down
# to a number of lines, use the next shorter form of the report (see `_forms`), or
# drop blank lines.  A user watches games in progress and the last results, so the
# report is shortened first.
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
# The width of a bar is a multiple of this, so that it rarely changes.
_BAR_STEP = 5


def compose(
    view: DisplayView, estimate: RateEstimate, now: float, columns: int, rows: int
) -> list[Line]:
    """Return the lines of a display at most `columns` wide and `rows` high.

    now  the time on the clock of `view.started`
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
    return [
        Line(cut(line.text, columns), line.style, line.filled) for line in lines[: max(rows, 1)]
    ]


class _Page:
    """The sections from top to bottom, with the number of lines shown and blank lines above."""

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

    def fit(self, room: int) -> None:
        """Shorten the page to `room` lines, if possible."""
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
        self._whole["report"] = [Line(line) for line in next(self._forms)]
        self._count["report"] = len(self._whole["report"])

    def _drop_blanks(self, excess: int) -> None:
        # from the top, because the bar and the titles divide the page there
        shown = [name for name, count in self._count.items() if count]
        self._blanks.difference_update(shown[:excess])

    def _use_up(self, room: int) -> None:
        """Give lines back where the last step freed more than necessary."""
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
        return lines[len(lines) - count :]
    more = ELLIPSIS
    if name == "running":
        more += f" and {len(lines) - max(1, count - 1)} more"
    if count > 1 or name == "description":
        return [*lines[: count - 1], Line(more, "dim")]
    return [Line(f"{cut(lines[0].text.rstrip(), columns - width(more) - 2)}  {more}")]


def _shorten_hint(text: str, columns: int) -> str:
    """Return the first clauses of a hint that fit, or its first words."""
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
    """Yield ever shorter forms of a report.

    1. The whole report.
    2. Without notes.
    3. Without blank lines and totals; titles of one line.
    4. Without repeated headers.
    5. One line a match.
    """
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
    lines = map(sanitise, table.title.splitlines())
    return next((line for line in lines if line), "")


def _without_totals(table: Table) -> tuple[tuple[Cell, ...], ...]:
    """Return the rows without a last row of totals: the only row without a name."""
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
        # laid out as one table, so that all columns stand under one header
        rows = [row for table in tables if isinstance(table, Table) for row in table.rows]
        text = render_table(msgspec.structs.replace(first, rows=tuple(rows), title=""))
        table_lines = iter(text.splitlines())
        header = [next(table_lines)]
        for table in tables:
            if isinstance(table, Table):
                lines += [table.title, *header, *islice(table_lines, len(table.rows))]
                header = []
    return lines


def _columns_of(block: Table | Text) -> object:
    return (block.headers, block.align) if isinstance(block, Table) else None


def _with_one_line_a_table(blocks: list[Table | Text], columns: int) -> list[str]:
    scores = [_scores(b) if isinstance(b, Table) else "" for b in blocks]
    # a title is cut to make room for the scores, but keeps a quarter of the line
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
    """Return "a 7.5  b 4.5" from the first two columns of a match.

    Return "" for other tables: they have a header above their first column.
    """
    if any(table.headers[:1]):
        return ""
    return "  ".join(" ".join(map(cell_text, row[:2])) for row in table.rows)


def _heading(view: DisplayView, now: float, columns: int) -> Line:
    left = sanitise(view.heading)
    jobs = _jobs(view)
    jobs = jobs.removesuffix("s") if view.parallel == 1 else jobs
    right = f"{view.parallel} {jobs} at a time, {format_duration(now - view.started)}"
    if width(left) + 2 + width(right) <= columns:
        return Line(pad(left, columns - width(right)) + right, "heading")
    return Line(cut(left, columns), "heading")


def _jobs(view: DisplayView) -> str:
    return sanitise(view.progress.label)


def describe_progress(progress: Progress, estimate: RateEstimate) -> str:
    """Return "120/4000 games  3%  12.3 games/s  5 min 15 s left"."""
    label = sanitise(progress.label)
    if progress.total is None:
        parts = [f"{progress.completed} {label}", format_rate(estimate.rate, label)]
    else:
        parts = [f"{progress.completed}/{progress.total} {label}"]
        if progress.total > 0:
            # rounded down: 100 % only after the last game
            parts.append(f"{100 * min(progress.completed, progress.total) // progress.total}%")
        parts.append(format_rate(estimate.rate, label))
        parts.append(f"{format_duration(estimate.left)} left")
    if progress.phase:
        parts.append(sanitise(progress.phase))
    return "  ".join(parts)


def _progress(progress: Progress, estimate: RateEstimate, columns: int) -> Line:
    text = describe_progress(progress, estimate)
    length = min(_BAR_WIDTH, columns - width(text) - 2)
    length -= length % _BAR_STEP
    if not progress.total or length < _LEAST_BAR:
        return Line(text)
    filled = length * min(progress.completed, progress.total) // progress.total
    return Line("━" * length + "  " + text, "bar", filled)


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
