"""Tables of results with typed columns: a row a game, rows of JSON data, and pandas data frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ringmaster.errors import RingmasterError
from ringmaster.model.canonical import canonical
from ringmaster.results.games import Game, GameReader
from ringmaster.storage.entries import StoredGame

if TYPE_CHECKING:
    import pandas

Value = bool | int | float | str | None
#: Types of a column's values.  A "time" is text, ISO 8601 in UTC, in rows.
Kind = Literal["text", "integer", "number", "boolean", "time"]


class Table(NamedTuple):
    """Columns of names and kinds, and rows to be read once, in constant memory."""

    columns: Sequence[tuple[str, Kind]]
    rows: Iterable[Sequence[Value]]

    def objects(self) -> Iterator[dict[str, Value]]:
        """Yield each row by the names of the columns."""
        names = [name for name, _ in self.columns]
        return (dict(zip(names, row, strict=True)) for row in self.rows)


# games


def _of_side(index: int, name: str) -> Callable[[Game], Value]:
    get = attrgetter(name)
    return lambda game: get(game.sides[index])


def _of_host(name: str) -> Callable[[Game], Value]:
    get = attrgetter(name)
    return lambda game: None if game.host is None else get(game.host)


def _finished(game: Game) -> str | None:
    return None if game.finished is None else game.finished.strftime("%Y-%m-%dT%H:%M:%SZ")


#: Columns of each player.
_OF_SIDES: tuple[tuple[str, Kind], ...] = (
    ("name", "text"),
    ("cpu_time", "number"),
    ("thinking", "number"),
    ("slowest", "number"),
    ("peak_memory", "integer"),
    ("build", "integer"),
    ("disputed", "boolean"),
)
#: The columns of every competition, each with its value; players 1 and 2 in move order.
GAME_COLUMNS: tuple[tuple[str, Kind, Callable[[Game], Value]], ...] = (
    ("game_id", "text", attrgetter("id")),
    ("attempt", "integer", attrgetter("attempt")),
    ("matchup", "text", attrgetter("matchup")),
    ("player_1", "text", _of_side(0, "code")),
    ("player_2", "text", _of_side(1, "code")),
    ("colour_1", "text", _of_side(0, "colour")),
    ("colour_2", "text", _of_side(1, "colour")),
    ("winner", "text", attrgetter("winner")),
    ("outcome", "text", attrgetter("outcome")),
    ("score", "text", attrgetter("score")),
    ("reason", "text", attrgetter("reason")),
    ("detail", "text", attrgetter("detail")),
    ("forfeit", "boolean", attrgetter("is_forfeit")),
    ("faulty", "text", attrgetter("faulty")),
    ("opening", "text", attrgetter("opening")),
    ("level", "text", attrgetter("level")),
    ("plies", "integer", attrgetter("plies")),
    ("seconds", "number", attrgetter("seconds")),
    ("finished", "time", _finished),
    ("record", "text", lambda game: game.record_name if game.record_path else None),
    *((f"{name}_{i + 1}", kind, _of_side(i, name)) for i in (0, 1) for name, kind in _OF_SIDES),
    ("host", "text", _of_host("name")),
    ("host_speed", "number", _of_host("speed")),
    ("host_load", "number", _of_host("load")),
)


def game_table(reader: GameReader, recorded: Callable[[], Iterable[StoredGame]]) -> Table:
    """Return a row for each game.

    recorded  returns the games; they are read twice, first for the columns of parameters
    """
    parameters = parameter_columns(reader.played(each).parameters for each in recorded())
    values = [value for _, _, value in GAME_COLUMNS]

    def rows() -> Iterator[list[Value]]:
        for each in recorded():
            game = reader.game(each)
            row = [value(game) for value in values]
            row += [flat(game.sides[side].parameters.get(code)) for side, code, _ in parameters]
            yield row

    return Table(
        [
            *((name, kind) for name, kind, _ in GAME_COLUMNS),
            *((f"param_{side + 1}.{code}", kind) for side, code, kind in parameters),
        ],
        rows(),
    )


def parameter_columns(
    parameters: Iterable[tuple[dict[str, Any], dict[str, Any]]],
) -> list[tuple[int, str, Kind]]:
    """Return side (0, 1), code and kind of the columns for games with these parameters."""
    kinds: list[dict[str, set[str]]] = [{}, {}]
    for both in parameters:
        for by_code, values in zip(kinds, both, strict=True):
            for code, value in values.items():
                by_code.setdefault(code, set()).add(_kind_of(value))
    # one order for both players
    codes = dict.fromkeys([*kinds[0], *kinds[1]])
    return [
        (side, code, _common_kind(by_code[code]))
        for side, by_code in enumerate(kinds)
        for code in codes
        if code in by_code
    ]


# JSON data


def table_of(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return dictionaries as a table; each column has the kind of its values.

    An inner dictionary has a column for each of its keys, "outer.inner", and an inner list for
    each of its items, "outer_1".
    """
    flat_rows = [dict(_flattened(row)) for row in rows]
    # None where other rows have several columns
    split = {name for row in rows for name, value in row.items() if isinstance(value, dict | list)}
    names = dict.fromkeys(name for row in flat_rows for name in row if name not in split)
    columns: list[tuple[str, Kind]] = []
    for name in names:
        kinds = {_kind_of(row.get(name)) for row in flat_rows}
        # a value unknown in every row is an estimate
        columns.append((name, "number" if kinds == {"none"} else _common_kind(kinds)))
    return Table(columns, ([row.get(name) for name in names] for row in flat_rows))


