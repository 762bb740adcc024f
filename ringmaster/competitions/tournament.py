"""What the tournaments share: matchups, each a series of games between two
players under one set of game settings, their scheduling, results and reports.
Which matchups there are is the business of each type."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.common import result_line
from ringmaster.competitions.competition import Competition, MatchupInfo, Played, Verdict
from ringmaster.competitions.competitors import Field
from ringmaster.competitions.holds import Holds, remedy
from ringmaster.competitions.matchup import Matchup, base_code
from ringmaster.competitions.matchup_charts import MatchupCourses, rating_charts
from ringmaster.competitions.matchup_report import describe_settings, matchup_data, matchup_table
from ringmaster.competitions.opening_numbers import OpeningNumbers, unit_of
from ringmaster.competitions.opening_settings import SAME_GAMES, OpeningBook, OpeningsSettings
from ringmaster.competitions.players import find_player
from ringmaster.competitions.sequential import SprtReport, sequential_warnings
from ringmaster.competitions.series import Series
from ringmaster.competitions.standings import Standings
from ringmaster.competitions.tally import Tally
from ringmaster.competitions.turns import Turns
from ringmaster.competitions.voids import VoidKinds, added, void_line
from ringmaster.errors import SettingError, StateRefused
from ringmaster.model.charts import ChartGroup
from ringmaster.model.jobs import CheckJob, GameJob, GameSettings, Ticket
from ringmaster.model.players import SECOND_SELF, GameName, Player
from ringmaster.model.report import LEFT, RIGHT, Cell, Progress, Report, Table, Text
from ringmaster.model.results import GameResult
from ringmaster.model.settings import SettingPath
from ringmaster.stats.sprt import Sprt


class Tournament(Competition):
    """Matchups played in turn, each to its own number of games.

    `matchups` has those of the control file by id; `tallies` has one for each
    of them, and one for each that was there in an earlier run.
    """

    #: The settings that list competitors, where a type makes its own matchups.
    rosters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._game: GameName = values["game"]
        self.matchups: dict[str, Matchup] = {}
        self.tallies: dict[str, Tally] = {}
        #: Numbers of the games given out that have not come back, by matchup.
        self._open: defaultdict[str, set[int]] = defaultdict(set)
        self._players: dict[str, Player] = {}
        self._books: dict[tuple[OpeningsSettings | None, str], OpeningBook] = {}
        self._numbers = OpeningNumbers()
        self._holds = Holds()
        self._field = Field({name: values[name] for name in self.rosters}, values["withdrawn"])
        #: Whose turn it is; None until a game is given out, and when there are new
        #: matchups or another state.
        self._turns: Turns[Matchup] | None = None

    # what a type builds its matchups with

    def _player(self, code: str, path: SettingPath, *, second_self: bool = False) -> Player:
        """Return a player of the control file; `path` is where it is named.
        Raises SettingError."""
        if code not in self._players:
            definition = find_player(self.values["players"], code, path)
            try:
                self._players[code] = definition.make(code, self._game)
            except SettingError as error:
                raise error.under("players", code) from None
        player = self._players[code]
        return msgspec.structs.replace(player, code=code + SECOND_SELF) if second_self else player

    def _book(self, openings: OpeningsSettings | None, variant: str) -> OpeningBook:
        """Return the book of some openings; the same ones share a book."""
        book = OpeningBook(openings, self._game, self.values["seed"], variant)
        return self._books.setdefault((openings, variant), book)

    def _add(
        self,
        id: str,
        name: str | None,
        players: tuple[Player, Player],
        settings: GameSettings,
        openings: OpeningsSettings | None,
        *,
        alternating: bool,
        number_of_games: int | None,
        sprt: Sprt | None = None,
    ) -> None:
        """Add a matchup."""
        matchup = Matchup(
            id,
            name,
            players,
            settings,
            self._book(openings, settings.variant),
            alternating=alternating,
            number_of_games=number_of_games,
            sprt=sprt,
        )
        matchup.closed = self._gone(matchup)
        self.matchups[id] = matchup
        self.tallies[id] = Tally(matchup.codes)
        self.tallies[id].trial = self._series(matchup).fresh_trial()

    # the contract of a competition

    def prepare(self) -> None:
        for book in self._books.values():
            book.load()
        for matchup in self.matchups.values():
            if matchup.sprt is not None:
                # brings in what it computes with, while no clock is running yet
                matchup.sprt.llr([1, 1, 1])

    def warnings(self) -> list[str]:
        said: dict[str, list[str]] = {}
        for id, matchup in self.matchups.items():
            if matchup.book.missed:
                said.setdefault(SAME_GAMES, []).append(id)
            line = matchup.expected_repeats()
            if line:
                said.setdefault(line, []).append(id)
        return self._for_matchups(said) + self._test_warnings()

    def _for_matchups(self, said: Mapping[str, Sequence[str]]) -> list[str]:
        """Return lines with the matchups that each is about, unless it is about all."""
        return [
            line if len(ids) == len(self.matchups) else f"matchups {', '.join(ids)}: {line}"
            for line, ids in said.items()
        ]

    def _test_warnings(self) -> list[str]:
        """Return what is noteworthy of tests; each line stands for all matchups of
        which the same is to be said."""
        said: dict[str, list[str]] = {}
        for id, matchup in self.matchups.items():
            trial = self._series(matchup).trial()
            if trial is None or matchup.number_of_games == 0:
                continue
            for line in sequential_warnings(matchup.number_of_games, matchup.alternating, trial):
                said.setdefault(line, []).append(id)
            before = self.tallies[id].trial
            if before is not None and not before.same(trial):
                was, now = (
                    "undecided" if t.decision is None else f"{t.decision.accepted} accepted"
                    for t in (before, trial)
                )
                line = f"the SPRT has been changed: it was {was}, by the results so far it is {now}"
                said.setdefault(line, []).append(id)
        return self._for_matchups(said)

    def check_jobs(self) -> list[CheckJob]:
        jobs: dict[str, CheckJob] = {}
        for matchup in self.matchups.values():
            if matchup.number_of_games == 0 or matchup.closed:
                continue
            for player in matchup.players:
                if player.code.endswith(SECOND_SELF):
                    continue  # the same engine as its first self, in the same matchup
                jobs.setdefault(
                    player.code, CheckJob(f"check-{player.code}", player, matchup.settings)
                )
        return list(jobs.values())

    def contestants(self) -> list[Player]:
        return list(self._players.values())

    def contestant_of(self, code: str) -> str:
        return base_code(code)

    def openings(self) -> dict[str, dict[str, Any]]:
        if len(self._books) == 1:
            (book,) = self._books.values()
            return {"": book.describe()}
        by_book: dict[OpeningBook, list[str]] = {}
        for matchup in self.matchups.values():
            by_book.setdefault(matchup.book, []).append(matchup.id)
        return {f"matchups {', '.join(ids)}": book.describe() for book, ids in by_book.items()}

    def may_run_ahead(self, parallel: int) -> bool:
        """See `Competition.may_run_ahead`: results end a test.  One game at a time is one
        at a time."""
        return parallel > 1 or all(matchup.sprt is None for matchup in self.matchups.values())

    def next_job(self) -> GameJob | None:
        if self._turns is None:
            self._turns = self._begin_turns()
        matchup = self._turns.first()
        if matchup is None:
            return None
        tally = self.tallies[matchup.id]
        number = tally.next
        tally.next += 1
        # by the tally's order, so that a pair has both colours also when its
        # players have changed places in the control file
        black = number % 2 if matchup.alternating else tally.players.index(matchup.codes[0])
        # the pair too: `alternating` may be another when the result comes
        ticket: Ticket = {
            "m": matchup.id,
            "i": number,
            "b": black,
            "p": matchup.pair(number),
        }
        self._draw_opening(matchup, ticket)
        self._open[matchup.id].add(number)
        return self.make_job(matchup.game_id(number), 0, ticket)

    def _begin_turns(self) -> Turns[Matchup]:
        for matchup in self.matchups.values():
            # here and not when a state is restored: the results that come after it
            # were judged by an earlier test, or have not been judged at all
            self.tallies[matchup.id].trial = self._series(matchup).trial()
        return Turns(self.matchups.values(), lambda m: self.tallies[m.id].next, self._wants_more)

    def _draw_opening(self, matchup: Matchup, ticket: Ticket) -> None:
        """Let a game's ticket say which opening it has, unless that is the one of
        its pair's number."""
        number = self._numbers.of_its_pair(ticket)
        # the second game of a pair has the first one's, whatever the policy is now
        begins = ticket["p"] is None or ticket["i"] % 2 == 0
        if number is None and begins and matchup.book.by_encounter:
            number = self._numbers.next(
                (id, self._openings_by_round(id, ticket))
                for id in self.tallies
                # of matchups that are gone, nobody knows which book they had
                if id not in self.matchups or self.matchups[id].book is matchup.book
            )
        if number is not None:
            ticket["n"] = number
            self._numbers.know(ticket)

    def _openings_by_round(self, id: str, ticket: Ticket) -> int:
        """Return how many openings a matchup has had before a game, if it has been
        played by rounds."""
        matchup = self.matchups.get(id)
        games: int = self.tallies[id].next - (id == ticket["m"])
        return games if matchup is not None and not matchup.alternating else (games + 1) // 2

    def _series(self, matchup: Matchup) -> Series:
        """Return a matchup's games as the control file wants them now."""
        return Series(
            self.tallies[matchup.id],
            matchup.codes,
            matchup.number_of_games,
            matchup.alternating,
            matchup.sprt,
            self._open.get(matchup.id, ()),
            matchup.closed,
        )

    def _wants_more(self, matchup: Matchup) -> bool:
        """Whether a new game of a matchup is to be given out."""
        return matchup.id not in self._holds and self._series(matchup).wants_more()

    def wants(self, ticket: Ticket) -> bool:
        return ticket["m"] not in self._holds

    def blocked(self) -> list[str]:
        waiting = {
            id: (self.tallies[id].completed, self._series(matchup).total())
            for id, matchup in self.matchups.items()
            if id in self._holds and not self._complete(matchup)
        }
        return self._holds.lines(waiting, self.values["withdrawn"], may_lose=self._may_lose)

    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> GameJob:
        matchup = self.matchups[ticket["m"]]
        by_code = {player.code: player for player in matchup.players}
        first, second = self._codes(ticket)
        return self._game_job(
            game_id,
            attempt,
            (by_code[first], by_code[second]),
            matchup.settings,
            ticket,
            matchup.book.pick(ticket["n"] if "n" in ticket else self._opening_number(ticket)),
            round=unit_of(ticket) + 1,
            event=f"{self.code} ({matchup.given_name})" if matchup.given_name else "",
            series=matchup.id,
        )

    def _opening_number(self, ticket: Ticket) -> int:
        """Return the place of a game's opening in its book: by the pair it counts
        for, whatever the colours do now."""
        return unit_of(ticket)

    def describe(self, ticket: Ticket) -> Played:
        return Played(
            self._codes(ticket),
            matchup=ticket["m"],
            opening=ticket.get("o", ""),
            pair=ticket.get("p"),
        )

    def matchup_infos(self) -> list[MatchupInfo]:
        return [
            MatchupInfo(id, tally.players, self._name(id))
            if (matchup := self.matchups.get(id)) is None
            else MatchupInfo(
                id,
                tally.players,
                matchup.name,
                matchup.settings,
                matchup.alternating,
                matchup.number_of_games,
                self._sprt_report(matchup),
            )
            for id, tally in self.tallies.items()
        ]

    def _sprt_report(self, matchup: Matchup) -> SprtReport | None:
        return self._series(matchup).report()

    def _complete(self, matchup: Matchup) -> bool:
        """Whether every game of a matchup has been played."""
        return self._series(matchup).complete()

    def _codes(self, ticket: Ticket) -> tuple[str, str]:
        """Return the players of a game, the one who moves first comes first."""
        first, second = self.tallies[ticket["m"]].players
        return (first, second) if ticket["b"] == 0 else (second, first)

    def resume(self, ticket: Ticket) -> bool:
        matchup = self.matchups.get(ticket["m"])
        if matchup is None:
            return False
        tally = self.tallies[matchup.id]
        tally.next = max(tally.next, ticket["i"] + 1)
        self._numbers.know(ticket)
        self._open[matchup.id].add(ticket["i"])
        return self._series(matchup).wants(ticket["i"])

    def adopt(self, outstanding: Sequence[Ticket]) -> list[str]:
        # engines may have been repaired since the last run
        self._holds.release()
        self._turns = None
        return []

    def take(self, ticket: Ticket, result: GameResult) -> Verdict:
        id = ticket["m"]
        tally = self.tallies[id]
        tally.next = max(tally.next, ticket["i"] + 1)
        self._numbers.know(ticket)
        void = result.outcome == "void"
        tally.take(result, ticket["b"], ticket.get("p"))
        codes = self._codes(ticket)
        opponents = {id: m.codes for id, m in self.matchups.items()} if void else {}
        warning = self._holds.take(id, codes, result, tally, opponents)
        if not void:
            self._close(id, ticket["i"])
        matchup = self.matchups.get(id)
        notes: tuple[str, ...] = ()
        if matchup is not None and self._series(matchup).trial() is tally.trial and tally.judge():
            report = self._sprt_report(matchup)
            assert report is not None
            notes = tuple(f"matchup {id}: {line}" for line in report.lines())
        # a decision is kept: later settings must not make it anew on the way to
        # the results that followed it
        return Verdict(
            result_line(result, codes),
            replay=void,
            notes=notes,
            save=bool(notes),
            warning=warning,
        )

    def _close(self, id: str, number: int) -> None:
        """A game has come back."""
        numbers = self._open.get(id)
        if numbers is not None:
            numbers.discard(number)
            if not numbers:
                del self._open[id]

    def finished(self) -> bool:
        if self._turns is None or self._holds:
            return all(map(self._complete, self.matchups.values()))
        return self._turns.first() is None and all(
            self._complete(self.matchups[id]) for id in self._open
        )

    def state(self) -> dict[str, Any]:
        state = {
            "matchups": msgspec.to_builtins(self.tallies),
            **{name: list(codes) for name, codes in self._field.entered.items()},
        }
        if self._holds.in_a_row:
            state["void_in_a_row"] = dict(self._holds.in_a_row)
        numbers = self._numbers.state()
        return {**state, "openings": numbers} if numbers else state

    def _gone(self, matchup: Matchup) -> bool:
        """Return whether one of a matchup's players is withdrawn."""
        return any(base_code(code) in self._field.withdrawn for code in matchup.codes)

    def _pair_all(self) -> None:
        """Add the matchups of all that take part, where a type makes them at once."""

    def restore(self, state: Mapping[str, Any]) -> None:
        if self._field.resume(state):
            self.matchups.clear()
            self.tallies.clear()
            self._pair_all()
        self._numbers = OpeningNumbers(state.get("openings"))
        self._holds = Holds(state.get("void_in_a_row"))
        self._open.clear()
        self._turns = None
        for id, raw in state["matchups"].items():
            tally = msgspec.convert(raw, Tally)
            matchup = self.matchups.get(id)
            # players that have changed places are the same players
            if matchup is not None and set(matchup.codes) != set(tally.players):
                raise StateRefused(
                    f"matchup {id} was played between {' and '.join(tally.players)}, the control "
                    f"file has {' and '.join(matchup.codes)} now; put it back, give the new "
                    "matchup another id, or use reset",
                    self._place_of_matchup(id),
                )
            self.tallies[id] = tally

    def _place_of_matchup(self, id: str) -> SettingPath:
        """Return the setting that a matchup comes of."""
        return ("matchups", list(self.matchups).index(id)) if not self.rosters else self.rosters[:1]

    def progress(self) -> Progress:
        """Return how far the tournament is.  Games above a limit that has been
        lowered, and games of deleted matchups, count as played and as wanted."""
        total: int | None = 0
        for id, tally in self.tallies.items():
            matchup = self.matchups.get(id)
            count = tally.completed if matchup is None else self._series(matchup).total()
            total = None if total is None or count is None else total + count
        return Progress(sum(tally.completed for tally in self.tallies.values()), total)

    # reports

    def _tables(self, *, unplayed: bool = True) -> Iterator[Table]:
        """Yield the results of each matchup of the control file; one without any
        is left out when it is switched off, or unless `unplayed`."""
        for id, matchup in self.matchups.items():
            tally = self.tallies[id]
            wanted = unplayed and matchup.number_of_games != 0
            if tally.completed or tally.void or wanted:
                yield matchup_table(
                    tally if tally.players == matchup.codes else tally.turned(),
                    self._game,
                    name=self._heading(matchup),
                    limit=matchup.number_of_games,
                    details=describe_settings(matchup.settings),
                    even=matchup.even,
                    sprt=self._sprt_report(matchup),
                )

    def _test_tables(self) -> Iterator[Table]:
        """Yield where the matchups' tests stand, a row for each: for a display that
        has no table for each matchup."""
        rows: list[tuple[Cell, ...]] = []
        for matchup in self.matchups.values():
            report = self._sprt_report(matchup)
            if report is not None:
                status = "; ".join(filter(None, (report.status, *report.doubts)))
                rows.append((self._heading(matchup), f"{report.llr:.2f}", status))
        if rows:
            yield Table(("SPRT", "LLR", ""), tuple(rows), align=(LEFT, RIGHT, LEFT))

    def _heading(self, matchup: Matchup) -> str:
        """Return a matchup's name, with its id where others have the same name."""
        same = [m for m in self.matchups.values() if m.name == matchup.name]
        return matchup.name if len(same) == 1 else f"{matchup.name} [{matchup.id}]"

    def _deleted_tables(self) -> Iterator[Table]:
        """Yield the results of matchups that are not in the control file any more."""
        for id, tally in self.tallies.items():
            if id not in self.matchups and tally.completed:
                yield matchup_table(
                    tally,
                    self._game,
                    name=" v ".join(tally.players),
                    details=f"settings: missing (matchup {id} is not in the control file any more)",
                    even=bool(sum(tally.pairs.counts)),
                )

    def live_report(self) -> Report:
        return Report(tuple(self._tables()))

    def report(self) -> Report:
        notes = self._notes()
        return Report(
            (
                *self._tables(),
                *self._deleted_tables(),
                *([Text(notes)] if notes else []),
            )
        )

    def void_kinds(self) -> VoidKinds:
        return added([tally.void_kinds for tally in self.tallies.values()])

    def _notes(self) -> tuple[str, ...]:
        """Return what qualifies the standings: withdrawals, void games, games that wait."""
        lines = []
        if self._field.withdrawn:
            lines.append(f"withdrawn: {', '.join(self._field.withdrawn)}")
        void = sum(tally.void for tally in self.tallies.values())
        if void:
            lines.append(void_line(self.void_kinds(), void))
        for code, count in self._stopped().items():
            choices = remedy([code], self.values["withdrawn"], may_lose=self._may_lose)
            lines.append(f"player {code}: {count} void games in a row; {choices}")
        return tuple(lines)

    @property
    def _may_lose(self) -> bool:
        """Return whether failures could lose games which are void now."""
        return any(matchup.settings.failures == "void" for matchup in self.matchups.values())

    def _stopped(self) -> dict[str, int]:
        """Return the players whose games wait, with their void games in a row."""
        found = self._holds.stopped()
        return {code: n for code, n in found.items() if code not in self._field.withdrawn}

    def _standings(self) -> Standings | None:
        """Return how all players stand against each other, where that says something."""
        return None

    def charts(self, history: Iterable[tuple[Ticket, GameResult]]) -> list[ChartGroup]:
        courses = MatchupCourses(self.matchup_infos())
        for ticket, result in history:
            courses.take(self.describe(ticket), result)
        ratings = rating_charts(self._standings())
        # ratings say the same more shortly
        return [*ratings, *courses.charts("Matchups", 40 if ratings else None)]

    def summary(self) -> dict[str, Any]:
        return {
            "withdrawn": self._field.withdrawn,
            "stopped": list(self._stopped()),
            "matchups": [
                matchup_data(
                    tally,
                    id=id,
                    name=self._name(id),
                    even=bool(sum(tally.pairs.counts)) if matchup is None else matchup.even,
                    sprt=None if matchup is None else self._sprt_report(matchup),
                )
                for id, tally in self.tallies.items()
                for matchup in (self.matchups.get(id),)
            ],
        }

    def _name(self, id: str) -> str:
        matchup = self.matchups.get(id)
        return matchup.name if matchup is not None else " v ".join(self.tallies[id].players)
