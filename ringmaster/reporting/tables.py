"""Reports as plain text, for `show`, the report file and the live display.
What a report says is the competition's; this is only its layout."""

from __future__ import annotations

import math
import re

from ringmaster.model.report import Cell, Report, Table, Text
from ringmaster.reporting.text import clusters, cut, sanitise, width

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
    # tabulate takes 5 ms to import and `--version` has no use for it
    from tabulate import tabulate

    stand_ins = _StandIns()

    def row(cells: tuple[Cell, ...]) -> list[str]:
        texts = [stand_ins.put(cell_text(cell)) for cell in cells]
        return texts + [""] * (count - len(texts))

    default = ("left", *["right"] * (count - 1))
    align = (*table.align[:count], *default[len(table.align) :])
    drawn = tabulate(
        [row(cells) for cells in table.rows],
        headers=row(table.headers) if any(table.headers) else (),
        tablefmt="plain",
        colalign=align,
        disable_numparse=True,
    )
    lines = [stand_ins.restore(line).rstrip() for line in drawn.split("\n")]
    return lines if table.rows or any(lines) else []


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


class _StandIns:
    """Private-use letters in place of what is not one column wide, so that
    tabulate, which counts characters, aligns columns.  Sanitised text has no
    private-use letters of its own."""

    _FIRST = 0xF0000
    _FILLER = "\ue000"
    _ANY = re.compile("[\ue000\U000f0000-\U000ffffd]")

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}
        self._meanings: dict[str, str] = {self._FILLER: ""}

    def put(self, text: str) -> str:
        if text.isascii():
            return text
        return "".join(map(self._letter, clusters(text)))

    def _letter(self, cluster: str) -> str:
        columns = width(cluster)
        if len(cluster) == 1 == columns:
            return cluster
        letter = self._letters.get(cluster)
        if letter is None:
            letter = chr(self._FIRST + len(self._letters))
            self._letters[cluster] = letter
            self._meanings[letter] = cluster
        return letter + self._FILLER * (columns - 1)

    def restore(self, text: str) -> str:
        if text.isascii():
            return text
        return self._ANY.sub(lambda match: self._meanings[match[0]], text)
