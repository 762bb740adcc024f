"""Arguments of Parameter(…): those that spsa and texel share, and scales of mc_tuner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from ringmaster.competitions.setting_types import Choice, changed, flag, one_of, optional
from ringmaster.errors import SettingError, StateRefused
from ringmaster.model.parameters import Explicit, Linear, Log, TunedParameter
from ringmaster.model.players import OptionValue
from ringmaster.model.settings import (
    CallOf,
    Context,
    Float,
    Function,
    ListOf,
    Setting,
    SettingPath,
    SettingType,
    String,
)

#: Played values of all parameters by code, in their own units.
ValuesByCode = dict[str, int | float]

#: Arguments that bind a parameter to an engine; each parameter has at most one.
BINDINGS = ("option", "gtp", "argument", "environ")


P = TypeVar("P", bound=TunedParameter)


def build_parameter(values: dict[str, Any], context: Context) -> TunedParameter:
    return checked_parameter(TunedParameter, values)


def wrong_argument(code: str, name: str, text: str, expected: str = "") -> SettingError:
    return SettingError((name,), f"parameter {code!r}: {text}", expected)


def checked_parameter(make: type[P], values: dict[str, Any]) -> P:
    """Return a parameter of any type.  Raises SettingError."""
    code, low, high, start = (values[name] for name in ("code", "min", "max", "start"))
    if not code:
        raise SettingError(("code",), "a parameter must have a name")
    if low > high:
        raise wrong_argument(code, "min", f"min {low:g} is more than max {high:g}")
    if low == high:
        raise wrong_argument(code, "min", f"min and max are both {low:g}")
    if not max(1e-60, 1e-9 * max(-low, high)) < high - low < 1e60:
        text = f"a range of {high - low:g} is out of numerical bounds"
        raise wrong_argument(code, "min", text)
    if not low <= start <= high:
        expected = f"a number from {low:g} to {high:g}"
        raise wrong_argument(code, "start", f"start {start:g} is outside its bounds", expected)
    if values.get("scale") == "log":
        if low <= 0:
            text = f"a logarithmic scale cannot contain {low:g}"
            raise wrong_argument(code, "min", text, "a number above 0, or scale='linear'")
        if values["integer"] and high - low < 2:
            text = f"{low:g} to {high:g} has fewer than three values, too few for a logarithm"
            raise wrong_argument(code, "scale", text, "'linear'")
    for name in ("min", "max") if values["integer"] else ():
        if values[name] != int(values[name]):
            text = f"{values[name]:g} is not an integer"
            raise wrong_argument(code, name, text, "an integer")
    half, c_end = (high - low) / 2, values.get("c_end")
    if c_end is not None and c_end > half:
        text = f"c_end {c_end:g} is more than half the range"
        raise wrong_argument(code, "c_end", text, f"at most {half:g}")
    bindings = [name for name in BINDINGS if values[name] is not None]
    if len(bindings) > 1:
        text = f"parameter {code!r} is sent to engines in two ways, {bindings[0]} and {bindings[1]}"
        expected = "one of them"
        raise SettingError((bindings[1],), text, expected)
    names = {"min": "minimum", "max": "maximum"}
    values = {**values, "frozen": values["frozen"] or values.get("not_used", False)}
    return make(**{names.get(name, name): value for name, value in values.items()})


#: Least factor between the bounds of a range for which a logarithmic scale is recommended.
_WIDE = 20


def scale_advice(parameters: Sequence[TunedParameter]) -> list[str]:
    """Return a line that recommends a logarithmic scale for wide ranges above zero."""
    wide = [
        p.code
        for p in parameters
        if p.scale == "linear" and not p.frozen and p.minimum > 0 and p.maximum >= _WIDE * p.minimum
    ]
    if not wide:
        return []
    names = ", ".join(wide[:5]) + (f" and {len(wide) - 5} more" if len(wide) > 5 else "")
    return [
        f"{names}: the largest value is {_WIDE} times the smallest or more; if equal factors count "
        'alike, as for times, rates and many weights, scale="log" finds the optimum sooner.  '
        "Steep losses near the smaller bound mislead a tune on a linear scale"
    ]


#: Code, start and bounds.
BOUNDS: tuple[Setting, ...] = (
    Setting("code", String(), "Name; also of the engine option, unless set otherwise."),
    Setting("start", Float(), "Start value.", change="report"),
    Setting("min", Float(), "Smallest value."),
    Setting("max", Float(), "Largest value."),
)

#: The scale on which a parameter is tuned.
ON_SCALE = one_of(
    "scale",
    ("linear", "log"),
    "Scale on which it is tuned: with 'log' equal factors count alike, as for times, rates and "
    "weights that range over more than a factor of 20.",
)

#: Perturbations and steps of SPSA.
GAINS: tuple[Setting, ...] = (
    optional(
        "c_end", Float(above=0), "Perturbation at the last iteration; some methods find their own."
    ),
    optional(
        "r_end",
        Float(above=0, maximum=1000),
        'Relative apply factor at the last iteration; by default 0.002 with "classic", and 1, '
        'a factor of epsilon, with "blog".',
    ),
)

#: The binding to an engine.
BINDING: tuple[Setting, ...] = (
    flag("integer", "Whether values are whole numbers."),
    optional("option", String(), "Name of the UCI or USI option."),
    optional(
        "gtp",
        String(),
        'GTP command that sets the value before each game, such as "param mobility %s".',
    ),
    optional("argument", String(), 'Words of the command line, such as "--mobility=%s".'),
    optional("environ", String(), "Name of an environment variable."),
    optional("format", String(), 'Format of the value for engines and reports, such as "%.3f".'),
    optional(
        "transform",
        Function("a function of a number"),
        "Function from the value to the engine's value; by default none.",
    ),
    flag("frozen", "Do not tune it."),
)

#: The same, for types that cannot go on with other engine values than those played.
PLAYED_BINDING = changed(BINDING, "transform", change="played")


def value_text(value: Any) -> str:
    """Return a value for people: numbers with six digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def changed_arguments(old: Any, new: Any, fields: Sequence[str]) -> list[str]:
    """Return the changes of a parameter's settings: "max 100 → 50", "step not set → 2"."""
    names = {"minimum": "min", "maximum": "max"}
    changes = []
    for field in fields:
        before, after = (
            "not set" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
            for value in (getattr(old, field), getattr(new, field))
        )
        if getattr(old, field) != getattr(new, field):
            changes.append(f"{names.get(field, field)} {before} → {after}")
    return changes


