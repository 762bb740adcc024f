"""The games of an iteration: opponents, openings, colours, played values and tickets.

A ticket identifies a game and holds the values of both sides:

k  the iteration                      g  the game's number in it, from 0
p, m  values of θ⁺ and θ⁻             n  games of the iteration, if not 2
l  the layout of the values, if not 0
tc  the time control, with the setting `time_controls`
r  the code of the opponent, if there are several
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate
from typing import Literal

import msgspec

from ringmaster.competitions.spsa.state import Iteration, PlayedValues, TuneHistory
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode
from ringmaster.model.jobs import Ticket
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.randomness import TIME_CONTROLS_STREAM, uniform, words
from ringmaster.model.results import GameResult
from ringmaster.tuners.spsa.tuner import Spsa

Pairing = Literal["self_play", "reference"]
#: "+" and "-" for the sides of an iteration, "=" for the opponent.
Side = Literal["+", "-", "="]

#: Fractions are played to this part of the smallest perturbation, or finer.
FINENESS = 100
#: Reliable decimal digits of a double.
_DIGITS = 15
_MOST_PLACES = 70
#: A printf format with a fixed number of decimal places.
_FIXED = re.compile(r"[^%]*%[-+ #0]*\d*\.(\d+)f[^%]*\Z")


class IterationGames(msgspec.Struct, frozen=True):
    """The games of an iteration: `size` of them, an even number.

    In self-play two consecutive games are a pair: θ⁺ against θ⁻ from one opening, then
    with colours swapped.  Against a reference, two consecutive games are θ⁺'s and θ⁻'s
    from one opening with the same colour; the next two have the other colour.
    """

    pairing: Pairing
    size: int

    def opening(self, game: int) -> int:
        """Return the opening number of a game of the tune; both count from 0."""
        return game // (2 if self.pairing == "self_play" else 4)

    def openings(self, games: int) -> int:
        """Return the number of openings that the first `games` games use."""
        return self.opening(games - 1) + 1 if games else 0

    def sides(self, iteration: int, game: int) -> tuple[Side, Side]:
        """Return the sides of a game, first mover first."""
        side: Side = "-" if game % 2 else "+"
        if self.pairing == "self_play":
            return (side, "+" if side == "-" else "-")
        couples_before = ((iteration - 1) * self.size + game) // 2
        return ("=", side) if couples_before % 2 else (side, "=")

    def gain(self, sides: tuple[Side, Side], points: float) -> float:
        """Return a game's contribution to W − L of θ⁺ against θ⁻: 1, 0 or −1.

        points  of the first mover: 1, ½ or 0
        """
        own = sides[0] if sides[0] != "=" else sides[1]
        won = 2 * points - 1 if sides[0] != "=" else 1 - 2 * points
        return won if own == "+" else -won

    def game_id(self, iteration: int, game: int, iterations: int) -> str:
        """Return a game's id; ids sort in order of issue."""
        number = f"{iteration:0{len(str(iterations))}d}"
        if self.size <= 26:
            return f"{number}{'abcdefghijklmnopqrstuvwxyz'[game]}"
        return f"{number}_{game:0{len(str(self.size - 1))}d}"


class ValueGrid:
    """The values that engines play with: whole numbers, or decimals of limited length.

    Tickets store them, and the tuner learns from them rather than from the exact θ±.

    least_c  the smallest perturbation of each parameter
    """

    def __init__(self, parameters: Sequence[TunedParameter], least_c: Sequence[float]) -> None:
        self._steps = []
        for parameter, c in zip(parameters, least_c, strict=True):
            places = _decimal_places(parameter, c)
            scale = 10 ** max(places, 0)
            self._steps.append((places, scale, *_step_bounds(parameter, scale)))

    def round(self, values: Sequence[float]) -> PlayedValues:
        """Return the nearest playable values within the bounds."""
        return [
            _number(min(max(math.floor(value * scale + 0.5), low), high), places)
            for value, (places, scale, low, high) in zip(values, self._steps, strict=True)
        ]

    def sample(self) -> PlayedValues:
        """Return values within the bounds, with a fraction where fractions are played."""
        values = []
        for places, scale, low, high in self._steps:
            step = low + int(0.38197 * (high - low))
            whole = scale > 1 and step % scale == 0
            values.append(_number(min(step + 1, high) if whole else step, places))
        return values


