"""playoff: declared matchups, each with its own settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from ringmaster.competitions.common_settings import COMMON_SETTINGS, noting, placed, settings_within
from ringmaster.competitions.game_settings import GAME_SETTINGS, make_game_settings
from ringmaster.competitions.matchup_sprt import SPRT_SETTING
from ringmaster.competitions.setting_types import ending_setting, is_endless, limit_of, optional
from ringmaster.competitions.tally import Tally
from ringmaster.competitions.tournaments.matchup import Matchup
from ringmaster.competitions.tournaments.scheduling import WITHDRAWN_SETTING, strangers
from ringmaster.competitions.tournaments.standings import ANCHOR_SETTING, Standings
from ringmaster.competitions.tournaments.tournament import Tournament
from ringmaster.errors import SettingError, SettingErrors
from ringmaster.model.players import SECOND_SELF
from ringmaster.model.report import Report
from ringmaster.model.settings import (
    INHERITED,
    Boolean,
    CallOf,
    Identifier,
    Integer,
    ListOf,
    Setting,
    String,
)

#: Settings of one matchup or, at top level, of all.
MATCHUP_SETTINGS: tuple[Setting, ...] = (
    *GAME_SETTINGS,
    optional(
        "alternating",
        Boolean(),
        "Swap colours from game to game (by default, but not in Go without openings).",
    ),
    ending_setting(
        "number_of_games",
        Integer(minimum=0),
        "Games to play; 0 switches a matchup off and keeps its results",
    ),
    SPRT_SETTING,
)

_TOP_LEVEL = frozenset({"game", *(setting.name for setting in MATCHUP_SETTINGS)})


#: Its value is a dictionary of the arguments without those of the top level.
MATCHUP = CallOf(
    "Matchup",
    (
        Setting("p1", Identifier(), "Code of the first mover, unless colours alternate."),
        Setting("p2", Identifier(), "Code of the second player."),
        optional("id", Identifier(), "Short name, used in game ids."),
        optional("name", String(), "Name in reports.", change="report"),
        *(Setting(s.name, s.type, s.help, INHERITED, s.change) for s in MATCHUP_SETTINGS),
    ),
    lambda values, context: {k: v for k, v in values.items() if v is not INHERITED},
    positional=("p1", "p2"),
)


class Playoff(Tournament):
    type_name: ClassVar[str] = "playoff"
    table: ClassVar[tuple[Setting, ...]] = (
        *COMMON_SETTINGS,
        *MATCHUP_SETTINGS,
        Setting(
            "matchups",
            ListOf(MATCHUP, minimum=1),
            "Matchups to play.  They may be added, changed and removed between runs; their players "
            "may not be changed.",
        ),
        WITHDRAWN_SETTING,
        ANCHOR_SETTING,
    )

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        errors: list[SettingError] = []
        for i, definition in enumerate(values["matchups"]):
            with noting(errors):
                self._add_matchup(i, definition)
        codes = [definition[name] for definition in values["matchups"] for name in ("p1", "p2")]
        errors += strangers(values, values["players"], dict.fromkeys(codes))
        if errors:
            raise SettingErrors(errors)

    def _add_matchup(self, index: int, definition: Mapping[str, Any]) -> None:
        place = ("matchups", index)
        id = definition["id"] or str(index)
        if id.startswith(".") or len(id) > 50:
            raise SettingError(
                (*place, "id"),
                f"matchup id {id!r} cannot be part of a file name",
                "at most 50 characters, the first no full stop",
            )
        if id in self.matchups:
            raise SettingError((*place, "id"), f"matchup id {id!r} is used twice", "unique ids")
        values = settings_within(self.values, definition)
        try:
            settings = make_game_settings(self._game, values)
        except SettingError as error:
            name = error.path[0] if error.path else None
            # a value from the top level
            if name in _TOP_LEVEL and name not in definition:
                raise
            raise error.under(*place) from None
        with placed(*place):
            number_of_games = limit_of(values, "number_of_games")
        if is_endless(values, "number_of_games"):
            self._endless.add(id)
        alternating = values["alternating"]
        if alternating is None:
            alternating = self._game != "go" or values["openings"] is not None
        one, other = definition["p1"], definition["p2"]
        first = self._player(one, (*place, "p1"), values)
        second = self._player(other, (*place, "p2"), values, second_self=one == other)
        matchup = Matchup(
            id=id,
            given_name=definition["name"],
            players=(first, second),
            settings=settings,
            book=self._book(values["openings"], settings),
            tally=Tally((first.code, second.code)),
            limit=number_of_games,
            alternating=alternating,
            sprt=values["sprt"],
        )
        self._add(matchup)

    def _full_report(self) -> Report:
        report = super()._full_report()
        standings = self._standings
        if standings is None:
            return report
        return Report((*report.blocks, standings.grid(), *standings.rating_tables()))

    @cached_property
    def _standings(self) -> Standings | None:
        """Standings of three or more players, if all games have the same settings."""
        # a player's games against itself are no comparison
        others = [m for m in self.matchups.values() if not m.codes[1].endswith(SECOND_SELF)]
        matchups = [m for m in others if self.tallies[m.id].known]
        codes = dict.fromkeys(code for m in matchups for code in m.codes)
        if len(codes) < 3 or not all(_alike(m, matchups[0]) for m in matchups):
            return None
        variants = {id(player) for m in matchups for player in m.players}
        if len(variants) > len(codes):  # a player has other limits or options in some matchup
            return None
        tallies = [self.tallies[m.id] for m in matchups]
        return Standings(list(codes), tallies, self.values["anchor"])


def _alike(one: Matchup, other: Matchup) -> bool:
    return one.even and one.settings == other.settings and one.book is other.book
