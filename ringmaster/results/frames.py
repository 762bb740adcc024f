"""Make pandas data frames with typed columns from rows of results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ringmaster.errors import RingmasterError
from ringmaster.results.games import Kind, Value, common_kind, flat, kind_of

if TYPE_CHECKING:
    import pandas

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
        *("score", "reason", "faulty", "opening", "name_1", "name_2", "host"),
    }
)
Columns = Sequence[tuple[str, Kind]]


def make_frame(columns: Columns, rows: Iterable[Sequence[Value]]) -> pandas.DataFrame:
    """Return rows as a data frame with a type by kind for each column.

    Unknown values are missing values.  Raises RingmasterError when pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise RingmasterError(
            "to_dataframe needs pandas, which is not installed: pip install pandas"
        ) from None
    cells: Sequence[Sequence[Value]] = [*zip(*rows, strict=True)] or [()] * len(columns)
    series = {}
    for (name, kind), values in zip(columns, cells, strict=True):
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


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pandas.DataFrame:
    """Return dictionaries as a data frame; each column has the type of its values.

    An inner dictionary has a column for each of its keys, "outer.inner", and an inner list for
    each of its items, "outer_1".
    """
    rows = list(rows)
    flat_rows = [dict(_flattened(row)) for row in rows]
    # None where other rows have several columns
    split = {name for row in rows for name, value in row.items() if isinstance(value, dict | list)}
    names = dict.fromkeys(name for row in flat_rows for name in row if name not in split)
    columns: list[tuple[str, Kind]] = []
    for name in names:
        kinds = {kind_of(row.get(name)) for row in flat_rows}
        # what no row knows yet is an estimate
        columns.append((name, "number" if kinds == {"none"} else common_kind(kinds)))
    return make_frame(columns, ([row.get(name) for name in names] for row in flat_rows))


def _flattened(row: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from _flattened({f"{name}.{inner}": item for inner, item in value.items()})
        elif isinstance(value, list):
            yield from _flattened({f"{name}_{i}": item for i, item in enumerate(value, 1)})
        else:
            yield name, flat(value)