def _number(step: int, places: int) -> int | float:
    return step if places < 0 else step / 10**places


def _decimal_places(parameter: TunedParameter, c: float) -> int:
    """Return the number of decimal places of played values, −1 for whole numbers."""
    if parameter.integer:
        return -1
    if parameter.format is not None and parameter.transform is None:
        fixed = _FIXED.match(parameter.format)
        if fixed is not None:
            return min(int(fixed[1]), _MOST_PLACES)
    largest = max(abs(parameter.minimum), abs(parameter.maximum))
    reliable = min(_MOST_PLACES, _DIGITS - math.ceil(math.log10(largest)))
    return max(min(math.ceil(math.log10(FINENESS / c)), reliable), 0)


def _step_bounds(parameter: TunedParameter, scale: int) -> tuple[int, int]:
    """Return the first and the last multiple of 1/scale within the bounds."""
    low, high = round(parameter.minimum * scale), round(parameter.maximum * scale)
    low += low / scale < parameter.minimum
    high -= high / scale > parameter.maximum
    return low, max(low, high)


class Tickets(msgspec.Struct, frozen=True):
    """Writes and reads the tickets of a tune.

    games  of new iterations
    """

    history: TuneHistory
    games: IterationGames

    def write(self, k: int, game: int, iteration: Iteration) -> Ticket:
        """Return the ticket of a game."""
        ticket: Ticket = {"k": k, "g": game, "p": iteration.plus, "m": iteration.minus}
        if iteration.size != 2:
            ticket["n"] = iteration.size
        if iteration.layout:
            ticket["l"] = iteration.layout
        if iteration.time_control:
            ticket["tc"] = iteration.time_control
        return ticket

    def draw_time_control(self, k: int) -> str:
        """Return the time control of an iteration, drawn by weight; "" without any."""
        settings = self.history.learning.settings
        weights: dict[str, float] = settings.get("time_controls", {"": 1.0})
        bounds = list(accumulate(weights.values()))
        place = uniform(words(settings["seed"], TIME_CONTROLS_STREAM, k, 1)[0])
        return list(weights)[bisect(bounds, place * bounds[-1])]

    def iteration(self, ticket: Ticket) -> Iteration:
        """Return a game's iteration without any result."""
        size, layout, control = ticket.get("n", 2), ticket.get("l", 0), ticket.get("tc", "")
        return Iteration(ticket["p"], ticket["m"], size=size, layout=layout, time_control=control)

    def sides(self, ticket: Ticket) -> tuple[Side, Side]:
        """Return the sides of a game, first mover first."""
        size = ticket.get("n", 2)
        games = self.games if size == self.games.size else IterationGames(self.games.pairing, size)
        return games.sides(ticket["k"], ticket["g"])

    def values_by_code(self, ticket: Ticket, side: str) -> ValuesByCode:
        """Return the values of θ⁺ or θ⁻ by code.

        They cover the parameters that the tune had when the game was issued, in their
        order of arrival.
        """
        values = ticket["p" if side == "+" else "m"]
        by_code = self.history.layouts[ticket.get("l", 0)].by_code(values)
        return {code: by_code[code] for code in self.history.slots if code in by_code}

    def add(self, iteration: Iteration, ticket: Ticket, result: GameResult) -> bool:
        """Count a game of an iteration.  Return whether it was the last one."""
        iteration.result += self.games.gain(self.sides(ticket), result.points(0))
        iteration.games += 1
        return iteration.games == iteration.size

    def learn(self, tuner: Spsa, codes: Sequence[str], ticket: Ticket, result: float) -> None:
        """Let a tuner of these parameters learn from a complete iteration.

        ticket  of a game of the iteration
        result  W − L of θ⁺ in all its games
        """
        plus, minus = self.values(ticket, codes)
        # two games against a reference equal one of θ⁺ against θ⁻
        games = ticket.get("n", 2) / (1 if self.games.pairing == "self_play" else 2)
        tuner.tell(ticket["k"], plus, minus, result, games)

    def values(
        self, ticket: Ticket, codes: Sequence[str]
    ) -> tuple[Sequence[float], Sequence[float]]:
        """Return θ⁺ and θ⁻ in the order of some codes, NaN for a parameter that was not tuned."""
        layout = self.history.layouts[ticket.get("l", 0)]
        return layout.in_order(codes, ticket["p"]), layout.in_order(codes, ticket["m"])
