"""playoff: declared matchups, each with its own settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.common_settings import COMMON_SETTINGS, noting, settings_within
from ringmaster.competitions.game_settings import GAME_SETTINGS, make_game_settings
from ringmaster.competitions.matchup_sprt import SPRT_SETTING
from ringmaster.competitions.setting_types import ending_setting, is_endless, limit_of, optional
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
    Context,
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


class MatchupDefinition(msgspec.Struct, frozen=True):
    """A Matchup(…) of a control file.

    arguments  the arguments other than players, id and name, without defaults
    """

    first: str
    second: str
    id: str | None
    name: str | None
    arguments: Mapping[str, Any]

    def canonical(self) -> Mapping[str, Any]:
        names = {"p1": self.first, "p2": self.second, "id": self.id, "name": self.name}
        return {**names, **self.arguments}


def _build_matchup(values: dict[str, Any], context: Context) -> MatchupDefinition:
    arguments = {k: v for k, v in values.items() if v is not INHERITED}
    first, second = arguments.pop("p1"), arguments.pop("p2")
    return MatchupDefinition(first, second, arguments.pop("id"), arguments.pop("name"), arguments)


MATCHUP = CallOf(
    "Matchup",
    (
        Setting("p1", Identifier(), "Code of the first mover, unless colours alternate."),
        Setting("p2", Identifier(), "Code of the second player."),
        optional("id", Identifier(), "Short name, used in game ids."),
        optional("name", String(), "Name in reports.", change="report"),
        *(Setting(s.name, s.type, s.help, INHERITED, s.change) for s in MATCHUP_SETTINGS),
    ),
    _build_matchup,
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
        codes = [code for d in values["matchups"] for code in (d.first, d.second)]
        errors += strangers(values, values["players"], dict.fromkeys(codes))
        if errors:
            raise SettingErrors(errors)

    def _add_matchup(self, index: int, definition: MatchupDefinition) -> None:
        place = ("matchups", index)
        id = definition.id or str(index)
        if id.startswith(".") or len(id) > 50:
            raise SettingError(
                (*place, "id"),
                f"matchup id {id!r} cannot be part of a file name",
                "at most 50 characters, the first no full stop",
            )
        if id in self.matchups:
            raise SettingError((*place, "id"), f"matchup id {id!r} is used twice", "unique ids")
        values = settings_within(self.values, definition.arguments)
        try:
            settings = make_game_settings(self._game, values)
        except SettingError as error:
            name = error.path[0] if error.path else None
            # a value from the top level
            if name in _TOP_LEVEL and name not in definition.arguments:
                raise
            raise error.under(*place) from None
        try:
            number_of_games = limit_of(values, "number_of_games")
        except SettingError as error:
            raise error.under(*place) from None
        if is_endless(values, "number_of_games"):
            self._endless.add(id)
        alternating = values["alternating"]
        if alternating is None:
            alternating = self._game != "go" or values["openings"] is not None
        self._add(
            id,
            definition.name,
            (
                self._player(definition.first, (*place, "p1"), values),
                self._player(
                    definition.second,
                    (*place, "p2"),
                    values,
                    second_self=definition.first == definition.second,
                ),
            ),
            settings,
            values["openings"],
            alternating=alternating,
            number_of_games=number_of_games,
            sprt=values["sprt"],
        )

    def _full_report(self) -> Report:
        report = super()._full_report()
        standings = self._standings()
        if standings is None:
            return report
        return Report((*report.blocks, standings.grid(), *standings.rating_tables()))

    def _standings(self) -> Standings | None:
        """Return the standings of three or more players, if all games have the same settings."""
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
