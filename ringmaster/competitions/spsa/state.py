"""The stored state of a tune: learning settings, iterations in progress, results and edits;
and its games with their tickets.

Results are learned under the settings under which their games were played.  The state
therefore keeps these settings, whatever the control file says later.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

import msgspec

from ringmaster.competitions.spsa.methods import DEFAULTS
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode
from ringmaster.competitions.tuning.player_tune import GameTuneState
from ringmaster.model.jobs import Ticket
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.randomness import TIME_CONTROLS_STREAM, uniform, words
from ringmaster.tuners.space import Space

#: Top-level settings that decide how a tune learns; edits are reported in this order.
LEARNING_SETTINGS = (
    "method",
    "pairing",
    "number_of_games",
    "games_per_iteration",
    *dict.fromkeys(name for own in DEFAULTS.values() for name in own),
    "rounding",
    "time_controls",
    "seed",
)

#: Values of tuned parameters on the tuner's scale, rounded as engines receive them.
PlayedValues = list[int | float]


#: Arguments of Parameter(…) that a tune learns by; edits are reported in this order.
ARGUMENTS = ("minimum", "maximum", "c_end", "r_end", "step", "integer", "scale", "start")


class ParameterSettings(TunedParameter, frozen=True, omit_defaults=True):
    """A parameter with only the arguments that a tune learns by, as it is stored."""

    @classmethod
    def of(cls, parameter: TunedParameter) -> ParameterSettings:
        learned_by = ("code", *ARGUMENTS, "frozen")
        return cls(**{name: getattr(parameter, name) for name in learned_by})


class LearningSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """The settings of a control file that decide how a tune learns.

    parameters  all parameters in the order of the control file
    settings    the settings of `LEARNING_SETTINGS` that are not None, as JSON data
    """

    parameters: list[ParameterSettings]
    settings: dict[str, Any] = {}

    @property
    def tuned(self) -> list[ParameterSettings]:
        """The parameters that are not frozen."""
        return [p for p in self.parameters if not p.frozen]

    def by_code(self) -> dict[str, ParameterSettings]:
        return {p.code: p for p in self.parameters}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> LearningSettings:
        return cls(
            [ParameterSettings.of(p) for p in values["parameters"] if not p.not_used],
            {
                name: msgspec.to_builtins(values[name])
                for name in LEARNING_SETTINGS
                if values.get(name) is not None
            },
        )

    def values(self) -> dict[str, Any]:
        """Return the settings by name, None for settings that are not set."""
        return {
            **dict.fromkeys(LEARNING_SETTINGS),
            **self.settings,
            "parameters": tuple(self.parameters),
        }


class ValueOrder(msgspec.Struct, frozen=True, omit_defaults=True):
    """The order of the values in tickets.

    codes  of the tuned parameters, in the order of the values
    fixed  values of frozen parameters, by code
    """

    codes: list[str]
    fixed: ValuesByCode = {}

    def by_code(self, values: Sequence[float]) -> ValuesByCode:
        """Return the values of a side with those of frozen parameters, by code."""
        return {**self.fixed, **dict(zip(self.codes, values, strict=True))}

    def in_order(self, codes: Sequence[str], values: Sequence[float]) -> Sequence[float]:
        """Return tuned values in the order of some codes, NaN for a code that is not among them."""
        if self.codes == codes:
            return values
        by_code = dict(zip(self.codes, values, strict=True))
        return [by_code.get(code, math.nan) for code in codes]


class TuneHistory(msgspec.Struct, omit_defaults=True):
    """The learning settings of a stored tune, and the traces of its edits.

    learning  the settings that the state was computed under
    slots     every parameter that the tune has ever had, in order of arrival; the place
              selects the parameter's random words in each iteration
    layouts   of tickets, the last one for new tickets
    starts    values at which the tuned parameters began, unless they are their starts
    left      last values of parameters that were tuned once and are not now
    earlier   see `Counting`
    """

    learning: LearningSettings
    slots: list[str]
    layouts: list[ValueOrder]
    starts: dict[str, float] = {}
    left: dict[str, float] = {}
    earlier: list[tuple[int, int]] = []

    @classmethod
    def begin(cls, learning: LearningSettings) -> TuneHistory:
        return cls(learning, [p.code for p in learning.parameters], [])

    @property
    def codes(self) -> list[str]:
        """Codes of the tuned parameters."""
        return [p.code for p in self.learning.tuned]

    def frozen_value(self, parameter: ParameterSettings) -> float:
        """Return the value of a frozen parameter: its last tuned value, or its start."""
        return parameter.clip(self.left.get(parameter.code, parameter.start))

    def removed(self) -> dict[str, float]:
        """Return the last values of parameters that left the control file, by code."""
        present = self.learning.by_code()
        return {code: value for code, value in self.left.items() if code not in present}

    def space(self) -> Space:
        return Space.of(
            [
                msgspec.structs.replace(p, start=p.clip(self.starts.get(p.code, p.start)))
                for p in self.learning.tuned
            ]
        )


class Iteration(msgspec.Struct, omit_defaults=True):
    """An iteration in progress.

    The ticket of a game has the values of both sides:

    k  the iteration                      g  the game's number in it, from 0
    p, m  values of θ⁺ and θ⁻             n  games of the iteration, if not 2
    l  the layout of the values, if not 0
    tc  the time control, with the setting `time_controls`
    r  the code of the opponent, if there are several

    plus, minus  the values of both sides, in the order of its layout
    result       W − L of θ⁺ so far
    games        completed games, of `size`
    layout       index in `TuneHistory.layouts`
    time_control  drawn from `time_controls`, "" without
    """

    plus: PlayedValues
    minus: PlayedValues
    result: float = 0.0
    games: int = 0
    size: int = 2
    layout: int = 0
    time_control: str = ""

    @classmethod
    def of(cls, ticket: Ticket) -> Iteration:
        """Return a game's iteration without any result."""
        size, layout, control = ticket.get("n", 2), ticket.get("l", 0), ticket.get("tc", "")
        return cls(ticket["p"], ticket["m"], size=size, layout=layout, time_control=control)

    def ticket(self, k: int, game: int) -> Ticket:
        """Return the ticket of a game, without its opponent."""
        ticket: Ticket = {"k": k, "g": game, "p": self.plus, "m": self.minus}
        if self.size != 2:
            ticket["n"] = self.size
        if self.layout:
            ticket["l"] = self.layout
        if self.time_control:
            ticket["tc"] = self.time_control
        return ticket


