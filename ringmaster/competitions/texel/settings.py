"""The settings of a texel competition, and checks between them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.setting_types import Choice, OneOrMore, Word, flag, one_of, optional
from ringmaster.competitions.tuning.parameter_settings import (
    BINDING,
    BOUNDS,
    ON_SCALE,
    build_parameter,
)
from ringmaster.competitions.tuning.player_tune import tune_settings
from ringmaster.datasets.position_settings import POV_NAMES, PositionSettings
from ringmaster.errors import SettingError, nearest, shown
from ringmaster.model.jobs import ScoreKind
from ringmaster.model.players import GameName
from ringmaster.model.settings import (
    Boolean,
    Call,
    CallOf,
    Context,
    FileName,
    Float,
    Function,
    Identifier,
    Integer,
    ListOf,
    Maybe,
    OneOf,
    Setting,
    SettingPath,
    String,
)
from ringmaster.tuners.texel.targets import Target

#: Largest number of centipawns in any setting.
MOST_CENTIPAWNS = 1e6
_CENTIPAWNS = Float(above=0, maximum=MOST_CENTIPAWNS)

PARAMETER = CallOf(
    "Parameter",
    (
        *BOUNDS,
        optional(
            "step",
            Float(above=0),
            "Change that shows its effect on the scores; by default adapted to the engine.",
        ),
        ON_SCALE,
        optional("group", String(), "Name of its group of parameters; see ``groups``."),
        *BINDING,
    ),
    build_parameter,
    positional=("code", "start", "min", "max"),
)


#: Returns centipawns for the side to move, or None, from the engine's answer and the position.
ScoreFunction = Callable[[str, str], float | None]
#: Scores without further arguments.
_WORD = re.compile(r"(eval|quiescence|(depth|nodes) [1-9]\d{0,9})\Z")
_WORDS = "'eval', 'quiescence', 'depth N', 'nodes N'"


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
        return {"kind": self.kind, "pov": self.pov, "function": self.function}

    @property
    def is_static(self) -> bool:
        """Return whether it is the engine's own static evaluation."""
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
        one_of(
            "pov",
            ("mover", "white", "black"),
            "Side of the score: to move, or first to move (White in chess, Black in shogi).",
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
    def __init__(self) -> None:
        super().__init__(SCORE, function=_FUNCTION)

    def describe(self) -> str:
        return f"{_WORDS}, {super().describe()}"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str):
            words = " ".join(value.split())
            if _WORD.match(words):
                name, _, amount = words.partition(" ")
                kind = ScoreKind(name, int(amount or 0))  # type: ignore[arg-type]  # a kind
                return Scoring(kind, text=words)
            return context.refuse(path, f"{shown(value)} is not a valid score", self.describe())
        if callable(value) and not isinstance(value, Call):
            name = getattr(value, "__name__", "function")
            return Scoring(ScoreKind("eval", command="eval"), function=value, text=name)
        return super().interpret(value, path, context)


EVAL = Scoring(ScoreKind("eval"))
DEPTH_1 = Scoring(ScoreKind("depth", 1), text="depth 1")


#: The value is a tuple of the player and the score, None for the score of the tuned player.
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
    lambda values, context: (values["player"], values["score"]),
    positional=("player",),
    shorthand=True,
)


class PositionsSettings(msgspec.Struct, frozen=True):
    """Positions(…) of a control file, one or several; no quiet filter if `quiet` is None."""

    sources: tuple[PositionSettings, ...]
    quiet: float | None
    quiet_score: Any

    @property
    def score_cap(self) -> float | None:
        """Largest engine's score of positions without a teacher's; the largest of the sources."""
        caps = [source.score_cap for source in self.sources]
        return None if None in caps else max(cap for cap in caps if cap is not None)

    def canonical(self) -> dict[str, Any]:
        sources = [vars(source) for source in self.sources]
        return {"sources": sources, "quiet": self.quiet, "quiet_score": self.quiet_score}


