"""Values of stored settings (`model.canonical`): whether two are the same, and
how they are written in a message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ringmaster.model.canonical import TYPES_COUNT, unescaped
from ringmaster.model.function_source import renormalised
from ringmaster.model.wording import shown


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


def same(one: Any, other: Any, types_count: bool = False) -> bool:
    """Whether two values are equal: 1 and 1.0 are, True and 1 are not, and the
    layout of source does not count.

    types_count  whether 1 and 1.0 differ, and dictionaries of another order; it
                 is always so inside functions
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if _is_path(one) or _is_path(other):
        return not _names(one).isdisjoint(_names(other))
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return False
        kind = one.get("$")
        if types_count and kind is None and list(one) != list(other):
            return False
        if is_function(one) and is_function(other):
            return _same_functions(one, other)
        if kind == other.get("$") == "code" and not same_source(
            one.get("source"), other.get("source")
        ):
            return False
        inner = types_count or (isinstance(kind, str) and kind in TYPES_COUNT)
        skipped = "source" if kind == "code" else None
        return all(same(one[k], other[k], inner) for k in one if k != skipped)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            same(a, b, types_count) for a, b in zip(one, other, strict=True)
        )
    if types_count and isinstance(one, float | int) and isinstance(other, float | int):
        return repr(one) == repr(other)
    return bool(one == other)


def _is_path(value: Any) -> bool:
    return isinstance(value, dict) and value.get("$") == "path" and "text" in value


def _names(value: Any) -> set[str]:
    """Return what a stored path, or a string, may be called."""
    if _is_path(value):
        return {str(value["text"]), str(value.get("whole", value["text"]))}
    return {value} if isinstance(value, str) else set()


def is_function(value: Any) -> bool:
    """Whether a stored value is a function, or an object of the control file,
    with what it uses."""
    return isinstance(value, dict) and value.get("$") == "function" and "is" in value


def _same_functions(one: dict[str, Any], other: dict[str, Any]) -> bool:
    # in whatever order the names were found
    uses, others = one["uses"], other["uses"]
    return (
        one["name"] == other["name"]
        and same(one["is"], other["is"], True)
        and uses.keys() == others.keys()
        and all(same(uses[name], others[name], True) for name in uses)
    )


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
    if old.get("$") == "unseen":
        return bool(old.get("what") == new.get("what") and old.get("why") == new.get("why"))
    return old.get("$") not in ("code", "function", "path") and old.keys() != {"$", "text"}


def differences(old: Any, new: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield (place, before, now) of the innermost values that differ inside a
    function; places as "['a'][0]", after `where`."""
    if same(old, new, True):
        return
    if has_parts(old, new) and (keys := [*old, *(k for k in new if k not in old)]):
        attributes = "$" in old
        found = False
        for key in keys:
            if key == "$items":
                place = where
            else:
                name = unescaped(key)
                place = f"{where}.{name}" if attributes else f"{where}[{name!r}]"
            for part in differences(old.get(key, ABSENT), new.get(key, ABSENT), place):
                found = True
                yield part
        if found:
            return
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{where}[{index}]")
        return
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
    before, now = written(old), written(new)
    if before == now:  # 1 and 1.0
        before, now = (shown(_readable(value, exact=True)) for value in (old, new))
    return f"{before} → {now}"


def _readable(value: Any, exact: bool = False) -> Any:
    if isinstance(value, list):
        return [_readable(item, exact) for item in value]
    if isinstance(value, float):
        return _Literal(repr(value) if exact else repr(value).removesuffix(".0"))
    if not isinstance(value, dict):
        return value
    kind = value.get("$")
    match kind:
        case None:
            return {unescaped(key): _readable(item, exact) for key, item in value.items()}
        case "function":
            what = value.get("is")
            if isinstance(what, dict) and what.get("$") not in ("code", "unseen", "function"):
                return _readable(what, exact)
            return _Literal(f"function {value.get('name', value.get('ref'))}")
        case "code":
            return _Literal("a function")
        case "unseen":
            return _Literal(str(value.get("what")))
        case "path":
            return str(value.get("text"))
        case "large":
            return _Literal(f"a large {value.get('type')}")
    if value.keys() == {"$", "text"}:
        return _Literal(str(value["text"]))
    parts = []
    for key, item in value.items():
        if key == "$items":
            if kind in ("set", "tuple") and isinstance(item, list):
                return _bracketed(str(kind), [_readable(i, exact) for i in item])
            parts.append(repr(_readable(item, exact)))
        elif key not in ("$", "$class"):
            text = repr(_readable(item, exact))
            parts.append(text if key.isdigit() else f"{unescaped(key)}={text}")
    return _Literal(f"{kind}({', '.join(parts)})")


def _bracketed(kind: str, items: list[Any]) -> _Literal:
    inside = ", ".join(map(repr, items))
    if kind == "set":
        return _Literal(f"{{{inside}}}" if items else "set()")
    return _Literal(f"({inside},)" if len(items) == 1 else f"({inside})")
