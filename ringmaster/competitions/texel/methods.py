"""The optimisers by name: what a control file may say of each, and how they are made."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from typing import Any

import msgspec

from ringmaster.competitions.texel.choices import Choice
from ringmaster.errors import SettingError
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.settings import (
    Boolean,
    CallOf,
    Context,
    FileName,
    Float,
    Function,
    Integer,
    Maybe,
    OneOf,
    Setting,
    SettingPath,
    SettingType,
    String,
)
from ringmaster.tuners.texel.optimiser import Optimiser
from ringmaster.tuners.texel.ridge import DEFAULT_STRENGTH, PATH

#: Where the optimisers are; each is imported when it is asked for.
_CLASSES: dict[str, tuple[str, str]] = {
    "gauss_newton": ("ringmaster.tuners.texel.gauss_newton", "GaussNewton"),
    "local_search": ("ringmaster.tuners.texel.local_search", "LocalSearch"),
    "genetic": ("ringmaster.tuners.texel.genetic", "Genetic"),
    "spsa_batches": ("ringmaster.tuners.texel.spsa_batches", "SpsaBatches"),
    "linear": ("ringmaster.tuners.texel.linear", "Linear"),
}
#: Arguments of optimisers that an edit may change without a new beginning.
LIMITS = ("patience", "most_passes")


class OptimiserSettings(msgspec.Struct, frozen=True):
    """An optimiser of a control file.

    arguments  those that were given, by name
    """

    name: str
    arguments: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        return repr(self.name)

    def canonical(self) -> dict[str, Any]:
        """Return what it says, for the comparison of two runs."""
        return {"name": self.name, **self.arguments}


class RidgeSettings(msgspec.Struct, frozen=True):
    """Ridge(…) of a control file; strength None: a path of strengths."""

    strength: float | None = None

    def __str__(self) -> str:
        return "a path of strengths" if self.strength is None else f"strength {self.strength:g}"


class FunctionOrFile(SettingType):
    """A function of the control file, or the name of a file."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._file = FileName()

    def describe(self) -> str:
        """See `SettingType.describe`."""
        return f"{self._function.describe()}, or {self._file.describe()}"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        """See `SettingType.interpret`."""
        if callable(value):
            return self._function.interpret(value, path, context)
        return self._file.interpret(value, path, context)

    def portable(self, data: Any, directory: str) -> Any:
        """See `SettingType.portable`."""
        return self._file.portable(data, directory)


def _call(kind: str, name: str, *settings: Setting) -> CallOf:
    def build(values: dict[str, Any], context: Context) -> OptimiserSettings:
        given = {key: value for key, value in values.items() if value is not None}
        return OptimiserSettings(name, given)

    return CallOf(kind, settings, build)


_SHARE = Float(above=0, maximum=1)
_EXPONENT = Float(minimum=0, maximum=1)


def _given(name: str, type_: SettingType, help: str) -> Setting:
    return Setting(name, Maybe(type_), help, None)


_CALLS = (
    _call(
        "GaussNewton",
        "gauss_newton",
        _given(
            "central",
            Boolean(),
            "Whether differences are taken to both sides, with twice the passes.",
        ),
        _given("most_steps", Integer(minimum=1, maximum=10_000), "Steps at most; by default 20."),
        _given(
            "tolerance",
            Float(minimum=1e-9, maximum=1),
            "By how much the error has to fall; by default 1e-7.",
        ),
    ),
    _call(
        "LocalSearch",
        "local_search",
        _given(
            "order", OneOf("given", "random"), "Of the parameters in a sweep; by default given."
        ),
        _given(
            "grow", Float(minimum=1, maximum=100), "Factor of a step that succeeds; by default 2."
        ),
        _given(
            "precision",
            Float(above=0, maximum=0.25),
            "Smallest step as a share of the range, of parameters that are no integers.",
        ),
        _given(
            "tolerance",
            Float(minimum=1e-7, maximum=1),
            "By how much the error has to fall; by default 1e-7.",
        ),
    ),
    _call(
        "Genetic",
        "genetic",
        _given("population", Integer(minimum=4, maximum=100_000), "Individuals of a generation."),
        _given("generations", Integer(minimum=1, maximum=10**6), "At most; by default 100."),
        _given("precision", _SHARE, "Smallest change of a parameter, as a share of its range."),
        _given("batch", _SHARE, "Share of the positions that a generation is scored on."),
        _given(
            "crossover",
            Float(minimum=0, maximum=1),
            "Share of children that have two parents; by default 0.8.",
        ),
        _given(
            "tournament",
            Integer(minimum=2, maximum=1000),
            "How many individuals a parent is the best of; by default 3.",
        ),
        _given("mutation", Float(minimum=0, maximum=1), "Share of the bits that is turned over."),
        _given(
            "elite",
            Float(minimum=0, maximum=0.9),
            "Share of the individuals that goes on unchanged; by default 0.1.",
        ),
    ),
    _call(
        "SpsaBatches",
        "spsa_batches",
        _given("batch", _SHARE, "Share of the positions that a step is measured on."),
        _given(
            "scale_by",
            OneOf("curvature", "steps"),
            "Whether parameters move by what the error says of each, or by their steps.",
        ),
        _given("alpha", _EXPONENT, "Exponent of the step gain; by default 0.602."),
        _given("gamma", _EXPONENT, "Exponent of the perturbation; by default 0.101."),
        _given("A_ratio", _EXPONENT, "Stability constant as a part of the tune; by default 0.1."),
    ),
    _call(
        "Linear",
        "linear",
        _given(
            "features",
            FunctionOrFile(Function("a function that returns a position's coefficients by name")),
            "Coefficients of the parameters: a function of (answer, position) or of (position), or "
            "a CSV or NPZ file.",
        ),
        _given("command", String(), "What an engine is sent for its answer; by default features."),
        _given(
            "unnamed",
            OneOf("refuse", "ignore"),
            "What is done with features that are the weight of no parameter: by default those of a "
            "file are refused, those of a function ignored.",
        ),
        _given(
            "check",
            Boolean(),
            "Whether a pass is spent on seeing that the scores change as the features say.",
        ),
        _given("method", OneOf("lbfgs", "adam"), "How the error is minimised."),
        _given("epochs", Integer(minimum=1, maximum=10**6), "Of Adam: passes in process."),
        _given("learning_rate", Float(above=0, maximum=1e6), "Of Adam."),
        _given("batch", Integer(minimum=1, maximum=10**9), "Of Adam: positions of a step."),
        _given(
            "tapered",
            Boolean(),
            "Whether weights come in pairs, NAME_mg and NAME_eg, mixed by the phase.",
        ),
    ),
)
#: The setting `optimiser`.
OPTIMISER = Choice(*_CALLS, words={name: cls for name, (_, cls) in _CLASSES.items()})
GAUSS_NEWTON = OptimiserSettings("gauss_newton")