class _PositionsCall(CallOf):
    """Positions("a.epd", "b.plain", …): any number of files, then keywords."""

    def describe(self) -> str:
        return "Positions('file', …)"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str):
            value = Call(self.kind, (value,), {})
        if isinstance(value, Call) and value.args:
            args = value.args
            paths = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
            value = Call(value.kind, (list(paths),), value.kwargs)
        return super().interpret(value, path, context)


class _Sources(OneOrMore):
    """Positions(…), or a list of them with settings of their own."""

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        items: tuple[PositionsSettings, ...] | Any = super().interpret(value, path, context)
        if not isinstance(items, tuple):
            return items
        first = items[0]
        for i, item in enumerate(items):
            for name in ("quiet", "quiet_score"):
                if getattr(item, name) != getattr(first, name):
                    return context.refuse((*path, i), f"{name} must be the same in all of them")
            if item.sources[0].duplicates != first.sources[0].duplicates:
                return context.refuse((*path, i), "duplicates must be the same in all of them")
        sources = tuple(source for item in items for source in item.sources)
        return PositionsSettings(sources, first.quiet, first.quiet_score)

    def portable(self, data: Any, directory: str) -> Any:
        if not isinstance(data, dict):
            return data
        sources = super().portable(data.get("sources"), directory)
        return {**self.inner.portable(data, directory), "sources": sources}


def _build_positions(values: dict[str, Any], context: Context) -> PositionsSettings:
    for name in ("score_pov", "result_pov"):
        if values[name] is not None:
            values[name] = POV_NAMES[values[name]]
    quiet, score = values.pop("quiet"), values.pop("quiet_score")
    if score.function is not None:
        raise SettingError(
            ("quiet_score",), "the score to compare with cannot be a function", "'depth 1'"
        )
    return PositionsSettings((PositionSettings(**values),), quiet, score)


POSITIONS = _PositionsCall(
    "Positions",
    (
        Setting("paths", ListOf(FileName(), minimum=1), "The files, in the order of reading."),
        optional("format", String(), "Format; by default recognised by suffix and first lines."),
        optional("score_pov", OneOf(*POV_NAMES), "Side of scores; by default the format's."),
        optional("result_pov", OneOf(*POV_NAMES), "The same for results."),
        flag("in_check", "Whether positions in check are kept."),
        optional(
            "score_cap",
            _CENTIPAWNS,
            "Positions with a larger score are left out, centipawns: the teacher's score, or "
            "without one the engine's own score with the start values.",
        ),
        Setting("first_ply", Integer(minimum=0, maximum=10_000), "Plies left out at the start.", 0),
        optional(
            "quiet",
            Float(minimum=0, maximum=MOST_CENTIPAWNS),
            "Largest difference of static score and ``quiet_score`` in centipawns.",
        ),
        Setting("quiet_score", ScoreSetting(), "Score to compare with the static score.", DEPTH_1),
        one_of(
            "duplicates",
            ("merge", "keep"),
            "Whether equal positions are merged, with averaged labels.",
        ),
        optional("most", Integer(minimum=1), "Size of a random sample of the positions."),
        flag("skip_bad", "Whether bad positions are left out, not refused."),
        optional(
            "results",
            OneOf("0-1", "0-2"),
            "Numbers of a loss and a win, where a file has 0 and 1 only; by default the file's.",
        ),
    ),
    _build_positions,
    positional=("paths",),
)


class OptimiserSettings(msgspec.Struct, frozen=True):
    """An optimiser of a control file with its arguments."""

    name: str
    arguments: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        return repr(self.name)

    def canonical(self) -> dict[str, Any]:
        return {"name": self.name, **self.arguments}


class _FeatureSource(FileName):
    """A function of the control file, or the name of a file."""

    _function = Function("a function that returns a position's coefficients by name")

    def describe(self) -> str:
        return f"{self._function.describe()}, or {super().describe()}"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        return value if callable(value) else super().interpret(value, path, context)


_SHARE = Float(above=0, maximum=1)
_UNIT = Float(minimum=0, maximum=1)
_MILLION = Integer(minimum=1, maximum=10**6)

