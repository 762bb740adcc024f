"""allplayall: every competitor meets every other, on the same terms."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, ClassVar

from ringmaster.competitions.anchor import ANCHOR_SETTING
from ringmaster.competitions.common import COMMON_SETTINGS
from ringmaster.competitions.competitors import (
    EVEN_GAME_SETTINGS,
    ROUNDS_SETTING,
    WITHDRAWN_SETTING,
    roster,
)
from ringmaster.competitions.roster_tournament import RosterTournament
from ringmaster.competitions.sequential import SPRT_SETTING
from ringmaster.competitions.standings import Standings, letters
from ringmaster.model.report import Report
from ringmaster.model.settings import Setting


class AllPlayAll(RosterTournament):
    """A matchup for every two competitors, the first of them to move first in
    even rounds.  Its id has their letters: AvB, AvC, BvC."""

    type_name: ClassVar[str] = "allplayall"
    rosters = ("competitors",)
    table: ClassVar[tuple[Setting, ...]] = (
        *COMMON_SETTINGS,
        *EVEN_GAME_SETTINGS,
        roster("competitors", "Codes of the players that take part", minimum=2),
        ROUNDS_SETTING,
        SPRT_SETTING,
        WITHDRAWN_SETTING,
        ANCHOR_SETTING,
    )

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._check_players(competitors=values["competitors"])
        self._pair_all()

    @property
    def competitors(self) -> tuple[str, ...]:
        """All that have ever taken part."""
        return self._field.entered["competitors"]

    def _pair_all(self) -> None:
        for (i, first), (j, second) in combinations(enumerate(self.competitors), 2):
            self._add_even(f"{letters(i)}v{letters(j)}", first, second)

    def _standings(self) -> Standings:
        return Standings(self.competitors, self.tallies.values(), self.values["anchor"])

    def live_report(self) -> Report:
        return Report((self._standings().grid(self._notes()), *self._test_tables()))

    def report(self) -> Report:
        return Report(
            (
                *self._standings().tables(self._notes()),
                *self._tables(unplayed=False),
                *self._deleted_tables(),
            )
        )

    def summary(self) -> dict[str, Any]:
        standings = self._standings()
        return {**super().summary(), **standings.summary(), "ranking": standings.ranking_data()}
