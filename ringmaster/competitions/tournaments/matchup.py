"""A matchup: its settings, its counted results, and the games still to play."""

from __future__ import annotations

import msgspec

from ringmaster.competitions.competition import MatchupInfo
from ringmaster.competitions.matchup_sprt import SprtProgress, SprtReport, fault_warning
from ringmaster.competitions.opening_settings import OpeningBook
from ringmaster.competitions.result_lines import (
    VoidKinds,
    count_void,
    expected_repeats,
    repeats_warning,
    void_excess,
)
from ringmaster.competitions.verdicts import MatchResult
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import SECOND_SELF, Player
from ringmaster.model.results import STANDSTILL, GameResult
from ringmaster.stats import elo
from ringmaster.stats.sprt import Sprt


def base_code(code: str) -> str:
    """Return a player's code in the control file, also for its second self."""
    return code.removesuffix(SECOND_SELF)


class Pairs(msgspec.Struct):
    """Results by pairs of games with one opening and both colours.

    counts  pairs by the points of the first side: 0, ½, 1, 1½, 2
    half    points of pairs with one result, by the pair's number
    """

    counts: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0, 0, 0])
    half: dict[str, float] = msgspec.field(default_factory=dict)

    def record_result(self, pair: int, points: float) -> None:
        """Count a game of a pair, in any order."""
        before = self.half.pop(str(pair), None)
        if before is None:
            self.half[str(pair)] = points
        else:
            self.counts[round(2 * (before + points))] += 1

    @property
    def games(self) -> int:
        """Counted games, including those of open pairs."""
        return 2 * sum(self.counts) + len(self.half)

    def are_all(self, known: int, completed: int) -> bool:
        """Whether all `completed` games of a matchup have a result and belong to a pair.

        known  games with a result
        """
        return sum(self.counts) > 0 and self.games == known == completed

    def turned(self) -> Pairs:
        """Return the results from the other side's view."""
        half = {pair: 1 - points for pair, points in self.half.items()}
        return Pairs(self.counts[::-1], half)

    def estimate(self) -> elo.EloEstimate:
        """Return the first side's Elo difference, from complete pairs."""
        return elo.from_pairs(self.counts)

    def normalized(self) -> elo.NormalizedElo:
        """Return the first side's difference in normalised Elo."""
        return elo.normalized_from_pairs(self.counts)


