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

import msgspec
import numpy as np

from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.space import Array, Flags, Space, on_scale
from ringmaster.tuners.spsa.course import Averages
from ringmaster.tuners.spsa.method import Memory, Method
from ringmaster.tuners.spsa.perturbation import Counting, Rounding, sides
from ringmaster.tuners.spsa.tuner import EstimateRule

#: Replicates that share a random generator.
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
    """Draws the outcomes of replicates.

    bias       standard deviation of an opening's advantage for one side, Elo
    shifted    whether midpoints are shifted
    reference  whether θ⁺ and θ⁻ play separate games against a reference, with the same
               openings and colours
    """

    def __init__(
        self,
        seed: int,
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
        self._generators = [
            np.random.Generator(np.random.SFC64(np.random.SeedSequence([seed, group])))
            for group in range(-(-count // GROUP))
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


#: Elo of a cliff, and the distance in half ranges over which most of it is lost.
_CLIFF, _CLIFF_WIDTH = 300.0, 0.03


def _square(u: Array, elo: Array, _: float) -> Array:
    lost: Array = np.square(u) @ elo
    return lost


def _power(u: Array, elo: Array, p: float) -> Array:
    lost: Array = np.abs(u) ** p @ elo
    return lost


def _saturating(u: Array, elo: Array, w: float) -> Array:
    lost: Array = np.expm1(-np.square(u / w)) / math.expm1(-(w**-2.0)) @ elo
    return lost


def _lopsided(u: Array, elo: Array, q: float) -> Array:
    lost: Array = np.where(u > 0, q, 1.0) * np.square(u) @ elo
    return lost


def _cliff(u: Array, elo: Array, distance: float) -> Array:
    # the logistic function
    beyond = _CLIFF / 2 * (1 + np.tanh((u - distance) / (2 * _CLIFF_WIDTH)))
    lost: Array = _square(u, elo, 0.0) + np.where(u > 0, beyond, 0.0).sum(axis=-1)
    return lost


def _ridge(u: Array, elo: Array, q: float) -> Array:
    g = np.sqrt(elo) * u
    pairs = g.shape[-1] // 2 * 2
    one, other, alone = g[..., 0:pairs:2], g[..., 1:pairs:2], g[..., pairs:]
    across, along = np.square(one - other), np.square(one + other)
    lost: Array = ((q * across + along) / (q + 1)).sum(axis=-1) + np.square(alone).sum(axis=-1)
    return lost


@dataclass(frozen=True)
class Shape:
    """A loss by the distances u from the optimum in half ranges.

    loss         maps u, (…, n), the Elo lost at u = −1 by each parameter alone, (n,), and the
                 constant to Elo, (…)
    constant     its default; None if the shape has none
    fewest       parameters that it needs
    logarithmic  whether u are distances of logarithms, in halves of the logarithms' range
    fixed        whether the optimum is 0 and u counts hundreds instead, as in the SPSA Tuner
    """

    loss: Callable[[Array, Array, float], Array]
    constant: float | None = None
    fewest: int = 1
    logarithmic: bool = False
    fixed: bool = False


#: Shapes by name, with e the Elo at u = −1 and k the constant.
#:
#: quadratic   e·u²
#: log         the same for logarithms
#: lopsided    e·u² below the optimum, k·e·u² above it
#: cliff       e·u², and 300 Elo more from u = k on
#: ridge       pairs of parameters, g = √e·u: (k·(g₁ − g₂)² + (g₁ + g₂)²)/(k + 1); without a
#:             partner e·u²
#: power       e·|u|^k
#: saturating  e·(1 − exp(−(u/k)²)), divided by its value at u = 1
#: spsa_tuner  0.0001·e·x² about 0
SHAPES: Mapping[str, Shape] = {
    "quadratic": Shape(_square),
    "log": Shape(_square, logarithmic=True),
    "lopsided": Shape(_lopsided, 8.0),
    "cliff": Shape(_cliff, 2 / 3),
    "ridge": Shape(_ridge, 20.0, fewest=2),
    "power": Shape(_power, 1.5),
    "saturating": Shape(_saturating, 0.5),
    "spsa_tuner": Shape(_square, fixed=True),
}


def _number(text: str) -> float:
    """Return the constant of a shape.  Raises ValueError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.001 <= number <= 100:
        raise ValueError(f"{text!r} is not a number from 0.001 to 100")
    return number


class EloModel(ABC):
    """The strength of a player as a function of its parameter values.

    optimum  values of the strongest player, (n,) or (replicates, n)
    """

    optimum: Array

    @abstractmethod
    def loss(self, x: Array) -> Array:
        """Return the Elo loss of players with values x, (…, n), against the optimum, (…)."""

    @abstractmethod
    def at(self, optimum: Array) -> EloModel:
        """Return the model with another optimum, in values, (n,) or (replicates, n)."""


@dataclass(frozen=True, eq=False)
class Shaped(EloModel):
    """A loss with a shape.

    optimum      in values, (n,) or (replicates, n)
    elo          Elo that a parameter alone loses at one scale below the optimum, (n,)
    scale        half a range, (n,)
    shape, constant  one of SHAPES and its constant
    logarithmic  whether distances of a parameter are of its logarithm, (n,); None for no one
    """

    optimum: Array
    elo: Array
    scale: Array
    shape: str = "quadratic"
    constant: float = 0.0
    logarithmic: Flags | None = None

    @classmethod
    def of(
        cls,
        parameters: Sequence[TunedParameter],
        elo: Array,
        model: str = "quadratic",
        *,
        optimum: Array | None = None,
    ) -> Shaped:
        """Return the loss of parameters; distances are on their scales, or as the shape has them.

        model    a shape, also with a constant as lopsided:4
        optimum  in values, by default the middle of the range on the parameters' scales

        Raises ValueError for another model, and where the parameters do not fit the shape.
        """
        name, colon, number = model.partition(":")
        shape, space = SHAPES.get(name), Space.of(parameters)
        if shape is None or (colon and shape.constant is None):
            choices = ", ".join(SHAPES)
            numbers = ", ".join(f"{n}:{s.constant:.2g}" for n, s in SHAPES.items() if s.constant)
            raise ValueError(
                f"there is no {model!r}; choose from {choices}; a number may follow as in {numbers}"
            )
        constant = _number(number) if colon else shape.constant or 0.0
        if shape.fixed:
            return cls(np.zeros(len(space)), elo, np.full(len(space), 100.0), name)
        another = "or choose another model, such as quadratic"
        if len(space) < shape.fewest:
            raise ValueError(
                f"{name} needs {shape.fewest} parameters or more, not {len(space)}; tune more, "
                f"{another}"
            )
        if optimum is None:
            optimum = space.values((space.minimum + space.maximum) / 2)
        if shape.logarithmic:
            for parameter in parameters:
                if parameter.minimum <= 0:
                    raise ValueError(
                        f"{name} needs ranges above 0, and that of {parameter.code!r} begins at "
                        f"{parameter.minimum:g}; raise its min, {another}"
                    )
            space = Space.of([msgspec.structs.replace(p, scale="log") for p in parameters])
        return cls(optimum, elo, space.width / 2, name, constant, space.logarithmic)

    def loss(self, x: Array) -> Array:
        places = on_scale(x, self.logarithmic) - on_scale(self.optimum, self.logarithmic)
        return SHAPES[self.shape].loss(places / self.scale, self.elo, self.constant)

    def at(self, optimum: Array) -> Shaped:
        return dataclasses.replace(self, optimum=optimum)


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
    """

    elo: EloModel
    draws: Draws
    bias: float = 0.0
    random_optimum: bool = False


@dataclass(frozen=True, eq=False)
class SimulatedCourse:
    """The course of simulated tunes; Elo is lost against the optimum.

    iterations  completed iterations at each point, (points,)
    start       Elo at the start, (replicates,)
    last, mean, estimate
                Elo of the last θ, of the mean of its last half and of the estimate,
                (points, replicates)
    values      estimates at the end, on the parameters' scales, (replicates, n)
    optimum     in values, (n,), or (replicates, n) if random
    """

    iterations: tuple[int, ...]
    start: Array
    last: Array
    mean: Array
    estimate: Array
    values: Array
    optimum: Array


def simulate(
    tune: SimulatedTune,
    players: SimulatedPlayers,
    replicates: int,
    *,
    seed: int = 0,
    points: Sequence[float] = (1.0,),
    progress: Callable[[float], object] = lambda share: None,
) -> SimulatedCourse:
    """Simulate replicates; more of them leave the others as they are.

    points    increasing fractions of the tune at which losses are recorded, in (0, 1]
    progress  is called from time to time with the completed share, in the end 1
    """
    method, space = tune.method, tune.method.space
    games = tune.counting.games_per_iteration
    against_reference = tune.pairing == "reference"
    equivalent_games = games / 2 if against_reference else games
    memory = method.start((replicates,))
    outcomes = GameOutcomes(
        seed,
        replicates,
        parameters=len(space),
        games=games,
        draws=players.draws,
        bias=players.bias,
        rounded=bool(space.integer.any()) and tune.rounding == "stochastic",
        reference=against_reference,
        shifted=method.shifted,
    )
    elo = players.elo
    if players.random_optimum:
        elo = elo.at(space.values(space.minimum + outcomes.uniform(len(space)) * space.width))
    values = np.broadcast_to(space.start, (replicates, len(space)))
    start = elo.loss(space.values(values))

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
                progress(completed / tune.iterations)
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
                result = _score(start - elo.loss(plus), won[..., :half], lost[..., :half]) - _score(
                    start - elo.loss(minus), won[..., half:], lost[..., half:]
                )
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
    progress(1.0)
    last, means, estimates = (np.array(one) for one in zip(*losses, strict=True))
    return SimulatedCourse(recorded_at, start, last, means, estimates, values, elo.optimum)


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
