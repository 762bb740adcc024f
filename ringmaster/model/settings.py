"""Declarative tables of settings, one for each competition type.

A table drives interpretation, the reference documentation, and the comparison of a
control file with the last run.  Interpretation collects every independent error with the
path of its setting; `control` finds the path's place in the file.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, ItemsView, KeysView, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from pathlib import Path
from types import GeneratorType
from typing import Any, ClassVar, Final, Literal

import msgspec

from ringmaster.errors import SettingError, is_text, nearest, shown
from ringmaster.model.canonical import relative

SettingPath = tuple[str | int, ...]


class _Mark:
    """A value that is compared by identity."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


#: Default of a setting that must be given.
REQUIRED: Final = _Mark("REQUIRED")
#: Default of an argument that is inherited from the top level.
INHERITED: Final = _Mark("as at the top level")
#: Interpretation of a wrong value, after its problem was noted.
INVALID: Final = _Mark("INVALID")


class Call(msgspec.Struct, frozen=True, eq=False):
    """A recorded call of a control file, such as Player("gnugo", cwd=".").

    It is interpreted later, so that its errors name the setting that it is part of.

    position    (line, column) of the call, both from 1, or None
    positional  names of the arguments that may be positional, if known
    """

    kind: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    position: tuple[int, int] | None = None
    positional: tuple[str, ...] = ()

    def canonical(self) -> dict[str, Any]:
        """Return the call and its arguments, for the comparison of two runs."""
        names = [*self.positional, *map(str, range(len(self.positional), len(self.args)))]
        return {**self.kwargs, "$": self.kind, **dict(zip(names, self.args, strict=False))}

    def __repr__(self) -> str:
        parts = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"{self.kind}({', '.join(parts)})"


class Context(msgspec.Struct):
    """One interpretation of settings.

    directory  the folder of relative paths
    problems   errors so far
    doubted    receives the path of a value that is probably a mistake, and the reason
    """

    directory: Path
    problems: list[SettingError] = msgspec.field(default_factory=list)
    doubted: Callable[[SettingPath, str], None] | None = None

    def refuse(self, path: SettingPath, message: str, expected: str = "") -> Any:
        """Note a problem and return INVALID."""
        self.problems.append(SettingError(path, message, expected))
        return INVALID

    def doubt(self, path: SettingPath, message: str) -> None:
        """Note a value that is allowed and probably a mistake."""
        if self.doubted is not None:
            self.doubted(path, message)

    def resolve(self, name: str) -> Path:
        """Return the file `name` of a control file as an absolute path."""
        return self.directory / os.path.expanduser(name)


class SettingType(ABC):
    """The type of a setting: its values and their interpretation."""

    @abstractmethod
    def describe(self) -> str:
        """Return the end of the sentence "expected …"."""

    @abstractmethod
    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        """Return the value in the program's form, or INVALID after noting each problem."""

    def portable(self, data: Any, directory: str) -> Any:
        """Return canonical data with files relative to the competition directory."""
        return data


Change = Literal["free", "new", "report", "played", "refused"]


class Setting(msgspec.Struct, frozen=True):
    """One row of a table.

    help    one sentence for the reference documentation
    change  effect of a change between runs.  "free": it applies from the next game on;
            "new": to candidates of new generations of an mc_tuner only;
            "report": it affects reports only; "played": it applies if its function
            gives the values that were played (`Competition.played_values`), else it is
            refused;
            "refused": the results would lose their meaning.  None: as the setting that
            it is an argument of (at the top level: "free")
    is_variable  whether a value that the file reads is its own variable, among all its names
    """

    name: str
    type: SettingType
    help: str
    default: Any = REQUIRED
    change: Change | None = None
    is_variable: Callable[[Any, Mapping[str, Any]], bool] | None = None

    def refuses(self, value: Any, names: Mapping[str, Any]) -> bool:
        """Return whether a value is none of the setting's."""
        context = Context(Path())
        self.type.interpret(value, (), context)
        return bool(context.problems)


class String(SettingType):
    """A string that can be written as UTF-8, without NUL bytes."""

    def describe(self) -> str:
        return "a string"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if not isinstance(value, str):
            return context.refuse(path, f"{shown(value)} is not a string", self.describe())
        if not is_text(value):
            return context.refuse(path, "a string must not contain NUL or a lone surrogate")
        return value


