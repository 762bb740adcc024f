"""The values that engines play with: to what precision, and how a ticket holds them.

They are kept with every game, so fractions are played to a hundredth of the smallest
perturbation (what was really played is what the tuner is told), and a ticket has
them as one short text: whole numbers of the last decimal place, each zigzagged and in
groups of 7 bits (LEB128), all θ⁺ first, then θ⁺ − θ⁻; the bytes as base64.
"""

from __future__ import annotations

import base64
import functools
import math
import re
from collections.abc import Sequence

import msgspec

from ringmaster.model.parameters import TunedParameter

#: Fractions are played to this part of the smallest perturbation, or finer.
FINENESS = 100
#: Decimal digits of a double that can be relied on.
_DIGITS = 15
#: Decimal places at most.
_MOST_PLACES = 70
#: A format that shows a fixed number of decimal places.
_FIXED = re.compile(r"[^%]*%[-+ #0]*\d*\.(\d+)f[^%]*\Z")

Numbers = list[int | float]


class Layout(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which parameters the values of a ticket are of, in their order.

    places  decimal places, −1 for a parameter of whole numbers
    fixed   values of parameters that are frozen, by code
    """

    codes: list[str]
    places: list[int]
    fixed: dict[str, int | float] = {}

    def named(self, values: Sequence[float]) -> dict[str, int | float]:
        """Return all values of a side, by code."""
        return {**self.fixed, **dict(zip(self.codes, values, strict=True))}


class Grid:
    """The values that parameters may be played with.

    least_c  the smallest perturbation of each
    """

    def __init__(self, parameters: Sequence[TunedParameter], least_c: Sequence[float]) -> None:
        places = [_places(p, c) for p, c in zip(parameters, least_c, strict=True)]
        self.layout = Layout([p.code for p in parameters], places)
        self._steps = [
            (10 ** max(place, 0), *_bounds(p, 10 ** max(place, 0)))
            for p, place in zip(parameters, places, strict=True)
        ]
        #: The values that were encoded last, and their text.
        self._encoded: tuple[tuple[Numbers, Numbers], str] = ([], []), ""

    def played(self, values: Sequence[float]) -> Numbers:
        """Return the nearest values that are played, within the bounds."""
        steps = [
            min(max(math.floor(value * scale + 0.5), low), high)
            for value, (scale, low, high) in zip(values, self._steps, strict=True)
        ]
        return _numbers(self.layout.places, steps)

    def between(self) -> Numbers:
        """Return values from within the bounds; no whole numbers, where any others are
        played."""
        steps = []
        for scale, low, high in self._steps:
            step = low + int(0.38197 * (high - low))
            whole = scale > 1 and step % scale == 0
            steps.append(min(step + 1, high) if whole else step)
        return _numbers(self.layout.places, steps)

    def encode(self, plus: Sequence[float], minus: Sequence[float]) -> str:
        """Return the text of values that `played` has returned."""
        # asked for again with every game of an iteration
        values = [*plus], [*minus]
        if self._encoded[0] != values:
            self._encoded = values, self._encode(plus, minus)
        return self._encoded[1]

    def _encode(self, plus: Sequence[float], minus: Sequence[float]) -> str:
        first = [
            math.floor(value * scale + 0.5)
            for value, (scale, _, _) in zip(plus, self._steps, strict=True)
        ]
        second = [
            step - math.floor(value * scale + 0.5)
            for step, value, (scale, _, _) in zip(first, minus, self._steps, strict=True)
        ]
        return _encode(first + second)


def decode(text: str, layout: Layout) -> tuple[Numbers, Numbers]:
    """Return θ⁺ and θ⁻ as they were played."""
    plus, minus = _decoded(text, tuple(layout.places))
    return [*plus], [*minus]


@functools.lru_cache(maxsize=256)
def _decoded(text: str, places: tuple[int, ...]) -> tuple[Numbers, Numbers]:
    # asked for again with every game of an iteration
    steps = _decode(text)
    first, second = steps[: len(places)], steps[len(places) :]
    other = [a - b for a, b in zip(first, second, strict=True)]
    return _numbers(places, first), _numbers(places, other)


def _numbers(places: Sequence[int], steps: Sequence[int]) -> Numbers:
    return [
        step if place < 0 else step / 10**place for step, place in zip(steps, places, strict=True)
    ]


def _places(parameter: TunedParameter, c: float) -> int:
    """Return how many decimal places a parameter is played with."""
    if parameter.integer:
        return -1
    if parameter.format is not None and parameter.transform is None:
        fixed = _FIXED.match(parameter.format)
        if fixed is not None:
            return min(int(fixed[1]), _MOST_PLACES)
    largest = max(abs(parameter.minimum), abs(parameter.maximum))
    # a double has 15 decimal places in all
    sensible = min(_MOST_PLACES, _DIGITS - math.ceil(math.log10(largest)))
    return max(min(math.ceil(math.log10(FINENESS / c)), sensible), 0)


def _bounds(parameter: TunedParameter, scale: int) -> tuple[int, int]:
    """Return the first and the last step within the bounds."""
    low, high = round(parameter.minimum * scale), round(parameter.maximum * scale)
    low += low / scale < parameter.minimum
    high -= high / scale > parameter.maximum
    return low, max(low, high)


def _encode(numbers: Sequence[int]) -> str:
    data = bytearray()
    for number in numbers:
        # zigzag: 0, −1, 1, −2, … are 0, 1, 2, 3, …
        rest = 2 * number if number >= 0 else -2 * number - 1
        while rest > 0x7F:
            data.append(rest & 0x7F | 0x80)
            rest >>= 7
        data.append(rest)
    return base64.b64encode(data).decode("ascii").rstrip("=")


def _decode(text: str) -> tuple[int, ...]:
    numbers = []
    number = shift = 0
    for byte in base64.b64decode(text + "=" * (-len(text) % 4)):
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number // 2 if number % 2 == 0 else -(number // 2) - 1)
            number = shift = 0
    return tuple(numbers)
