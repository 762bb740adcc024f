"""The setting that ends a competition's games.

Without it, Gomill's control files play until the user stops the run.  That stays so in Go, with
a warning; games of chess and shogi without end must be written down.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ringmaster.errors import SettingError
from ringmaster.model.settings import Maybe, Setting, SettingType


class NotGiven:
    """The default of a setting where None is a value of its own; stored like None.

    text  the default in the reference documentation
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return "not given"

    def canonical(self) -> None:
        """Return None, for the comparison of two runs."""


NOT_GIVEN: Final = NotGiven("no limit in Go; required in chess and shogi")


def ending_setting(name: str, type_: SettingType, help: str) -> Setting:
    """Return the setting for the number of games or rounds.

    help  words about the number
    """
    text = f"{help}; None: no limit, which must be written down in chess and shogi."
    return Setting(name, Maybe(type_), text, NOT_GIVEN)


def is_endless(values: Mapping[str, Any], name: str) -> bool:
    """Return whether the games have no end, and nobody wrote it down."""
    return values.get(name) is NOT_GIVEN and values.get("sprt") is None


def limit_of(values: Mapping[str, Any], name: str) -> int | None:
    """Return the value of the setting `name`, None for no limit.

    Raises SettingError for games of chess and shogi that are endless by oversight.
    """
    if is_endless(values, name) and values["game"] != "go":
        sprt = "an sprt = SPRT(…), " if "sprt" in values else ""
        raise SettingError(
            (name,),
            f"{name!r} is missing: nothing ends the games",
            f"{name} = 1000, {sprt}or {name} = None for games without end",
        )
    limit: int | None = None if values.get(name) is NOT_GIVEN else values.get(name)
    return limit


def endless_warning(name: str) -> str:
    """Return the warning about games of Go without end."""
    return f"no {name}: the games go on until you stop the run; write {name} = None to say so"
