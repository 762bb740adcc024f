"""The page of a competition: one HTML document with verdict, charts, tables, games and conditions.

`render_page` needs no network and no file beside it.  `render_parts` gives the changing parts of
a live page.  Jinja2 escapes all foreign text, and the content security policy allows only the
scripts and styles of this package.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ringmaster.model.report import RIGHT, Band, Chart, ChartGroup, Report, Series, Table, Whiskers
from ringmaster.reporting.tables import aligned_texts
from ringmaster.reporting.text import LINE_LIMIT, lines_of, sanitise

if TYPE_CHECKING:
    from jinja2 import Environment

#: Files of the page, in their order.
_SCRIPTS = (
    "uPlot.iife.min.js",
    "util.js",
    "boards/vendor.js",
    "boards/rules.js",
    "boards/boards.js",
    "tables.js",
    "charts.js",
    "figures.js",
    "games.js",
    "page.js",
)
_STYLES = ("uPlot.min.css", "boards/vendor.css", "boards/boards.css", "page.css")
_STATIC = Path(__file__).parent / "static"
#: Characters that could end a script element or a line of a script, or turn text around.
_UNSAFE = {
    code: f"\\u{code:04x}"
    for code in (*map(ord, "<>&"), 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
}


class CopyText(msgspec.Struct, frozen=True):
    """A text for the clipboard: its format, and the command that writes it."""

    name: str
    text: str
    command: str = ""


class GameRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A game in the table of games.

    number   place in the order of recording
    players  codes, the first mover first
    result   the score, "1-0"
    why      the reason of its end, "mate"
    fault    whether it was lost by a fault, or is void
    detail   explanation of its end, or ""
    board    the game for a board, a `BoardGame`; None without
    """

    number: int
    id: str
    players: tuple[str, str]
    result: str
    why: str
    plies: int
    seconds: float
    opening: str = ""
    fault: bool = False
    detail: str = ""
    board: Any = None


class Page(msgspec.Struct, frozen=True):
    """Contents of a page.

    state        "running", "complete", "stopped", "not started"
    facts        key figures: name and value
    report       tables and texts of the competition
    conditions   engines, openings, hosts
    games        the newest first, within a byte budget
    games_total  number of recorded games
    games_note   sentence about games that are not in `games`
    copies       texts for the clipboard
    generated    time of making, as text
    """

    title: str
    verdict: str = ""
    description: str = ""
    state: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    report: Report = Report()
    conditions: Report = Report()
    groups: Sequence[ChartGroup] = ()
    games: Sequence[GameRow] = ()
    games_total: int = 0
    games_note: str = ""
    copies: tuple[CopyText, ...] = ()
    generated: str = ""


def render_page(
    page: Page,
    *,
    events: str = "",
    html: str = "",
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
) -> str:
    """Return the whole document, self-contained except for the events of a live page.

    events   URL of server-sent events: each message has `render_parts` as JSON
    html     trusted markup below the headline
    scripts  further scripts, after the page's own
    styles   further styles
    """
    from markupsafe import Markup

    scripts = [*_files(_SCRIPTS), *scripts]
    styles = [*_files(_STYLES), *styles]
    parts = render_parts(page)
    data = {"parts": parts, "events": events}
    # the text of an element must equal the hashed one: no line ends are changed
    return (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            policy=content_policy(scripts, styles, connect=bool(events)),
            scripts=map(Markup, scripts),
            styles=map(Markup, styles),
            data=Markup(script_json(data)),
            live=Markup(html),
            is_live=bool(events),
            main=Markup(parts["main"]),
            conditions=Markup(parts["conditions"]),
        )
    )


def render_parts(page: Page) -> dict[str, Any]:
    """Return the changing parts of a live page as JSON-ready data."""
    return {
        "verdict": _line(page.verdict),
        "state": _line(page.state),
        "generated": page.generated,
        "facts": [[_line(name), _line(value)] for name, value in page.facts],
        "main": _blocks(page.report, "t"),
        "conditions": _blocks(page.conditions, "c"),
        "charts": groups_data(page.groups),
        "games": [_game_data(row) for row in page.games],
        "games_total": page.games_total,
        "games_note": _line(page.games_note),
        "copies": [
            {"name": _line(copy.name), "text": copy.text, "command": _line(copy.command)}
            for copy in page.copies
        ],
    }


def render_fragment(report: Report, *, title: str = "", verdict: str = "") -> str:
    """Return a report as markup for the cell of a notebook."""
    template = _environment().get_template("notebook.html")
    return template.render(blocks=report.blocks, prefix="n", title=title, verdict=verdict)