#: The arguments of each optimiser, by its name.
_ARGUMENTS: dict[str, tuple[Setting, ...]] = {
    "gauss_newton": (),
    "local_search": (
        optional("grow", Float(minimum=1, maximum=100), "Factor after a success; by default 2."),
        optional(
            "precision",
            Float(above=0, maximum=0.25),
            "Smallest step of fractional parameters as a share of the range.",
        ),
    ),
    "genetic": (
        optional("population", Integer(minimum=4, maximum=100_000), "Individuals of a generation."),
        optional("generations", _MILLION, "Limit of generations; by default 100."),
        optional("precision", Float(above=0, maximum=0.5), "Smallest change, by the range."),
        optional("batch", _SHARE, "Share of the positions that scores a generation."),
        optional("mutation", _UNIT, "Share of the bits that are flipped."),
    ),
    "spsa_batches": (optional("batch", _SHARE, "Share of the positions that measures a step."),),
    "linear": (
        Setting(
            "features",
            _FeatureSource(),
            "Coefficients of the parameters: a function of (answer, position) or of (position), or "
            "a CSV or NPZ file.",
        ),
        optional("command", String(), "Command sent to the engine; by default features."),
        optional(
            "unnamed",
            OneOf("refuse", "ignore"),
            "Features without a parameter; by default those of a file are refused, others ignored.",
        ),
        optional("check", Boolean(), "Whether a pass compares the features with the scores."),
        optional("tapered", Boolean(), "Whether weights are pairs NAME_mg and NAME_eg by phase."),
    ),
}
#: Classes of optimisers; each is in the module with the optimiser's name, imported on use.
OPTIMISERS = {name: name.title().replace("_", "") for name in _ARGUMENTS}


def _call(name: str) -> CallOf:
    def build(values: dict[str, Any], context: Context) -> OptimiserSettings:
        arguments = {key: value for key, value in values.items() if value is not None}
        return OptimiserSettings(name, arguments)

    return CallOf(OPTIMISERS[name], _ARGUMENTS[name], build)


#: The setting `optimiser`.
OPTIMISER = Choice(*map(_call, OPTIMISERS), words=OPTIMISERS)
GAUSS_NEWTON = OptimiserSettings("gauss_newton")

#: Its value is a tuple of the strength, None for a path of strengths.
RIDGE = CallOf(
    "Ridge",
    (
        optional(
            "strength",
            Float(minimum=0, maximum=1e6),
            "Penalty of a change by the full range; by default that of least validation error.",
        ),
    ),
    lambda values, context: (values["strength"],),
    positional=("strength",),
)

#: Most positions of a test of moves.
MOST_TESTED = 10_000


class MoveAccuracySettings(msgspec.Struct, frozen=True):
    """MoveAccuracy(…) of a control file."""

    positions: PositionSettings
    search: ScoreKind


def _build_move_accuracy(values: dict[str, Any], context: Context) -> MoveAccuracySettings:
    settings: PositionsSettings = values["positions"]
    (source,) = settings.sources
    most = source.most or MOST_TESTED
    if settings.quiet is not None:
        raise SettingError(("positions", "quiet"), "a test of moves has no quiet filter")
    if most > MOST_TESTED:
        raise SettingError(
            ("positions", "most"), f"{most:,} positions are too many", f"at most {MOST_TESTED:,}"
        )
    nodes, depth = values["nodes"], values["depth"]
    if nodes is not None and depth is not None:
        raise SettingError(("depth",), "nodes and depth exclude each other", "one of them")
    search = ScoreKind("nodes", nodes or 1000) if depth is None else ScoreKind("depth", depth)
    return MoveAccuracySettings(dataclasses.replace(source, most=most, moves=True), search)


