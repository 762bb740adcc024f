"""The settings of a single game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringmaster.competitions.adjudication import ADJUDICATION_SETTINGS, check_adjudication
from ringmaster.competitions.opening_settings import OPENINGS, check_openings
from ringmaster.errors import SettingError
from ringmaster.games.variants import check_variant
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import GameName
from ringmaster.model.settings import (
    INVALID,
    Boolean,
    Context,
    Float,
    Integer,
    Maybe,
    OneOf,
    Setting,
    SettingPath,
    String,
)
from ringmaster.model.time_control import LONGEST


class Variant(String):
    """The name of a variant of chess that can be played here."""

    def describe(self) -> str:
        return "'standard', 'chess960' or another variant of chess"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        name = super().interpret(value, path, context)
        if name is INVALID:
            return INVALID
        try:
            check_variant(name)
        except ValueError as error:
            return context.refuse(path, str(error))
        return name


#: Settings of a single game.  Go needs board size and komi, which is checked when
#: the game is known.
GAME_SETTINGS: tuple[Setting, ...] = (
    Setting("board_size", Maybe(Integer(minimum=2, maximum=25)), "Size of the board.", None),
    Setting("komi", Maybe(Float()), "Points given to White.", None),
    Setting("handicap", Maybe(Integer(minimum=2)), "Handicap stones for Black.", None),
    Setting(
        "handicap_style",
        OneOf("fixed", "free"),
        "Whether handicap points are prescribed or chosen by Black.",
        "fixed",
    ),
    Setting("move_limit", Integer(minimum=1), "Moves after which a game is stopped.", 1000),
    Setting(
        "scorer",
        OneOf("players", "internal"),
        "Whether the engines or the ringmaster scores a finished game.",
        "players",
    ),
    Setting(
        "scoring",
        OneOf("area", "territory"),
        "How the ringmaster scores; it takes all stones on the board to be alive.",
        "area",
    ),
    Setting(
        "internal_scorer_handicap_compensation",
        Maybe(OneOf("no", "full", "short")),
        "Points for White for each handicap stone (short: but the first); by default "
        "full for area scoring and no for territory scoring.",
        None,
    ),
    Setting(
        "ko_rule",
        OneOf("simple", "positional", "situational"),
        "Whether the referee forbids only to retake a ko at once, or to bring back any "
        "earlier position (situational: with the same side to move).",
        "simple",
    ),
    Setting("suicide", Boolean(), "Whether the referee allows self-capture.", True),
    Setting(
        "cleanup",
        Boolean(),
        "Whether play goes on after two passes, by kgs-genmove_cleanup, until both pass "
        "again with dead stones taken off.",
        False,
    ),
    Setting(
        "margin", Float(minimum=0, maximum=LONGEST), "Seconds a clock may be overstepped.", 0.05
    ),
    Setting(
        "failures",
        OneOf("void", "loss"),
        "Whether a crash, a hang or a breach of the protocol during play makes the game void, "
        "to be played again, or loses it.",
        "void",
    ),
    Setting(
        "hang_timeout",
        Float(above=0, maximum=LONGEST),
        "Seconds for a move that nothing else limits, and for any other answer; a player's "
        "ready_timeout limits starting and getting ready.",
        60.0,
    ),
    Setting(
        "entering_king",
        OneOf("27", "24", "trial", "none"),
        "How a king in the enemy's camp wins at shogi: by declaration with 28 points "
        "(White 27), or with 31 (24 to 30 draw), by reaching the other king's first "
        "square, or not.",
        "27",
    ),
    Setting(
        "record_format",
        Maybe(OneOf("pgn", "sgf", "csa", "kif")),
        "Format of game records: 'csa' or 'kif' for shogi, by default 'csa'; chess has "
        "'pgn' and Go 'sgf'.",
        None,
    ),
    Setting(
        "variant",
        Variant(),
        "The rules of chess: 'standard', 'chess960', or a variant or relative of chess by "
        "the name that UCI_Variant has for it ('crazyhouse', 'xiangqi', …).",
        "standard",
    ),
    Setting("openings", Maybe(OPENINGS), "Start positions.", None),
    *ADJUDICATION_SETTINGS,
)

#: Formats of game records, the usual one of each game first.
RECORD_FORMATS: dict[GameName, tuple[str, ...]] = {
    "go": ("sgf",),
    "chess": ("pgn",),
    "shogi": ("csa", "kif"),
}

#: Names that make up a GameSettings beside the game itself.
_GAME_FIELDS = tuple(field for field in GameSettings.__struct_fields__ if field != "game")

#: Rules of Go, and what they are where nothing was said of them.
_RULES_OF_GO = {"scoring": "area", "ko_rule": "simple", "suicide": True, "cleanup": False}


def make_game_settings(game: GameName, values: Mapping[str, Any]) -> GameSettings:
    """Return the settings of a game.  Raises SettingError for values that the
    game does not have, or that do not go together."""
    given = {name: values[name] for name in _GAME_FIELDS if values.get(name) is not None}
    rule = "internal_scorer_handicap_compensation"
    if game == "go" and rule not in given and given.get("scoring") == "territory":
        given[rule] = "no"
    formats = RECORD_FORMATS[game]
    if given.get("record_format", formats[0]) not in formats:
        raise SettingError(
            ("record_format",),
            f"games of {game} are not recorded in {given['record_format']}",
            " or ".join(map(repr, formats)),
        )
    if game != "shogi" and given.get("entering_king", "27") != "27":
        raise SettingError(("entering_king",), f"'entering_king' has no meaning in {game}")
    if game == "go":
        for name in ("board_size", "komi"):
            if name not in given:
                raise SettingError((name,), f"{name!r} is missing", "a number")
        _check_handicap(given)
        _check_scoring(given)
    else:
        for name in ("board_size", "komi", "handicap", rule, *_RULES_OF_GO):
            if name in given and given[name] != _RULES_OF_GO.get(name):
                raise SettingError((name,), f"{name!r} has no meaning in {game}")
    variant = given.get("variant", "standard")
    if game != "chess" and variant != "standard":
        raise SettingError(("variant",), f"'variant' has no meaning in {game}")
    check_openings(values.get("openings"), game, variant)
    settings = GameSettings(game=game, **given)
    check_adjudication(settings)
    return settings


def _check_scoring(given: Mapping[str, Any]) -> None:
    if given.get("scoring") != "territory":
        return
    if given.get("scorer") != "internal":
        raise SettingError(
            ("scoring",), "the players score as they like", "scorer = 'internal' beside it"
        )
    if given.get("cleanup"):
        raise SettingError(
            ("cleanup",),
            "under territory scoring, every stone it takes to clear the board costs a point",
            "scoring = 'area'",
        )


def _check_handicap(given: Mapping[str, Any]) -> None:
    handicap = given.get("handicap")
    if handicap is None:
        return
    from ringmaster.games.go import max_fixed_handicap, max_free_handicap

    size = given["board_size"]
    fixed = given["handicap_style"] == "fixed"
    most = max_fixed_handicap(size) if fixed else max_free_handicap(size)
    if handicap > most:
        style = given["handicap_style"]
        wanted = f"at most {most}" if most >= 2 else f"no {style} handicap on this board"
        raise SettingError(
            ("handicap",), f"{style} handicap {handicap} is too large for size {size}", wanted
        )
