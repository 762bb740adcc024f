"""The settings that end a game before its rules do, and those of its record."""

from __future__ import annotations

import os
from typing import Any

from ringmaster.errors import SettingError
from ringmaster.games.annotations import RECORD_INFO
from ringmaster.games.tablebases import find_problem
from ringmaster.model.adjudication import DrawAdjudication, ResignAdjudication, Tablebases
from ringmaster.model.jobs import GameSettings
from ringmaster.model.settings import (
    Boolean,
    CallOf,
    Context,
    FileName,
    Integer,
    ListOf,
    Maybe,
    OneOf,
    Setting,
    SettingPath,
    SettingType,
)


class _Folders(SettingType):
    """A folder, or a list of them; becomes a tuple of absolute paths."""

    _list = ListOf(FileName(), minimum=1)

    def describe(self) -> str:
        return "a folder, or a list of folders"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        folders = [value] if isinstance(value, str) else value
        if not isinstance(folders, list | tuple):
            return context.refuse(path, f"{value!r} is not a folder", self.describe())
        return self._list.interpret(folders, path, context)

    def portable(self, data: Any, directory: str) -> Any:
        return self._list.portable([data] if isinstance(data, str) else data, directory)


def _tablebases(values: dict[str, Any], context: Context) -> Tablebases:
    # one engine option may name several folders, so users write it as for an engine
    paths = [folder for path in values["path"] for folder in path.split(os.pathsep) if folder]
    return Tablebases(tuple(paths), values["pieces"], values["ignore_50_moves"])


_DRAW, _RESIGN = DrawAdjudication(), ResignAdjudication()

DRAW_ADJUDICATION = CallOf(
    "DrawAdjudication",
    (
        Setting(
            "move_number",
            Integer(minimum=0),
            "Full moves that must have been played before a draw is declared.",
            _DRAW.move_number,
        ),
        Setting(
            "move_count",
            Integer(minimum=1),
            "Moves of each player, in a row, whose scores must agree; a capture or a pawn "
            "move of chess begins the count anew.",
            _DRAW.move_count,
        ),
        Setting(
            "score", Integer(minimum=0), "Centipawns from 0, on either side, at most.", _DRAW.score
        ),
    ),
    lambda values, context: DrawAdjudication(**values),
    positional=("move_number", "move_count", "score"),
)

RESIGN_ADJUDICATION = CallOf(
    "ResignAdjudication",
    (
        Setting(
            "move_count",
            Integer(minimum=1),
            "Moves of the loser, in a row, with such a score.",
            _RESIGN.move_count,
        ),
        Setting(
            "score",
            Integer(minimum=1),
            "Centipawns below 0, at least; being mated counts, too.",
            _RESIGN.score,
        ),
        Setting(
            "two_sided",
            Boolean(),
            "Whether the opponent's scores must have been as far above 0 for as long.",
            _RESIGN.two_sided,
        ),
    ),
    lambda values, context: ResignAdjudication(**values),
    positional=("move_count", "score"),
)

TABLEBASES = CallOf(
    "Tablebases",
    (
        Setting("path", _Folders(), "Where the Syzygy files are: a folder, or several."),
        Setting(
            "pieces",
            Maybe(Integer(minimum=3)),
            "Men on the board at most, kings included; by default as many as the files have.",
            None,
        ),
        Setting(
            "ignore_50_moves",
            Boolean(),
            "Whether a win counts that the 50-move rule would make a draw.",
            False,
        ),
    ),
    _tablebases,
    positional=("path",),
    shorthand=True,
)

#: Part of the settings of a single game.
ADJUDICATION_SETTINGS: tuple[Setting, ...] = (
    Setting(
        "move_limit_result",
        Maybe(OneOf("draw", "unknown")),
        "How a game at the move limit counts; by default it is a draw in chess and shogi, and "
        "has an unknown result in Go.",
        None,
    ),
    Setting(
        "draw_adjudication",
        Maybe(DRAW_ADJUDICATION),
        "Declares a draw when both engines have long said that the game is level.",
        None,
    ),
    Setting(
        "resign_adjudication",
        Maybe(RESIGN_ADJUDICATION),
        "Declares a game lost when its loser has said so by its scores.",
        None,
    ),
    Setting(
        "tablebases",
        Maybe(TABLEBASES),
        "Ends a game of chess or Chess960 as soon as Syzygy tablebases know its result.",
        None,
    ),
    Setting(
        "record_info",
        ListOf(OneOf(*RECORD_INFO)),
        "What a game record says of each move beside score, depth and time.",
        (),
    ),
    Setting(
        "record_times",
        Boolean(),
        "Whether the comments of game records give the time of each move.",
        True,
    ),
)


def check_adjudication(settings: GameSettings) -> None:
    """Raise SettingError for what a game does not have."""
    if settings.game == "go":
        for name in ("draw_adjudication", "resign_adjudication", "tablebases", "record_info"):
            if getattr(settings, name):
                raise SettingError(
                    (name,), f"{name!r} has no meaning in go: engines give no scores over GTP"
                )
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
    """Raise SettingError when tablebases are asked for and not there."""
    if settings.tablebases is not None:
        problem = find_problem(settings.tablebases)
        if problem:
            raise SettingError(("tablebases",), problem, "a folder of Syzygy files")
