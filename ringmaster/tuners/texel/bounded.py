"""Quadratics within bounds: where ½·xᵀAx + bᵀx is least between two ends of each variable,
and where it is least among whole numbers, nearly.

The first is an active-set method (Stark & Parker, "Bounded-variable least-squares", 1995),
exact up to rounding.  Where A is singular, the step from the point begun at has the smallest
norm: what the quadratic says nothing of stays where it is.  The second is hard in general;
here variables are rounded one at a time, the others following, and then moved by 1, alone or
in pairs, for as long as that helps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ringmaster.tuners.texel.loss import Array

Flags = npt.NDArray[np.bool_]
#: Eigenvalues below this share of the largest count as 0.
SINGULAR = 1e-10
#: Slopes below this share of the largest that the quadratic can have count as 0.
_LEVEL = 1e-12


def least_in_box(A: Array, b: Array, low: Array, high: Array, at: Array | None = None) -> Array:
    """Return where ½·xᵀAx + bᵀx is least for low ≤ x ≤ high.

    A          (k, k), symmetric, no negative eigenvalues
    b, low, high  (k,)
    at         where to begin, clipped into the box; 0 by default
    """
    count = len(b)
    x = np.clip(np.zeros(count) if at is None else at, low, high)
    fixed = low >= high
    # a variable on an end is free to begin with if the slope leads inward
    slope = A @ x + b
    free = ~fixed & ~((x <= low) & (slope >= 0)) & ~((x >= high) & (slope <= 0))
    size = np.abs(A).sum(axis=1) * np.maximum(np.abs(high - low).min(initial=1.0), 1.0)
    level = _LEVEL * (np.abs(b) + size)
    # each round ends with a lower value than the last, so no set of free variables comes
    # twice; rounding is the only reason for an end to the count
    for _ in range(20 * count + 20):
        x, free = _descended(A, b, low, high, x, free)
        slope = A @ x + b
        inward = np.where(x <= low, -slope, np.where(x >= high, slope, 0.0)) - level
        inward[free | fixed] = 0.0
        if not count or inward.max() <= 0:
            return x
        free[int(np.argmax(inward))] = True
    return x


def _descended(
    A: Array, b: Array, low: Array, high: Array, x: Array, free: Flags
) -> tuple[Array, Flags]:
    """Return the least point over the free variables, of which those that come to an end of
    theirs on the way are free no more."""
    x, free = x.copy(), free.copy()
    while free.any():
        slope = (A @ x + b)[free]
        step = -_solved(A[np.ix_(free, free)], slope)
        target = x[free] + step
        room = np.where(step > 0, high[free], low[free])
        over = np.where(step > 0, target > room, target < room)
        if not over.any():
            x[free] = target
            break
        share = np.where(over, (room - x[free]) / np.where(over, step, 1.0), np.inf)
        first = share.min()
        moved = x[free] + max(first, 0.0) * step
        stopped = share <= first
        moved[stopped] = room[stopped]
        x[free] = np.clip(moved, low[free], high[free])
        free[np.flatnonzero(free)[stopped]] = False
    return x, free


def _solved(A: Array, b: Array) -> Array:
    """Return A⁻¹·b, the shortest of the best where A is singular."""
    try:
        pivots = np.square(np.diag(np.linalg.cholesky(A)))
        if pivots.min() > SINGULAR * pivots.max():
            return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(A)
    kept = values > SINGULAR * max(values.max(), 0.0)
    if not kept.any():
        return np.zeros(len(b))
    return np.asarray(vectors[:, kept] @ ((vectors[:, kept].T @ b) / values[kept]))


def value_of(A: Array, b: Array, x: Array) -> float:
    """Return ½·xᵀAx + bᵀx."""
    return float(x @ A @ x / 2 + b @ x)


def whole_in_box(
    A: Array, b: Array, low: Array, high: Array, offset: Array, whole: Flags, at: Array
) -> Array:
    """Return a point of the box, near to where the quadratic is least, at which
    offset + x is whole for the variables that must be.

    at  where it is least, (k,)
    The ends of those variables are whole, too, when offset is added.
    """
    rounded = np.where(whole, _rounded(at, offset, low, high), at)
    if not whole.any():
        return np.clip(at, low, high)
    starts = [rounded, _one_by_one(A, b, low, high, offset, whole, at)]
    ends = [_stepped(A, b, low, high, whole, start) for start in starts]
    return min(ends, key=lambda x: value_of(A, b, x))


def _rounded(x: Array, offset: Array, low: Array, high: Array) -> Array:
    return np.clip(np.rint(x + offset) - offset, low, high)


def _one_by_one(
    A: Array, b: Array, low: Array, high: Array, offset: Array, whole: Flags, at: Array
) -> Array:
    """Round the stiffest variables first; the others make up for it."""
    low, high, x = low.copy(), high.copy(), at
    for i in np.argsort(-np.diag(A), kind="stable"):
        if whole[i]:
            low[i] = high[i] = _rounded(x, offset, low, high)[i]
            x = x.copy()
            x[i] = low[i]
            x = least_in_box(A, b, low, high, x)
    return x


def _stepped(A: Array, b: Array, low: Array, high: Array, whole: Flags, x: Array) -> Array:
    """Move one or two whole variables by 1, the best move first, for as long as that helps."""
    x, count = x.copy(), len(x)
    # moves: each variable up, then each down
    sign = np.repeat([1.0, -1.0], count)
    variable = np.tile(np.arange(count), 2)
    stiff = sign[:, np.newaxis] * sign * A[np.ix_(variable, variable)]
    # two moves of one variable are none
    same = variable[:, np.newaxis] == variable
    for _ in range(10 * count + 10):
        slope = (A @ x + b)[variable] * sign
        alone = -slope - np.diag(stiff) / 2
        alone[~whole[variable]] = -np.inf
        moved = x[variable] + sign
        alone[(moved > high[variable] + 1e-9) | (moved < low[variable] - 1e-9)] = -np.inf
        gains = alone[:, np.newaxis] + alone - stiff
        gains[same] = -np.inf
        np.fill_diagonal(gains, alone)
        i, j = np.unravel_index(int(np.argmax(gains)), gains.shape)
        if gains[i, j] <= 1e-12 * (abs(value_of(A, b, x)) + 1e-12):
            break
        for move in {int(i), int(j)}:
            x[variable[move]] += sign[move]
    return x
