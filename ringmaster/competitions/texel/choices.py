"""A setting that is one of several kinds of call, words that stand for some of them, or a
function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ringmaster.model.calls import Call
from ringmaster.model.settings import INVALID, CallOf, Context, Function, SettingPath, SettingType
from ringmaster.model.wording import shown


class Choice(SettingType):
    """One of several kinds of call.

    words     names that may stand for a call without arguments, with its kind
    function  what may be given beside calls, None: no function
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
        """See `SettingType.describe`."""
        parts = [repr(word) for word in self.words]
        parts += [call.describe() for call in self.calls]
        if self.function is not None:
            parts.append(self.function.describe())
        return f"{', '.join(parts[:-1])} or {parts[-1]}" if len(parts) > 1 else parts[0]

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        """See `SettingType.interpret`."""
        if isinstance(value, str) and value in self.words:
            value = Call(self.words[value], (), {})
        if isinstance(value, Call):
            for call in self.calls:
                if call.kind == value.kind:
                    return call.interpret(value, path, context)
        elif callable(value) and self.function is not None:
            return self.function.interpret(value, path, context)
        return context.refuse(path, f"{shown(value)} is not a valid choice", self.describe())

    def portable(self, data: Any, directory: str) -> Any:
        """See `SettingType.portable`."""
        return data


class Word(SettingType):
    """A word, or another type's value."""

    def __init__(self, inner: SettingType, *words: str) -> None:
        self.inner = inner
        self.words = words

    def describe(self) -> str:
        """See `SettingType.describe`."""
        return f"{' or '.join(map(repr, self.words))}, or {self.inner.describe()}"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        """See `SettingType.interpret`."""
        if isinstance(value, str) and value in self.words:
            return value
        before = len(context.problems)
        found = self.inner.interpret(value, path, context)
        if found is INVALID and len(context.problems) == before + 1:
            # one message that names all that is right
            problem = context.problems.pop()
            context.refuse(problem.path, problem.message, self.describe())
        return found

    def portable(self, data: Any, directory: str) -> Any:
        """See `SettingType.portable`."""
        return self.inner.portable(data, directory)
