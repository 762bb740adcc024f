"""The results of one matchup, counted: all that its report needs, of a size that
does not grow with the games."""

from __future__ import annotations

import msgspec

from ringmaster.competitions.pairs import Pairs
from ringmaster.competitions.sequential import Trial
from ringmaster.competitions.voids import VoidKinds, count_void
from ringmaster.model.results import GameResult
from ringmaster.stats import elo


class Tally(msgspec.Struct):
    """Counted results between two players, who keep their order for good: `b` of
    a ticket and every list here is by it, however the control file is edited.

    next       number of the game to issue next
    by_colour  for each colouring (0: the first player moved first, 1: the
               second did): wins of the first player, of the second, draws,
               unknown results
    forfeits, forfeit_kinds  games lost by a fault, by player; by the fault
    unknown_kinds  games without a result by what kept them from having one
    cpu, timed  seconds of CPU by player, and in how many games it was known
    pairs      the first player's results by pairs, where colours alternate
    void_kinds  void games by the player at fault and by reason
    endings    games by how they ended: {"mate": 12, "time": 1}
    trial      the sequential test of the matchup, if it has one
    repeats    games that repeat an earlier one of the matchup, move for move and with the
               same colours
    """

    players: tuple[str, str]
    next: int = 0
    by_colour: list[list[int]] = msgspec.field(default_factory=lambda: [[0, 0, 0, 0], [0, 0, 0, 0]])
    forfeits: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    forfeit_kinds: list[dict[str, int]] = msgspec.field(default_factory=lambda: [{}, {}])
    unknown_kinds: dict[str, int] = msgspec.field(default_factory=dict)
    void: int = 0
    void_in_a_row: int = 0
    cpu: list[float] = msgspec.field(default_factory=lambda: [0.0, 0.0])
    timed: list[int] = msgspec.field(default_factory=lambda: [0, 0])
    pairs: Pairs = msgspec.field(default_factory=Pairs)
    endings: dict[str, int] = msgspec.field(default_factory=dict)
    trial: Trial | None = None
    repeats: int = 0
    void_kinds: VoidKinds = msgspec.field(default_factory=dict)

    def total(self, column: int) -> int:
        """Return a column of `by_colour`, both colourings together."""
        return self.by_colour[0][column] + self.by_colour[1][column]

    @property
    def completed(self) -> int:
        """Games that are not void, those without a result included."""
        return sum(map(sum, self.by_colour))

    @property
    def known(self) -> int:
        """Games with a result."""
        return self.completed - self.total(3)

    def points(self, player: int) -> float:
        """Return wins and half the draws of a player (0, 1); a game without a
        result gives nothing to either."""
        return self.total(player) + self.total(2) / 2

    def take(self, result: GameResult, black: int, pair: int | None) -> None:
        """Count a result; `black` is the player (0, 1) who moved first."""
        void = result.outcome == "void"
        self.void_in_a_row = self.void_in_a_row + 1 if void else 0
        seat = (0, 1) if black == 0 else (1, 0)
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
        self.by_colour[black][column] += 1
        self.repeats += result.repeats
        _count(self.endings, ending)
        for index, used in enumerate(result.usage):
            if used.cpu_time is not None:
                self.cpu[seat[index]] += used.cpu_time
                self.timed[seat[index]] += 1
        if pair is not None:
            self.pairs.take(pair, result.points(seat.index(0)))

    @property
    def in_pairs(self) -> bool:
        """Whether all games were played in pairs and have a result."""
        return self.pairs.are_all(self.known, self.completed)

    def estimate(self) -> elo.EloEstimate:
        """Return the first player's Elo over the second: by pairs if all games
        were played in pairs and have a result, else by games with a result."""
        if self.in_pairs:
            return self.pairs.estimate()
        return elo.from_games(self.total(0), self.total(2), self.total(1))

    def normalized(self) -> elo.NormalizedElo:
        """Return the same in normalised Elo."""
        if self.in_pairs:
            return self.pairs.normalized()
        return elo.normalized_from_games(self.total(0), self.total(2), self.total(1))

    def counts_for(self, trial: Trial) -> list[int]:
        """Return what a test judges, from the worst result of its first player to
        the best: complete pairs, or all games; a game without a result is half a
        point."""
        seen = self if self.players[0] == trial.first else self.turned()
        if trial.in_pairs:
            return list(seen.pairs.counts)
        return [seen.total(1), seen.total(2) + seen.total(3), seen.total(0)]

    def judge(self) -> bool:
        """Look at the test, if there is one that is undecided; returns whether it
        is decided now."""
        return self.trial is not None and self.trial.judge(self.counts_for(self.trial))

    def turned(self) -> Tally:
        """Return the same results as seen by the second player."""
        return Tally(
            players=(self.players[1], self.players[0]),
            next=self.next,
            by_colour=[[c[1], c[0], c[2], c[3]] for c in reversed(self.by_colour)],
            forfeits=self.forfeits[::-1],
            forfeit_kinds=self.forfeit_kinds[::-1],
            unknown_kinds=self.unknown_kinds,
            void=self.void,
            void_in_a_row=self.void_in_a_row,
            cpu=self.cpu[::-1],
            timed=self.timed[::-1],
            pairs=self.pairs.turned(),
            endings=self.endings,
            trial=self.trial,
            repeats=self.repeats,
            void_kinds=self.void_kinds,
        )


def _count(kinds: dict[str, int], kind: str) -> None:
    # an engine has no say in the kinds: they are the referee's few terms
    kinds[kind] = kinds.get(kind, 0) + 1
