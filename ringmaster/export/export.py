"""The formats of exports, and what each asks for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ringmaster.control.loader import OUTPUT_EXTENSIONS
from ringmaster.errors import UsageError
from ringmaster.export.output import to_file, to_standard_output
from ringmaster.export.positions import write_positions
from ringmaster.export.records import write_records
from ringmaster.export.tables import (
    GameTable,
    Table,
    TrajectoryTable,
    write_csv,
    write_jsonl,
    write_parquet,
)
from ringmaster.model.players import GameName
from ringmaster.results import Results
from ringmaster.storage.paths import OutputPaths

_TABLES: dict[str, Callable[[Table, BinaryIO], None]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}
#: Formats of game records, with the game that they are of.
_RECORDS: dict[str, GameName] = {"pgn": "chess", "sgf": "go", "csa": "shogi", "kif": "shogi"}
#: Formats of final positions, likewise.
_POSITIONS: dict[str, GameName] = {"epd": "chess", "sfen": "shogi"}
_TREE_LOG = ".tree.jsonl"
#: All formats, by their names.
FORMATS = (*_TABLES, *_RECORDS, *_POSITIONS)


def format_of(output: Path | None) -> str:
    """Return the format that a file's name asks for, else "csv"."""
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
) -> list[str]:
    """Write results in one of FORMATS; returns what is to be said of it, a line
    each (game records that are not there).

    output  a file, written whole or not at all; None for standard output
    void    whether void games are written, too
    trajectory  whether the rows are a tune's iterations, not games

    Raises UsageError for a format or a file that cannot be had, StoreError when
    something cannot be read or written, BrokenPipeError.
    """
    game = _RECORDS.get(format) or _POSITIONS.get(format)
    if trajectory:
        _check_trajectory(results, format)
    if game is not None and game != results.game:
        fitting = next((name for name, of in _RECORDS.items() if of == results.game), "csv")
        raise UsageError(
            f"{format} is for games of {game}, and {results.path} is of {results.game}; "
            f"did you mean --format {fitting}?"
        )
    if output is None:
        if format == "parquet":
            raise UsageError("parquet is not for a terminal or a pipe; give --output FILE")
        target = to_standard_output(sys.stdout)
    else:
        check_output(output, results.path)
        target = to_file(output)
    with target as stream:
        if format in _POSITIONS:
            return write_positions(results, format, stream, void)
        if game is not None:
            return write_records(results, format, stream, void)
        course = results.course if trajectory else None
        table = GameTable(results, void) if course is None else TrajectoryTable(course)
        _TABLES[format](table, stream)
        return [course.note] if course is not None and course.note else []


def _check_trajectory(results: Results, format: str) -> None:
    """Raises UsageError where there is no trajectory, or not in that format."""
    if format not in _TABLES:
        raise UsageError(
            f"--trajectory is a table, and {format} is not; choose from {', '.join(_TABLES)}"
        )
    if results.course is None:
        raise UsageError(
            f"--trajectory is for competition_type 'spsa' and 'texel'; {results.path} is of type "
            f"{results.competition_type!r}"
        )


def check_output(output: Path, control: Path) -> None:
    """Raises UsageError for a file that is the competition's own, or would be taken
    for another competition's.

    control  the control file
    """
    if OutputPaths(control).owns(output):
        raise UsageError(f"{output} belongs to the competition itself; give another --output")
    suffix = output.suffix.lower()
    if output.name.lower().endswith(_TREE_LOG):
        suffix = _TREE_LOG
    if suffix in (".ctl", _TREE_LOG, *OUTPUT_EXTENSIONS):
        raise UsageError(f"{output} would be taken for a {suffix} file; rename --output")
