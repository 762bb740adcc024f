"""Settings of every competition type, with Player(…)."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec

from ringmaster.competitions.cluster_settings import CLUSTER_SETTING, RESOURCES, Bytes
from ringmaster.competitions.setting_types import ENDS, NotGiven, flag, one_of, optional
from ringmaster.errors import SettingError, counted, is_text, nearest, shown
from ringmaster.model.players import PROTOCOL_OF_GAME, GameName, OptionValue, Player, Source
from ringmaster.model.settings import (
    CallOf,
    Context,
    DictOf,
    FileName,
    Float,
    Identifier,
    Integer,
    ListOf,
    Maybe,
    OneOf,
    Scalar,
    Setting,
    SettingPath,
    String,
    Words,
)
from ringmaster.model.time_control import LONGEST, TimeControl, number


class GtpCommand(Words):
    """A GTP command: a string or a list of strings; interpreted as a tuple of words."""

    def describe(self) -> str:
        return "a GTP command: a string, or a list of strings"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        # unlike a shell, GTP has no quotes
        value = value.split() if isinstance(value, str) else value
        words = super().interpret(value, path, context)
        if isinstance(words, tuple) and any("\n" in word or "\r" in word for word in words):
            return context.refuse(path, "a GTP command must be on one line", self.describe())
        return words


class GtpCommandName(String):
    """The name of a GTP command: one word."""

    def describe(self) -> str:
        return "the name of a GTP command, one word"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        name = super().interpret(value, path, context)
        if isinstance(name, str) and (len(name.split()) != 1 or name != name.strip()):
            return context.refuse(path, f"{shown(name)} is not one word", self.describe())
        return name


#: Arguments of Player(…) that say where its program is built.
SOURCE_NAMES = ("git", "ref", "build", "program", "bench")
#: Limits of moves that only GTP engines can be told.
_ONLY_OVER_GTP = ("visits", "playouts")
#: Arguments of Player(…) that limit its moves: over UCI and USI, and over all protocols.
SEARCH_LIMITS = ("time_control", "nodes", "depth", "move_time")
LIMIT_NAMES = (*SEARCH_LIMITS, *_ONLY_OVER_GTP)


class PlayerDefinition(msgspec.Struct, frozen=True):
    """A Player(…) of a control file; its code and game come from elsewhere in the file.

    switched_off  limits that it does not take from those of all players
    """

    values: Mapping[str, Any]
    switched_off: tuple[str, ...] = ()

    def source(self, directory: str, folder: str) -> Source | None:
        """Return the source of a player with `git`, without a commit.

        directory  of the control file
        folder     of the build
        """
        git, values = self.values.get("git"), self.values
        if git is None:
            return None
        return Source(
            # "../engine" stays right where both folders are moved
            git=min(git, os.path.relpath(git, directory), key=len) if os.path.isabs(git) else git,
            ref=values["ref"] or "HEAD",
            build=values["build"] or "",
            program=os.path.normpath(values["program"][0]),
            bench=shlex.join(values["bench"] or ()),
            folder=folder,
        )

    def built(self, source: Source) -> PlayerDefinition:
        """Return the player with the program of a build.  A cluster's hosts get it."""
        command = (f"{source.folder}/{source.program}", *self.values["program"][1:])
        values = {**self.values, "command": command, "ship": True, "source": source}
        return PlayerDefinition(values, self.switched_off)

    @property
    def has_limits(self) -> bool:
        return any(self.values.get(name) is not None for name in LIMIT_NAMES)

    def with_defaults(self, defaults: Mapping[str, Any]) -> PlayerDefinition:
        """Return the player with limits and options that `defaults` gives to all players.

        A player without limits gets all of `defaults` that it does not switch off; one with
        limits keeps only its own.
        With `time_controls` it has the first one, which games replace by theirs.
        Options are added by name, without regard to case; the player's own values win.
        Raises SettingError for a limit beside `time_controls`.
        """
        values = dict(self.values)
        if controls := defaults.get("time_controls"):
            if error := contradiction(values):
                raise error
            values["time_control"] = TimeControl.parse(next(iter(controls)))
        elif not self.has_limits:
            inherited = (name for name in LIMIT_NAMES if name not in self.switched_off)
            values |= {name: defaults.get(name) for name in inherited}
        if defaults.get("options"):
            values["options"] = merged_options(defaults["options"], values.get("options"))
        return PlayerDefinition(values, self.switched_off)

    def canonical(self) -> Mapping[str, Any]:
        off = self.switched_off
        return {**self.values, "switched_off": off} if off else self.values

    def make(self, code: str, game: GameName) -> Player:
        """Return the player.  Raises SettingError; its path starts at the definition."""
        values = dict(self.values)
        if values["protocol"] is None:
            values["protocol"] = PROTOCOL_OF_GAME[game]
        values["options"] = given_options(values["options"])
        if values["command"] is None:
            raise SettingError(
                ("git",), "an engine from git is an entry of players", "no make_candidate with git"
            )
        given = {k: v for k, v in values.items() if v is not None and k not in SOURCE_NAMES}
        player = Player(code=code, **given)
        if player.protocol != PROTOCOL_OF_GAME[game]:
            raise SettingError(
                ("protocol",),
                f"{game} is not played over {player.protocol}",
                repr(PROTOCOL_OF_GAME[game]),
            )
        check_player(player)
        if player.protocol != "gtp" and not self.has_limits:
            raise SettingError(
                (),
                f"nothing limits the moves of player {code!r}",
                f"one of {', '.join(SEARCH_LIMITS)}, here or at the top level for all players",
            )
        return player


