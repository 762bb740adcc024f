"""Tunes on simulated players, to measure the final loss of a method without engines.

Methods and perturbations are those of real tunes (`tuners.spsa`); only the games are
random.  Many independent tunes (replicates) run at once in arrays (…, replicates, n).
The random numbers of a replicate depend on the seed and its own number only.

A random number u, uniform in [0, 1), decides a game for every difference in strength.  A
side wins if it is more than `won_above(u)` Elo stronger, and loses if it is more than
`won_above(1 − u)` Elo weaker.  The outcomes of many games can therefore be drawn before
their players are known.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ringmaster.tuners.space import Array, Space
from ringmaster.tuners.spsa.course import Averages
from ringmaster.tuners.spsa.method import Memory, Method
from ringmaster.tuners.spsa.perturbation import Counting, Rounding, sides
from ringmaster.tuners.spsa.tuner import EstimateRule

#: Replicates that share a random generator; processes divide replicates by groups.
GROUP = 10

#: Elo of one unit of log-odds.
_UNIT = 400 / math.log(10)
#: Random numbers are clipped to this distance from 0 and 1.
_LEAST = 2.0**-52
#: Most random numbers drawn at a time.
_MOST_NUMBERS = 250_000
#: Most iterations drawn at a time; progress is reported in between.
_MOST_ITERATIONS = 1024


def _elo_of(p: Array) -> Array:
    """Return the Elo difference of an expected score p; ±∞ outside (0, 1)."""
    inside = np.clip(p, 0.0, 1.0)
    with np.errstate(divide="ignore"):
        return _UNIT * (np.log(inside) - np.log1p(-inside))


class Draws(ABC):
    """A model of draws, with the ratio of draws between equal players."""

    @abstractmethod
    def won_above(self, u: Array) -> Array:
        """Return the Elo advantage above which a game is won; any shape."""


@dataclass(frozen=True)
class FixedDraws(Draws):
    """A constant draw ratio: P(win) = 1/(1 + 10^(−Δ/400)) − ratio/2, P(loss) likewise."""

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
class DrawnOutcomes:
    """Random numbers drawn in advance for iterations of simulated games.

    delta  ±1, (iterations, replicates, n)
    signs  of the midpoints' shifts, same shape; equal to delta without shifts
    u      for the rounding, uniform in [0, 1), same shape; equal to delta without rounding
    won    Elo advantage above which each game is won, (iterations, replicates, games)
    lost   Elo advantage below which it is lost
    """

    delta: Array
    signs: Array
    u: Array
    won: Array
    lost: Array


class GameOutcomes:
    """Draws the outcomes of replicates first, …, first + count − 1.

    first      a multiple of GROUP
    bias       standard deviation of an opening's advantage for one side, Elo
    shifted    whether midpoints are shifted
    reference  whether θ⁺ and θ⁻ play separate games against a reference, with the same
               openings and colours
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
        reference: bool = False,
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
        self._rounded, self._reference, self._shifted = rounded, reference, shifted

    def _each_group(self, draw: Callable[[np.random.Generator], Array]) -> Array:
        """Return the draws of all groups, (iterations, replicates, …)."""
        groups: Sequence[Array] = [draw(g) for g in self._generators]
        joined: Array = np.concatenate(groups, axis=1)
        return joined[:, : self._count]

    def uniform(self, *shape: int) -> Array:
        """Return uniform numbers in [0, 1), (replicates, *shape)."""
        drawn: Array = self._each_group(lambda g: g.random((1, GROUP, *shape)))[0]
        return drawn

    def draw(self, iterations: int) -> DrawnOutcomes:
        """Return the random numbers of the next iterations."""
        n, games = self._parameters, self._games
        signs = 2 * n if self._shifted else n
        bits = -(-signs // 8)

        def random_signs(g: np.random.Generator) -> Array:
            shape = (iterations, GROUP, bits)
            octets = np.frombuffer(g.bytes(math.prod(shape)), np.uint8).reshape(shape)
            result = np.empty((iterations, GROUP, signs))
            np.multiply(np.unpackbits(octets, axis=-1, count=signs), 2.0, out=result)
            result -= 1.0
            return result

        all_signs = self._each_group(random_signs)
        delta, shift_signs = all_signs[..., :n], all_signs[..., -n:]
        u = self._each_group(lambda g: g.random((iterations, GROUP, n))) if self._rounded else delta
        uniform = self._each_group(lambda g: g.random((iterations, GROUP, games)))
        won, lost = self._draws.won_above(uniform), -self._draws.won_above(1 - uniform)
        if self._bias:
            # one opening a pair, with both colours
            each = games // 2 if self._reference else games
            pairs = -(-each // 2)
            openings = self._each_group(lambda g: g.standard_normal((iterations, GROUP, pairs)))
            advantage: Array = np.repeat(self._bias * openings, 2, axis=-1)
            advantage[..., 1::2] *= -1
            advantage = advantage[..., :each]
            if self._reference:
                advantage = np.concatenate([advantage, advantage], axis=-1)
            won, lost = won - advantage, lost - advantage
        return DrawnOutcomes(delta, shift_signs, u, won, lost)


#: Maps distances from the optimum in scales, (…, n), and a constant to the lost share of
#: the Elo at stake, which is 1 at one scale below the optimum.
Shape = Callable[[Array, float], Array]

#: Shapes by name, each with the default of its constant.
#:
#: quadratic      u²
#: power          |u|^p
#: saturating     1 − exp(−(u/w)²), divided by its value at u = 1
#: asymmetric     u² below the optimum, q·u² above it
SHAPES: Mapping[str, tuple[Shape, float]] = {
    "quadratic": (lambda u, _: np.square(u), 1.0),
    "power": (lambda u, p: np.power(np.abs(u), p), 1.5),
    "saturating": (lambda u, w: np.expm1(-np.square(u / w)) / math.expm1(-(w**-2.0)), 0.5),
    "asymmetric": (lambda u, q: np.where(u > 0, q, 1.0) * np.square(u), 4.0),
}


class EloModel(ABC):
    """The strength of a player as a function of its parameter values."""

    @abstractmethod
    def loss(self, x: Array) -> Array:
        """Return the Elo loss of players with values x, (…, n), against the optimum, (…)."""

    @abstractmethod
    def at(self, optimum: Array) -> EloModel:
        """Return the model with another optimum, (n,) or (replicates, n).

        Raises ValueError if the optimum is fixed.
        """


@dataclass(frozen=True, eq=False)
class Shaped(EloModel):
    """A loss by the distance of each parameter from the optimum.

        gᵢ = sign(uᵢ)·√(eᵢ·shape(uᵢ))      uᵢ = (xᵢ − oᵢ)/scaleᵢ
        loss = g·K·g

    optimum      o, (n,) or (replicates, n)
    elo          e, Elo lost at one scale below the optimum, (n,)
    scale        (n,)
    shape, constant  one of SHAPES and its constant
    correlation  of K, off the diagonal: interaction of two errors of one sign, from
                 −1/(n−1) to 1
    """

    optimum: Array
    elo: Array
    scale: Array
    shape: str = "quadratic"
    constant: float = 1.0
    correlation: float = 0.0

    def loss(self, x: Array) -> Array:
        u = (x - self.optimum) / self.scale
        share = SHAPES[self.shape][0](u, self.constant)
        if not self.correlation:
            plain: Array = share @ self.elo
            return plain
        g = np.copysign(np.sqrt(share * self.elo), u)
        own, total = np.square(g).sum(axis=-1), g.sum(axis=-1)
        lost: Array = (1 - self.correlation) * own + self.correlation * np.square(total)
        return lost

    def at(self, optimum: Array) -> Shaped:
        return dataclasses.replace(self, optimum=optimum)


def spsa_tuner(elo: Array) -> Shaped:
    """Return the model of the SPSA Tuner: Elo = −0.0001·e·x², (n,), about 0."""
    return Shaped(np.zeros(len(elo)), elo, np.full(len(elo), 100.0))


def _log(v: Array) -> Array:
    x = 2 * v + 1
    mean: Array = (2 * np.log(2 * x + 2.1) - 2 * x - 1).mean(axis=-1)
    return mean


def _flat(v: Array) -> Array:
    d = v[..., 0] + 0.6
    return 0.2 / (1 + 6 * d * d + d**3)


def _coulom_power(v: Array) -> Array:
    u = (v[..., 0] + 1) / 2
    return 0.2 * u * u - u**20


def _angle(v: Array) -> Array:
    d = v[..., 0] + 0.2
    above = np.sqrt(np.maximum(d, 0.0) + 2)
    below = 2 * np.sqrt(0.5 - np.minimum(d, 0.0))
    return 1 - (np.where(d > 0, above, below) - math.sqrt(2))


def _rosenbrock(v: Array) -> Array:
    x, y = 4 * v[..., 0], 10 * v[..., 1] + 4
    return 1 - 0.1 * (np.square(1 - x) + np.square(y - x * x))


def _correlated(v: Array) -> Array:
    def f(t: Array) -> Array:
        return t * t * (t * (1 - t) - 1)

    a, b = v[..., 0] + v[..., 1] + 0.1, v[..., 0] - v[..., 1] + 0.9
    return 0.2 * (f(10 * a) + f(b)) + 0.1


@dataclass(frozen=True)
class ClopFunction:
    """A test function with its number of values (0: any) and the place of its maximum.

    R. Coulom, "CLOP: Confident Local Optimization for Noisy Black-Box Parameter Tuning",
    Advances in Computer Games 13, 2011.  Values are in [−1, 1]; `strength` gives the
    log-odds S of winning against a fixed opponent, and two players play as S − T.
    """

    strength: Callable[[Array], Array]
    count: int
    optimum: tuple[float, ...]


#: Optima are zeros of the derivative (of angle: its jump).
CLOP_FUNCTIONS: Mapping[str, ClopFunction] = {
    # LOG with one value, LOG2 with two
    "log": ClopFunction(_log, 0, (-0.525,)),
    "flat": ClopFunction(_flat, 1, (-0.6,)),
    "power": ClopFunction(_coulom_power, 1, (2 * 0.02 ** (1 / 18) - 1,)),
    "angle": ClopFunction(_angle, 1, (-0.2,)),
    "rosenbrock": ClopFunction(_rosenbrock, 2, (0.25, -0.3)),
    "correlated": ClopFunction(_correlated, 2, (-0.5, 0.4)),
}


@dataclass(frozen=True, eq=False)
class Clop(EloModel):
    """A CLOP test function, stretched over the range of each parameter."""

    name: str
    low: Array
    width: Array

    @classmethod
    def of(cls, name: str, space: Space) -> Clop:
        """Return the model of a space.  Raises ValueError for a wrong number of parameters."""
        count = CLOP_FUNCTIONS[name].count
        if count and count != len(space):
            raise ValueError(f"clop-{name} is a function of {count}, not {len(space)} parameters")
        return cls(name, space.minimum, space.width)

    def _strength(self, x: Array) -> Array:
        return CLOP_FUNCTIONS[self.name].strength(2 * (x - self.low) / self.width - 1)

    @property
    def optimum(self) -> Array:
        """Values of the strongest player, (n,)."""
        best = np.array(CLOP_FUNCTIONS[self.name].optimum)
        return self.low + (best + 1) / 2 * self.width

    def loss(self, x: Array) -> Array:
        return _UNIT * (self._strength(self.optimum) - self._strength(x))

    def at(self, optimum: Array) -> Clop:
        raise ValueError(f"the optimum of clop-{self.name} is fixed")


# tunes


@dataclass(frozen=True, eq=False)
class SimulatedTune:
    """The settings of simulated tunes.

    in_flight      iterations in progress when the first of them is completed
    pairing        whether θ⁺ plays θ⁻, or both play a reference, half of the games each
    estimate_rule  as in Spsa
    """

    method: Method
    iterations: int
    counting: Counting
    rounding: Rounding = "stochastic"
    in_flight: int = 1
    pairing: Literal["self_play", "reference"] = "self_play"
    estimate_rule: EstimateRule = "auto"


@dataclass(frozen=True, eq=False)
class SimulatedPlayers:
    """Models of the simulated players.

    elo             strength
    bias            standard deviation of an opening's advantage for one side, Elo
    random_optimum  whether each replicate has its own optimum, uniform within the bounds
    reference       values of the fixed opponent, (n,); by default the start
    """

    elo: EloModel
    draws: Draws
    bias: float = 0.0
    random_optimum: bool = False
    reference: Array | None = None


@dataclass(frozen=True, eq=False)
class SimulatedCourse:
    """The course of simulated tunes; Elo is lost against the optimum.

    iterations  completed iterations at each point, (points,)
    start       Elo at the start, (replicates,)
    last, mean, estimate
                Elo of the last θ, of the mean of its last half and of the estimate,
                (points, replicates)
    values      estimates at the end, on the parameters' scales, (replicates, n)
    optimum     (replicates, n) if random, else None
    """

    iterations: tuple[int, ...]
    start: Array
    last: Array
    mean: Array
    estimate: Array
    values: Array
    optimum: Array | None = None


def join(courses: Sequence[SimulatedCourse]) -> SimulatedCourse:
    """Return the courses of consecutive replicates as one."""
    optima = [c.optimum for c in courses if c.optimum is not None]
    return SimulatedCourse(
        courses[0].iterations,
        np.concatenate([c.start for c in courses]),
        np.concatenate([c.last for c in courses], axis=1),
        np.concatenate([c.mean for c in courses], axis=1),
        np.concatenate([c.estimate for c in courses], axis=1),
        np.concatenate([c.values for c in courses]),
        np.concatenate(optima) if optima else None,
    )


def simulate(
    tune: SimulatedTune,
    players: SimulatedPlayers,
    replicates: int,
    *,
    seed: int = 0,
    first: int = 0,
    points: Sequence[float] = (1.0,),
    progress: Callable[[int], object] = lambda iterations: None,
) -> SimulatedCourse:
    """Simulate replicates first, …, first + replicates − 1.

    points    increasing fractions of the tune at which losses are recorded, in (0, 1]
    progress  is called from time to time with the number of completed iterations
    """
    method, space = tune.method, tune.method.space
    games = tune.counting.games_per_iteration
    against_reference = tune.pairing == "reference"
    equivalent_games = games / 2 if against_reference else games
    memory = method.start((replicates,))
    outcomes = GameOutcomes(
        seed,
        first,
        replicates,
        parameters=len(space),
        games=games,
        draws=players.draws,
        bias=players.bias,
        rounded=bool(space.integer.any()) and tune.rounding == "stochastic",
        reference=against_reference,
        shifted=method.shifted,
    )
    elo, optimum = players.elo, None
    if players.random_optimum:
        optimum = space.minimum + outcomes.uniform(len(space)) * space.width
        elo = elo.at(optimum)
    reference = space.start if players.reference is None else players.reference
    values = np.broadcast_to(space.start, (replicates, len(space)))
    start = elo.loss(space.values(values))
    opponent = elo.loss(space.values(np.broadcast_to(reference, values.shape)))

    averages = Averages(values)
    waiting: deque[tuple[int, Array, Array, Array, Array]] = deque()
    recorded_at = tuple(max(1, round(share * tune.iterations)) for share in points)
    losses: list[tuple[Array, ...]] = []
    chunk = max(16, min(_MOST_ITERATIONS, _MOST_NUMBERS // (replicates * max(len(space), games))))
    issued = completed = at = 0
    drawn = outcomes.draw(min(chunk, tune.iterations))
    theta = method.centre(memory)
    while completed < tune.iterations:
        if issued < tune.iterations:
            if at == len(drawn.delta):
                drawn, at = outcomes.draw(min(chunk, tune.iterations - issued)), 0
                progress(completed)
            # θ and c are constant during the block
            block = slice(at, min(at + method.steady(memory), len(drawn.delta)))
            first_k = issued + 1
            c = method.c(tune.counting.k(first_k), memory)
            delta = drawn.delta[block]
            numbers = np.arange(first_k, first_k + len(delta), dtype=np.float64)
            middle, c = method.place(numbers, memory, theta, c, delta, drawn.signs[block])
            plus, minus = sides(space, middle, c, delta, drawn.u[block], tune.rounding)
            high, low = space.theta(plus), space.theta(minus)
            won, lost = drawn.won[block], drawn.lost[block]
            if against_reference:
                half = games // 2
                result = _score(
                    opponent - elo.loss(plus), won[..., :half], lost[..., :half]
                ) - _score(opponent - elo.loss(minus), won[..., half:], lost[..., half:])
            else:
                result = _score(elo.loss(minus) - elo.loss(plus), won, lost)
            for i in range(len(delta)):
                waiting.append((first_k + i, high[i], low[i], delta[i], result[i]))
            at, issued = block.stop, issued + len(delta)
        while waiting and (len(waiting) >= tune.in_flight or issued == tune.iterations):
            number, above, below, sign, score = waiting.popleft()
            k = tune.counting.k(number)
            method.learn(memory, k, above, below, sign, score, equivalent_games)
            completed += 1
            before, theta = theta, method.centre(memory)
            averages.add(theta, theta - before)
            while len(losses) < len(recorded_at) and completed == recorded_at[len(losses)]:
                mean = averages.mean()
                values = _estimate(tune, memory, averages)
                losses.append(tuple(elo.loss(space.values(each)) for each in (theta, mean, values)))
    last, means, estimates = (np.array(one) for one in zip(*losses, strict=True))
    return SimulatedCourse(recorded_at, start, last, means, estimates, values, optimum)


def _estimate(tune: SimulatedTune, memory: Memory, averages: Averages) -> Array:
    """Return the estimates of all tunes, as `Spsa.estimate` returns one."""
    own = tune.method.estimate(memory) if tune.estimate_rule == "auto" else None
    if own is not None:
        return own
    rule = tune.estimate_rule
    use_mean = averages.drift().settled if rule == "auto" else rule == "mean"
    mean = np.asarray(use_mean)[..., np.newaxis]
    return np.where(mean, averages.mean(), tune.method.centre(memory))


def _score(advantage: Array, won: Array, lost: Array) -> Array:
    """Return W − L of sides with an Elo advantage, (…), over games, (…, games)."""
    a = advantage[..., np.newaxis]
    result: Array = (a > won).sum(axis=-1, dtype=np.float64) - (a < lost).sum(axis=-1)
    return result
