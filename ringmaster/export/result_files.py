"""The formats of `export`: tables with a row a game or an iteration, and game records.

The memory does not depend on the number of games.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from ringmaster.errors import OBEYED, UsageError, visible
from ringmaster.export.output import check_output, open_output
from ringmaster.formats.registry import record_format
from ringmaster.model.players import GameName
from ringmaster.results import Results
from ringmaster.results.tables import Table, Value


def write_csv(table: Table, stream: BinaryIO, raw: bool) -> None:
    """Write CSV (RFC 4180) in UTF-8.

    Unknown values are empty, truth values are "true" and "false".

    raw  write text as recorded; else with escapes for what a terminal obeys, and an apostrophe
         before what a spreadsheet takes for a formula
    """
    writer = csv.writer(codecs.getwriter("utf-8")(stream, "backslashreplace"))
    cell = _raw_cell if raw else _cell
    writer.writerow([cell(name) for name, _ in table.columns])
    for row in table.rows:
        writer.writerow(map(cell, row))


def _raw_cell(value: Value) -> Value:
    return str(value).lower() if isinstance(value, bool) else value


def _cell(value: Value) -> Value:
    if type(value) is str:
        text = visible(value)
        is_formula = text.startswith(_FORMULAS) and not _NUMBER.fullmatch(text)
        return f"'{text}" if is_formula else text
    return _raw_cell(value)


#: Beginnings of formulas: https://owasp.org/www-community/attacks/CSV_Injection
_FORMULAS = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write_jsonl(table: Table, stream: BinaryIO, raw: bool) -> None:
    """Write one JSON object a line.  Unknown values are null.

    raw  write all characters but C0 as they are; else escape what a terminal obeys
    """
    encode = msgspec.json.Encoder().encode
    for row in table.objects():
        line = encode(row)
        if not raw and _NOT_PLAIN.search(line):
            # outside of text there is no such character
            line = _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", line.decode()).encode()
        stream.write(line + b"\n")


_NOT_PLAIN = re.compile(rb"[\x7f-\xff]")
_OBEYED = re.compile(f"[{OBEYED}]")


def write_records(results: Results, format: str, stream: BinaryIO, void: bool) -> list[str]:
    """Write the records unchanged, in the order of the games' ends; return notes on missing ones.

    PGN and KIF games have an empty line between them, CSA games a slash.

    Raises StoreError, OSError.
    """
    records = results.records()
    end = b"\n\n" if format in ("pgn", "kif") else b"\n"
    between = b"/\n" if format == "csa" else b""
    foreign = written = 0
    for _, text in records.each(results.iter_games(void=void)):
        if format in ("csa", "kif") and format != record_format(text, text):
            foreign += 1
        else:
            stream.write((between if written else b"") + text + end)
            written += 1
    notes = records.missing()
    if foreign:
        other = "kif" if format == "csa" else "csa"
        notes.append(
            f"{foreign} of {records.count} game records are in {other}, not {format}, and were "
            f"left out; --format {other} has them"
        )
    return notes


_TABLES: dict[str, Callable[[Table, BinaryIO, bool], None]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
}
#: Formats of game records with their game.
_RECORDS: dict[str, GameName] = {"pgn": "chess", "sgf": "go", "csa": "shogi", "kif": "shogi"}
#: All formats.
FORMATS = (*_TABLES, *_RECORDS)


def format_of(output: Path | None) -> str:
    """Return the format of a file's suffix, "csv" for other suffixes."""
    suffix = "" if output is None else output.suffix.lower().removeprefix(".")
    suffix = "kif" if suffix == "kifu" else suffix
    return suffix if suffix in FORMATS else "csv"


def export_results(
    results: Results,
    format: str,
    output: Path | None = None,
    *,
    void: bool = False,
    trajectory: bool = False,
    raw: bool = False,
) -> list[str]:
    """Write results in one of FORMATS; return notes on missing game records.

    output      None for standard output
    void        with void games
    trajectory  with a tune's iterations instead of games
    raw         with the text of a table as it was recorded

    Raises UsageError for an impossible format or file, StoreError, BrokenPipeError.
    """
    game = _RECORDS.get(format)
    if trajectory and format not in _TABLES:
        raise UsageError(
            f"--trajectory is a table, and {format} is not; choose from {', '.join(_TABLES)}"
        )
    if trajectory and results.course is None:
        raise UsageError(
            f"--trajectory: {results.path} has no iterations: its competition_type is "
            f"{results.competition_type!r}"
        )
    if game is not None and game != results.game:
        fitting = next((name for name, g in _RECORDS.items() if g == results.game), "csv")
        raise UsageError(
            f"{format} is for games of {game}, and {results.path} is of {results.game}; "
            f"did you mean --format {fitting}?"
        )
    check_output(output, results.path)
    with open_output(output) as stream:
        if game is not None:
            return write_records(results, format, stream, void)
        _TABLES[format](
            results.table("trajectory" if trajectory else "games", void=void), stream, raw
        )
        course = results.course if trajectory else None
        return [course.note] if course is not None and course.note else []
