"""The stored state of a tune: learning settings, iterations in progress, results and edits.

Results are learned under the settings under which their games were played.  The state
therefore keeps these settings, whatever the control file says later.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.spsa.methods import DEFAULTS, AnnealingSettings
from ringmaster.competitions.tuning.parameter_settings import ValuesByCode
from ringmaster.competitions.tuning.player_tune import GameTuneState
from ringmaster.model.parameters import Scale, TunedParameter
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


class ParameterSettings(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The arguments of Parameter(…) that a tune learns by."""

    code: str
    start: float
    minimum: float
    maximum: float
    c_end: float | None = None
    r_end: float | None = None
    step: float | None = None
    integer: bool = False
    scale: Scale = "linear"
    frozen: bool = False

    @classmethod
    def of(cls, parameter: TunedParameter) -> ParameterSettings:
        """Return the learning part of a parameter."""
        return cls(**{name: getattr(parameter, name) for name in cls.__struct_fields__})

    def parameter(self) -> TunedParameter:
        """Return a parameter with these arguments only."""
        return TunedParameter(**msgspec.structs.asdict(self))

    def clip(self, value: float) -> float:
        """Return the nearest value within the bounds."""
        return min(max(value, self.minimum), self.maximum)


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
        """Return all parameters by code."""
        return {p.code: p for p in self.parameters}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> LearningSettings:
        """Return the learning part of a control file's settings."""
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
        annealing = self.settings.get("annealing")
        return {
            **dict.fromkeys(LEARNING_SETTINGS),
            **self.settings,
            "annealing": annealing and AnnealingSettings(**annealing),
            "parameters": tuple(p.parameter() for p in self.parameters),
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
        """Return the history of a new tune."""
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
        """Return the space of the tuned parameters."""
        return Space.of(
            [
                msgspec.structs.replace(
                    p.parameter(), start=p.clip(self.starts.get(p.code, p.start))
                )
                for p in self.learning.tuned
            ]
        )


class Iteration(msgspec.Struct, omit_defaults=True):
    """An iteration in progress.

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
        """Name of the method."""
        return str(self.history.learning.settings["method"])

    @property
    def issued(self) -> int:
        """Number of iterations of which a game has been issued."""
        return self.next_iteration if self.next_game else self.next_iteration - 1
