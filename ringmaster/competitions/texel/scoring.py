"""How positions are scored: the setting `score`, and the control file's own functions of
what an engine says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from ringmaster.competitions.texel.choices import Choice
from ringmaster.errors import SettingError
from ringmaster.model.calls import Call
from ringmaster.model.jobs import ScoreKind
from ringmaster.model.players import GameName
from ringmaster.model.settings import (
    CallOf,
    Context,
    Float,
    Function,
    Maybe,
    OneOf,
    Setting,
    SettingPath,
    String,
)
from ringmaster.model.wording import shown

#: A function of what an engine said and of the position, to centipawns from the side to
#: move, None for no score.
ScoreFunction = Callable[[str, str], float | None]
#: What is asked of a position, in words.
_SEARCH = re.compile(r"(depth|nodes) +([1-9]\d{0,9})\Z")
_WORDS = "'eval', 'quiescence', 'depth N', 'nodes N'"
#: The letter of the side that moves first, in FEN and in SFEN.
_FIRST: dict[GameName, str] = {"chess": "w", "shogi": "b", "go": "b"}
#: A mate, in centipawns.
MATE = 10_000.0


class Scoring(msgspec.Struct, frozen=True):
    """How positions are scored.

    kind      what the engine is asked
    pov       whose side a pattern's score is from, as the control file says
    function  makes a score of what it said, None: the program knows how
    text      as the control file and reports have it
    """

    kind: ScoreKind
    pov: str = "mover"
    function: ScoreFunction | None = None
    text: str = "eval"

    def __repr__(self) -> str:
        return repr(self.text)

    def canonical(self) -> dict[str, Any]:
        """Return what it says, for the comparison of two runs."""
        return {"kind": self.kind, "pov": self.pov, "function": self.function}

    @property
    def is_static(self) -> bool:
        """Whether it is the engine's own static evaluation."""
        return self.kind.kind == "eval" and self.function is None

    def for_game(self, game: GameName) -> ScoreKind:
        """Return what a job is given.  Raises SettingError for a side that the game's
        scores are not told from."""
        first = {"chess": "white", "shogi": "black"}.get(game)
        if self.pov in ("white", "black") and self.pov != first:
            raise SettingError(
                ("score", "pov"),
                f"{self.pov} does not move first in {game}",
                f"{first!r} or 'mover'",
            )
        pov = "mover" if self.pov == "mover" else "first"
        return ScoreKind(
            self.kind.kind,
            self.kind.amount,
            self.kind.command,
            self.kind.pattern,
            self.kind.unit,
            pov,  # type: ignore[arg-type]  # one of the two
        )


def moves_first(position: str, game: GameName) -> bool:
    """Whether the side to move in a position is the one that moves first in a game."""
    return position.split(" ", 2)[1:2] == [_FIRST[game]]


def scores_of(
    function: ScoreFunction, answers: Sequence[str], positions: Sequence[str], game: GameName
) -> bytes:
    """Return the scores that a function of the control file makes of what an engine said,
    as an EvaluationResult has them.  Raises SettingError."""
    found = np.full(len(positions), np.nan, dtype="<f4")
    for i, (answer, position) in enumerate(zip(answers, positions, strict=True)):
        try:
            value = function(answer, position)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit too: the file has no say in that
            raise SettingError(
                ("score",),
                f"called with ({shown(answer)}, {position!r}), it raised "
                f"{type(error).__name__}: {error}",
            ) from error
        if value is None:
            continue
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise SettingError(
                ("score",),
                f"called with ({shown(answer)}, {position!r}), it returned {shown(value)}",
                "centipawns from the side to move, or None",
            )
        sign = 1 if moves_first(position, game) else -1
        found[i] = sign * min(max(float(value), -MATE), MATE)
    return found.tobytes()


def _build_score(values: dict[str, Any], context: Context) -> Scoring:
    pattern, function = values["pattern"], values["function"]
    if pattern is not None and function is not None:
        raise SettingError(("function",), "pattern and function say the same in two ways", "one")
    if pattern is not None:
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            raise SettingError(
                ("pattern",), f"{shown(pattern)} is no regular expression: {error}"
            ) from None
        if groups < 1:
            raise SettingError(
                ("pattern",),
                f"{shown(pattern)} has no group",
                r"a pair of brackets around the score, as in r'Total: (\S+)'",
            )
    command = values["command"]
    if "\n" in command or "\r" in command or not command.strip():
        raise SettingError(("command",), f"{shown(command)} cannot be sent", "one line of text")
    kind = ScoreKind("eval", 0, command, pattern, values["unit"])
    return Scoring(kind, values["pov"], function, command)


SCORE = CallOf(
    "Score",
    (
        Setting("command", String(), "What is sent to the engine.", "eval"),
        Setting(
            "pattern",
            Maybe(String()),
            "A regular expression, searched in each line of the answer; its first group is the "
            "score, and the last line that matches counts.  By default as the engine's family "
            "prints it.",
            None,
        ),
        Setting(
            "unit",
            Float(above=0, maximum=1e6),
            "Centipawns that 1 is: 100 where scores are in pawns.",
            1.0,
        ),
        Setting(
            "pov",
            OneOf("mover", "white", "black"),
            "Whose side the score is from: the side to move, or the one that moves first "
            "(White in chess, Black in shogi).",
            "mover",
        ),
        Setting(
            "function",
            Maybe(Function("a function of what the engine said and of the position")),
            "In the place of a pattern: returns centipawns from the side to move, or None.",
            None,
        ),
    ),
    _build_score,
    positional=("command",),
)


class ScoreSetting(Choice):
    """The setting `score`."""

    def __init__(self) -> None:
        super().__init__(
            SCORE, function=Function("a function of what the engine said and of the position")
        )

    def describe(self) -> str:
        """See `SettingType.describe`."""
        return f"{_WORDS}, {super().describe()}"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        """See `SettingType.interpret`."""
        if isinstance(value, str):
            words = " ".join(value.split())
            if words in ("eval", "quiescence"):
                return Scoring(ScoreKind(words), text=words)  # type: ignore[arg-type]  # a kind
            found = _SEARCH.match(words)
            if found is not None:
                kind = ScoreKind(found[1], int(found[2]))  # type: ignore[arg-type]  # a kind
                return Scoring(kind, text=words)
            return context.refuse(path, f"{shown(value)} is no way to score", self.describe())
        if callable(value) and not isinstance(value, Call):
            function = super().interpret(value, path, context)
            name = getattr(value, "__name__", "function")
            return Scoring(ScoreKind("eval", command="eval"), function=function, text=name)
        return super().interpret(value, path, context)


EVAL = Scoring(ScoreKind("eval"))
DEPTH_1 = Scoring(ScoreKind("depth", 1), text="depth 1")