def content_policy(scripts: Sequence[str], styles: Sequence[str], *, connect: bool = False) -> str:
    """Return a policy that allows only these inline scripts and styles.

    connect  whether to allow requests to the page's own server
    """
    sources = [
        "default-src 'none'",
        f"script-src {' '.join(map(_source, scripts))}",
        f"style-src {' '.join(map(_source, styles))}",
        "img-src data:",
        *(["connect-src 'self'"] if connect else []),
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(sources)


def _source(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def script_json(data: Any) -> str:
    """Return JSON that is inert inside a script element."""
    try:
        text = msgspec.json.encode(data).decode()
    except UnicodeEncodeError:  # a name with half of a surrogate pair
        text = json.dumps(msgspec.to_builtins(data))
    return text.translate(_UNSAFE)


@cache
def _files(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple((_STATIC / name).read_text(encoding="utf-8") for name in names)


@cache
def _environment() -> Environment:
    """Return the environment of the templates, which escapes all foreign text."""
    # imported here: Jinja2 takes about 40 ms, and most commands write no page
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["line"] = _line
    environment.filters["lines"] = lines_of
    environment.filters["rows"] = _cells
    environment.tests["table"] = lambda block: isinstance(block, Table)
    return environment


def _blocks(report: Report, prefix: str) -> str:
    return _environment().get_template("blocks.html").render(blocks=report.blocks, prefix=prefix)


def _line(text: str) -> str:
    return sanitise(text, LINE_LIMIT)


def _cells(table: Table) -> Iterator[list[tuple[str, bool]]]:
    """Yield the header and the rows of a table as texts, each with whether it is on the right."""
    texts, align = aligned_texts(table)
    right = [side == RIGHT for side in align]
    for line in texts:
        yield list(zip(line, right, strict=True))


def _game_data(row: GameRow) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(row)
    clean = {name: _line(text) for name, text in data.items() if isinstance(text, str)}
    players = [_line(code) for code in row.players]
    return {**data, **clean, "players": players, "seconds": round(row.seconds, 3)}


class IndexRow(msgspec.Struct, frozen=True):
    """A competition in the index; `name` is also its address."""

    name: str
    type: str = ""
    state: str = ""
    progress: str = ""
    verdict: str = ""


def render_index(title: str, rows: Sequence[IndexRow]) -> str:
    from markupsafe import Markup

    styles = _files(_STYLES)
    return (
        _environment()
        .get_template("index.html")
        .render(
            title=title,
            rows=rows,
            styles=map(Markup, styles),
            policy=content_policy((), styles),
        )
    )


#: Columns of the longest text in a chart, and of the longest text about a group.
_TEXT, _LONG_TEXT = 300, 2000
#: Numbers of all charts of a page; a number takes about seven bytes.
_NUMBERS = 150_000
#: Significant digits: a pixel more or less.
_DIGITS = 6


def groups_data(groups: Sequence[ChartGroup]) -> list[dict[str, Any]]:
    """Return groups of charts as data, with the names of the fields of their types.

    The type of each part is its `kind`.  Numbers have six significant digits, null if they are
    not finite.  Long series of a page with many charts are thinned.
    """
    lengths = [
        len(piece.points)
        for group in groups
        for chart in group.charts
        if isinstance(chart, Chart)
        for piece in chart.pieces
        if isinstance(piece, Series | Band | Whiskers)
    ]
    plain = partial(_plain, most=_most_points(lengths))
    return [
        {
            "key": group.key or f"group-{number}",
            "title": plain(group.title),
            "text": sanitise(group.text, _LONG_TEXT),
            "charts": plain(group.charts),
        }
        for number, group in enumerate(groups, 1)
    ]


def _most_points(lengths: list[int]) -> int:
    """Return the most points of a piece, so that all pieces keep to the budget."""
    left, count = _NUMBERS // 3, len(lengths)
    for length in sorted(lengths):
        if length * count > left:
            return max(50, left // count)
        left -= length
        count -= 1
    return max(lengths, default=0)


def _plain(value: Any, most: int) -> Any:
    """Return a value of a chart as data.

    most  most points of a piece, which become columns
    """
    if isinstance(value, str):
        return sanitise(value, _TEXT)
    if isinstance(value, tuple):
        return [_plain(one, most) for one in value]
    if not isinstance(value, msgspec.Struct):
        return value if isinstance(value, bool) else _number(value)
    fields = msgspec.structs.asdict(value)
    data: dict[str, Any] = {"kind": type(value).__name__.lower()}
    if "points" in fields:
        points = _thinned(fields.pop("points"), most)
        data["columns"] = [[*map(_number, column)] for column in zip(*points, strict=True)]
    return data | {name: _plain(one, most) for name, one in fields.items()}


def _thinned(points: Sequence[Any], most: int) -> Sequence[Any]:
    """Return at most `most` points at equal steps, with the first and the last."""
    if len(points) <= most:
        return points
    step = (len(points) - 1) / (most - 1)
    return [points[round(i * step)] for i in range(most)]


def _number(value: float | None) -> float | int | None:
    """Return a number with six significant digits, an integer where it is whole."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
    return int(rounded) if rounded == int(rounded) and abs(rounded) < 1e15 else rounded
