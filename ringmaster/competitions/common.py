"""What all competition types share: the common and the game settings, players
as they are declared, and the rule for void games."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from ringmaster.errors import SettingError
from ringmaster.games.openings import OpeningOrder, Order, load_openings
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import PROTOCOL_OF_GAME, GameName, Player
from ringmaster.model.results import GameResult
from ringmaster.model.settings import (
    Boolean,
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
    nearest,
    shown,
)
from ringmaster.model.time_control import LONGEST, TimeControl


class GtpCommand(Words):
    """A GTP command: a string, or a list of strings; becomes a tuple of words."""

    def describe(self) -> str:
        return "a GTP command: a string, or a list of strings"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        words = tuple(value.split()) if isinstance(value, str) else value
        if isinstance(words, list | tuple) and any(
            not isinstance(w, str) or "\n" in w or "\r" in w for w in words
        ):
            return context.refuse(path, "a GTP command must be on one line", self.describe())
        return super().interpret(list(words) if isinstance(words, tuple) else words, path, context)


@dataclass(frozen=True)
class PlayerDefinition:
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
        limits = ("time_control", "nodes", "depth", "move_time")
        given = [name for name in limits if values[name] is not None]
        if player.protocol == "gtp":
            if given:
                raise SettingError(
                    (given[0],),
                    f"{given[0]} has no meaning over GTP yet",
                    "the engine's own command line or startup_gtp_commands to limit it",
                )
            if player.options:
                raise SettingError(("options",), "GTP has no options", "startup_gtp_commands")
        elif not given:
            raise SettingError(
                (), f"nothing limits the moves of player {code!r}", "one of " + ", ".join(limits)
            )
        return player


def _parse_time_control(values: dict[str, Any], context: Context) -> TimeControl:
    return TimeControl.parse(values["text"])


TIME_CONTROL = CallOf(
    "TimeControl",
    (Setting("text", String(), 'Seconds: "10+0.1", "40/60", "40/1:00+0.6".'),),
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
        Setting("options", Maybe(DictOf(String(), Scalar())), "UCI options by name.", None),
        Setting(
            "startup_gtp_commands",
            Maybe(ListOf(GtpCommand())),
            "GTP commands to send at the beginning of each game.",
            None,
        ),
        Setting(
            "gtp_aliases",
            Maybe(DictOf(String(), String())),
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
        Setting("nodes", Maybe(Integer(minimum=1)), "Nodes it may search for a move.", None),
        Setting("depth", Maybe(Integer(minimum=1)), "Depth it may search for a move.", None),
        Setting(
            "move_time",
            Maybe(Float(above=0, maximum=LONGEST)),
            "Seconds it may take for a move.",
            None,
        ),
        Setting(
            "restart",
            OneOf("auto", "on", "off"),
            "Whether each game gets a new process (auto: over GTP only).",
            "auto",
        ),
    ),
    lambda values, context: PlayerDefinition(values),
    positional=("command",),
)


class OpeningsSettings(msgspec.Struct, frozen=True):
    """Openings(…) of a control file; path is absolute."""

    path: str
    order: Order = "sequential"
    start: int = 1
    seed: int | None = None


OPENINGS = CallOf(
    "Openings",
    (
        Setting("path", FileName(), "An EPD file, one position a line."),
        Setting(
            "order",
            OneOf("sequential", "random"),
            "In the order of the file, or shuffled anew for each pass over it.",
            "sequential",
        ),
        Setting("start", Integer(minimum=1), "Opening to begin with, counted from 1.", 1),
        Setting(
            "seed", Maybe(Integer()), "Seed of the random order; by default the event's.", None
        ),
    ),
    lambda values, context: OpeningsSettings(**values),
    positional=("path",),
)

#: Settings of every competition type, beside `competition_type` itself.
COMMON_SETTINGS: tuple[Setting, ...] = (
    Setting(
        "game",
        OneOf("go", "chess", "shogi"),
        "The game that is played.",
        "go",
        change="refused",
    ),
    Setting("description", Maybe(String()), "Text for the report.", None),
    Setting("record_games", Boolean(), "Write a record of each game.", True),
    Setting("skip_player_checks", Boolean(), "Do not check the players before a run.", False),
    Setting("stderr_to_log", Boolean(), "Copy the engines' standard error to the log.", True),
    Setting(
        "players",
        DictOf(Identifier(), PLAYER),
        "The engines, by player code.",
    ),
    Setting(
        "seed",
        Integer(),
        "Seed of every random decision.",
        0,
        change="refused",
    ),
)


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
        "internal_scorer_handicap_compensation",
        OneOf("no", "full", "short"),
        "Points for White for each handicap stone (short: but the first).",
        "full",
    ),
    Setting(
        "margin", Float(minimum=0, maximum=LONGEST), "Seconds a clock may be overstepped.", 0.05
    ),
    Setting(
        "hang_timeout",
        Float(above=0, maximum=LONGEST),
        "Seconds for a move that nothing else limits, and for any other answer; "
        "starting and getting ready may take 30 s in any case.",
        60.0,
    ),
    Setting("openings", Maybe(OPENINGS), "Start positions.", None),
)

#: Names that make up a GameSettings beside the game itself.
_GAME_FIELDS = tuple(field for field in GameSettings.__struct_fields__ if field != "game")


def make_game_settings(game: GameName, values: Mapping[str, Any]) -> GameSettings:
    """Return the settings of a game.  Raises SettingError for values that the
    game does not have, or that do not go together."""
    given = {name: values[name] for name in _GAME_FIELDS if values.get(name) is not None}
    if game == "shogi":
        raise SettingError(("game",), "shogi cannot be played yet", "'go' or 'chess'")
    if game == "go":
        for name in ("board_size", "komi"):
            if name not in given:
                raise SettingError((name,), f"{name!r} is missing", "a number")
        if values.get("openings") is not None:
            raise SettingError(("openings",), "openings are for chess so far")
        _check_handicap(given)
    else:
        for name in ("board_size", "komi", "handicap"):
            if name in given:
                raise SettingError((name,), f"{name!r} has no meaning in {game}")
    return GameSettings(game=game, **given)


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


class OpeningBook:
    """The start positions of an event: read once, before the first game."""

    def __init__(self, settings: OpeningsSettings | None, game: GameName, seed: int) -> None:
        self._settings = settings
        self._game = game
        self._seed = seed if settings is None or settings.seed is None else settings.seed

    @functools.cached_property
    def _book(self) -> tuple[tuple[Opening, ...], OpeningOrder]:
        assert self._settings is not None
        openings = load_openings(self._settings.path, self._game)
        settings = self._settings
        order = OpeningOrder(len(openings), settings.order, seed=self._seed, start=settings.start)
        return openings, order

    def load(self) -> None:
        """Read the file.  Raises OpeningsError."""
        if self._settings is not None:
            _ = self._book

    def __bool__(self) -> bool:
        return self._settings is not None

    def pick(self, number: int) -> Opening:
        """Return the opening of the `number`-th pair (from 0)."""
        if self._settings is None:
            return Opening()
        openings, order = self._book
        return openings[order.index(number)]


@contextmanager
def noting(errors: list[SettingError]) -> Iterator[None]:
    """Note a SettingError instead of raising it, so that others are found too."""
    try:
        yield
    except SettingError as error:
        errors.append(error)


def void_rule(in_a_row: int, *, first: bool, what: str) -> str:
    """Return why void games end a run early, "" if they do not: when the first
    result of all is void, and when two results in a row are.

    in_a_row  void results up to now, 0 when the latest one is not void
    first     whether no result that counts has come before
    what      whose results are counted, for the message
    """
    if in_a_row and first:
        return f"the first game of {what} was void"
    if in_a_row >= 2:
        return f"two games in a row of {what} were void"
    return ""


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


def result_line(result: GameResult, codes: tuple[str, str]) -> str:
    """Return a result as the display and the history show it; `codes` in the
    order of the result's players."""
    head = f"game {result.game_id}:"
    detail = result.detail.splitlines()[0] if result.detail else ""
    # what exactly was overstepped is in the log and in the record
    reason = result.reason if result.reason == "time" else detail or result.reason
    if result.outcome == "void":
        attempt = f", attempt {result.attempt + 1}" if result.attempt else ""
        return f"{head} void ({result.reason}{attempt}): {detail}"
    if result.winner is not None:
        winner, loser = codes[result.winner], codes[1 - result.winner]
        why = "" if result.reason == "score" and not detail else f" ({reason})"
        return f"{head} {winner} beat {loser} {result.score}{why}"
    if result.outcome == "draw":
        return f"{head} {codes[0]} v {codes[1]} draw {result.score} ({reason})"
    return f"{head} {codes[0]} v {codes[1]} no result ({reason})"
