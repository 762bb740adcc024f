"""Settings of a single game: rules, limits, adjudication, record."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ringmaster.competitions.common_settings import (
    PLAYER_DEFAULTS,
    Margin,
    check_defaults,
    find_player,
    placed,
)
from ringmaster.competitions.opening_settings import OPENINGS, check_openings
from ringmaster.competitions.setting_types import NotGiven, OneOrMore, flag, one_of, optional
from ringmaster.errors import SettingError, nearest, shown
from ringmaster.formats.annotations import RECORD_INFO
from ringmaster.games.tablebases import find_problem
from ringmaster.games.variants import check_variant
from ringmaster.model.go_rules import NAMED, Rules
from ringmaster.model.jobs import DrawAdjudication, GameSettings, ResignAdjudication, Tablebases
from ringmaster.model.players import GameName, Player, Restart
from ringmaster.model.settings import (
    CallOf,
    Context,
    FileName,
    Float,
    Identifier,
    Integer,
    ListOf,
    OneOf,
    Setting,
    SettingPath,
    String,
)
from ringmaster.model.time_control import LONGEST


def _tablebases(values: dict[str, Any], context: Context) -> Tablebases:
    # the engine option SyzygyPath joins folders by this character
    paths = [folder for path in values["path"] for folder in path.split(os.pathsep) if folder]
    return Tablebases(tuple(paths), values["pieces"], values["ignore_50_moves"])


def _rule(values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of an adjudication by score or by winrate.  Raises SettingError."""
    given = {name: v for name, v in values.items() if not isinstance(v, NotGiven)}
    if "score" in given and given["winrate"] is not None:
        expected = "winrate in Go, score in chess and shogi"
        raise SettingError(("winrate",), "score and winrate are two conditions", expected)
    return given


_DRAW, _RESIGN = DrawAdjudication(), ResignAdjudication()

DRAW_ADJUDICATION = CallOf(
    "DrawAdjudication",
    (
        Setting(
            "move_number",
            Integer(minimum=0),
            "Full moves before the earliest draw.",
            _DRAW.move_number,
        ),
        Setting(
            "move_count",
            Integer(minimum=1),
            "Consecutive moves of each player with such scores; a capture or a pawn move of "
            "chess restarts the count.",
            _DRAW.move_count,
        ),
        Setting(
            "score",
            Integer(minimum=0),
            "Largest distance of a score from 0, in centipawns (chess and shogi).",
            NotGiven(f"{_DRAW.score} in chess and shogi"),
        ),
        optional(
            "winrate",
            Float(minimum=0, maximum=0.5),
            "Largest distance of a winrate from one half (Go), as 0.02.",
        ),
    ),
    lambda values, context: DrawAdjudication(**_rule(values)),
    positional=("move_number", "move_count", "score"),
)

RESIGN_ADJUDICATION = CallOf(
    "ResignAdjudication",
    (
        Setting(
            "move_count",
            Integer(minimum=1),
            "Consecutive moves of the loser with such a score.",
            _RESIGN.move_count,
        ),
        Setting(
            "score",
            Integer(minimum=1),
            "Least distance of a score below 0, in centipawns; being mated counts as well (chess "
            "and shogi).",
            NotGiven(f"{_RESIGN.score} in chess and shogi"),
        ),
        optional(
            "winrate", Float(minimum=0, maximum=0.5), "Largest winrate of the loser (Go), as 0.05."
        ),
        flag("two_sided", "Require as many scores of the opponent, as far above 0."),
    ),
    lambda values, context: ResignAdjudication(**_rule(values)),
    positional=("move_count", "score"),
)

TABLEBASES = CallOf(
    "Tablebases",
    (
        Setting("path", OneOrMore(FileName(), minimum=1), "Folder or folders of the Syzygy files."),
        optional(
            "pieces",
            Integer(minimum=3),
            "Most men on the board, kings included; by default as many as in the files.",
        ),
        flag("ignore_50_moves", "Count wins that the 50-move rule turns into draws."),
    ),
    _tablebases,
    positional=("path",),
    shorthand=True,
)


def _rules(values: dict[str, Any], context: Context) -> Rules:
    if values["tax"] is None:
        values["tax"] = "seki" if values["scoring"] == "territory" else "none"
    return Rules("own", **values)


class _RulesType(CallOf):
    """A name of rules, or Rules(…) with the parts."""

    def describe(self) -> str:
        return f"{', '.join(map(repr, NAMED))} or {super().describe()}"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if not isinstance(value, str):
            return super().interpret(value, path, context)
        name = value.lower().replace("_", "-").replace(" ", "-")
        if name in NAMED:
            return NAMED[name]
        return context.refuse(path, f"{shown(value)} names no rules", nearest(name, [*NAMED]))


