"""Tables of a row a game, or a row an iteration of a tune: CSV (RFC 4180), JSON lines,
Parquet.  Any number of games takes the same memory."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any, BinaryIO, Protocol

import msgspec

from ringmaster.competitions.competition import Trajectory
from ringmaster.errors import RingmasterError
from ringmaster.results import Game, Results
from ringmaster.results.rows import FIXED, Columns, Kind, Value, fixed_row, plain

#: Rows of a Parquet row group.
GROUP = 20_000


class Table(Protocol):
    """A table to be written; `columns` are names and kinds."""

    @property
    def columns(self) -> Sequence[tuple[str, Kind]]: ...

    def rows(self) -> Iterator[Sequence[Value]]:
        """Yield the values of each row, in the order of the columns."""

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield each row as JSON data."""


class GameTable:
    """A row for each game.  The objects have the fixed columns, and the parameters of
    each player as an object."""

    def __init__(self, results: Results, void: bool) -> None:
        self._results, self._void = results, void

    @cached_property
    def _columns(self) -> Columns:
        return self._results.columns(void=self._void)

    @property
    def columns(self) -> Sequence[tuple[str, Kind]]:
        return self._columns.typed

    def rows(self) -> Iterator[Sequence[Value]]:
        return map(self._columns.row, self._results.iter_games(void=self._void))

    def objects(self) -> Iterator[dict[str, Any]]:
        names = [name for name, _ in FIXED]
        return (_object(names, game) for game in self._results.iter_games(void=self._void))


class TrajectoryTable:
    """A row for each iteration of a tune."""

    def __init__(self, course: Trajectory) -> None:
        self._course = course

    @property
    def columns(self) -> Sequence[tuple[str, Kind]]:
        first, *codes = self._course.names
        # a pass of a texel event may be used in part
        kind: Kind = "integer" if first == "iteration" else "number"
        return [(first, kind), *((code, "number") for code in codes)]

    def rows(self) -> Iterator[Sequence[Value]]:
        return self._course.rows()

    def objects(self) -> Iterator[dict[str, Any]]:
        names = self._course.names
        return (dict(zip(names, row, strict=True)) for row in self._course.rows())


def write_csv(table: Table, stream: BinaryIO) -> None:
    """Write CSV: a header, rows that end in CR LF, UTF-8.

    What is not known is empty, truth values are "true" and "false".  Engine text
    stays as it is: quoting keeps its line breaks within a field, and what a
    spreadsheet would take for a formula is not altered.
    """
    writer = csv.writer(_Encoding(stream))
    writer.writerow([name for name, _ in table.columns])
    # a truth value may stand in a column of text, too
    if all(kind in ("integer", "number") for _, kind in table.columns):
        writer.writerows(table.rows())
        return
    for row in table.rows():
        writer.writerow([_BOOLEANS[v] if isinstance(v, bool) else v for v in row])


class _Encoding:
    """Text written to it goes to a stream of bytes, which is not its own to close."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        self._stream.write(text.encode("utf-8", "backslashreplace"))


_BOOLEANS = {True: "true", False: "false"}


def write_jsonl(table: Table, stream: BinaryIO) -> None:
    """Write one JSON object a line.  What is not known is null."""
    encode = msgspec.json.Encoder().encode
    for row in table.objects():
        stream.write(encode(row) + b"\n")


def _object(names: list[str], game: Game) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(names, fixed_row(game), strict=True))
    for number, side in enumerate(game.sides, 1):
        row[f"parameters_{number}"] = plain(side.parameters)
    return row


def write_parquet(table: Table, stream: BinaryIO) -> None:
    """Write Parquet in row groups of GROUP rows.

    Raises RingmasterError when pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise RingmasterError(
            "parquet needs pyarrow, which is not installed: pip install ringmaster-engines[parquet]"
        ) from None
    types: dict[Kind, Any] = {
        "text": pyarrow.string(),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "boolean": pyarrow.bool_(),
        "time": pyarrow.timestamp("ms", tz="UTC"),
    }
    schema = pyarrow.schema([(name, types[kind]) for name, kind in table.columns])
    rows = table.rows()
    with pyarrow.parquet.ParquetWriter(stream, schema) as writer:
        while group := list(islice(rows, GROUP)):
            arrays = [
                pyarrow.array(_typed(values, kind), types[kind])
                for values, (_, kind) in zip(zip(*group, strict=True), table.columns, strict=True)
            ]
            writer.write_table(pyarrow.table(arrays, schema=schema))


def _typed(values: tuple[Value, ...], kind: Kind) -> Sequence[Any]:
    """Return values as a column of this kind takes them."""
    if kind == "time":
        return [None if value is None else datetime.fromisoformat(str(value)) for value in values]
    if kind == "text":
        return [value if value is None or type(value) is str else _text(value) for value in values]
    return values


def _text(value: Value) -> str:
    return _BOOLEANS[value] if isinstance(value, bool) else str(value)
