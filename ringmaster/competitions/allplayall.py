"""allplayall: every competitor meets every other, on the same terms."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, ClassVar

from ringmaster.competitions.anchor import ANCHOR_SETTING, check_anchor
from ringmaster.competitions.common import COMMON_SETTINGS
from ringmaster.competitions.competitors import EVEN_GAME_SETTINGS, ROUNDS_SETTING, roster
from ringmaster.competitions.game_settings import make_game_settings
from ringmaster.competitions.sequential import SPRT_SETTING
from ringmaster.competitions.standings import Standings, letters
from ringmaster.competitions.tournament import Tournament
from ringmaster.model.report import Report
from ringmaster.model.settings import Setting


class AllPlayAll(Tournament):
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
        ANCHOR_SETTING,
    )

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self.competitors: tuple[str, ...] = values["competitors"]
        settings = make_game_settings(self._game, values)
        players = self._different_players(competitors=self.competitors)
        check_anchor(values["anchor"], self.competitors)
        for (i, first), (j, second) in combinations(enumerate(players), 2):
            self._add(
                f"{letters(i)}v{letters(j)}",
                None,
                (first, second),
                settings,
                values["openings"],
                alternating=True,
                number_of_games=values["rounds"],
                sprt=values["sprt"],
            )

    def _standings(self) -> Standings:
        return Standings(self.competitors, self.tallies.values(), self.values["anchor"])

    def live_report(self) -> Report:
        return Report((self._standings().grid(), *self._test_tables()))

    def report(self) -> Report:
        return Report((*self._standings().tables(), *self._tables(unplayed=False)))

    def summary(self) -> dict[str, Any]:
        return {**super().summary(), **self._standings().summary()}
