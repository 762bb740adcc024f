"""Families of landscapes that tuners are compared on: a space, a strength and a draw model.

The parameters range over [0, 100] unless a family says otherwise; u counts half ranges of 50
from the optimum.  Losses are in Elo.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ringmaster.model.parameters import Scale, TunedParameter
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
        return self.elo.optimum


def _space(
    start: Any,
    *,
    integer: bool = False,
    low: float = 0.0,
    high: float = 2 * HALF,
    scale: Scale = "linear",
) -> Space:
    return Space.of(
        [
            TunedParameter(f"x{i}", value, low, high, integer=integer, scale=scale)
            for i, value in enumerate(np.asarray(start, dtype=np.float64).tolist())
        ]
    )


def _shaped(e: Any, optimum: Any, start: Any, shape: str, constant: float = 0.0) -> Landscape:
    e, optimum = np.asarray(e, dtype=np.float64), np.asarray(optimum, dtype=np.float64)
    model = Shaped(optimum, e, np.full(len(e), HALF), shape, constant)
    return Landscape(_space(start), model, FixedDraws(0.5))


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
    return _shaped([4, 6, 8, 12], [55, 40, 60, 50], [35, 55, 40, 65], "lopsided", 8.0)


def _ridge() -> Landscape:
    """Two parameters, 100 times as steep across a diagonal as along it."""
    return _shaped([202, 202], [65, 60], [25, 28], "ridge", 100.0)


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


def _power() -> Landscape:
    """Five parameters with a loss of distance^1.5."""
    return _shaped([4, 6, 8, 10, 12], [60, 45, 55, 48, 58], [40, 60, 35, 65, 45], "power", 1.5)


def _quartic() -> Landscape:
    """Four parameters with a loss of distance⁴."""
    return _shaped(np.full(4, 60), [62, 44, 57, 50], [25, 75, 35, 80], "power", 4.0)


def _bell() -> Landscape:
    """Six parameters whose loss saturates at 150 Elo."""
    weights = np.array([0.5, 1, 1, 2, 2, 3])

    def loss(u: Array) -> Array:
        lost: Array = 150 * -np.expm1(-(weights * np.square(u)).sum(axis=-1))
        return lost

    optimum = np.array([55.0, 45, 60, 50, 42, 58])
    start = np.array([35.0, 60, 45, 62, 50, 48])
    return Landscape(_space(start), LossFunction(optimum, loss), FixedDraws(0.5))


def _logarithmic(scale: Scale) -> Landscape:
    """Four parameters from 1 to 200 with a loss of their logarithms' distance."""
    space = _space([50.0] * 4, low=1, high=200, scale=scale)
    half, four = np.log(200) / 2, np.ones(4)
    model = Shaped(20 * four, 3 * half**2 * four, half * four, "log", 0.0, four > 0)
    return Landscape(space, model, FixedDraws(0.5))


def _slightly_lopsided() -> Landscape:
    """Four parameters that start at the optimum, eight times as steep above it."""
    return _shaped(np.full(4, 10), np.full(4, 50), [49, 50, 49, 50], "lopsided", 8.0)


def _cliff() -> Landscape:
    """Three parameters with a cliff of 300 Elo not far above the optimum."""
    return _shaped(np.full(3, 12), np.full(3, 60), [35, 70, 30], "cliff", 0.35)


def _few_values() -> Landscape:
    """Six integers of six values."""
    e, optimum = np.array([2.0, 4, 6, 8, 10, 12]), np.full(6, 3.0)
    model = Shaped(optimum, e, np.full(6, 2.5))
    space = _space([1.0, 4, 0, 5, 2, 1], integer=True, low=0, high=5)
    return Landscape(space, model, FixedDraws(0.5))


def _ridges() -> Landscape:
    """Two pairs of parameters, 20 times as steep across a diagonal as along it."""
    return _shaped(np.full(4, 42), [60, 55, 45, 50], [40, 38, 62, 60], "ridge", 20.0)


def _twenty() -> Landscape:
    """Twenty weak parameters."""
    n = 20
    start, optimum = 50 + 15 * np.cos(2.0 * np.arange(n)), 50 + 15 * np.sin(1.3 * np.arange(n))
    return _quadratic(np.linspace(0.5, 2, n), optimum, start)


def _one_steep() -> Landscape:
    """Eight parameters, of which one is sixty times as steep as the others."""
    e = np.full(8, 2.0)
    e[3] = 120
    return _quadratic(e, np.full(8, 50.0), [40, 60, 45, 55, 42, 58, 47, 53])


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
    "power": _power,
    "quartic": _quartic,
    "bell": _bell,
    "log": partial(_logarithmic, "linear"),
    "log scale": partial(_logarithmic, "log"),
    "good lopsided": _slightly_lopsided,
    "cliff": _cliff,
    "six values": _few_values,
    "ridges": _ridges,
    "twenty": _twenty,
    "one steep": _one_steep,
}
