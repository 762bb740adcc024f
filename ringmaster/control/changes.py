"""What has been changed in a control file since the last run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ringmaster.model.settings import REQUIRED, Setting, canonical, shown


@dataclass(frozen=True)
class SettingChange:
    """One setting that has another value now; values are JSON data."""

    setting: Setting
    before: Any
    now: Any

    @property
    def allowed(self) -> bool:
        """Whether results so far keep their meaning."""
        return self.setting.change == "free"

    def __str__(self) -> str:
        if isinstance(self.before, dict | list) or isinstance(self.now, dict | list):
            return f"{self.setting.name} has been changed"
        return f"{self.setting.name} {shown(self.before)} -> {shown(self.now)}"


def canonical_settings(table: Sequence[Setting], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return interpreted settings as the JSON data that is stored with a run."""
    return {setting.name: canonical(values[setting.name]) for setting in table}


def find_changes(
    table: Sequence[Setting], before: Mapping[str, Any], now: Mapping[str, Any]
) -> list[SettingChange]:
    """Compare the settings of two runs (as stored).  A setting that a newer
    version added counts as having had its default."""
    changes = []
    for setting in table:
        default = None if setting.default is REQUIRED else canonical(setting.default)
        old = before.get(setting.name, default)
        new = now[setting.name]
        if old != new:
            changes.append(SettingChange(setting, old, new))
    return changes
