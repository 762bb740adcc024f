"""playoff: matchups between declared players, each with its own settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.common import (
    COMMON_SETTINGS,
    noting,
    result_line,
    void_rule,
)
from ringmaster.competitions.competition import Competition, MatchupInfo, Played, Verdict
from ringmaster.competitions.game_settings import GAME_SETTINGS, OpeningBook, make_game_settings
from ringmaster.competitions.pairs import Pairs
from ringmaster.competitions.players import PlayerDefinition, find_player
from ringmaster.errors import SettingError, SettingErrors, StoreError
from ringmaster.model.jobs import CheckJob, GameJob, GameSettings, Ticket
from ringmaster.model.players import GameName, Player
from ringmaster.model.report import RIGHT, Cell, Progress, Report, Table, Text
from ringmaster.model.results import GameResult
from ringmaster.model.settings import (
    INHERITED,
    Boolean,
    CallOf,
    Context,
    Identifier,
    Integer,
    ListOf,
    Maybe,
    Setting,
    String,
)
from ringmaster.stats import elo

#: Settings that can be given for one matchup or, as a default, for all.
MATCHUP_SETTINGS: tuple[Setting, ...] = (
    *GAME_SETTINGS,
    Setting(
        "alternating",
        Maybe(Boolean()),
        "Swap colours from game to game (by default in chess, not in Go).",
        None,
    ),
    Setting("number_of_games", Maybe(Integer(minimum=0)), "Games to play; None: no limit.", None),
)


_TOP_LEVEL = frozenset({"game", *(setting.name for setting in MATCHUP_SETTINGS)})


@dataclass(frozen=True)
class MatchupDefinition:
    """A Matchup(…) of a control file: only what was given there is in `given`."""

    first: str
    second: str
    id: str | None
    name: str | None
    given: Mapping[str, Any]

    def canonical(self) -> Mapping[str, Any]:
        """Return the arguments, for the comparison of two runs."""
        return {"p1": self.first, "p2": self.second, "id": self.id, "name": self.name, **self.given}


def _build_matchup(values: dict[str, Any], context: Context) -> MatchupDefinition:
    given = {k: v for k, v in values.items() if v is not INHERITED}
    first, second = given.pop("p1"), given.pop("p2")
    return MatchupDefinition(first, second, given.pop("id"), given.pop("name"), given)


MATCHUP = CallOf(
    "Matchup",
    (
        Setting("p1", Identifier(), "Code of the first player: Black unless colours alternate."),
        Setting("p2", Identifier(), "Code of the second player."),
        Setting("id", Maybe(Identifier()), "Short name, used in game ids.", None),
        Setting("name", Maybe(String()), "Text for reports.", None),
        *(Setting(s.name, s.type, s.help, INHERITED, s.change) for s in MATCHUP_SETTINGS),
    ),
    _build_matchup,
    positional=("p1", "p2"),
)


class Tally(msgspec.Struct):
    """The results of a matchup; all that a report needs, of constant size.

    by_colour  for each colouring (0: the first player moved first, 1: the
               second did): wins of the first player, of the second, draws,
               unknown results
    names      how the engines call themselves
    cpu, timed seconds of CPU by player, and in how many games it was known
    pairs      the first player's results by pairs, where colours alternate
    """

    players: tuple[str, str]
    next: int = 0
    by_colour: list[list[int]] = msgspec.field(default_factory=lambda: [[0, 0, 0, 0], [0, 0, 0, 0]])
    forfeits: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    void: int = 0
    void_in_a_row: int = 0
    names: list[str] = msgspec.field(default_factory=lambda: ["", ""])
    cpu: list[float] = msgspec.field(default_factory=lambda: [0.0, 0.0])
    timed: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    pairs: Pairs = msgspec.field(default_factory=Pairs)

    def total(self, column: int) -> int:
        """Return a column of `by_colour`, both colourings together."""
        return self.by_colour[0][column] + self.by_colour[1][column]

    @property
    def completed(self) -> int:
        """Games with a result, unknown ones included."""
        return sum(map(sum, self.by_colour))

    def take(self, result: GameResult, black: int, pair: int | None) -> None:
        """Count a result; `black` is the player (0, 1) who moved first."""
        if result.outcome == "void":
            self.void += 1
            return
        seat = (0, 1) if black == 0 else (1, 0)
        if result.winner is not None:
            column = seat[result.winner]
            if result.forfeit:
                self.forfeits[1 - column] += 1
        else:
            column = 2 if result.outcome == "draw" else 3
        self.by_colour[black][column] += 1
        for index, used in enumerate(result.usage):
            if used.name:
                self.names[seat[index]] = used.name
            if used.cpu_time is not None:
                self.cpu[seat[index]] += used.cpu_time
                self.timed[seat[index]] += 1
        if pair is not None:
            self.pairs.take(pair, result.points(seat.index(0)))

    def estimate(self) -> elo.EloEstimate:
        """Return the first player's Elo over the second: by pairs if all games
        were played in pairs, else by games."""
        if sum(self.pairs.counts) and self.pairs.games == self.completed:
            return self.pairs.estimate()
        return elo.from_games(self.total(0), self.total(2) + self.total(3), self.total(1))


class Matchup:
    """One pairing with its settings."""

    def __init__(
        self,
        id: str,
        definition: MatchupDefinition,
        defaults: Mapping[str, Any],
        players: Mapping[str, PlayerDefinition],
        game: GameName,
        seed: int,
    ) -> None:
        """Raises SettingError with a path inside the definition."""
        values = {**defaults, **definition.given}
        self.id = id
        self.name = definition.name or f"{definition.first} v {definition.second}"
        self.settings: GameSettings = make_game_settings(game, values)
        self.alternating: bool = (
            game != "go" if values["alternating"] is None else values["alternating"]
        )
        self.number_of_games: int | None = values["number_of_games"]
        self.players: tuple[Player, Player] = (
            _player(players, definition.first, game, "p1"),
            _player(players, definition.second, game, "p2"),
        )
        self.book = OpeningBook(values["openings"], game, seed)

    @property
    def codes(self) -> tuple[str, str]:
        """Codes of the first and the second player."""
        return self.players[0].code, self.players[1].code

    def game_id(self, number: int) -> str:
        """Return the id of a game, as wide as the largest number of the matchup."""
        digits = len(str(self.number_of_games - 1)) if self.number_of_games else 1
        return f"{self.id}_{number:0{digits}d}"

    def pair(self, number: int) -> int | None:
        """Return the pair that a game belongs to, None when colours are fixed."""
        return number // 2 if self.alternating else None

    def opening_number(self, number: int) -> int:
        """Return which opening of the book a game starts from."""
        return number // 2 if self.alternating else number


def _player(
    players: Mapping[str, PlayerDefinition], code: str, game: GameName, argument: str
) -> Player:
    definition = find_player(players, code, (argument,))
    try:
        return definition.make(code, game)
    except SettingError as error:
        # the fault is in the players dictionary, not in the matchup
        raise _ElsewhereError(error.under("players", code)) from None


class _ElsewhereError(Exception):
    def __init__(self, error: SettingError) -> None:
        self.error = error


class Playoff(Competition):
    """Any number of matchups, each played to its own number of games."""

    type_name: ClassVar[str] = "playoff"
    table: ClassVar[tuple[Setting, ...]] = (
        *COMMON_SETTINGS,
        *MATCHUP_SETTINGS,
        Setting("matchups", ListOf(MATCHUP, minimum=1), "The pairings to play."),
    )

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._game: GameName = values["game"]
        self.matchups: dict[str, Matchup] = {}
        errors: list[SettingError] = []
        for i, definition in enumerate(values["matchups"]):
            with noting(errors):
                self._add_matchup(i, definition)
        if errors:
            raise SettingErrors(errors)
        self.tallies = {id: Tally(m.codes) for id, m in self.matchups.items()}

    def _add_matchup(self, index: int, definition: MatchupDefinition) -> None:
        values = self.values
        id = definition.id or str(index)
        if id.startswith(".") or len(id) > 50:
            raise SettingError(
                ("matchups", index, "id"),
                f"matchup id {id!r} cannot be part of a file name",
                "at most 50 characters, the first no full stop",
            )
        if id in self.matchups:
            raise SettingError(
                ("matchups", index, "id"), f"matchup id {id!r} is used twice", "unique ids"
            )
        try:
            self.matchups[id] = Matchup(
                id, definition, values, values["players"], self._game, values["seed"]
            )
        except _ElsewhereError as elsewhere:
            raise elsewhere.error from None
        except SettingError as error:
            name = error.path[0] if error.path else None
            # what the matchup did not give itself came from the top level
            if name in _TOP_LEVEL and name not in definition.given:
                raise
            raise error.under("matchups", index) from None

    def prepare(self) -> None:
        for matchup in self.matchups.values():
            matchup.book.load()

    def warnings(self) -> list[str]:
        bare = [m.id for m in self.matchups.values() if self._game == "chess" and not m.book]
        if not bare:
            return []
        which = "" if len(bare) == len(self.matchups) else f"matchups {', '.join(bare)}: "
        return [
            f"{which}without openings, engines that play alike every time will play the same "
            "game again and again"
        ]

    def check_jobs(self) -> list[CheckJob]:
        jobs: dict[str, CheckJob] = {}
        for matchup in self.matchups.values():
            if matchup.number_of_games == 0:
                continue
            for player in matchup.players:
                jobs.setdefault(
                    player.code, CheckJob(f"check-{player.code}", player, matchup.settings)
                )
        return list(jobs.values())

    def next_job(self) -> GameJob | None:
        open_matchups = [
            m
            for m in self.matchups.values()
            if m.number_of_games is None or self.tallies[m.id].next < m.number_of_games
        ]
        if not open_matchups:
            return None
        # the one with the fewest games first (Gomill); ties in the order written
        matchup = min(open_matchups, key=lambda m: self.tallies[m.id].next)
        tally = self.tallies[matchup.id]
        number = tally.next
        tally.next += 1
        black = number % 2 if matchup.alternating else 0
        # the pair too: `alternating` may be another when the result comes
        pair = matchup.pair(number)
        ticket: Ticket = {"m": matchup.id, "i": number, "b": black, "p": pair}
        return self.make_job(matchup.game_id(number), 0, ticket)

    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> GameJob:
        matchup = self.matchups[ticket["m"]]
        first, second = matchup.players
        return self._game_job(
            game_id,
            attempt,
            (first, second) if ticket["b"] == 0 else (second, first),
            matchup.settings,
            ticket,
            matchup.book.pick(matchup.opening_number(ticket["i"])),
        )

    def describe(self, ticket: Ticket) -> Played:
        first, second = self.tallies[ticket["m"]].players
        return Played(
            players=(first, second) if ticket["b"] == 0 else (second, first),
            matchup=ticket["m"],
            opening=ticket.get("o", ""),
            pair=ticket.get("p"),
        )

    def matchup_infos(self) -> list[MatchupInfo]:
        infos = []
        for id, tally in self.tallies.items():
            matchup = self.matchups.get(id)
            if matchup is None:
                infos.append(MatchupInfo(id, tally.players, " v ".join(tally.players)))
                continue
            infos.append(
                MatchupInfo(
                    id,
                    tally.players,
                    matchup.name,
                    matchup.settings,
                    matchup.alternating,
                    matchup.number_of_games,
                )
            )
        return infos

    def resume(self, ticket: Ticket) -> bool:
        matchup = self.matchups.get(ticket["m"])
        if matchup is None:
            return False
        tally = self.tallies[matchup.id]
        tally.next = max(tally.next, ticket["i"] + 1)
        return matchup.number_of_games is None or ticket["i"] < matchup.number_of_games

    def take(self, ticket: Ticket, result: GameResult) -> Verdict:
        id = ticket["m"]
        tally = self.tallies.get(id)
        if tally is None:
            return Verdict(
                f"game {result.game_id}: its matchup is not in the control file any more"
            )
        tally.next = max(tally.next, ticket["i"] + 1)
        first = tally.completed == 0
        tally.take(result, ticket["b"], ticket.get("p"))
        codes = tally.players if ticket["b"] == 0 else (tally.players[1], tally.players[0])
        void = result.outcome == "void"
        tally.void_in_a_row = tally.void_in_a_row + 1 if void else 0
        halt = void_rule(tally.void_in_a_row, first=first, what=f"matchup {id}")
        return Verdict(result_line(result, codes), replay=void, halt=halt)

    def finished(self) -> bool:
        return all(
            m.number_of_games is not None and self.tallies[m.id].completed >= m.number_of_games
            for m in self.matchups.values()
        )

    def state(self) -> dict[str, Any]:
        return {"matchups": msgspec.to_builtins(self.tallies)}

    def restore(self, state: Mapping[str, Any]) -> None:
        for id, raw in state["matchups"].items():
            tally = msgspec.convert(raw, Tally)
            matchup = self.matchups.get(id)
            if matchup is not None and matchup.codes != tally.players:
                raise StoreError(
                    f"matchup {id} was played between {' and '.join(tally.players)}, the control "
                    f"file has {' and '.join(matchup.codes)} now; put it back, give the new "
                    "matchup another id, or use reset"
                )
            self.tallies[id] = tally

    def progress(self) -> Progress:
        limits = [m.number_of_games for m in self.matchups.values()]
        total = None if None in limits else sum(n for n in limits if n is not None)
        return Progress(sum(self.tallies[id].completed for id in self.matchups), total)

    def live_report(self) -> Report:
        blocks: list[Table | Text] = []
        for id, tally in self.tallies.items():
            matchup = self.matchups.get(id)
            if matchup is None and not tally.completed:
                continue
            if matchup is not None and matchup.number_of_games == 0 and not tally.completed:
                continue
            blocks.append(self._table(id, tally, matchup))
        return Report(tuple(blocks))

    def report(self) -> Report:
        names = {
            code: name
            for tally in self.tallies.values()
            for code, name in zip(tally.players, tally.names, strict=True)
            if name
        }
        lines = tuple(f"player {code}: {name}" for code, name in names.items())
        blocks = self.live_report().blocks
        return Report((*blocks, Text(lines)) if lines else blocks)

    def _table(self, id: str, tally: Tally, matchup: Matchup | None) -> Table:
        completed = tally.completed
        limit = (
            "" if matchup is None or matchup.number_of_games is None else matchup.number_of_games
        )
        name = matchup.name if matchup is not None else " v ".join(tally.players)
        title = f"{name} ({completed}{f'/{limit}' if limit != '' else ''} games)"
        if matchup is None:
            title += " [not in the control file any more]"
        elif matchup.settings.game == "go":
            s = matchup.settings
            title += f"\nboard size: {s.board_size}   komi: {s.komi:g}"
            if s.handicap:
                title += f"   handicap: {s.handicap} ({s.handicap_style})"
        colours = ("black", "white") if self._game != "chess" else ("white", "black")
        rows: list[tuple[Cell, ...]] = []
        played = [sum(tally.by_colour[c]) for c in (0, 1)]
        alternated = all(played)
        for player in (0, 1):
            points = [
                tally.by_colour[c][player] + (tally.by_colour[c][2] + tally.by_colour[c][3]) / 2
                for c in (0, 1)
            ]
            timed = tally.timed[player]
            cpu = f"{tally.cpu[player] / timed:.2f}" if timed else ""
            row: list[Cell] = [tally.players[player], *_score(sum(points), completed)]
            if alternated:
                # a player moved first in the colouring that bears its number
                row += [*_score(points[player], played[player])]
                row += [*_score(points[1 - player], played[1 - player])]
            else:
                moved_first = (player == 0) == (played[1] == 0)
                row.append(f"({colours[0 if moved_first else 1]})")
            rows.append((*row, cpu))
        headers = ["", "wins" if self._game == "go" else "points", ""]
        headers += [colours[0], "", colours[1], ""] if alternated else [""]
        return Table(
            headers=(*headers, "avg cpu s"),
            rows=tuple(rows),
            title=title,
            notes=tuple(self._notes(tally, matchup)),
            align=("left", *([RIGHT] * len(headers))),
        )

    def _notes(self, tally: Tally, matchup: Matchup | None) -> list[str]:
        notes = []
        first, second = tally.players
        if self._game != "go" and tally.completed:
            wins, losses, draws = (tally.total(i) for i in range(3))
            notes.append(f"{first}: {wins} wins, {draws} draws, {losses} losses")
        elif draws := tally.total(2):
            notes.append(f"jigos: {draws}")
        if unknown := tally.total(3):
            notes.append(f"unknown results: {unknown}")
        for code, count in zip(tally.players, tally.forfeits, strict=True):
            if count:
                notes.append(f"{code} forfeited: {count}")
        if tally.void:
            notes.append(f"void games (not counted): {tally.void}")
        # with a handicap, or Black always for one side, Elo would say nothing
        # of the players
        even = matchup is None or (matchup.alternating and matchup.settings.handicap is None)
        if tally.completed and even:
            estimate = tally.estimate()
            notes.append(f"{first} over {second}: {estimate}")
        return notes

    def summary(self) -> dict[str, Any]:
        return {
            "matchups": [
                {
                    "id": id,
                    "players": list(tally.players),
                    "wins": [tally.total(0), tally.total(1)],
                    "draws": tally.total(2),
                    "unknown": tally.total(3),
                    "forfeits": list(tally.forfeits),
                }
                for id, tally in self.tallies.items()
            ]
        }


def _score(points: float, games: int) -> tuple[str, str]:
    share = f"{points / games:.2%}" if games else ""
    return f"{points:g}", share
