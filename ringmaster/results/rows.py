"""Games as flat rows: which columns there are, and what stands in them.  The
formats of files are left to `export`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ringmaster.results.games import Game, Side

Value = bool | int | float | str | None
#: Types of a column's values.  A "time" is text, ISO 8601 in UTC, in rows.
Kind = Literal["text", "integer", "number", "boolean", "time"]

_GAME: tuple[tuple[str, Kind], ...] = (
    ("game_id", "text"),
    ("attempt", "integer"),
    ("matchup", "text"),
    ("player_1", "text"),
    ("player_2", "text"),
    ("colour_1", "text"),
    ("colour_2", "text"),
    ("winner", "text"),
    ("outcome", "text"),
    ("score", "text"),
    ("reason", "text"),
    ("detail", "text"),
    ("forfeit", "boolean"),
    ("faulty", "text"),
    ("opening", "text"),
    ("plies", "integer"),
    ("seconds", "number"),
    ("finished", "time"),
    ("record", "text"),
)
_SIDE: tuple[tuple[str, Kind], ...] = (
    ("name", "text"),
    ("cpu_time", "number"),
    ("thinking", "number"),
    ("slowest", "number"),
    ("peak_memory", "integer"),
)
#: The columns that every competition has; players 1 and 2 in move order.
FIXED: tuple[tuple[str, Kind], ...] = (
    *_GAME,
    *((f"{name}_{number}", kind) for number in (1, 2) for name, kind in _SIDE),
)

#: Beyond this a float cannot tell two integers apart.
_EXACT = 2**53
_INT64 = 2**63
_FLAT = frozenset({bool, int, float, str, type(None)})


@dataclass(frozen=True)
class Columns:
    """The columns of a competition's rows.

    parameters  codes of the parameters that occur, for each player in move order
    kinds       of their columns ("param_1.rave")
    """

    parameters: tuple[tuple[str, ...], tuple[str, ...]]
    kinds: dict[str, Kind]

    @property
    def names(self) -> list[str]:
        """Names of all columns, in order."""
        return [name for name, _ in self.typed]

    @property
    def typed(self) -> list[tuple[str, Kind]]:
        """Names and kinds of all columns, in order."""
        return [*FIXED, *self.kinds.items()]

    def row(self, game: Game) -> list[Value]:
        """Return a game's values, in the order of `names`."""
        row = fixed_row(game)
        for side, codes in zip(game.sides, self.parameters, strict=True):
            if codes:
                get = side.parameters.get
                row += [
                    value if type(value := get(code)) in _FLAT else flat(value) for code in codes
                ]
        return row


def survey(parameters: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> Columns:
    """Return the columns for games with these parameters (of both players)."""
    found: list[dict[str, set[str]]] = [{}, {}]
    for both in parameters:
        for kinds, values in zip(found, both, strict=True):
            for code, value in values.items():
                if code not in kinds:
                    kinds[code] = set()
                # the commonest kinds at once: this is done for every game
                if type(value) is float:
                    kinds[code].add("number")
                elif type(value) is int and -_EXACT <= value <= _EXACT:
                    kinds[code].add("small")
                else:
                    kinds[code].add(_kind(value))
    # in one order for both players, whoever was given a parameter first
    codes = list(dict.fromkeys([*found[0], *found[1]]))
    of_player = [tuple(code for code in codes if code in kinds) for kinds in found]
    return Columns(
        (of_player[0], of_player[1]),
        {
            f"param_{number}.{code}": _common(kinds[code])
            for number, kinds in enumerate(found, 1)
            for code in of_player[number - 1]
        },
    )


def _kind(value: Any) -> str:
    value = flat(value)
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "small" if abs(value) <= _EXACT else "integer" if abs(value) < _INT64 else "text"
    if isinstance(value, float):
        return "number"
    return "none" if value is None else "text"


def _common(kinds: set[str]) -> Kind:
    """Return the kind of column that holds values of all `kinds` unchanged."""
    kinds = kinds - {"none"}
    if kinds == {"boolean"}:
        return "boolean"
    if kinds and kinds <= {"small", "integer"}:
        return "integer"
    if kinds and kinds <= {"small", "number"}:
        return "number"
    return "text"


def fixed_row(game: Game) -> list[Value]:
    """Return the values of `FIXED`."""
    first, second = game.sides
    return [
        game.id,
        game.attempt,
        game.matchup,
        first.code,
        second.code,
        first.colour,
        second.colour,
        game.winner,
        game.outcome,
        game.score,
        game.reason,
        game.detail,
        game.is_forfeit,
        game.faulty,
        game.opening,
        game.plies,
        game.seconds,
        None if game.finished is None else iso(game.finished),
        game.record_name if game.has_record else None,
        *_side(first),
        *_side(second),
    ]


def _side(side: Side) -> tuple[Value, ...]:
    return side.name, side.cpu_time, side.thinking, side.slowest, side.peak_memory


def iso(time: datetime) -> str:
    """Return a time in UTC by ISO 8601: "2026-11-21T13:05:00Z"."""
    return time.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def flat(value: Any) -> Value:
    """Return a parameter value as one cell: what is no number, text or truth
    value becomes JSON."""
    if type(value) in _FLAT:
        return value  # type: ignore[no-any-return]  # the check says it
    value = plain(value)
    return json.dumps(value) if isinstance(value, list | dict) else value


def plain(value: Any) -> Any:
    """Return a parameter value as JSON data; text for what JSON does not have."""
    if type(value) in _FLAT:
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    # subclasses, numpy's numbers among them
    for simple in (str, float, int):
        if isinstance(value, simple):
            return simple(value)
    try:
        return int(value.__index__())
    except AttributeError:
        return str(value)
