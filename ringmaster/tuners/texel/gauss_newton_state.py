"""The differences and the state of a Gauss-Newton tune.

A difference changes one parameter of the base, far enough to move the scores well above their
rounding.  The difference of two scores that are rounded to one centipawn has a noise of 0.4
centipawns; a movement of eight is known to 5 %.  Larger differences suffer from nonlinearity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.optimiser import Errors, Step

#: Wanted root mean square movement of the scores, centipawns, and the least acceptable one.
WANTED_MOVEMENT, WEAK_MOVEMENT = 8.0, 2.0
#: First distances as shares of the range and of the start value; limits as shares of the range.
_RANGE_SHARE, _START_SHARE, _LEAST_SHARE, _MOST_SHARE = 1 / 16, 1 / 4, 1 / 100, 1 / 2
#: Smallest difference of a fractional parameter as a share of its range.
_UNIT_SHARE = 1e-4

Theta = tuple[float, ...]


class Differences:
    """The differences of some parameters; a parameter's own `step` never changes."""

    def __init__(self, parameters: Sequence[TunedParameter], space: Space) -> None:
        self._parameters, self._space = parameters, space
        self._low, self._high = space.whole_bounds
        self._unit = np.where(space.integer, 1.0, space.width * _UNIT_SHARE)

    def first(self, i: int) -> float:
        """Return the first distance of a parameter, in its own units."""
        parameter, width = self._parameters[i], float(self._space.width[i])
        if parameter.step is not None:
            return parameter.step
        start_share = abs(parameter.start) * _START_SHARE or width
        share = max(min(width * _RANGE_SHARE, start_share), width * _LEAST_SHARE)
        return max(share, float(self._unit[i]))

    def side(self, base: Theta, i: int, distance: float) -> Theta | None:
        """Return values with parameter i changed: up, down if there is more room.

        None without any room.
        """
        value, low, high = base[i], float(self._low[i]), float(self._high[i])
        above, below = high - value, value - low
        if self._space.integer[i]:
            distance = max(round(distance), 1)
        is_up = above >= distance or above >= below
        move = min(distance, above) if is_up else -min(distance, below)
        if move == 0:
            return None
        return (*base[:i], min(max(value + move, low), high), *base[i + 1 :])

    def adapted(self, i: int, distance: float, moved: float, wanted: float) -> float:
        """Return the distance for the wanted movement, from the last distance's movement."""
        if self._parameters[i].step is not None:
            return distance
        factor = min(max(wanted / moved, 0.25), 4.0)
        return self._within(i, distance * factor)

    def wider(self, i: int, distance: float, moved: float, wanted: float) -> float | None:
        """Return a larger distance if the last hardly moved the scores, else None."""
        if moved >= WEAK_MOVEMENT or self._parameters[i].step is not None:
            return None
        most = self._within(i, float("inf"))
        larger = self._within(i, distance * wanted / moved) if moved else most
        return larger if larger > distance else None

    def halved(self, i: int, distance: float) -> float | None:
        """Return half a distance, None if there is no smaller one."""
        if self._parameters[i].step is not None or distance <= self._unit[i]:
            return None
        return self._within(i, distance / 2)

    def _within(self, i: int, distance: float) -> float:
        most = float(self._space.width[i]) * _MOST_SHARE
        return max(min(distance, most), float(self._unit[i]))


#: An error that is not finite, in JSON.
WORST = 1e300


class Point(msgspec.Struct, frozen=True):
    """A pass with its errors."""

    number: int
    theta: tuple[float, ...]
    train: float
    validation: float | None = None

    @classmethod
    def of(cls, number: int, theta: tuple[float, ...], errors: Errors) -> Point:
        """Return a point; errors that are not finite become WORST."""
        assert errors.train is not None
        train, held = errors.train, errors.validation
        if held is not None and not math.isfinite(held):
            held = WORST
        return cls(number, theta, train if math.isfinite(train) else WORST, held)


class Side(msgspec.Struct):
    """One side of a difference: a pass with one value changed."""

    place: int
    theta: tuple[float, ...]
    number: int | None = None
    told: bool = False


class RidgeRow(msgspec.Struct, frozen=True):
    """One strength of a ridge path, as predicted by the linear model."""

    strength: float
    train: float
    validation: float | None
    farthest: float
    used: bool


class State(msgspec.Struct):
    """The state of the method.

    number     number of the next pass
    first      start values; base: present values; origin: base of the derivatives; best: result
    kept       passes of the last linearisation whose scores are kept
    wanted     wanted movement of the scores, centipawns
    distances  next differences, (n,)
    movement   of the last differences, centipawns, None if unknown
    dead       whether no score depends on a parameter
    estimate   values without a ridge; deviation: their standard errors, None if infinite
    straight   whether the scores of the base are as predicted
    foreseen   predicted errors of the trial
    like       pairs of indistinguishable parameters
    path       ridge path by group
    """

    first: Point
    base: Point
    origin: Point
    best: Point
    distances: list[float]
    movement: list[float | None]
    dead: list[bool]
    estimate: list[float]
    deviation: list[float | None]
    path: list[list[RidgeRow]]
    phase: Literal["start", "columns", "trial", "done"] = "start"
    number: int = 0
    kept: list[Point] = []
    sides: list[Side] = []
    widened: bool = False
    group: int = 0
    idle: int = 0
    wanted: float = WANTED_MOVEMENT
    shrunk: int = 0
    straight: bool = False
    strength: float = 0.0
    refused: int = 0
    refused_theta: tuple[float, ...] | None = None
    trial: tuple[float, ...] | None = None
    trial_number: int | None = None
    foreseen: tuple[float, float | None] = (0.0, None)
    tried: list[tuple[float, ...]] = []
    stale: int = 0
    steps: int = 0
    like: dict[str, int] = {}
    course: list[Step] = []
    ended: str = ""
