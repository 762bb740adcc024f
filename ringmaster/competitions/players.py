"""Players as control files declare them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ringmaster.errors import SettingError
from ringmaster.model.players import PROTOCOL_OF_GAME, GameName, Player
from ringmaster.model.settings import (
    INVALID,
    Boolean,
    CallOf,
    Context,
    DictOf,
    FileName,
    Float,
    Integer,
    ListOf,
    Maybe,
    OneOf,
    Scalar,
    Setting,
    SettingPath,
    String,
    Words,
    listed,
)
from ringmaster.model.time_control import LONGEST, TimeControl, number
from ringmaster.model.wording import nearest, shown


class GtpCommand(Words):
    """A GTP command: a string, or a list of strings; becomes a tuple of words."""

    def describe(self) -> str:
        return "a GTP command: a string, or a list of strings"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        value = listed(value, path, context, self.describe())
        words = tuple(value.split()) if isinstance(value, str) else value
        if value is INVALID:
            return INVALID
        if isinstance(words, list | tuple) and any(
            not isinstance(w, str) or "\n" in w or "\r" in w for w in words
        ):
            return context.refuse(path, "a GTP command must be on one line", self.describe())
        return super().interpret(list(words) if isinstance(words, tuple) else words, path, context)


class GtpCommandName(String):
    """The name of a GTP command: one word."""

    def describe(self) -> str:
        return "the name of a GTP command, one word"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        name = super().interpret(value, path, context)
        if isinstance(name, str) and (len(name.split()) != 1 or name != name.strip()):
            return context.refuse(path, f"{shown(name)} is not one word", self.describe())
        return name


class PlayerDefinition(msgspec.Struct, frozen=True):
    """A Player(…) of a control file, before its code and game are known."""

    values: Mapping[str, Any]

    def canonical(self) -> Mapping[str, Any]:
        """Return the arguments, for the comparison of two runs."""
        return self.values

    def make(self, code: str, game: GameName) -> Player:
        """Return the player.  Raises SettingError, with a path that starts at
        the definition, for settings that do not go together."""
        values = dict(self.values)
        if values["protocol"] is None:
            values["protocol"] = PROTOCOL_OF_GAME[game]
        player = Player(code=code, **{k: v for k, v in values.items() if v is not None})
        if player.protocol != PROTOCOL_OF_GAME[game]:
            raise SettingError(
                ("protocol",),
                f"{game} is not played over {player.protocol}",
                repr(PROTOCOL_OF_GAME[game]),
            )
        check_player(player)
        if player.protocol == "gtp":
            return player
        limits = ("time_control", "nodes", "depth", "move_time")
        if all(values[name] is None for name in limits):
            raise SettingError(
                (), f"nothing limits the moves of player {code!r}", "one of " + ", ".join(limits)
            )
        return player


def check_player(player: Player) -> None:
    """Raise SettingError, with the path of an argument of Player(…), for what a
    player's protocol does not have."""
    {"gtp": _check_gtp, "uci": _check_uci, "usi": _check_usi}[player.protocol](player)


def _check_gtp(player: Player) -> None:
    """Raise SettingError for what GTP does not have."""
    for name in ("nodes", "depth"):
        if getattr(player, name) is not None:
            raise SettingError(
                (name,),
                f"{name} has no meaning over GTP",
                "the engine's own command line or startup_gtp_commands to limit it",
            )
    if player.options:
        raise SettingError(("options",), "GTP has no options", "startup_gtp_commands")
    if player.score_pov != "mover":
        raise SettingError(("score_pov",), "GTP has no scores", "'mover'")
    if player.ponder:
        raise SettingError(
            ("ponder",),
            "GTP has no pondering",
            "the engine's own command line or startup_gtp_commands to let it ponder",
        )
    control = player.time_control
    if control is not None and control.moves:
        raise SettingError(
            ("time_control",),
            f"GTP has no time control such as {control}",
            f"Canadian byo-yomi, '0+{control.moves}/{number(control.base)}'",
        )


def _check_uci(player: Player) -> None:
    """Raise SettingError for what UCI does not have."""
    control = player.time_control
    if control is not None and control.overtime:
        raise SettingError(
            ("time_control",),
            f"UCI has no byo-yomi such as {control}",
            "base+increment as '10+0.1', or moves/seconds as '40/60'",
        )


