"""The settings of a texel event."""

from __future__ import annotations

from typing import Any

import msgspec

from ringmaster.competitions.candidates import TUNE_GAME_SETTINGS
from ringmaster.competitions.closing_match import VERIFY
from ringmaster.competitions.common import COMMON_SETTINGS
from ringmaster.competitions.player_tune import MAKE_CANDIDATE
from ringmaster.competitions.texel.choices import Choice, Word
from ringmaster.competitions.texel.methods import GAUSS_NEWTON, OPTIMISER, RIDGE
from ringmaster.competitions.texel.reference import REFERENCE_CALL
from ringmaster.competitions.texel.scoring import DEPTH_1, EVAL, ScoreSetting
from ringmaster.competitions.tuned_parameters import BOUNDS, DELIVERY, GAINS, build_parameter
from ringmaster.datasets.settings import POV_NAMES, PositionSettings
from ringmaster.errors import SettingError
from ringmaster.model.calls import Call
from ringmaster.model.settings import (
    Boolean,
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

#: Largest number of centipawns that anything may be given as.
MOST_CENTIPAWNS = 1e6

PARAMETER = CallOf(
    "Parameter",
    (
        *BOUNDS,
        Setting(
            "step",
            Maybe(Float(above=0)),
            "By how much it is changed to see what that does to the scores; by default found out.",
            None,
        ),
        Setting(
            "group",
            Maybe(String()),
            "Name of the parameters that are tuned together; see ``groups``.",
            None,
        ),
        *GAINS,
        *DELIVERY,
    ),
    build_parameter,
    positional=("code", "start", "min", "max"),
)


class PositionsSettings(msgspec.Struct, frozen=True):
    """Positions(…) of a control file.

    dataset      what is read
    quiet        centipawns, None: all positions are taken for quiet
    quiet_score  what the static score is compared with
    """

    dataset: PositionSettings
    quiet: float | None
    quiet_score: Any

    def canonical(self) -> dict[str, Any]:
        """Return what it says, for the comparison of two runs."""
        data = {name: getattr(self.dataset, name) for name in PositionSettings.__dataclass_fields__}
        # it does not change the positions that there are; others have another digest
        del data["skip_bad"]
        return {**data, "quiet": self.quiet, "quiet_score": self.quiet_score}


class _PositionsCall(CallOf):
    """Positions("a.epd", "b.plain", …): any number of files, in keyword form the rest."""

    def describe(self) -> str:
        """See `SettingType.describe`."""
        return "Positions('file', …)"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        """See `SettingType.interpret`."""
        if isinstance(value, str):
            value = Call(self.kind, (value,), {})
        given = getattr(value, "args", None)
        if getattr(value, "kind", None) == self.kind and given:
            paths = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given
            if "paths" in value.kwargs:
                return context.refuse((*path, "paths"), "argument 'paths' is given twice")
            value = Call(self.kind, (), {"paths": list(paths), **value.kwargs})
        return super().interpret(value, path, context)


def _build_positions(values: dict[str, Any], context: Context) -> PositionsSettings:
    for name in ("score_pov", "result_pov"):
        if values[name] is not None:
            values[name] = POV_NAMES[values[name]]
    quiet, score = values.pop("quiet"), values.pop("quiet_score")
    if score.function is not None:
        raise SettingError(
            ("quiet_score",), "a function cannot be the score that is compared with", "'depth 1'"
        )
    return PositionsSettings(PositionSettings(**values), quiet, score)


POSITIONS = _PositionsCall(
    "Positions",
    (
        Setting("paths", ListOf(FileName(), minimum=1), "The files, in the order of reading."),
        Setting(
            "format",
            Maybe(String()),
            "Their format; by default what suffix and first lines of each say.",
            None,
        ),
        Setting(
            "score_pov",
            Maybe(OneOf(*POV_NAMES)),
            "Whose side the scores in them are from, where it is not as usual in the format.",
            None,
        ),
        Setting("result_pov", Maybe(OneOf(*POV_NAMES)), "The same of results.", None),
        Setting("in_check", Boolean(), "Whether positions in check are kept.", False),
        Setting(
            "score_cap",
            Maybe(Float(above=0, maximum=MOST_CENTIPAWNS)),
            "Positions with a larger score are left out, centipawns: the teacher's, or, where "
            "there is none, the engine's own with the start values.",
            None,
        ),
        Setting(
            "first_ply", Integer(minimum=0, maximum=10_000), "Plies of a game that are left out.", 0
        ),
        Setting(
            "quiet",
            Maybe(Float(minimum=0, maximum=MOST_CENTIPAWNS)),
            "Positions are left out whose static score and ``quiet_score`` differ by more "
            "centipawns.",
            None,
        ),
        Setting("quiet_score", ScoreSetting(), "What the static score is compared with.", DEPTH_1),
        Setting(
            "duplicates",
            OneOf("merge", "keep"),
            "Whether equal positions become one, with averaged labels.",
            "merge",
        ),
        Setting(
            "most",
            Maybe(Integer(minimum=1)),
            "Positions that are kept at most, a random sample.",
            None,
        ),
        Setting(
            "skip_bad",
            Boolean(),
            "Whether positions that cannot be read or are not legal are left out and counted; by "
            "default they are errors.",
            False,
        ),
    ),
    _build_positions,
)

_LAMBDA = Float(minimum=0, maximum=1)
_LIMIT = Maybe(Float(minimum=0, maximum=MOST_CENTIPAWNS))
_BLEND: tuple[Setting, ...] = (
    Setting("lambda2", Maybe(_LAMBDA), "Its share where the score is beyond the limit.", None),
    Setting(
        "lambda_limit",
        _LIMIT,
        "Centipawns from which on ``lambda2`` takes its place; by default where a win is 60 % "
        "probable.",
        None,
    ),
)
_EVAL_LIMIT = Setting(
    "eval_limit",
    _LIMIT,
    "Positions with a larger score of the teacher are left out; centipawns.",
    None,
)


class Results(Target, frozen=True):
    """The target Texel(): the results alone."""

    def __repr__(self) -> str:
        return "Texel()"


RESULTS = Results("texel")
TEXEL = CallOf("Texel", (), lambda values, context: RESULTS)
ELMO = CallOf(
    "Elmo",
    (
        Setting("lambda_", _LAMBDA, "Share of the teacher's score; 0 is the result alone.", 0.33),
        *_BLEND,
        _EVAL_LIMIT,
    ),
    lambda values, context: _target("elmo", values),
    positional=("lambda_",),
)
GAUSSIAN = CallOf(
    "GaussianLambda",
    (
        Setting("lambda_", _LAMBDA, "Share of the teacher's score where that is 0.", 0.5),
        Setting(
            "sigma",
            Maybe(Float(above=0, maximum=MOST_CENTIPAWNS)),
            "Width of the bell in centipawns; by default 1.67 times the teacher's win-rate scale.",
            None,
        ),
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
            "Returns the share of the teacher's score, 0 to 1; each argument may be None.",
        ),
        _EVAL_LIMIT,
    ),
    lambda values, context: _target("function", values),
    positional=("function",),
)


