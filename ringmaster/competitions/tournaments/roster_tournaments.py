"""Tournaments of listed competitors: allplayall and gauntlet."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

from ringmaster.competitions.common_settings import COMMON_SETTINGS, noting
from ringmaster.competitions.game_settings import GAME_SETTINGS, make_game_settings
from ringmaster.competitions.matchup_sprt import SPRT_SETTING
from ringmaster.competitions.result_lines import finite
from ringmaster.competitions.setting_types import ending_setting, is_endless, limit_of
from ringmaster.competitions.tally import Tally, added_up
from ringmaster.competitions.tournaments.matchup import Matchup
from ringmaster.competitions.tournaments.matchup_report import describe_settings
from ringmaster.competitions.tournaments.scheduling import WITHDRAWN_SETTING, strangers
from ringmaster.competitions.tournaments.standings import ANCHOR_SETTING, Standings, letters, ranked
from ringmaster.competitions.tournaments.tournament import Tournament
from ringmaster.competitions.verdicts import MatchResult, leader_verdict, terms_in_turn
from ringmaster.errors import SettingError, SettingErrors
from ringmaster.model.jobs import GameSettings
from ringmaster.model.report import LEFT, RIGHT, Cell, Report, Table
from ringmaster.model.settings import CallOf, Identifier, Integer, ListOf, Setting


class _Competitor(CallOf):
    def describe(self) -> str:
        return "a player code"


#: A player code; Gomill's control files may write Competitor("code") as well.
COMPETITOR = _Competitor(
    "Competitor",
    (Setting("player", Identifier(), "Code of the player."),),
    lambda values, context: values["player"],
    positional=("player",),
    shorthand=True,
)


def roster(name: str, text: str, *, minimum: int = 1, added: str = "") -> Setting:
    """Return the setting of a list of competitors.

    text   description of the competitors, for the reference
    added  phrase about added competitors, such as ", and join in the next round"
    """
    return Setting(
        name,
        ListOf(COMPETITOR, minimum=minimum),
        f"{text}; more can be added between runs{added}.  Removed players stop playing, as if "
        "they were ``withdrawn``.",
    )


ROUNDS_SETTING = ending_setting(
    "rounds", Integer(minimum=0), "Games to play for each pairing unless an ``sprt`` ends them"
)


def roster_settings(*own: Setting) -> tuple[Setting, ...]:
    """Return the settings of a type with its own ones."""
    return (*COMMON_SETTINGS, *GAME_SETTINGS, *own, WITHDRAWN_SETTING, ANCHOR_SETTING)


class RosterTournament(Tournament):
    """A tournament with `rosters`, and with the same settings for all games."""

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        """Raises SettingErrors, also for a competitor that is listed twice."""
        super().__init__(code, values)
        errors: list[SettingError] = []
        codes: list[str] = []
        for name in self.rosters:
            for i, competitor in enumerate(values[name]):
                with noting(errors):
                    if competitor in codes:
                        raise SettingError(
                            (name, i),
                            f"competitor {competitor!r} is listed twice",
                            "each player once",
                        )
                    codes.append(competitor)
                    self._player(competitor, (name, i))
        with noting(errors):
            self._limit = limit_of(values, "rounds")
        errors += strangers(values, codes, codes)
        if errors:
            raise SettingErrors(errors)
        self._pair_all()

    @property
    def competitors(self) -> tuple[str, ...]:
        """All competitors of all runs; a player may have been on several lists."""
        return tuple(dict.fromkeys(code for codes in self._entered.values() for code in codes))

    @cached_property
    def _even_settings(self) -> GameSettings:
        return make_game_settings(self._game, self.values)

    def _games(self) -> tuple[GameSettings]:
        return (self._even_settings,)

    def _add_even(self, id: str, first: str, second: str, games: int | None) -> None:
        """Add a matchup of two competitors, unless one has left the control file."""
        if first != second and {first, second} <= self.values["players"].keys():
            if is_endless(self.values, "rounds"):
                self._endless.add(id)
            matchup = Matchup(
                id=id,
                players=(self._player(first, self.rosters), self._player(second, self.rosters)),
                settings=self._even_settings,
                book=self._book(self.values["openings"], self._even_settings),
                tally=Tally((first, second)),
                limit=games,
                alternating=True,
                test=self.values.get("sprt"),
            )
            self._add(matchup)

    def _leader_verdict(self, ranking: Sequence[tuple[int, str]]) -> str:
        """Return the verdict on a ranking of places and players."""
        standings, progress = self._standings, self._progress()
        leaders = [code for place, code in ranking if place == 1]
        second = ranking[1][1]
        terms = terms_in_turn(self._even_settings)
        verdict = leader_verdict(
            leaders,
            second,
            standings.lead(leaders[0], second),
            games=progress.completed,
            total=progress.total,
            finished=self.finished(),
            rivals=max(1, len(standings.codes) - 1),
            prior=standings.has_prior,
        )
        return verdict + (terms and f" {terms}")

    def _notes(self) -> tuple[str, ...]:
        settings = describe_settings(self._even_settings, in_turn=True)
        return (*filter(None, [settings]), *super()._notes())

    @cached_property
    def _standings(self) -> Standings:
        challengers = self._entered.get("challengers", ())
        return Standings(
            self.competitors, self.tallies.values(), self.values["anchor"], challengers
        )

    @abstractmethod
    def _grid(self) -> Table:
        """Return the table of the tournament, with notes."""

    def _live_report(self) -> Report:
        return Report((self._grid(), *self._live_tables()))

    def _full_report(self) -> Report:
        ratings, matchups = self._standings.rating_tables(), self._tables()
        return Report((self._grid(), *ratings, *matchups))


class AllPlayAll(RosterTournament):
    """allplayall: every competitor meets every other.

    The first of two moves first in games with even numbers.  A matchup's id has their
    letters: AvB, AvC, BvC.
    """

    type_name: ClassVar[str] = "allplayall"
    rosters = ("competitors",)
    table: ClassVar[tuple[Setting, ...]] = roster_settings(
        roster("competitors", "Codes of the players that take part", minimum=2),
        ROUNDS_SETTING,
        SPRT_SETTING,
    )

    def _pair_all(self) -> None:
        for (i, first), (j, second) in combinations(enumerate(self.competitors), 2):
            self._add_even(f"{letters(i)}v{letters(j)}", first, second, self._limit)

    def _verdict(self) -> str:
        if len(self.matchups) == 1:
            return super()._verdict()
        ranking = self._standings.ranking()
        return self._leader_verdict([(rank, self.competitors[i]) for rank, i in ranking])

    def _grid(self) -> Table:
        return self._standings.grid(self._notes())


#: Name of all opponents together, in a challenger's results.
FIELD = "the field"


class Gauntlet(RosterTournament):
    """gauntlet: each challenger meets each opponent.

    The challenger moves first in games with even numbers.  A matchup's id has the
    challenger's letters and the opponent's number: Av1, Av2, Bv1.
    """

    type_name: ClassVar[str] = "gauntlet"
    rosters = ("challengers", "opponents")
    table: ClassVar[tuple[Setting, ...]] = roster_settings(
        roster("challengers", "Codes of the players under test"),
        roster("opponents", "Codes of the opponents of each challenger"),
        ROUNDS_SETTING,
        SPRT_SETTING,
    )

    @property
    def challengers(self) -> tuple[str, ...]:
        return self._entered["challengers"]

    @property
    def opponents(self) -> tuple[str, ...]:
        return self._entered["opponents"]

    def _pair_all(self) -> None:
        for i, challenger in enumerate(self.challengers):
            for j, opponent in enumerate(self.opponents, 1):
                id = f"{letters(i)}v{j}"
                self._add_even(id, challenger, opponent, self._limit)
                if id in self.matchups and (
                    challenger not in self.values["challengers"]
                    or opponent not in self.values["opponents"]
                ):
                    self.matchups[id].closed = True

    def _against(self, i: int, j: int) -> Tally:
        codes = self.challengers[i], self.opponents[j]
        # players of different runs have not met
        tally = self.tallies.get(f"{letters(i)}v{j + 1}", Tally(codes))
        return tally if tally.players[0] == codes[0] else tally.turned()

    def _total(self, i: int) -> Tally:
        tallies = [self._against(i, j) for j in range(len(self.opponents))]
        return added_up((self.challengers[i], FIELD), tallies)

    def _grid(self) -> Table:
        """Return a table with a row for each opponent and a column for each challenger.

        Cells have the challenger's points as "won-lost".  The last row is of the field.
        """
        columns = [i for _, i in self._ranked_challengers()]
        wide = len(str(len(self.opponents)))
        rows: list[tuple[Cell, ...]] = []
        for rank, j in self._ranked_opponents():
            cells = [_score(self._against(i, j)) for i in columns]
            rows.append((rank, f"{j + 1:<{wide}} {self.opponents[j]}", *cells))
        totals = [self._total(i) for i in columns]
        rows.append(("", FIELD, *map(_score, totals)))
        if any(total.known for total in totals):
            shares = [f"{t.points(0) / t.known:.1%}" if t.known else "" for t in totals]
            rows.append(("", "", *shares))
        estimates = [f"{t.players[0]} over {FIELD}: {t.estimate()}" for t in totals if t.known]
        return Table(
            headers=("rank", "", *(f"{letters(i)} {self.challengers[i]}" for i in columns)),
            rows=tuple(rows),
            align=(RIGHT, LEFT, *[RIGHT] * len(columns)),
            notes=(*estimates, *self._notes()),
        )

    def _ranked_challengers(self) -> list[tuple[int, int]]:
        """Return each challenger's rank and number, by its score against the field."""
        totals = [self._total(i) for i in range(len(self.challengers))]
        return ranked([(total.points(0), total.known) for total in totals])

    def _ranked_opponents(self) -> list[tuple[int, int]]:
        """Return each opponent's rank and number, by its score against the challengers."""
        scores = []
        for j in range(len(self.opponents)):
            tallies = [self._against(i, j) for i in range(len(self.challengers))]
            scores.append((sum(t.points(1) for t in tallies), sum(t.known for t in tallies)))
        return ranked(scores)

    def _verdict(self) -> str:
        if len(self.matchups) == 1:
            return super()._verdict()
        ranking = self._ranked_challengers()
        played = [i for _, i in ranking if self._total(i).known]
        if len(ranking) > 1 and len(played) != 1:
            return self._leader_verdict([(rank, self.challengers[i]) for rank, i in ranking])
        # a challenger alone leads nobody
        limit = self._progress().total if len(ranking) == 1 else None
        tally = self._total(played[0] if played else 0)
        counts = tally.points(0), tally.known, tally.completed
        terms = terms_in_turn(self._even_settings)
        result = MatchResult(
            tally.players, tally.estimate(), *counts, limit, self.finished(), terms=terms
        )
        return result.sentence(alone=False)

    def _json_data(self) -> dict[str, Any]:
        challengers = []
        for i, code in enumerate(self.challengers):
            total = self._total(i)
            estimate = total.estimate()
            challengers.append(
                {
                    "code": code,
                    "letters": letters(i),
                    "points": total.points(0),
                    "games": total.known,
                    "elo": finite(estimate.elo),
                    "low": finite(estimate.low),
                    "high": finite(estimate.high),
                    "los": estimate.los,
                }
            )
        return {
            **super()._json_data(),
            "challengers": challengers,
            "opponents": list(self.opponents),
        }


def _score(tally: Tally) -> str:
    return f"{tally.points(0):g}-{tally.points(1):g}"
