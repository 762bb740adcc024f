"""What in the settings of a tune would waste its games."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.forecast.assumptions import Assumptions
from ringmaster.model.parameters import TunedParameter
from ringmaster.tuners.spsa import Array
from ringmaster.tuners.spsa.planning import Outlook

#: A tune of fewer time constants has not arrived.
_TIME_CONSTANTS = 3
#: Games that pass before a result is used, in time constants, from which it matters.
_LATE = 0.25
#: What c and R are set by.
_SETTINGS = {
    "classic": ("c_end", "r_end"),
    "constant": ("c_end", "r_end"),
    "blog": ("c_end", "epsilon"),
    "weather_factory": ("step", "a"),
}
#: Codes named in one warning.
_NAMED = 5


@dataclass(frozen=True, eq=False)
class Wastes:
    """What is looked at.

    outlook  None with a method without gain sequences
    lost     expected Elo below the optimum at the end, where a simulation has told it
    halving  with such a method the games that halve what each parameter loses, (n,)
    """

    competition: SpsaCompetition
    assumed: Assumptions
    outlook: Outlook | None
    lost: float | None
    halving: Array | None = None


def wastes(on: Wastes) -> list[str]:
    """Return a line for each thing that would waste the tune."""
    found = [*_bounds(on), *_rounding(on)]
    if on.outlook is not None:
        found += [*_gains(on, on.outlook), *_in_flight(on, on.outlook)]
    if on.halving is not None:
        found += _little(on, on.halving)
    return [*found, *_outcome(on)]


def _codes(parameters: list[TunedParameter]) -> str:
    names = [repr(p.code) for p in parameters[:_NAMED]]
    more = len(parameters) - len(names)
    noun = "parameter" if len(parameters) == 1 else "parameters"
    return f"{noun} {', '.join(names)}{f' and {more} more' if more else ''}"


def _bounds(on: Wastes) -> Iterator[str]:
    tuned = on.competition.tuned
    at = [p for p in tuned if p.start in (p.minimum, p.maximum)]
    if at:
        yield (
            f"{_codes(at)}: the start is at a bound, so that one side of the perturbation is cut "
            "off; wider bounds would let it be"
        )


def _perturbations(on: Wastes) -> list[tuple[TunedParameter, float, float]]:
    """Return each parameter with its first and last c; a c that learns is left out."""
    method = on.competition.tuner.method
    if on.outlook is not None:
        first, last = on.outlook.c_first, on.outlook.c_last
    else:
        first = last = method.c(1, method.start())
    return list(zip(on.competition.tuned, first.tolist(), last.tolist(), strict=True))


def _rounding(on: Wastes) -> Iterator[str]:
    nearest = on.competition.tuner.rounding == "nearest"
    raised, small, hidden = [], [], []
    for parameter, _, c in _perturbations(on):
        if parameter.integer and parameter.c_end is not None and parameter.c_end < 0.5:
            raised.append(parameter)
        elif parameter.integer and c < 1:
            small.append(parameter)
        if not parameter.integer and parameter.format is not None:
            start = parameter.start
            sides = {parameter.format % value for value in (start - c, start, start + c)}
            if len(sides) < 3:
                hidden.append(parameter)
    if raised:
        yield (
            f"{_codes(raised)}: c_end is below 0.5 and raised to it: the least by which whole "
            "numbers can differ"
        )
    if small:
        effect = (
            "with rounding 'nearest' both sides are often the same"
            if nearest
            else "the two sides differ by one step or two, which is hard to tell apart by games"
        )
        yield f"{_codes(small)}: c gets below 1, where {effect}"
    if hidden:
        yield (
            f"{_codes(hidden)}: c is so small that the format gives both sides the same value; "
            "a longer format or a wider c"
        )


def _gains(on: Wastes, found: Outlook) -> Iterator[str]:
    competition = on.competition
    tuned = competition.tuned
    games = competition.iterations * competition.tuner.counting.games_per_iteration
    wide = [
        p
        for p, c in zip(tuned, found.c_first.tolist(), strict=True)
        if c > (p.maximum - p.minimum) / 2
    ]
    if wide:
        yield f"{_codes(wide)}: the first c is more than half the range, and is cut at its bounds"
    by_c, by_r = _SETTINGS[competition.values["method"]]
    never = [p for p, time in zip(tuned, found.time_constant.tolist(), strict=True) if time > games]
    slow = [
        p
        for p, number in zip(tuned, found.time_constants.tolist(), strict=True)
        if number < _TIME_CONSTANTS and p not in never
    ]
    need = _TIME_CONSTANTS * float(found.time_constant.max())
    if never:
        yield (
            f"{_codes(never)}: the time constant λ is longer than the tune; R cannot converge. "
            f"A wider c ({by_c}) helps most (λ goes with 1/c²), then a larger R ({by_r}); the "
            "default method finds its own"
        )
    if slow:
        yield (
            f"{_codes(slow)}: the tune is shorter than {_TIME_CONSTANTS} time constants"
            f"{f'; {need:,.0f} games would do' if need < 1e12 else ''}"
        )
    noisy = [
        p
        for p, noise, stake in zip(
            tuned, found.noise.tolist(), found.lost_at_start.tolist(), strict=True
        )
        if noise >= stake > 0
    ]
    if noisy:
        yield (
            f"{_codes(noisy)}: the noise of θ costs more Elo than is lost at the start; "
            "a smaller R, and more games"
        )
    jumpy = [
        p
        for p, r in zip(tuned, np.maximum(found.r_first, found.r_last).tolist(), strict=True)
        if r * competition.tuner.counting.games_per_iteration > 1
    ]
    if jumpy:
        yield (
            f"{_codes(jumpy)}: R times the games of an iteration is more than 1: a single "
            "iteration can move θ by more than c"
        )


def _little(on: Wastes, halving: Array) -> Iterator[str]:
    competition = on.competition
    games = competition.iterations * competition.tuner.counting.games_per_iteration
    little = [
        (p, need)
        for p, need in zip(competition.tuned, halving.tolist(), strict=True)
        if games < need < math.inf
    ]
    if little:
        yield (
            f"{_codes([p for p, _ in little])}: {games:,} games are too few to gain half of what "
            f"is lost by the start, if no more Elo depend on it than assumed; "
            f"{max(need for _, need in little):,.0f} would do"
        )


def _in_flight(on: Wastes, found: Outlook) -> Iterator[str]:
    games = on.competition.tuner.counting.games_per_iteration
    flying = max(1.0, on.assumed.concurrency / games)
    late = float(found.fastest.max()) * flying
    if late > _LATE:
        yield (
            f"{round(flying * games)} games in flight are {late:.2g} time constants: θ will "
            "overshoot; a smaller R, or fewer games at a time"
        )


def _outcome(on: Wastes) -> Iterator[str]:
    start = float(on.assumed.lost_at_start().sum())
    end = on.lost if on.outlook is None else float(on.outlook.lost_at_end.sum())
    if end is not None and start > 0 and end >= start:
        count = len(on.competition.tuned)
        yield (
            f"{end:.2f} Elo below the optimum are expected at the end, {start:.2f} are at the "
            f"start: too many parameters ({count}) for the number of games, or too large an R"
        )
