"""The minimum of the penalised loss of a feature model, by L-BFGS-B.

It is computed along a path of strengths of the ridge, then among playable values, with standard
errors.  L-BFGS-B is SciPy's (Byrd, Lu, Nocedal & Zhu, "A limited memory algorithm for bound
constrained optimization", 1995).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.linear_model import DENSE_BLOCK, FeatureModel
from ringmaster.tuners.texel.linearised import whole_in_box
from ringmaster.tuners.texel.loss import Array, Loss
from ringmaster.tuners.texel.optimiser import Penalty, ridge_scale
from ringmaster.tuners.texel.uncertainty import ClusterSums, standard_errors

#: Most iterations of L-BFGS, and the number of vector pairs in its memory.
_ITERATIONS, _MEMORY = 500, 20
#: L-BFGS ends at a slope (per standard deviation of a weight's own scores) or a relative decrease
#: of the loss below these; scores are float32, so smaller ones are not visible.
_SLOPE, _FALL = 1e-8, 1e-11
#: Weaker strengths in a row with a larger validation error that end the path.
_WORSE = 3
#: Most multiplications for second derivatives, 10 to 20 seconds; beyond, a share of the games is
#: used.
_WORK = 1e11
#: Multiplier that spreads numbers of games evenly mod 2³² (Knuth, volume 3, 6.4).
_SPREAD = np.uint32(2654435769)

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Minimum:
    """The minimum for one strength.

    theta              not rounded, (P,)
    train, validation  errors by the model, without the penalty
    gradients          full gradients used
    """

    strength: float
    theta: Array
    train: float
    validation: float | None
    gradients: float


@dataclass(frozen=True, eq=False)
class Curvature:
    """Second derivatives at a point.

    matrix      mean ∂²loss/∂θ² over training, (P, P)
    deviations  standard errors of the parameters by games, (P,)
    share       share of the games used
    """

    matrix: Array
    deviations: Array
    share: float


@dataclass(eq=False)
class Fitter:
    """Fits a feature model."""

    model: FeatureModel
    space: Space
    loss: Loss

    def path(self, strengths: Sequence[float], say: Say) -> list[Minimum]:
        """Return the minima for some strengths, the strongest first.

        Each search begins at the last minimum.  The path ends early if the validation error
        rises for some strengths in a row.
        """
        points: list[Minimum] = []
        at = self.space.start
        for strength in sorted(strengths, reverse=True):
            at, gradients = self._minimum(Penalty(self.space, strength), at)
            points.append(self._point(strength, at, gradients))
            say(f"ridge {strength:g}: {_errors(points[-1])}")
            held = [p.validation for p in points if p.validation is not None]
            if len(held) > _WORSE and min(held[-_WORSE:]) > min(held[:-_WORSE]):
                break
        return points

    def _point(self, strength: float, theta: Array, gradients: float) -> Minimum:
        held = self.model.error(theta, self.loss, held=True) if self.model.held else None
        return Minimum(strength, theta, self.model.error(theta, self.loss), held, gradients)

    def _minimum(self, penalty: Penalty, at: Array) -> tuple[Array, float]:
        from scipy.optimize import minimize

        # units of equal curvature
        bend = self.model.diagonal(at, self.loss) + 2 * penalty.strength / np.square(
            ridge_scale(self.space)
        )
        wide = ridge_scale(self.space)
        unit = np.where(bend > 0, 1 / np.sqrt(np.where(bend > 0, bend, 1.0)), wide)
        unit = np.minimum(unit, 100 * wide)

        def value_and_slope(u: Array) -> tuple[float, Array]:
            theta = self.space.clip(u * unit)
            value, slope = self.model.gradient(theta, self.loss)
            return value + penalty(theta), (slope + penalty.slope(theta)) * unit

        ends = list(zip(self.space.minimum / unit, self.space.maximum / unit, strict=True))
        result = minimize(
            value_and_slope,
            at / unit,
            jac=True,
            method="L-BFGS-B",
            bounds=ends,
            options={
                "maxiter": _ITERATIONS,
                "maxfun": 2 * _ITERATIONS,
                "maxcor": _MEMORY,
                "ftol": _FALL,
                "gtol": _SLOPE,
            },
        )
        return self.space.clip(result.x * unit), float(result.nfev)

    def curvature(self, theta: Array, games: npt.NDArray[np.uint32]) -> Curvature:
        """Return the second derivatives at θ, and the standard errors.

        games  of all positions, (n,)
        """
        model = self.model
        count = len(theta)
        share = min(1.0, _WORK / max(model.train * count**2, 1))
        limit = np.uint32(min(int(share * 2**32), 2**32 - 1))
        matrix, clusters = np.zeros((count, count)), ClusterSums(count)
        weights = model.wiring.weights(theta, all_=False)

        def part(a: int, b: int) -> tuple[Array, Array, npt.NDArray[np.uint32], float]:
            wanted = model.weight[a:b] > 0
            if share < 1:
                wanted &= games[a:b] * _SPREAD <= limit
            rows = model.rows(a, b)
            q = model.of_rows(rows, a, b, *weights) + model.offset[a:b]
            slopes = model.jacobian(rows[wanted], a, b, wanted)
            q, weight = q[wanted], model.weight[a:b][wanted].astype(np.float64)
            bent = np.sqrt(weight * self.loss.curvature(q)).astype(np.float32)
            scaled = slopes * bent[:, np.newaxis]
            pull = weight * self.loss.slope(q, model.target[a:b][wanted])
            return scaled.T @ scaled, slopes * pull[:, np.newaxis], games[a:b][wanted], weight.sum()

        total = 0.0
        for bent, pulls, block_games, weight in model.map_blocks(
            part, *model.span(False), DENSE_BLOCK
        ):
            matrix += bent
            clusters.add(pulls, block_games)
            total += weight
        total = total or 1.0
        # the error of an estimate falls with 1/√(games)
        errors = standard_errors(matrix / total, clusters.meat(), total) * math.sqrt(
            total / (model.weights[0] or 1.0)
        )
        return Curvature(matrix / total, errors, share)

    def playable(self, point: Minimum, curvature: Array) -> Array:
        """Return playable values near a minimum: within the bounds, integers whole.

        They come from the quadratic around the minimum or from plain rounding, whichever has the
        smaller penalised loss.

        curvature  mean ∂²loss/∂θ², (P, P)
        """
        space, penalty = self.space, Penalty(self.space, point.strength)
        low, high = space.whole_bounds
        plain = np.clip(np.where(space.integer, np.rint(point.theta), point.theta), low, high)
        if not space.some_integer:
            return plain
        A = curvature + np.diag(2 * point.strength / np.square(ridge_scale(space)))
        _, slope = self.model.gradient(point.theta, self.loss)
        x = whole_in_box(
            A,
            slope + penalty.slope(point.theta),
            low - point.theta,
            high - point.theta,
            point.theta,
            space.integer,
            np.zeros(len(low)),
        )
        careful = np.clip(point.theta + x, low, high)
        careful = np.where(space.integer, np.rint(careful), careful)
        return min(
            (careful, plain), key=lambda theta: self.model.error(theta, self.loss) + penalty(theta)
        )


def _errors(point: Minimum) -> str:
    held = "" if point.validation is None else f", validation {point.validation:.7f}"
    return f"training {point.train:.7f}{held}"
