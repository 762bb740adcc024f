"""The closing matches of a tune: which one is to be played now, its games, and what
is told of it.

A match is of the values that were the tune's estimate when it began.  It goes on
until it is complete or the tune goes on; then it stays in the report as it stood,
and the next values have a match of their own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.closing_match.match import Conditions, Match, read_matches
from ringmaster.competitions.closing_match.report import (
    match_data,
    match_id,
    match_info,
    match_table,
)
from ringmaster.competitions.closing_match.settings import DEFAULT, START, VerifySettings
from ringmaster.competitions.closing_match.sides import Side, Sides
from ringmaster.competitions.common import result_line
from ringmaster.competitions.competition import MatchupInfo, Played, Verdict
from ringmaster.competitions.opening_settings import OpeningBook, check_openings
from ringmaster.competitions.repeats import expected_repeats
from ringmaster.competitions.series import Series
from ringmaster.competitions.tally import Tally
from ringmaster.competitions.tuned_parameters import Named
from ringmaster.competitions.voids import REMEDY, VoidKinds, added, void_rule
from ringmaster.errors import SettingError, UsageError
from ringmaster.model.jobs import CheckJob, Opening, Ticket
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import Player
from ringmaster.model.report import Table, Text
from ringmaster.model.results import GameResult

#: How far apart two estimates may be that are the same but for rounding, as a share
#: of a value's size.
_SAME = 1e-9

_WHOSE = " of the closing match"
NOTHING = "the tuned values are the start values: there is nothing to verify"


class Standing(msgspec.Struct, frozen=True):
    """Where the tune is.

    told      iterations that have been told
    values    the estimate, as engines would be given it
    openings  how many openings of its book the tune uses when it is complete
    due       whether a match of these values is what is to be played now
    """

    told: int
    values: Named
    openings: int
    due: bool


class ClosingMatches:
    """The closing matches of a tune, of which the last one may be in progress.

    settings  what is asked of a match now; None where nothing is
    """

    def __init__(
        self,
        settings: VerifySettings | None,
        *,
        sides: Sides,
        parameters: Sequence[TunedParameter],
        book: OpeningBook,
        seed: int,
        counted: str = "iterations",
    ) -> None:
        """Raises SettingError for settings that make no match.

        book  the tune's openings
        counted  what `told` counts
        """
        self.settings = settings
        self.matches: list[Match] = []
        self._sides = sides
        self._game = sides.game
        self._parameters = parameters
        self._tunes_book = book
        self._seed = seed
        self._counted = counted
        #: Games of each match that have been given out and have not come back.
        self._open: defaultdict[int, set[int]] = defaultdict(set)
        self._book = self._own_book()
        if settings is not None:
            sides.of(settings, self._start, self._start)

    @property
    def _start(self) -> Named:
        return {p.code: p.engine_value(p.start) for p in self._parameters}

    def _own_book(self) -> OpeningBook | None:
        """Return the book that is the closing match's alone, None without one."""
        openings = None if self.settings is None else self.settings.openings
        if openings is None:
            return None
        try:
            check_openings(openings, self._game.game, self._game.variant)
        except SettingError as error:
            raise error.under("verify") from None
        return OpeningBook(openings, self._game.game, self._seed, self._game.variant)

    def ask(self, games: int | None) -> None:
        """Ask for a match whether or not the control file does.  Raises UsageError.

        games  the most of them, None: as the settings say
        """
        settings = self.settings or DEFAULT
        if games is not None and games % 2:
            raise UsageError(f"{games} games are no whole number of pairs; an even number would do")
        if games is not None:
            settings = msgspec.structs.replace(settings, games=games)
        self.settings = settings

    def prepare(self) -> None:
        """Load what games need before the first of them.  Raises OpeningsError."""
        if self._book is not None:
            self._book.load()
        if self.settings is not None and self.settings.sprt is not None:
            # brings in what it computes with, while no clock is running yet
            self.settings.sprt.llr([1, 1, 1])

    # games

    @property
    def has_openings(self) -> bool:
        """Whether a match does not begin all of its games alike."""
        return self._book is not None or not self._tunes_book.missed

    def opponents(self) -> list[Player]:
        """Return the opponent that is a player of the control file, if there is one."""
        settings = self.settings
        if settings is None or settings.against == START:
            return []
        return [self._sides.of(settings, self._start, None)[1].player]

    def openings(self) -> dict[str, Any] | None:
        """Return the openings that are the closing match's alone, None without any."""
        return None if self._book is None else self._book.describe()

    def check_jobs(self, standing: Standing | None) -> list[CheckJob]:
        """Return the startup checks.

        standing  where the tune is, to check both sides; None for an opponent of
                  its own only
        """
        if self.settings is None:
            return []
        values = None if standing is None else standing.values
        return self._sides.check_jobs(self.settings, values, self._start)

    def sides(self, ticket: Ticket) -> tuple[Side, Side]:
        """Return both sides of a game, the one that moves first first."""
        match = self._match(ticket)
        first, second = self._sides.of(self.settings or DEFAULT, match.tuned, match.start)
        return (second, first) if ticket["g"] % 2 else (first, second)

    def opening(self, ticket: Ticket) -> Opening:
        """Return the opening of a game."""
        book = self._book or self._tunes_book
        return book.pick(self._match(ticket).first + ticket["g"] // 2)

    def round_of(self, ticket: Ticket) -> int:
        """Return the number of a game's pair in its match, from 1."""
        return int(ticket["g"]) // 2 + 1

    def describe(self, ticket: Ticket) -> Played:
        """See `Competition.describe`."""
        match, swapped = self._match(ticket), ticket["g"] % 2
        order = (1, 0) if swapped else (0, 1)
        codes = match.tally.players
        return Played(
            players=(codes[order[0]], codes[order[1]]),
            matchup=match_id(ticket["v"]),
            parameters=(match.values(order[0]), match.values(order[1])),
            opening=ticket.get("o", ""),
            pair=ticket["g"] // 2,
        )

    # which match, which game

    def _match(self, ticket: Ticket) -> Match:
        found: Match = self.matches[ticket["v"] - 1]
        return found

    def void_kinds(self) -> VoidKinds:
        """Return the void games of all matches, by player and reason."""
        return added([match.tally.void_kinds for match in self.matches])

    def nothing(self, standing: Standing) -> bool:
        """Whether there is nothing to show: the tuned values are the start values."""
        settings = self.settings
        return (settings is None or settings.against == START) and standing.values == self._start

    def current(self, standing: Standing) -> Match | None:
        """Return the match of the present values under the present conditions, None
        without one."""
        if not self.matches:
            return None
        match = self.matches[-1]
        asked = match.conditions if self.settings is None else Conditions.of(self.settings)
        alike = match.told == standing.told and match.conditions == asked
        if alike and not match.earlier:
            start = match.start is None or _same(match.start, self._start)
            alike = start and _same(match.tuned, standing.values)
        return match if alike else None

    def begin(self, standing: Standing) -> Match | None:
        """Return the current match, a new one if there is none; None where there is
        nothing to verify."""
        match = self.current(standing)
        if match is not None:
            return match
        return None if self.nothing(standing) else self._add(standing)

    def _add(self, standing: Standing) -> Match:
        settings = self.settings or DEFAULT
        match = Match(
            told=standing.told,
            tuned=dict(standing.values),
            start=self._start if settings.against == START else None,
            tally=Tally(self._sides.codes(settings.against)),
            first=0 if settings.openings is not None else standing.openings,
            games=settings.games,
            conditions=Conditions.of(settings),
        )
        self.matches.append(match)
        match.tally.trial = self._series(match, now=True).fresh_trial()
        return match

    def _series(self, match: Match, *, now: bool) -> Series:
        """Return what is asked of a match.

        now  whether by the present settings; otherwise as it stood
        """
        tally = match.tally
        limit: int | None
        if now and self.settings is not None:
            limit, test = self.settings.games, self.settings.sprt
        else:
            limit = match.games or None
            test = None if tally.trial is None else tally.trial.test
        number = self.matches.index(match) + 1
        return Series(tally, tally.players, limit, True, test, self._open[number])

    def _series_now(self, match: Match, standing: Standing) -> Series:
        return self._series(match, now=standing.due and match is self.current(standing))

    def next_game(self, standing: Standing) -> tuple[str, Ticket] | None:
        """Return id and ticket of the game to give out; None when there is none.
        It is `count` that takes note of it."""
        match = self.begin(standing)
        if match is None:
            return None
        series = self._series(match, now=True)
        match.tally.trial = series.trial()
        match.games = series.limit or match.games
        if not series.wants_more():
            return None
        number, game = len(self.matches), match.tally.next
        return f"{match_id(number)}_{game:04d}", {"v": number, "g": game}

    def count(self, ticket: Ticket, standing: Standing) -> None:
        """Learn from a ticket which games have been given out; idempotent."""
        while len(self.matches) < ticket["v"]:
            self._add(standing)
        tally = self._match(ticket).tally
        tally.next = max(tally.next, ticket["g"] + 1)
        self._open[ticket["v"]].add(ticket["g"])

    def resume(self, ticket: Ticket, standing: Standing) -> bool:
        """See `Competition.resume`: a match of values that have been tuned further
        is not gone on with."""
        self.count(ticket, standing)
        match = self._match(ticket)
        if not standing.due or match is not self.current(standing):
            return False
        return self._series(match, now=True).wants(ticket["g"])

    def take(self, ticket: Ticket, result: GameResult, standing: Standing) -> Verdict:
        """See `Competition.take`."""
        self.count(ticket, standing)
        match = self._match(ticket)
        tally = match.tally
        first = not tally.completed
        black: int = ticket["g"] % 2
        tally.take(result, black, ticket["g"] // 2)
        codes = tally.players[::-1] if black else tally.players
        line = result_line(result, (codes[0], codes[1]))
        if result.outcome == "void":
            halt = void_rule(tally.void_in_a_row, first=first, what="the closing match")
            return Verdict(line, replay=True, halt=halt and f"{halt}; {REMEDY}")
        self._open[ticket["v"]].discard(ticket["g"])
        series = self._series_now(match, standing)
        notes: list[str] = []
        if series.trial() is tally.trial and tally.judge():
            report = series.report()
            assert report is not None
            notes += report.lines()
        if series.complete():
            notes.append(f"complete, {tally.estimate()}")
        told = tuple(f"{match_id(ticket['v'])}: {note}" for note in notes)
        # a decision is kept, whatever the settings are later
        return Verdict(line, notes=told, save=bool(told))

    def complete(self, standing: Standing) -> bool:
        """Whether every game of the match that is asked for has been played."""
        match = self.current(standing)
        if match is None:
            return self.nothing(standing)
        return self._series(match, now=True).complete()

    # state

    def state(self) -> list[dict[str, Any]]:
        """Return the matches as JSON data."""
        data: list[dict[str, Any]] = msgspec.to_builtins(self.matches)
        return data

    def restore(self, state: Sequence[Mapping[str, Any]], openings: int) -> None:
        """Take over a state; openings: what the tune used of its book."""
        self.matches = read_matches(state, self._parameters, self._sides.codes(START), openings)
        self._open.clear()

    # what is told

    def warnings(self, standing: Standing) -> list[str]:
        """Return what may surprise."""
        settings = self.settings
        if settings is None:
            return []
        both = self._sides.of(settings, self._start, self._start)
        book = self._book or self._tunes_book
        line = expected_repeats([s.player for s in both], book.size, settings.games, 2, _WHOSE)
        lines = [line] if line else []
        if standing.due and self.nothing(standing):
            lines.append(NOTHING)
        match = self.current(standing) if standing.due else None
        if match is not None:
            before, trial = match.tally.trial, self._series(match, now=True).trial()
            if trial is not None and before is not None and not before.same(trial):
                was, now = (
                    "undecided" if t.decision is None else f"{t.decision.accepted} accepted"
                    for t in (before, trial)
                )
                lines.append(
                    f"the SPRT of the closing match has been changed: it was {was}, by the "
                    f"results so far it is {now}"
                )
        elif self._superseded(standing):
            lines.append(
                "the last closing match was of other values or under other conditions; there "
                "will be another one"
            )
        return lines

    def _superseded(self, standing: Standing) -> bool:
        """Whether a match is due in the place of one after as many iterations."""
        last = self.matches[-1] if self.matches and standing.due else None
        return last is not None and last.told == standing.told and not self.nothing(standing)

    def notices(self, standing: Standing) -> list[str]:
        """Return what is worth saying at the start of a run."""
        size = self._tunes_book.size
        if self.settings is None or self._book is not None or size is None:
            return []
        left, pairs = max(0, size - standing.openings), self.settings.games // 2
        if left >= pairs:
            return []
        if not standing.openings:
            return [
                f"the closing match may take {pairs} openings, and its book has {size}: they "
                "come again; Verify(openings=…) gives it others"
            ]
        return [
            f"the tune leaves {left or 'none'} of the {size} openings of its book for the closing "
            f"match, which may take {pairs}: it goes on with those of the tune; "
            "Verify(openings=…) gives it others"
        ]

    def progress(self, standing: Standing) -> tuple[int, int]:
        """Return how many games have been played of the current match, and how many
        there are; (0, all) before it has begun."""
        match = self.current(standing)
        if match is None:
            games = 0 if self.settings is None or self.nothing(standing) else self.settings.games
            return 0, games
        series = self._series(match, now=True)
        return match.tally.completed, series.total() or match.tally.completed

    @property
    def completed(self) -> int:
        """Games of all matches that count."""
        return sum(match.tally.completed for match in self.matches)

    def infos(self, standing: Standing) -> list[MatchupInfo]:
        """See `Competition.matchup_infos`."""
        return [
            match_info(match, number, self._series_now(match, standing), self._game)
            for number, match in enumerate(self.matches, 1)
        ]

    def blocks(self, standing: Standing) -> list[Table | Text]:
        """Return what a report says of the matches."""
        blocks: list[Table | Text] = [
            match_table(
                match,
                self._series_now(match, standing),
                self._game,
                standing.told,
                self._counted,
            )
            for match in self.matches
        ]
        if standing.due and self.nothing(standing):
            blocks.append(Text((f"closing match: {NOTHING}",)))
        return blocks

    def summaries(self, standing: Standing) -> list[dict[str, Any]]:
        """Return the matchups of `show --json`."""
        return [
            match_data(match, number, self._series_now(match, standing), self._game, self._counted)
            for number, match in enumerate(self.matches, 1)
        ]


def _same(values: Named, others: Named) -> bool:
    """Whether values are the same but for rounding."""
    return values.keys() == others.keys() and all(
        math.isclose(value, others[code], rel_tol=_SAME) for code, value in values.items()
    )
