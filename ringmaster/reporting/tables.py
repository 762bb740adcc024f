"""Render reports as plain text: for `show`, the report file and the live display."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ringmaster.model.report import LEFT, RIGHT, Align, Cell, Report, Table, Text
from ringmaster.model.results import CheckResult, Finding
from ringmaster.reporting.text import TEXT_COLUMNS, folded, lines_of, sanitise, width

#: The widest cell, in columns.
CELL_LIMIT = 60
#: The widest line of a table of findings, in columns.
CHECK_COLUMNS = 100
#: The longest name, and the longest detail or protocol line, of a finding.
NAME_LIMIT, DETAIL_LIMIT = 34, 160

_WORDS = {"fail": "FAIL", "warn": "warn", "skip": "skip", "pass": "pass"}

# Supplementary Private Use Area-A
_FIRST_STAND_IN = 0xF0000
_STAND_IN = re.compile("([\U000f0000-\U000ffffd])\\1*")


def render_table(table: Table, columns: int = TEXT_COLUMNS) -> str:
    """Return a table as lines of text without trailing spaces.

    Wide letters (kanji) count as two columns.  Short rows are filled up.  The default
    alignment is left for the first column and right for the others.
    columns  of the notes; longer ones are broken between words
    """
    lines = lines_of(table.title)
    lines += _grid(table)
    for note in table.notes:
        lines += folded(lines_of(note), columns)
    return "\n".join(lines)


def render_report(
    report: Report,
    description: str | None = None,
    heading: str | None = None,
    columns: int | None = None,
    verdict: str = "",
    begins: bool = True,
) -> str:
    """Return heading, verdict, description, blocks and again the verdict, with an empty line
    between two of them.

    The text ends in a newline unless it is empty.
    columns  of a terminal; longer lines are broken between words, those of texts and notes also
             without a terminal
    begins   whether the verdict is also under the heading
    """
    last = lines_of(verdict)
    head = [*lines_of(heading or ""), *(last if begins else [])]
    parts = [head, lines_of((description or "").strip("\n"))]
    most = min(columns or TEXT_COLUMNS, TEXT_COLUMNS)
    for block in report.blocks:
        if isinstance(block, Text):
            lines = (part for line in block.lines for part in lines_of(line))
            parts.append([*folded(lines, most)])
        else:
            parts.append(render_table(block, most).split("\n"))
    parts.append(last)
    text = "\n\n".join("\n".join(lines) for lines in parts if any(lines))
    if not text:
        return ""
    if columns is not None:
        text = "\n".join(folded(text.split("\n"), columns))
    return text + "\n"


def aligned_texts(table: Table) -> tuple[list[list[str]], list[Align]]:
    """Return the header and the rows as texts, all of one length, and the columns' alignment."""
    lines = (table.headers, *table.rows)
    count = max(map(len, lines))
    align = (*table.align, *(LEFT, *[RIGHT] * count)[len(table.align) :])
    texts = [[*map(cell_text, line), *[""] * (count - len(line))] for line in lines]
    return texts, [*align[:count]]


def _grid(table: Table) -> list[str]:
    """Lay out a table without its title and notes."""
    # imported here: tabulate takes about 20 ms, and most commands print no table
    from tabulate import tabulate

    texts, align = aligned_texts(table)
    stand_ins: dict[str, str] = {}
    headers, *rows = [[_one_column_a_character(text, stand_ins) for text in line] for line in texts]
    if not any(headers):
        headers = []
    if not align or not (rows or headers):
        return []
    drawn = tabulate(
        rows,
        headers,
        tablefmt="plain",
        colalign=align if rows else None,
        disable_numparse=True,
    )
    drawn = _STAND_IN.sub(lambda run: stand_ins[run[1]], drawn)
    return [line.rstrip() for line in drawn.split("\n")]


def _one_column_a_character(text: str, stand_ins: dict[str, str]) -> str:
    """Return text that tabulate, which counts characters, can align.

    A text with wide or combining letters is replaced by private-use characters;
    sanitised text contains none.
    """
    columns = width(text)
    if columns == len(text):
        return text
    character = chr(_FIRST_STAND_IN + len(stand_ins))
    stand_ins[character] = text
    return character * columns


def cell_text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return format_float(cell)
    return sanitise(str(cell), CELL_LIMIT).strip()


def format_float(value: float) -> str:
    """Return a float with six significant digits and at least all digits of its integer part.

    Very small and very large numbers have an exponent.
    """
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    magnitude = math.floor(math.log10(abs(value)))
    if not -5 <= magnitude < 15:
        return f"{value:.6g}"
    text = f"{value:.{max(0, 5 - magnitude)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def render_check(result: CheckResult, *, verbose: bool = False) -> str:
    """Return the findings on one player as text.

    Failures come first, then warnings, each with the protocol lines that show it; then tests that
    could not be made.

    verbose  whether to list passed tests, too
    """
    from tabulate import tabulate

    name = f" ({sanitise(result.name, 80)})" if result.name else ""
    counts = {status: sum(f.status == status for f in result.findings) for status in _WORDS}
    totals = [f"{counts['pass']} passed", f"{counts['warn']} warned", f"{counts['fail']} failed"]
    if counts["skip"]:
        totals.append(f"{counts['skip']} not tested")
    twin = sanitise(result.tested_as, 80)
    note = f"; its engine is tested as player {twin!r}" if twin not in ("", result.code) else ""
    verdict = "not fit to play" if result.problems else "ok"
    order = list(_WORDS)
    shown = [f for f in result.findings if f.status != "pass" or verbose]
    findings = sorted(shown, key=lambda finding: order.index(finding.status))
    names = [sanitise(finding.name, NAME_LIMIT) for finding in findings]
    columns = CHECK_COLUMNS - 10 - max(map(width, names), default=0)
    rows = [
        (_WORDS[finding.status], name, _detail(finding, columns))
        for finding, name in zip(findings, names, strict=True)
    ]
    table = tabulate(rows, tablefmt="plain", disable_numparse=True)
    heading = f"player {sanitise(result.code, 80)!r}: {verdict}{name}"
    if not result.findings:
        return heading + "\n"
    lines = [
        heading,
        f"  {', '.join(totals)}, in {result.seconds:.1f} s{note}",
        *(f"  {line}".rstrip() for line in table.splitlines()),
    ]
    return "\n".join(lines) + "\n"


def _detail(finding: Finding, columns: int) -> str:
    lines = [finding.detail]
    if finding.status in ("fail", "warn"):
        lines += finding.exchange
    return "\n".join(folded((sanitise(line, DETAIL_LIMIT) for line in lines), columns))


def as_data(results: Sequence[CheckResult]) -> dict[str, Any]:
    """Return the checks of one player for `check --json`."""
    problems = dict.fromkeys(str(problem) for result in results for problem in result.problems)
    one = results[0]
    data: dict[str, Any] = {"code": one.code, "name": one.name, "problems": list(problems)}
    if one.tested_as:
        data["tested_as"] = one.tested_as
    findings = [msgspec.to_builtins(f) for result in results for f in result.findings]
    seconds = round(sum([result.seconds for result in results]), 3)
    return data | ({"findings": findings, "seconds": seconds} if findings else {})
