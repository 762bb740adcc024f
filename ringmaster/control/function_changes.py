"""What has become of a function between two runs: its own code, and whatever of
the control file it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ringmaster.control.values import ABSENT, differences, from_to, is_function, same, same_source
from ringmaster.model.function_source import renormalised
from ringmaster.model.function_uses import unseen_in

#: Lines of a function that are shown to differ.
MOST_LINES = 6
#: Characters of a line; ast.unparse does not break them.
LINE = 200


class FunctionChange(msgspec.Struct, frozen=True):
    """One part of a function that is another now.

    what   as it follows the function's name and a colon
    lines  lines that are gone (-) and new (+)
    """

    what: str
    before: Any
    now: Any
    lines: tuple[str, ...] = ()


def not_compared(value: Any) -> Iterator[str]:
    """Yield a sentence for each thing in stored values that cannot be compared
    with the last run."""
    if is_function(value):
        for name, part in {value["name"]: value["is"], **value["uses"]}.items():
            for thing in unseen_in(part):
                own = thing is part and part["what"].endswith(f" {name}")
                yield _sentence("" if own else f"{name}: ", thing)
    elif isinstance(value, dict):
        if value.get("$") == "unseen":
            yield _sentence("", value)
        for item in value.values():
            yield from not_compared(item)
    elif isinstance(value, list):
        for item in value:
            yield from not_compared(item)


def _sentence(where: str, unseen: Mapping[str, Any]) -> str:
    return f"{where}{unseen['what']} cannot be compared with the last run: {unseen['why']}"


def function_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[FunctionChange]:
    """Return what differs between two functions (as stored); at least one
    change unless they are the same."""
    found = list(_changes("", old["is"], new["is"]))
    before, now = old["uses"], new["uses"]
    for name, content in before.items():
        if name in now:
            found += _changes(name, content, now[name])
    if not found:
        # what is used shows in the code of what uses it, but for such things
        # as another function under the same name
        found += [
            FunctionChange(f"{name} is used now", ABSENT, now[name])
            for name in now
            if name not in before
        ]
        found += [
            FunctionChange(f"{name} is not used any more", before[name], ABSENT)
            for name in before
            if name not in now
        ]
    if not found and not same(dict(old), dict(new)):
        found.append(FunctionChange(f"{old['name']} → {new['name']}", old["name"], new["name"]))
    return found


def _is_code(value: Any) -> bool:
    return isinstance(value, dict) and value.get("$") == "code"


def _changes(name: str, old: Any, new: Any) -> Iterator[FunctionChange]:
    """Yield the changes of the function itself (name "") or of what it uses."""
    if same(old, new, True):
        return
    if not (_is_code(old) and _is_code(new)):
        for place, before, now in differences(old, new, name):
            space = " " if place else ""
            yield FunctionChange(
                f"{place.removeprefix('.')}{space}{from_to(before, now)}", before, now
            )
        return
    source, other = old.get("source"), new.get("source")
    if not same_source(source, other):
        whose = f"the code of {name}" if name else "its code"
        lines = _lines(source or "", other or "")
        yield FunctionChange(f"{whose} has been changed", source, other, lines)
    of = f" of {name}" if name else ""
    for what, key in (("default of ", "defaults"), ("attribute ", "attributes")):
        befores, nows = old.get(key, {}), new.get(key, {})
        for argument in [*befores, *(a for a in nows if a not in befores)]:
            pair = (befores.get(argument, ABSENT), nows.get(argument, ABSENT))
            if ABSENT not in pair or key == "attributes":  # else it shows in the code
                for place, before, now in differences(*pair, f"{what}{argument}{of}"):
                    yield FunctionChange(f"{place} {from_to(before, now)}", before, now)


def _lines(old: str, new: str) -> tuple[str, ...]:
    """Return the lines that differ, as a unified diff has them."""
    import difflib

    before, now = (renormalised(text).splitlines() for text in (old, new))
    header = 2
    diff = [
        line if len(line) <= LINE else line[: LINE - 1] + "…"
        for line in [*difflib.unified_diff(before, now, n=0, lineterm="")][header:]
        if not line.startswith("@@")
    ]
    return (*diff[:MOST_LINES], "…") if len(diff) > MOST_LINES else tuple(diff)
