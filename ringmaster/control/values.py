"""Compare the values of two runs, as stored by `model.canonical`, and write them in messages."""

from __future__ import annotations

from typing import Any, Final

from ringmaster.errors import shown


class _Literal:
    """A text that is shown without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


#: The value of a setting, key or item that does not exist.
ABSENT: Final = _Literal("not given")


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal: 1 equals 1.0, but True does not equal 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def has_parts(old: Any, new: Any) -> bool:
    """Whether two values are dictionaries, or objects of one kind, with parts to compare."""
    if not isinstance(old, dict) or not isinstance(new, dict) or old.get("$") != new.get("$"):
        return False
    return old.keys() != {"$", "text"}


def written(value: Any, limit: int = 60) -> str:
    """Return a value as a message shows it, cut to size."""
    return shown(_readable(value), limit)


def from_to(old: Any, new: Any) -> str:
    """Return "0.45 → 0.3"; two long texts are shown from their first difference."""
    if isinstance(old, str) and isinstance(new, str) and max(len(old), len(new)) > 50:
        pairs = enumerate(zip(old, new, strict=False))
        alike = next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))
        begin = max(alike - 15, 0)
        if begin > 1:
            old, new = (_Literal(f"…{text[begin:]!r}") for text in (old, new))
    return f"{written(old)} → {written(new)}"


def _readable(value: Any) -> Any:
    if isinstance(value, list):
        return [_readable(item) for item in value]
    if isinstance(value, float):
        return _Literal(repr(value).removesuffix(".0"))
    if not isinstance(value, dict):
        return value
    kind = value.get("$")
    if kind is None:
        return {key: _readable(item) for key, item in value.items()}
    if kind == "function":
        return _Literal("a function")
    if value.keys() == {"$", "text"}:
        return _Literal(str(value["text"]))
    parts = []
    for key, item in value.items():
        if key != "$":
            text = repr(_readable(item))
            parts.append(text if key.isdigit() else f"{key}={text}")
    return _Literal(f"{kind}({', '.join(parts)})")