def check_unchanged(stored: Sequence[str], present: Sequence[str]) -> None:
    """Raise StateRefused if a stored tune is of other parameters."""
    if stored != present:
        raise StateRefused(
            f"the tune is of {', '.join(stored)}, the control file has {', '.join(present)} now; "
            "put the parameters back, or use reset",
            ("parameters",),
        )


def check_codes(parameters: Sequence[TunedParameter]) -> list[SettingError]:
    codes = [p.code for p in parameters]
    errors = [
        SettingError(("parameters", i, "code"), f"parameter {code!r} is declared twice")
        for i, code in enumerate(codes)
        if code in codes[:i]
    ]
    if all(p.frozen for p in parameters):
        errors.append(
            SettingError(("parameters",), "every parameter is frozen: there is nothing to tune")
        )
    return errors


class Choices(msgspec.Struct, frozen=True):
    """The function from the index of a choice to the choice."""

    choices: tuple[OptionValue, ...]

    def __call__(self, index: float) -> OptionValue:
        return self.choices[int(index)]

    def index(self, value: Any) -> int | None:
        """Return the index of a choice, None for another value; True is not 1."""
        for i, choice in enumerate(self.choices):
            if type(choice) is type(value) and choice == value:
                return i
        return None


_BOUNDS = (
    Setting("lower_bound", Float(), "Value at the lower end."),
    Setting("upper_bound", Float(), "Value at the upper end."),
    flag("integer", "Whether values are rounded to whole numbers."),
)


def _build_log(values: dict[str, Any], context: Context) -> Log:
    for name in ("lower_bound", "upper_bound"):
        if values[name] == 0:
            raise SettingError((name,), "a logarithmic scale cannot contain 0", "another bound")
    if values["lower_bound"] * values["upper_bound"] < 0:
        text = "the bounds of a logarithmic scale are of different signs"
        expected = "bounds of the same sign"
        raise SettingError(("upper_bound",), text, expected)
    return Log(**values)


class _Anything(SettingType):
    def describe(self) -> str:
        return "anything"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        return value


LINEAR = CallOf(
    "LINEAR",
    _BOUNDS,
    lambda values, context: Linear(**values),
    positional=("lower_bound", "upper_bound", "integer"),
)
LOG = CallOf("LOG", _BOUNDS, _build_log, positional=("lower_bound", "upper_bound", "integer"))
EXPLICIT = CallOf(
    "EXPLICIT",
    (Setting("values", ListOf(_Anything(), minimum=1), "The values, in order."),),
    lambda values, context: Explicit(**values),
    positional=("values",),
)


#: A predefined scale, or a function.
SCALE = Choice(LINEAR, LOG, EXPLICIT, function=Function("a function of a number from 0 to 1"))
