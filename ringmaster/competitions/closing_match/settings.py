"""Verify(…) of a control file."""

from __future__ import annotations

from typing import Any

import msgspec

from ringmaster.competitions.opening_settings import OPENINGS, OpeningsSettings
from ringmaster.competitions.players import TIME_CONTROL
from ringmaster.competitions.sequential import SPRT_SETTING
from ringmaster.errors import SettingError
from ringmaster.model.settings import (
    CallOf,
    Context,
    Float,
    Identifier,
    Integer,
    Maybe,
    Setting,
)
from ringmaster.model.time_control import LONGEST, TimeControl
from ringmaster.stats.sprt import Sprt

#: `against` for the values that the tune began with.
START = "start"
MOST_GAMES = 10**9


class VerifySettings(msgspec.Struct, frozen=True):
    """Verify(…) of a control file.

    games    the most that are played
    against  START, or the code of a player
    time_control, move_time, nodes, depth
             limits of both sides; all None: those they have in the tune
    openings a book of its own; None: the tune's, after those that the tune uses
    """

    games: int
    sprt: Sprt | None = None
    against: str = START
    time_control: TimeControl | None = None
    move_time: float | None = None
    nodes: int | None = None
    depth: int | None = None
    openings: OpeningsSettings | None = None

    @property
    def limits(self) -> dict[str, Any]:
        """The limits that both sides have in the place of their own, {} for none."""
        names = ("time_control", "move_time", "nodes", "depth")
        found = {name: getattr(self, name) for name in names}
        return found if any(value is not None for value in found.values()) else {}


#: What the action `verify` plays where the control file has no Verify(…).
DEFAULT = VerifySettings(1000, Sprt(0.0, 10.0))


def check_games(games: int) -> None:
    """Raises SettingError for a number of games that is no whole number of pairs."""
    if games % 2:
        raise SettingError(
            ("games",), f"{games} is odd", "an even number: games are played in pairs"
        )


def _build_verify(values: dict[str, Any], context: Context) -> VerifySettings:
    check_games(values["games"])
    return VerifySettings(**values)


VERIFY = CallOf(
    "Verify",
    (
        Setting(
            "games", Integer(minimum=2, maximum=MOST_GAMES), "Games of the closing match, at most."
        ),
        SPRT_SETTING,
        Setting(
            "against",
            Identifier(),
            "What the tuned values play: 'start', the values that the tune began with, or a "
            "player by its code.",
            START,
        ),
        Setting(
            "time_control",
            Maybe(TIME_CONTROL),
            "Clock of both sides.  Where this or one of the next three is given, these take "
            "the place of the limits that the players have in the tune.",
            None,
        ),
        Setting(
            "move_time",
            Maybe(Float(above=0, maximum=LONGEST)),
            "Seconds that both sides may take for a move.",
            None,
        ),
        Setting(
            "nodes",
            Maybe(Integer(minimum=1)),
            "Nodes that both sides may search (not over GTP).",
            None,
        ),
        Setting(
            "depth",
            Maybe(Integer(minimum=1)),
            "Depth that both sides may search (not over GTP).",
            None,
        ),
        Setting(
            "openings",
            Maybe(OPENINGS),
            "Start positions of the closing match; by default those of the event that come "
            "after the tune's.",
            None,
        ),
    ),
    _build_verify,
    positional=("games",),
)
