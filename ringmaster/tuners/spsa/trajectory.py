"""The course of θ, thinned: about 2,000 points however long the tune."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ringmaster.tuners.spsa.space import Array

#: Iterations told, and θ.
Point = tuple[int, list[float]]
#: Points at most; then every other one is dropped.
MOST_POINTS = 2000
#: Numbers at most, of all parameters together, and points at least.
MOST_NUMBERS, FEWEST_POINTS = 100_000, 200


class Trajectory:
    """Points (iterations told, θ), equally spaced by a power of two; the last one is
    always there.

    A θ has seven significant digits here.
    """

    def __init__(self) -> None:
        self.stride = 1
        self._points: list[Point] = []
        self._last: tuple[int, Array] | None = None

    def take(self, told: int, theta: Array) -> None:
        """Add θ after `told` iterations, one more than before."""
        self._last = (told, theta)
        if told % self.stride:
            return
        self._points.append(_point(told, theta))
        self._last = None
        if len(self._points) > most_points(len(theta)):
            self.stride *= 2
            self._points = [p for p in self._points if p[0] % self.stride == 0]
            if told % self.stride:
                self._last = (told, theta)

    def points(self) -> list[Point]:
        """Return the points, in order."""
        return self._points + ([] if self._last is None else [_point(*self._last)])

    def state(self) -> dict[str, Any]:
        """Return the state as JSON data."""
        last = None if self._last is None else _point(*self._last)
        return {"stride": self.stride, "points": list(self._points), "last": last}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state."""
        self.stride = state["stride"]
        self._points = [(told, theta) for told, theta in state["points"]]
        last = state["last"]
        self._last = None if last is None else (last[0], np.array(last[1]))


def most_points(count: int) -> int:
    """Return how many points are kept of so many parameters."""
    return max(FEWEST_POINTS, min(MOST_POINTS, MOST_NUMBERS // max(count, 1)))


def _point(told: int, theta: Array) -> Point:
    return told, [float(f"{value:.7g}") for value in theta.tolist()]
