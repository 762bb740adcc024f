"""Values of other programs' command lines and settings files, checked and translated."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from ringmaster.errors import UsageError, is_text, nearest, shown
from ringmaster.model.players import OptionValue
from ringmaster.model.time_control import LONGEST, TimeControl, number

#: Keys with their values; a key may be there several times.
Pairs = list[tuple[str, str]]

_TIME = re.compile(
    r"(?:(?P<moves>[0-9]{1,4}|inf|infinite)/)?(?:(?P<minutes>[0-9]{1,5}):)?(?P<seconds>[0-9.]{1,12})"
    r"(?:\+(?P<increment>[0-9.]{1,12}))?"
)


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

    def mapping(self, keys: Iterable[str]) -> dict[str, str]:
        """Return the values by key.  Raises UsageError for other keys."""
        known = list(keys)
        for key, _ in self.pairs():
            if key not in known:
                raise UsageError(f"{self.name} has no {shown(key)}; expected {nearest(key, known)}")
        return dict(self.pairs())

    def single(self) -> str:
        """Return the only value.  Raises UsageError for none or several."""
        if len(self.values) != 1:
            raise UsageError(f"{self.name} takes one value, not {len(self.values)}")
        return self.values[0]


def options(words: Sequence[str]) -> list[Option]:
    """Return the options of a command line; -name and --name are the same.

    Raises UsageError for words before the first option.
    """
    parts: list[tuple[str, list[str]]] = []
    for word in words:
        if word.startswith("-") and len(word) > 1:
            parts.append((f"-{word.lstrip('-')}", []))
        elif parts:
            parts[-1][1].append(word)
        else:
            raise UsageError(f"{shown(word)} comes before the first option")
    return [Option(name, tuple(values)) for name, values in parts]


# Each of these raises UsageError; `what` names the setting in the message.


def integer(text: str, what: str, minimum: int, maximum: int = 10**12) -> int:
    """Return an integer."""
    if not re.fullmatch("-?[0-9]{1,15}", text) or not minimum <= int(text) <= maximum:
        raise UsageError(f"{what}: {shown(text)} is not an integer of at least {minimum}")
    return int(text)


def real(text: str, what: str, above: float | None = None) -> float:
    """Return a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    bound = "" if above is None else f" of more than {above:g}"
    if not math.isfinite(value) or abs(value) > 1e9 or (above is not None and value <= above):
        raise UsageError(f"{what}: {shown(text)} is not a number{bound}")
    return value


def truth(text: str, what: str) -> bool:
    """Return a truth value."""
    if text not in ("true", "false"):
        raise UsageError(f"{what}: {shown(text)} is neither true nor false")
    return text == "true"


def choice(text: str, what: str, choices: Sequence[str]) -> str:
    """Return one of two or three words."""
    if text not in choices:
        *others, last = choices
        if len(others) == 1:
            raise UsageError(f"{what} {shown(text)} is neither {others[0]} nor {last}")
        raise UsageError(f"{what}: {shown(text)} is not {', '.join(others)} or {last}")
    return text


def time_control(text: str, what: str) -> str | None:
    """Return `moves/minutes:seconds+increment` as a control file writes it, None for no clock."""
    if text in ("inf", "infinite"):
        return None
    if "hg" in text or "hourglass" in text:
        raise UsageError(f"{what}: ringmaster has no hourglass clocks such as {shown(text)}")
    match = _TIME.fullmatch(text)
    try:
        if match is None:
            raise ValueError("it is not moves/minutes:seconds+increment")
        base = Decimal(match["seconds"]) + 60 * Decimal(match["minutes"] or 0)
        increment = Decimal(match["increment"] or 0)
        # 0 moves, like none, are the whole game
        moves = match["moves"] or ""
        moves = "" if moves.startswith("inf") or not int(moves or 0) else f"{int(moves)}/"
        tail = f"+{number(float(increment))}" if increment else ""
        return str(TimeControl.parse(f"{moves}{number(float(base))}{tail}"))
    except (ValueError, InvalidOperation) as error:
        reason = f": {error}" if isinstance(error, ValueError) else ""
        raise UsageError(f"{what}: {shown(text)} is not a time control{reason}") from None


def seconds(text: str, what: str) -> float:
    """Return the seconds of a move."""
    value = real(text, what, above=0)
    if value > LONGEST:
        raise UsageError(f"{what}: {shown(text)} seconds are too long")
    return value


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


def file_name(value: Any, what: str) -> str:
    """Return a file name."""
    if not isinstance(value, str) or not value or not is_text(value) or not value.isprintable():
        raise UsageError(f"{what} {shown(value)} is not a file name")
    return value


def option_value(text: str) -> OptionValue:
    """Return the value of an engine option for a control file; engines receive the same text."""
    if text in ("true", "false"):
        return text == "true"
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 16 and str(int(text)) == text:
        return int(text)
    return text
