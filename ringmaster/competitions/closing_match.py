"""The closing match of a tune: the tuned against the start values."""

from __future__ import annotations

from typing import Any

import msgspec

from ringmaster.competitions.pairs import Pairs
from ringmaster.errors import SettingError
from ringmaster.model.settings import CallOf, Context, Integer, Setting
from ringmaster.stats import elo


class VerifySettings(msgspec.Struct, frozen=True):
    """Verify(…) of a control file."""

    games: int


def _build_verify(values: dict[str, Any], context: Context) -> VerifySettings:
    if values["games"] % 2:
        raise SettingError(
            ("games",), f"{values['games']} is odd", "an even number: games are played in pairs"
        )
    return VerifySettings(values["games"])


VERIFY = CallOf(
    "Verify",
    (Setting("games", Integer(minimum=2, maximum=10**9), "Games of the closing match."),),
    _build_verify,
    positional=("games",),
)


class Match(msgspec.Struct):
    """A closing match: `values` against the start values, on fresh openings.

    told     iterations that the values are of
    results  the tuned side's wins, draws, losses
    pairs    the same by pairs
    """

    values: list[float]
    told: int
    next: int = 0
    results: list[int] = msgspec.field(default_factory=lambda: [0, 0, 0])
    pairs: Pairs = msgspec.field(default_factory=Pairs)

    @property
    def completed(self) -> int:
        """Games with a result."""
        return sum(self.results)

    def take(self, number: int, points: float) -> None:
        """Count a game of the match by the tuned side's points."""
        self.results[{1.0: 0, 0.5: 1, 0.0: 2}[points]] += 1
        self.pairs.take(number // 2, points)

    def estimate(self) -> elo.EloEstimate:
        """Return the tuned side's Elo over the start values."""
        return self.pairs.estimate()
