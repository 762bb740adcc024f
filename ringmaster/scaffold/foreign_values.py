"""Values of other programs' command lines and settings files, checked and translated."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec

from ringmaster.errors import UsageError, nearest, shown
from ringmaster.model.players import OptionValue
from ringmaster.model.time_control import TimeControl

#: Keys with their values; a key may be there several times.
Pairs = list[tuple[str, str]]
#: A name of a file or an engine in JSON: without control characters, not empty.
Name = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x20][^\x00-\x1f]*$")]

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """An option of a command line with its values, often of the form key=value."""

    name: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([self.name, *self.values])

    def pairs(self) -> Pairs:
        """Return the values as (key, value); without a "=" the value is ""."""
        return [(key, value) for key, _, value in (v.partition("=") for v in self.values)]

    def mapping(self, keys: Iterable[str], needed: Iterable[str] = ()) -> dict[str, str]:
        """Return the values by key.  Raises UsageError for other keys, and without a needed one."""
        known, values = list(keys), dict(self.pairs())
        for key in values:
            if key not in known:
                raise UsageError(f"{self.name} has no {shown(key)}; expected {nearest(key, known)}")
        for key in needed:
            if not values.get(key):
                raise UsageError(f"{self.name} has no {key}")
        return values

    def single(self) -> str:
        """Return the only value.  Raises UsageError for none or several."""
        if len(self.values) != 1:
            raise UsageError(f"{self.name} takes one value, not {len(self.values)}")
        return self.values[0]


def options(words: Sequence[str]) -> list[Option]:
    """Return the options of a command line; -name and --name are the same, -5 is a value.

    Raises UsageError for words before the first option.
    """
    parts: list[tuple[str, list[str]]] = []
    for word in words:
        if re.match("-+[^-0-9.]", word):
            parts.append((f"-{word.lstrip('-')}", []))
        elif parts:
            parts[-1][1].append(word)
        else:
            raise UsageError(f"{shown(word)} comes before the first option")
    return [Option(name, tuple(values)) for name, values in parts]


# Each of these raises UsageError; `what` names the setting in the message.


def integer(text: str, what: str, minimum: int, maximum: int = 10**12) -> int:
    if not re.fullmatch("-?[0-9]{1,15}", text) or not minimum <= int(text) <= maximum:
        raise UsageError(f"{what}: {shown(text)} is not an integer of at least {minimum}")
    return int(text)


def real(text: str, what: str, above: float | None = None, maximum: float = 1e9) -> float:
    """Return a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not abs(value) <= maximum or (above is not None and value <= above):
        least = "" if above is None else f"more than {above:g} and "
        raise UsageError(f"{what}: {shown(text)} is not a number of {least}at most {maximum:,.0f}")
    return value


def choice(text: str, what: str, *choices: str) -> str:
    """Return one of two or three words."""
    if text not in choices:
        raise UsageError(f"{what}: {shown(text)} is not {' or '.join(choices)}")
    return text


def truth(text: str, what: str) -> bool:
    return choice(text, what, "true", "false") == "true"


def time_control(text: str, what: str) -> str | None:
    """Return `moves/minutes:seconds+increment` as a control file writes it, None for no clock."""
    if text in ("inf", "infinite"):
        return None
    if "hg" in text or "hourglass" in text:
        raise UsageError(f"{what}: ringmaster has no hourglass clocks such as {shown(text)}")
    # 0 moves, like none, are the whole game; a point may be the first character
    ours = re.sub(r"(?<![0-9])\.", "0.", re.sub("^(?:inf(?:inite)?|0+)/", "", text))
    try:
        if not re.fullmatch(r"[0-9/:.]+(?:\+[0-9.]+)?", ours):
            raise ValueError("it is not moves/minutes:seconds+increment")
        return str(TimeControl.parse(ours))
    except ValueError as error:
        raise UsageError(f"{what}: {shown(text)} is not a time control: {error}") from None


def words_of(text: str, what: str) -> list[str]:
    """Return the words of a text, split like a shell does."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{what}: {shown(text)}: {error}") from None


def command_words(text: str, what: str) -> list[str]:
    """Return the words of a command, at least one."""
    words = words_of(text, what)
    if not words:
        raise UsageError(f"{what}: {shown(text)} is not a command")
    return words


def converted(name: str, data: Any, type: type[T], expected: str) -> T:
    """Return the JSON of a file as a type."""
    try:
        return msgspec.convert(data, type)
    except msgspec.ValidationError as error:
        raise UsageError(f"import: {name}: {error}; expected {expected}") from None


def option_value(text: str) -> OptionValue:
    """Return the value of an engine option for a control file; engines receive the same text."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch("0|-?[1-9][0-9]{0,14}", text) else text
