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
    """Blocks of `length` iterates, each (Σθ, Σ step²) of shape (n,), or (…, n) for many tunes.

    After `rearranged` the last half of a parameter may begin later than that of others.
    """

    def __init__(self, start: Array) -> None:
        self._since = np.zeros(start.shape)
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
    def _total(self) -> int:
        return len(self._blocks) * self.length + self._in_open

    def _half(self) -> tuple[Array, Array, Array]:
        """Return Σθ, Σstep² and the number of iterates of the last half, (…, n) each."""
        total = self._total
        first_block = (self._since + (total - self._since) // 2) // self.length
        blocks = [*self._blocks, self._open]
        used = np.arange(len(blocks)).reshape(-1, *[1] * first_block.ndim) >= first_block
        return (
            np.sum([b[0] for b in blocks], axis=0, where=used),
            np.sum([b[1] for b in blocks], axis=0, where=used),
            total - first_block * self.length,
        )

    def mean(self) -> Array:
        """Return the mean of the last half of the iterates, (n,), or the start without any."""
        theta, _, count = self._half()
        return np.where(count > 0, theta / np.maximum(count, 1), self._last)

    def rearranged(self, places: Sequence[int | None], theta: Array) -> Averages:
        """Return the averages of a continued tune with other parameters.

        places  index of each new parameter here, None to restart its averages
        theta   the present values, (n,)
        """
        averages = Averages(np.array(theta, dtype=np.float64))
        averages.length, averages._in_open = self.length, self._in_open
        continued = np.array([place is not None for place in places], dtype=np.bool_)
        columns = [place or 0 for place in places]
        averages._since = np.where(continued, self._since[columns], self._total)

        def block(sums: tuple[Array, Array], length: int) -> tuple[Array, Array]:
            # a new parameter stood at its first value before
            return (
                np.where(continued, sums[0][columns], length * averages._last),
                np.where(continued, sums[1][columns], 0.0),
            )

        averages._blocks = [block(sums, self.length) for sums in self._blocks]
        averages._open = block(self._open, self._in_open)
        return averages

    def drift(self) -> Drift:
        """Compare the last iterate with the mean of the last half.

        After M independent steps of variance v, the last iterate differs from their mean
        by a variance of v·M/3; by less near an optimum, by more on the way to one.
        """
        theta, squares, count = self._half()
        if not np.any(count >= 2):
            return Drift(np.zeros(theta.shape), False)
        variance = squares / 3
        moved = (variance > 0) & (count >= 2)
        z = (self._last - theta / np.maximum(count, 1)) / np.sqrt(np.where(moved, variance, 1.0))
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
            **({"since": self._since.tolist()} if self._since.any() else {}),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace the state."""
        self.length = state["length"]
        self._blocks = [(np.array(a), np.array(b)) for a, b in state["blocks"]]
        first, second = state["open"]
        self._open = np.array(first), np.array(second)
        self._in_open = state["in_open"]
        self._last = np.array(state["last"])
        self._since = np.array(state.get("since", [0.0] * len(self._last)))


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

    def column(self, i: int) -> list[tuple[int, float]]:
        """Return the course of one parameter."""
        return [(iteration, theta[i]) for iteration, theta in self.points()]

    def rearranged(
        self, places: Sequence[int | None], courses: Sequence[Sequence[tuple[int, float]]]
    ) -> ThinnedTrajectory:
        """Return the trajectory of a continued tune with other parameters.

        places   index of each new parameter here, or None
        courses  earlier points of each new parameter, in order; it keeps its first value
                 before them, and its last value after them
        """
        trajectory = ThinnedTrajectory()
        trajectory.stride = self.stride
        points = []
        by_iteration = [dict(course) for course in courses]
        values = [course[0][1] if course else 0.0 for course in courses]
        for iteration, theta in self.points():
            values = [by_iteration[i].get(iteration, value) for i, value in enumerate(values)]
            points.append(
                (iteration, [values[i] if p is None else theta[p] for i, p in enumerate(places)])
            )
        if self._last is not None:
            iteration, values = points.pop()
            trajectory._last = iteration, np.array(values)
        trajectory._points = points
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
