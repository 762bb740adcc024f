"""The anchor of ratings: the player whose Elo is given, so that all others have
theirs on its scale."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from ringmaster.errors import SettingError
from ringmaster.model.calls import Call
from ringmaster.model.settings import (
    CallOf,
    Context,
    Float,
    Identifier,
    Maybe,
    Setting,
    SettingPath,
)
from ringmaster.model.wording import nearest, shown


class Anchor(msgspec.Struct, frozen=True):
    """A player and its Elo."""

    code: str
    elo: float


class _AnchorType(CallOf):
    """Anchor(code, elo), or the two in brackets alone."""

    def describe(self) -> str:
        return 'a player and its Elo: ("code", 2800)'

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, tuple | list) and len(value) == 2:
            value = Call(self.kind, tuple(value), {})
        return super().interpret(value, path, context)


ANCHOR_SETTING = Setting(
    "anchor",
    Maybe(
        _AnchorType(
            "Anchor",
            (
                Setting("code", Identifier(), "Code of the player."),
                Setting("elo", Float(minimum=-10_000, maximum=10_000), "Its Elo.", 0.0),
            ),
            lambda values, context: Anchor(**values),
            positional=("code", "elo"),
        )
    ),
    "The player whose Elo is known, with it; ratings are above the average without one.",
    None,
    change="report",
)


def check_anchor(anchor: Anchor | None, codes: Collection[str]) -> None:
    """Raise SettingError for an anchor that does not take part."""
    if anchor is not None and anchor.code not in codes:
        raise SettingError(
            ("anchor",), f"{shown(anchor.code)} does not take part", nearest(anchor.code, [*codes])
        )
