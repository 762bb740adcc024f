"""Sentences about results so far: of one matchup, of several, and of the first of many players.

"better" or "weaker" is said only where the 95 % interval of the difference excludes 0, or an SPRT
accepted that hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ringmaster.competitions.matchup_sprt import SprtReport
from ringmaster.errors import counted
from ringmaster.model.jobs import GameSettings
from ringmaster.stats.elo import EloEstimate, holm, share_ends, share_interval


class MatchResult(msgspec.Struct, frozen=True):
    """The result so far of a first player against a second one.

    estimate  Elo of the first; None where the score does not measure strength
    points    of the first, in `known` games with a result
    games     counted games, those of unknown result included
    name      of the matchup in the control file, "" without one
    terms     of the first player: "as Black", or `terms_in_turn`
    limit     games at the end, as known now; None for no limit
    finished  whether all games have been played
    stop      the state of a precision, ladder or race in words, "" without one
    even_at   the result of a ladder in words, "" without one
    accepted  the decision of what ends the games, "" for none
    """

    players: tuple[str, str]
    estimate: EloEstimate | None
    points: float
    known: int
    games: int
    limit: int | None
    finished: bool
    sprt: SprtReport | None = None
    name: str = ""
    terms: str = ""
    stop: str = ""
    even_at: str = ""
    accepted: str = ""

    @property
    def sign(self) -> int:
        """1 or -1 where the first or the second player is shown to be better, else 0."""
        if self.estimate is not None:
            sign = self.estimate.sign
        else:
            low, high = share_ends(self.points, self.known)
            sign = (low > 0.5) - (high < 0.5)
        if self.sprt is None:
            return sign
        match self.sprt.accepted:
            case "H1":
                return 1 if self.sprt.test.elo0 >= 0 else max(sign, 0)
            case "H0":
                return -1 if self.sprt.test.elo1 <= 0 else min(sign, 0)
        # an undecided test may still go either way, one that reached the limit will not
        return sign if self.finished else 0

    @property
    def decided(self) -> bool:
        """Return whether the difference is shown, or the test has ended."""
        return bool(self.sign) or self.decided_by_test

    @property
    def clearness(self) -> float:
        """The distance of the interval from 0 in Elo, negative where it includes 0."""
        if self.estimate is None or not self.estimate.known:
            return float("-inf")
        return max(self.estimate.low, -self.estimate.high)

    @property
    def after(self) -> str:
        """The number of games: "after 412 of 20,000 games"."""
        return f"after {games_of(self.games, None if self.finished else self.limit)}"

    @property
    def when(self) -> str:
        """The number of games and their common terms, with the state of the test."""
        terms = f" {self.terms}" if self.terms and self.estimate is not None else ""
        if self.sprt is None:
            return f"{self.after}{terms}{self.stop and f' ({self.stop})'}"
        decided = self.sprt.games_at_decision
        if decided is not None:
            return f"SPRT accepted {self.sprt.accepted} after {games_of(decided)}{terms}"
        return f"SPRT undecided (LLR {self.sprt.llr:.2f}) {self.after}{terms}"

    def figures(self, estimate: EloEstimate) -> str:
        """Return the estimate, else the score, with the number of games."""
        return f"{estimate if estimate.is_telling else self.score}, {self.when}"

    def sentence(self, *, alone: bool = True) -> str:
        """Return the result in words; both players are named unless `alone`."""
        first, second = self.players
        if not self.known:
            what = "no known result" if self.games else "no result yet"
            return f"{what}: {first} v {second}, {self.after}"
        if self.estimate is None:
            return self.difference
        if self.sign:
            # tables have the first player first, too
            word = "better" if self.sign > 0 else "weaker"
            than = "" if alone else f" than {second}"
            so_far = "" if self.finished or self.decided_by_test else " so far"
            return f"{first} is {word}{than}{so_far}: {self.figures(self.estimate)}"
        if self.decided_by_test:
            assert self.sprt is not None
            return f"{self.sprt.conclusion}: {self.figures(self.estimate)}"
        return f"not decided{'' if self.finished else ' yet'}: {self.difference}"

    @property
    def decided_by_test(self) -> bool:
        return self.sprt is not None and self.sprt.decision is not None

    @property
    def difference(self) -> str:
        """The estimate in words, whatever it shows."""
        first, second = self.players
        if self.even_at:
            return f"{self.even_at}, {self.when}"
        if self.estimate is None:
            share = share_interval(self.points, self.known)
            terms = self.terms and f" {self.terms}"
            return f"{first} scores {share}{terms} against {second}, {self.when}"
        if not self.estimate.is_telling:
            return f"{first} v {second} {self.score}, {self.when}; no Elo interval"
        return f"{first} over {second} {self.figures(self.estimate)}"

    @property
    def score(self) -> str:
        """The points of both players: "7.5-4.5"."""
        return f"{self.points:g}-{self.known - self.points:g}"


def terms_in_turn(settings: GameSettings) -> str:
    """Return "with 3 handicap stones to each in turn", "" without a handicap."""
    handicap = settings.handicap
    return f"with {handicap} handicap stones to each in turn" if handicap else ""


def games_of(games: int, total: int | None = None) -> str:
    """Return "412 of 20,000 games".

    total  None for no limit, or where all have been played
    """
    if total is None:
        return counted(games, "game")
    return f"{games:,} of {counted(total, 'game')}"


def matches_verdict(matches: Sequence[MatchResult]) -> str:
    """Return the verdict on matchups: the number of decided ones and the clearest of them."""
    if len(matches) == 1:
        return matches[0].sentence()
    if not matches:
        return "nothing to play: every matchup is switched off"
    if not any(match.known for match in matches):
        return f"no result yet in {counted(len(matches), 'matchup')}"
    tests = [m for m in matches if m.estimate is not None and m.known and m.sprt is None]
    # of many matchups, chance decides some
    p_values = [m.estimate.p_value for m in tests if m.estimate is not None]
    shown = {id(m) for m, is_shown in zip(tests, holm(p_values), strict=True) if is_shown}
    shown |= {id(m) for m in matches if m.even_at and m.accepted}
    decided = [m for m in matches if id(m) in shown or (m.sprt is not None and m.decided)]
    finished = all(match.finished for match in matches)
    clearest = max(
        decided or [match for match in matches if match.known],
        key=lambda match: (match.clearness, match.known),
    )
    total = counted(len(matches), "matchup")
    alone = any(match.sign for match in tests)
    corrected = " (corrected for their number)" if alone and len(tests) > 1 else ""
    # several matchups may have the same players
    name = clearest.name and f"{clearest.name}: "
    if decided:
        count = f"{len(decided):,} of {total} decided{corrected}"
        return f"{count}; {name}{clearest.sentence(alone=False)}"
    count = f"none of {total} decided{'' if finished else ' yet'}{corrected}"
    return f"{count}; {name}{clearest.difference}"


#: Most players named that share a place.
_MOST_NAMES = 3


def leader_verdict(
    leaders: Sequence[str],
    second: str,
    lead: EloEstimate | None,
    *,
    games: int,
    total: int | None,
    finished: bool,
    rivals: int,
    prior: bool = False,
) -> str:
    """Return the verdict on a tournament.

    leaders  the players on the first place
    second   the player after the first one, perhaps on the same place
    lead     rating of the first one over the second, None where it is unknown
    games, total  counted games, and games at the end (None: no limit)
    rivals   players that might have come first instead
    prior    whether the ratings have a weak prior
    """
    if not games:
        return f"no result yet, after {games_of(games, total)}"
    after = f"after {games_of(games, None if finished else total)}"
    first = leaders[0]
    if lead is None or not lead.is_telling:
        figures = f"no Elo interval, {after}"
    else:
        figures = f"{lead}{', with a weak prior' if prior else ''}, {after}"
    if len(leaders) > 1:
        names = " and ".join(leaders)
        if len(leaders) > _MOST_NAMES:
            names = f"{len(leaders)} players"
        shares = "share the first place" if finished else "lead together"
        return f"{names} {shares}; {first} over {second}: {figures}"
    leads = "won" if finished else "leads"
    # the first of many is selected (Bonferroni)
    if lead is not None and lead.sign > 0 and lead.p_value <= 0.05 / rivals:
        so_far = "" if finished else " so far"
        return f"{first} {leads} and is better than {second}{so_far}: {figures}"
    undecided = "not decided" if finished else "not decided yet"
    return f"{first} {leads}, {undecided} against {second}: {figures}"


def next_command(code: str, action: str) -> str:
    """Return the end of a verdict with the next command."""
    return f"; next: ringmaster {code}.ctl {action}"
