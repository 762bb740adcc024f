"""The optimisers by name: settings, construction, and the features of a linear evaluation."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from ringmaster.competitions.setting_types import Choice, optional
from ringmaster.competitions.texel.labels import Shards, refusing
from ringmaster.competitions.texel.state import TexelState
from ringmaster.competitions.tuning.function_probes import spread
from ringmaster.errors import DataFileError, SettingError
from ringmaster.model.canonical import canonical
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.settings import (
    Boolean,
    CallOf,
    Context,
    FileName,
    Float,
    Function,
    Integer,
    OneOf,
    Setting,
    SettingPath,
    String,
)
from ringmaster.positions import FeatureFile, PositionFile
from ringmaster.tuners.texel.features import features_of
from ringmaster.tuners.texel.optimiser import Arguments, Optimiser
from ringmaster.tuners.texel.ridge import DEFAULT_STRENGTH


class OptimiserSettings(msgspec.Struct, frozen=True):
    """An optimiser of a control file.

    arguments  those in the control file, by name
    """

    name: str
    arguments: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        return repr(self.name)

    def canonical(self) -> dict[str, Any]:
        """Return the settings for the comparison of two runs."""
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
        optional(
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
#: Their classes; each is in the module with the optimiser's name, imported on use.
_CLASSES = {name: name.title().replace("_", "") for name in _ARGUMENTS}


def _call(name: str) -> CallOf:
    def build(values: dict[str, Any], context: Context) -> OptimiserSettings:
        arguments = {key: value for key, value in values.items() if value is not None}
        return OptimiserSettings(name, arguments)

    return CallOf(_CLASSES[name], _ARGUMENTS[name], build)


#: The setting `optimiser`.
OPTIMISER = Choice(*map(_call, _CLASSES), words=_CLASSES)
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


def make_optimiser(
    values: Mapping[str, Any],
    parameters: Sequence[TunedParameter],
    state: TexelState,
    shards: Shards,
) -> Optimiser:
    """Return a new optimiser that starts from the values of a state.

    values      settings
    parameters  of the control file
    Raises SettingError for arguments that the method does not accept.
    """
    settings: OptimiserSettings = values["optimiser"]
    ridge: tuple[float | None] | None = values["regularisation"]
    if settings.name == "linear" and "features" not in settings.arguments:
        raise SettingError(
            ("optimiser",),
            "the linear optimiser needs the features of each position",
            "Linear(features=…), a function, or a CSV or NPZ file",
        )
    logarithmic = [p.code for p in parameters if p.scale == "log" and not p.frozen]
    if settings.name == "linear" and logarithmic:
        raise SettingError(
            ("parameters",),
            f"features are linear in the values: scale='log' of {', '.join(logarithmic)} has no "
            "meaning for the linear optimiser",
            "scale='linear', or another optimiser",
        )
    module = import_module(f"ringmaster.tuners.texel.{settings.name}")
    cls = getattr(module, _CLASSES[settings.name])
    own = inspect.signature(cls).parameters
    accepted = {*own, *get_type_hints(Arguments)} | (
        set() if "ridge" in own else {"shards", "strength"}
    )
    if values["groups"] and "groups" not in accepted:
        raise SettingError(
            ("groups",), f"optimiser {settings.name!r} has no groups", "to leave it out"
        )
    by_code = {p.code: p for p in parameters}
    tuned = [
        msgspec.structs.replace(by_code[code], start=float(state.values[code]))
        for code in state.settings.codes
    ]
    strength = 0.0 if ridge is None else ridge[0]
    offered = {
        **{key: values[key] for key in ("seed", "patience", "most_passes", "groups")},
        "shards": shards.of_train,
        "ridge": ridge,
        # of methods that try one strength only
        "strength": DEFAULT_STRENGTH if strength is None else strength,
        # some are for the features and the engine, and no method accepts them
        **settings.arguments,
    }
    optimiser: Optimiser = cls(tuned, **{k: v for k, v in offered.items() if k in accepted})
    return optimiser


#: Place of the features in the settings.
PLACE = ("optimiser", "features")


class Features:
    """The features of a tune.

    settings  of the optimiser, with the argument `features`
    codes     of all parameters, including frozen ones
    target    path of the features' files
    version   of a function of the engine's answer; that of another function is computed
    Raises SettingError without a source of features.
    """

    def __init__(
        self,
        settings: OptimiserSettings,
        codes: Sequence[str],
        target: Path,
        say: Callable[[str], None],
        version: str,
    ) -> None:
        arguments = settings.arguments
        self._source = arguments["features"]
        self._target = target
        self._say = say
        self._phase = bool(arguments.get("tapered"))
        self._names = features_of(list(codes), self._phase)
        self.version = version
        usual = "ignore" if callable(self._source) else "refuse"
        self._unnamed: Any = arguments.get("unnamed", usual)
        self._features: Any = None

    def ready(self, file: PositionFile) -> FeatureFile | None:
        """Return the features of all positions; None if an engine must be asked."""
        from ringmaster.datasets.feature_set import Features

        needs_engine = from_answers(self._source)
        if not needs_engine:
            self.version = self._digest(file) if callable(self._source) else ""
        with refusing(PLACE, DataFileError):
            self._features = features = Features(
                *(self._source, file, self._names, self._target),
                phase=self._phase,
                unnamed=self._unnamed,
                version=self.version,
            )
            existing = features.existing()
            return existing if existing or needs_engine else features.build(self._say)

    def _digest(self, file: PositionFile) -> str:
        """Return a digest of the function's results for some positions.

        A function that fails has none; the error is reported when all positions are read.
        """
        texts = [file.text(place).decode(errors="replace") for place in spread(len(file), 1000)]
        try:
            results = [canonical(self._source(text)) for text in texts]
        except KeyboardInterrupt:
            raise
        except BaseException:  # also SystemExit
            return ""
        return hashlib.sha256(json.dumps(results, sort_keys=True).encode()).hexdigest()

    def put(self, shard: int, rows: range, answers: Sequence[str]) -> None:
        """Record the engine's answers for a shard.  Raises SettingError."""
        with refusing(PLACE, DataFileError):
            self._features.put(shard, rows, answers)

    def finish(self, shards: int) -> FeatureFile:
        """Return the features after the last shard.  Raises StoreError."""
        features: FeatureFile = self._features.existing() or self._features.finish(shards)
        return features


def from_answers(source: Any) -> bool:
    """Return whether a source is a function of the engine's answer."""
    if not callable(source):
        return False
    try:
        parameters = inspect.signature(source).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len([p for p in positional if p.default is p.empty]) >= 2
