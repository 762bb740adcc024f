"""Simulation of many tunes at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ringmaster.tuners.simulation.game_outcomes import Draws, EloModel, GameOutcomes
from ringmaster.tuners.space import Array
from ringmaster.tuners.spsa.course import Averages
from ringmaster.tuners.spsa.method import Memory, Method
from ringmaster.tuners.spsa.perturbation import Counting, Rounding, sides
from ringmaster.tuners.spsa.tuner import EstimateRule

#: Most random numbers drawn at a time.
_MOST_NUMBERS = 250_000
#: Most iterations drawn at a time; progress is reported in between.
_MOST_ITERATIONS = 1024


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
