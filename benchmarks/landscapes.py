"""Families of landscapes that tuners are compared on: a space, a strength and a draw model.

The parameters range over [0, 100] unless a family says otherwise; u counts half ranges of 50
from the optimum.  Losses are in Elo.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringmaster.tuners.simulation import Draws, EloModel, FixedDraws, Shaped
from ringmaster.tuners.space import Array, Space

#: Half a range.
HALF = 50.0


@dataclass(frozen=True, eq=False)
class LossFunction(EloModel):
    """A loss given as a function of u, (…, n) → (…)."""

    optimum: Array
    function: Callable[[Array], Array]

    def loss(self, x: Array) -> Array:
        return self.function((x - self.optimum) / HALF)

    def at(self, optimum: Array) -> EloModel:
        return LossFunction(optimum, self.function)


@dataclass(frozen=True, eq=False)
class Landscape:
    """A problem for tuners.

    space  start and bounds
    elo    strength
    draws  of the games
    """

    space: Space
    elo: EloModel
    draws: Draws

    @property
    def optimum(self) -> Array:
        """Values of the strongest player, (n,); possibly outside the bounds."""
        return self.elo.optimum  # type: ignore[attr-defined]  # of each model here


def _space(start: Any, *, integer: bool = False) -> Space:
    start = np.asarray(start, dtype=np.float64)
    n = len(start)
    return Space(start, np.zeros(n), np.full(n, 2 * HALF), np.full(n, integer))


def _quadratic(e: Any, optimum: Any, start: Any, draws: float = 0.5) -> Landscape:
    e, optimum = np.asarray(e, dtype=np.float64), np.asarray(optimum, dtype=np.float64)
    return Landscape(_space(start), Shaped(optimum, e, np.full(len(e), HALF)), FixedDraws(draws))


def _rotation(n: int, seed: int) -> Array:
    q, r = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))
    return np.asarray(q * np.sign(np.diag(r)))


def _curvatures() -> Landscape:
    """Four parameters, curvatures 100:1."""
    return _quadratic(np.geomspace(0.5, 50, 4), [60, 35, 45, 58], [40, 55, 70, 45])


def _rotated() -> Landscape:
    """Eight parameters, curvatures 30:1 along random directions."""
    axes = _rotation(8, 8)
    matrix = axes.T @ np.diag(np.geomspace(1, 30, 8)) @ axes

    def loss(u: Array) -> Array:
        return np.einsum("...i,ij,...j->...", u, matrix, u)

    optimum = np.array([60.0, 40, 55, 45, 65, 35, 50, 58])
    start = np.array([45.0, 55, 40, 60, 48, 50, 65, 42])
    return Landscape(_space(start), LossFunction(optimum, loss), FixedDraws(0.5))


def _thirty() -> Landscape:
    """Thirty parameters, of which five matter."""
    e = np.zeros(30)
    e[[2, 9, 13, 20, 27]] = 5, 10, 15, 20, 30
    optimum = 50 + 20 * np.sin(np.arange(30.0) * 1.7)
    return _quadratic(e, optimum, np.full(30, 50.0))


def _distance() -> Landscape:
    """A loss that grows as the distance in five parameters."""

    def loss(u: Array) -> Array:
        weights = np.array([1.0, 2, 4, 8, 16])
        return 10 * np.sqrt((weights * np.square(u)).sum(axis=-1))

    optimum, start = np.array([65.0, 40, 58, 45, 60]), np.array([40.0, 60, 40, 65, 45])
    return Landscape(_space(start), LossFunction(optimum, loss), FixedDraws(0.5))


def _plateaus() -> Landscape:
    """Four integers of which only every fifth value changes the strength."""
    e = np.array([10.0, 20, 40, 80])

    def loss(u: Array) -> Array:
        return (e * np.square(np.round(u * HALF / 5) * 5 / HALF)).sum(axis=-1)

    optimum = np.array([30.0, 62, 45, 70])
    return Landscape(
        _space([55.0, 40, 65, 50], integer=True), LossFunction(optimum, loss), FixedDraws(0.5)
    )


def _drawish() -> Landscape:
    """Four parameters, four games of five drawn."""
    return _quadratic([5, 10, 20, 40], [60, 40, 45, 57], [40, 55, 62, 42], draws=0.8)


def _far() -> Landscape:
    """Four parameters that start at a tenth of the range, with an optimum at 0.9 of it."""
    return _quadratic([5, 10, 20, 40], np.full(4, 90.0), np.full(4, 10.0))


def _bound() -> Landscape:
    """Four parameters whose optimum is at a bound."""
    return _quadratic([5, 10, 20, 40], [0, 100, 0, 100], [30, 65, 45, 60])


def _beyond() -> Landscape:
    """Four parameters: the best value within the bounds is at a bound, with a slope."""
    limits = np.array([0.0, 100, 0, 100])
    outside = np.array([-25.0, 125, -25, 125])
    e = np.array([5.0, 10, 20, 40])
    least = float((e * np.square((limits - outside) / HALF)).sum())

    def loss(u: Array) -> Array:
        lost: Array = (e * np.square(u)).sum(axis=-1) - least
        return lost

    return Landscape(_space([30.0, 65, 45, 60]), LossFunction(outside, loss), FixedDraws(0.5))


def _lopsided() -> Landscape:
    """Four parameters, eight times as steep above the optimum."""
    e, n = np.array([4.0, 6, 8, 12]), 4
    optimum = np.array([55.0, 40, 60, 50])
    model = Shaped(optimum, e, np.full(n, HALF), "asymmetric", 8.0)
    return Landscape(_space([35.0, 55, 40, 65]), model, FixedDraws(0.5))


def _ridge() -> Landscape:
    """Two parameters, 100 times as steep across a diagonal as along it."""

    def loss(u: Array) -> Array:
        across, along = (u[..., 0] - u[..., 1]) ** 2 / 2, (u[..., 0] + u[..., 1]) ** 2 / 2
        return 400 * across + 4 * along

    optimum = np.array([65.0, 60])
    return Landscape(_space([25.0, 28]), LossFunction(optimum, loss), FixedDraws(0.5))


def _good() -> Landscape:
    """Six parameters that start at the optimum."""
    start = np.array([40.0, 60, 50, 45, 55, 35])
    return _quadratic([2, 4, 8, 12, 16, 24], start, start)


def _wide() -> Landscape:
    """Four parameters with a basin of 3 % of the range, outside of which the loss is flat."""
    optimum = np.array([52.0, 47, 51, 49])

    def loss(u: Array) -> Array:
        lost: Array = 350 * -np.expm1(-np.square(u / 0.06).sum(axis=-1) / 2)
        return lost

    # 96 Elo below the optimum
    start = optimum + 3.0 * np.array([0.5, -0.4, 0.4, 0.274])
    return Landscape(_space(start), LossFunction(optimum, loss), FixedDraws(0.5))


FAMILIES: Mapping[str, Callable[[], Landscape]] = {
    "curvatures": _curvatures,
    "rotated": _rotated,
    "thirty": _thirty,
    "distance": _distance,
    "plateaus": _plateaus,
    "drawish": _drawish,
    "far": _far,
    "bound": _bound,
    "beyond": _beyond,
    "lopsided": _lopsided,
    "ridge": _ridge,
    "good": _good,
    "wide": _wide,
}
