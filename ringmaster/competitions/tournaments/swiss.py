"""swiss: rounds in which each competitor meets one with a similar score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.competition import Reaction
from ringmaster.competitions.opening_settings import SAME_GAMES
from ringmaster.competitions.result_lines import (
    expected_repeats,
    is_repeatable,
    repeats_line,
    void_by_player,
)
from ringmaster.competitions.setting_types import optional
from ringmaster.competitions.tally import Tally
from ringmaster.competitions.tournaments.roster_tournaments import (
    RosterTournament,
    roster,
    roster_settings,
)
from ringmaster.competitions.tournaments.standings import letters
from ringmaster.competitions.tournaments.swiss_rules import (
    Entrant,
    RoundScore,
    Score,
    pair_round,
    ranking,
)
from ringmaster.errors import SettingError, SettingErrors, counted
from ringmaster.model.jobs import CheckJob, GameJob, Ticket
from ringmaster.model.report import LEFT, RIGHT, Cell, Column, Listing, Progress, Report, Table
from ringmaster.model.results import GameResult
from ringmaster.model.settings import DictOf, Float, Identifier, Integer, Setting


class Round(msgspec.Struct):
    """A paired round.

    games    of each pairing
    pairs    by matchup id: codes, the first mover in games with even numbers first
    bye      the competitor without an opponent, or None
    settled  by matchup id: winner of the games not played after a withdrawal, "" for none;
             final once the next round has been paired
    """

    games: int
    pairs: dict[str, tuple[str, str]]
    bye: str | None = None
    settled: dict[str, str] = msgspec.field(default_factory=dict)


class Swiss(RosterTournament):
    """Rounds of matchups, each paired after the round before.

    A matchup's id has the round and the competitors' letters: 2AvC.
    """

    type_name: ClassVar[str] = "swiss"
    rosters = ("competitors",)
    table: ClassVar[tuple[Setting, ...]] = roster_settings(
        roster(
            "competitors",
            "Codes of the players that take part, the strongest first unless there are ``ratings``",
            minimum=2,
            added=", and join in the next round",
        ),
        Setting("rounds", Integer(minimum=1), "Rounds to play."),
        Setting(
            "games_per_pairing",
            Integer(minimum=1),
            "Games of each pairing in a round; an even number gives both players each colour "
            "equally often.  A change takes effect in the next round.",
            2,
        ),
        optional(
            "ratings",
            DictOf(Identifier(), Float()),
            "Elo of competitors before the tournament, by code, as the order of seeds.  "
            "Competitors without a rating come last.  A change takes effect in the next round.",
        ),
    )

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        errors = [
            SettingError(
                ("ratings", code),
                f"{code!r} is not among the competitors",
                ", ".join(self.competitors),
            )
            for code in values["ratings"] or ()
            if code not in self.competitors
        ]
        if values["handicap"] and values["games_per_pairing"] % 2:
            place = ("games_per_pairing",)
            errors.append(
                SettingError(place, "with a handicap, pairs are played", "an even number")
            )
        if errors:
            raise SettingErrors(errors)
        self._openings = self._book(values["openings"], self._even_settings)
        self._rounds: list[Round] = []

    @property
    def _seeds(self) -> list[str]:
        """All competitors in the order of their seeds, removed ones last."""
        ratings: Mapping[str, float] = self.values["ratings"] or {}
        unrated = min(ratings.values(), default=0.0) - 1
        codes = dict.fromkeys((*self.values["competitors"], *self.competitors))
        return sorted(codes, key=lambda code: -ratings.get(code, unrated))

    def _active(self) -> list[str]:
        return [code for code in self._seeds if code not in self._withdrawn]

    # rounds

    def _next_round_due(self) -> bool:
        wanted = len(self._rounds) < self.values["rounds"] and len(self._active()) >= 2
        return wanted and super().finished()

    def _begin_round(self) -> None:
        """Pair the next round, and settle unplayed games of the last one."""
        if self._rounds:
            last = self._rounds[-1]
            last.settled = self._unplayed(last)
        games: int = self.values["games_per_pairing"]
        pairing = pair_round(self._entrants(), one_more_first=games % 2 == 1)
        number = len(self._rounds) + 1
        place = {code: letters(i) for i, code in enumerate(self.competitors)}
        pairs = {f"{number}{place[a]}v{place[b]}": (a, b) for a, b in pairing.pairs}
        self._rounds.append(Round(games, pairs, pairing.bye))
        self._add_round(number)
        self._turns = None

    def _add_round(self, number: int) -> None:
        """Add the matchups of a round, counted from 1."""
        round = self._rounds[number - 1]
        over = number < len(self._rounds) or number > self.values["rounds"]
        for id, codes in round.pairs.items():
            self.tallies[id] = Tally(codes)
            self._add_even(id, *codes, round.games)
            if over and id in self.matchups:
                self.matchups[id].closed = True

    def _unplayed(self, round: Round) -> dict[str, str]:
        """Return the winners of games not played after a withdrawal, by matchup."""
        if round is not self._rounds[-1]:
            return round.settled
        winners = dict(round.settled)
        for id, codes in round.pairs.items():
            active = [code for code in codes if code not in self._withdrawn]
            if len(active) < 2 and self.tallies[id].completed < round.games:
                winners.setdefault(id, active[0] if active else "")
        return winners

    def _round_scores(self, round: Round) -> dict[str, RoundScore]:
        """Return the points of a round by competitor."""
        scores: dict[str, RoundScore] = {}
        unplayed = self._unplayed(round)
        for id, codes in round.pairs.items():
            tally = self.tallies[id]
            points = {code: tally.points(i) for i, code in enumerate(tally.players)}
            if unplayed.get(id):
                points[unplayed[id]] += round.games - tally.completed
            for code, opponent in (codes, codes[::-1]):
                scores[code] = RoundScore(opponent, points[code], points[opponent])
        if round.bye is not None:
            scores[round.bye] = RoundScore(None, round.games)
        return scores

    def _entrants(self) -> list[Entrant]:
        """Return the competitors of the next round with their history."""
        scores = [self._round_scores(round) for round in self._rounds]
        met: dict[str, dict[str, int]] = {code: {} for code in self.competitors}
        balance = dict.fromkeys(self.competitors, 0)
        for round in self._rounds:
            for id, (first, second) in round.pairs.items():
                if not self.tallies[id].completed:
                    continue
                met[first][second] = met[second][first] = met[first].get(second, 0) + 1
                if round.games % 2:
                    balance[first] += 1
                    balance[second] -= 1
        return [
            Entrant(
                code,
                int(2 * sum(s[code].points for s in scores if code in s)),
                met[code],
                sum(round.bye == code for round in self._rounds),
                balance[code],
            )
            for code in self._active()
        ]

    # the contract of a competition

    def _warnings(self) -> list[str]:
        warnings = []
        if self._openings.lacks_openings():
            warnings.append(SAME_GAMES)
        players = [self._player(code, ("competitors",)) for code in self._active()]
        repeatable = [player for player in players if is_repeatable(player)]
        if len(repeatable) >= 2:
            games = self.values["games_per_pairing"]
            whose = " of two competitors in a round"
            line = expected_repeats(repeatable, self._openings.size, games, 2, whose)
            warnings += [line] if line else []
        active = len(self._active())
        most = active - 1 + active % 2
        if active < 2:
            warnings.append("fewer than two competitors are left: no more rounds will be paired")
        elif self.values["rounds"] > most:
            warnings.append(
                f"{active} competitors have all met after {counted(most, 'round')}: later ones are "
                "rematches"
            )
        return warnings

    def _check_jobs(self) -> list[CheckJob]:
        codes = [code for code in self.competitors if code in self._active()]
        return [
            CheckJob(f"check-{code}", self._player(code, ("competitors",)), self._even_settings)
            for code in codes
        ]

    def next_job(self) -> GameJob | None:
        job = super().next_job()
        if job is None and self._next_round_due():
            self._begin_round()
            job = super().next_job()
        return job

    def _opening_number(self, ticket: Ticket) -> int:
        # every round has new openings, the same ones on all boards
        return self._openings_before(ticket["m"]) + super()._opening_number(ticket)

    def _openings_by_round(self, id: str, ticket: Ticket) -> int:
        openings = super()._openings_by_round(id, ticket)
        return openings and self._openings_before(id) + openings

    def _openings_before(self, id: str) -> int:
        """Return the number of openings in the rounds before a matchup's round."""
        rounds = self._rounds[: self._round_of(id) - 1]
        return sum((round.games + 1) // 2 for round in rounds)

    def _round_of(self, id: str) -> int:
        return int(id[: len(id) - len(id.lstrip("0123456789"))])

    def _pair_round_of(self, ticket: Ticket) -> None:
        """Pair a ticket's round again, if the last run ended before it stored the pairing."""
        if self._round_of(ticket["m"]) == len(self._rounds) + 1:
            self._begin_round()

    def resume(self, ticket: Ticket) -> bool:
        self._pair_round_of(ticket)
        return super().resume(ticket)

    def record_result(self, ticket: Ticket, result: GameResult) -> Reaction:
        self._pair_round_of(ticket)
        reaction = super().record_result(ticket, result)
        if super().finished():
            # later settings must not change the next round's pairing
            return msgspec.structs.replace(reaction, save=True)
        return reaction

    def finished(self) -> bool:
        return super().finished() and not self._next_round_due()

    def state(self) -> dict[str, Any]:
        return {**super().state(), "rounds": msgspec.to_builtins(self._rounds)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._restore_rosters(state)
        self._rounds = msgspec.convert(state["rounds"], list[Round])
        for number in range(1, len(self._rounds) + 1):
            self._add_round(number)
        super().restore(state)

    def _progress(self) -> Progress:
        """Return the progress; later rounds count with the present competitors."""
        completed = sum(tally.completed for tally in self.tallies.values())
        left = sum(
            round.games - self.tallies[id].completed
            for round in self._rounds
            for id in round.pairs
            if id in self.matchups and self.matchups[id].wants(0)
        )
        wanted: int = self.values["rounds"]
        if len(self._active()) >= 2:
            to_come = max(0, wanted - len(self._rounds))
            left += to_come * (len(self._active()) // 2) * self.values["games_per_pairing"]
        return Progress(completed, completed + left, phase=f"round {len(self._rounds)} of {wanted}")

    # reports

    def _ranking(self) -> list[Score]:
        return ranking(self._seeds, [self._round_scores(round) for round in self._rounds])

    def _table(self) -> Listing:
        """Return the ranked competitors, with opponents and points of each round."""
        place = {code: letters(i) for i, code in enumerate(self.competitors)}
        wide = len(letters(len(self.competitors) - 1))
        rounds = {
            f"round {number}": self._round_scores(round)
            for number, round in enumerate(self._rounds, 1)
        }

        def result(score: RoundScore | None) -> str | None:
            if score is None:
                return None
            if score.opponent is None:
                return f"bye {score.points:g}"
            return f"{place[score.opponent]} {score.points:g}-{score.lost:g}"

        columns = (
            Column("place", "", int),
            Column("code", "", lambda code: f"{place[code]:{wide}} {code}", LEFT),
            Column("points", "points", "{:g}".format),
            *(Column(name, name, in_data=False) for name in rounds),
            Column("buchholz_cut_1", "Buchholz-1", "{:g}".format),
            Column("sonneborn_berger", "S-B", "{:g}".format),
            Column("direct_encounter", "direct", "{:g}".format),
        )
        rows = [
            {
                **msgspec.structs.asdict(score),
                **{name: result(scores.get(score.code)) for name, scores in rounds.items()},
            }
            for score in self._ranking()
        ]
        return Listing(columns, tuple(rows))

    def _grid(self) -> Table:
        return self._table().table(notes=self._notes())

    def _round_table(self, number: int) -> Table:
        """Return the results of a round, counted from 1, from the top board down."""
        round = self._rounds[number - 1]
        scores, unplayed = self._round_scores(round), self._unplayed(round)
        rows: list[tuple[Cell, ...]] = []
        for id, (first, second) in round.pairs.items():
            score = f"{scores[first].points:g}-{scores[first].lost:g}"
            notes = list(_remarks(self.tallies[id]))
            if id in unplayed:
                missing = round.games - self.tallies[id].completed
                notes.append(f"{missing} not played, for {unplayed[id] or 'nobody'}")
            rows.append((id, first, score, second, "; ".join(notes)))
        if round.bye is not None:
            rows.append(("", round.bye, f"{round.games}", "", "bye"))
        played = sum(self.tallies[id].completed for id in round.pairs)
        return Table(
            headers=(),
            rows=tuple(rows),
            title=f"round {number} ({played}/{counted(round.games * len(round.pairs), 'game')})",
            align=(LEFT, LEFT, RIGHT, LEFT, LEFT),
        )

    def _verdict(self) -> str:
        return self._leader_verdict([(score.place, score.code) for score in self._ranking()])

    def _live_report(self) -> Report:
        return Report((self._grid(),))

    def _full_report(self) -> Report:
        blocks = [self._grid(), *self._standings.rating_tables()]
        blocks += [self._round_table(number) for number in range(1, len(self._rounds) + 1)]
        return Report(tuple(blocks))

    def _json_data(self) -> dict[str, Any]:
        summary = super()._json_data()
        # "table" has the ranking with tie-breaks
        del summary["ranking"]
        rounds = []
        for round in self._rounds:
            scores = self._round_scores(round)
            pairings = [
                {"matchup": id, "players": [*pair], "points": [scores[c].points for c in pair]}
                for id, pair in round.pairs.items()
            ]
            rounds.append(
                {"games_per_pairing": round.games, "pairings": pairings, "bye": round.bye}
            )
        return {**summary, "table": self._table().data(), "rounds": rounds}


def _remarks(tally: Tally) -> Iterator[str]:
    for player, code in enumerate(tally.players):
        for kind, count in tally.forfeit_kinds[player].items():
            yield f"{code} forfeited {count} ({kind})"
    if tally.total(3):
        yield f"unknown results: {tally.total(3)}"
    if tally.void:
        yield f"void: {tally.void} ({void_by_player(tally.void_kinds)})"
    if tally.repeats:
        yield repeats_line(tally.repeats, tally.completed)
