"""Parameters as tunes of one player declare them: Parameter(…) of an spsa or a texel
event, with the arguments that both have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringmaster.errors import SettingError
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.settings import (
    Boolean,
    Context,
    Float,
    Function,
    Maybe,
    Setting,
    String,
)

#: Values of all parameters by code, in their own units, as they are played.
Named = dict[str, int | float]

#: The ways in which an engine is given a parameter: at most one for each.
DELIVERIES = ("option", "gtp", "argument", "environ")


def build_parameter(values: dict[str, Any], context: Context) -> TunedParameter:
    """Return the parameter that the arguments of Parameter(…) declare.  Raises SettingError."""
    low, high, start = values["min"], values["max"], values["start"]
    code = values["code"]
    if not code:
        raise SettingError(("code",), "a parameter must have a name")
    if low > high:
        raise SettingError(("min",), f"parameter {code!r}: min {low:g} is more than max {high:g}")
    if low == high:
        raise SettingError(("min",), f"parameter {code!r}: min and max are both {low:g}")
    if not max(1e-60, 1e-9 * max(-low, high)) < high - low < 1e60:
        raise SettingError(
            ("min",), f"parameter {code!r}: a range of {high - low:g} cannot be calculated with"
        )
    if not low <= start <= high:
        raise SettingError(
            ("start",),
            f"parameter {code!r}: start {start:g} is outside its bounds",
            f"a number from {low:g} to {high:g}",
        )
    if values["integer"]:
        for name in ("min", "max"):
            if values[name] != int(values[name]):
                raise SettingError(
                    (name,), f"parameter {code!r}: {values[name]:g} is not an integer", "an integer"
                )
    if values.get("c_end") is not None and values["c_end"] > (high - low) / 2:
        raise SettingError(
            ("c_end",),
            f"parameter {code!r}: c_end {values['c_end']:g} is more than half the range",
            f"at most {(high - low) / 2:g}",
        )
    given = [name for name in DELIVERIES if values[name] is not None]
    if len(given) > 1:
        raise SettingError(
            (given[1],),
            f"parameter {code!r} is given to engines in two ways, {given[0]} and {given[1]}",
            "one of them",
        )
    names = {"min": "minimum", "max": "maximum"}
    values = {**values, "frozen": values["frozen"] or values.get("not_used", False)}
    return TunedParameter(**{names.get(name, name): value for name, value in values.items()})


#: Its name, where it begins, and where it may go.
BOUNDS: tuple[Setting, ...] = (
    Setting("code", String(), "Name; also the engine option's, unless another way is given."),
    Setting("start", Float(), "Value to start from.", change="report"),
    Setting("min", Float(), "Smallest value."),
    Setting("max", Float(), "Largest value."),
)

#: How far SPSA perturbs and moves it.
GAINS: tuple[Setting, ...] = (
    Setting(
        "c_end",
        Maybe(Float(above=0)),
        "Perturbation at the last iteration; methods that can do without find their own.",
        None,
    ),
    Setting(
        "r_end",
        Maybe(Float(above=0, maximum=1000)),
        'Relative apply factor at the last iteration; with "classic" by default 0.002, '
        'with "blog" 1, a factor of epsilon.',
        None,
    ),
)

#: How engines are given it.
DELIVERY: tuple[Setting, ...] = (
    Setting("integer", Boolean(), "Whether engines take whole numbers only.", False),
    Setting("option", Maybe(String()), "Name of the UCI or USI option.", None),
    Setting(
        "gtp",
        Maybe(String()),
        'GTP command that gives the value before each game, as "param mobility %s".',
        None,
    ),
    Setting(
        "argument",
        Maybe(String()),
        'Words for the command line, as "--mobility=%s".',
        None,
    ),
    Setting("environ", Maybe(String()), "Name of an environment variable.", None),
    Setting(
        "format",
        Maybe(String()),
        'How engines and reports are given the value, as "%.3f".',
        None,
    ),
    Setting(
        "transform",
        Maybe(Function("a function of a number")),
        "From the value to what the engine gets; by default they are the same.",
        None,
    ),
    Setting("frozen", Boolean(), "Whether it is left as it is.", False),
)

#: The rest of its row in a parameter file.
ROW: tuple[Setting, ...] = (
    Setting(
        "comment",
        Maybe(String()),
        "Text beside it in parameter files.",
        None,
        change="report",
    ),
    Setting(
        "not_used",
        Boolean(),
        "Whether it is neither tuned nor given to engines, and only kept for parameter files: "
        "``[[NOT USED]]`` in a ``.params``.",
        False,
    ),
)


def check_codes(parameters: Sequence[TunedParameter]) -> list[SettingError]:
    """Return what is wrong with the parameters as a whole."""
    codes = [p.code for p in parameters]
    errors = [
        SettingError(("parameters", i, "code"), f"parameter {name!r} is declared twice")
        for i, name in enumerate(codes)
        if name in codes[:i]
    ]
    if all(p.frozen for p in parameters):
        errors.append(
            SettingError(("parameters",), "every parameter is frozen: there is nothing to tune")
        )
    return errors
