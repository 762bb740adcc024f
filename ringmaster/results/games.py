"""Recorded games as objects."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ringmaster.competitions.competition import Played
from ringmaster.competitions.result_lines import result_line
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.cluster import Host
from ringmaster.model.players import GameName
from ringmaster.model.results import GameResult, Outcome
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
    disputed         whether it named another winner than the referee's engine
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
    disputed: bool
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
    level       level of a handicap ladder, "" without
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
    level: str
    repeats: bool
    host: Host | None
    _result: GameResult = field(repr=False)
    # a string: making a Path takes longer than all other fields
    _folder: str = field(repr=False)

    @property
    def players(self) -> tuple[str, str]:
        """Codes of the players, in move order."""
        return self.sides[0].code, self.sides[1].code

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
        return None if self._result.winner is None else self.sides[self._result.winner].code

    @property
    def loser(self) -> str | None:
        """Code of the loser; None unless the game was won."""
        return None if self._result.winner is None else self.sides[1 - self._result.winner].code

    @property
    def winning_colour(self) -> str | None:
        """Colour of the winner; None unless the game was won."""
        return None if self._result.winner is None else self.sides[self._result.winner].colour

    @property
    def faulty(self) -> str | None:
        """Code of the player at fault in a forfeit or void game, if known."""
        return None if self._result.faulty is None else self.sides[self._result.faulty].code

    @property
    def is_draw(self) -> bool:
        """Return whether the game is drawn; a jigo in Go."""
        return self.outcome == "draw"

    @property
    def is_void(self) -> bool:
        """Return whether the game does not count because of a software failure."""
        return self.outcome == "void"

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
    def record_path(self) -> Path | None:
        """Path of its record; None without a file."""
        path = os.path.join(os.path.dirname(self._folder), self.record_name)
        return Path(path) if os.path.isfile(path) else None

    def describe(self) -> str:
        """Return the history's line, such as "game 0_12: a beat b W+2.5"."""
        return result_line(self._result, self.players)


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
            used.disputed,
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
        played.level,
        result.repeats,
        result.host,
        result,
        void if result.outcome == "void" else games,
    )


class GameReader:
    """Makes games of the recorded results of a restored competition."""

    def __init__(self, loaded: LoadedCompetition) -> None:
        self._loaded = loaded
        self._game: GameName = loaded.control_file.values["game"]
        self._folders = str(loaded.paths.games), str(loaded.paths.void)

    def played(self, recorded: StoredGame) -> Played:
        """Return a game's data from its ticket.  Raises StoreCorrupt."""
        with self._loaded.reading_tickets():
            return self._loaded.competition.describe(recorded.ticket)

    def game(self, recorded: StoredGame) -> Game:
        """Return a recorded result as a game.  Raises StoreCorrupt."""
        return make_game(recorded, self.played(recorded), self._game, *self._folders)


def moment(seconds: float | None) -> datetime | None:
    """Return seconds since the epoch as a time in UTC; None for None and for impossible dates."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
