"""Verify(…) of a control file: the settings of a closing match, and players with its limits."""

from __future__ import annotations

from typing import Any

import msgspec

from ringmaster.competitions.common_settings import LIMIT_NAMES, LIMITS, check_player, placed
from ringmaster.competitions.matchup_sprt import SPRT_SETTING
from ringmaster.competitions.opening_settings import OPENINGS, OpeningsSettings, describe_openings
from ringmaster.competitions.setting_types import optional
from ringmaster.model.players import Player
from ringmaster.model.settings import (
    INVALID,
    CallOf,
    Context,
    Identifier,
    Integer,
    Setting,
    SettingPath,
)
from ringmaster.model.time_control import TimeControl
from ringmaster.stats.sprt import Sprt

#: Value of `against` for the start values.
START = "start"
MOST_GAMES = 10**9


class VerifySettings(msgspec.Struct, frozen=True):
    """Verify(…) of a control file.

    games     most games
    against   START, or the code of a player; "" for the default of the type
    time_control, move_time, nodes, depth, visits, playouts
              limits of both sides; all None: the players' limits in the tune
    time_controls  weights of time controls, {} for only the players' limits
    openings  a separate book; None: the tune's, after its own openings
    """

    games: int
    sprt: Sprt | None = None
    against: str = START
    time_control: TimeControl | None = None
    move_time: float | None = None
    nodes: int | None = None
    depth: int | None = None
    visits: int | None = None
    playouts: int | None = None
    openings: OpeningsSettings | None = None
    time_controls: dict[str, float] = {}

    @property
    def limits(self) -> dict[str, Any]:
        """The limits that replace those of both sides, {} for none."""
        limits = {name: getattr(self, name) for name in LIMIT_NAMES}
        return limits if any(value is not None for value in limits.values()) else {}

    @property
    def conditions(self) -> str:
        """The conditions of the games as text, "" for those of the tune."""
        words = {
            "time_control": "{}",
            "move_time": "{:g} s a move",
            "nodes": "{} nodes",
            "depth": "depth {}",
            "visits": "{} visits",
            "playouts": "{} playouts",
        }
        limits = [words[n].format(value) for n, value in self.limits.items() if value is not None]
        limits += [f"{text} (weight {weight:g})" for text, weight in self.time_controls.items()]
        openings = [
            str(value) if name == "file" else f"{name} {value}"
            for name, value in describe_openings(self.openings).items()
        ]
        parts = {"limits": limits, "openings": openings}
        return "   ".join(f"{name}: {', '.join(words)}" for name, words in parts.items() if words)


#: Settings of the action `verify` for a control file without Verify(…).
DEFAULT = VerifySettings(1000, Sprt(0.0, 10.0))


class PairedGames(Integer):
    """An even number of games, since games are played in pairs."""

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        games = super().interpret(value, path, context)
        if games is not INVALID and games % 2:
            expected = "an even number: games are played in pairs"
            return context.refuse(path, f"{games} is odd", expected)
        return games


VERIFY = CallOf(
    "Verify",
    (
        Setting(
            "games", PairedGames(minimum=2, maximum=MOST_GAMES), "Most games of the closing match."
        ),
        SPRT_SETTING,
        Setting(
            "against",
            Identifier(),
            "Opponent of the tuned values: 'start', the start values of the tune, or a player's "
            "code; by default 'start', in a clop_tuner the first opponent of the tune.",
            "",
        ),
        msgspec.structs.replace(
            LIMITS[0],
            help="Clock of both sides.  If this or one of the next five is set, they replace "
            "the players' limits in the tune.",
        ),
        *LIMITS[1:],
        optional(
            "openings",
            OPENINGS,
            "Start positions of the closing match; by default the openings after those of the "
            "tune.",
        ),
    ),
    lambda values, context: VerifySettings(**values),
    positional=("games",),
)


def limited(player: Player, settings: VerifySettings) -> Player:
    """Return a player with the limits of the match.  Raises SettingError for unsupported ones."""
    if not settings.limits:
        return player
    player = msgspec.structs.replace(player, **settings.limits)
    # the other arguments were checked before
    with placed("verify"):
        check_player(player)
    return player