def _target(kind: Any, values: dict[str, Any]) -> Target:
    if values.get("lambda_limit") is not None and values.get("lambda2") is None:
        raise SettingError(
            ("lambda_limit",), "lambda_limit has no meaning without lambda2", "lambda2 beside it"
        )
    return Target(kind, **values)


class SweepSettings(msgspec.Struct, frozen=True):
    """Sweep(…) of a control file.

    sigmas  centipawns; None: the tune's own
    """

    lambdas: tuple[float, ...]
    sigmas: tuple[float, ...] | None

    def targets(self, own: Target) -> list[Target]:
        """Return a target for each pair.  Raises SettingError where there is no teacher."""
        if own.kind not in ("elmo", "gaussian"):
            raise SettingError(
                ("sweep",),
                "a sweep is over blends with a teacher's scores",
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
        Setting("lambda_", ListOf(_LAMBDA, minimum=1), "Shares of the teacher's score."),
        Setting(
            "sigma",
            Maybe(ListOf(Float(above=0, maximum=MOST_CENTIPAWNS), minimum=1)),
            "Widths in centipawns; by default the one of ``target``.",
            None,
        ),
    ),
    lambda values, context: SweepSettings(
        tuple(dict.fromkeys(values["lambda_"])),
        None if values["sigma"] is None else tuple(dict.fromkeys(values["sigma"])),
    ),
    positional=("lambda_", "sigma"),
)
_SCALE = Word(Float(minimum=1, maximum=MOST_CENTIPAWNS), "fit")