class Identifier(SettingType):
    """Gomill's identifiers: letters, digits and some punctuation; letters of any script."""

    _ALLOWED = re.compile(r"[\w!$%&*+\-.:;<=>?^~]+\Z")

    def describe(self) -> str:
        return "an identifier (letters, digits and -!$%&*+.:;<=>?^_~)"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str) and self._ALLOWED.match(value) and set(value) != {"."}:
            return value
        return context.refuse(path, f"{shown(value)} is not an identifier", self.describe())


class Boolean(SettingType):
    """True or False; 0 and 1 too, as in Gomill."""

    def describe(self) -> str:
        return "True or False"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        return context.refuse(path, f"{shown(value)} is not a truth value", self.describe())


@dataclass(frozen=True)
class _Number(SettingType):
    NOUN: ClassVar[str]
    KIND: ClassVar[type[int] | type[float]]

    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None

    def describe(self) -> str:
        limits = {"more than": self.above, "at least": self.minimum, "at most": self.maximum}
        bounds = [f"{words} {limit:g}" for words, limit in limits.items() if limit is not None]
        return f"{self.NOUN} of {' and '.join(bounds)}" if bounds else self.NOUN

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or (self.KIND is int and value % 1 != 0):
            return context.refuse(path, f"{shown(value)} is not {self.NOUN}", self.describe())
        try:
            number = self.KIND(value)
        except OverflowError:
            number = math.inf
        if not (
            abs(number) < math.inf
            and (self.minimum is None or number >= self.minimum)
            and (self.maximum is None or number <= self.maximum)
            and (self.above is None or number > self.above)
        ):
            return context.refuse(path, f"{shown(value)} is out of range", self.describe())
        return number


class Integer(_Number):
    """A whole number within bounds (units are the setting's own)."""

    NOUN, KIND = "an integer", int


class Float(_Number):
    """A finite number within bounds."""

    NOUN, KIND = "a number", float


