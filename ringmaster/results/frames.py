"""Make pandas data frames with typed columns from rows of results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ringmaster.errors import RingmasterError
from ringmaster.results.games import Kind, Value, common_kind, flat, kind_of
from ringmaster.results.matchups import MatchupResults

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

    An inner dictionary has a column for each of its keys, "outer.inner".
    """
    flat_rows = [dict(_flattened(row)) for row in rows]
    names = dict.fromkeys(name for row in flat_rows for name in row)
    columns: list[tuple[str, Kind]] = []
    for name in names:
        kinds = {kind_of(row.get(name)) for row in flat_rows}
        # what no row knows yet is an estimate
        columns.append((name, "number" if kinds == {"none"} else common_kind(kinds)))
    return make_frame(columns, ([row.get(name) for name in names] for row in flat_rows))


def _flattened(row: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for name, value in row.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", item) for inner, item in _flattened(value))
        else:
            yield name, flat(value)


#: Columns of `matchup_row`; players 1 and 2 in the order of the control file.
MATCHUP_COLUMNS: Columns = (
    ("matchup", "text"),
    ("name", "text"),
    ("player_1", "text"),
    ("player_2", "text"),
    ("games", "integer"),
    ("number_of_games", "integer"),
    ("wins_1", "integer"),
    ("wins_2", "integer"),
    ("draws", "integer"),
    ("unknown", "integer"),
    ("void", "integer"),
    ("points_1", "number"),
    ("points_2", "number"),
    ("forfeits_1", "integer"),
    ("forfeits_2", "integer"),
    ("repeats", "integer"),
    ("elo", "number"),
    ("elo_low", "number"),
    ("elo_high", "number"),
    ("los", "number"),
    ("llr", "number"),
    ("accepted", "text"),
    *((f"pairs_{points}", "integer") for points in ("0", "0.5", "1", "1.5", "2")),
)
#: Columns of `player_row`.
PLAYER_COLUMNS: Columns = (
    ("player", "text"),
    ("engine", "text"),
    ("games", "integer"),
    ("wins", "integer"),
    ("losses", "integer"),
    ("draws", "integer"),
    ("points", "number"),
    ("forfeits", "integer"),
    ("void", "integer"),
    ("average_cpu_time", "number"),
    ("average_thinking", "number"),
)


def matchup_row(matchup: MatchupResults) -> list[Value]:
    """Return a matchup's values, in the order of MATCHUP_COLUMNS."""
    first, second = matchup.sides
    elo, sprt = matchup.elo, matchup.sprt
    return [
        matchup.id,
        matchup.name,
        first.code,
        second.code,
        matchup.total,
        matchup.number_of_games,
        first.wins,
        second.wins,
        matchup.draws,
        matchup.unknown,
        matchup.void,
        first.points,
        second.points,
        matchup.forfeits[first.code],
        matchup.forfeits[second.code],
        matchup.repeats,
        *((None,) * 4 if elo is None else (elo.elo, elo.low, elo.high, elo.los)),
        *((None, None) if sprt is None else (sprt.llr, sprt.accepted or None)),
        *matchup.pentanomial,
    ]


def player_row(code: str, engine: str, matchups: Iterable[MatchupResults]) -> list[Value]:
    """Return a player's values in all matchups, in the order of PLAYER_COLUMNS."""
    sides = [side for matchup in matchups for side in matchup if side.code == code]
    games, timed = sum(side.games for side in sides), sum(side._timed for side in sides)
    return [
        code,
        engine or None,
        games,
        sum(side.wins for side in sides),
        sum(side.losses for side in sides),
        sum(side.draws for side in sides),
        sum(side.points for side in sides),
        sum(sum(side.forfeits.values()) for side in sides),
        sum(sum(side.void.values()) for side in sides),
        sum(side._cpu for side in sides) / timed if timed else None,
        sum(side._thinking for side in sides) / games if games else None,
    ]
