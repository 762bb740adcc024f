"""Tables of a row a game: CSV (RFC 4180), JSON lines, Parquet.  Any number of
games takes the same memory."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO

import msgspec

from ringmaster.errors import RingmasterError
from ringmaster.results import Game, Results
from ringmaster.results.rows import FIXED, Kind, Value, fixed_row, plain

#: Rows of a Parquet row group.
GROUP = 20_000


def write_csv(results: Results, stream: BinaryIO, void: bool) -> None:
    """Write CSV: a header, rows that end in CR LF, UTF-8.

    What is not known is empty, truth values are "true" and "false".  Engine text
    stays as it is: quoting keeps its line breaks within a field, and what a
    spreadsheet would take for a formula is not altered.
    """
    columns = results.columns(void=void)
    # columns in which a truth value may stand
    marked = [
        index
        for index, (_, kind) in enumerate(columns.typed)
        if kind == "boolean" or (kind == "text" and index >= len(FIXED))
    ]
    writer = csv.writer(_Encoding(stream))
    writer.writerow(columns.names)
    for game in results.iter_games(void=void):
        row = columns.row(game)
        for index in marked:
            if isinstance(value := row[index], bool):
                row[index] = _BOOLEANS[value]
        writer.writerow(row)


class _Encoding:
    """Text written to it goes to a stream of bytes, which is not its own to close."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        self._stream.write(text.encode("utf-8", "backslashreplace"))


_BOOLEANS = {True: "true", False: "false"}


def write_jsonl(results: Results, stream: BinaryIO, void: bool) -> None:
    """Write one JSON object a line: the fixed columns, and the parameters of each
    player as an object.  What is not known is null."""
    names = [name for name, _ in FIXED]
    encode = msgspec.json.Encoder().encode
    for game in results.iter_games(void=void):
        stream.write(encode(_object(names, game)) + b"\n")


def _object(names: list[str], game: Game) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(names, fixed_row(game), strict=True))
    for number, side in enumerate(game.sides, 1):
        row[f"parameters_{number}"] = plain(side.parameters)
    return row


def write_parquet(results: Results, stream: BinaryIO, void: bool) -> None:
    """Write Parquet in row groups of GROUP games.

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
    columns = results.columns(void=void)
    schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.typed])
    rows = map(columns.row, results.iter_games(void=void))
    with pyarrow.parquet.ParquetWriter(stream, schema) as writer:
        while group := list(islice(rows, GROUP)):
            arrays = [
                pyarrow.array(_typed(values, kind), types[kind])
                for values, (_, kind) in zip(zip(*group, strict=True), columns.typed, strict=True)
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
