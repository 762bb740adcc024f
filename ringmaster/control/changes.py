"""Compare a control file with its last run, and judge whether results stay valid."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from ringmaster.errors import SettingError, counted, shown
from ringmaster.model.canonical import canonical
from ringmaster.model.settings import (
    INHERITED,
    REQUIRED,
    CallOf,
    Change,
    DictOf,
    ListOf,
    Maybe,
    Setting,
    SettingPath,
    SettingType,
)


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
    """Return whether two values are dictionaries, or objects of one kind, with parts to compare."""
    if not isinstance(old, dict) or not isinstance(new, dict) or old.get("$") != new.get("$"):
        return False
    return old.keys() != {"$", "text"}


def written(value: Any) -> str:
    """Return a value as a message shows it, cut to size."""
    return shown(_readable(value))


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


#: The text for values that are too long to be shown.
CHANGED = "has been changed"
#: Changes that a run lists; `diff` lists them all.
MOST = 12


class SettingChange(msgspec.Struct, frozen=True):
    """One changed value.

    path    its present place; of a removed item, its list
    where   the path in Python's notation
    what    the change: "0.45 → 0.3", "is new"
    before, now  JSON data, or ABSENT
    change  from the innermost setting around it; "played" until `judge_by_played`
    reason  why it is refused, "" for the usual reason
    old     the value to restore, "" when it is too long
    code    the code of the list item that it is in, or ""
    details  further lines of the error
    """

    path: SettingPath
    where: str
    what: str
    before: Any
    now: Any
    change: Change
    reason: str = ""
    old: str = ""
    code: str = ""
    details: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        """Return whether results so far stay valid."""
        return self.change != "refused"

    def __str__(self) -> str:
        item = f" ({self.code})" if self.code else ""
        return f"{self.where}{item} {self.what}"

    def applies(self, completed: int, unit: str = "game", closing: int = 0) -> str:
        """Return from when on the change applies: "after 811 games"."""
        after = f"after {counted(completed - closing, unit)}" if completed else "at once"
        after += f" and {counted(closing, 'game')} of closing matches" if closing else ""
        new = "to new candidates only: never with max_depth = 1"
        return {"free": after, "new": new, "report": "at once", "refused": ""}[self.change]

    def error(self) -> SettingError:
        """Return the error of a refused change, with its remedy."""
        if self.details:
            return SettingError(self.path, str(self), details=self.details)
        message = self.reason or "the results so far would lose their meaning"
        if not (self.reason and self.what == CHANGED):
            message = f"{self.what} since the last run: {message}"
        old = self.old or "the former value"
        return SettingError(self.path, message, f"{old}, or `reset` to start over")


class Comparison(msgspec.Struct, frozen=True):
    """Differences between a control file and its last run.

    run        number of the last run, None before the first
    completed  results that count so far
    played     whether there is any result, void ones included
    unit       name of one result that counts
    closing    games of closing matches among the completed results
    rebuilt    players with another build; the results so far can still be read
    """

    run: int | None = None
    started: float = 0.0
    completed: int = 0
    played: bool = False
    changes: tuple[SettingChange, ...] = ()
    unit: str = "game"
    closing: int = 0
    rebuilt: tuple[SettingChange, ...] = ()

    @property
    def starts_over(self) -> bool:
        """Return whether the settings changed before the first result.

        Then the store's state and issued games are obsolete.
        """
        return bool(self.changes) and not self.played

    @property
    def allowed(self) -> list[SettingChange]:
        """Changes that leave the results valid."""
        return [change for change in (*self.changes, *self.rebuilt) if change.allowed]

    @property
    def refused(self) -> list[SettingChange]:
        """Changes that would make the results invalid."""
        return [change for change in self.changes if not change.allowed]

    def texts(self, most: int | None = None) -> Iterator[str]:
        """Yield a line for each of the first `most` allowed changes."""
        allowed = self.allowed
        for change in allowed[:most]:
            yield f"{change}, applies {self._applies(change)}"
        if most is not None and len(allowed) > most:
            yield f"{len(allowed) - most} more changes; `diff` lists them all"

    def _applies(self, change: SettingChange) -> str:
        return change.applies(self.completed, self.unit, self.closing)

    def as_data(self) -> list[dict[str, Any]]:
        """Return all changes as JSON data; an absent value is null."""
        return [
            {
                "setting": change.where,
                "change": change.what,
                "before": None if change.before is ABSENT else change.before,
                "now": None if change.now is ABSENT else change.now,
                "allowed": change.allowed,
                "applies": self._applies(change) or None,
                "reason": change.reason or None,
            }
            for change in (*self.changes, *self.rebuilt)
        ]


def canonical_settings(
    table: Sequence[Setting], values: Mapping[str, Any], file: str = ""
) -> dict[str, Any]:
    """Return interpreted settings as the JSON data stored with a run.

    file  the control file, absolute: files beside it are stored relative to its
          directory, which may be moved
    """
    directory = os.path.dirname(file)
    settings = {}
    for setting in table:
        data = canonical(values[setting.name])
        settings[setting.name] = setting.type.portable(data, directory) if directory else data
    return settings


def find_changes(
    table: Sequence[Setting],
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    where: Callable[[SettingPath], str],
) -> list[SettingChange]:
    """Return the differences of two stored runs' settings; refused changes come first.

    A setting that a newer version added had its default before.

    where  writes a path in Python's notation
    """
    changes = []
    for setting in table:
        default = None if setting.default is REQUIRED else canonical(setting.default)
        old = before.get(setting.name, default)
        for change in _setting(setting, _Pair((setting.name,), old, now[setting.name], "free")):
            place = {"where": where(change.path), "code": _code_in(change.path, now)}
            changes.append(msgspec.structs.replace(change, **place))
    return sorted(changes, key=lambda change: change.allowed)


def judge_by_played(
    changes: Sequence[SettingChange],
    contradictions: Mapping[SettingPath, str],
    where: Callable[[SettingPath], str],
) -> list[SettingChange]:
    """Return changes judged by the values played; refused ones come first.

    A function that replaces another one is no change before.

    contradictions  by setting, why its function contradicts the values played
    where           writes a path in Python's notation
    """
    refused = [
        SettingChange(path, where(path), CHANGED, None, None, "refused", reason)
        for path, reason in contradictions.items()
    ]
    free = [
        msgspec.structs.replace(change, change="free") if change.change == "played" else change
        for change in changes
        if not any(change.path[:n] in contradictions for n in range(1, len(change.path) + 1))
    ]
    return sorted([*refused, *free], key=lambda change: change.allowed)


def allow_all(changes: Sequence[SettingChange]) -> tuple[SettingChange, ...]:
    """Return changes with none refused, as before the first game."""
    return tuple(
        c if c.change == "report" else msgspec.structs.replace(c, change="free", reason="")
        for c in changes
    )


def other_type(was: str, now: str) -> SettingChange:
    """Return the change from one competition type to another."""
    return SettingChange(
        ("competition_type",),
        "competition_type",
        f"{was!r} → {now!r}",
        was,
        now,
        "refused",
        f"the last run was of type {was}",
        f"{was!r} or another name for the file",
    )


class _Pair(NamedTuple):
    """The old and the new value at one place, and what a change there means for the results."""

    path: SettingPath
    old: Any
    new: Any
    change: Change

    def inner(self, key: str | int, old: Any, new: Any) -> _Pair:
        """Return the values of a part."""
        return _Pair((*self.path, key), old, new, self.change)


def _change(pair: _Pair, what: str) -> SettingChange:
    text = "…" if what == CHANGED else written(pair.old)
    old = "" if text.endswith("…") or pair.old is ABSENT else text
    return SettingChange(pair.path, "", what, pair.old, pair.new, pair.change, old=old)


def _setting(setting: Setting, pair: _Pair) -> list[SettingChange]:
    """Compare a setting or argument; `pair.change` judges it if the setting does not."""
    return list(_value(setting.type, pair._replace(change=setting.change or pair.change)))


def _value(type_: SettingType | None, pair: _Pair) -> Iterator[SettingChange]:
    while isinstance(type_, Maybe):
        type_ = type_.inner
    old, new = pair.old, pair.new
    if same(old, new):
        return
    if has_parts(old, new):
        if isinstance(type_, CallOf):
            yield from _call(type_, pair)
            return
        inner = type_.inner if isinstance(type_, DictOf) else None
        for key in dict.fromkeys((*old, *new)):
            yield from _item(inner, pair.inner(key, old.get(key, ABSENT), new.get(key, ABSENT)))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list(type_.inner if isinstance(type_, ListOf) else None, pair)
    elif any(isinstance(v, str) and "\n" in v for v in (old, new)):
        yield _change(pair, CHANGED)
    else:
        yield _change(pair, from_to(old, new))


def _item(type_: SettingType | None, pair: _Pair) -> Iterator[SettingChange]:
    """Compare a dictionary's item."""
    if pair.old is ABSENT:
        yield _change(pair, f"is new: {written(pair.new)}")
    elif pair.new is ABSENT:
        yield _change(pair, "is gone")
    else:
        yield from _value(type_, pair)


