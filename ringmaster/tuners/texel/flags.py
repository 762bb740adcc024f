"""What is odd with tuned values, in words: what every method says of them alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ringmaster.tuners.spsa.space import Space
from ringmaster.tuners.texel.loss import Array

#: A value of less than this share of its start has collapsed.
TINY_SHARE = 0.05
#: A parameter is told apart from the others if these explain less than 1 − 1/this of it.
LARGEST_INFLATION = 20.0

NO_SIGNAL = "no signal"
COLLAPSED = "collapsed to 0"
#: Of a parameter that moved: the positions allow its start, too, or its whole range.
ALONE, UNTOLD = "alone within the noise", "moved without a signal"


def value_flags(space: Space, theta: Sequence[float] | Array) -> dict[int, tuple[str, ...]]:
    """Return what the values themselves show, by place: on a bound (that is not the start),
    collapsed to 0 or nearly."""
    found: dict[int, tuple[str, ...]] = {}
    for i, value in enumerate(theta):
        start, low, high = (float(a[i]) for a in (space.start, space.minimum, space.maximum))
        words = []
        if value <= low < start:
            words.append("at its lower bound")
        if value >= high > start:
            words.append("at its upper bound")
        if start and abs(value) <= TINY_SHARE * abs(start):
            if value == 0:
                words.append(COLLAPSED)
            else:
                words.append(f"collapsed to {abs(value / start):.0%} of its start")
        if words:
            found[i] = tuple(words)
    return found


def noise_flags(
    space: Space, theta: Sequence[float] | Array, ends: tuple[Array, Array]
) -> dict[int, str]:
    """Return what the 95 % intervals show, by place: whole ranges, and starts inside.

    An interval is of one parameter whatever the others are, so several that are flagged may
    still have moved for a reason together.
    """
    low, high = ends
    found = {}
    for i, value in enumerate(theta):
        moved = value != space.start[i]
        if low[i] <= space.minimum[i] and high[i] >= space.maximum[i]:
            found[i] = UNTOLD if moved else NO_SIGNAL
        elif moved and low[i] <= space.start[i] <= high[i]:
            found[i] = ALONE
    return found


def alike(curvature: Array) -> dict[int, int]:
    """Return the parameters that are not told apart from others, with the one that each is
    most like, by place.

    curvature  mean ∂²loss/∂θ², (k, k)

    They are those whose variance inflation factor is above LARGEST_INFLATION; the likest is
    that of the largest partial correlation.
    """
    size = np.sqrt(np.diag(curvature))
    told = np.flatnonzero(size > 0)
    if len(told) < 2:
        return {}
    unit = size[told]
    correlation = curvature[np.ix_(told, told)] / np.outer(unit, unit)
    # the smallest that can be resolved, so that equal columns have an inverse
    inverse = np.linalg.inv(correlation + 1e-9 * np.eye(len(told)))
    inflation = np.diag(inverse)
    partial = np.abs(inverse) / np.sqrt(np.outer(inflation, inflation))
    np.fill_diagonal(partial, 0.0)
    return {
        int(told[i]): int(told[int(np.argmax(partial[i]))])
        for i in np.flatnonzero(inflation > LARGEST_INFLATION)
    }
