"""The settings `score` and `reference`: how positions are scored, and by which other engine.

The reference is scored once.  It has its own win-rate scale, since engines scale centipawns
differently.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ringmaster.competitions.common_settings import PlayerDefinition, find_player
from ringmaster.competitions.setting_types import Choice, optional
from ringmaster.competitions.texel.state import plain, scoring_arguments
from ringmaster.errors import SettingError, shown
from ringmaster.model.canonical import canonical
from ringmaster.model.jobs import ScoreKind
from ringmaster.model.players import GameName, Player
from ringmaster.model.settings import (
    Call,
    CallOf,
    Context,
    Float,
    Function,
    Identifier,
    OneOf,
    Setting,
    SettingPath,
    String,
)
from ringmaster.tuners.texel.loss import LARGEST_SCORE

#: Returns centipawns for the side to move, or None, from the engine's answer and the position.
ScoreFunction = Callable[[str, str], float | None]
#: Scores by a search.
_SEARCH = re.compile(r"(depth|nodes) +([1-9]\d{0,9})\Z")
_WORDS = "'eval', 'quiescence', 'depth N', 'nodes N'"
#: Letter of the side that moves first, in FEN and in SFEN.
_FIRST: dict[GameName, str] = {"chess": "w", "shogi": "b", "go": "b"}


class Scoring(msgspec.Struct, frozen=True):
    """A way to score positions.

    kind      request to the engine
    pov       side of a pattern's score, as in the control file
    function  computes a score from the engine's answer, None: built in
    text      as shown in the control file and reports
    """

    kind: ScoreKind
    pov: str = "mover"
    function: ScoreFunction | None = None
    text: str = "eval"

    def __repr__(self) -> str:
        return repr(self.text)

    def canonical(self) -> dict[str, Any]:
        """Return the settings for the comparison of two runs."""
        return {"kind": self.kind, "pov": self.pov, "function": self.function}

    @property
    def is_static(self) -> bool:
        """Whether it is the engine's own static evaluation."""
        return self.kind.kind == "eval" and self.function is None

    def for_game(self, game: GameName) -> ScoreKind:
        """Return the request of a job.  Raises SettingError for a wrong side."""
        first = {"chess": "white", "shogi": "black"}.get(game)
        if self.pov in ("white", "black") and self.pov != first:
            raise SettingError(
                ("score", "pov"),
                f"{self.pov} does not move first in {game}",
                f"{first!r} or 'mover'",
            )
        return msgspec.structs.replace(self.kind, pov="mover" if self.pov == "mover" else "first")


def result_of(function: Callable[..., Any], arguments: Sequence[Any], name: str) -> Any:
    """Return the result of a function of the setting `name`.

    Raises SettingError if the function fails.
    """
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit
        words = ", ".join(map(shown, arguments))
        raise SettingError(
            (name,), f"called with ({words}), it raised {type(error).__name__}: {error}"
        ) from error


def scores_of(
    function: ScoreFunction, answers: Sequence[str], positions: Sequence[str], game: GameName
) -> bytes:
    """Return scores by a control file's function, as EvaluationResult has them.

    Raises SettingError if the function fails.
    """
    scores = np.full(len(positions), np.nan, dtype="<f4")
    for i, (answer, position) in enumerate(zip(answers, positions, strict=True)):
        value = result_of(function, (answer, position), "score")
        if value is None:
            continue
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise SettingError(
                ("score",),
                f"called with ({shown(answer)}, {shown(position)}), it returned {shown(value)}",
                "centipawns for the side to move, or None",
            )
        sign = 1 if position.split(" ", 2)[1:2] == [_FIRST[game]] else -1
        scores[i] = sign * min(max(float(value), -LARGEST_SCORE), LARGEST_SCORE)
    return scores.tobytes()


