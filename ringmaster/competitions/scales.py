"""LINEAR, LOG, EXPLICIT and functions, as control files give them for a scale."""

from __future__ import annotations

from typing import Any

from ringmaster.errors import SettingError
from ringmaster.model.scales import Explicit, Linear, Log
from ringmaster.model.settings import (
    Boolean,
    Call,
    CallOf,
    Context,
    Float,
    Function,
    ListOf,
    Setting,
    SettingPath,
    SettingType,
)
from ringmaster.model.wording import shown

_BOUNDS = (
    Setting("lower_bound", Float(), "Value at the lower end."),
    Setting("upper_bound", Float(), "Value at the upper end."),
    Setting("integer", Boolean(), "Whether values are rounded to whole numbers.", False),
)


def _build_log(values: dict[str, Any], context: Context) -> Log:
    for name in ("lower_bound", "upper_bound"):
        if values[name] == 0:
            raise SettingError((name,), "a logarithmic scale never comes to 0", "another bound")
    if values["lower_bound"] * values["upper_bound"] < 0:
        raise SettingError(
            ("upper_bound",),
            "the bounds of a logarithmic scale are of different signs",
            "bounds of the same sign",
        )
    return Log(**values)


class _Anything(SettingType):
    """An engine parameter may be of any type."""

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


class Scale(SettingType):
    """A predefined scale, or a function of one number from 0 to 1."""

    def __init__(self) -> None:
        self._predefined = {call.kind: call for call in (LINEAR, LOG, EXPLICIT)}
        self._function = Function("a function of a number from 0 to 1")

    def describe(self) -> str:
        return "LINEAR(…), LOG(…), EXPLICIT([…]) or a function of a number from 0 to 1"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, Call):
            call = self._predefined.get(value.kind)
            if call is None:
                return context.refuse(path, f"{shown(value)} is not a scale", self.describe())
            return call.interpret(value, path, context)
        return self._function.interpret(value, path, context)


SCALE = Scale()