def _call(call: CallOf, pair: _Pair) -> Iterator[SettingChange]:
    """Compare two built objects by the arguments of their call, then other fields."""
    old, new = pair.old, pair.new
    for setting in call.settings:
        name = setting.name
        if name not in old and name not in new:
            continue
        default: Any = ABSENT
        if setting.default not in (INHERITED, REQUIRED):
            default = canonical(setting.default)
        values = old.get(name, default), new.get(name, default)
        yield from _setting(setting, pair.inner(name, *values))
    arguments = {setting.name for setting in call.settings}
    for key in new:
        if key not in arguments:
            yield from _item(None, pair.inner(key, old.get(key, ABSENT), new[key]))


def _list(inner: SettingType | None, pair: _Pair) -> Iterator[SettingChange]:
    olds, news = _by_code(pair.old), _by_code(pair.new)
    if olds is None or news is None:
        olds, news = dict(enumerate(pair.old)), dict(enumerate(pair.new))
    for key, item in olds.items():
        if key not in news:
            gone = pair._replace(old=item, new=ABSENT)
            yield _change(gone, f"{_label(key, item)} is gone")
    for index, (key, item) in enumerate(news.items()):
        values = pair.inner(index, olds.get(key, ABSENT), item)
        if key in olds:
            yield from _value(inner, values)
        else:
            what = f"({key!r}) is new" if isinstance(key, str) else f"is new: {written(item)}"
            yield _change(values, what)
    before = [key for key in olds if key in news]
    now = [key for key in news if key in olds]
    if before != now:
        yield _change(pair, f"in another order: {written(before)} → {written(now)}")