#: Every setting of the type.
TEXEL_SETTINGS: tuple[Setting, ...] = (
    *COMMON_SETTINGS,
    *TUNE_GAME_SETTINGS,
    Setting("player", Identifier(), "Code of the player to tune.", change="refused"),
    Setting("parameters", ListOf(PARAMETER, minimum=1), "What is tuned."),
    Setting(
        "anchor",
        Maybe(String()),
        "Code of a parameter that stays where it is, so that the scale of the scores does.",
        None,
    ),
    Setting(
        "groups",
        Maybe(ListOf(String(), minimum=1)),
        "Names of the groups of parameters, in the order in which they are tuned; by default "
        "all at once.",
        None,
    ),
    Setting("positions", POSITIONS, "The labelled positions."),
    Setting("score", ScoreSetting(), "How the engine scores a position.", EVAL),
    Setting(
        "in_flight",
        Word(Integer(minimum=1, maximum=1024), "auto"),
        "Requests that an engine is sent before it has answered; auto: what a test allows.",
        "auto",
    ),
    Setting(
        "apply",
        OneOf("auto", "live", "newgame", "restart"),
        "When the engine takes new values: at once, after ucinewgame, or as a new process only; "
        "auto: found out, and a new process for each shard where scores come from a search.",
        "auto",
    ),
    Setting(
        "target",
        Choice(TEXEL, ELMO, GAUSSIAN, BLEND),
        "What scores are tuned towards: the results of the games, or a blend with the scores of "
        "a teacher.",
        RESULTS,
    ),
    Setting(
        "loss",
        OneOf("squared", "cross_entropy"),
        "How far a win probability is from its target.",
        "squared",
    ),
    Setting(
        "win_rate_scale",
        _SCALE,
        "Centipawns C in the win probability 1/(1 + exp(-score/C)); fit: found from the start "
        "values' scores, once.",
        "fit",
    ),
    Setting("teacher_scale", _SCALE, "The same of the teacher's scores.", "fit"),
    Setting("optimiser", OPTIMISER, "How better values are looked for.", GAUSS_NEWTON),
    Setting(
        "regularisation",
        Maybe(RIDGE),
        "What holds the values near where they began.",
        None,
    ),
    Setting(
        "validation",
        Float(minimum=0, maximum=0.9),
        "Share of the games that is not tuned on: their error says when to stop, and what was "
        "gained.",
        0.2,
    ),
    Setting(
        "patience",
        Maybe(Integer(minimum=1, maximum=10_000)),
        "Steps that may be without a smaller error of validation; None: any number.",
        3,
    ),
    Setting(
        "most_passes",
        Maybe(Float(minimum=1, maximum=1e9)),
        "Passes over the positions of training at most.",
        None,
    ),
    Setting(
        "sweep",
        Maybe(SWEEP),
        "Blends to be compared after the tune: the best values for each share of the teacher and "
        "each width.",
        None,
    ),
    Setting(
        "reference",
        Maybe(REFERENCE_CALL),
        "Another engine, whose error over the same positions stands beside the tune's.",
        None,
    ),
    MAKE_CANDIDATE,
    Setting("verify", Maybe(VERIFY), "The closing match.", None),
)