def _flattened(row: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flattened({f"{name}.{inner}": item for inner, item in value.items()})
        elif isinstance(value, list):
            yield from _flattened({f"{name}_{i}": item for i, item in enumerate(value, 1)})
        else:
            yield name, flat(value)


# kinds

#: Larger integers are not all exact as floats.
_EXACT = 2**53
_INT64 = 2**63
_FLAT = frozenset({bool, int, float, str, type(None)})


def flat(value: Any) -> Value:
    """Return a parameter value as one cell; lists and dictionaries become JSON."""
    if type(value) in _FLAT:
        return value  # type: ignore[no-any-return]  # the check says it
    value = canonical(value)
    return json.dumps(value) if isinstance(value, list | dict) else value


def _kind_of(value: Any) -> str:
    """Return the kind of a value for `_common_kind`."""
    value = flat(value)
    # the most frequent kind first: this runs for every game
    if isinstance(value, float):
        return "number"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "small" if abs(value) <= _EXACT else "integer" if abs(value) < _INT64 else "text"
    return "none" if value is None else "text"


def _common_kind(kinds: set[str]) -> Kind:
    """Return the kind of a column for values of all `kinds`, unchanged."""
    kinds = kinds - {"none"}
    if kinds == {"boolean"}:
        return "boolean"
    if kinds and kinds <= {"small", "integer"}:
        return "integer"
    if kinds and kinds <= {"small", "number"}:
        return "number"
    return "text"


# pandas

_TYPES: dict[Kind, str] = {
    "text": "string",
    "integer": "Int64",
    "number": "float64",
    "boolean": "boolean",
    "time": "datetime64[ns, UTC]",
}
#: Columns of a few texts in many rows.
_CATEGORIES = frozenset(
    {
        *("matchup", "player_1", "player_2", "colour_1", "colour_2", "winner", "outcome"),
        *("score", "reason", "faulty", "opening", "level", "name_1", "name_2", "host"),
    }
)


def make_frame(table: Table) -> pandas.DataFrame:
    """Return a table as a data frame with a type by kind for each column.

    Unknown values are missing values.  Raises RingmasterError when pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise RingmasterError(
            "to_dataframe needs pandas, which is not installed: pip install pandas"
        ) from None
    rows = zip(*table.rows, strict=True)
    cells: Sequence[Sequence[Value]] = [*rows] or [()] * len(table.columns)
    series = {}
    for (name, kind), values in zip(table.columns, cells, strict=True):
        if kind == "text":
            # a parameter may have values of several types
            texts = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
            type_name = "category" if name in _CATEGORIES else "string"
            series[name] = pandas.Series(texts, dtype=type_name)
        elif kind == "time":
            times = pandas.to_datetime(pandas.Series(values, dtype="object"), utc=True)
            series[name] = times.astype(_TYPES[kind])
        else:
            series[name] = pandas.Series(values, dtype=_TYPES[kind])
    return pandas.DataFrame(series)
