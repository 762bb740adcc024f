"""Control file text: literals, calls, assignments and comments.

Whatever a value holds, it stays a value, and whatever a comment holds, it stays a
comment: foreign text cannot become code.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ringmaster.model.wording import is_text

#: Columns of a line; what cannot be broken may be longer.
WIDTH = 96


@dataclass(frozen=True)
class Code:
    """Python that stands as it is: ours, never anybody else's."""

    text: str


@dataclass(frozen=True)
class Call:
    """A call such as Player("engine", nodes=1000)."""

    kind: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


def literal(value: Any, indent: int = 0, room: int = WIDTH) -> str:
    """Return Python that makes `value`, on one line if it fits into `room` columns,
    else on several, the inner ones indented by `indent` columns and four."""
    flat = _flat(value)
    if len(flat) <= room or not isinstance(value, Call | list | tuple | Mapping):
        return flat
    pad = " " * (indent + 4)
    inner = WIDTH - indent - 4 - 1
    items: list[str] = []
    opening, closing = "[", "]"
    match value:
        case Call(kind=kind, args=args, kwargs=kwargs):
            opening, closing = f"{kind}(", ")"
            items += [literal(item, indent + 4, inner) for item in args]
            items += [
                f"{name}={literal(item, indent + 4, inner - len(name) - 1)}"
                for name, item in kwargs.items()
            ]
        case Mapping():
            opening, closing = "{", "}"
            for key, item in value.items():
                name = _flat(key)
                items.append(f"{name}: {literal(item, indent + 4, inner - len(name) - 2)}")
        case _:
            items += [literal(item, indent + 4, inner) for item in value]
    if not items:
        return flat
    return f"{opening}\n{pad}" + f",\n{pad}".join(items) + f",\n{' ' * indent}{closing}"


def _flat(value: Any) -> str:
    match value:
        case Code(text=text):
            return text
        case Call(kind=kind, args=args, kwargs=kwargs):
            parts = [*map(_flat, args), *(f"{k}={_flat(v)}" for k, v in kwargs.items())]
            return f"{kind}({', '.join(parts)})"
        case str():
            return _quoted(value)
        case Mapping():
            return "{" + ", ".join(f"{_flat(k)}: {_flat(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(_flat, value)) + "]"
        case None | bool() | int() | float():
            return repr(value)
    raise TypeError(f"no literal for {type(value).__name__}")


def _quoted(text: str) -> str:
    """Return a string literal, in double quotes where repr has plain single ones."""
    literal = repr(text)
    return literal if "'" in text or '"' in text else f'"{literal[1:-1]}"'


def assignment(name: str, value: Any) -> str:
    """Return the line or lines that set a name of our own choice."""
    return f"{name} = {literal(value, room=WIDTH - len(name) - 3)}"


def comment(text: str, indent: str = "") -> str:
    """Return a comment, wrapped; what cannot be printed is escaped, so that no
    text ends the comment or acts on a terminal.  `indent` is put before the lines
    after the first one of each line of `text`."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += textwrap.wrap(
            printable(line),
            WIDTH - 2,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(f"# {line}".rstrip() for line in lines)


def printable(text: str) -> str:
    """Return a line with everything escaped that is no plain character."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        for c in text
    )


def identifier(name: str, taken: Iterable[str], otherwise: str = "engine") -> str:
    """Return a player code made from a name: what is no ASCII letter, digit or one
    of + . _ becomes "-"; one that is `taken` gets a number."""
    # 50: codes stand in file names and in tables
    text = re.sub("[^A-Za-z0-9+._]+", "-", name).strip("-.")[:50].strip("-.") or otherwise
    used, code, number = set(taken), text, 1
    while code in used:
        number += 1
        code = f"{text}-{number}"
    return code


def plain(words: Sequence[str]) -> bool:
    """Whether every word can be written anywhere (no NUL, no lone surrogates)."""
    return all(map(is_text, words))
