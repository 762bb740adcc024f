"""Whether an engine's scores are the sum of counts and weights that its features say."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from ringmaster.model.randomness import TEXEL_LINEAR_STREAM, words
from ringmaster.tuners.spsa.space import Space
from ringmaster.tuners.texel.linear_model import FeatureModel
from ringmaster.tuners.texel.linearised import whole_bounds
from ringmaster.tuners.texel.loss import Array, Floats

#: A change of all weights is to move the scores by so many centipawns (standard deviation):
#: much more than their rounding, and little beside a piece.
MOVED = 50.0
#: The part of a parameter's range that it is moved by at most.
_LARGEST_MOVE = 0.25
#: Positions that are looked at for how far to move.
_LOOKED_AT = 20_000
#: Less than this of the predicted changes cannot be told from rounding, centipawns.
_VISIBLE = 1.0
#: The model is refused when predicted and real changes agree less than so: their
#: correlation, and the real change for a predicted one.
LEAST_CORRELATION, SLOPES = 0.9, (0.8, 1.25)
#: What is used, but noted, below this correlation.
_GOOD = 0.98
_SIDES = "counts are to be White's (sente's) less the other side's"


class Agreement(msgspec.Struct, frozen=True):
    """Predicted against real numbers, in centipawns.

    correlation  NaN where one of them does not vary
    slope        real change for a predicted change of 1, by least squares
    largest      largest difference of the two
    spread       standard deviation of the predicted ones
    unsigned     correlation of the absolute values
    count        positions
    """

    correlation: float
    slope: float
    largest: float
    spread: float
    unsigned: float
    count: int

    @classmethod
    def of(cls, predicted: Floats, real: Floats) -> Agreement:
        """Return that of positions, (n,) each; those with a NaN do not count."""
        known = ~(np.isnan(predicted) | np.isnan(real))
        x, y = predicted[known].astype(np.float64), real[known].astype(np.float64)
        if not len(x):
            return cls(math.nan, math.nan, math.nan, math.nan, math.nan, 0)
        spread = float(x.std())
        slope = float(((x - x.mean()) * (y - y.mean())).mean()) / spread**2 if spread else math.nan
        return cls(
            _correlation(x, y),
            slope,
            float(np.abs(y - x).max()),
            spread,
            _correlation(np.abs(x), np.abs(y)),
            len(x),
        )

    @property
    def numbers(self) -> str:
        """What was found, in one line."""
        return (
            f"correlation {self.correlation:.4f}, slope {self.slope:.3f}, largest difference "
            f"{self.largest:.0f} cp over {self.count:,} positions"
        )

    @property
    def problem(self) -> str:
        """Why the model cannot be used, "" where it can."""
        low, high = SLOPES
        if not self.count:
            return "no position has a score of both passes"
        if not self.spread > _VISIBLE:
            return (
                "the features hardly occur: a large change of all weights changes the model's "
                f"scores by {self.spread:.2f} cp; look at whether they are of these positions"
            )
        if self.correlation >= LEAST_CORRELATION and low <= self.slope <= high:
            return ""
        found = f"the engine's scores do not change as its features say ({self.numbers})"
        if self.correlation <= -LEAST_CORRELATION:
            return f"{found}: all signs are turned; {_SIDES}"
        if self.correlation < LEAST_CORRELATION <= self.unsigned:
            return f"{found}: the signs of some differ; {_SIDES}, not the mover's less the other's"
        if self.correlation >= LEAST_CORRELATION:
            return f"{found}: a weight's unit is to be a centipawn a count; scale the counts"
        if not self.correlation > 0.1:
            return (
                f"{found}; look at whether the options reach the engine (`apply`), and at the "
                "names of the features"
            )
        return f"{found}; the evaluation is not linear in these weights, or some counts are wrong"

    @property
    def doubtful(self) -> bool:
        """Whether it can be used, but something is amiss."""
        return not self.problem and self.correlation < _GOOD


def _correlation(x: Array, y: Array) -> float:
    spread = float(x.std() * y.std())
    if not spread > 0:
        return math.nan
    return float(((x - x.mean()) * (y - y.mean())).mean()) / spread


def moved(model: FeatureModel, space: Space, seed: int) -> tuple[float, ...]:
    """Return values about the start, all parameters moved up or down at random, that move
    the scores as far as a check needs."""
    count = len(space)
    bits = np.array([word & 1 for word in words(seed, TEXEL_LINEAR_STREAM, 0, count)])
    low, high = whole_bounds(space)
    way = np.where(bits == 1, 1.0, -1.0)
    room = np.where(way > 0, high - space.start, space.start - low)
    # where a start is at its bound there is one way only
    way = np.where(room <= 0, -way, way)
    room = np.where(way > 0, high - space.start, space.start - low)
    step = way * np.minimum(_LARGEST_MOVE * space.width, room)
    stop = min(model.train, _LOOKED_AT)
    spread = float(model.linear(step, 0, stop).std())
    if spread > MOVED:
        step = step * MOVED / spread
    theta = space.start + step
    whole = np.where(np.abs(step) < 0.5, space.start + np.sign(step), np.rint(theta))
    return tuple(np.clip(np.where(space.integer, whole, theta), low, high).tolist())
