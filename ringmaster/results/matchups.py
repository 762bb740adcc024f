"""The results of a matchup as data for Python: the counts of its `Tally`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from ringmaster.competitions.competition import MatchupInfo, Summary
from ringmaster.competitions.tally import Tally
from ringmaster.model.players import GameName
from ringmaster.model.report import Report, Table
from ringmaster.results.games import COLOURS

#: Settings of a game that are used outside Go, too.
_COMMON = ("move_limit", "margin", "hang_timeout")


@dataclass(frozen=True)
class ColourResults:
    """Counted games of one player, with one colour or with both."""

    wins: int
    losses: int
    draws: int
    unknown: int

    @property
    def games(self) -> int:
        """All counted games."""
        return self.wins + self.losses + self.draws + self.unknown

    @property
    def points(self) -> float:
        """Wins and half the draws; unknown results give no points."""
        return self.wins + self.draws / 2


@dataclass(frozen=True)
class PlayerResults(ColourResults):
    """The results of one player in a matchup.

    by_colour         results by "black" and "white"
    forfeits          games lost by a fault, by its kind: {"time": 2, "illegal move": 1}
    void              void games by this player's fault, by its kind: {"crash": 3}
    average_cpu_time  seconds of CPU a game, over games with a known time; None without any
    """

    code: str
    by_colour: dict[str, ColourResults]
    forfeits: dict[str, int]
    void: dict[str, int]
    average_cpu_time: float | None

    def _repr_html_(self) -> str:
        """Return the results by colour for a notebook."""
        return _fragment(self.code, {**self.by_colour, "both": self})


class MatchupResults:
    """The results of one matchup.

    id, name         as in the control file
    sides            both players, in the order of the control file
    settings         settings of its games (board_size, komi, move_limit, …) in the control file;
                     {} for a removed matchup
    number_of_games  the limit; None if there is none or it is unknown
    alternating      whether the players swap colours; None if unknown
    sprt             its sequential test, or None
    total            counted games
    known            games with a result
    draws            drawn games; jigos in Go
    unknown          games with an unknown result
    void             void games
    endings          games by their end: {"mate": 12, "time": 1}
    repeats          games with the moves and colours of an earlier game
    pentanomial      complete pairs by the first player's points: 0, ½, 1, 1½, 2; an unknown
                     result is ½
    elo              of the first player over the second: by pairs if all games are paired and
                     have a result, else by games.  None without results, and when colours do
                     not alternate
    nelo             normalised Elo of the first player; None as for `elo`
    info             the matchup in the competition, with all counts
    """

    def __init__(self, info: MatchupInfo, game: GameName) -> None:
        tally = info.tally
        self.info = info
        self.id, self.name = info.id, info.name
        self.sides = _player(tally, 0, game), _player(tally, 1, game)
        self.settings: dict[str, Any] = {}
        if info.settings is not None:
            settings = msgspec.structs.asdict(info.settings)
            del settings["game"]
            common = settings if game == "go" else _COMMON
            self.settings = {name: settings[name] for name in common}
        self.number_of_games, self.alternating = info.number_of_games, info.alternating
        self.sprt = info.sprt
        self.total, self.known, self.void = tally.completed, tally.known, tally.void
        self.draws, self.unknown = tally.total(2), tally.total(3)
        self.endings, self.repeats = tally.endings, tally.repeats
        self.pentanomial = tally.pairs.counts
        has_strength = info.even and tally.known > 0
        self.elo = tally.estimate() if has_strength else None
        self.nelo = tally.normalized() if has_strength else None

    @property
    def players(self) -> tuple[str, str]:
        """Codes of the players, in the order of the control file."""
        return self.sides[0].code, self.sides[1].code

    def __getitem__(self, code: str) -> PlayerResults:
        """Return the results of a player.  Raises KeyError."""
        for side in self.sides:
            if side.code == code:
                return side
        raise KeyError(f"{code!r} does not play in matchup {self.id}")

    def __iter__(self) -> Iterator[PlayerResults]:
        return iter(self.sides)

    @property
    def wins(self) -> dict[str, int]:
        """Games won, by player code."""
        return {side.code: side.wins for side in self.sides}

    @property
    def points(self) -> dict[str, float]:
        """Wins and half the draws, by player code; unknown results give no points."""
        return {side.code: side.points for side in self.sides}

    @property
    def forfeits(self) -> dict[str, int]:
        """Games lost by a fault, by player code; `m["a"].forfeits` has the kinds."""
        return {side.code: sum(side.forfeits.values()) for side in self.sides}

    def _repr_html_(self) -> str:
        """Return the results of both players for a notebook."""
        note = "" if self.elo is None else f"{' over '.join(self.players)}: {self.elo}"
        return _fragment(self.name, {side.code: side for side in self.sides}, note)


def _fragment(title: str, results: dict[str, ColourResults], note: str = "") -> str:
    headers = ("", "games", "wins", "draws", "losses", "points")
    rows = [
        (name, each.games, each.wins, each.draws, each.losses, f"{each.points:g}")
        for name, each in results.items()
    ]
    table = Table(headers, tuple(rows), title, (note,) if note else ())
    from ringmaster.reporting.page import render_fragment  # exports write no markup

    return render_fragment(Report((table,)))


def matchups_of(summary: Summary, game: GameName) -> dict[str, MatchupResults]:
    """Return the matchups of a competition by id: of the control file, removed ones with games,
    and closing matches."""
    return {info.id: MatchupResults(info, game) for info in summary.matchups}


def _player(tally: Tally, player: int, game: GameName) -> PlayerResults:
    """Return the results of a player (0, 1)."""
    other = 1 - player
    by_colour = {}
    for first_mover, counts in enumerate(tally.by_colour):
        colour = COLOURS[game][0 if first_mover == player else 1]
        by_colour[colour] = ColourResults(counts[player], counts[other], counts[2], counts[3])
    code, timed = tally.players[player], tally.timed[player]
    return PlayerResults(
        tally.total(player),
        tally.total(other),
        tally.total(2),
        tally.total(3),
        code,
        dict(sorted(by_colour.items())),
        tally.forfeit_kinds[player],
        tally.void_kinds.get(code, {}),
        tally.cpu[player] / timed if timed else None,
    )