def contradiction(values: Mapping[str, Any]) -> SettingError | None:
    """Return an error for the first limit of moves, which contradicts `time_controls`."""
    for name in LIMIT_NAMES:
        if values.get(name) is not None:
            text = f"{name} contradicts time_controls, which set the clocks of both sides"
            return SettingError((name,), text, f"no {name} here, or no time_controls")
    return None


def merged_options(
    general: Mapping[str, OptionValue | None], own: Mapping[str, OptionValue | None] | None
) -> dict[str, OptionValue | None]:
    """Return options of two levels by name; `own` wins, whatever the case of the names."""
    own = own or {}
    folded = {name.casefold() for name in own}
    return {**{k: v for k, v in general.items() if k.casefold() not in folded}, **own}


def given_options(options: Mapping[str, OptionValue | None] | None) -> dict[str, OptionValue]:
    return {name: value for name, value in (options or {}).items() if value is not None}


def check_player(player: Player) -> None:
    """Raise SettingError for the first argument of Player(…) that its protocol lacks."""
    own = "the engine's own command line or startup_gtp_commands"
    not_over_gtp = (
        ("nodes", player.nodes is not None, "nodes has no meaning over GTP", f"{own} to limit it"),
        ("depth", player.depth is not None, "depth has no meaning over GTP", f"{own} to limit it"),
        ("options", player.options, "GTP has no options", "startup_gtp_commands"),
        (
            "score_pov",
            player.score_pov != "mover" and player.analysis is None,
            "GTP has no scores without analysis",
            "analysis='kata' or analysis='lz' as well",
        ),
        ("ponder", player.ponder, "GTP has no pondering", f"{own} to let it ponder"),
    )
    name_of = player.protocol.upper()
    only_over_gtp = (
        ("analysis", player.analysis, f"{name_of} gives scores without it", "no analysis"),
        *(
            (name, getattr(player, name), f"{name} has no meaning over {name_of}", "nodes")
            for name in _ONLY_OVER_GTP
        ),
    )
    checks = not_over_gtp if player.protocol == "gtp" else only_over_gtp
    for name, is_given, message, remedy in checks:
        if is_given:
            raise SettingError((name,), message, remedy)
    control = player.time_control
    if control is None:
        return
    for kind, remedy in _unknown_controls(player.protocol, control):
        message = f"{player.protocol.upper()} has no {kind} such as {control}"
        raise SettingError(("time_control",), message, remedy)


def _unknown_controls(protocol: str, control: TimeControl) -> Iterator[tuple[str, str]]:
    """Yield kinds of a time control that a protocol lacks, each with what to write instead."""
    base = number(control.base)
    if protocol == "gtp" and control.increment and control.overtime:
        yield "increment with byo-yomi", f"one of them, as '{base}+{number(control.period)}byo'"
    if protocol == "gtp" and control.moves:
        yield "time control", f"Canadian byo-yomi, '0+{control.moves}/{base}'"
    if protocol == "uci" and control.overtime:
        yield "byo-yomi", "base+increment as '10+0.1', or moves/seconds as '40/60'"
    if protocol == "usi" and control.moves:
        remedy = "base+increment as '600+10', or byo-yomi as '600+10byo'"
        yield "time control for a number of moves", remedy
    if protocol == "usi" and control.stones:
        yield "Canadian byo-yomi", "one period as '600+10byo'"
    if protocol == "usi" and control.periods > 1:
        yield "byo-yomi of several periods", "one period as '600+10byo'"


