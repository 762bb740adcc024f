"""The course of θ in constant space: averages of its last half, and a thinned trajectory.

`Averages` sums θ in blocks of equal length, at most 64; beyond that, neighbouring blocks
are merged.  The last half is therefore known to within one block.

Benchmark A (8 settings at 30k, 120k and 377k games, 120 tunes each) compares estimates:
the choice of the drift test loses 5 % more Elo on average than the better one of mean
and last iterate, and 14 % at worst; always the last iterate 34 % and 440 %, always the
mean 10 % and 59 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from ringmaster.tuners.space import Array, Flags

MOST_BLOCKS = 64

#: θ is settled if the mean of its z² is at most this.  A random walk has 1; a θ held near
#: an optimum has 0.1 to 0.5.
SETTLED = 0.8


class Drift(msgspec.Struct, frozen=True, eq=False):
    """A test of whether θ still moves in one direction.

    z        (last θ − mean of the last half) in standard deviations of a random walk,
             (n,); 0 where θ has not moved
    settled  whether z is smaller than in a random walk, so that the mean is the better
             estimate; (…) for many tunes
    """

    z: Array
    settled: bool | Flags


class Averages:
    """Blocks of `length` iterates, each (Σθ, Σ step²) of shape (n,), or (…, n) for many tunes."""

    def __init__(self, start: Array) -> None:
        self.length = 1
        self._blocks: list[tuple[Array, Array]] = []
        self._open = (np.zeros(start.shape), np.zeros(start.shape))
        self._in_open = 0
        self._last = start

    def add(self, theta: Array, step: Array) -> None:
        """Add an iterate and the step to it, (n,) each."""
        self._last = theta
        self._open = (self._open[0] + theta, self._open[1] + np.square(step))
        self._in_open += 1
        if self._in_open < self.length:
            return
        self._blocks.append(self._open)
        self._open, self._in_open = (np.zeros(theta.shape), np.zeros(theta.shape)), 0
        if len(self._blocks) == MOST_BLOCKS:
            pairs = zip(self._blocks[::2], self._blocks[1::2], strict=True)
            self._blocks = [(a[0] + b[0], a[1] + b[1]) for a, b in pairs]
            self.length *= 2

    @property
    def count(self) -> int:
        """Number of iterates."""
        return len(self._blocks) * self.length + self._in_open

    def _half(self) -> tuple[Array, Array, int]:
        """Return Σθ and Σstep² of the last half, (…, n) each, and its number of iterates."""
        first_block = self.count // 2 // self.length
        blocks = [*self._blocks, self._open][first_block:]
        return (
            np.sum([b[0] for b in blocks], axis=0),
            np.sum([b[1] for b in blocks], axis=0),
            self.count - first_block * self.length,
        )

    def mean(self) -> Array:
        """Return the mean of the last half of the iterates, (n,), or the start without any."""
        theta, _, count = self._half()
        return theta / count if count else self._last

    def rearranged(self, columns: Sequence[int], theta: Array) -> Averages:
        """Return the averages of some of the parameters, in another order.

        columns  index of each parameter here
        theta    the present values, (n,)
        """
        averages = Averages(theta.copy())
        averages.length, averages._in_open = self.length, self._in_open
        averages._blocks = [(sums[columns], squares[columns]) for sums, squares in self._blocks]
        averages._open = self._open[0][columns], self._open[1][columns]
        return averages

    def drift(self) -> Drift:
        """Compare the last iterate with the mean of the last half.

        After M independent steps of variance v, the last iterate differs from their mean
        by a variance of v·M/3; by less near an optimum, by more on the way to one.
        """
        theta, squares, count = self._half()
        if count < 2:
            return Drift(np.zeros(theta.shape), False)
        variance = squares / 3
        moved = variance > 0
        z = (self._last - theta / count) / np.sqrt(np.where(moved, variance, 1.0))
        z = np.where(moved, z, 0.0)
        most = SETTLED * np.count_nonzero(moved, axis=-1)
        settled: Flags = np.asarray(np.sum(np.square(z), axis=-1) <= most)
        return Drift(z, settled if settled.ndim else bool(settled))

    def state(self) -> dict[str, Any]:
        """Return the state as JSON data."""
        return {
            "length": self.length,
            "blocks": [[a.tolist(), b.tolist()] for a, b in self._blocks],
            "open": [a.tolist() for a in self._open],
            "in_open": self._in_open,
            "last": self._last.tolist(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the state."""
        self.length = state["length"]
        self._blocks = [(np.array(a), np.array(b)) for a, b in state["blocks"]]
        first, second = state["open"]
        self._open = np.array(first), np.array(second)
        self._in_open = state["in_open"]
        self._last = np.array(state["last"])


#: Completed iterations, and θ.
Point = tuple[int, list[float]]
#: Most points; beyond it every other point is dropped.
MOST_POINTS = 2000
#: Most numbers of all parameters together, and fewest points.
MOST_NUMBERS, FEWEST_POINTS = 100_000, 200


class ThinnedTrajectory:
    """Points (completed iterations, θ), spaced by a power of two, and the last one.

    θ has seven significant digits here.
    """

    def __init__(self) -> None:
        self.stride = 1
        self._points: list[Point] = []
        self._last: tuple[int, Array] | None = None

    def add(self, iteration: int, theta: Array) -> None:
        """Add θ after an iteration, one later than the iteration before."""
        self._last = (iteration, theta)
        if iteration % self.stride:
            return
        self._points.append(_point(iteration, theta))
        self._last = None
        if len(self._points) > most_points(len(theta)):
            self.stride *= 2
            self._points = [p for p in self._points if p[0] % self.stride == 0]
            if iteration % self.stride:
                self._last = (iteration, theta)

    def points(self) -> list[Point]:
        """Return the points in order."""
        return self._points + ([] if self._last is None else [_point(*self._last)])

    def rearranged(self, places: Sequence[int | None], theta: Array) -> ThinnedTrajectory:
        """Return the trajectory of a continued tune with other parameters.

        places  index of each new parameter here; without one, it stood at its present value
        theta   the present values, (n,)
        """
        present = list(zip(places, theta.tolist(), strict=True))

        def row(values: Sequence[float]) -> list[float]:
            return [now if place is None else values[place] for place, now in present]

        trajectory = ThinnedTrajectory()
        trajectory.stride = self.stride
        trajectory._points = [(iteration, row(values)) for iteration, values in self._points]
        if self._last is not None:
            iteration, last = self._last
            trajectory._last = iteration, np.array(row(last.tolist()))
        return trajectory

    def state(self) -> dict[str, Any]:
        """Return the state as JSON data."""
        last = None if self._last is None else _point(*self._last)
        return {"stride": self.stride, "points": list(self._points), "last": last}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the state."""
        self.stride = state["stride"]
        self._points = [(iteration, theta) for iteration, theta in state["points"]]
        last = state["last"]
        self._last = None if last is None else (last[0], np.array(last[1]))


def most_points(parameters: int) -> int:
    """Return the most points of a trajectory of this many parameters."""
    return max(FEWEST_POINTS, min(MOST_POINTS, MOST_NUMBERS // max(parameters, 1)))


def _point(iteration: int, theta: Array) -> Point:
    return iteration, [float(f"{value:.7g}") for value in theta.tolist()]