RULES = _RulesType(
    "Rules",
    (
        one_of(
            "ko",
            ("simple", "positional", "situational"),
            "Forbid only the immediate recapture of a ko, or the repetition of any earlier "
            "position (situational: with the same side to move).",
        ),
        one_of("scoring", ("area", "territory"), "Count area, or territory and prisoners."),
        optional(
            "tax",
            OneOf("none", "seki", "all"),
            "Territory that does not count: in seki, or two points of each group; by default that "
            "in seki under territory scoring.",
        ),
        flag("suicide", "Allow self-capture.", True),
        flag("button", "Give half a point for the first pass."),
    ),
    _rules,
)


def check_adjudication(settings: GameSettings, has_analysis: bool) -> None:
    """Raise SettingError for adjudication that the game or variant does not support.

    has_analysis  whether a player of Go may give winrates
    """
    is_go = settings.game == "go"
    if is_go and settings.record_info:
        expected = "analysis in Player(…), all of which is recorded"
        raise SettingError(("record_info",), "'record_info' has no meaning in go", expected)
    for name, example in ("draw_adjudication", 0.02), ("resign_adjudication", 0.05):
        rule = getattr(settings, name)
        if rule is not None and (rule.winrate is None) == is_go:
            basis, expected = ("winrates", f"winrate={example}") if is_go else ("scores", "score")
            raise SettingError((name,), f"engines of {settings.game} give {basis}", expected)
        if rule is not None and is_go and not has_analysis:
            text = "no player has analysis, and without it none gives winrates"
            raise SettingError((name,), text, "analysis='kata' or analysis='lz' in Player(…)")
    if settings.tablebases is None:
        return
    if settings.game != "chess":
        raise SettingError(("tablebases",), "Syzygy tablebases are for chess")
    if settings.variant not in ("standard", "chess960"):
        raise SettingError(
            ("tablebases",),
            f"there are no tablebases for {settings.variant}",
            "variant = 'standard' or 'chess960'",
        )


def check_files(settings: GameSettings) -> None:
    if settings.tablebases is not None:
        problem = find_problem(settings.tablebases)
        if problem:
            raise SettingError(("tablebases",), problem, "a folder of Syzygy files")


#: Settings of a single game.  `make_game_settings` checks the ones that Go requires.
GAME_SETTINGS: tuple[Setting, ...] = (
    *PLAYER_DEFAULTS,
    optional("board_size", Integer(minimum=2, maximum=25), "Size of the board."),
    optional("komi", Float(), "Points for White."),
    optional("handicap", Integer(minimum=2), "Handicap stones for Black."),
    one_of(
        "handicap_style",
        ("fixed", "free"),
        "Handicap stones on fixed points, or on points that Black chooses.",
    ),
    Setting("move_limit", Integer(minimum=1), "Plies after which the referee ends a game.", 1000),
    optional(
        "rules",
        RULES,
        "Rules of Go, told to engines with ``kata-set-rules``; by default those "
        "of ``Rules()``, of which engines are told nothing.",
    ),
    one_of(
        "scorer",
        ("players", "internal", "referee"),
        "Scorer of a finished game: the engines, the ringmaster (with all stones alive), or a "
        "third engine.",
    ),
    optional("referee", Identifier(), 'Code of the player that scores, with ``scorer="referee"``.'),
    optional(
        "internal_scorer_handicap_compensation",
        OneOf("no", "full", "short"),
        "Points for White for each handicap stone (short: except the first); by default as in the "
        "``rules``, and full without them.",
    ),
    Setting("margin", Margin(), "Seconds by which a clock may be overstepped.", 0.05),
    one_of(
        "failures",
        ("void", "loss"),
        "Result of a crash, a hang or a protocol error during play: a void game, which is "
        "replayed, or a loss.",
    ),
    Setting(
        "hang_timeout",
        Float(above=0, maximum=LONGEST),
        "Seconds for a move without another limit, and for any other answer.  A player's "
        "ready_timeout limits its start and its preparation of a game.",
        60.0,
    ),
    one_of(
        "entering_king",
        ("27", "24", "trial", "none"),
        "Entering-king rule of shogi: declaration with 28 points (White 27), declaration with "
        "31 points (24 to 30 draw), reaching the other king's start square, or none.",
    ),
    optional(
        "record_format",
        OneOf("pgn", "sgf", "csa", "kif"),
        "Format of game records: 'csa' (default) or 'kif' for shogi, 'pgn' for chess, 'sgf' for "
        "Go.",
    ),
    Setting(
        "variant",
        String(),
        "Rules of chess: 'standard', 'chess960', or another variant by its UCI_Variant name "
        "('crazyhouse', 'xiangqi', …).",
        "standard",
    ),
    optional("openings", OPENINGS, "Start positions."),
    optional(
        "move_limit_result",
        OneOf("draw", "unknown"),
        "Result of a game at the move limit; by default a draw in chess and shogi, and unknown "
        "in Go.",
    ),
    optional(
        "draw_adjudication",
        DRAW_ADJUDICATION,
        "Declare a draw after a series of level scores of both engines.",
    ),
    optional(
        "resign_adjudication",
        RESIGN_ADJUDICATION,
        "Declare a game lost after a series of losing scores of one engine.",
    ),
    optional(
        "tablebases",
        TABLEBASES,
        "End a game of chess or Chess960 as soon as Syzygy tablebases give its result.",
    ),
    Setting(
        "record_info",
        ListOf(OneOf(*RECORD_INFO)),
        "Further data of each move in game records, beside score, depth and time.",
        (),
    ),
    flag("record_times", "Write the time of each move in the comments of game records.", True),
)

