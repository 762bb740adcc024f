"""A series of games between two players as it is given out and comes back: what is
still wanted of it, and where its sequential test stands."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from ringmaster.competitions.repeats import repeats_warning
from ringmaster.competitions.sequential import SprtReport, Trial, fault_warning
from ringmaster.competitions.tally import Tally
from ringmaster.stats.sprt import Sprt


class Series(msgspec.Struct, frozen=True):
    """What the settings ask of a tally now.

    codes        the players in the order of the settings; the first is tested
    limit        games to play, None for no limit
    alternating  whether games are played in pairs, with both colours
    test         what ends it early, None for nothing
    open         numbers of the games given out that have not come back
    closed       whether no more games are wanted, whatever the limit
    """

    tally: Tally
    codes: tuple[str, str]
    limit: int | None
    alternating: bool
    test: Sprt | None
    open: Collection[int]
    closed: bool = False

    def wants(self, number: int) -> bool:
        """Whether the game with this number is to be played."""
        return not self.closed and (self.limit is None or number < self.limit)

    def fresh_trial(self) -> Trial | None:
        """Return the test before any result."""
        if self.test is None:
            return None
        return Trial(self.test, self.codes[0], self.test.pentanomial and self.alternating)

    def trial(self) -> Trial | None:
        """Return the test as it was left, or, when that was another one, judged anew
        by the results so far."""
        trial = self.fresh_trial()
        if trial is None or trial.same(self.tally.trial):
            return None if trial is None else self.tally.trial
        trial.judge(self.tally.counts_for(trial))
        return trial

    def wants_more(self) -> bool:
        """Whether a new game is to be given out; once the test is decided, only the
        second of a pair."""
        number = self.tally.next
        if not self.wants(number):
            return False
        trial = self.trial()
        half = self.alternating and number % 2 == 1
        return trial is None or trial.decision is None or half

    def complete(self) -> bool:
        """Whether every game has been played."""
        return not self.wants_more() and not any(map(self.wants, self.open))

    def total(self) -> int | None:
        """Return how many games it comes to, as far as is known now; None for no
        limit.  Games above a limit that has been lowered count, and of a closed series
        those that have been played."""
        if self.closed:
            return self.tally.completed
        limit = self.limit
        count = self.tally.completed + sum(map(self.wants, self.open))
        if limit is None or limit > count:
            trial = self.trial()
            if trial is not None and trial.decision is not None:
                limit = count + self.wants_more()
        return None if limit is None else max(limit, count)

    def report(self) -> SprtReport | None:
        """Return where the test stands, None without one."""
        trial = self.trial()
        if trial is None:
            return None
        tally = self.tally
        counts = tally.counts_for(trial)
        return SprtReport(
            trial.test,
            self.codes,
            tuple(counts),
            trial.llr(counts),
            trial.decision,
            self.complete(),
            tuple(filter(None, (self._faults(), repeats_warning(tally.repeats, tally.completed)))),
        )

    def _faults(self) -> str:
        tally = self.tally
        forfeits = dict(zip(tally.players, tally.forfeits, strict=True))
        return fault_warning(tally.completed, forfeits, tally.void)