def _label(key: str | int, item: Any) -> str:
    if isinstance(key, str):
        return repr(key)
    return f"[{key}]" if isinstance(item, dict | list) else f"[{key}] ({written(item)})"


def _by_code(items: list[Any]) -> dict[str | int, Any] | None:
    """Return items by code or id; an id of None is replaced by the index.

    None if an item has neither, or two are alike.
    """
    by_code: dict[str | int, Any] = {}
    for index, item in enumerate(items):
        if not isinstance(item, dict) or not ("code" in item or "id" in item):
            return None
        code = item.get("code", item.get("id"))
        key = str(index) if code is None else str(code)
        if key in by_code:
            return None
        by_code[key] = item
    return by_code


def _at(value: Any, path: SettingPath) -> Any:
    """Return a part of a stored value, or ABSENT."""
    for key in path:
        try:
            value = value[key]
        except (LookupError, TypeError):
            return ABSENT
    return value


def _code_in(path: SettingPath, values: Mapping[str, Any]) -> str:
    """Return the code of the innermost list item that a path leads through, or ""."""
    for end in range(len(path) - 1, 1, -1):
        item = _at(values, path[:end])
        if isinstance(path[end - 1], int) and isinstance(item, dict):
            code = item.get("code")
            return code if isinstance(code, str) else ""
    return ""
