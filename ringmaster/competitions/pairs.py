"""Games counted in pairs: one opening, both colours."""

from __future__ import annotations

import msgspec

from ringmaster.stats import elo


class Pairs(msgspec.Struct):
    """Results by pairs, of constant size.

    counts  pairs by the points of the first side: 0, ½, 1, 1½, 2
    half    pairs of which one game has come back: pair number → points
    """

    counts: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0, 0, 0])
    half: dict[str, float] = msgspec.field(default_factory=dict)

    def take(self, pair: int, points: float) -> None:
        """Count a game of a pair; its games may come back in any order."""
        before = self.half.pop(str(pair), None)
        if before is None:
            self.half[str(pair)] = points
        else:
            self.counts[round(2 * (before + points))] += 1

    @property
    def games(self) -> int:
        """Games that have been counted, halves of open pairs included."""
        return 2 * sum(self.counts) + len(self.half)

    def are_all(self, known: int, completed: int) -> bool:
        """Whether all games of a matchup are counted here: of `completed` games as
        many have a result (`known`), and all were played in pairs."""
        return sum(self.counts) > 0 and self.games == known == completed

    def turned(self) -> Pairs:
        """Return the same results as seen by the other side."""
        half = {pair: 1 - points for pair, points in self.half.items()}
        return Pairs(self.counts[::-1], half)

    def estimate(self) -> elo.EloEstimate:
        """Return the first side's Elo over the other, from complete pairs."""
        return elo.from_pairs(self.counts)

    def normalized(self) -> elo.NormalizedElo:
        """Return the same in normalised Elo."""
        return elo.normalized_from_pairs(self.counts)
