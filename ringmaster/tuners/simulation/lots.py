"""How games between simulated players end.

A lot u, uniform in [0, 1), decides a game for every difference in strength: it is won
by a side that is more than `won_above(u)` Elo stronger, and lost by one that is more
than `won_above(1 − u)` weaker.  So the lots of many games can be drawn, and turned into
Elo, before it is known who plays them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ringmaster.tuners.spsa.space import Array

#: Replicates that share a random generator: as many as are never divided between
#: processes.
GROUP = 10

_UNIT = 400 / math.log(10)
#: Lots nearer to 0 or 1 are taken for this: thousands of Elo decide them.
_LEAST = 2.0**-52


def _elo_of(p: Array) -> Array:
    """Return the difference in Elo at which an expected score is p; ±∞ beyond 0 and 1."""
    inside = np.clip(p, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return _UNIT * (np.log(inside) - np.log1p(-inside))


class Draws(ABC):
    """A model of draws; `ratio` is the share of draws between equals."""

    @abstractmethod
    def won_above(self, u: Array) -> Array:
        """Return the advantage in Elo above which a game is won; any shape."""


@dataclass(frozen=True)
class FixedDraws(Draws):
    """P(win) = 1/(1 + 10^(−Δ/400)) − ratio/2, P(loss) likewise: as many draws
    whatever the difference (while it leaves room for them)."""

    ratio: float

    def won_above(self, u: Array) -> Array:
        return _elo_of(u + self.ratio / 2)


@dataclass(frozen=True)
class BayesElo(Draws):
    """P(win) = 1/(1 + 10^((draw_elo − Δ)/400)), P(loss) likewise of −Δ (R. Coulom's
    BayesElo; P. V. Rao and L. L. Kupper 1967)."""

    ratio: float

    def won_above(self, u: Array) -> Array:
        return _elo_of(u) + 400 * math.log10((1 + self.ratio) / (1 - self.ratio))


@dataclass(frozen=True)
class Davidson(Draws):
    """P(win) = y²/(y² + ν·y + 1), P(draw) = ν·y/(y² + ν·y + 1), y = 10^(Δ/800) (R. R.
    Davidson 1970)."""

    ratio: float

    def won_above(self, u: Array) -> Array:
        nu = 2 * self.ratio / (1 - self.ratio)
        u = np.clip(u, _LEAST, 1 - _LEAST)
        # y² (1 − u) − ν·u·y − u = 0
        y = (nu * u + np.sqrt(np.square(nu * u) + 4 * u * (1 - u))) / (2 * (1 - u))
        return 2 * _UNIT * np.log(y)


DRAW_MODELS: Mapping[str, Callable[[float], Draws]] = {
    "fixed": FixedDraws,
    "bayeselo": BayesElo,
    "davidson": Davidson,
}


@dataclass(frozen=True, eq=False)
class Lots:
    """What chance has for a number of iterations.

    delta  ±1, (iterations, replicates, n)
    signs  those of the midpoints' shifts, likewise; the same array as delta where nothing
           is shifted
    u      for the rounding, uniform in [0, 1), likewise; the same array as delta where
           nothing is rounded
    won    Elo above which each game is won, (iterations, replicates, games)
    lost   Elo below which it is lost
    """

    delta: Array
    signs: Array
    u: Array
    won: Array
    lost: Array


class Fate:
    """Draws lots for replicates first, …, first + count − 1.

    first       a multiple of GROUP
    bias        standard deviation in Elo of what an opening gives one side
    shifted     whether midpoints are shifted
    apart       whether the games of θ⁺ and of θ⁻ are different games with the same
                openings and colours (v a reference)
    """

    def __init__(
        self,
        seed: int,
        first: int,
        count: int,
        *,
        parameters: int,
        games: int,
        draws: Draws,
        bias: float = 0.0,
        rounded: bool = False,
        apart: bool = False,
        shifted: bool = False,
    ) -> None:
        if first % GROUP:
            raise ValueError(f"replicate {first} is not the first of a group of {GROUP}")
        self._generators = [
            np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, group])))
            for group in range(first // GROUP, -(-(first + count) // GROUP))
        ]
        self._count = count
        self._parameters, self._games = parameters, games
        self._draws, self._bias = draws, bias
        self._rounded, self._apart, self._shifted = rounded, apart, shifted

    def _many(self, draw: Callable[[np.random.Generator], Array]) -> Array:
        """Return what each group draws, (iterations, GROUP, …), side by side; of the
        last group all is drawn and some may be dropped."""
        drawn: Sequence[Array] = [draw(g) for g in self._generators]
        together: Array = np.concatenate(drawn, axis=1)
        return together[:, : self._count]

    def uniform(self, *shape: int) -> Array:
        """Return numbers in [0, 1) for every replicate, (replicates, *shape)."""
        drawn: Array = self._many(lambda g: g.random((1, GROUP, *shape)))[0]
        return drawn

    def lots(self, iterations: int) -> Lots:
        """Return the lots of the next iterations."""
        n, games = self._parameters, self._games
        wanted = 2 * n if self._shifted else n
        bits = -(-wanted // 8)

        def signs(g: np.random.Generator) -> Array:
            shape = (iterations, GROUP, bits)
            octets = np.frombuffer(g.bytes(math.prod(shape)), np.uint8).reshape(shape)
            found = np.empty((iterations, GROUP, wanted))
            np.multiply(np.unpackbits(octets, axis=-1, count=wanted), 2.0, out=found)
            found -= 1.0
            return found

        drawn = self._many(signs)
        delta, own = drawn[..., :n], drawn[..., -n:]
        u = self._many(lambda g: g.random((iterations, GROUP, n))) if self._rounded else delta
        lot = self._many(lambda g: g.random((iterations, GROUP, games)))
        won, lost = self._draws.won_above(lot), -self._draws.won_above(1 - lot)
        if self._bias:
            # one opening a pair, from both sides; of θ⁺ and θ⁻ the same ones
            each = games // 2 if self._apart else games
            pairs = -(-each // 2)
            openings = self._many(lambda g: g.standard_normal((iterations, GROUP, pairs)))
            advantage: Array = np.repeat(self._bias * openings, 2, axis=-1)
            advantage[..., 1::2] *= -1
            advantage = advantage[..., :each]
            if self._apart:
                advantage = np.concatenate([advantage, advantage], axis=-1)
            won, lost = won - advantage, lost - advantage
        return Lots(delta, own, u, won, lost)
