"""Count statistics of a matchup from its recorded games.

They are the same for every competition type, and for matchups removed from the control file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ringmaster.competitions.competition import MatchupInfo
from ringmaster.competitions.matchup_sprt import SprtReport
from ringmaster.competitions.tally import Pairs
from ringmaster.model.players import GameName
from ringmaster.model.report import Cell, Report, Table
from ringmaster.results.games import COLOURS, Game
from ringmaster.stats import elo
from ringmaster.stats.elo import EloEstimate, NormalizedElo

#: Settings of a game that are used outside Go, too.
_COMMON = ("move_limit", "margin", "hang_timeout")


@dataclass(slots=True)
class ColourResults:
    """Games of one player with one colour."""

    games: int = 0
    wins: int = 0
    losses: int = 0
    draws: int = 0
    unknown: int = 0

    @property
    def points(self) -> float:
        """Wins and half the draws."""
        return self.wins + self.draws / 2


@dataclass(slots=True)
class PlayerResults:
    """The results of one player in a matchup.

    by_colour  results by "black" and "white"
    forfeits   games lost by a fault, by its kind: {"time": 2, "illegal move": 1}
    void       void games by this player's fault, by its kind: {"crash": 3}
    engine     the engine's own name, "" if unknown
    """

    code: str
    by_colour: dict[str, ColourResults]
    forfeits: dict[str, int] = field(default_factory=dict)
    void: dict[str, int] = field(default_factory=dict)
    engine: str = ""
    description: str = ""
    _cpu: float = field(default=0.0, repr=False)
    _timed: int = field(default=0, repr=False)
    _thinking: float = field(default=0.0, repr=False)

    def _sum(self, name: str) -> int:
        return sum(getattr(results, name) for results in self.by_colour.values())

    @property
    def games(self) -> int:
        """Counted games."""
        return self._sum("games")

    @property
    def wins(self) -> int:
        """Games won."""
        return self._sum("wins")

    @property
    def losses(self) -> int:
        """Games lost."""
        return self._sum("losses")

    @property
    def draws(self) -> int:
        """Games drawn."""
        return self._sum("draws")

    @property
    def points(self) -> float:
        """Wins and half the draws; unknown results give no points."""
        return sum(results.points for results in self.by_colour.values())

    @property
    def average_cpu_time(self) -> float | None:
        """Seconds of CPU a game, over games with a known time; None without any."""
        return self._cpu / self._timed if self._timed else None

    @property
    def average_thinking(self) -> float | None:
        """Seconds of wall time a game; None without games."""
        return self._thinking / self.games if self.games else None

    def _row(self, name: str, results: PlayerResults | ColourResults) -> tuple[Cell, ...]:
        counts = results.games, results.wins, results.draws, results.losses
        return (name, *counts, f"{results.points:g}")

    def _repr_html_(self) -> str:
        """Return the results by colour for a notebook."""
        rows = [self._row(colour, results) for colour, results in self.by_colour.items()]
        return _fragment(self.code, [*rows, self._row("both", self)])


@dataclass(slots=True)
class MatchupResults:
    """The results of one matchup.

    id, name         as in the control file
    sides            both players, in the order of the control file
    draws            drawn games; jigos in Go
    unknown          games with an unknown result
    void             void games
    settings         settings of its games (board_size, komi, move_limit, …) in the control file;
                     {} for a removed matchup
    number_of_games  the limit; None if there is none or it is unknown
    alternating      whether the players swap colours; None if unknown
    sprt             its sequential test, or None
    endings          games by reason: {"mate": 12, "time": 1}
    repeats          games with the moves and colours of an earlier game
    split_pairs      complete pairs in which each player won a game
    """

    id: str
    name: str
    sides: tuple[PlayerResults, PlayerResults]
    settings: dict[str, Any]
    number_of_games: int | None = None
    alternating: bool | None = None
    draws: int = 0
    unknown: int = 0
    void: int = 0
    sprt: SprtReport | None = None
    endings: dict[str, int] = field(default_factory=dict)
    repeats: int = 0
    split_pairs: int = 0
    _pairs: Pairs = field(default_factory=Pairs, repr=False)

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
    def total(self) -> int:
        """Counted games."""
        return self.sides[0].games

    @property
    def known(self) -> int:
        """Games with a result."""
        return self.total - self.unknown

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

    @property
    def average_cpu_time(self) -> dict[str, float | None]:
        """Seconds of CPU a game, by player code; None if unknown."""
        return {side.code: side.average_cpu_time for side in self.sides}

    @property
    def wins_by_colour(self) -> dict[str, int]:
        """Games won by Black and by White."""
        first, second = self.sides
        return {c: first.by_colour[c].wins + second.by_colour[c].wins for c in first.by_colour}

    @property
    def alternated(self) -> bool:
        """Whether each player has played each colour, whatever `alternating` says."""
        return all(results.games for side in self.sides for results in side.by_colour.values())

    @property
    def pentanomial(self) -> list[int]:
        """Complete pairs by the first player's points: 0, ½, 1, 1½, 2; an unknown result is ½."""
        return list(self._pairs.counts)

    @property
    def all_paired(self) -> bool:
        """Whether every game belongs to a pair, complete or not."""
        return self._pairs.games == self.total

    @property
    def pairs_ratio(self) -> float | None:
        """The first player's won pairs divided by its lost pairs; None without a lost pair."""
        return elo.pairs_ratio(self._pairs.counts)

    @property
    def draw_ratio(self) -> float | None:
        """Share of draws among the games with a result; None without any."""
        return self.draws / self.known if self.known else None

    @property
    def nelo(self) -> NormalizedElo | None:
        """The normalised Elo of the first player; None as for `elo`."""
        if self.elo is None:
            return None
        if self._in_pairs:
            return self._pairs.normalized()
        first, second = self.sides
        return elo.normalized_from_games(first.wins, self.draws, second.wins)

    @property
    def _in_pairs(self) -> bool:
        return self._pairs.are_all(self.known, self.total)

    @property
    def elo(self) -> EloEstimate | None:
        """The Elo of the first player relative to the second.

        It is estimated by pairs if all games are paired and have a result, else by games.  None
        without results, with a handicap, and when colours do not alternate.
        """
        is_even = self.alternating is not False and self.settings.get("handicap") is None
        if not self.known or not is_even:
            return None
        if self._in_pairs:
            return self._pairs.estimate()
        first, second = self.sides
        return elo.from_games(first.wins, self.draws, second.wins)

    def _repr_html_(self) -> str:
        """Return the results of both players for a notebook."""
        note = "" if self.elo is None else f"{' over '.join(self.players)}: {self.elo}"
        return _fragment(self.name, [side._row(side.code, side) for side in self.sides], note)

    def describe_details(self) -> str:
        """Return settings such as "board size: 9, komi: 7.5"; "" outside Go."""
        settings = self.settings
        if "board_size" not in settings:
            return ""
        text = f"board size: {settings['board_size']}, komi: {settings['komi']:g}"
        if settings["handicap"] is not None:
            text += f", handicap: {settings['handicap']} ({settings['handicap_style']})"
        return text

    def take(self, game: Game, pair: int | None) -> None:
        """Count a game; `pair` as in `competitions.Played`."""
        # a player may play against itself
        swapped = game.sides[0].code != self.sides[0].code
        first = self.sides[1 if swapped else 0]
        second = self.sides[0 if swapped else 1]
        if game.is_void:
            self.void += 1
            for results, side in ((first, game.sides[0]), (second, game.sides[1])):
                if side.code == game.faulty:
                    results.void[game.reason] = results.void.get(game.reason, 0) + 1
            return
        reason = game.reason or "other"
        self.endings[reason] = self.endings.get(reason, 0) + 1
        self.draws += game.is_draw
        self.repeats += game.repeats
        self.unknown += game.is_unknown
        for results, side in ((first, game.sides[0]), (second, game.sides[1])):
            won = side.colour == game.winning_colour
            lost = side.colour == game.losing_colour
            colour = results.by_colour[side.colour]
            colour.games += 1
            colour.wins += won
            colour.losses += lost
            colour.draws += game.is_draw
            colour.unknown += game.is_unknown
            if lost and game.is_forfeit:
                results.forfeits[game.reason] = results.forfeits.get(game.reason, 0) + 1
            results.engine = side.name or results.engine
            results.description = side.description or results.description
            results._thinking += side.thinking
            if side.cpu_time is not None:
                results._cpu += side.cpu_time
                results._timed += 1
        if pair is not None:
            seat = game.sides[1 if swapped else 0]
            won = seat.colour == game.winning_colour
            points = 1.0 if won else 0.0 if game.winner is not None else 0.5
            other_points = self._pairs.half.get(str(pair))
            self.split_pairs += {points, other_points} == {0.0, 1.0}
            self._pairs.record_result(pair, points)


def _fragment(title: str, rows: list[tuple[Cell, ...]], note: str = "") -> str:
    headers = ("", "games", "wins", "draws", "losses", "points")
    table = Table(headers, tuple(rows), title, (note,) if note else ())
    from ringmaster.reporting.page import render_fragment  # exports write no markup

    return render_fragment(Report((table,)))


def matchup_of(info: MatchupInfo, game: GameName) -> MatchupResults:
    """Return a matchup without games."""
    settings: dict[str, Any] = {}
    if info.settings is not None:
        settings = msgspec.structs.asdict(info.settings)
        del settings["game"]
        if game != "go":
            settings = {name: settings[name] for name in _COMMON}
    first, second = (
        PlayerResults(code, {colour: ColourResults() for colour in sorted(COLOURS[game])})
        for code in info.players
    )
    return MatchupResults(
        info.id,
        info.name,
        (first, second),
        settings,
        info.number_of_games,
        info.alternating,
        sprt=info.sprt,
    )
