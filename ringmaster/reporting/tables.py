"""Reports as plain text, for `show`, the report file and the live display.
What a report says is the competition's; this is only its layout."""

from __future__ import annotations

import math

from ringmaster.model.report import LEFT, RIGHT, Align, Cell, Report, Table, Text
from ringmaster.reporting.text import cut, pad, sanitise, width

#: The widest cell, in columns; no number comes near it.
CELL_LIMIT = 60
#: The longest line of a title, a note or a text block, in columns.
LINE_LIMIT = 1000


def render_table(table: Table) -> str:
    """Return a table as lines of text without trailing spaces.

    Columns are aligned by what a terminal shows (a kanji takes two columns).
    Short rows are filled up; a missing alignment is "left" for the first column
    and "right" for the others.
    """
    lines = _lines_of(table.title)
    count = max([len(table.headers), *map(len, table.rows)], default=0)
    if count:
        lines += _grid(table, count)
    for note in table.notes:
        lines += _lines_of(note)
    return "\n".join(lines)


def render_report(
    report: Report,
    description: str | None = None,
    heading: str | None = None,
    width: int | None = None,
) -> str:
    """Return a report: heading, description and blocks, an empty line between
    them, and a newline at the end ("" when there is nothing at all).

    width  columns; longer lines are cut and end in "…"
    """
    parts = [_lines_of(heading or ""), _lines_of((description or "").strip("\n"))]
    for block in report.blocks:
        if isinstance(block, Text):
            parts.append([part for line in block.lines for part in _lines_of(line)])
        else:
            parts.append(render_table(block).split("\n"))
    text = "\n\n".join("\n".join(lines) for lines in parts if any(lines))
    if not text:
        return ""
    if width is not None:
        text = "\n".join(cut(line, width) for line in text.split("\n"))
    return text + "\n"


def _lines_of(text: str) -> list[str]:
    # tabs are kept as indentation, which a description may well have
    return [sanitise(line, LINE_LIMIT).rstrip() for line in text.expandtabs().splitlines()]


def _grid(table: Table, count: int) -> list[str]:
    """Return the lines of a table's headers and rows, with two spaces between columns;
    a column is at least two wider than its header."""

    def filled(cells: tuple[Cell, ...]) -> list[str]:
        return [*map(cell_text, cells), *[""] * (count - len(cells))]

    headers = filled(table.headers)
    rows = [filled(cells) for cells in table.rows]
    default = (LEFT, *[RIGHT] * (count - 1))
    align = (*table.align[:count], *default[len(table.align) :]) if rows else (LEFT,) * count
    least = [width(header) + 2 * any(table.headers) for header in headers]
    columns = [
        _column(header, [cells[i] for cells in rows], align[i], least[i])
        for i, header in enumerate(headers)
    ]
    lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
    if not any(table.headers):
        del lines[0]
    return lines if table.rows or any(lines) else []


def _column(header: str, cells: list[str], align: Align, least: int) -> list[str]:
    """Return a header and the cells below it, all equally wide."""
    if align == "decimal":
        places = [len(cell.partition(".")[2]) + ("." in cell) for cell in cells]
        cells = [cell + " " * (max(places) - n) for cell, n in zip(cells, places, strict=True)]
    columns = max(least, *map(width, (header, *cells)))
    if align == LEFT:
        return [pad(cell, columns) for cell in (header, *cells)]
    return [" " * (columns - width(cell)) + cell for cell in (header, *cells)]


def cell_text(cell: Cell) -> str:
    """Return what a cell says, fit to print."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        return format_float(cell)
    return sanitise(str(cell), CELL_LIMIT).strip()


def format_float(value: float) -> str:
    """Return a float with six significant digits, never fewer than its integer
    part has, and an exponent only where zeros would hide the number."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    magnitude = math.floor(math.log10(abs(value)))
    if not -5 <= magnitude < 15:
        return f"{value:.6g}"
    text = f"{value:.{max(0, 5 - magnitude)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
