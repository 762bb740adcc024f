"""The settings of an spsa event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ringmaster.competitions.candidates import TUNE_GAME_SETTINGS
from ringmaster.competitions.closing_match import VERIFY
from ringmaster.competitions.common import COMMON_SETTINGS
from ringmaster.competitions.player_tune import MAKE_CANDIDATE
from ringmaster.competitions.tuned_parameters import (
    BOUNDS,
    DELIVERY,
    GAINS,
    ROW,
    build_parameter,
)
from ringmaster.model.settings import (
    INVALID,
    CallOf,
    Context,
    DictOf,
    Float,
    Identifier,
    Integer,
    ListOf,
    Maybe,
    OneOf,
    Setting,
    SettingPath,
    SettingType,
)
from ringmaster.model.wording import shown

PARAMETER = CallOf(
    "Parameter",
    (
        *BOUNDS,
        *GAINS,
        *DELIVERY,
        Setting(
            "step",
            Maybe(Float(above=0)),
            'Of "weather_factory": measure of its perturbations; by default what makes '
            "c_end of the last one.",
            None,
        ),
        *ROW,
    ),
    build_parameter,
    positional=("code", "start", "min", "max", "c_end", "r_end"),
)


class AnnealingSettings(msgspec.Struct, frozen=True):
    """Annealing(…) of a control file: factors at the first game, and the games over
    which they go down to 1."""

    s: float
    epsilon: float
    games: int


ANNEALING = CallOf(
    "Annealing",
    (
        Setting("s", Float(minimum=1, maximum=1e6), "Factor of the perturbations.", 1.0),
        Setting("epsilon", Float(minimum=1, maximum=1e6), "Factor of epsilon.", 1.0),
        Setting(
            "games",
            Integer(minimum=1, maximum=10**9),
            "Games in which the factors go down to 1, exponentially.",
        ),
    ),
    lambda values, context: AnnealingSettings(**values),
)


class Opponents(SettingType):
    """A player code, or several with weights: a list, or a dictionary of code to weight.
    One code stays as it is; several become a dictionary."""

    _CODE = Identifier()
    _WEIGHTS = DictOf(_CODE, Integer(minimum=1, maximum=1000))

    def describe(self) -> str:
        return "a player code, a list of them, or a dictionary of player code to weight"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str):
            return self._CODE.interpret(value, path, context)
        if isinstance(value, list | tuple):
            codes = [
                self._CODE.interpret(code, (*path, i), context) for i, code in enumerate(value)
            ]
            if INVALID in codes:
                return INVALID
            twice = next((code for i, code in enumerate(codes) if code in codes[:i]), None)
            if twice is not None:
                return context.refuse(
                    path, f"{twice!r} is there twice", f"{{{twice!r}: 2, …}} for a weight of 2"
                )
            value = dict.fromkeys(codes, 1)
        if not isinstance(value, Mapping):
            return context.refuse(path, f"{shown(value)} is no player code", self.describe())
        if not value:
            return context.refuse(path, "there is no opponent in it", self.describe())
        return self._WEIGHTS.interpret(value, path, context)


#: Every setting of the type.
SPSA_SETTINGS: tuple[Setting, ...] = (
    *COMMON_SETTINGS,
    *TUNE_GAME_SETTINGS,
    Setting("player", Identifier(), "Code of the player to tune.", change="refused"),
    Setting(
        "parameters",
        ListOf(PARAMETER, minimum=1),
        "What is tuned.",
    ),
    Setting(
        "number_of_games",
        Maybe(Integer(minimum=2, maximum=10**9)),
        'Games of the tune; method "constant" finds out how many are needed.',
        None,
    ),
    Setting(
        "games_per_iteration",
        Integer(minimum=2, maximum=10**6),
        "Games with the same perturbation, an even number.",
        2,
    ),
    Setting(
        "pairing",
        OneOf("self_play", "reference"),
        "Whether the two sides of an iteration play each other, or each the opponent.",
        "self_play",
        change="refused",
    ),
    Setting(
        "opponent",
        Maybe(Opponents()),
        'With pairing "reference": code of the opponent; or of several, a list, or a dictionary '
        "of code to weight.",
        None,
        change="refused",
    ),
    Setting(
        "method",
        OneOf("adaptive", "classic", "constant", "blog", "weather_factory"),
        "How far to perturb, and what to learn from a result.",
        "adaptive",
    ),
    Setting(
        "alpha",
        Maybe(Float(minimum=0, maximum=10)),
        'Exponent of the step gain; by default 0.602, with "weather_factory" 0.601.',
        None,
    ),
    Setting(
        "gamma",
        Maybe(Float(minimum=0, maximum=10)),
        'Exponent of the perturbation; by default 0.101, with "weather_factory" 0.102.',
        None,
    ),
    Setting(
        "A",
        Maybe(Float(minimum=0, maximum=1e12)),
        "Stability constant, in what k counts; by default A_ratio of all, with "
        '"weather_factory" 100000.',
        None,
    ),
    Setting(
        "A_ratio",
        Maybe(Float(minimum=0, maximum=1000)),
        'Of "classic", in the place of A: the stability constant as a part of the whole tune; '
        "by default 0.1.",
        None,
    ),
    Setting(
        "k_counts",
        Maybe(OneOf("iterations", "pairs", "games")),
        'What k counts in the gain sequences; by default iterations, with "weather_factory" games.',
        None,
    ),
    Setting(
        "update",
        Maybe(OneOf("realised", "nominal")),
        "Whether a result moves θ by the difference that was really played, or by that of "
        "the formulas, before clipping and rounding; by default realised.  Not for "
        '"adaptive".',
        None,
    ),
    Setting(
        "rounding",
        OneOf("stochastic", "nearest"),
        "How integer parameters are rounded: with the same random number for both sides, or "
        "each side to its nearest.",
        "stochastic",
    ),
    Setting(
        "estimate",
        OneOf("auto", "last", "mean"),
        "What is made of a tune: what the method says or a drift test chooses, the last θ, or "
        "its mean over the last half.",
        "auto",
        change="report",
    ),
    Setting(
        "epsilon",
        Maybe(Float(above=0, maximum=1000)),
        'Of "blog": ε, twice the part of the perturbation that a win moves θ by; by default '
        "0.0002.",
        None,
    ),
    Setting("annealing", Maybe(ANNEALING), 'Of "blog": how s and ε come down.', None),
    Setting(
        "elo_per_parameter",
        Maybe(Float(above=0, maximum=1000)),
        'Of "constant": Elo lost half a range from the optimum; by default 2.',
        None,
    ),
    Setting(
        "precision",
        Maybe(Float(above=0, maximum=1000)),
        'Of "constant": Elo lost at the end, in 95 % of all tunes; by default 0.5.',
        None,
    ),
    Setting(
        "draw_ratio",
        Maybe(Float(minimum=0, maximum=0.99)),
        'Of "constant": the share of drawn games; by default 0.61.',
        None,
    ),
    Setting(
        "a",
        Maybe(Float(above=0, maximum=1e6)),
        'Of "weather_factory": factor of the step gain; by default 1.',
        None,
    ),
    Setting(
        "c",
        Maybe(Float(above=0, maximum=1e6)),
        'Of "weather_factory": factor of the perturbation; by default 1.',
        None,
    ),
    MAKE_CANDIDATE,
    Setting("verify", Maybe(VERIFY), "The closing match.", None),
)
