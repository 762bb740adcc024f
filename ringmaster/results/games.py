"""Recorded games, as objects and as flat rows; `export` has the file formats."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from ringmaster.competitions.competition import Played
from ringmaster.model.cluster import Host
from ringmaster.model.players import GameName
from ringmaster.model.results import Outcome
from ringmaster.storage.entries import StoredGame

#: Colours in move order.
COLOURS: dict[GameName, tuple[str, str]] = {
    "go": ("black", "white"),
    "chess": ("white", "black"),
    "shogi": ("black", "white"),
}
#: Suffixes of game records, the default first.
RECORD_SUFFIXES: dict[GameName, tuple[str, ...]] = {
    "go": ("sgf",),
    "chess": ("pgn",),
    "shogi": ("csa", "kifu"),
}


@dataclass(frozen=True, slots=True)
class Side:
    """One player in one game.

    code             player code; each candidate of a tuner has its own
    colour           "black" or "white"
    name             the engine's own name with its version; "" if unknown
    description      the engine's description of its configuration, possibly several lines
    cpu_time         seconds of CPU; None if unknown
    ponder_cpu_time  seconds of CPU on the opponent's time; None without pondering
    thinking         charged seconds of wall time
    slowest          seconds of the slowest move
    peak_memory      bytes, resident; None if unknown
    build            number of the engine's build in the competition; None if unknown
    parameters       values from a tuner, by parameter code
    """

    code: str
    colour: str
    name: str
    description: str
    cpu_time: float | None
    ponder_cpu_time: float | None
    thinking: float
    slowest: float
    peak_memory: int | None
    build: int | None
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Game:
    """The result of one game.

    id          unique among counted games; the name of its record
    attempt     number of earlier void games with this id
    number      place in the order of recording, from 1, with void games
    game        "go", "chess" or "shogi"
    matchup     id of its matchup, "" for a game of a tune
    sides       both players in move order
    outcome     "win", "draw" (with jigo), "unknown", "void"
    reason      "score", "mate", "resignation", "time", "illegal move", "crash", …
    detail      an explanation, possibly several lines, or ""
    score       "B+3.5", "W+R", "0", "?" in Go; "1-0", "0-1", "1/2-1/2", "*" else
    is_forfeit  whether the loser lost by a fault
    plies       moves of both players after the opening
    seconds     wall time of the whole game
    finished    time of recording, to the second, UTC; None if unknown
    opening     source of the start position, "" for the usual one
    repeats     whether an earlier game of its matchup (of a tune: of its two players) had the
                same moves and colours
    host        where it was played, with its speed and load; None for the ringmaster's machine
    """

    id: str
    attempt: int
    number: int
    game: GameName
    matchup: str
    sides: tuple[Side, Side]
    outcome: Outcome
    reason: str
    detail: str
    score: str
    is_forfeit: bool
    plies: int
    seconds: float
    finished: datetime | None
    opening: str
    repeats: bool
    host: Host | None
    _winner: int | None = field(repr=False)
    _faulty: int | None = field(repr=False)
    # a string: making a Path takes longer than all other fields
    _folder: str = field(repr=False)

    @property
    def players(self) -> tuple[str, str]:
        """Codes of the players, in move order."""
        return self.sides[0].code, self.sides[1].code

    @property
    def black(self) -> str:
        """Code of Black."""
        return self.side("black").code

    @property
    def white(self) -> str:
        """Code of White."""
        return self.side("white").code

    def side(self, key: str) -> Side:
        """Return the side of a colour or of a player code.  Raises KeyError."""
        for side in self.sides:
            if side.colour == key:
                return side
        for side in self.sides:
            if side.code == key:
                return side
        raise KeyError(f"{key!r} is no side of game {self.id}")

    @property
    def winner(self) -> str | None:
        """Code of the winner; None unless the game was won."""
        return None if self._winner is None else self.sides[self._winner].code

    @property
    def loser(self) -> str | None:
        """Code of the loser; None unless the game was won."""
        return None if self._winner is None else self.sides[1 - self._winner].code

    @property
    def winning_colour(self) -> str | None:
        """Colour of the winner; None unless the game was won."""
        return None if self._winner is None else self.sides[self._winner].colour

    @property
    def losing_colour(self) -> str | None:
        """Colour of the loser; None unless the game was won."""
        return None if self._winner is None else self.sides[1 - self._winner].colour

    @property
    def faulty(self) -> str | None:
        """Code of the player at fault in a forfeit or void game, if known."""
        return None if self._faulty is None else self.sides[self._faulty].code

    @property
    def is_draw(self) -> bool:
        """Whether the game is drawn; a jigo in Go."""
        return self.outcome == "draw"

    is_jigo = is_draw

    @property
    def is_unknown(self) -> bool:
        """Whether the result is unknown (a Go game that was not scored)."""
        return self.outcome == "unknown"

    @property
    def is_void(self) -> bool:
        """Whether the game does not count because of a software failure."""
        return self.outcome == "void"

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """The parameter values of both players, by player code."""
        return {side.code: side.parameters for side in self.sides}

    @property
    def cpu_times(self) -> dict[str, float | None]:
        """Seconds of CPU of both players, by player code."""
        return {side.code: side.cpu_time for side in self.sides}

    @property
    def started(self) -> datetime | None:
        """The start, to about a second, UTC."""
        return None if self.finished is None else self.finished - timedelta(seconds=self.seconds)

    @property
    def record_name(self) -> str:
        """Name of its record in the competition directory: "tune.games/0_12.sgf".

        A void game without moves has no record.
        """
        attempt = f"_{self.attempt}" if self.is_void else ""
        usual, *others = RECORD_SUFFIXES[self.game]
        suffix = usual
        for other in others:
            # the results do not have the format of a record
            if os.path.isfile(f"{self._folder}/{self.id}{attempt}.{other}"):
                suffix = other
        return f"{os.path.basename(self._folder)}/{self.id}{attempt}.{suffix}"

    @property
    def has_record(self) -> bool:
        """Whether the file of its record exists."""
        return os.path.isfile(self._record())

    @property
    def record_path(self) -> Path | None:
        """Path of its record; None without a file."""
        return Path(self._record()) if self.has_record else None

    def _record(self) -> str:
        return os.path.join(os.path.dirname(self._folder), self.record_name)

    def describe(self) -> str:
        """Return a line such as "a beat b (W+2.5)"."""
        first, second = self.players
        # the score of a Go game shows these reasons
        is_shown = self.reason in ("", "score") or (
            self.game == "go" and self.reason == "resignation"
        )
        score = f"({self.score})" if is_shown else f"({self.score}, {self.reason})"
        if self._winner is not None:
            return f"{self.winner} beat {self.loser} {score}"
        if self.is_draw:
            return f"{first} v {second} {'jigo' if self.game == 'go' else 'draw'} {score}"
        if self.is_void:
            return f"{first} v {second} void ({self.reason or 'no reason given'})"
        return f"{first} v {second} unknown result {score}"


def make_game(recorded: StoredGame, played: Played, game: GameName, games: str, void: str) -> Game:
    """Return a recorded result as a game.

    games, void  absolute paths of the folders of game records
    """
    result = recorded.result
    sides = [
        Side(
            code,
            colour,
            used.name,
            used.description,
            used.cpu_time,
            used.ponder_cpu_time,
            used.thinking,
            used.slowest,
            used.peak_memory,
            build,
            parameters,
        )
        for code, colour, used, build, parameters in zip(
            played.players,
            COLOURS[game],
            result.usage,
            result.builds,
            played.parameters,
            strict=True,
        )
    ]
    return Game(
        result.game_id,
        result.attempt,
        recorded.seq,
        game,
        played.matchup,
        (sides[0], sides[1]),
        result.outcome,
        result.reason,
        result.detail,
        result.score,
        result.forfeit,
        result.plies,
        result.seconds,
        moment(recorded.finished),
        played.opening,
        result.repeats,
        result.host,
        result.winner if result.outcome == "win" else None,
        result.faulty,
        void if result.outcome == "void" else games,
    )


def moment(seconds: float | None) -> datetime | None:
    """Return seconds since the epoch as a time in UTC; None for None and for impossible dates."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


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
    ("build", "integer"),
)
#: The columns of every competition; players 1 and 2 in move order.
FIXED: tuple[tuple[str, Kind], ...] = (
    *_GAME,
    *((f"{name}_{number}", kind) for number in (1, 2) for name, kind in _SIDE),
    ("host", "text"),
    ("host_speed", "number"),
    ("host_load", "number"),
)

