"""The live display as lines of text that fit a terminal of a given size.  What
puts the lines on a terminal is `terminal.py`; nothing here knows of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ringmaster.model.report import Progress, Report
from ringmaster.reporting.rate import Estimate, format_duration, format_rate
from ringmaster.reporting.tables import render_report
from ringmaster.reporting.text import ELLIPSIS, cut, pad, sanitise, width

Style = Literal["", "heading", "bar", "dim", "warning"]


@dataclass(frozen=True)
class RunningGame:
    """A game in progress: its players in move order, seconds since it began,
    plies played (None: not known)."""

    id: str
    players: tuple[str, str]
    seconds: float | None = None
    plies: int | None = None


@dataclass(frozen=True)
class View:
    """All that a display shows.

    started             when this run began, on the display's clock
    completed_this_run  what has been counted since, in the units of `progress`
    running             games in progress, oldest first
    results             the latest result lines, the newest last
    parallel            games at a time
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


# Which section is cut down to how many lines, one after the other until all fits:
# results first, then games in progress, then tables.
_CUTS = (
    ("description", 0),
    ("results", 3),
    ("running", 3),
    ("results", 0),
    ("report", 8),
    ("running", 0),
    ("report", 1),
    ("warnings", 0),
    ("report", 0),
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
    hint = [Line(cut(sanitise(view.hint), columns), "dim")] if view.hint else []
    sections = {
        "description": _description(view.description),
        "report": [Line(line) for line in render_report(view.report).splitlines()],
        "running": _running(view, columns),
        "results": [Line(sanitise(line, columns)) for line in view.results],
        "warnings": [
            Line(sanitise(line, columns), "warning")
            for text in (*view.progress.warnings, *view.warnings)
            for line in text.splitlines()
        ],
    }
    titles = {"running": "games in progress", "results": "last results"}
    if not view.running:
        del titles["running"]
    _fit(sections, titles, rows - len(top) - len(hint))
    lines = top
    for name in ("description", "report", "running", "results", "warnings"):
        section = sections[name]
        if not section:
            continue
        lines.append(Line(""))
        if name in titles:
            lines.append(Line(titles[name], "dim"))
        lines += section
    if hint:
        lines += [Line(""), *hint]
    if len(lines) > rows:
        # too low for anything but the first lines: blank ones are the first to go
        lines = [line for line in lines if line.text]
        lines = lines[: max(rows, 1)]
    return [Line(cut(line.text, columns), line.style, line.filled) for line in lines]


def _fit(sections: dict[str, list[Line]], titles: dict[str, str], room: int) -> None:
    """Shorten the sections in place until they take `room` lines at most,
    with the blank line before the hint counted in."""

    def excess() -> int:
        used = 1
        for name, lines in sections.items():
            if lines:
                used += len(lines) + 1 + (name in titles)
        return used - room

    report = sections["report"]
    for name, least in _CUTS:
        over = excess()
        if over <= 0:
            break
        lines = sections[name]
        if len(lines) > least:
            sections[name] = _shorten(name, lines, max(least, len(lines) - over))
    # a section that vanished took its title along: give the lines to the tables
    spare = -excess()
    kept = len(sections["report"])
    if spare > 0 and 0 < kept < len(report):
        sections["report"] = _shorten("report", report, min(kept + spare, len(report)))


def _shorten(name: str, lines: list[Line], count: int) -> list[Line]:
    if count >= len(lines):
        return lines
    if name == "results":
        return lines[len(lines) - count :]
    if count == 0:
        return []
    if name == "running":
        return [*lines[: count - 1], Line(f"{ELLIPSIS} and {len(lines) - count + 1} more", "dim")]
    return [*lines[: count - 1], Line(ELLIPSIS, "dim")]


def _heading(view: View, now: float, columns: int) -> Line:
    left = sanitise(view.heading)
    games = "1 game at a time" if view.parallel == 1 else f"{view.parallel} games at a time"
    right = f"{games}, {format_duration(now - view.started)}"
    if width(left) + 2 + width(right) <= columns:
        return Line(pad(left, columns - width(right)) + right, "heading")
    return Line(cut(left, columns), "heading")


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