class _ControlText(String):
    """The text of a time control; warns of "10:0.1", which is ten minutes, as for fastchess."""

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        text = super().interpret(value, path, context)
        slip = (
            re.fullmatch(r"((?:\d+/)?(\d{1,5})):(0\.\d+)", text) if isinstance(text, str) else None
        )
        if slip is not None:
            context.doubt(
                path[:-1],
                f"{text!r} is {counted(int(slip[2]), 'minute')} and {slip[3]} seconds; for "
                f"seconds with an increment write '{slip[1]}+{slip[3]}'",
            )
        return text


TIME_CONTROL = CallOf(
    "TimeControl",
    (
        Setting(
            "text",
            _ControlText(),
            'Seconds: "10+0.1" (base+increment), "40/60" (moves/seconds), "600" (absolute); '
            'in shogi and Go "600+30byo" (byo-yomi, one period); in shogi "600+10+5byo" '
            '(increment and byo-yomi); in Go "600+5x30" (Japanese '
            'byo-yomi), "600+25/300" (Canadian).',
        ),
    ),
    lambda values, context: TimeControl.parse(values["text"]),
    positional=("text",),
    shorthand=True,
)


class _Command(Words):
    """A command; an executable with a slash is relative to the control file's folder."""

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        words = super().interpret(value, path, context)
        if isinstance(words, tuple) and ("/" in words[0] or words[0].startswith("~")):
            return (str(context.resolve(words[0])), *words[1:])
        return words


class _Repository(FileName):
    """A git repository: a folder, or a URL."""

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        is_url = isinstance(value, str) and is_text(value) and REPOSITORY_URL.match(value)
        return value if is_url else super().interpret(value, path, context)


#: "https://…", "git@host:path"; nothing that git would run, such as "ext::…".
REPOSITORY_URL = re.compile(r"(https?|ssh|git|file)://|[\w.-]+@[\w.-]+:")


#: A placeholder of `on_event`, and the known names.
PLACEHOLDER = re.compile(r"\{(\w+)\}")
_PLACEHOLDERS = ("event", "verdict", "name", "file")


class _EventCommand(_Command):
    """A command with placeholders."""

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        words = super().interpret(value, path, context)
        for name in PLACEHOLDER.findall(" ".join(words)) if isinstance(words, tuple) else ():
            if name not in _PLACEHOLDERS:
                expected = nearest(name, _PLACEHOLDERS)
                return context.refuse(path, f"there is no placeholder {{{name}}}", expected)
        return words


class Margin(Float):
    """Seconds by which a clock may be overstepped; other programs count milliseconds."""

    def __init__(self) -> None:
        super().__init__(minimum=0, maximum=LONGEST)

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        margin = super().interpret(value, path, context)
        # so many were probably meant as milliseconds
        if isinstance(margin, float) and margin >= 10:
            context.doubt(
                path,
                f"{number(margin)} seconds: for milliseconds, write "
                f"{number(margin / 1000)}; with {number(margin)} s hardly any game is lost on time",
            )
        return margin


#: Limits of a player's moves.
LIMITS: tuple[Setting, ...] = (
    optional("time_control", TIME_CONTROL, "Its clock."),
    optional("nodes", Integer(minimum=1), "Limit of nodes for each move (not over GTP)."),
    optional("depth", Integer(minimum=1), "Limit of depth for each move (not over GTP)."),
    optional(
        "move_time",
        Float(above=0, maximum=LONGEST),
        "Seconds for each move; sent over GTP as a period of one stone.",
    ),
    optional(
        "visits",
        Integer(minimum=1),
        "Limit of visits for each move (GTP only), sent by kata-set-param or lz-setoption.",
    ),
    optional("playouts", Integer(minimum=1), "Limit of playouts for each move, in the same way."),
)

_OPTIONS = optional(
    "options",
    DictOf(String(), Maybe(Scalar())),
    "UCI or USI options by name; True presses a button before each game, None leaves out an "
    "option of all players.",
)

#: The default of a player's limit.
_OF_ALL_PLAYERS = NotGiven("that of all players")


