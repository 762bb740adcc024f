"""Flags of odd values, and parameters that the positions cannot tell apart."""

from __future__ import annotations

import numpy as np

from ringmaster.tuners.space import Array, Space

#: A value below this share of its start has collapsed.
TINY_SHARE = 0.05
#: Largest variance inflation factor of a parameter that is distinguishable from the others.
LARGEST_INFLATION = 20.0

NO_SIGNAL = "no signal"
COLLAPSED = "collapsed to 0"
#: A parameter moved, but its interval contains the start, or its whole range.
ALONE, UNRESOLVED = "alone within the noise", "moved without a signal"


def value_flags(space: Space, i: int, value: float) -> list[str]:
    """Return flags of a parameter's value: on a bound, collapsed to nearly 0."""
    start, low, high = _start_and_bounds(space, i)
    words = []
    if value <= low < start:
        words.append("at its lower bound")
    if value >= high > start:
        words.append("at its upper bound")
    if start and value == 0:
        words.append(COLLAPSED)
    elif start and abs(value) <= TINY_SHARE * abs(start):
        words.append(f"collapsed to {abs(value / start):.0%} of its start")
    return words


def noise_flags(space: Space, i: int, value: float, low: float, high: float) -> list[str]:
    """Return a flag if a parameter's 95 % interval is its whole range, or has its start inside.

    An interval holds for one parameter alone; several flagged parameters may still have moved for
    a reason together.
    """
    start, least, most = _start_and_bounds(space, i)
    moved = value != start
    if low <= least and high >= most:
        return [UNRESOLVED if moved else NO_SIGNAL]
    return [ALONE] if moved and low <= start <= high else []


def _start_and_bounds(space: Space, i: int) -> tuple[float, float, float]:
    ends = (space.values(a) for a in (space.start, space.minimum, space.maximum))
    start, low, high = (float(values[i]) for values in ends)
    return start, low, high


def collinear(curvature: Array) -> dict[int, int]:
    """Return parameters that are not distinguishable from others, with the most similar one.

    curvature  mean ∂²loss/∂θ², (k, k)

    Their variance inflation factor is above LARGEST_INFLATION; the most similar parameter has the
    largest partial correlation.
    """
    size = np.sqrt(np.diag(curvature))
    known = np.flatnonzero(size > 0)
    if len(known) < 2:
        return {}
    unit = size[known]
    correlation = curvature[np.ix_(known, known)] / np.outer(unit, unit)
    # keeps the matrix of equal columns invertible
    inverse = np.linalg.inv(correlation + 1e-9 * np.eye(len(known)))
    inflation = np.diag(inverse)
    partial = np.abs(inverse) / np.sqrt(np.outer(inflation, inflation))
    np.fill_diagonal(partial, 0.0)
    return {
        int(known[i]): int(known[int(np.argmax(partial[i]))])
        for i in np.flatnonzero(inflation > LARGEST_INFLATION)
    }
