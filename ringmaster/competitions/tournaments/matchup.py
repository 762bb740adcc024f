"""A matchup: its settings, its counted results, and the games still to play."""

from __future__ import annotations

import msgspec

from ringmaster.competitions.competition import MatchupInfo
from ringmaster.competitions.matchup_sprt import SprtProgress, SprtReport
from ringmaster.competitions.opening_settings import OpeningBook
from ringmaster.competitions.result_lines import expected_repeats
from ringmaster.competitions.tally import Tally, base_code
from ringmaster.competitions.verdicts import MatchResult
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player
from ringmaster.stats.sprt import Sprt


class Matchup(msgspec.Struct, kw_only=True, eq=False):
    """Two players with the settings and results of their games, and the games still to play.

    players      the first moves first in games with even numbers, and is tested
    given_name   name in the control file, None without one
    limit        games to play, None for no limit
    alternating  whether games are played in pairs with both colours
    sprt         a test that ends the games: whether the first player is stronger
    open         numbers of issued games without a result
    closed       whether no more games are wanted: the round is over, or a player withdrew
    """

    id: str
    given_name: str | None = None
    players: tuple[Player, Player]
    settings: GameSettings
    book: OpeningBook
    tally: Tally
    limit: int | None
    alternating: bool
    sprt: Sprt | None
    open: set[int] = msgspec.field(default_factory=set)
    closed: bool = False

    @property
    def codes(self) -> tuple[str, str]:
        return self.players[0].code, self.players[1].code

    @property
    def name(self) -> str:
        """The given name, or the players' codes."""
        return self.given_name or " v ".join(self.codes)

    @property
    def even(self) -> bool:
        """Return whether the score measures strength: both colours, no handicap."""
        return self.alternating and self.settings.handicap is None

    @property
    def results(self) -> Tally:
        """The results as the first player sees them."""
        return self.tally if self.tally.players == self.codes else self.tally.turned()

    def match_result(self) -> MatchResult:
        tally = self.results
        return MatchResult(
            self.codes,
            tally.estimate() if self.even else None,
            tally.points(0),
            tally.known,
            tally.completed,
            self.total(),
            self.complete(),
            self.report(),
            self.given_name or "",
            self._terms,
        )

    @property
    def _terms(self) -> str:
        """The uneven terms of the first player, "" without any."""
        handicap = self.settings.handicap
        stones = f"{handicap} handicap stones" if handicap else ""
        if self.alternating:
            return stones and f"with {stones} to each in turn"
        colour = "White" if self.settings.game == "chess" else "Black"
        return f"as {colour}{stones and f' with {stones}'}"

    def info(self) -> MatchupInfo:
        """Return the matchup without its games."""
        return MatchupInfo(
            self.id,
            self.results,
            self.name,
            self.players,
            self.settings,
            self.book.describe().get("file", ""),
            self.alternating,
            self.limit,
            self.report(),
        )

    def decision(self) -> SprtReport | None:
        """Update the test with a result.  Return its state if this result decides it."""
        is_judged = self.present_sprt_progress() is self.tally.trial and self.tally.judge()
        return self.report() if is_judged else None

    def wants(self, number: int) -> bool:
        return not self.closed and (self.limit is None or number < self.limit)

    def new_sprt_progress(self) -> SprtProgress | None:
        """Return the test before any result."""
        test = self.sprt
        if test is None:
            return None
        return SprtProgress(test, self.codes[0], test.pentanomial and self.alternating)

    def present_sprt_progress(self) -> SprtProgress | None:
        """Return the tally's test; with changed settings, a new one of the results so far."""
        progress = self.new_sprt_progress()
        if progress is None or progress.same(self.tally.trial):
            return None if progress is None else self.tally.trial
        progress.judge(self.tally.counts_for(progress))
        return progress

    def wants_more(self) -> bool:
        """Return whether to issue a new game; after the test's decision to complete a pair."""
        number = self.tally.next
        if not self.wants(number):
            return False
        progress = self.present_sprt_progress()
        half = self.alternating and number % 2 == 1
        return progress is None or progress.decision is None or half

    def complete(self) -> bool:
        return not self.wants_more() and not any(map(self.wants, self.open))

    def total(self) -> int | None:
        """Return the number of games at the end, as known now; None for no limit.

        Games above a lowered limit count.  A closed series has only its played games.
        """
        if self.closed:
            return self.tally.completed
        limit = self.limit
        count = self.tally.completed + sum(map(self.wants, self.open))
        if limit is None or limit > count:
            progress = self.present_sprt_progress()
            if progress is not None and progress.decision is not None:
                limit = count + self.wants_more()
        return None if limit is None else max(limit, count)

    def report(self) -> SprtReport | None:
        """Return the state of the test, None without one."""
        progress = self.present_sprt_progress()
        if progress is None:
            return None
        counts = self.tally.counts_for(progress)
        return SprtReport(
            progress.test,
            self.codes,
            tuple(counts),
            progress.llr(counts),
            progress.decision,
            self.complete(),
        )

    def changed_test(self) -> str:
        """Return a warning about an SPRT with changed settings, else ""."""
        before, progress = self.tally.trial, self.present_sprt_progress()
        if before is None or progress is None or before.same(progress):
            return ""
        was, now = (
            "undecided" if t.decision is None else f"{t.decision.accepted} accepted"
            for t in (before, progress)
        )
        return f"has been changed: it was {was}, by the results so far it is {now}"

    def game_id(self, number: int) -> str:
        """Return the id of a new game, padded to the matchup's largest number.

        A change of `number_of_games` changes the width for later numbers only, so ids
        stay unique.
        """
        digits = len(str(self.limit - 1)) if self.limit else 1
        return f"{self.id}_{number:0{digits}d}"

    def expected_repeats(self) -> str:
        """Return a warning that games will repeat, "" when they need not."""
        first, second = map(base_code, self.codes)
        colours = 2 if self.alternating and first != second else 1
        return expected_repeats(self.players, self.book.size, self.limit, colours)
