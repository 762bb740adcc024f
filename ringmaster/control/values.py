"""Compare the values and functions of two runs, as stored by `model.canonical`, and
write them in messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from ringmaster.errors import shown
from ringmaster.model.canonical import TYPES_COUNT, unescaped, unseen_in
from ringmaster.model.function_source import renormalised

#: Lines of a function that are shown to differ.
MOST_LINES = 6
#: Characters of such a line; ast.unparse does not break lines.
LINE = 200


class _Literal:
    """A text that is shown without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


#: The value of a setting, key or item that does not exist.
ABSENT: Final = _Literal("not given")


def same(one: Any, other: Any, types_count: bool = False) -> bool:
    """Whether two values are equal; the layout of source does not count.

    1 equals 1.0, but True does not equal 1.

    types_count  whether 1 and 1.0 differ, and dictionaries of another order; always so
                 inside functions
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if _is_path(one) or _is_path(other):
        return not _path_names(one).isdisjoint(_path_names(other))
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return False
        if is_function(one) and is_function(other):
            return _same_functions(one, other)
        if _is_code(one) and _is_code(other) and one["source"] != other["source"]:
            one, other = ({**v, "source": renormalised(v["source"])} for v in (one, other))
        kind = one.get("$")
        if types_count and kind is None and list(one) != list(other):
            return False
        inner = types_count or (isinstance(kind, str) and kind in TYPES_COUNT)
        return all(same(one[key], other[key], inner) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            same(a, b, types_count) for a, b in zip(one, other, strict=True)
        )
    if types_count and isinstance(one, float | int) and isinstance(other, float | int):
        return repr(one) == repr(other)
    return bool(one == other)


def _is_path(value: Any) -> bool:
    return isinstance(value, dict) and value.get("$") == "path" and "text" in value


def _path_names(value: Any) -> set[str]:
    """Return both names of a stored path, or the name that a string is."""
    if _is_path(value):
        return {str(value["text"]), str(value.get("whole", value["text"]))}
    return {value} if isinstance(value, str) else set()


def is_function(value: Any) -> bool:
    """Whether a stored value is a function or an object of the control file."""
    return isinstance(value, dict) and value.get("$") == "function" and "is" in value


def _same_functions(one: dict[str, Any], other: dict[str, Any]) -> bool:
    # the order of the names in "uses" does not count
    uses, others = one["uses"], other["uses"]
    return (
        one["name"] == other["name"]
        and same(one["is"], other["is"], True)
        and uses.keys() == others.keys()
        and all(same(uses[name], others[name], True) for name in uses)
    )


def _is_code(value: Any) -> bool:
    return isinstance(value, dict) and value.get("$") == "code" and "source" in value


def has_parts(old: Any, new: Any) -> bool:
    """Whether two values are dictionaries, or objects of one kind, with parts to compare."""
    if not isinstance(old, dict) or not isinstance(new, dict) or old.get("$") != new.get("$"):
        return False
    if old.get("$") == "unseen":
        return bool(old.get("what") == new.get("what") and old.get("why") == new.get("why"))
    return old.get("$") not in ("code", "function", "path") and old.keys() != {"$", "text"}


def differences(old: Any, new: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield (place, before, now) of the innermost values that differ inside a function.

    A place is written as "['a'][0]", after `where`.
    """
    if same(old, new, True):
        return
    if has_parts(old, new):
        parts = [
            part
            for key in [*old, *(k for k in new if k not in old)]
            for part in differences(
                old.get(key, ABSENT), new.get(key, ABSENT), where + _suffix(key, "$" in old)
            )
        ]
        if parts:
            yield from parts
            return
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{where}[{index}]")
        return
    yield where, old, new


def _suffix(key: str, is_attribute: bool) -> str:
    if key == "$items":
        return ""
    name = unescaped(key)
    return f".{name}" if is_attribute else f"[{name!r}]"


class FunctionChange(msgspec.Struct, frozen=True):
    """One change of a function.

    what   as it follows the function's name and a colon
    lines  lines that were removed (-) and added (+)
    """

    what: str
    before: Any
    now: Any
    lines: tuple[str, ...] = ()


def function_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[FunctionChange]:
    """Return the differences of two stored functions: code, defaults, and names used.

    The list is empty only if the functions are the same.
    """
    changes = list(_changes("", old["is"], new["is"]))
    before, now = old["uses"], new["uses"]
    for name in before:
        if name in now:
            changes += _changes(name, before[name], now[name])
    if not changes:  # else a name shows in the code that uses it
        added = [name for name in now if name not in before]
        removed = [name for name in before if name not in now]
        changes += [FunctionChange(f"{name} is used now", ABSENT, now[name]) for name in added]
        changes += [
            FunctionChange(f"{name} is no longer used", before[name], ABSENT) for name in removed
        ]
    if not changes and not same(dict(old), dict(new)):
        changes.append(FunctionChange(f"{old['name']} → {new['name']}", old["name"], new["name"]))
    return changes


def _changes(name: str, old: Any, new: Any) -> Iterator[FunctionChange]:
    """Yield the changes of the function itself (name "") or of a name that it uses."""
    if not (_is_code(old) and _is_code(new)):
        for place, before, now in differences(old, new, name):
            what = f"{place} {from_to(before, now)}".removeprefix(".").lstrip()
            yield FunctionChange(what, before, now)
        return
    one, other = renormalised(old["source"]), renormalised(new["source"])
    if one != other:
        whose = f"the code of {name}" if name else "its code"
        yield FunctionChange(f"{whose} has been changed", one, other, _lines(one, other))
        return
    of_function = f" of {name}" if name else ""
    befores, nows = old.get("defaults", {}), new.get("defaults", {})
    for argument in befores.keys() & nows.keys():
        place = f"default of {argument}{of_function}"
        for where, before, now in differences(befores[argument], nows[argument], place):
            yield FunctionChange(f"{where} {from_to(before, now)}", before, now)


def _lines(old: str, new: str) -> tuple[str, ...]:
    """Return the lines that differ, as a unified diff has them."""
    import difflib

    header = 2
    diff = [
        line if len(line) <= LINE else line[: LINE - 1] + "…"
        for line in [*difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")]
        if not line.startswith("@@")
    ][header:]
    return (*diff[:MOST_LINES], "…") if len(diff) > MOST_LINES else tuple(diff)


def not_compared(value: Any) -> Iterator[str]:
    """Yield a sentence for each stored value that cannot be compared with the last run."""
    if is_function(value):
        for name, part in {value["name"]: value["is"], **value["uses"]}.items():
            for unseen in unseen_in(part):
                itself = unseen is part and part["what"].endswith(f" {name}")
                yield _not_compared("" if itself else f"{name}: ", unseen)
    elif isinstance(value, dict):
        if value.get("$") == "unseen":
            yield _not_compared("", value)
        for item in value.values():
            yield from not_compared(item)
    elif isinstance(value, list):
        for item in value:
            yield from not_compared(item)


def _not_compared(where: str, unseen: Mapping[str, Any]) -> str:
    return f"{where}{unseen['what']} cannot be compared with the last run: {unseen['why']}"


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
            inside = value.get("is")
            if isinstance(inside, dict) and inside.get("$") not in ("code", "unseen", "function"):
                return _readable(inside, exact)
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
