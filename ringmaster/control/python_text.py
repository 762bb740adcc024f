"""Write values as Python source for control files.

Values become literals: foreign text cannot become code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: Columns of a line; an unbreakable word may be longer.
WIDTH = 96


@dataclass(frozen=True)
class Code:
    """Python source of our own, never foreign text."""

    text: str


@dataclass(frozen=True)
class Call:
    """A call such as Player("engine", nodes=1000)."""

    kind: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


def literal(value: Any, indent: int = 0, room: float = WIDTH) -> str:
    """Return a Python expression for `value`: one line if it fits into `room` columns, else
    several lines, with the inner lines indented by `indent` + 4 columns."""
    opening, items, closing = _parts(value)
    flat = ", ".join(prefix + literal(item, room=math.inf) for prefix, item in items)
    if len(opening + flat + closing) <= room or not items:
        return opening + flat + closing
    pad = " " * (indent + 4)
    lines = [
        f"{pad}{prefix}{literal(item, indent + 4, WIDTH - indent - 5 - len(prefix))},\n"
        for prefix, item in items
    ]
    return f"{opening}\n{''.join(lines)}{' ' * indent}{closing}"


def _parts(value: Any) -> tuple[str, list[tuple[str, Any]], str]:
    """Return the opening, the items with the text before each, and the closing of a literal."""
    match value:
        case Code(text=text):
            return text, [], ""
        case Call(kind=kind, args=args, kwargs=kwargs):
            named = [(f"{name}=", item) for name, item in kwargs.items()]
            return f"{kind}(", [*(("", item) for item in args), *named], ")"
        case str():
            return _quoted(value), [], ""
        case Mapping():
            return "{", [(f"{literal(key)}: ", item) for key, item in value.items()], "}"
        case list() | tuple():
            return "[", [("", item) for item in value], "]"
        case None | bool() | int() | float():
            return repr(value), [], ""
    raise TypeError(f"no literal for {type(value).__name__}")


def _quoted(text: str) -> str:
    """Return a string literal, in double quotes if repr has plain single quotes."""
    literal = repr(text)
    return literal if "'" in text or '"' in text else f'"{literal[1:-1]}"'


def assignment(name: str, value: Any) -> str:
    """Return an assignment.  The name is not escaped."""
    return f"{name} = {literal(value, room=WIDTH - len(name) - 3)}"