class Tally(msgspec.Struct):
    """Counted results of two players; its size does not depend on the number of games.

    The order of `players` never changes, whatever the control file's order.  Lists and
    the `b` of tickets refer to it.

    next           number of the next game
    by_colour      for each colouring (0: the first player moved first, 1: the second):
                   wins of the first player, wins of the second, draws, unknown results
    forfeits       games lost by a fault, by player
    forfeit_kinds  the same by player and fault
    unknown_kinds  games with an unknown result by reason
    cpu, timed     CPU seconds by player, and the number of games with a measurement
    pairs          the first player's results by pairs, where colours alternate
    void_excess    of void games over counted ones lately (`result_lines.void_excess`)
    void_kinds     void games by faulty player and reason
    endings        games by ending: {"mate": 12, "time": 1}
    trial          progress of the sequential test (its stored name), None without a test
    repeats        games with the same moves and colours as an earlier game
    """

    players: tuple[str, str]
    next: int = 0
    by_colour: list[list[int]] = msgspec.field(default_factory=lambda: [[0, 0, 0, 0], [0, 0, 0, 0]])
    forfeits: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    forfeit_kinds: list[dict[str, int]] = msgspec.field(default_factory=lambda: [{}, {}])
    unknown_kinds: dict[str, int] = msgspec.field(default_factory=dict)
    void: int = 0
    void_excess: int = 0
    cpu: list[float] = msgspec.field(default_factory=lambda: [0.0, 0.0])
    timed: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    pairs: Pairs = msgspec.field(default_factory=Pairs)
    endings: dict[str, int] = msgspec.field(default_factory=dict)
    trial: SprtProgress | None = None
    repeats: int = 0
    void_kinds: VoidKinds = msgspec.field(default_factory=dict)

    def total(self, column: int) -> int:
        """Return a column of `by_colour`, both colourings together."""
        return self.by_colour[0][column] + self.by_colour[1][column]

    @property
    def completed(self) -> int:
        """Games that are not void, including unknown results."""
        return sum(map(sum, self.by_colour))

    def has(self, player: str) -> bool:
        """Return whether a player, or its second self, plays here."""
        return player in map(base_code, self.players)

    @property
    def known(self) -> int:
        """Games with a result."""
        return self.completed - self.total(3)

    def points(self, player: int) -> float:
        """Return a player's (0, 1) wins plus half its draws."""
        return self.total(player) + self.total(2) / 2

    def record_result(self, result: GameResult, first_mover: int, pair: int | None) -> None:
        """Count a result; `first_mover` is the player (0, 1) that moved first."""
        void = result.outcome == "void"
        self.void_excess = void_excess(self.void_excess, result)
        seat = (0, 1) if first_mover == 0 else (1, 0)
        if void:
            self.void += 1
            count_void(self.void_kinds, result, [self.players[index] for index in seat])
            return
        ending = result.reason or "other"
        if result.winner is not None:
            column = seat[result.winner]
            if result.forfeit:
                self.forfeits[1 - column] += 1
                _count(self.forfeit_kinds[1 - column], result.reason or "other")
        elif result.outcome == "draw":
            column = 2
        else:
            column = 3
            ending = ending if result.reason == "move limit" else "not scored"
            _count(self.unknown_kinds, ending)
        self.by_colour[first_mover][column] += 1
        self.repeats += result.repeats
        _count(self.endings, ending)
        for index, used in enumerate(result.usage):
            if used.cpu_time is not None:
                self.cpu[seat[index]] += used.cpu_time
                self.timed[seat[index]] += 1
        if pair is not None:
            self.pairs.record_result(pair, result.points(seat.index(0)))

    @property
    def in_pairs(self) -> bool:
        """Whether all games were played in pairs and have a result."""
        return self.pairs.are_all(self.known, self.completed)

    def estimate(self) -> elo.EloEstimate:
        """Return the first player's Elo difference: by pairs where possible, else by games."""
        if self.in_pairs:
            return self.pairs.estimate()
        return elo.from_games(self.total(0), self.total(2), self.total(1))

    def normalized(self) -> elo.NormalizedElo:
        """Return the first player's difference in normalised Elo."""
        if self.in_pairs:
            return self.pairs.normalized()
        return elo.normalized_from_games(self.total(0), self.total(2), self.total(1))

    def match_result(
        self,
        *,
        even: bool,
        limit: int | None,
        finished: bool,
        sprt: SprtReport | None,
        name: str = "",
    ) -> MatchResult:
        """Return the first player's result for a verdict.

        even  whether the score measures strength
        name  of the matchup, "" without one
        """
        return MatchResult(
            self.players,
            self.estimate() if even else None,
            self.points(0),
            self.known,
            self.completed,
            limit,
            finished,
            sprt,
            name,
        )

    def counts_for(self, progress: SprtProgress) -> list[int]:
        """Return a test's counts, from the worst result of its first player to the best.

        The counts are of complete pairs, or of games.  An unknown result is half a point.
        """
        tally = self if self.players[0] == progress.first else self.turned()
        if progress.in_pairs:
            return list(tally.pairs.counts)
        return [tally.total(1), tally.total(2) + tally.total(3), tally.total(0)]

    def judge(self) -> bool:
        """Update the test, if any.  Return whether the latest results decide it."""
        return self.trial is not None and self.trial.judge(self.counts_for(self.trial))

    def turned(self) -> Tally:
        """Return the results from the second player's view."""
        return msgspec.structs.replace(
            self,
            players=self.players[::-1],
            by_colour=[[c[1], c[0], c[2], c[3]] for c in reversed(self.by_colour)],
            forfeits=self.forfeits[::-1],
            forfeit_kinds=self.forfeit_kinds[::-1],
            cpu=self.cpu[::-1],
            timed=self.timed[::-1],
            pairs=self.pairs.turned(),
        )