class OneOf(SettingType):
    """One of a few strings."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def describe(self) -> str:
        *others, last = map(repr, self.choices)
        return f"{', '.join(others)} or {last}" if others else last

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str) and value in self.choices:
            return value
        return context.refuse(path, f"{shown(value)} is not a valid choice", self.describe())


@dataclass(frozen=True)
class Maybe(SettingType):
    """`inner`, or None for "not set"."""

    inner: SettingType

    def describe(self) -> str:
        return f"{self.inner.describe()}, or None"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        return None if value is None else self.inner.interpret(value, path, context)

    def portable(self, data: Any, directory: str) -> Any:
        return None if data is None else self.inner.portable(data, directory)


#: Items of a list; a generator with more counts as endless.
MOST_ITEMS = 1_000_000
#: Types of values that were lists in Python 2.
_NOW_ITERATORS = (KeysView, ValuesView, ItemsView, map, filter, zip, range, GeneratorType)


def listed(value: Any, path: SettingPath, context: Context, expected: str) -> Any:
    """Return the items of `map(…)`, `d.items()` and the like as a list.

    Other values are returned unchanged, INVALID after noting a problem.
    """
    if not isinstance(value, _NOW_ITERATORS):
        return value
    try:
        items = list(itertools.islice(value, MOST_ITEMS + 1))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: a control file cannot end the program
        return context.refuse(path, f"its iteration raised {type(error).__name__}: {error}")
    if len(items) > MOST_ITEMS:
        return context.refuse(path, "it has items without end", expected)
    return items


@dataclass(frozen=True)
class ListOf(SettingType):
    """A list or tuple of `inner`, or an iterator such as `map(…)`; becomes a tuple."""

    inner: SettingType
    minimum: int = 0

    def describe(self) -> str:
        some = f" of at least {self.minimum}" if self.minimum else ""
        return f"a list{some}, each item {self.inner.describe()}"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        value = listed(value, path, context, self.describe())
        if value is INVALID:
            return INVALID
        if not isinstance(value, list | tuple):
            return context.refuse(path, f"{shown(value)} is not a list", self.describe())
        if len(value) < self.minimum:
            return context.refuse(path, f"the list has {len(value)} items", self.describe())
        inner = self.inner
        items = tuple(inner.interpret(item, (*path, i), context) for i, item in enumerate(value))
        return INVALID if INVALID in items else items

    def portable(self, data: Any, directory: str) -> Any:
        inner = self.inner
        return [inner.portable(i, directory) for i in data] if isinstance(data, list) else data


@dataclass(frozen=True)
class DictOf(SettingType):
    """A dictionary from `key` to `inner`, in order; also a list of pairs."""

    key: SettingType
    inner: SettingType

    def describe(self) -> str:
        return f"a dictionary of {self.key.describe()} to {self.inner.describe()}"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        value = listed(value, path, context, self.describe())
        if value is INVALID:
            return INVALID
        if not isinstance(value, Mapping | list | tuple):
            return context.refuse(path, f"{shown(value)} is not a dictionary", self.describe())
        pairs = list(value.items()) if isinstance(value, Mapping) else value
        for i, pair in enumerate(pairs):
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                message = f"{shown(pair)} is not a pair of a key and a value"
                return context.refuse((*path, i), message, self.describe())
        result: dict[Any, Any] = {}
        wrong = False
        for raw_key, raw_item in pairs:
            place = raw_key if isinstance(raw_key, str | int) else shown(raw_key)
            key = self.key.interpret(raw_key, (*path, place), context)
            item = self.inner.interpret(raw_item, (*path, place), context)
            if key is INVALID or item is INVALID:
                wrong = True
            elif key in result:
                wrong = True
                context.refuse((*path, place), f"the key {shown(key)} is repeated", "each key once")
            else:
                result[key] = item
        return INVALID if wrong else result

    def portable(self, data: Any, directory: str) -> Any:
        if not isinstance(data, dict):
            return data
        return {key: self.inner.portable(item, directory) for key, item in data.items()}


class Scalar(SettingType):
    """A string, number or truth value: the value of an engine option."""

    def describe(self) -> str:
        return "a string, a number, True or False"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return context.refuse(path, f"{shown(value)} is not finite", self.describe())
        # subclasses such as numpy's float64 become plain numbers
        for kind in (bool, int, float):
            if isinstance(value, kind):
                return kind(value)
        if isinstance(value, str) and "\n" not in value and is_text(value):
            return value
        return context.refuse(path, f"{shown(value)} cannot be an option's value", self.describe())


class Words(SettingType):
    """A command line: a string split as a shell does, or a list of strings."""

    def describe(self) -> str:
        return "a command line: a string, or a list of strings"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        value = listed(value, path, context, self.describe())
        if value is INVALID:
            return INVALID
        if isinstance(value, str):
            try:
                words = tuple(shlex.split(value))
            except ValueError as error:
                return context.refuse(path, f"{shown(value)}: {error}", self.describe())
        elif isinstance(value, list | tuple) and all(isinstance(w, str) for w in value):
            words = tuple(value)
        else:
            return context.refuse(path, f"{shown(value)} is not a command", self.describe())
        if not words or not words[0]:
            return context.refuse(path, "the command is empty", self.describe())
        if not all(map(is_text, words)):
            return context.refuse(path, "a command must not contain NUL or a lone surrogate")
        return words

    def portable(self, data: Any, directory: str) -> Any:
        # the executable; the meaning of its arguments is not known
        if isinstance(data, list) and data and isinstance(data[0], str):
            return [relative(data[0], directory), *data[1:]]
        return data


class FileName(SettingType):
    """A file name; becomes an absolute path as a string.

    A relative name starts at the competition directory.  The file need not exist.
    """

    def describe(self) -> str:
        return "a file name"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if not isinstance(value, str) or not value or not is_text(value):
            return context.refuse(path, f"{shown(value)} is not a file name", self.describe())
        return os.path.normpath(context.resolve(value))

    def portable(self, data: Any, directory: str) -> Any:
        return relative(data, directory) if isinstance(data, str) else data


@dataclass(frozen=True)
class Function(SettingType):
    """A Python function of the control file.

    result  the type of its results; a wrapper raises SettingError for a wrong result
    """

    purpose: str = "a function"
    result: SettingType | None = None

    def describe(self) -> str:
        return self.purpose

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if not callable(value):
            return context.refuse(path, f"{shown(value)} is not a function", self.describe())
        return value if self.result is None else self._checked(value, path, context)

    def _checked(
        self, function: Callable[..., Any], path: SettingPath, outer: Context
    ) -> Callable[..., Any]:
        assert self.result is not None
        result_type = self.result

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            words = ", ".join([*map(shown, args), *(f"{k}={shown(v)}" for k, v in kwargs.items())])
            try:
                returned = function(*args, **kwargs)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # also SystemExit: a control file cannot end the program
                raise SettingError(
                    path, f"called with ({words}), it raised {type(error).__name__}: {error}"
                ) from error
            context = Context(
                outer.directory,
                doubted=lambda where, why: outer.doubt(path, f"{'.'.join(map(str, where))}: {why}"),
            )
            interpreted = result_type.interpret(returned, (), context)
            if context.problems:
                problem = context.problems[0]
                raise SettingError(
                    path,
                    f"called with ({words}), it returned a wrong value: "
                    + ".".join(map(str, (*problem.path, problem.message))),
                    problem.expected,
                )
            return interpreted

        return checked


@dataclass(frozen=True)
class CallOf(SettingType):
    """A call such as Player(…), with a table for its arguments.

    positional  names of the positional arguments
    build       makes the final value from the interpreted arguments; its ValueError or
                SettingError becomes a problem
    shorthand   whether a bare value stands for the first argument ("10+0.1" for
                TimeControl("10+0.1"))
    """

    kind: str
    settings: tuple[Setting, ...]
    build: Callable[[dict[str, Any], Context], Any]
    positional: tuple[str, ...] = ()
    shorthand: bool = False

    def describe(self) -> str:
        return f"{self.kind}({', '.join(self.positional) + ', …' if self.positional else '…'})"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if self.shorthand and not isinstance(value, Call):
            value = Call(self.kind, (value,), {})
        if not isinstance(value, Call) or value.kind != self.kind:
            return context.refuse(
                path, f"{shown(value)} is not a {self.kind} definition", self.describe()
            )
        arguments = self._bind(value, path, context)
        if arguments is None:
            return INVALID
        values = interpret_table(self.settings, arguments, path, context)
        if values is None:
            return INVALID
        try:
            return self.build(values, context)
        except SettingError as error:
            return context.refuse((*path, *error.path), error.message, error.expected)
        except ValueError as error:
            return context.refuse(path, str(error))

    def portable(self, data: Any, directory: str) -> Any:
        if not isinstance(data, dict):
            return data
        types = {setting.name: setting.type for setting in self.settings}
        return {
            name: types[name].portable(item, directory) if name in types else item
            for name, item in data.items()
        }

    def _bind(self, call: Call, path: SettingPath, context: Context) -> dict[str, Any] | None:
        """Return arguments by name, or None after noting a problem."""
        before = len(context.problems)
        most = len(self.positional)
        if len(call.args) > most:
            context.refuse(
                path,
                f"{self.kind} takes at most {most} positional argument{'s' * (most != 1)}, "
                f"not {len(call.args)}",
                "the others in keyword form",
            )
        arguments = dict(zip(self.positional, call.args, strict=False))
        known = [s.name for s in self.settings]
        for name, argument in call.kwargs.items():
            if name in arguments:
                context.refuse((*path, name), f"argument {name!r} is given twice")
            elif name not in known:
                context.refuse(
                    (*path, name), f"{self.kind} has no argument {name!r}", nearest(name, known)
                )
            arguments[name] = argument
        return arguments if len(context.problems) == before else None


def interpret_table(
    table: Sequence[Setting], given: Mapping[str, Any], path: SettingPath, context: Context
) -> dict[str, Any] | None:
    """Return the values of all settings, with defaults; None after a problem.

    Names in `given` that are not in the table are ignored.
    """
    before = len(context.problems)
    values: dict[str, Any] = {}
    for setting in table:
        if setting.name not in given:
            if setting.default is REQUIRED:
                context.refuse(
                    (*path, setting.name),
                    f"{setting.name!r} is missing",
                    setting.type.describe(),
                )
            values[setting.name] = setting.default
        elif given[setting.name] is None and setting.default is None:
            values[setting.name] = None
        else:
            values[setting.name] = setting.type.interpret(
                given[setting.name], (*path, setting.name), context
            )
    return values if len(context.problems) == before else None
