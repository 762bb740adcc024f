"""Command lines of fastchess and cutechess-cli, taken apart: options that begin
with "-", their values, and values of the form key=value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from ringmaster.errors import UsageError
from ringmaster.model.time_control import LONGEST, TimeControl, number
from ringmaster.model.wording import nearest, shown


@dataclass(frozen=True)
class Option:
    """One option with its values."""

    name: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([self.name, *self.values])

    def pairs(self) -> list[tuple[str, str]]:
        """Return the values as (key, value), value "" where there is no "="."""
        return [(key, value) for key, _, value in (v.partition("=") for v in self.values)]

    def mapping(self, known: Iterable[str]) -> dict[str, str]:
        """Return the values by key.  Raises UsageError for other keys."""
        names = list(known)
        found: dict[str, str] = {}
        for key, value in self.pairs():
            if key not in names:
                raise UsageError(f"{self.name} has no {shown(key)}; expected {nearest(key, names)}")
            found[key] = value
        return found

    def single(self) -> str:
        """Return the only value.  Raises UsageError when it is not one."""
        if len(self.values) != 1:
            raise UsageError(f"{self.name} takes one value, not {len(self.values)}")
        return self.values[0]


def options(words: Sequence[str]) -> list[Option]:
    """Return the options of a command line.  Raises UsageError for words before
    the first of them."""
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if word.startswith("-") and len(word) > 1:
            # both spellings are in use
            found.append((f"-{word.lstrip('-')}", []))
        elif found:
            found[-1][1].append(word)
        else:
            raise UsageError(f"{shown(word)} comes before the first option")
    return [Option(name, tuple(values)) for name, values in found]


def integer(text: str, what: str, minimum: int, maximum: int = 10**12) -> int:
    """Return an integer.  Raises UsageError."""
    if not re.fullmatch("-?[0-9]{1,15}", text) or not minimum <= int(text) <= maximum:
        raise UsageError(f"{what}: {shown(text)} is not an integer of at least {minimum}")
    return int(text)


def real(text: str, what: str, above: float | None = None) -> float:
    """Return a finite number.  Raises UsageError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    bound = "" if above is None else f" of more than {above:g}"
    if not math.isfinite(value) or abs(value) > 1e9 or (above is not None and value <= above):
        raise UsageError(f"{what}: {shown(text)} is not a number{bound}")
    return value


def truth(text: str, what: str) -> bool:
    """Return a truth value.  Raises UsageError."""
    if text not in ("true", "false"):
        raise UsageError(f"{what}: {shown(text)} is neither true nor false")
    return text == "true"


_TIME = re.compile(
    r"(?:(?P<moves>[0-9]{1,4}|inf|infinite)/)?(?:(?P<minutes>[0-9]{1,5}):)?(?P<seconds>[0-9.]{1,12})"
    r"(?:\+(?P<increment>[0-9.]{1,12}))?"
)


def time_control(text: str, what: str) -> str | None:
    """Return `moves/minutes:seconds+increment` as a control file writes it; None
    for no clock.  Raises UsageError."""
    if text in ("inf", "infinite"):
        return None
    if "hg" in text or "hourglass" in text:
        raise UsageError(f"{what}: there are no hourglass clocks here, such as {shown(text)}")
    match = _TIME.fullmatch(text)
    try:
        if match is None:
            raise ValueError("it is not moves/minutes:seconds+increment")
        seconds = Decimal(match["seconds"]) + 60 * Decimal(match["minutes"] or 0)
        increment = Decimal(match["increment"] or 0)
        # 0 moves, like none, are the whole game
        moves = match["moves"] or ""
        moves = "" if moves.startswith("inf") or not int(moves or 0) else f"{int(moves)}/"
        tail = f"+{number(float(increment))}" if increment else ""
        control = f"{moves}{number(float(seconds))}{tail}"
        return str(TimeControl.parse(control))
    except (ValueError, InvalidOperation) as error:
        reason = f": {error}" if isinstance(error, ValueError) else ""
        raise UsageError(f"{what}: {shown(text)} is not a time control{reason}") from None


def seconds(text: str, what: str) -> float:
    """Return the seconds of a move.  Raises UsageError."""
    value = real(text, what, above=0)
    if value > LONGEST:
        raise UsageError(f"{what}: {shown(text)} seconds are too long")
    return value
