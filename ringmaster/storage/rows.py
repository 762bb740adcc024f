"""Columns of the tables whose rows have a checksum, and the checksum.

A disk or a copy may change bytes of a row without damage to the file's structure, which
SQLite would not notice.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, get_args, get_type_hints

import msgspec


class ResultRow(NamedTuple):
    """A row of `results`.

    once        -1 for a result that counts, else the attempt
    usage       a list a player, as JSON; names are numbers in `names`
    finished    whole seconds since the epoch
    evaluation  fields of a shard of positions as JSON, None for a game
    fingerprint  None for void games and shards
    host        a number in `names`, None for the ringmaster's own machine
    first_build, second_build  numbers in `builds`, None if unknown
    """

    game_id: str
    attempt: int
    once: int
    ticket: str
    outcome: str
    reason: str
    detail: str
    seconds: float
    usage: str
    finished: int
    winner: int | None = None
    forfeit: int = 0
    score: str = ""
    faulty: int | None = None
    plies: int = 0
    evaluation: str | None = None
    fingerprint: int | None = None
    repeats: int = 0
    host: int | None = None
    speed: float | None = None
    load: float | None = None
    first_build: int | None = None
    second_build: int | None = None


class UsageRow(msgspec.Struct, array_like=True):
    """An `EngineUsage` as `ResultRow.usage` has it; names are numbers in `names`."""

    name: int
    cpu_time: float | None
    peak_memory: int | None
    thinking: float
    slowest: float
    description: int
    ponder_cpu_time: float | None = None
    extra_moves: int = 0
    disputed: bool = False


#: Columns of each table in their order, with the types of their values.
TABLES: Final[dict[str, dict[str, Any]]] = {
    "results": get_type_hints(ResultRow),
    "names": {"name": str},
    "builds": {"number": int, "data": str},
    "issues": {"game_id": str, "attempt": int, "ticket": str},
    "state": {"one": int, "seq": int, "data": str},
    "notes": {"key": str, "value": str},
    "pending": {"folder": str, "name": str, "text": str},
    "runs": {
        "started": float,
        "version": str,
        "source": str,
        "source_hash": str,
        "settings": str,
        "parallel": int,
    },
}

_encode = msgspec.json.Encoder().encode
_HALF = 1 << 31


def checksum(values: Sequence[Any]) -> int:
    """Return the CRC-32 of a row's values in the order of TABLES."""
    # signed: SQLite has four bytes for it, and six for the upper half of unsigned ones
    return (zlib.crc32(_encode(values)) ^ _HALF) - _HALF


def stored(table: str, values: Sequence[Any]) -> list[Any]:
    """Return values as SQLite gives them back, with their checksum."""
    row = [
        value if value is None else types[0](value)
        for value, types in zip(values, _types(table), strict=True)
    ]
    return [*row, checksum(row)]


@cache
def insertion(table: str, verb: str = "INSERT", clause: str = "", key: str = "") -> str:
    """Return the statement that stores the values of `stored`, after a key if it is named."""
    columns = [*filter(None, [key]), *TABLES[table], "checksum"]
    places = ", ".join("?" * len(columns))
    return f"{verb} INTO {table} ({', '.join(columns)}) VALUES ({places}) {clause}".rstrip()


@cache
def selection(table: str, key: str = "rowid") -> str:
    """Return a query of the key, the columns and the checksum, for `checked`.

    key  columns without a checksum; the first one names a row
    """
    return f"SELECT {', '.join([key, *TABLES[table], 'checksum'])} FROM {table}"


@cache
def _types(table: str) -> list[tuple[type, ...]]:
    return [get_args(type) or (type,) for type in TABLES[table].values()]


def is_sound(table: str, values: Sequence[Any], its_checksum: Any) -> bool:
    """Return whether the types of values and their checksum are right."""
    return all(map(isinstance, values, _types(table))) and checksum(values) == its_checksum


def checked(table: str, row: Sequence[Any]) -> Sequence[Any]:
    """Return the key and columns of a row of `selection`.  Raises ValueError for a damaged one."""
    if not is_sound(table, row[-1 - len(TABLES[table]) : -1], row[-1]):
        raise ValueError(f"{table}: damaged at row {row[0]}")
    return row[:-1]


def faults(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield what is wrong with the structure of a file and the rows of all tables.

    A million results take some four seconds.  Raises sqlite3.Error.
    """
    for (text,) in connection.execute("PRAGMA integrity_check(5)"):
        yield from (line for line in text.splitlines() if line != "ok" and line[:3] != "***")
    for table in TABLES:
        # a pass over the rows in C, with a call for each, is faster than fetching them
        connection.create_function(
            "is_sound",
            -1,
            lambda *values, table=table: is_sound(table, values[1:], values[0]),
            deterministic=True,
        )
        columns = ", ".join(["checksum", *TABLES[table]])
        query = f"SELECT rowid FROM {table} WHERE NOT is_sound({columns})"
        found = [str(number) for (number,) in connection.execute(query)]
        if found:
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            yield f"{table}: damaged at row {', '.join(found[:5])}{more}"
    (recorded,) = connection.execute("SELECT completed + void FROM counts").fetchone()
    there, last = connection.execute(
        "SELECT count(*), coalesce(max(seq), 0) FROM results"
    ).fetchone()
    if not recorded == there == last:
        yield f"results: {recorded} were recorded, {there} are there"
