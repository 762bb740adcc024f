"""What has been changed in a control file since the last run, and whether the
results so far keep their meaning."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.control.function_changes import function_changes
from ringmaster.control.values import ABSENT, from_to, has_parts, is_function, same, written
from ringmaster.errors import SettingError
from ringmaster.model.canonical import TYPES_COUNT, unescaped
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
    canonical,
)
from ringmaster.model.wording import counted

#: What is said of values that are too long to be shown.
CHANGED = "has been changed"
#: Changes that a run lists; `diff` lists them all.
MOST = 12


class SettingChange(msgspec.Struct, frozen=True):
    """One value that is another now.

    path    where it stands now; the list that it was in when it is gone
    where   the path as Python would reach it
    what    what became of it: "0.45 → 0.3", "is new"
    before, now  JSON data, ABSENT for what is not there
    change  "free", "report", "played" or "refused", as the innermost setting says
            that it is part of; "played" until `judge_by_played`
    reason  why a rule of the competition type refuses it, else ""
    old     what to put back, "" when it is too long to be said
    lines   the lines of a function that differ
    code    of the item of a list that it is in, which says more than its index
    """

    path: SettingPath
    where: str
    what: str
    before: Any
    now: Any
    change: Change
    reason: str = ""
    old: str = ""
    lines: tuple[str, ...] = ()
    code: str = ""

    @property
    def allowed(self) -> bool:
        """Whether results so far keep their meaning."""
        return self.change != "refused"

    def __str__(self) -> str:
        item = f" ({self.code})" if self.code else ""
        return f"{self.where}{item}{'' if self.what.startswith('[') else ' '}{self.what}"

    def applies(self, completed: int, unit: str = "game") -> str:
        """Return the moment from which it holds: "after 811 games".

        Numbers of games count from 1 and ids from 0, so no game is named.
        """
        after = f"after {counted(completed, unit)}" if completed else "at once"
        return {"free": after, "report": "at once", "refused": ""}[self.change]

    def error(self) -> SettingError:
        """Return why it is refused, with what to do."""
        reason = self.reason or "the results so far would lose their meaning"
        old = self.old or "what was there before"
        said = self.reason and self.what == CHANGED
        return SettingError(
            self.path,
            reason if said else f"{self.what} since the last run: {reason}",
            f"{old}, or `reset` to begin anew",
            self.lines,
        )


class Comparison(msgspec.Struct, frozen=True):
    """A control file against the settings of its last run.

    run        number of that run, None when there has been none
    completed  games, or what else the competition gives out, that count so far
    played     whether there is any result, void ones included
    notes      what could not be compared
    unit       what one of those that count is called
    """

    run: int | None = None
    started: float = 0.0
    completed: int = 0
    played: bool = False
    changes: tuple[SettingChange, ...] = ()
    notes: tuple[str, ...] = ()
    unit: str = "game"

    @property
    def allowed(self) -> list[SettingChange]:
        """The changes that leave the results their meaning."""
        return [change for change in self.changes if change.allowed]

    @property
    def refused(self) -> list[SettingChange]:
        """The changes that do not."""
        return [change for change in self.changes if not change.allowed]

    def texts(self, most: int | None = None) -> Iterator[str]:
        """Yield one text for each allowed change, then the notes; `most` of
        them and how many are left.  A text has several lines for a function."""
        found = self.allowed
        for change in found[:most]:
            first = f"{change}, applies {change.applies(self.completed, self.unit)}"
            yield "\n".join([first, *(f"    {line}" for line in change.lines)])
        if most is not None and len(found) > most:
            yield f"{len(found) - most} more changes; `diff` lists them all"
        yield from self.notes

    def as_data(self) -> list[dict[str, Any]]:
        """Return all changes as JSON data; null for what is not there."""
        return [
            {
                "setting": change.where,
                "change": change.what,
                "before": None if change.before is ABSENT else change.before,
                "now": None if change.now is ABSENT else change.now,
                "allowed": change.allowed,
                "applies": change.applies(self.completed, self.unit) or None,
                "reason": change.reason or None,
            }
            for change in self.changes
        ]


def canonical_settings(
    table: Sequence[Setting], values: Mapping[str, Any], file: str = ""
) -> dict[str, Any]:
    """Return interpreted settings as the JSON data that is stored with a run.

    file  the control file, absolute: what lies beside it is stored relative to
          its directory, which may be moved
    """
    directory = os.path.dirname(file)
    found = {}
    for setting in table:
        data = canonical(values[setting.name], file)
        found[setting.name] = setting.type.portable(data, directory) if directory else data
    return found


def find_changes(
    table: Sequence[Setting],
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    where: Callable[[SettingPath], str],
) -> list[SettingChange]:
    """Compare the settings of two runs (as stored); refused changes come first.
    A setting that a newer version added counts as having had its default.

    where  writes a path as Python would reach it
    """
    comparison = _Tables(where)
    for setting in table:
        default = None if setting.default is REQUIRED else canonical(setting.default)
        old = before.get(setting.name, default)
        comparison.setting(setting, (setting.name,), old, now[setting.name], "free")
    found = [
        msgspec.structs.replace(change, code=_code_in(change.path, now))
        for change in comparison.found
    ]
    return sorted(found, key=lambda change: change.allowed)


def judge_by_played(
    changes: Sequence[SettingChange], contradictions: Mapping[SettingPath, str]
) -> list[SettingChange]:
    """Return changes with each of functions judged by the values that were played;
    refused changes come first.

    contradictions  why functions do not fit these values, by the settings that they are
    """
    judged = []
    for change in changes:
        if change.change == "played":
            reasons = (contradictions.get(change.path[:n]) for n in range(1, len(change.path) + 1))
            reason = next(filter(None, reasons), "")
            kind: Change = "refused" if reason else "free"
            change = msgspec.structs.replace(change, change=kind, reason=reason)
        judged.append(change)
    return sorted(judged, key=lambda change: change.allowed)


def allow_all(changes: Sequence[SettingChange]) -> tuple[SettingChange, ...]:
    """Return changes as they are judged while nothing has been played."""
    return tuple(
        msgspec.structs.replace(c, change="free", reason="")
        if c.change in ("played", "refused")
        else c
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
        f"this was a {was} event in its last run",
        f"{was!r} or another name for the file",
    )


class _Tables:
    """One comparison; what differs is gathered in `found`."""

    def __init__(self, where: Callable[[SettingPath], str]) -> None:
        self._where = where
        self.found: list[SettingChange] = []

    def setting(
        self, setting: Setting, path: SettingPath, old: Any, new: Any, outer: Change
    ) -> None:
        """Compare a setting or argument; `outer` is how a change is judged of
        which the setting itself says nothing."""
        if same(old, new):
            return
        known = len(self.found)
        self._value(setting.type, path, old, new, setting.change or outer)
        if setting.rule is None or len(self.found) == known:
            return
        place, reason = _judged(setting.rule, old, new)
        if reason:
            del self.found[known:]
            old, new = _at(old, place), _at(new, place)
            what = CHANGED if _has_dict(old) or _has_dict(new) else from_to(old, new)
            self._add((*path, *place), what, old, new, "refused", reason)

    def _add(
        self, path: SettingPath, what: str, old: Any, new: Any, change: Change, reason: str = ""
    ) -> None:
        text = "…" if what == CHANGED else written(old)
        back = "" if text.endswith("…") or old is ABSENT else text
        self.found.append(
            SettingChange(path, self._where(path), what, old, new, change, reason, back)
        )

    def _value(
        self,
        type_: SettingType | None,
        path: SettingPath,
        old: Any,
        new: Any,
        change: Change,
        types_count: bool = False,
    ) -> None:
        while isinstance(type_, Maybe):
            type_ = type_.inner
        if same(old, new, types_count):
            return
        if is_function(old) and is_function(new):
            for part in function_changes(old, new):
                self.found.append(
                    SettingChange(
                        path,
                        self._where(path) + ":",
                        part.what,
                        part.before,
                        part.now,
                        change,
                        lines=part.lines,
                    )
                )
        elif has_parts(old, new):
            if isinstance(type_, CallOf):
                self._call(type_, path, old, new, change)
            else:
                self._mapping(type_, path, old, new, change, types_count)
        elif isinstance(old, list) and isinstance(new, list):
            inner = type_.inner if isinstance(type_, ListOf) else None
            self._list(inner, path, old, new, change, types_count)
        elif any(isinstance(v, str) and "\n" in v for v in (old, new)):
            self._add(path, CHANGED, old, new, change)
        else:
            self._add(path, from_to(old, new), old, new, change)

    def _mapping(
        self,
        type_: SettingType | None,
        path: SettingPath,
        old: dict[str, Any],
        new: dict[str, Any],
        change: Change,
        types_count: bool,
    ) -> None:
        """Compare two dictionaries, or two objects of one kind."""
        known = len(self.found)
        inner = type_.inner if isinstance(type_, DictOf) else None
        types_count = types_count or old.get("$") in TYPES_COUNT
        for key in [*old, *(k for k in new if k not in old)]:
            place = path if key == "$items" else (*path, unescaped(key))
            values = old.get(key, ABSENT), new.get(key, ABSENT)
            self._item(inner, place, *values, change, types_count)
        if types_count and len(self.found) == known:  # they are in another order
            self._add(path, from_to(old, new), old, new, change)

    def _item(
        self,
        type_: SettingType | None,
        path: SettingPath,
        old: Any,
        new: Any,
        change: Change,
        types_count: bool = False,
    ) -> None:
        """Compare a dictionary's item."""
        if old is ABSENT:
            self._add(path, f"is new: {written(new)}", old, new, change)
        elif new is ABSENT:
            self._add(path, "is gone", old, new, change)
        else:
            self._value(type_, path, old, new, change, types_count)

    def _call(
        self,
        call: CallOf,
        path: SettingPath,
        old: dict[str, Any],
        new: dict[str, Any],
        change: Change,
    ) -> None:
        """Compare two built objects by the arguments of their call; what is no
        argument (an object with other names for them) by itself."""
        for setting in call.settings:
            name = setting.name
            if name not in old and name not in new:
                continue
            default: Any = ABSENT
            if setting.default is not INHERITED:
                if name not in old and setting.default is REQUIRED:
                    continue  # the older version did not have it
                default = None if setting.default is REQUIRED else canonical(setting.default)
            values = (old.get(name, default), new.get(name, default))
            self.setting(setting, (*path, name), *values, change)
        arguments = {setting.name for setting in call.settings}
        for key in new:
            # an empty value is what an older version did not have
            if key not in arguments and (key in old or new[key] not in (None, False)):
                self._item(None, (*path, key), old.get(key, ABSENT), new[key], change)

    def _list(
        self,
        inner: SettingType | None,
        path: SettingPath,
        old: list[Any],
        new: list[Any],
        change: Change,
        types_count: bool,
    ) -> None:
        olds, news = _by_code(old), _by_code(new)
        if olds is None or news is None:
            olds, news = dict(enumerate(old)), dict(enumerate(new))
        for key, item in olds.items():
            if key not in news:
                self._add(path, f"{_label(key, item)} is gone", item, ABSENT, change)
        for index, (key, item) in enumerate(news.items()):
            if key in olds:
                self._value(inner, (*path, index), olds[key], item, change, types_count)
            else:
                what = f"({key!r}) is new" if isinstance(key, str) else f"is new: {written(item)}"
                self._add((*path, index), what, ABSENT, item, change)
        before = [key for key in olds if key in news]
        now = [key for key in news if key in olds]
        if before != now:
            self._add(
                path, f"in another order: {written(before)} → {written(now)}", old, new, change
            )


