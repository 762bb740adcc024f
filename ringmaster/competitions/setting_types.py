"""Settings that may be None, and types that accept several calls, words or a function.

And the setting that ends a competition's games.  Without it, Gomill's control files play until
the user stops the run.  That stays so in Go, with a warning; games of chess and shogi without end
must be written down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from ringmaster.errors import SettingError, shown
from ringmaster.model.settings import (
    INVALID,
    Boolean,
    Call,
    CallOf,
    Change,
    Context,
    Function,
    ListOf,
    Maybe,
    OneOf,
    Setting,
    SettingPath,
    SettingType,
)


def optional(name: str, type_: SettingType, help: str, *, change: Change | None = None) -> Setting:
    """Return a setting that may be None, its default."""
    return Setting(name, Maybe(type_), help, None, change)


def flag(name: str, help: str, default: bool = False, *, change: Change | None = None) -> Setting:
    """Return a setting that is true or false."""
    return Setting(name, Boolean(), help, default, change)


def one_of(name: str, words: Sequence[str], help: str, *, change: Change | None = None) -> Setting:
    """Return a setting with one of some words, by default the first."""
    return Setting(name, OneOf(*words), help, words[0], change)


def changed(settings: Iterable[Setting], name: str, **attributes: Any) -> tuple[Setting, ...]:
    """Return settings with other attributes of one of them."""
    return tuple(
        msgspec.structs.replace(s, **attributes) if s.name == name else s for s in settings
    )


class Choice(SettingType):
    """One of several kinds of call, a word for one of them, or a function.

    words     names of calls without arguments, with the kind of call
    function  a function instead of a call; None: not allowed
    """

    def __init__(
        self,
        *calls: CallOf,
        words: Mapping[str, str] | None = None,
        function: Function | None = None,
    ) -> None:
        self.calls = calls
        self.words = dict(words or {})
        self.function = function

    def describe(self) -> str:
        parts = [repr(word) for word in self.words]
        parts += [call.describe() for call in self.calls]
        if self.function is not None:
            parts.append(self.function.describe())
        return f"{', '.join(parts[:-1])} or {parts[-1]}" if len(parts) > 1 else parts[0]

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str) and value in self.words:
            value = Call(self.words[value], (), {})
        if isinstance(value, Call):
            for call in self.calls:
                if call.kind == value.kind:
                    return call.interpret(value, path, context)
        elif callable(value) and self.function is not None:
            return self.function.interpret(value, path, context)
        return context.refuse(path, f"{shown(value)} is not a valid choice", self.describe())


class OneOrMore(ListOf):
    """A value or a list of values; becomes a tuple."""

    def describe(self) -> str:
        return f"{self.inner.describe()}, or a list of these"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str | Call):
            item = self.inner.interpret(value, path, context)
            return INVALID if item is INVALID else (item,)
        return super().interpret(value, path, context)


class Word(SettingType):
    def __init__(self, inner: SettingType, *words: str) -> None:
        self.inner = inner
        self.words = words

    def describe(self) -> str:
        return f"{' or '.join(map(repr, self.words))}, or {self.inner.describe()}"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str) and value in self.words:
            return value
        before = len(context.problems)
        interpreted = self.inner.interpret(value, path, context)
        if interpreted is INVALID and len(context.problems) == before + 1:
            # one message with all valid forms
            problem = context.problems.pop()
            context.refuse(problem.path, problem.message, self.describe())
        return interpreted

    def portable(self, data: Any, directory: str) -> Any:
        return self.inner.portable(data, directory)


class NotGiven:
    """The default of a setting where None is a value of its own; stored like None.

    text  the default in the reference documentation
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return "not given"

    def canonical(self) -> None:
        """Return None, for the comparison of two runs."""


NOT_GIVEN: Final = NotGiven("no limit in Go; required in chess and shogi")

#: Settings of which one may end a matchup before its number of games.
ENDS = ("sprt", "stop_at", "handicap_ladder")


def ending_setting(name: str, type_: SettingType, help: str) -> Setting:
    """Return the setting for the number of games or rounds."""
    text = f"{help}; None: no limit, which must be written down in chess and shogi."
    return Setting(name, Maybe(type_), text, NOT_GIVEN)


def is_endless(values: Mapping[str, Any], name: str) -> bool:
    """Return whether the games have no end, and nobody wrote it down."""
    return values.get(name) is NOT_GIVEN and not any(map(values.get, ENDS))


def limit_of(values: Mapping[str, Any], name: str) -> int | None:
    """Return the value of the setting `name`, None for no limit.

    Raises SettingError for games of chess and shogi that are endless by oversight.
    """
    if is_endless(values, name) and values["game"] != "go":
        sprt = "an sprt = SPRT(…), " if "sprt" in values else ""
        raise SettingError(
            (name,),
            f"{name!r} is missing: nothing ends the games",
            f"{name} = 1000, {sprt}or {name} = None for games without end",
        )
    limit: int | None = None if values.get(name) is NOT_GIVEN else values.get(name)
    return limit


def endless_warning(name: str) -> str:
    return f"no {name}: the games go on until you stop the run; write {name} = None to say so"
