"""One game as it was recorded, with what its ticket says of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ringmaster.competitions.competition import Played
from ringmaster.model.players import GameName
from ringmaster.model.results import Outcome
from ringmaster.storage.store import Recorded

#: Colours in move order.
COLOURS: dict[GameName, tuple[str, str]] = {
    "go": ("black", "white"),
    "chess": ("white", "black"),
    "shogi": ("black", "white"),
}
#: The suffixes of a game's records, the usual one first.
RECORD_SUFFIXES: dict[GameName, tuple[str, ...]] = {
    "go": ("sgf",),
    "chess": ("pgn",),
    "shogi": ("csa", "kifu"),
}


@dataclass(frozen=True, slots=True)
class Side:
    """One player in one game.

    code         its player code; a tuner's candidates have codes of their own
    colour       "black" or "white"
    name         what the engine calls itself, with its version; "" if unknown
    description  what it says of its configuration, possibly several lines
    cpu_time     seconds of CPU; None where it could not be had
    ponder_cpu_time  those of them that it used on its opponent's time; None where it
                 was not told to ponder
    thinking     seconds of wall time charged to it
    slowest      seconds of its slowest move
    peak_memory  bytes, resident; None where it could not be had
    parameters   the values it was given by a tuner, by parameter code
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
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Game:
    """The result of one game.

    id        unique among the games that count; names its record
    attempt   how often it had been void before
    number    place in the order of recording, from 1, void games included
    game      "go", "chess" or "shogi"
    matchup   id of its matchup, "" for a game of a tune
    sides     both players, the one who moved first comes first
    outcome   "win", "draw" (jigo included), "unknown", "void"
    reason    "score", "mate", "resignation", "time", "illegal move", "crash", …
    detail    the same for a person, possibly several lines; "" if there is no more
    score     "B+3.5", "W+R", "0", "?" in Go; "1-0", "0-1", "1/2-1/2", "*" else
    is_forfeit  whether the loser lost by a fault
    plies     moves of both players, those of the opening not counted
    seconds   wall time of the whole game
    finished  when it was recorded, to the second, UTC; None if unknown
    opening   where its start position came from, "" for the game's own
    repeats   whether it repeats an earlier game of its matchup, move for move and with
              the same colours (of a tune: of the same two players)
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
    _winner: int | None = field(repr=False)
    _faulty: int | None = field(repr=False)
    # a string: a Path takes longer to make than all the rest
    _folder: str = field(repr=False)

    @property
    def players(self) -> tuple[str, str]:
        """Codes of the players, in move order."""
        return self.sides[0].code, self.sides[1].code

    @property
    def black(self) -> str:
        """Code of the player who was Black."""
        return self.side("black").code

    @property
    def white(self) -> str:
        """Code of the player who was White."""
        return self.side("white").code

    def side(self, key: str) -> Side:
        """Return the side of a colour or of a player code.

        Raises KeyError for any other.
        """
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
        """Code of the player at fault in a forfeit or void game, if it is known."""
        return None if self._faulty is None else self.sides[self._faulty].code

    @property
    def is_draw(self) -> bool:
        """Whether nobody won; a jigo in Go."""
        return self.outcome == "draw"

    is_jigo = is_draw

    @property
    def is_unknown(self) -> bool:
        """Whether the result is unknown (a Go game that was not scored)."""
        return self.outcome == "unknown"

    @property
    def is_void(self) -> bool:
        """Whether the game does not count, by a failure of software."""
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
        """When it began, to about a second, UTC."""
        return None if self.finished is None else self.finished - timedelta(seconds=self.seconds)

    @property
    def record_name(self) -> str:
        """Name of its record, from the competition directory: "tune.games/0_12.sgf".

        A void game has one only when something was played.
        """
        attempt = f"_{self.attempt}" if self.is_void else ""
        usual, *others = RECORD_SUFFIXES[self.game]
        suffix = usual
        for other in others:
            # which format a game was recorded in is known to its record alone
            if os.path.isfile(f"{self._folder}/{self.id}{attempt}.{other}"):
                suffix = other
        return f"{os.path.basename(self._folder)}/{self.id}{attempt}.{suffix}"

    @property
    def has_record(self) -> bool:
        """Whether the file of its record is there."""
        return os.path.isfile(self._record())

    @property
    def record_path(self) -> Path | None:
        """Where its record is; None when there is no such file."""
        return Path(self._record()) if self.has_record else None

    def _record(self) -> str:
        return os.path.join(os.path.dirname(self._folder), self.record_name)

    def describe(self) -> str:
        """Return the result for a person: "a beat b (W+2.5)"."""
        first, second = (side.code for side in self.sides)
        # the score of a Go game says of these all there is
        said = self.reason in ("", "score") or (self.game == "go" and self.reason == "resignation")
        why = f"({self.score})" if said else f"({self.score}, {self.reason})"
        if self._winner is not None:
            return f"{self.winner} beat {self.loser} {why}"
        if self.is_draw:
            return f"{first} v {second} {'jigo' if self.game == 'go' else 'draw'} {why}"
        if self.is_void:
            return f"{first} v {second} void ({self.reason or 'no reason given'})"
        return f"{first} v {second} unknown result {why}"


def make_game(recorded: Recorded, played: Played, game: GameName, games: str, void: str) -> Game:
    """Return a recorded result as a game.

    games, void  the folders of game records, absolute
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
            parameters,
        )
        for code, colour, used, parameters in zip(
            played.players, COLOURS[game], result.usage, played.parameters, strict=True
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
        result.winner if result.outcome == "win" else None,
        result.faulty,
        void if result.outcome == "void" else games,
    )


def moment(seconds: float | None) -> datetime | None:
    """Return seconds since the epoch as a time in UTC; None for None, and for
    what no calendar has."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