def _check_source(values: Mapping[str, Any]) -> None:
    """Raise SettingError for a player without a program, or with two."""
    has_git = values["git"] is not None
    for name in SOURCE_NAMES:
        if values[name] is not None and not has_git:
            remedy = "git, the folder or URL of its repository"
            raise SettingError((name,), f"{name} belongs to a player with git", remedy)
    if has_git and values["command"] is not None:
        remedy = "program, a path within the repository"
        raise SettingError(("command",), "command and git are two programs", remedy)
    needed = "program" if has_git else "command"
    if values[needed] is None:
        raise SettingError((needed,), f"{needed!r} is missing", Words().describe())


def _build_player(values: dict[str, Any], context: Context) -> PlayerDefinition:
    _check_source(values)
    switched_off = tuple(name for name in LIMIT_NAMES if values[name] is None)
    given = {name: None if v is _OF_ALL_PLAYERS else v for name, v in values.items()}
    return PlayerDefinition(given, switched_off)


PLAYER = CallOf(
    "Player",
    (
        optional(
            "command",
            _Command(),
            "The executable and its arguments; no shell is involved.  Required without ``git``.",
        ),
        optional("git", _Repository(), "Repository of the program: a folder or a URL."),
        optional(
            "ref",
            String(),
            "Branch, tag or commit, by default ``HEAD``; ``'worktree'``: with changes that are not "
            "committed.  Later runs keep the commit until ``run --update-refs``.",
        ),
        optional("build", String(), "Shell line that makes the program in a copy of the commit."),
        optional("program", Words(), "Its path in the repository, or a list with its arguments."),
        optional("bench", Words(), "Words that make it print its number of nodes, as ``'bench'``."),
        optional("cwd", FileName(), "Working directory of the engine."),
        optional("environ", DictOf(String(), String()), "Environment variables to set."),
        optional(
            "protocol",
            OneOf("gtp", "uci", "usi"),
            "The engine's protocol; by default the usual one of the game.",
        ),
        _OPTIONS,
        optional(
            "startup_gtp_commands",
            ListOf(GtpCommand()),
            "GTP commands to send at the start of each game.",
        ),
        optional(
            "gtp_aliases",
            DictOf(GtpCommandName(), GtpCommandName()),
            "GTP commands to send instead of others, by name.",
        ),
        flag("discard_stderr", "Discard the engine's standard error."),
        flag("is_reliable_scorer", "Ask it for the final score.", True),
        flag("allow_claim", "Let it claim a win."),
        flag("sgf_player_name_from_gtp", "Use the engine's own name in game records.", True),
        *(msgspec.structs.replace(limit, default=_OF_ALL_PLAYERS) for limit in LIMITS),
        optional(
            "margin",
            Margin(),
            "Seconds by which it may overstep its clock; by default the game's margin.",
        ),
        flag("ponder", "Let it think during the opponent's time (not over GTP)."),
        optional(
            "ready_timeout",
            Float(above=0, maximum=LONGEST),
            "Seconds to start, and to prepare each game; by default hang_timeout, but at least 60 "
            "(USI: 120).",
        ),
        one_of(
            "score_pov",
            ("mover", "opponent", "white", "black"),
            "Side of its scores (over GTP of its analysis); the mover's by the rules of UCI and "
            "USI.",
        ),
        optional(
            "analysis",
            OneOf("kata", "lz"),
            "Request moves by kata-genmove_analyze or lz-genmove_analyze (GTP only): winrate, "
            "score lead (kata), visits and line of each move are in records and on boards.",
        ),
        one_of(
            "restart",
            ("auto", "on", "off"),
            "Start a new process for each game (auto: over GTP, or with resources).  A reused "
            "process keeps the first game's id in its environment.",
        ),
        flag(
            "ship",
            "Send its program, if written with a path, and the files that its arguments, options "
            "and variables name, to the hosts of a cluster.",
        ),
        optional(
            "max_memory",
            Bytes(),
            "Memory that the engine and its children may use, without files that they map; an "
            "engine above it is killed and loses, as with the next two.",
        ),
        optional(
            "max_cpu",
            Float(above=0, maximum=LONGEST),
            "Seconds of CPU that the engine and its children may use in one game.",
        ),
        optional(
            "max_processes",
            Integer(minimum=1),
            "Number of processes of the engine and its children.",
        ),
        flag(
            "sandbox",
            "Run the engine by bubblewrap (Linux), without a network and with a read-only file "
            "system.",
        ),
        Setting("resources", RESOURCES, "Tokens that it holds while it plays, by resource.", {}),
    ),
    _build_player,
    positional=("command",),
)