class Edit(msgspec.Struct):
    """An edit of the learning settings.

    completed, issued  iterations completed, and iterations with an issued game
    learning           the settings before the edit
    """

    completed: int
    issued: int
    learning: LearningSettings


class SpsaState(GameTuneState):
    """The state of a tune; only edits make it grow.

    iterations       completed ones
    next_iteration   the iteration of the next game, from 1
    next_game        the number of the next game within its iteration, from 0
    open             iterations in progress, by number
    """

    history: TuneHistory
    tuner: dict[str, Any]
    iterations: int = 0
    next_iteration: int = 1
    next_game: int = 0
    open: dict[str, Iteration] = msgspec.field(default_factory=dict)
    edits: list[Edit] = msgspec.field(default_factory=list)

    @property
    def method(self) -> str:
        return str(self.history.learning.settings["method"])

    @property
    def issued(self) -> int:
        """Number of iterations of which a game has been issued."""
        return self.next_iteration if self.next_game else self.next_iteration - 1


# the games: openings, colours, played values and tickets

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

    def sides(self, iteration: int, game: int) -> tuple[Side, Side]:
        """Return the sides of a game, first mover first."""
        side: Side = "-" if game % 2 else "+"
        if self.pairing == "self_play":
            return (side, "+" if side == "-" else "-")
        couples_before = ((iteration - 1) * self.size + game) // 2
        return ("=", side) if couples_before % 2 else (side, "=")

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


def draw_time_control(settings: Mapping[str, Any], k: int) -> str:
    """Return the time control of an iteration, drawn by weight; "" without any."""
    weights: dict[str, float] = settings.get("time_controls", {"": 1.0})
    bounds = list(accumulate(weights.values()))
    place = uniform(words(settings["seed"], TIME_CONTROLS_STREAM, k, 1)[0])
    return list(weights)[bisect(bounds, place * bounds[-1])]
