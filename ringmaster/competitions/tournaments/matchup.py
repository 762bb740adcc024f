"""A matchup: its settings, its counted results, and the games still to play."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ringmaster.competitions.competition import MatchupInfo
from ringmaster.competitions.matchup_sprt import End, SprtReport, Trial
from ringmaster.competitions.opening_settings import OpeningBook
from ringmaster.competitions.result_lines import expected_repeats
from ringmaster.competitions.tally import Tally, base_code
from ringmaster.competitions.verdicts import MatchResult, terms_in_turn
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player
from ringmaster.model.settings import SettingPath
from ringmaster.stats.ladder import HandicapLadder
from ringmaster.stats.sprt import Sprt
from ringmaster.stats.stopping import Precision, Race

#: Outcomes of a stage; "ended": neither passed nor failed, and as a condition any of them.
OUTCOMES = ("passed", "failed", "ended")


class Matchup(msgspec.Struct, kw_only=True, eq=False):
    """Two players with the settings and results of their games, and the games still to play.

    players      the first moves first in games with even numbers, and is tested
    given_name   name in the control file, None without one
    limit        games to play, None for no limit
    alternating  whether games are played in pairs with both colours
    test         what ends the games before the limit
    open         numbers of issued games without a result
    closed       whether no more games are wanted: the round is over, or a player withdrew
    place        of its definition in the settings; () for one of a roster
    stage        name of the stage, "" outside stages
    earlier      the stages before
    after        the earlier stage whose outcome it needs, and the outcome
    race         all candidates of its race, in order; () outside a race
    """

    id: str
    given_name: str | None = None
    players: tuple[Player, Player]
    settings: GameSettings
    book: OpeningBook
    tally: Tally
    limit: int | None
    alternating: bool
    test: End | Race | None
    open: set[int] = msgspec.field(default_factory=set)
    closed: bool = False
    place: SettingPath = ()
    stage: str = ""
    earlier: Sequence[Matchup] = ()
    after: tuple[Matchup, str] | None = None
    race: Sequence[Matchup] = ()

    @property
    def codes(self) -> tuple[str, str]:
        return self.players[0].code, self.players[1].code

    @property
    def name(self) -> str:
        """The given name, or the players' codes."""
        return self.given_name or " v ".join(self.codes)

    @property
    def even(self) -> bool:
        """Return whether the score measures strength: all games with both colours in turn."""
        return self.alternating and self.tally.all_paired

    @property
    def results(self) -> Tally:
        """The results as the first player sees them."""
        return self.tally if self.tally.players == self.codes else self.tally.turned()

    def match_result(self) -> MatchResult:
        tally, ladder = self.results, self.ladder_report()
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
            self.remark,
            "" if ladder is None else ladder["text"],
            self.accepted,
        )

    @property
    def _terms(self) -> str:
        """The uneven terms of the first player, "" without any."""
        if self.alternating:
            return terms_in_turn(self.settings)
        colour = "White" if self.settings.game == "chess" else "Black"
        handicap = self.settings.handicap
        return f"as {colour}{f' with {handicap} handicap stones' if handicap else ''}"

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
            self.stage,
            self.state if self.stage else "",
            self.remark,
            self.even,
            self.ladder_report(),
        )

    # stages

    @property
    def delay(self) -> str:
        """ "waiting" or "skipped" for a stage that has not begun, else ""."""
        if self.after is None:
            return ""
        if self.earlier[-1].state in ("waiting", "playing"):
            return "waiting"
        state, outcome = self.after[0].state, self.after[1]
        return "skipped" if state == "skipped" or outcome not in ("ended", state) else ""

    @property
    def state(self) -> str:
        """The state of a stage: its delay, "playing" or its outcome."""
        if self.delay or self._plays():
            return self.delay or "playing"
        # a test that reached its limit shows nothing
        sign = self.match_result().sign if isinstance(self.test, Precision | None) else 0
        if self.accepted in ("H1", "won") or sign > 0:
            return "passed"
        return "ended" if self.accepted in ("", "reached", "beyond") and sign == 0 else "failed"

    @property
    def remark(self) -> str:
        """The reason of a delay, or the state of a precision, ladder or race; else ""."""
        if self.after is None or not self.delay:
            trial = self.present_trial()
            return (
                "" if trial is None else trial.stop(self.tally.counts_for(trial), self.complete())
            )
        cause = self.after[0] if self.delay == "skipped" else self.earlier[-1]
        return f"{cause.stage} {cause.state}"

    # the end of the games

    @property
    def accepted(self) -> str:
        """The decision of what ends the games, "" for none."""
        trial = self.present_trial()
        return "" if trial is None or trial.decision is None else trial.decision.accepted

    def judge(self) -> list[Matchup]:
        """Update the test, or the race, with a result.  Return the matchups that it decides."""
        # a decision may end the race for an earlier candidate
        return [m for m in (*self.race, *self.race) or (self,) if m._is_decided()]

    def _is_decided(self) -> bool:
        trial = self.tally.trial
        if trial is None or self.present_trial() is not trial:
            return False
        race, counts = trial.test, self.tally.counts_for(trial)
        if not isinstance(race, Race):
            return trial.judge(counts)
        left = [m for m in self.race if not (m.closed or m.accepted)]
        if self not in left:
            return False
        for m in left:
            if race.shows_better(m.results.pairs.counts, counts, len(self.race) - 1):
                return trial.accept(counts, "dropped", m.codes[0])
        winner = next((m for m in self.race if m.accepted == "won"), None)
        if len(left) == 1 or all(m.tally.completed >= race.number_of_games for m in left):
            winner = winner or max(left, key=lambda m: m.results.points(0))
        if winner is None:
            return False
        return trial.accept(counts, "won" if winner is self else "behind", winner.codes[0])

    def wants(self, number: int) -> bool:
        within = self.limit is None or number < self.limit
        return within and not self.closed and self.delay != "skipped"

    def new_trial(self) -> Trial | None:
        """Return the test before any result."""
        test = self.test
        if test is None:
            return None
        by_pairs = self.alternating and (not isinstance(test, Sprt) or test.pentanomial)
        return Trial(test, self.codes[0], by_pairs)

    def present_trial(self) -> Trial | None:
        """Return the tally's test; with changed settings, a new one of the results so far."""
        trial = self.new_trial()
        if trial is None or trial.same(self.tally.trial):
            return None if trial is None else self.tally.trial
        trial.judge(self.tally.counts_for(trial))
        return trial

    def wants_more(self) -> bool:
        """Return whether to issue a new game; after the test's decision to complete a pair."""
        number = self.tally.next
        if self.delay or not self.wants(number):
            return False
        trial = self.present_trial()
        half = self.alternating and number % 2 == 1
        return trial is None or trial.decision is None or half

    def _plays(self) -> bool:
        """Return whether games, or the end of the race, are missing."""
        in_race = bool(self.race) and not self.closed and not self.accepted
        return in_race or self.wants_more() or any(map(self.wants, self.open))

    def complete(self) -> bool:
        return self.delay == "skipped" or not (self.delay or self._plays())

    def total(self) -> int | None:
        """Return the number of games at the end, as known now; None for no limit.

        Games above a lowered limit count.  A closed series has only its played games.
        """
        if self.closed or self.delay == "skipped":
            return self.tally.completed
        limit = self.limit
        count = self.tally.completed + sum(map(self.wants, self.open))
        if (limit is None or limit > count) and self.accepted:
            limit = count + self.wants_more()
        return None if limit is None else max(limit, count)

    def report(self) -> SprtReport | None:
        """Return the state of the SPRT, None without one."""
        trial = self.present_trial()
        if trial is None or not isinstance(trial.test, Sprt):
            return None
        counts = self.tally.counts_for(trial)
        return SprtReport(
            trial.test,
            self.codes,
            tuple(counts),
            trial.llr(counts),
            trial.decision,
            self.complete(),
        )

    def ladder_report(self) -> dict[str, Any] | None:
        """Return the state of the handicap ladder, None without one."""
        if isinstance(self.test, HandicapLadder):
            return self.test.report(self.results.levels, self.codes)
        return None

    def choose_terms(self, number: int, seed: int) -> tuple[str, dict[str, str]]:
        """Return the code of a game's first mover, and the level for the ticket, if any."""
        tally, trial = self.tally, self.new_trial()
        if trial is None or not isinstance(trial.test, HandicapLadder):
            return tally.players[number % 2] if self.alternating else self.codes[0], {}
        place = trial.test.next_level(tally.counts_for(trial), seed, number)
        name, (black, _, _) = [*trial.test.levels(self.codes).items()][place]
        return black or tally.players[number % 2], {"h": name}

    @property
    def terms(self) -> dict[str | None, GameSettings]:
        """The settings of games by level of the ladder, None without one."""
        if not isinstance(self.test, HandicapLadder):
            return {None: self.settings}
        return {
            name: msgspec.structs.replace(self.settings, handicap=stones, komi=komi)
            for name, (_, stones, komi) in self.test.levels(self.codes).items()
        }

    def changed_test(self) -> str:
        """Return a warning about a test with changed settings, else ""."""
        before, trial = self.tally.trial, self.present_trial()
        if not self.tally.known or before is None or trial is None or before.same(trial):
            return ""
        was, now = (
            "undecided"
            if t.decision is None
            else f"{t.decision.accepted}{' accepted' if isinstance(t.test, Sprt) else ''}"
            for t in (before, trial)
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