RIDGE = CallOf(
    "Ridge",
    (
        Setting(
            "strength",
            Maybe(Float(minimum=0, maximum=1e6)),
            "Error that a change of a parameter by all of its range is worth; by default a path "
            "of strengths is tried, and the one with the smallest error of validation taken.",
            None,
        ),
    ),
    lambda values, context: RidgeSettings(**values),
    positional=("strength",),
)


def make_optimiser(
    settings: OptimiserSettings,
    parameters: Sequence[TunedParameter],
    *,
    seed: int,
    ridge: RidgeSettings | None,
    groups: Sequence[str] | None,
    patience: int | None,
    most_passes: float | None,
    shards: int,
    validated: bool,
) -> Optimiser:
    """Return an optimiser without a result.

    parameters  those that are tuned, with the values to begin with
    shards      how many training has
    validated   whether positions are held out
    Raises SettingError for arguments that it does not take.
    """
    module, name = _CLASSES[settings.name]
    if settings.name == "linear" and "features" not in settings.arguments:
        raise SettingError(
            ("optimiser",),
            "the linear optimiser needs the features of each position",
            "Linear(features=…), a function, or a CSV or NPZ file",
        )
    try:
        cls = getattr(import_module(module), name)
    except ImportError as error:
        raise SettingError(
            ("optimiser",), f"optimiser {settings.name!r} cannot be loaded: {error}"
        ) from error
    known = _arguments(cls)
    offered: dict[str, Any] = {
        "seed": seed,
        "patience": patience,
        "most_passes": most_passes,
        "shards": shards,
        "validated": validated,
        "groups": groups,
    }
    given = {key: value for key, value in offered.items() if key in known}
    if groups and "groups" not in known:
        raise SettingError(
            ("groups",), f"optimiser {settings.name!r} has no groups", "to leave it out"
        )
    given |= _ridge(ridge, known)
    try:
        # what an engine is asked is not the optimiser's business
        own = {key: value for key, value in settings.arguments.items() if key != "command"}
        made: Optimiser = cls(list(parameters), **given, **own)
    except (ValueError, TypeError) as error:
        raise SettingError(("optimiser",), str(error)) from None
    return made


def _arguments(cls: type) -> set[str]:
    """Return the arguments of a class, with those that it hands on to its bases."""
    own = [vars(base)["__init__"] for base in cls.__mro__[:-1] if "__init__" in vars(base)]
    return {name for function in own for name in inspect.signature(function).parameters}


def _ridge(ridge: RidgeSettings | None, known: Collection[str]) -> dict[str, Any]:
    """Return the ridge by the argument that an optimiser has for it."""
    strength = None if ridge is None else ridge.strength
    if "ridge" in known:
        return {"ridge": None if ridge is None else (strength,)}
    if "strengths" in known:
        return {"strengths": (0.0,) if ridge is None else PATH if strength is None else (strength,)}
    if ridge is None:
        return {}
    return {"strength": DEFAULT_STRENGTH if strength is None else strength}


def finite(value: float | None) -> float | None:
    """Return a number as JSON can have it."""
    return value if value is not None and math.isfinite(value) else None
