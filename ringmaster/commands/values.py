"""Kinds of values of the command line: each names itself and an example in its error."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import Any


class Value:
    """A kind of value, as a function from text.

    read         returns the value, or raises ValueError
    description  of a right value, such as "a positive integer"
    example      of a right value
    """

    def __init__(self, read: Callable[[str], Any], description: str, example: str) -> None:
        self._read = read
        self.description = description
        self.example = example

    def __call__(self, text: str) -> Any:
        """Return the value of a text.  Raises ArgumentTypeError."""
        try:
            return self._read(text)
        except ValueError:
            raise ArgumentTypeError(
                f"{text!r} is not {self.description}, such as {self.example}"
            ) from None


def _integer(low: int | None = None, high: int | None = None) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            raise ValueError(text)
        number = int(text)
        if (low is not None and number < low) or (high is not None and number > high):
            raise ValueError(text)
        return number

    return read


def _number(low: float, high: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        number = float(text)
        # also false for nan
        if not low <= number <= high:
            raise ValueError(text)
        return number

    return read


POSITIVE = Value(_integer(1), "a positive integer", "4")
COUNT = Value(_integer(0), "0 or a positive integer", "100")
PORT = Value(_integer(0, 65_535), "a port", "8765")
INTEGER = Value(_integer(), "an integer", "1")
PLIES = Value(_integer(0, 99_999), "a number of plies", "16")
NOT_NEGATIVE = Value(_number(0.0, 1e6), "a number from 0 to a million", "2.5")
ELO = Value(_number(-1000, 1000), "a number from -1000 to 1000", "2.5")
ABOVE_ZERO = Value(_number(1e-9, 1e9), "a number above 0", "1.5")
NUMBER = Value(_number(-1e9, 1e9), "a number", "3")
SHARE = Value(_number(0.0, 0.999), "a number from 0 to 0.999", "0.6")


#: A number of positions, 0 for `all`.
MOST = Value(
    lambda text: 0 if text == "all" else _integer(1)(text), "a positive integer or `all`", "10"
)
PLACE = Value(
    lambda text: text if text in ("random", "centre", "start") else _number(0.0, 1.0)(text),
    "random, centre, start or a number from 0 to 1",
    "0.3",
)


def _read_cluster(text: str) -> str:
    from ringmaster.model.cluster import is_address

    if text not in ("local", "off") and not is_address(text):
        raise ValueError(text)
    return text


def _read_endpoint(text: str) -> str:
    if not re.fullmatch(r"\S+:\d{1,5}", text):
        raise ValueError(text)
    return text


def _read_penta(text: str) -> tuple[int, ...]:
    counts = tuple(map(_integer(0), re.split(r"[,\s]+", text.strip("[] "))))
    if len(counts) != 5 or max(counts) == sum(counts):
        raise ValueError(text)
    return counts


PENTA = Value(_read_penta, "five numbers of pairs, not of one kind", "200,4860,10023,4742,175")
CLUSTER = Value(_read_cluster, "tls://HOST:PORT, tcp://HOST:PORT, local or off", "tls://node1:8786")
ENDPOINT = Value(_read_endpoint, "HOST:PORT", "0.0.0.0:9000")


def _read_engine_option(text: str) -> tuple[str, str]:
    name, value = text.split("=", 1)
    if not (name.strip() and text.isprintable()):
        raise ValueError(text)
    return name, value


ENGINE_OPTION = Value(_read_engine_option, "NAME=VALUE", "Hash=64")


def by_code(value: Value) -> Callable[[str], dict[str | None, Any]]:
    """Return a reader of ``VALUE,CODE=VALUE,…``; the value without a code has the key None."""

    def read(text: str) -> dict[str | None, Any]:
        values: dict[str | None, Any] = {}
        for part in text.split(","):
            code, equals, rest = part.rpartition("=")
            key = code if equals else None
            if key in values:
                raise ArgumentTypeError(f"{text!r} has {key or 'a value'} twice")
            values[key] = value(rest)
        return values

    return read
