"""Where the penalised loss of a feature model is least: L-BFGS-B or Adam, down a path of
strengths of the ridge, then among what can be played; and how sure the result is.

L-BFGS-B is SciPy's (Byrd, Lu, Nocedal & Zhu, "A limited memory algorithm for bound
constrained optimization", 1995).  Adam is Kingma & Ba's ("Adam: a method for stochastic
optimization", 2015, algorithm 1), put back into the bounds after each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ringmaster.model.randomness import TEXEL_LINEAR_STREAM, word_array
from ringmaster.tuners.spsa.space import Space
from ringmaster.tuners.texel.bounded import whole_in_box
from ringmaster.tuners.texel.linear_model import DENSE_BLOCK, FeatureModel
from ringmaster.tuners.texel.linearised import whole_bounds
from ringmaster.tuners.texel.loss import Array, Loss
from ringmaster.tuners.texel.ridge import Penalty
from ringmaster.tuners.texel.sandwich import ClusterSums, deviations

Method = Literal["lbfgs", "adam"]
METHODS: tuple[Method, ...] = ("lbfgs", "adam")

#: Iterations of L-BFGS at most, and the pairs of vectors that it remembers.
_ITERATIONS, _MEMORY = 500, 20
#: It ends at a slope (per standard deviation of a weight's own scores) or a relative fall of
#: the loss below these; scores are float32, so less cannot be seen.
_SLOPE, _FALL = 1e-8, 1e-11
#: Decay rates of Adam's moments, and what keeps its division from 0 (Kingma & Ba's values).
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8
#: Adam's first step as a share of a parameter's range; it falls to a hundredth by a cosine.
LEARNING_RATE, _LAST_RATE = 0.01, 0.01
#: Weaker strengths in a row that make the validation error worse, before the path ends.
_WORSE = 3
#: Multiplications that the second derivatives may take, ten to twenty seconds; beyond, they are
#: made of a share of the games.
_WORK = 1e11
#: Odd, so that a game's number times this, mod 2³², is spread evenly (Knuth, volume 3, 6.4).
_SPREAD = np.uint32(2654435769)

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Point:
    """The least point for one strength: θ (P,), not rounded; errors by the model, without
    the penalty, None where nothing is held out; gradients (full ones) that it took."""

    strength: float
    theta: Array
    train: float
    validation: float | None
    gradients: float


@dataclass(frozen=True, eq=False)
class Curvature:
    """Second derivatives at a point.

    matrix      mean ∂²loss/∂θ² over training, (P, P)
    deviations  standard errors of the parameters, (P,), by games
    share       of the games that it was made of
    """

    matrix: Array
    deviations: Array
    share: float


@dataclass(eq=False)
class Fitter:
    """Fits a feature model.

    epochs         of Adam at most; it ends earlier when `patience` in a row lower no error
    learning_rate  of Adam, in ranges of the parameters
    batch          positions that Adam takes a step for
    """

    model: FeatureModel
    space: Space
    loss: Loss
    method: Method = "lbfgs"
    epochs: int = 40
    learning_rate: float = LEARNING_RATE
    batch: int = 16384
    patience: int = 5
    seed: int = 0

    def path(self, strengths: list[float], say: Say) -> list[Point]:
        """Return the least points for strengths, the strongest first: each search begins
        where the last one ended.  Where the validation error has risen for some in a row, the
        rest is left out."""
        points: list[Point] = []
        at = self.space.start
        for strength in sorted(strengths, reverse=True):
            search = self._lbfgs if self.method == "lbfgs" else self._adam
            at, gradients = search(Penalty(self.space, strength), at)
            points.append(self._point(strength, at, gradients))
            say(f"ridge {strength:g}: {_errors(points[-1])}")
            held = [p.validation for p in points if p.validation is not None]
            if len(held) > _WORSE and min(held[-_WORSE:]) > min(held[:-_WORSE]):
                break
        return points

    def _point(self, strength: float, theta: Array, gradients: float) -> Point:
        held = self.model.error(theta, self.loss, held=True) if self.model.held else None
        return Point(strength, theta, self.model.error(theta, self.loss), held, gradients)

    def _lbfgs(self, penalty: Penalty, at: Array) -> tuple[Array, float]:
        from scipy.optimize import minimize

        # lengths along which the loss bends alike
        bend = self.model.diagonal(at, self.loss) + 2 * penalty.strength / _squares(self.space)
        wide = np.where(self.space.width > 0, self.space.width, 1.0)
        unit = np.where(bend > 0, 1 / np.sqrt(np.where(bend > 0, bend, 1.0)), wide)
        unit = np.minimum(unit, 100 * wide)

        def told(u: Array) -> tuple[float, Array]:
            theta = self.space.clip(u * unit)
            value, slope = self.model.gradient(theta, self.loss)
            return value + penalty(theta), (slope + penalty.slope(theta)) * unit

        ends = list(zip(self.space.minimum / unit, self.space.maximum / unit, strict=True))
        found = minimize(
            told,
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
        return self.space.clip(found.x * unit), float(found.nfev)

    def _adam(self, penalty: Penalty, at: Array) -> tuple[Array, float]:
        first, stop = self.model.span(False)
        # two blocks at least for each step, so that two threads have work
        block = max(1024, self.batch // max(self.model.threads, 1))
        starts = np.arange(first, stop, self.batch)
        wide = np.where(self.space.width > 0, self.space.width, 1.0)
        u, mean, square = at / wide, np.zeros(len(at)), np.zeros(len(at))
        best, smallest, stale, step, epoch = at, math.inf, 0, 0, 0
        for epoch in range(1, self.epochs + 1):
            order = np.argsort(word_array(self.seed, TEXEL_LINEAR_STREAM, epoch, len(starts)))
            share = (epoch - 1) / max(self.epochs - 1, 1)
            fall = _LAST_RATE + (1 - _LAST_RATE) * (1 + math.cos(math.pi * share)) / 2
            for begin in starts[order]:
                span = (int(begin), min(int(begin) + self.batch, stop))
                _, slope = self.model.gradient(u * wide, self.loss, span, block)
                slope = (slope + penalty.slope(u * wide)) * wide
                step += 1
                mean = _BETA1 * mean + (1 - _BETA1) * slope
                square = _BETA2 * square + (1 - _BETA2) * slope**2
                size = np.sqrt(square / (1 - _BETA2**step)) + _EPSILON
                u = u - fall * self.learning_rate * (mean / (1 - _BETA1**step)) / size
                u = self.space.clip(u * wide) / wide
            error = self.model.error(u * wide, self.loss, held=self.model.held)
            if not self.model.held:
                error += penalty(u * wide)
            if error < smallest:
                best, smallest, stale = self.space.clip(u * wide), error, 0
            else:
                stale += 1
                if stale >= self.patience:
                    break
        return best, float(epoch)

    def curvature(self, theta: Array, games: npt.NDArray[np.uint32]) -> Curvature:
        """Return the second derivatives at θ, with the standard errors that come of them.

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
        for bent, pulls, of, weight in model.map_blocks(part, *model.span(False), DENSE_BLOCK):
            matrix += bent
            clusters.add(pulls, of)
            total += weight
        total = total or 1.0
        # an estimate from a share of the games errs as all of them do: by 1/√(games)
        errors = deviations(matrix / total, clusters.meat(), total) * math.sqrt(
            total / (model.weights[0] or 1.0)
        )
        return Curvature(matrix / total, errors, share)

    def playable(self, point: Point, curvature: Array) -> Array:
        """Return the values near to a least point that can be played: whole where they must
        be, within the bounds; by the quadratic about it or simply rounded, whichever has the
        smaller penalised loss.

        curvature  mean ∂²loss/∂θ², (P, P)
        """
        space, penalty = self.space, Penalty(self.space, point.strength)
        low, high = whole_bounds(space)
        plain = np.clip(np.where(space.integer, np.rint(point.theta), point.theta), low, high)
        if not space.some_integer:
            return plain
        A = curvature + np.diag(2 * point.strength / _squares(space))
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


def _squares(space: Space) -> Array:
    return np.square(np.where(space.width > 0, space.width, 1.0))


def _errors(point: Point) -> str:
    held = "" if point.validation is None else f", validation {point.validation:.7f}"
    return f"training {point.train:.7f}{held}"