#: Larger integers are not all exact as floats.
_EXACT = 2**53
_INT64 = 2**63
_FLAT = frozenset({bool, int, float, str, type(None)})


@dataclass(frozen=True)
class RowColumns:
    """The columns of a competition's rows.

    parameters  codes of each player's parameters, in move order
    kinds       by column ("param_1.rave")
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


def survey(parameters: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> RowColumns:
    """Return the columns for games with these parameters (of both players)."""
    player_kinds: list[dict[str, set[str]]] = [{}, {}]
    for both in parameters:
        for kinds, values in zip(player_kinds, both, strict=True):
            for code, value in values.items():
                if code not in kinds:
                    kinds[code] = set()
                # the most frequent kinds first: this runs for every game
                if type(value) is float:
                    kinds[code].add("number")
                elif type(value) is int and -_EXACT <= value <= _EXACT:
                    kinds[code].add("small")
                else:
                    kinds[code].add(kind_of(value))
    # one order for both players
    codes = list(dict.fromkeys([*player_kinds[0], *player_kinds[1]]))
    first, second = (tuple(c for c in codes if c in kinds) for kinds in player_kinds)
    return RowColumns(
        (first, second),
        {
            f"param_{number}.{code}": common_kind(kinds[code])
            for number, kinds in enumerate(player_kinds, 1)
            for code in codes
            if code in kinds
        },
    )


def kind_of(value: Any) -> str:
    """Return the kind of a value for `common_kind`."""
    value = flat(value)
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "small" if abs(value) <= _EXACT else "integer" if abs(value) < _INT64 else "text"
    if isinstance(value, float):
        return "number"
    return "none" if value is None else "text"


def common_kind(kinds: set[str]) -> Kind:
    """Return the kind of a column for values of all `kinds`, unchanged."""
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
    host = game.host
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
        *((None, None, None) if host is None else (host.name, host.speed, host.load)),
    ]


def _side(side: Side) -> tuple[Value, ...]:
    return side.name, side.cpu_time, side.thinking, side.slowest, side.peak_memory, side.build


def iso(time: datetime) -> str:
    """Return a time in UTC in ISO 8601: "2026-11-21T13:05:00Z"."""
    return time.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def flat(value: Any) -> Value:
    """Return a parameter value as one cell; lists and dictionaries become JSON."""
    if type(value) in _FLAT:
        return value  # type: ignore[no-any-return]  # the check says it
    value = plain(value)
    return json.dumps(value) if isinstance(value, list | dict) else value


def plain(value: Any) -> Any:
    """Return a parameter value as JSON data; other types become text."""
    if type(value) in _FLAT:
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    # subclasses, such as NumPy's numbers
    for simple in (str, float, int):
        if isinstance(value, simple):
            return simple(value)
    try:
        return int(value.__index__())
    except AttributeError:
        return str(value)
