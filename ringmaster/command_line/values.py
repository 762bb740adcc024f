"""What the text after an option means.  Every command line goes through here: nothing else
is imported."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any


def positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise ArgumentTypeError(f"{text!r} is not a positive integer")
    return number


def count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise ArgumentTypeError(f"{text!r} is not 0 or a positive integer")
    return number


def _number(text: str, low: float, high: float, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise ArgumentTypeError(f"{text!r} is not {what}")
    return number


def not_negative(text: str) -> float:
    return _number(text, 0.0, 1e6, "a number from 0 to a million")


def above_zero(text: str) -> float:
    return _number(text, 1e-9, 1e9, "a number above 0")


def share(text: str) -> float:
    return _number(text, 0.0, 0.999, "a number from 0 to 0.999")


def correlation(text: str) -> float:
    return _number(text, -1.0, 1.0, "a number from -1 to 1")


def place(text: str) -> str | float:
    if text in ("random", "centre", "start"):
        return text
    return _number(text, 0.0, 1.0, "random, centre, start or a number from 0 to 1")


def by_code(value: Callable[[str], Any]) -> Callable[[str], dict[str | None, Any]]:
    """Return what reads ``VALUE,CODE=VALUE,…``; the one without a code is under None."""

    def read(text: str) -> dict[str | None, Any]:
        found: dict[str | None, Any] = {}
        for part in text.split(","):
            code, given, rest = part.rpartition("=")
            key = code if given else None
            if key in found:
                raise ArgumentTypeError(f"{text!r} has {key or 'a value'} twice")
            found[key] = value(rest)
        return found

    return read
