"""The minimum of a model's penalised loss within bounds, and playable values near it.

It is computed by SciPy's L-BFGS-B (Byrd, Lu, Nocedal & Zhu, "A limited memory algorithm for bound
constrained optimization", 1995) unless a class overrides `_minimum`.  The least point among whole
numbers is a heuristic on the quadratic around a minimum: variables are rounded one at a time while
the others adapt, then moved by 1, alone or in pairs, as long as this helps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.loss import Array
from ringmaster.tuners.texel.optimiser import Penalty, Theta
from ringmaster.tuners.texel.uncertainty import SINGULAR

Flags = npt.NDArray[np.bool_]


def _solved(A: Array, b: Array) -> Array:
    """Return A⁻¹·b, the shortest least-squares solution if A is singular."""
    try:
        pivots = np.square(np.diag(np.linalg.cholesky(A)))
        if pivots.min() > SINGULAR * pivots.max():
            return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        pass
    return np.asarray(np.linalg.pinv(A, SINGULAR, hermitian=True) @ b)


def value_of(A: Array, b: Array, x: Array) -> float:
    """Return ½·xᵀAx + bᵀx."""
    return float(x @ A @ x / 2 + b @ x)


def whole_in_box(A: Array, b: Array, low: Array, high: Array, whole: Flags, at: Array) -> Array:
    """Return a point of the box near the minimum, with whole numbers where `whole` is true.

    at  the minimum, (k,)
    The bounds of whole variables must be whole.
    """
    starts = [np.where(whole, np.rint(at), at), _one_by_one(A, b, low, high, whole, at)]
    ends = [_stepped(A, b, low, high, whole, np.clip(start, low, high)) for start in starts]
    return min(ends, key=lambda x: value_of(A, b, x))


def _one_by_one(A: Array, b: Array, low: Array, high: Array, whole: Flags, at: Array) -> Array:
    """Round the stiffest variables first; the others adapt."""
    x, free = at.copy(), low < high
    for i in np.argsort(-np.diag(A), kind="stable"):
        if not whole[i]:
            continue
        x[i], free[i] = np.rint(x[i]), False
        slope = A @ x + b
        moves = free & ~((x <= low) & (slope >= 0)) & ~((x >= high) & (slope <= 0))
        if moves.any():
            x[moves] -= _solved(A[np.ix_(moves, moves)], slope[moves])
            x = np.clip(x, low, high)
    return x


def _stepped(A: Array, b: Array, low: Array, high: Array, whole: Flags, x: Array) -> Array:
    """Move one or two whole variables by 1, the best move first, as long as this helps."""
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


#: Most iterations of L-BFGS, and the number of vector pairs in its memory.
_ITERATIONS, _MEMORY = 500, 20
#: L-BFGS ends at a slope (per standard deviation of a weight's own scores) or a relative decrease
#: of the loss below these; scores are float32, so smaller ones are not visible.
_SLOPE, _FALL = 1e-8, 1e-11
#: Weaker strengths in a row with a larger validation error that end the path.
_WORSE = 3


class Model(Protocol):
    """A model of the scores over labelled positions; θ is (n,)."""

    def errors(self, theta: Array) -> tuple[float, float | None]:
        """Return the mean losses over training and validation, None without positions."""
        ...

    def gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the mean loss over training, and its derivative by θ, (n,)."""
        ...

    def diagonal(self, theta: Array) -> Array:
        """Return the diagonal of the Gauss-Newton curvature of the mean loss, (n,)."""
        ...


class Minimum(NamedTuple):
    """The minimum for one penalty.

    theta              not rounded, (n,)
    train, validation  errors by the model, without the penalty
    gradients          full gradients used
    """

    penalty: Penalty
    theta: Array
    train: float
    validation: float | None
    gradients: float

    @property
    def strength(self) -> float:
        """The strength of the ridge."""
        return self.penalty.strength


class Fitter(msgspec.Struct, frozen=True):
    """Fits a model.

    low, high  bounds of θ, (n,) each
    """

    model: Model
    space: Space
    low: Array
    high: Array

    def path(
        self, strengths: Sequence[float], at: Array, *, damping: float = 0.0, whole: bool = False
    ) -> list[Minimum]:
        """Return the minima for some strengths of the ridge, the strongest first.

        Each search begins at the last minimum, the first one at θ.

        damping  Levenberg's: adds this multiple of the curvature at θ along each parameter
        whole    whether the path continues if the validation error rises for some strengths
        """
        points: list[Minimum] = []
        stiff = damping * self.model.diagonal(at) if damping else 0.0
        begin = at
        for strength in sorted(strengths, reverse=True):
            penalty = Penalty(self.space, strength, stiff, begin)
            at, gradients = self._minimum(penalty, at)
            points.append(Minimum(penalty, at, *self.model.errors(at), gradients))
            held = [p.validation for p in points if p.validation is not None]
            is_worse = len(held) > _WORSE and min(held[-_WORSE:]) > min(held[:-_WORSE])
            if is_worse and not whole:
                break
        return points

    def _minimum(self, penalty: Penalty, at: Array) -> tuple[Array, float]:
        from scipy.optimize import minimize

        # units of equal curvature
        bend, wide = self.model.diagonal(at) + penalty.curvature, self.space.scale
        unit = np.where(bend > 0, 1 / np.sqrt(np.where(bend > 0, bend, 1.0)), wide)
        unit = np.minimum(unit, 100 * wide)

        def value_and_slope(u: Array) -> tuple[float, Array]:
            theta = np.clip(u * unit, self.low, self.high)
            value, slope = self.model.gradient(theta)
            return value + penalty(theta), (slope + penalty.slope(theta)) * unit

        result = minimize(
            value_and_slope,
            at / unit,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(self.low / unit, self.high / unit, strict=True)),
            options={
                "maxiter": _ITERATIONS,
                "maxfun": 2 * _ITERATIONS,
                "maxcor": _MEMORY,
                "ftol": _FALL,
                "gtol": _SLOPE,
            },
        )
        return np.clip(result.x * unit, self.low, self.high), float(result.nfev)

    def playable(self, point: Minimum, curvature: Array) -> Theta:
        """Return playable values near a minimum: within the bounds, integers whole.

        They come from the quadratic around the minimum or from plain rounding, whichever has the
        smaller penalised loss.

        curvature  mean ∂²loss/∂θ², (n, n)
        """
        space, penalty, theta = self.space, point.penalty, point.theta
        plain = space.played(theta)
        if not space.some_integer:
            return plain
        A = curvature + np.diag(penalty.curvature)
        slope = self.model.gradient(theta)[1] + penalty.slope(theta)
        careful = whole_in_box(A, slope - A @ theta, self.low, self.high, space.integer, theta)
        return min(
            (space.played(careful), plain),
            key=lambda each: self.model.errors(np.array(each))[0] + penalty(each),
        )


def best_of(points: Sequence[Minimum], errors: Sequence[float] | None = None) -> Minimum:
    """Return the minimum of the smallest error, of equal ones the strongest.

    errors  by default those of validation, or of training without validation
    """
    if errors is None:
        errors = [p.train if p.validation is None else p.validation for p in points]
    return min(zip(errors, points, strict=True), key=lambda pair: (pair[0], -pair[1].strength))[1]
