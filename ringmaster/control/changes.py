"""What has been changed in a control file since the last run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringmaster.control.paths import path_text
from ringmaster.model.settings import REQUIRED, Setting, SettingPath, canonical, shown

#: Changes told of one setting; a long list says no more than its beginning.
MOST = 5

_ABSENT = object()


@dataclass(frozen=True)
class SettingChange:
    """One value that is another now, at `path`; values are JSON data.

    setting  the top-level setting that it is part of
    where    its path as Python would reach it
    """

    setting: Setting
    path: SettingPath
    where: str
    before: Any
    now: Any

    @property
    def allowed(self) -> bool:
        """Whether results so far keep their meaning."""
        return self.setting.change != "refused"

    def __str__(self) -> str:
        where = self.where
        if self.before is _ABSENT:
            return f"{where} is new"
        if self.now is _ABSENT:
            return f"{where} is gone"
        if any(isinstance(v, str) and "\n" in v for v in (self.before, self.now)):
            return f"{where} has been changed"
        return f"{where} {shown(self.before)} -> {shown(self.now)}"


def canonical_settings(table: Sequence[Setting], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return interpreted settings as the JSON data that is stored with a run."""
    return {setting.name: canonical(values[setting.name]) for setting in table}


def find_changes(
    table: Sequence[Setting],
    before: Mapping[str, Any],
    now: Mapping[str, Any],
    namespace: Mapping[str, Any],
) -> list[SettingChange]:
    """Compare the settings of two runs (as stored).  A setting that a newer
    version added counts as having had its default.

    namespace  the control file's names, for the way paths are written
    """
    changes = []
    for setting in table:
        default = None if setting.default is REQUIRED else canonical(setting.default)
        old = before.get(setting.name, default)
        found = list(_differences((setting.name,), old, now[setting.name]))
        changes += [
            SettingChange(setting, path, path_text(path, namespace, {}), *values)
            for path, *values in found[:MOST]
        ]
    return changes


def _differences(path: SettingPath, old: Any, new: Any) -> Iterator[tuple[SettingPath, Any, Any]]:
    """Yield (path, before, now) of the innermost values that differ."""
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(k for k in new if k not in old)]:
            yield from _differences((*path, key), old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif isinstance(old, list) and isinstance(new, list):
        for i in range(max(len(old), len(new))):
            one = old[i] if i < len(old) else _ABSENT
            other = new[i] if i < len(new) else _ABSENT
            yield from _differences((*path, i), one, other)
    else:
        yield path, old, new