def _check_usi(player: Player) -> None:
    """Raise SettingError for what USI does not have."""
    control = player.time_control
    if control is None:
        return
    if control.moves:
        raise SettingError(
            ("time_control",),
            f"USI has no time control for a number of moves such as {control}",
            "base+increment as '600+10', or byo-yomi as '600+10byo'",
        )
    if control.stones or control.periods > 1:
        kind = "Canadian byo-yomi" if control.stones else "byo-yomi of several periods"
        raise SettingError(
            ("time_control",), f"USI has no {kind} such as {control}", "one period as '600+10byo'"
        )


def _parse_time_control(values: dict[str, Any], context: Context) -> TimeControl:
    return TimeControl.parse(values["text"])


TIME_CONTROL = CallOf(
    "TimeControl",
    (
        Setting(
            "text",
            String(),
            'Seconds: "10+0.1" (base+increment), "40/60" (moves/seconds), "600" (absolute); '
            'in shogi and Go "600+30byo" (byo-yomi, one period); in Go "600+5x30" (Japanese '
            'byo-yomi), "600+25/300" (Canadian).',
        ),
    ),
    _parse_time_control,
    positional=("text",),
    shorthand=True,
)


class _Command(Words):
    """A command; an executable with a slash in its name is a file of the
    competition directory."""

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        words = super().interpret(value, path, context)
        if isinstance(words, tuple) and ("/" in words[0] or words[0].startswith("~")):
            return (str(context.resolve(words[0])), *words[1:])
        return words


PLAYER = CallOf(
    "Player",
    (
        Setting("command", _Command(), "The executable and its arguments; no shell is involved."),
        Setting("cwd", Maybe(FileName()), "Working directory of the engine.", None),
        Setting(
            "environ", Maybe(DictOf(String(), String())), "Environment variables to set.", None
        ),
        Setting(
            "protocol",
            Maybe(OneOf("gtp", "uci", "usi")),
            "The engine's protocol; by default the usual one of the game.",
            None,
        ),
        Setting("options", Maybe(DictOf(String(), Scalar())), "UCI or USI options by name.", None),
        Setting(
            "startup_gtp_commands",
            Maybe(ListOf(GtpCommand())),
            "GTP commands to send at the beginning of each game.",
            None,
        ),
        Setting(
            "gtp_aliases",
            Maybe(DictOf(GtpCommandName(), GtpCommandName())),
            "GTP commands to send in the place of others.",
            None,
        ),
        Setting("discard_stderr", Boolean(), "Throw the engine's standard error away.", False),
        Setting("is_reliable_scorer", Boolean(), "Whether to ask it for the final score.", True),
        Setting("allow_claim", Boolean(), "Whether it may claim a win.", False),
        Setting(
            "sgf_player_name_from_gtp",
            Boolean(),
            "Whether game records name it as it names itself.",
            True,
        ),
        Setting("time_control", Maybe(TIME_CONTROL), "Its clock.", None),
        Setting("nodes", Maybe(Integer(minimum=1)), "Nodes it may search (not over GTP).", None),
        Setting("depth", Maybe(Integer(minimum=1)), "Depth it may search (not over GTP).", None),
        Setting(
            "move_time",
            Maybe(Float(above=0, maximum=LONGEST)),
            "Seconds it may take for a move; over GTP told as a period of one stone.",
            None,
        ),
        Setting(
            "margin",
            Maybe(Float(minimum=0, maximum=LONGEST)),
            "Seconds it may overstep its clock; by default the game's margin.",
            None,
        ),
        Setting(
            "ponder",
            Boolean(),
            "Whether it thinks on while its opponent thinks (not over GTP).",
            False,
        ),
        Setting(
            "ready_timeout",
            Maybe(Float(above=0, maximum=LONGEST)),
            "Seconds to start, and to get ready for each game; by default hang_timeout, but "
            "at least 60 (USI: 120).",
            None,
        ),
        Setting(
            "score_pov",
            OneOf("mover", "opponent", "white", "black"),
            "From whose side its scores are; UCI and USI want the mover's (not over GTP).",
            "mover",
        ),
        Setting(
            "restart",
            OneOf("auto", "on", "off"),
            "Whether each game gets a new process (auto: over GTP only); one that is kept has "
            "the game id of its first game in its environment.",
            "auto",
        ),
    ),
    lambda values, context: PlayerDefinition(values),
    positional=("command",),
)


def find_player(
    players: Mapping[str, PlayerDefinition], code: Any, path: SettingPath
) -> PlayerDefinition:
    """Return the definition of a player code.  Raises SettingError."""
    if code not in players:
        known = list(players)
        raise SettingError(
            path, f"there is no player {shown(code)}", nearest(str(code), known) if known else ""
        )
    return players[code]