def _label(key: str | int, item: Any) -> str:
    if isinstance(key, str):
        return repr(key)
    return f"[{key}]" if isinstance(item, dict | list) else f"[{key}] ({written(item)})"


def _by_code(items: list[Any]) -> dict[str | int, Any] | None:
    """Return items by their code or id; one without an id is known by its index
    (as a matchup is).  None when they have none, or not one each."""
    found: dict[str | int, Any] = {}
    for index, item in enumerate(items):
        if not isinstance(item, dict) or not ("code" in item or "id" in item):
            return None
        code = item.get("code", item.get("id"))
        key = str(index) if code is None else str(code)
        if key in found:
            return None
        found[key] = item
    return found


def _judged(
    rule: Callable[[Any, Any], str | tuple[SettingPath, str]], old: Any, new: Any
) -> tuple[SettingPath, str]:
    """Return where a rule refuses a change, from the setting on, and why; "" if
    it does not."""
    try:
        said = rule(None if old is ABSENT else old, None if new is ABSENT else new)
    except (LookupError, TypeError, ValueError, AttributeError):
        # it expects another form than an older version stored
        return (), "the last run's value is of another form, and cannot be compared"
    return ((), said) if isinstance(said, str) else said


def _at(value: Any, path: SettingPath) -> Any:
    """Return a part of a stored value, ABSENT when it is not there."""
    for key in path:
        try:
            value = value[key]
        except (LookupError, TypeError):
            return ABSENT
    return value


def _code_in(path: SettingPath, values: Mapping[str, Any]) -> str:
    """Return the code of the item of a list in which a path goes on, "" if there is
    none."""
    for end in range(len(path) - 1, 1, -1):
        item = _at(values, path[:end])
        if isinstance(path[end - 1], int) and isinstance(item, dict):
            code = item.get("code")
            return code if isinstance(code, str) else ""
    return ""


def _has_dict(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and any(map(_has_dict, value)))
