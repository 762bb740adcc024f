"""Tournament: matchups of two players, played in turn, with tables of results.

The competition types decide which matchups there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.cluster_settings import check_resources
from ringmaster.competitions.common_settings import PlayerDefinition, find_player, placed
from ringmaster.competitions.competition import (
    Competition,
    Contestant,
    History,
    MatchupInfo,
    Played,
    Reaction,
    Setup,
    Summary,
    game_job,
    referees,
)
from ringmaster.competitions.matchup_sprt import sequential_warnings
from ringmaster.competitions.opening_settings import SAME_GAMES, OpeningBook, OpeningsSettings
from ringmaster.competitions.result_lines import lost_line, result_line, unique_names, void_line
from ringmaster.competitions.setting_types import endless_warning
from ringmaster.competitions.tally import FaultWatch, Tally, base_code, doubts_of, lost_of, void_of
from ringmaster.competitions.tournaments.game_charts import GameCharts
from ringmaster.competitions.tournaments.matchup import Matchup
from ringmaster.competitions.tournaments.matchup_charts import MatchupCourses
from ringmaster.competitions.tournaments.matchup_report import (
    describe_settings,
    ladder_table,
    live_table,
    matchup_data,
    matchup_table,
)
from ringmaster.competitions.tournaments.scheduling import (
    Holds,
    OpeningNumbers,
    Turns,
    remedy,
    unit_of,
)
from ringmaster.competitions.tournaments.standings import Standings, standing_charts
from ringmaster.competitions.verdicts import matches_verdict
from ringmaster.errors import SettingError, StateRefused
from ringmaster.model.jobs import CheckJob, GameJob, GameSettings, Ticket
from ringmaster.model.players import SECOND_SELF, GameName, Player
from ringmaster.model.report import ChartGroup, Progress, Report, Table, Text
from ringmaster.model.results import GameResult
from ringmaster.model.settings import SettingPath
from ringmaster.stats.sprt import Sprt

#: Most matchups on the live display without a test.
_MOST_LIVE = 60


class Tournament(Competition):
    """Matchups played in turn, each to its own number of games.

    matchups  matchups of the control file, by id
    tallies   results of these matchups and of removed ones, by id
    """

    runs_ahead_from = 1

    #: Names of the settings with lists of competitors; () for a type with given matchups.
    rosters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._game: GameName = values["game"]
        self.matchups: dict[str, Matchup] = {}
        #: Matchups without end by oversight.
        self._endless: set[str] = set()
        #: By code, each definition of a player with the player.
        self._made: dict[str, list[tuple[PlayerDefinition, Player]]] = {}
        self._books: dict[tuple[object, ...], OpeningBook] = {}
        self._numbers = OpeningNumbers()
        self._holds = Holds()
        #: By roster, all competitors of all runs: each keeps its place, and its matchups' ids.
        self._entered = {name: tuple(values[name]) for name in self.rosters}
        #: Players that stopped playing, including those removed from the rosters.
        self._withdrawn = list(dict.fromkeys(values["withdrawn"]))
        #: None before the first game, and after a change of matchups or state.
        self._turns: Turns | None = None

    # construction of matchups

    def _player(
        self,
        code: str,
        path: SettingPath,
        values: Mapping[str, Any] | None = None,
        *,
        second_self: bool = False,
    ) -> Player:
        """Return a player of the control file.  Raises SettingError.

        path    place of the code in the settings
        values  settings of its matchup, None for those of the top level
        """
        definition = find_player(self.values if values is None else values, code, path)
        made = self._made.setdefault(code, [])
        player = next((p for d, p in made if d == definition), None)
        if player is None:
            with placed("players", code):
                player = definition.make(code, self._game)
            made.append((definition, player))
        return msgspec.structs.replace(player, code=code + SECOND_SELF) if second_self else player

    def _book(self, openings: OpeningsSettings | None, game: GameSettings) -> OpeningBook:
        """Return the book of some openings; equal ones share a book."""
        rules = game.variant, game.board_size, game.rules.ko, game.rules.suicide
        book = OpeningBook(openings, game, self.values["seed"])
        return self._books.setdefault((openings, *rules), book)

    def _add(self, matchup: Matchup) -> None:
        matchup.closed = any(base_code(code) in self._withdrawn for code in matchup.codes)
        if matchup.test is not None:
            # the test may end with the next result
            self.runs_ahead_from = 2
        self.matchups[matchup.id] = matchup
        self.tallies[matchup.id] = matchup.tally
        matchup.tally.trial = matchup.new_trial()

    # before the first game

    def prepare(self) -> list[SettingError]:
        for book in self._books.values():
            self.unverified += book.load(self.say)
        for matchup in self.matchups.values():
            if isinstance(matchup.test, Sprt):
                # imports scipy before any clock runs
                matchup.test.llr([1, 1, 1])
        return []

    def setup(self) -> Setup:
        for matchup in self.matchups.values():
            if not matchup.complete():
                check_resources(self.values, matchup.settings.engines(matchup.players))
        return Setup(self._check_jobs())

    def _warnings(self) -> list[str]:
        lines: dict[str, list[str]] = {}
        for id, matchup in self.matchups.items():
            for line in self._warnings_of(matchup):
                lines.setdefault(line, []).append(id)
        return [
            line if len(ids) == len(self.matchups) else f"matchups {', '.join(ids)}: {line}"
            for line, ids in lines.items()
        ]

    def _warnings_of(self, matchup: Matchup) -> Iterator[str]:
        if matchup.book.lacks_openings(matchup.tally.repeats) and not matchup.tally.levels:
            yield SAME_GAMES
        if repeats := matchup.expected_repeats():
            yield repeats
        if matchup.id in self._endless and not matchup.closed:
            yield endless_warning("rounds" if self.rosters else "number_of_games")
        if matchup.settings.handicap and matchup.alternating and (matchup.limit or 0) % 2:
            yield f"in {matchup.limit} games, one has the handicap once more: use an even number"
        trial = matchup.present_trial()
        if trial is not None and matchup.limit != 0:
            yield from sequential_warnings(matchup.limit, matchup.alternating, trial)
            if changed := matchup.changed_test():
                name = "SPRT" if isinstance(trial.test, Sprt) else "end of the match"
                yield f"the {name} {changed}"

    def _check_jobs(self) -> list[CheckJob]:
        jobs: defaultdict[str, list[CheckJob]] = defaultdict(list)
        for matchup in self.matchups.values():
            if not matchup.wants(0):
                continue
            # the last level of a ladder has handicap stones
            *_, settings = matchup.terms.values()
            for player in matchup.players:
                own = jobs[player.code]
                known = any((job.player, job.settings) == (player, settings) for job in own)
                # a second self is the same engine
                if not known and not player.code.endswith(SECOND_SELF):
                    id = f"check-{player.code}{f'-{matchup.id}' if own else ''}"
                    own.append(CheckJob(id, player, settings))
        return [job for own in jobs.values() for job in own]

    def _contestants(self) -> Iterator[Contestant]:
        ids: defaultdict[int, list[str]] = defaultdict(list)
        for matchup in self.matchups.values():
            for player in matchup.players:
                ids[id(player)].append(matchup.id)
        for made in self._made.values():
            for _, player in made:
                yield Contestant(player, tuple(ids[id(player)]) if len(made) > 1 else ())
        yield from referees(self._games(), self._made)

    def _games(self) -> Iterable[GameSettings]:
        """Return the settings of all games, also of matchups that are not known yet."""
        return (matchup.settings for matchup in self.matchups.values())

    def _openings_used(self) -> dict[str, dict[str, Any]]:
        if len(self._books) == 1:
            (book,) = self._books.values()
            return {"": book.describe()}
        by_book: dict[OpeningBook, list[str]] = {}
        for matchup in self.matchups.values():
            by_book.setdefault(matchup.book, []).append(matchup.id)
        return {f"matchups {', '.join(ids)}": book.describe() for book, ids in by_book.items()}

    # issuing games

    def next_job(self) -> GameJob | None:
        if self._turns is None:
            for matchup in self.matchups.values():
                # not in `restore`: later results were judged by an earlier test
                matchup.tally.trial = matchup.present_trial()
            for matchup in self.matchups.values():
                if matchup.race:
                    matchup.judge()
            self._turns = Turns(self.matchups.values(), self._holds)
        following = self._turns.first()
        if following is None:
            return None
        tally = following.tally
        number = tally.next
        tally.next += 1
        first_mover, level = following.choose_terms(number, self.values["seed"])
        # the pair is recorded, since `alternating` may change before the result
        ticket: Ticket = {
            "m": following.id,
            "i": number,
            # in the tally's order: pairs keep both colours after an exchange of places
            "b": tally.players.index(first_mover),
            "p": number // 2 if following.alternating else None,
            **level,
        }
        self._draw_opening(following, ticket)
        following.open.add(number)
        return self.make_job(following.game_id(number), 0, ticket)

    def _draw_opening(self, matchup: Matchup, ticket: Ticket) -> None:
        """Record a game's opening in its ticket, unless it has its pair's number."""
        number = self._numbers.of_pair(ticket)
        # the second game of a pair repeats the first one's opening under any policy
        is_first = ticket["p"] is None or ticket["i"] % 2 == 0
        if number is None and is_first and matchup.book.by_encounter:
            number = self._numbers.next(
                (id, self._openings_by_round(id, ticket))
                for id in self.tallies
                # the book of a removed matchup is unknown
                if id not in self.matchups or self.matchups[id].book is matchup.book
            )
        elif number is None and is_first and matchup.after is not None:
            # games like those of the stages before would be no new evidence
            before = (self._openings_by_round(m.id, ticket) for m in matchup.earlier)
            number = unit_of(ticket) + sum(before)
        if number is not None:
            ticket["n"] = number
            self._numbers.register(ticket)

    def _openings_by_round(self, id: str, ticket: Ticket) -> int:
        """Return a matchup's number of openings before a game, if played by rounds."""
        matchup = self.matchups.get(id)
        games: int = self.tallies[id].next - (id == ticket["m"])
        return games if matchup is not None and not matchup.alternating else (games + 1) // 2

    def _waiting(self) -> list[str]:
        waiting = {
            id: (matchup.tally.completed, matchup.total())
            for id, matchup in self.matchups.items()
            if id in self._holds and not matchup.complete()
        }
        return self._holds.lines(waiting, self.values["withdrawn"], void=self._voids)

    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> GameJob | None:
        if ticket["m"] in self._holds:
            return None
        matchup = self.matchups[ticket["m"]]
        by_code = {player.code: player for player in matchup.players}
        first, second = self._codes(ticket)
        return game_job(
            self,
            game_id,
            attempt,
            (by_code[first], by_code[second]),
            matchup.terms[ticket.get("h")],
            ticket,
            matchup.book.pick(ticket["n"] if "n" in ticket else self._opening_number(ticket)),
            round=unit_of(ticket) + 1,
            event=f"{self.code} ({matchup.given_name})" if matchup.given_name else "",
            series=matchup.id,
        )

    def _opening_number(self, ticket: Ticket) -> int:
        return unit_of(ticket)

    def describe(self, ticket: Ticket) -> Played:
        return Played(
            self._codes(ticket),
            matchup=ticket["m"],
            opening=ticket.get("o", ""),
            pair=ticket.get("p"),
            level=ticket.get("h", ""),
        )

    def _matchup_infos(self) -> list[MatchupInfo]:
        return [
            MatchupInfo(id, tally, " v ".join(tally.players), even=sum(tally.pairs.counts) > 0)
            if (matchup := self.matchups.get(id)) is None
            else matchup.info()
            for id, tally in self.tallies.items()
        ]

    def _codes(self, ticket: Ticket) -> tuple[str, str]:
        """Return the players of a game, the first mover first."""
        first, second = self.tallies[ticket["m"]].players
        return (first, second) if ticket["b"] == 0 else (second, first)

    def resume(self, ticket: Ticket) -> bool:
        matchup = self.matchups.get(ticket["m"])
        if matchup is None:
            return False
        self._check_levels(matchup, ticket.get("h"))
        matchup.tally.next = max(matchup.tally.next, ticket["i"] + 1)
        self._numbers.register(ticket)
        matchup.open.add(ticket["i"])
        return matchup.wants(ticket["i"])

    def apply_edits(self, outstanding: Sequence[Ticket]) -> list[str]:
        self._turns = None
        # those of results that a killed run had stored after its last state
        self._holds = Holds()
        for matchup in self.matchups.values():
            self._check_levels(matchup)
        return []

    def _check_levels(self, matchup: Matchup, *outstanding: str | None) -> None:
        """Raise StateRefused if games were at other levels than a matchup has, or will be."""
        levels = {*matchup.tally.levels, *outstanding}
        without = matchup.tally.completed - sum(map(sum, matchup.tally.levels.values()))
        if not levels <= matchup.terms.keys() or (without and None not in matchup.terms):
            raise StateRefused(
                f"games of matchup {matchup.id} were at other handicaps or another komi than "
                "its ladder has now; put it back, give the matchup another id, or use reset",
                matchup.place or self.rosters[:1],
            )

    # results and state

    def record_result(self, ticket: Ticket, result: GameResult) -> Reaction:
        self.__dict__.pop("_standings", None)
        id = ticket["m"]
        tally = self.tallies[id]
        tally.next = max(tally.next, ticket["i"] + 1)
        self._numbers.register(ticket)
        void = result.outcome == "void"
        tally.record_result(result, ticket["b"], ticket.get("p"), ticket.get("h"))
        codes = self._codes(ticket)
        warning = self._holds.record_result(self.watch, id, codes, result, self.matchups)
        matchup = self.matchups.get(id)
        notes: tuple[str, ...] = ()
        milestone = ""
        if matchup is not None and not void:
            matchup.open.discard(ticket["i"])
            for decided in matchup.judge():
                report = decided.report()
                lines = [decided.remark] if report is None else report.lines()
                lines += filter(None, [decided.match_result().even_at])
                milestone = f"{decided.name}: {lines[-1]}"
                lines += [f"doubtful: {doubt.sentence}" for doubt in doubts_of([decided.tally])]
                notes += tuple(f"matchup {decided.id}: {line}" for line in lines)
            if matchup.stage and (notes or matchup.complete()):
                # another stage may begin
                self._turns = None
        # a decision is saved: other settings must not repeat it on fewer results
        return Reaction(
            result_line(result, codes) + (f" ({ticket['h']})" if "h" in ticket else ""),
            replay=void,
            notes=notes,
            save=bool(notes),
            warning=warning,
            milestone=milestone,
        )

    def finished(self) -> bool:
        if self._turns is not None and self._turns.first() is not None:
            return False
        return all(matchup.complete() for matchup in self.matchups.values())

    def state(self) -> dict[str, Any]:
        state = {
            "matchups": msgspec.to_builtins(self.tallies),
            **{name: list(codes) for name, codes in self._entered.items()},
        }
        if self.watch.stopped():
            state["watch"] = msgspec.to_builtins(self.watch)
        if self._numbers.last:
            state["openings"] = msgspec.to_builtins(self._numbers.last)
        return state

    def restore(self, state: Mapping[str, Any]) -> None:
        if self._restore_rosters(state):
            self.matchups.clear()
            self.tallies.clear()
            self._pair_all()
        self._numbers = msgspec.convert({"last": state.get("openings", {})}, OpeningNumbers)
        self.watch = msgspec.convert(state.get("watch", {}), FaultWatch)
        self._turns = None
        self.__dict__.pop("_standings", None)
        for id, raw in state["matchups"].items():
            tally = msgspec.convert(raw, Tally)
            self.tallies[id] = tally
            matchup = self.matchups.get(id)
            if matchup is None:
                continue
            # the two players may exchange places
            if set(matchup.codes) != set(tally.players):
                raise StateRefused(
                    f"matchup {id} was played between {' and '.join(tally.players)}, the control "
                    f"file has {' and '.join(matchup.codes)} now; put it back, add the new "
                    "matchup at the end or with another id, or use reset",
                    matchup.place or self.rosters[:1],
                )
            matchup.tally = tally
            matchup.open.clear()
            self._check_levels(matchup)

    def _restore_rosters(self, state: Mapping[str, Any]) -> bool:
        """Give competitors of earlier runs their places.  Return whether a place changes."""
        in_file = {code for name in self.rosters for code in self.values[name]}
        entered = {
            name: tuple(dict.fromkeys((*state[name], *codes)))
            for name, codes in self._entered.items()
        }
        changed = entered != self._entered
        self._entered = entered
        removed = [c for codes in entered.values() for c in codes if c not in in_file]
        self._withdrawn = list(dict.fromkeys((*self._withdrawn, *removed)))
        return changed

    def _pair_all(self) -> None:
        """Add the matchups of all competitors, in a type that adds all at once."""

    def _progress(self) -> Progress:
        """Return the progress, with games above a lowered limit and of removed matchups."""
        total: int | None = 0
        for id, tally in self.tallies.items():
            matchup = self.matchups.get(id)
            count = tally.completed if matchup is None else matchup.total()
            total = None if total is None or count is None else total + count
        return Progress(sum(tally.completed for tally in self.tallies.values()), total)

    # reports

    def summary(self, *, live: bool = False) -> Summary:
        tallies = self.tallies.values()
        return Summary(
            result=self._verdict(),
            progress=self._progress(),
            games=sum(tally.completed for tally in tallies),
            void_kinds=void_of(tallies),
            contestants=tuple(self._contestants()),
            contestant_of=base_code,
            doubts=doubts_of(tallies),
            openings=self._openings_used(),
            matchups=tuple(self._matchup_infos()),
            waiting=self._waiting(),
            report=self._live_report() if live else self._full_report(),
            warnings=[] if live else self._warnings(),
            data=self._json_data,
        )

    def _tables(self) -> Iterator[Table]:
        """Yield a table of each matchup; removed ones with results come last."""
        headings = self._headings()
        for matchup in self._shown():
            settings = describe_settings(matchup.settings, in_turn=matchup.alternating)
            info = matchup.info()
            yield matchup_table(info, self._game, headings[matchup.id], settings)
            if info.ladder is not None and info.ladder["levels"]:
                yield ladder_table(info.ladder, info.players[0])
        for info in self._matchup_infos():
            if info.settings is None and info.tally.completed:
                missing = f"matchup {info.id} is not in the control file any more"
                yield matchup_table(info, self._game, info.name, f"settings: missing ({missing})")

    def _shown(self) -> Iterator[Matchup]:
        """Yield the matchups of a report: those with games, and others unless there may be many."""
        for matchup in self.matchups.values():
            wanted = not self.rosters and matchup.limit != 0 and not matchup.delay
            if matchup.tally.completed or matchup.tally.void or wanted:
                yield matchup

    def _live_tables(self) -> list[Table]:
        """Return a table with a row for each matchup; of many, only for those with a test."""
        many = len(self.matchups) > _MOST_LIVE
        headings = self._headings()
        rows = {
            headings[matchup.id]: matchup.info()
            for matchup in self._shown()
            if not many or matchup.test is not None
        }
        return [live_table(rows, self._game)] if rows else []

    def _headings(self) -> dict[str, str]:
        return unique_names({id: matchup.name for id, matchup in self.matchups.items()})

    def _live_report(self) -> Report:
        return Report(tuple(self._live_tables()))

    def _full_report(self) -> Report:
        notes = self._notes()
        texts = [Text(notes)] if notes else []
        return Report((*self._tables(), *texts))

    def _verdict(self) -> str:
        results = [
            matchup.match_result()
            for matchup in self.matchups.values()
            if matchup.tally.completed or (matchup.wants(0) and not matchup.delay)
        ]
        return matches_verdict(results)

    def _notes(self) -> tuple[str, ...]:
        """Return notes on the standings: withdrawals, void games, waiting players."""
        lines = []
        if self._withdrawn:
            lines.append(f"withdrawn: {', '.join(self._withdrawn)}")
        if void := void_of(self.tallies.values()):
            lines.append(void_line(void))
        if len(self.tallies) > 1:  # the table of a single matchup has them
            lines += lost_line(lost_of(self.tallies.values()))
        for code in self._stopped():
            choices = remedy({code: ""}, self.values["withdrawn"], void=self._voids)
            lines.append(f"player {code}: too many faults; {choices}")
        return tuple(lines)

    @property
    def _voids(self) -> bool:
        """Return whether failures make games void, so that they could lose games instead."""
        return any(matchup.settings.failures == "void" for matchup in self.matchups.values())

    def _stopped(self) -> list[str]:
        """Return the players with waiting games."""
        return [code for code in self.watch.stopped() if code not in self._withdrawn]

    @cached_property
    def _standings(self) -> Standings | None:
        """Standings of all players until the next result, None where they are meaningless."""
        return None

    def charts(self, history: History) -> list[ChartGroup]:
        courses = MatchupCourses(self._matchup_infos())
        codes = dict.fromkeys(code for tally in self.tallies.values() for code in tally.players)
        games = GameCharts(self._game, tuple(codes))
        # a look-up takes less time than `describe` for each of a million games
        orders = {id: (t.players, t.players[::-1]) for id, t in self.tallies.items()}
        for ticket, result in history:
            if result.outcome != "void":
                order = orders[ticket["m"]][ticket["b"]]
                courses.record_result(ticket["m"], order[0], ticket.get("p"), result)
                games.record_result(order, ticket.get("o", ""), result)
        standings = standing_charts(self._standings)
        # ratings summarise many matchups
        matchups = courses.charts("Matchups", rated=bool(standings))
        return [*standings, *matchups, *games.charts(self.tallies.values())]

    def _json_data(self) -> dict[str, Any]:
        standings = self._standings
        return {
            "withdrawn": self._withdrawn,
            "stopped": self._stopped(),
            "matchups": [matchup_data(info) for info in self._matchup_infos()],
            **({} if standings is None else standings.summary()),
        }
