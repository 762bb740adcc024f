"""A linear model of an engine's scores by differences.

Scores at θ are approximated by q₀ + Σ (θᵢ − θ₀ᵢ)·∂q/∂θᵢ; the derivatives are differences of
kept passes.  A difference changes one parameter of the base, far enough to move the scores well
above their rounding.  The difference of two scores that are rounded to one centipawn has a noise
of 0.4 centipawns; a movement of eight is known to 5 %.  Larger differences suffer from
nonlinearity.

No more than a block of positions is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from ringmaster.tuners.space import Space
from ringmaster.tuners.texel.linear_model import Agreement, LinearModel, Result, Rows
from ringmaster.tuners.texel.loss import Array
from ringmaster.tuners.texel.optimiser import Data, Point, Split


class DifferenceModel(LinearModel):
    """A linear model of an engine around a base.

    sides   parameters that move, each with a pass in which it differs from the origin
    origin  pass from which the derivatives were taken
    """

    def __init__(
        self,
        data: Data,
        space: Space,
        base: Point,
        sides: Sequence[tuple[int, Point]],
        origin: Point,
    ) -> None:
        self._data, self.space, self._base = data, space, base
        self.loss = data.loss
        self.theta, self.places = np.array(base.theta), np.array([i for i, _ in sides], np.intp)
        self._passes = [base.number, origin.number, *(point.number for _, point in sides)]
        low, high = space.whole_bounds
        moves = np.isin(np.arange(len(space)), self.places)
        self.low, self.high = np.where(moves, low, self.theta), np.where(moves, high, self.theta)
        self._distance = np.array([point.theta[i] - origin.theta[i] for i, point in sides])

    def map_rows(
        self, theta: Sequence[float] | Array, part: Split, function: Callable[[Rows], Result]
    ) -> Iterator[Result]:
        step = (np.asarray(theta) - self.theta)[self.places]
        for block in self._data.blocks(self._passes, part):
            counts = (block.weight > 0) & ~np.isnan(block.scores).any(axis=0)
            base, origin, *sides = block.scores[:, counts].astype(np.float64)
            slopes = (np.stack(sides) - origin) / self._distance[:, np.newaxis]
            labels = (block.target[counts], block.weight[counts], block.game[counts])
            yield function(Rows(base + step @ slopes, partial(np.transpose, slopes), *labels))

    def movement(self) -> Array:
        """Return the root mean square difference of scores of each column, (k,), centipawns."""
        squares, weight = np.zeros(len(self.places)), 0.0
        for rows in self.map_rows(self.theta, "train", lambda rows: rows):
            squares += rows.weight @ np.square(rows.slopes())
            weight += float(rows.weight.sum())
        return np.asarray(np.sqrt(squares / max(weight, 1e-300)) * np.abs(self._distance))

    def agreement(self, point: Point) -> Agreement:
        """Compare a pass with the model, over training."""
        slopes = (np.array(point.theta) - self.theta)[self.places] / self._distance
        predicted, real = [np.empty(0)], [np.empty(0)]
        for block in self._data.blocks([point.number, *self._passes], "train"):
            rows = block.scores[:, block.weight > 0].astype(np.float64)
            scores, base, origin, *sides = rows
            predicted.append(slopes @ (np.stack(sides) - origin))
            real.append(scores - base)
        return Agreement.of(np.concatenate(predicted), np.concatenate(real))