def _count(kinds: dict[str, int], kind: str) -> None:
    kinds[kind] = kinds.get(kind, 0) + 1


class GameSeries(msgspec.Struct, kw_only=True, eq=False):
    """The games that the present settings want of a tally.

    given_name   name in the control file, None without one
    codes        the players in the order of the settings; the first is tested
    limit        games to play, None for no limit
    alternating  whether games are played in pairs with both colours
    sprt         a test that ends the games: whether the first player is stronger
    open         numbers of issued games without a result
    closed       whether no more games are wanted: the round is over, or a player withdrew
    """

    id: str
    given_name: str | None = None
    settings: GameSettings
    tally: Tally
    codes: tuple[str, str]
    limit: int | None
    alternating: bool
    sprt: Sprt | None
    open: set[int]
    closed: bool = False

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
        """Return the first player's result for a verdict."""
        return self.results.match_result(
            even=self.even,
            limit=self.total(),
            finished=self.complete(),
            sprt=self.report(),
            name=self.given_name or "",
        )

    def info(self) -> MatchupInfo:
        """Return the matchup without its games."""
        return MatchupInfo(
            self.id,
            self.codes,
            self.name,
            self.settings,
            self.alternating,
            self.limit,
            self.report(),
        )

    def decision(self) -> SprtReport | None:
        """Update the test with a result.  Return its state if this result decides it."""
        is_judged = self.present_sprt_progress() is self.tally.trial and self.tally.judge()
        return self.report() if is_judged else None

    def wants(self, number: int) -> bool:
        """Return whether the settings want the game with this number."""
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
        """Return whether to issue a new game; after the test's decision, only to complete
        a pair."""
        number = self.tally.next
        if not self.wants(number):
            return False
        progress = self.present_sprt_progress()
        half = self.alternating and number % 2 == 1
        return progress is None or progress.decision is None or half

    def complete(self) -> bool:
        """Return whether every game has been played."""
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
        tally = self.tally
        counts = tally.counts_for(progress)
        forfeits = dict(zip(tally.players, tally.forfeits, strict=True))
        standstills = tally.void_kinds.get("", {}).get(STANDSTILL, 0)
        doubts = (
            fault_warning(tally.completed, forfeits, tally.void - standstills),
            repeats_warning(tally.repeats, tally.completed),
        )
        return SprtReport(
            progress.test,
            self.codes,
            tuple(counts),
            progress.llr(counts),
            progress.decision,
            self.complete(),
            tuple(filter(None, doubts)),
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


class Matchup(GameSeries, kw_only=True, eq=False):
    """Two players of the control file with the settings and results of their games.

    players  the first moves first in games with even numbers
    """

    players: tuple[Player, Player]
    book: OpeningBook

    def game_id(self, number: int) -> str:
        """Return the id of a new game, padded to the matchup's largest number.

        A change of `number_of_games` changes the width for later numbers only, so ids
        stay unique.
        """
        digits = len(str(self.limit - 1)) if self.limit else 1
        return f"{self.id}_{number:0{digits}d}"

    def pair(self, number: int) -> int | None:
        """Return the number of a game's pair, None for fixed colours."""
        return number // 2 if self.alternating else None

    def expected_repeats(self) -> str:
        """Return a warning that games will repeat, "" when they need not."""
        first, second = map(base_code, self.codes)
        colours = 2 if self.alternating and first != second else 1
        return expected_repeats(self.players, self.book.size, self.limit, colours)
