"""Reference documentation of a competition type, made from its settings table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ringmaster.control.tables import calls_in
from ringmaster.model.settings import REQUIRED, CallOf, Setting

_MARKUP = re.compile(r"([\\*`|]|_(?=\W|$))")


def reference_rst(type_name: str, table: Sequence[Setting]) -> str:
    """Return reStructuredText: a section for the type, one entry a setting, then
    a section for each kind of call among them, in the order of first mention.

    A setting's help is taken as reStructuredText; the rest is escaped.
    """
    lines = [*_heading(type_name, "="), "", *_entries(table)]
    for kind, call in calls_in(table).items():
        lines += [*_heading(kind, "-"), "", *_signature(call), "", *_entries(call.settings)]
    return "\n".join(lines).rstrip() + "\n"


def _heading(text: str, underline: str) -> list[str]:
    return [_escaped(text), underline * max(3, len(_escaped(text)))]


def _signature(call: CallOf) -> list[str]:
    others = [s.name for s in call.settings if s.name not in call.positional]
    arguments = [*call.positional, *(f"{name}=…" for name in others)]
    lines = [f"``{call.kind}({', '.join(arguments)})``"]
    if call.positional:
        names = ", ".join(f"``{name}``" for name in call.positional)
        lines += ["", f"May be given by position: {names}; the others only by name."]
    if call.shorthand and call.positional:
        lines += ["", f"A bare value stands for ``{call.kind}({call.positional[0]})``."]
    return lines


def _entries(table: Sequence[Setting]) -> Iterator[str]:
    for setting in table:
        yield f"``{setting.name}``"
        yield f"    {_capital(_escaped(setting.type.describe()))}. {_default(setting.default)}"
        yield ""
        yield f"    {setting.help}"
        if setting.change == "refused":
            yield ""
            yield "    Cannot be changed between runs: the results so far would lose their meaning."
        else:
            yield ""
            yield "    May be changed between runs."
        yield ""


def _default(value: Any) -> str:
    if value is REQUIRED:
        return "Required."
    if value is None:
        return "Default: not set (``None``)."
    if callable(value):
        return f"Default: ``{getattr(value, '__name__', type(value).__name__)}``."
    if isinstance(value, tuple):
        value = list(value)
    return f"Default: ``{value!r}``."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)
