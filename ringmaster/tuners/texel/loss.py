"""How wrong scores are about what came of positions: the squared error and the cross entropy
of win probabilities, with the derivatives that optimisers need.

A score q in centipawns stands for the probability σ(q) = 1/(1 + exp(−q/C)); Österlund's K is
400/(C·ln 10).  Sums are made of float64, and the sums of shards are added exactly
(`math.fsum`), so that a mean does not depend on the order in which the shards came.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]
LossKind = Literal["squared", "cross_entropy"]
#: Scores, targets and weights come as float32 from the files, else as float64.
Numbers = npt.NDArray[np.floating[Any]]

#: exp() of more overflows; σ is 0 or 1 long before.
_LARGEST = 700.0


class Sum(NamedTuple):
    """The loss of some positions: Σ weight·loss and Σ weight."""

    loss: float = 0.0
    weight: float = 0.0


class Loss(msgspec.Struct, frozen=True):
    """A loss of scores against targets, with the win-rate scale C in centipawns.

    Scores and targets are (n,), and so is what comes back, as float64; a NaN score gives NaN.
    Targets are probabilities, 0 and 1 included.
    """

    kind: LossKind
    scale: float

    def probability(self, scores: Numbers) -> Array:
        """Return σ(q)."""
        return sigmoid(np.asarray(scores, dtype=np.float64) / self.scale)

    def values(self, scores: Numbers, target: Numbers) -> Array:
        """Return (m − σ)², or −m·ln σ − (1 − m)·ln(1 − σ) in nats, of each position."""
        x = np.asarray(scores, dtype=np.float64) / self.scale
        if self.kind == "squared":
            return np.square(target - sigmoid(x))
        return cross_entropy(x, target)

    def slope(self, scores: Numbers, target: Numbers) -> Array:
        """Return ∂loss/∂q, per centipawn."""
        x = np.asarray(scores, dtype=np.float64) / self.scale
        off = sigmoid(x) - target
        if self.kind == "squared":
            return 2 * off * steepness(x) / self.scale
        return off / self.scale

    def curvature(self, scores: Numbers) -> Array:
        """Return what Gauss and Newton take for ∂²loss/∂q²: 2·(∂σ/∂q)² of the squared error;
        of the cross entropy σ·(1 − σ)/C², which is exact.  Never negative."""
        x = np.asarray(scores, dtype=np.float64) / self.scale
        steep = steepness(x)
        if self.kind == "squared":
            return 2 * np.square(steep / self.scale)
        return steep / self.scale**2

    def total(self, scores: Numbers, target: Numbers, weight: Numbers) -> Sum:
        """Return the loss of some positions; those of weight 0 may have no score or target."""
        counts = np.asarray(weight) > 0
        if not counts.all():
            scores, target, weight = scores[counts], target[counts], weight[counts]
        wide = np.asarray(weight, dtype=np.float64)
        return Sum(float((wide * self.values(scores, target)).sum()), float(wide.sum()))


def mean(sums: Iterable[Sum]) -> float | None:
    """Return the mean loss of the positions that the sums are of, whatever their order; None
    where nothing has any weight."""
    sums = list(sums)
    weight = math.fsum(each.weight for each in sums)
    return math.fsum(each.loss for each in sums) / weight if weight > 0 else None


def sigmoid(x: Array) -> Array:
    """Return 1/(1 + exp(−x)), exact to rounding at both ends."""
    return np.asarray(1 / (1 + np.exp(np.clip(-x, -_LARGEST, _LARGEST))))


def steepness(x: Array) -> Array:
    """Return σ·(1 − σ), exact to rounding also where σ is nearly 1."""
    e = np.exp(-np.minimum(np.abs(x), _LARGEST))
    return np.asarray(e / np.square(1 + e))


def cross_entropy(x: Array, target: Numbers) -> Array:
    """Return −m·ln σ(x) − (1 − m)·ln(1 − σ(x)), nats; both parts are sums of what is not
    negative, so nothing cancels."""
    tail = np.log1p(np.exp(-np.minimum(np.abs(x), _LARGEST)))
    return np.asarray(tail + target * np.maximum(-x, 0.0) + (1 - target) * np.maximum(x, 0.0))


def entropy(probability: Numbers) -> Array:
    """Return −p·ln p − (1 − p)·ln(1 − p), nats: the least that a cross entropy against p can
    be; 0 at 0 and 1."""
    p = np.asarray(probability, dtype=np.float64)
    return _surprise(p) + _surprise(1 - p)


def _surprise(p: Array) -> Array:
    positive = p > 0
    return np.where(positive, -p * np.log(np.where(positive, p, 1.0)), 0.0)