#: Formats of game records by game, the default first.
RECORD_FORMATS: dict[GameName, tuple[str, ...]] = {
    "go": ("sgf",),
    "chess": ("pgn",),
    "shogi": ("csa", "kif"),
}

#: Fields of GameSettings, without the game itself.
_GAME_FIELDS = tuple(field for field in GameSettings.__struct_fields__ if field != "game")

_COMPENSATION = "internal_scorer_handicap_compensation"
#: Settings of Go alone, with those of their defaults that are not None.
_OF_GO = {
    **dict.fromkeys(("board_size", "komi", "handicap", "rules", "referee", _COMPENSATION)),
    "scorer": "players",
}


def make_game_settings(game: GameName, values: Mapping[str, Any]) -> GameSettings:
    """Return the settings of a game.  Raises SettingError for those of another one."""
    arguments = {name: values[name] for name in _GAME_FIELDS if values.get(name) is not None}
    formats = RECORD_FORMATS[game]
    if arguments.get("record_format", formats[0]) not in formats:
        raise SettingError(
            ("record_format",),
            f"games of {game} are not recorded in {arguments['record_format']}",
            " or ".join(map(repr, formats)),
        )
    if game != "shogi" and arguments.get("entering_king", "27") != "27":
        raise SettingError(("entering_king",), f"'entering_king' has no meaning in {game}")
    if game == "go":
        for name in ("board_size", "komi"):
            if name not in arguments:
                raise SettingError((name,), f"{name!r} is missing", "a number")
        _check_handicap(arguments)
        rules: Rules = arguments.get("rules", Rules())
        compensation = values.get(_COMPENSATION) or rules.compensation
        arguments["rules"] = rules = replace(rules, compensation=compensation)
        arguments["referee"] = _referee(values)
        _check_scoring(rules, arguments)
    else:
        for name, default in _OF_GO.items():
            if values.get(name, default) not in (default, None):
                raise SettingError((name,), f"{name!r} has no meaning in {game}")
    variant = arguments.get("variant", "standard")
    if game != "chess" and variant != "standard":
        raise SettingError(("variant",), f"'variant' has no meaning in {game}")
    try:
        check_variant(variant)
    except ValueError as error:
        raise SettingError(("variant",), str(error)) from None
    check_openings(values.get("openings"), game, variant, arguments.get("handicap"))
    check_defaults(values, game)
    settings = GameSettings(game=game, **arguments)
    has_analysis = any(player.values["analysis"] for player in values["players"].values())
    check_adjudication(settings, has_analysis or bool(values.get("make_candidate")))
    return settings


def _referee(values: Mapping[str, Any]) -> Player | None:
    """Return the engine that scores, without a clock and kept from game to game."""
    code, scorer = values.get("referee"), values.get("scorer")
    if (code is None) != (scorer != "referee"):
        name = "referee" if code is None else "scorer"
        remedy = "the code of a player" if code is None else "scorer = 'referee' as well"
        raise SettingError((name,), "a referee is named by both 'scorer' and 'referee'", remedy)
    if code is None:
        return None
    # without the limits of all players
    definition = find_player({"players": values["players"]}, code, ("referee",))
    with placed("players", code):
        player = definition.make(code, "go")
    # its own memory of a resource would stay in use
    is_kept = player.restart == "auto" and not player.resources
    restart: Restart = "off" if is_kept else player.restart
    return replace(player, time_control=None, move_time=None, restart=restart)


def _check_scoring(rules: Rules, arguments: Mapping[str, Any]) -> None:
    if rules.tax == "all" and arguments.get("scorer") == "internal":
        raise SettingError(
            ("scorer",), "the ringmaster does not count a group tax", "'players' or 'referee'"
        )


def _check_handicap(arguments: Mapping[str, Any]) -> None:
    handicap = arguments.get("handicap")
    if handicap is None:
        return
    from ringmaster.games.go import max_fixed_handicap, max_free_handicap

    size = arguments["board_size"]
    style = arguments["handicap_style"]
    most = max_fixed_handicap(size) if style == "fixed" else max_free_handicap(size)
    if handicap > most:
        wanted = f"at most {most}" if most >= 2 else f"no {style} handicap on this board"
        raise SettingError(
            ("handicap",), f"{style} handicap {handicap} is too large for size {size}", wanted
        )
