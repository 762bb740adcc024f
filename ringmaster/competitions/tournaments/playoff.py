"""playoff: declared matchups, each with its own settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.common_settings import COMMON_SETTINGS, noting, placed, settings_within
from ringmaster.competitions.game_settings import GAME_SETTINGS, make_game_settings
from ringmaster.competitions.matchup_sprt import END_SETTINGS, RACE_SETTING, end_of
from ringmaster.competitions.setting_types import ending_setting, is_endless, limit_of, optional
from ringmaster.competitions.tally import Tally
from ringmaster.competitions.tournaments.matchup import Matchup
from ringmaster.competitions.tournaments.scheduling import WITHDRAWN_SETTING, strangers
from ringmaster.competitions.tournaments.stages import Stage, stages_of, stages_verdict
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
    SettingPath,
    String,
)
from ringmaster.stats.ladder import HandicapLadder
from ringmaster.stats.stopping import Precision, Race

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
    *END_SETTINGS,
)

_TOP_LEVEL = frozenset({"game", *(setting.name for setting in MATCHUP_SETTINGS)})


_INHERITED = tuple(msgspec.structs.replace(s, default=INHERITED) for s in MATCHUP_SETTINGS)


def _given(values: dict[str, Any], context: Context) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not INHERITED}


#: Its value is a dictionary of the arguments without those of the top level.
MATCHUP = CallOf(
    "Matchup",
    (
        Setting("p1", Identifier(), "Code of the first mover, unless colours alternate."),
        Setting("p2", Identifier(), "Code of the second player."),
        optional("id", Identifier(), "Short name, used in game ids."),
        optional("name", String(), "Name in reports.", change="report"),
        *_INHERITED,
    ),
    _given,
    positional=("p1", "p2"),
)

#: Its value is a dictionary of the same kind.
STAGE = CallOf(
    "Stage",
    (
        Setting("name", String(), "Name in reports, conditions and game ids."),
        optional(
            "only_if",
            String(),
            'Condition of the stage: ``"NAME passed"``, ``"NAME failed"`` or ``"NAME ended"`` of '
            "an earlier stage.  By default the stage before must have ended.",
        ),
        *_INHERITED,
    ),
    _given,
    positional=("name",),
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
        Setting(
            "stages",
            ListOf(STAGE),
            "Parts of each matchup, played in order; their settings stand over those of the "
            "matchup and the top level.  They may be added, changed and removed between runs.",
            (),
        ),
        RACE_SETTING,
        WITHDRAWN_SETTING,
        ANCHOR_SETTING,
    )

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        #: The stages of each matchup.
        self._chains: list[list[Matchup]] = [[] for _ in values["matchups"]]
        stages = stages_of(values)
        errors: list[SettingError] = []
        for i, definition in enumerate(values["matchups"]):
            with noting(errors):
                for stage in stages:
                    self._add_stage(("matchups", i), definition, stage, self._chains[i])
        codes = [definition[name] for definition in values["matchups"] for name in ("p1", "p2")]
        errors += strangers(values, values["players"], dict.fromkeys(codes))
        if errors:
            raise SettingErrors(errors)
        candidates = [chain[0] for chain in self._chains]
        for candidate in candidates if values["race"] else ():
            candidate.race = candidates

    def _add_stage(
        self, place: SettingPath, definition: Mapping[str, Any], stage: Stage, chain: list[Matchup]
    ) -> None:
        """Add a stage of a matchup, or a matchup without stages, to its earlier ones."""
        id = definition["id"] or str(place[1])
        if stage.name:
            id += f"-{stage.slug}"
        if id.startswith(".") or len(id) > 50:
            raise SettingError(
                (*place, "id"),
                f"matchup id {id!r} cannot be part of a file name",
                "at most 50 characters, the first no full stop",
            )
        if id in self.matchups:
            raise SettingError((*place, "id"), f"matchup id {id!r} is used twice", "unique ids")
        values = settings_within(settings_within(self.values, definition), stage.arguments)
        try:
            settings = make_game_settings(self._game, values)
            test = self.values["race"] if stage.place == ("race",) else end_of(values, settings)
        except SettingError as error:
            name = error.path[0] if error.path else None
            if name in stage.arguments:
                raise error.under(*stage.place) from None
            # a value from the top level
            if name in _TOP_LEVEL and name not in definition:
                raise
            raise error.under(*place) from None
        with placed(*(stage.place or place)):
            number_of_games = limit_of(values, "number_of_games")
        if is_endless(values, "number_of_games"):
            self._endless.add(id)
        alternating = values["alternating"]
        if alternating is None:
            with_openings = self._game != "go" or values["openings"] is not None
            alternating = with_openings and not isinstance(test, HandicapLadder)
        one, other = definition["p1"], definition["p2"]
        first = self._player(one, (*place, "p1"), values)
        second = self._player(other, (*place, "p2"), values, second_self=one == other)
        name = definition["name"]
        if stage.name:
            name = f"{name or f'{first.code} v {second.code}'}, {stage.name}"
        matchup = Matchup(
            id=id,
            given_name=name,
            players=(first, second),
            settings=settings,
            book=self._book(values["openings"], settings),
            tally=Tally((first.code, second.code)),
            limit=number_of_games,
            alternating=alternating,
            test=test,
            place=place,
            stage=stage.name,
            earlier=tuple(chain),
            after=(chain[stage.after], stage.outcome) if chain else None,
        )
        problem = remedy = ""
        if stage.name and number_of_games is None and test is None:
            problem, remedy = f"nothing ends the stage {stage.name!r}", "number_of_games or an sprt"
        elif isinstance(test, Precision | Race) and not matchup.alternating:
            problem, remedy = "these games show no Elo", "alternating=True"
        if problem:
            raise SettingError(stage.place or place, problem, remedy)
        self._add(matchup)
        chain.append(matchup)

    def _verdict(self) -> str:
        first = self._chains[0][0]
        alone = len(self._chains) == 1 or first.race
        return stages_verdict(self._chains) if first.stage and alone else super()._verdict()

    def _notes(self) -> tuple[str, ...]:
        delayed = [m for m in self.matchups.values() if m.delay]
        return (*super()._notes(), *(f"{m.name}: {m.state} ({m.remark})" for m in delayed))

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
        # earlier stages have chosen the players of later ones
        matchups = [m for m in others if self.tallies[m.id].known and m.after is None]
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