MOVE_ACCURACY = CallOf(
    "MoveAccuracy",
    (
        Setting("positions", POSITIONS, "Positions with moves of a teacher, at most 10,000."),
        optional("nodes", Integer(minimum=1, maximum=10**9), "Nodes of a search; default 1,000."),
        optional("depth", Integer(minimum=1, maximum=1000), "Depth of a search instead."),
    ),
    _build_move_accuracy,
    positional=("positions",),
)

_LIMIT = Maybe(Float(minimum=0, maximum=MOST_CENTIPAWNS))
_BLEND: tuple[Setting, ...] = (
    optional("lambda2", _UNIT, "Share of the teacher's score beyond ``lambda_limit``."),
    Setting(
        "lambda_limit",
        _LIMIT,
        "Centipawns from which ``lambda2`` applies; by default at a win probability of 60 %.",
        None,
    ),
)
_EVAL_LIMIT = Setting("eval_limit", _LIMIT, "Largest score of the teacher, centipawns.", None)


class Results(Target, frozen=True):
    """The target Texel(): results alone."""

    def __repr__(self) -> str:
        return "Texel()"


RESULTS = Results("texel")
TEXEL = CallOf("Texel", (), lambda values, context: RESULTS)
ELMO = CallOf(
    "Elmo",
    (
        Setting("lambda_", _UNIT, "Share of the teacher's score; 0 is the result alone.", 0.33),
        *_BLEND,
        _EVAL_LIMIT,
    ),
    lambda values, context: _target("elmo", values),
    positional=("lambda_",),
)
GAUSSIAN = CallOf(
    "GaussianLambda",
    (
        Setting("lambda_", _UNIT, "Share of the teacher's score if the score is 0.", 0.5),
        optional("sigma", _CENTIPAWNS, "Deviation; by default 1.67 times the teacher's scale."),
        *_BLEND,
        _EVAL_LIMIT,
    ),
    lambda values, context: _target("gaussian", values),
    positional=("lambda_", "sigma"),
)
BLEND = CallOf(
    "Blend",
    (
        Setting(
            "function",
            Function("a function of (score, ply, progress)"),
            "Returns the share of the teacher's score, 0 to 1; arguments may be None.",
        ),
        _EVAL_LIMIT,
    ),
    lambda values, context: _target("function", values),
    positional=("function",),
)


def _target(kind: Any, values: dict[str, Any]) -> Target:
    if values.get("lambda_limit") is not None and values.get("lambda2") is None:
        raise SettingError(
            ("lambda_limit",), "lambda_limit has no effect without lambda2", "lambda2 too"
        )
    return Target(kind, **values)


class SweepSettings(msgspec.Struct, frozen=True):
    """Sweep(…) of a control file.

    sigmas  centipawns; None: the tune's own
    """

    lambdas: Sequence[float]
    sigmas: Sequence[float] | None

    def targets(self, own: Target) -> list[Target]:
        """Return a target for each pair.  Raises SettingError without a teacher."""
        if own.kind not in ("elmo", "gaussian"):
            raise SettingError(
                ("sweep",),
                "a sweep needs a target that blends in a teacher's scores",
                "target = GaussianLambda(…) or Elmo(…)",
            )
        kind: Any = own.kind if self.sigmas is None else "gaussian"
        sigmas = (own.sigma,) if self.sigmas is None else self.sigmas
        return [
            msgspec.structs.replace(own, kind=kind, lambda_=share, sigma=sigma)
            for share in self.lambdas
            for sigma in sigmas
        ]


SWEEP = CallOf(
    "Sweep",
    (
        Setting("lambda_", ListOf(_UNIT, minimum=1), "Shares of the teacher's score."),
        optional(
            "sigma",
            ListOf(_CENTIPAWNS, minimum=1),
            "Standard deviations in centipawns; by default the one of ``target``.",
        ),
    ),
    lambda values, context: SweepSettings(values["lambda_"], values["sigma"]),
    positional=("lambda_", "sigma"),
)
_SCALE = Word(Float(minimum=1, maximum=MOST_CENTIPAWNS), "fit")

