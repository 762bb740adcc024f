"""Which values are played to find derivatives: one parameter at a time is changed from the
base, by as much as makes the scores move well above their rounding, within the bounds and by
whole numbers where it must be.

Scores are mostly rounded to one centipawn, so the difference of two has a noise of 0.4
centipawns; one that moves them by eight is known to 5 %.  Larger differences would see more
of what is not linear.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.spsa.space import Space
from ringmaster.tuners.texel.linearised import whole_bounds

#: By how many centipawns (root mean square) a difference is to move the scores, and below
#: how many it is found again from a larger one.
WANTED_MOVEMENT, WEAK_MOVEMENT = 8.0, 2.0
#: The first differences, as shares of the range and of the start value; never less than the
#: third, of the range, nor more than the last.
_RANGE_SHARE, _START_SHARE, _LEAST_SHARE, _MOST_SHARE = 1 / 16, 1 / 4, 1 / 100, 1 / 2
#: The smallest difference of a parameter that is no integer, as a share of its range.
_UNIT_SHARE = 1e-4

Theta = tuple[float, ...]


class Differences:
    """The differences of some parameters; a parameter's own `step` is never changed.

    central  whether they are taken to both sides where there is room
    """

    def __init__(self, parameters: Sequence[TunedParameter], space: Space, central: bool) -> None:
        self._parameters, self._space, self._central = parameters, space, central
        self._low, self._high = whole_bounds(space)
        self._unit = np.where(space.integer, 1.0, space.width * _UNIT_SHARE)

    def first(self, i: int) -> float:
        """Return the first distance of a parameter, in its own units."""
        parameter, width = self._parameters[i], float(self._space.width[i])
        if parameter.step is not None:
            return parameter.step
        of_start = abs(parameter.start) * _START_SHARE or width
        share = max(min(width * _RANGE_SHARE, of_start), width * _LEAST_SHARE)
        return max(share, float(self._unit[i]))

    def sides(self, base: Theta, i: int, distance: float) -> list[Theta]:
        """Return the values with parameter i changed: up, down where there is more room, or
        both; none where the bounds leave nothing."""
        value, low, high = base[i], float(self._low[i]), float(self._high[i])
        above, below = high - value, value - low
        if self._space.integer[i]:
            distance = max(round(distance), 1)
        if self._central and min(above, below) >= self._unit[i]:
            moves = [min(distance, above), -min(distance, below)]
        elif above >= distance or above >= below:
            moves = [min(distance, above)]
        else:
            moves = [-min(distance, below)]
        return [
            (*base[:i], min(max(value + move, low), high), *base[i + 1 :])
            for move in moves
            if move != 0
        ]

    def adapted(self, i: int, distance: float, moved: float, wanted: float) -> float:
        """Return the next distance after one that moved the scores by so much."""
        if self._parameters[i].step is not None:
            return distance
        factor = min(max(wanted / moved, 0.25), 4.0)
        return self._within(i, distance * factor)

    def wider(self, i: int, distance: float, moved: float, wanted: float) -> float | None:
        """Return a larger distance where one hardly moved the scores; None where it did, or
        there is no larger one."""
        if moved >= WEAK_MOVEMENT or self._parameters[i].step is not None:
            return None
        most = self._within(i, float("inf"))
        larger = self._within(i, distance * wanted / moved) if moved else most
        return larger if larger > distance else None

    def halved(self, i: int, distance: float) -> float | None:
        """Return half a distance, None where there is none smaller."""
        if self._parameters[i].step is not None or distance <= self._unit[i]:
            return None
        return self._within(i, distance / 2)

    def _within(self, i: int, distance: float) -> float:
        most = float(self._space.width[i]) * _MOST_SHARE
        return max(min(distance, most), float(self._unit[i]))
