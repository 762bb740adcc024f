"""The engine options that a tune's parameters stand for, for the test of their effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from ringmaster.errors import SettingError
from ringmaster.model.jobs import OptionChange
from ringmaster.model.players import Player


class TunedOptions(msgspec.Struct, frozen=True):
    """The parameters of a tune as options of its player.

    check    id of the startup check that the options are changes of
    changes  parameters that are options
    idle     codes of parameters that change nothing of the player at all
    """

    check: str
    changes: tuple[OptionChange, ...]
    idle: tuple[str, ...]


def tuned_options(
    check: str, base: Player, ends: Mapping[str, Sequence[Callable[[], Player]]]
) -> TunedOptions:
    """Return the parameters as options.

    base  the player of the startup check
    ends  by code of a parameter, what makes the player with other values of it alone

    Parameters whose functions fail are left out: that is reported elsewhere.
    """
    changes: list[OptionChange] = []
    idle: list[str] = []
    for code, makers in ends.items():
        try:
            made = [msgspec.structs.replace(make(), code=base.code) for make in makers]
        except SettingError:
            continue
        others = [player for player in made if player != base]
        if not others:
            idle.append(code)
        elif all(_differs_in_options_only(player, base) for player in others):
            changes.append(OptionChange(code, tuple(_changed(base, p) for p in others)))
    return TunedOptions(check, tuple(changes), tuple(idle))


def _differs_in_options_only(player: Player, base: Player) -> bool:
    return (
        player.options.keys() >= base.options.keys()
        and msgspec.structs.replace(player, options=base.options) == base
    )


def _changed(base: Player, player: Player) -> dict[str, bool | int | float | str]:
    was = base.options
    return {k: v for k, v in player.options.items() if k not in was or was[k] != v}