def _build_score(values: dict[str, Any], context: Context) -> Scoring:
    pattern, function = values["pattern"], values["function"]
    if pattern is not None and function is not None:
        raise SettingError(("function",), "pattern and function exclude each other", "one of them")
    if pattern is not None:
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            raise SettingError(
                ("pattern",), f"{shown(pattern)} is not a regular expression: {error}"
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


_FUNCTION = Function("a function of the engine's answer and of the position")
SCORE = CallOf(
    "Score",
    (
        Setting("command", String(), "Command sent to the engine.", "eval"),
        optional(
            "pattern",
            String(),
            "Regular expression; its first group in the last matching line is the score.  By "
            "default the usual format of the engine's family.",
        ),
        Setting(
            "unit",
            Float(above=0, maximum=1e6),
            "Centipawns in a unit of the score: 100 if scores are in pawns.",
            1.0,
        ),
        Setting(
            "pov",
            OneOf("mover", "white", "black"),
            "Side of the score: to move, or first to move (White in chess, Black in shogi).",
            "mover",
        ),
        optional(
            "function",
            _FUNCTION,
            "Replaces a pattern: returns centipawns for the side to move, or None.",
        ),
    ),
    _build_score,
    positional=("command",),
)


class ScoreSetting(Choice):
    """The setting `score`."""

    def __init__(self) -> None:
        super().__init__(SCORE, function=_FUNCTION)

    def describe(self) -> str:
        return f"{_WORDS}, {super().describe()}"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str):
            words = " ".join(value.split())
            if words in ("eval", "quiescence"):
                return Scoring(ScoreKind(words), text=words)  # type: ignore[arg-type]  # a kind
            search = _SEARCH.match(words)
            if search is not None:
                kind = ScoreKind(search[1], int(search[2]))  # type: ignore[arg-type]  # a kind
                return Scoring(kind, text=words)
            return context.refuse(path, f"{shown(value)} is not a valid score", self.describe())
        if callable(value) and not isinstance(value, Call):
            name = getattr(value, "__name__", "function")
            return Scoring(ScoreKind("eval", command="eval"), function=value, text=name)
        return super().interpret(value, path, context)


EVAL = Scoring(ScoreKind("eval"))
DEPTH_1 = Scoring(ScoreKind("depth", 1), text="depth 1")


def with_limit(definition: PlayerDefinition) -> PlayerDefinition:
    """Return a player with a limit of moves, which a Player(…) needs and scores do not."""
    if definition.has_limits or definition.values["protocol"] == "gtp":
        return definition
    return PlayerDefinition({**definition.values, "depth": 1})


class ReferenceSettings(msgspec.Struct, frozen=True):
    """Reference(…) of a control file.

    score  how the reference scores a position, None: as the tuned player
    """

    player: str
    score: Scoring | None


REFERENCE_CALL = CallOf(
    "Reference",
    (
        Setting("player", Identifier(), "Code of the engine."),
        optional(
            "score",
            ScoreSetting(),
            "How the engine scores a position; by default as the competition's ``score``.",
        ),
    ),
    lambda values, context: ReferenceSettings(**values),
    positional=("player",),
    shorthand=True,
)


class Reference(msgspec.Struct, frozen=True):
    """A reference engine, ready for jobs.

    settings  those on which its scores depend, as JSON data
    """

    player: Player
    scoring: Scoring
    settings: dict[str, Any]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Reference | None:
        """Return the reference of a control file, None without one.  Raises SettingError."""
        settings: ReferenceSettings | None = values["reference"]
        if settings is None:
            return None
        game: GameName = values["game"]
        definition = find_player(values, settings.player, ("reference", "player"))
        scoring = settings.score or values["score"]
        try:
            scoring.for_game(game)
            player = with_limit(definition).make(settings.player, game)
        except SettingError as error:
            raise SettingError(("reference",), error.message, error.expected) from None
        own_settings = {"engine": scoring_arguments(definition), "score": plain(canonical(scoring))}
        return cls(player, scoring, own_settings)