def _default_of_players(setting: Setting, help: str) -> Setting:
    """Return an argument of Player(…) as a setting of all players."""

    def is_variable(value: Any, names: Mapping[str, Any]) -> bool:
        is_go = names.get("game", "go") == "go"
        # Gomill's files may have variables of these names.
        others = (*_ONLY_OVER_GTP, *(_NOT_OVER_GTP if is_go else ()))
        return setting.refuses(value, names) or setting.name in others

    return msgspec.structs.replace(setting, help=help, is_variable=is_variable)


_NOT_OVER_GTP = ("nodes", "depth", "options")

#: Limits and options of all players, at the top level and in Matchup(…).
PLAYER_DEFAULTS: tuple[Setting, ...] = (
    _default_of_players(
        LIMITS[0],
        "Clock of all players.  A player with this limit or one of the next five keeps only its "
        "own limits; None in Player(…) or Matchup(…) switches off one of the six.",
    ),
    *(_default_of_players(setting, setting.help) for setting in LIMITS[1:]),
    _default_of_players(
        _OPTIONS,
        "UCI or USI options of all players, by name; a player's own value of an option wins.",
    ),
)


def settings_within(values: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with arguments of a Matchup(…) or Stage(…) in the place of `values`.

    A limit of moves replaces all limits of `values`, an end of the match the other end; options
    are added by name.
    """
    merged = {**values, **arguments}
    for names in (LIMIT_NAMES, ENDS):
        if any(arguments.get(name) is not None for name in names):
            merged |= {name: arguments.get(name) for name in names}
    if arguments.get("options"):
        merged["options"] = merged_options(values.get("options") or {}, arguments["options"])
    return merged


def check_defaults(values: Mapping[str, Any], game: GameName) -> None:
    """Raise SettingError for limits or options of all players that the game lacks."""
    defaults = {s.name: values.get(s.name) for s in PLAYER_DEFAULTS}
    given = {name: value for name, value in defaults.items() if value is not None}
    given["options"] = given_options(defaults["options"])
    check_player(Player(code="", command=(), protocol=PROTOCOL_OF_GAME[game], **given))


def find_player(values: Mapping[str, Any], code: Any, path: SettingPath) -> PlayerDefinition:
    """Return a player with the limits and options of all players.  Raises SettingError."""
    players: Mapping[str, PlayerDefinition] = values["players"]
    if code not in players:
        known = list(players)
        raise SettingError(
            path, f"there is no player {shown(code)}", nearest(str(code), known) if known else ""
        )
    with placed("players", code):
        return players[code].with_defaults(values)


#: Settings of every competition type, without `competition_type` itself.
COMMON_SETTINGS: tuple[Setting, ...] = (
    one_of("game", ("go", "chess", "shogi"), "Game of the competition.", change="refused"),
    optional("description", String(), "Text for the report.", change="report"),
    flag("record_games", "Write a record of each game.", True),
    one_of(
        "record_files",
        ("both", "single", "collected"),
        "Write game records to a file for each game, to one file of all games, or both.",
    ),
    Setting(
        "parallel",
        Integer(minimum=1),
        "Number of games played at the same time; ``-j`` overrides it.",
        1,
        change="report",
    ),
    CLUSTER_SETTING,
    Setting("resources", RESOURCES, "Tokens of all games at a time, by resource.", {}, "report"),
    flag("skip_player_checks", "Do not check the players before a run.", change="report"),
    flag(
        "stderr_to_log",
        "Copy the engines' standard error to the log when a game ends.  False: pass it to "
        "standard error at once, even in a quiet run.",
        True,
    ),
    optional(
        "on_event",
        _EventCommand(),
        "Command to run, without a shell, at the start, decisions, the first doubt and the end of "
        "a run.  ``{event}`` (start, decision, doubt, end), ``{verdict}``, ``{name}`` and "
        "``{file}`` (of the control file) are replaced.  It is killed after 10 s.",
        change="report",
    ),
    Setting("players", DictOf(Identifier(), PLAYER), "The engines, by player code."),
    Setting("seed", Integer(), "Seed of every random decision.", 0, change="refused"),
)


@contextmanager
def placed(*path: str | int) -> Iterator[None]:
    """Put the errors of a part of the settings at its path."""
    try:
        yield
    except SettingError as error:
        raise error.under(*path) from None


@contextmanager
def noting(errors: list[SettingError]) -> Iterator[None]:
    """Collect a SettingError instead of raising it, to report several at once."""
    try:
        yield
    except SettingError as error:
        errors.append(error)
