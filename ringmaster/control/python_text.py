"""Write values as Python source for control files.

Values become literals: foreign text cannot become code.
"""

from __future__ import annotations

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


def literal(value: Any, indent: int = 0, room: int = WIDTH) -> str:
    """Return a Python expression for `value`: one line if it fits into `room` columns, else
    several lines, with the inner lines indented by `indent` + 4 columns."""
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
    """Return a string literal, in double quotes if repr has plain single quotes."""
    literal = repr(text)
    return literal if "'" in text or '"' in text else f'"{literal[1:-1]}"'


def assignment(name: str, value: Any) -> str:
    """Return an assignment.  The name is not escaped."""
    return f"{name} = {literal(value, room=WIDTH - len(name) - 3)}"
