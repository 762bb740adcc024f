"""Integer options of the demo engines, with their ranges.

One table per engine serves the protocol's option list, the range check and the
defaults.  How an option is announced and set belongs to the protocol modules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Option(NamedTuple):
    """One integer option and the values it takes."""

    name: str
    default: int
    min: int
    max: int


class OptionError(ValueError):
    """An unknown option, or a value it does not take."""


class Options:
    """Current values of a table of options; names are matched without case."""

    def __init__(self, table: Iterable[Option]) -> None:
        self.table = tuple(table)
        self.values = {option.name: option.default for option in self.table}
        self._by_name = {option.name.lower(): option for option in self.table}

    def set(self, name: str, value: str) -> Option:
        """Set one option from text.  Raises OptionError and changes nothing if
        the name is unknown or the value no integer within the range."""
        option = self._by_name.get(name.lower())
        if option is None:
            known = ", ".join(known.name for known in self.table)
            raise OptionError(f"unknown option {name!r}; the options are {known}")
        # int() alone would take "1_0" and refuse 5,000 digits with another message.
        digits = value[1:] if value[:1] in ("+", "-") else value
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
            raise OptionError(
                f"{option.name} must be an integer from {option.min} to {option.max}, not {value!r}"
            )
        if not option.min <= int(value) <= option.max:
            raise OptionError(
                f"{option.name} must lie in {option.min} to {option.max}, not {value}"
            )
        self.values[option.name] = int(value)
        return option