#: Every setting of the type.
TEXEL_SETTINGS = tune_settings(
    PARAMETER,
    optional("anchor", String(), "Code of a parameter whose value is kept, to fix the scale."),
    optional(
        "groups",
        ListOf(String(), minimum=1),
        "Groups of parameters in the order of tuning; by default all are tuned together.",
    ),
    Setting("positions", _Sources(POSITIONS, minimum=1), "The labelled positions."),
    Setting("score", ScoreSetting(), "How the engine scores a position.", EVAL),
    Setting(
        "in_flight",
        Word(Integer(minimum=1, maximum=1024), "auto"),
        "Requests sent before the engine has answered; auto: as many as a test allows.",
        "auto",
    ),
    one_of(
        "apply",
        ("auto", "live", "newgame", "restart"),
        "When values take effect: at once, after ucinewgame, or in a new process; auto: by a test "
        "(a search gets a new process for each shard).",
    ),
    Setting(
        "target",
        Choice(TEXEL, ELMO, GAUSSIAN, BLEND),
        "Target: the results of the games, or a blend with the scores of a teacher.",
        RESULTS,
    ),
    one_of("loss", ("squared", "cross_entropy"), "Error of a win probability."),
    Setting(
        "win_rate_scale",
        _SCALE,
        "C of the win probability 1/(1 + exp(-score/C)); fit: by the start values' scores.",
        "fit",
    ),
    Setting("teacher_scale", _SCALE, "The same for the teacher's scores.", "fit"),
    Setting("optimiser", OPTIMISER, "Method of optimisation.", GAUSS_NEWTON),
    optional("regularisation", RIDGE, "Penalty for leaving the start values."),
    Setting(
        "validation",
        Float(minimum=0, maximum=0.9),
        "Share of the games held out; their error decides when to stop and measures the gain.",
        0.2,
    ),
    Setting(
        "patience",
        Maybe(Integer(minimum=1, maximum=10_000)),
        "Steps without a smaller error of validation that end the tune; None: no limit.",
        3,
    ),
    optional("most_passes", Float(minimum=1, maximum=1e9), "Limit of passes over training."),
    optional("sweep", SWEEP, "Blends whose best values are compared after the tune."),
    optional("reference", REFERENCE_CALL, "Another engine whose error is reported beside."),
    optional(
        "move_accuracy",
        MOVE_ACCURACY,
        "Test set on which the best moves of the start and the tuned values are compared with a "
        "teacher's, after the tune.",
    ),
)


def wrong_settings(values: Mapping[str, Any]) -> Iterator[SettingError]:
    """Yield errors of the game, of the anchor and the frozen parameters, and of `groups`."""
    if values["game"] == "go":
        yield SettingError(
            ("game",),
            "engines of Go do not print an evaluation",
            "'chess' or 'shogi'; an spsa competition tunes engines of Go",
        )
    anchor, groups, parameters = values["anchor"], values["groups"], values["parameters"]
    codes = [p.code for p in parameters]
    if anchor is not None and anchor not in codes:
        message = f"there is no parameter {shown(anchor)}"
        yield SettingError(("anchor",), message, nearest(anchor, codes))
    elif anchor is not None and all(p.frozen or p.code == anchor for p in parameters):
        yield SettingError(("anchor",), "every other parameter is frozen: nothing to tune")
    named = list(dict.fromkeys(p.group for p in parameters if p.group is not None))
    for i, name in enumerate(groups or ()):
        if name not in named:
            remedy = nearest(name, named) if named else "group=… in a Parameter"
            message = f"no parameter is in group {shown(name)}"
            yield SettingError(("groups", i), message, remedy)
        elif name in groups[:i]:
            yield SettingError(("groups", i), f"group {shown(name)} is listed twice")
    for i, p in enumerate(parameters):
        is_tuned = not p.frozen and p.code != anchor
        if groups is not None and is_tuned and p.group not in groups:
            yield SettingError(
                ("parameters", i),
                f"parameter {p.code!r} is in no tuned group",
                f"group={' or '.join(map(repr, groups))}, or frozen=True",
            )
