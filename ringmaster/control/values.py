"""Values of stored settings (`model.canonical`): whether two are the same, and
how they are written in a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ringmaster.model.function_source import renormalised
from ringmaster.model.settings import shown


class _Absent:
    def __repr__(self) -> str:
        return "not given"


#: The value of what is not there.
ABSENT: Final = _Absent()


class _Literal:
    """A text that is to be shown without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal: 1 and 1.0 are, True and 1 are not, and the
    layout of source does not count."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return False
        if one.get("$") == other.get("$") == "code":
            if not same_source(one["source"], other["source"]):
                return False
            return all(same(one[k], other[k]) for k in one if k != "source")
        return all(same(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def same_source(one: str | None, other: str | None) -> bool:
    """Whether two normalised sources say the same, also when different releases
    of Python wrote them."""
    if one == other or one is None or other is None:
        return one == other
    return renormalised(one) == renormalised(other)


def has_parts(old: Any, new: Any) -> bool:
    """Whether two values are dictionaries, or objects of one kind, whose parts
    can be compared one by one."""
    if not isinstance(old, dict) or not isinstance(new, dict) or old.get("$") != new.get("$"):
        return False
    return old.get("$") not in ("code", "function") and old.keys() != {"$", "text"}


def differences(old: Any, new: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield (place, before, now) of the innermost values that differ; places as
    "['a'][0]", after `where`."""
    if same(old, new):
        return
    if has_parts(old, new):
        attributes = "$" in old
        for key in [*old, *(k for k in new if k not in old)]:
            place = f"{where}.{key}" if attributes else f"{where}[{key!r}]"
            yield from differences(old.get(key, ABSENT), new.get(key, ABSENT), place)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{where}[{index}]")
    else:
        yield where, old, new


def written(value: Any, limit: int = 60) -> str:
    """Return a value as a message shows it, cut to size."""
    return shown(_readable(value), limit)


def from_to(old: Any, new: Any) -> str:
    """Return "0.45 → 0.3"; of two long texts that begin alike, where they differ."""
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
    match kind:
        case "function":
            return _Literal(f"function {value.get('name', value.get('ref'))}")
        case "code":
            return _Literal("a function")
        case "large":
            return _Literal(f"a large {value.get('type')}")
        case "set":
            return _Literal("{" + ", ".join(repr(_readable(i)) for i in value["items"]) + "}")
    if value.keys() == {"$", "text"}:
        return _Literal(str(value["text"]))
    parts = []
    for key, item in value.items():
        if key not in ("$", "class"):
            text = repr(_readable(item))
            parts.append(text if key.isdigit() else f"{key}={text}")
    return _Literal(f"{kind}({', '.join(parts)})")
