"""Many tunes at once, from the first iteration to the last."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ringmaster.tuners.simulation.elo import EloModel
from ringmaster.tuners.simulation.lots import Draws, Fate
from ringmaster.tuners.spsa.averages import Averages
from ringmaster.tuners.spsa.method import Memory, Method
from ringmaster.tuners.spsa.perturbation import Rounding, sides
from ringmaster.tuners.spsa.space import Array
from ringmaster.tuners.spsa.tuner import Counting, Trust

#: Numbers drawn at once.
_MANY = 250_000
#: Iterations between two signs of progress, about; at most so many are drawn at once.
_MOST = 1024


@dataclass(frozen=True, eq=False)
class Tune:
    """What is simulated.

    iterations  how many; of counting.games_per_iteration games each
    in_flight   iterations that have been asked for when the first of them is told; 1:
                each is told before the next one is asked for
    pairing     whether θ⁺ plays θ⁻, or both play a reference, half of the games each
    trust       what the estimate is, as Spsa has it
    """

    method: Method
    iterations: int
    counting: Counting
    rounding: Rounding = "stochastic"
    in_flight: int = 1
    pairing: Literal["self_play", "reference"] = "self_play"
    trust: Trust = "auto"


@dataclass(frozen=True, eq=False)
class Players:
    """Who plays.

    elo     strength; where random_optimum, its optimum is uniform within the bounds,
            another one for each replicate
    bias    standard deviation in Elo of what an opening gives one side
    reference  values of the fixed opponent, (n,); by default the start
    """

    elo: EloModel
    draws: Draws
    bias: float = 0.0
    random_optimum: bool = False
    reference: Array | None = None


@dataclass(frozen=True, eq=False)
class Course:
    """How tunes have gone; Elo are those below the optimum.

    told    iterations told at each point looked at, (points,)
    start   Elo at the start, (replicates,)
    last, mean, estimate
            Elo of the last θ, the mean of its last half and what the tune would be
            taken to have found, (points, replicates)
    values  estimates at the end, (replicates, n)
    optimum (replicates, n) where it was random, else None
    """

    told: tuple[int, ...]
    start: Array
    last: Array
    mean: Array
    estimate: Array
    values: Array
    optimum: Array | None = None


def join(courses: Sequence[Course]) -> Course:
    """Return the courses of more and more replicates as one."""
    optima = [c.optimum for c in courses if c.optimum is not None]
    return Course(
        courses[0].told,
        np.concatenate([c.start for c in courses]),
        np.concatenate([c.last for c in courses], axis=1),
        np.concatenate([c.mean for c in courses], axis=1),
        np.concatenate([c.estimate for c in courses], axis=1),
        np.concatenate([c.values for c in courses]),
        np.concatenate(optima) if optima else None,
    )


def simulate(
    tune: Tune,
    players: Players,
    replicates: int,
    *,
    seed: int = 0,
    first: int = 0,
    points: Sequence[float] = (1.0,),
    progress: Callable[[int], object] = lambda told: None,
) -> Course:
    """Return how replicates first, …, first + replicates − 1 go.

    points    shares of the tune after which it is looked at, increasing, in (0, 1]
    progress  is called now and then with the number of iterations told
    """
    method, space = tune.method, tune.method.space
    games = tune.counting.games_per_iteration
    apart = tune.pairing == "reference"
    memory = method.start((replicates,))
    fate = Fate(
        seed,
        first,
        replicates,
        parameters=len(space),
        games=games,
        draws=players.draws,
        bias=players.bias,
        rounded=bool(space.integer.any()) and tune.rounding == "stochastic",
        apart=apart,
        shifted=method.shift(memory) is not None,
    )
    elo, optimum = players.elo, None
    if players.random_optimum:
        optimum = space.minimum + fate.uniform(len(space)) * space.width
        elo = elo.at(optimum)
    reference = space.start if players.reference is None else players.reference
    given = np.broadcast_to(space.start, (replicates, len(space)))
    start = elo.loss(given)
    opponent = elo.loss(np.broadcast_to(reference, given.shape))

    averages = Averages(given)
    waiting: deque[tuple[int, Array, Array, Array, Array]] = deque()
    told_at = tuple(max(1, round(share * tune.iterations)) for share in points)
    seen: list[tuple[Array, Array, Array]] = []
    values = given
    chunk = max(16, min(_MOST, _MANY // (replicates * max(len(space), games))))
    asked = told = at = 0
    lots = fate.lots(min(chunk, tune.iterations))
    theta = method.centre(memory)
    while told < tune.iterations:
        if asked < tune.iterations:
            if at == len(lots.delta):
                lots, at = fate.lots(min(chunk, tune.iterations - asked)), 0
                progress(told)
            # θ and c stay for so many results, and no more come in meanwhile
            block = slice(at, min(at + method.steady(memory), len(lots.delta)))
            first_k = asked + 1
            c = method.c(tune.counting.k(first_k), memory)
            delta = lots.delta[block]
            middle, shift = theta, method.shift(memory)
            if shift is not None:
                middle = space.clip(theta + shift * lots.signs[block])
            plus, minus = sides(space, middle, c, delta, lots.u[block], tune.rounding)
            won, lost = lots.won[block], lots.lost[block]
            if apart:
                half = games // 2
                result = _score(
                    opponent - elo.loss(plus), won[..., :half], lost[..., :half]
                ) - _score(opponent - elo.loss(minus), won[..., half:], lost[..., half:])
            else:
                result = _score(elo.loss(minus) - elo.loss(plus), won, lost)
            for i in range(len(delta)):
                waiting.append((first_k + i, plus[i], minus[i], delta[i], result[i]))
            at, asked = block.stop, asked + len(delta)
        while waiting and (len(waiting) >= tune.in_flight or asked == tune.iterations):
            number, high, low, sign, score = waiting.popleft()
            k = tune.counting.k(number)
            method.take(memory, k, high, low, sign, score, games / 2 if apart else games)
            told += 1
            before, theta = theta, method.centre(memory)
            averages.take(theta, theta - before)
            while len(seen) < len(told_at) and told == told_at[len(seen)]:
                mean = averages.mean()
                values = _estimate(tune, memory, averages)
                seen.append((elo.loss(theta), elo.loss(mean), elo.loss(values)))
    last, means, estimates = (np.array(one) for one in zip(*seen, strict=True))
    return Course(told_at, start, last, means, estimates, values, optimum)


def _estimate(tune: Tune, memory: Memory, averages: Averages) -> Array:
    """Return the estimates of all tunes as `Spsa.estimate` has that of one."""
    own = tune.method.estimate(memory) if tune.trust == "auto" else None
    if own is not None:
        return own
    trusted = averages.drift().settled if tune.trust == "auto" else tune.trust == "mean"
    mean = np.asarray(trusted)[..., np.newaxis]
    return np.where(mean, averages.mean(), tune.method.centre(memory))


def _score(advantage: Array, won: Array, lost: Array) -> Array:
    """Return W − L of sides so many Elo stronger, (…), over games, (…, games)."""
    a = advantage[..., np.newaxis]
    result: Array = (a > won).sum(axis=-1, dtype=np.float64) - (a < lost).sum(axis=-1)
    return result
