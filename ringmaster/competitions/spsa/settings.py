"""The settings of an spsa event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ringmaster.competitions.candidates import TUNE_GAME_SETTINGS
from ringmaster.competitions.closing_match import VERIFY
from ringmaster.competitions.common import COMMON_SETTINGS
from ringmaster.competitions.players import PLAYER
from ringmaster.errors import SettingError
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.settings import (
    Boolean,
    CallOf,
    Context,
    Float,
    Function,
    Identifier,
    Integer,
    ListOf,
    Maybe,
    OneOf,
    Setting,
    String,
)

#: The ways in which an engine is given a parameter: at most one for each.
DELIVERIES = ("option", "gtp", "argument", "environ")


def _build_parameter(values: dict[str, Any], context: Context) -> TunedParameter:
    low, high, start = values["min"], values["max"], values["start"]
    code = values["code"]
    if not code:
        raise SettingError(("code",), "a parameter must have a name")
    if low > high:
        raise SettingError(("min",), f"parameter {code!r}: min {low:g} is more than max {high:g}")
    if low == high:
        raise SettingError(("min",), f"parameter {code!r}: min and max are both {low:g}")
    if not max(1e-60, 1e-9 * max(-low, high)) < high - low < 1e60:
        raise SettingError(
            ("min",), f"parameter {code!r}: a range of {high - low:g} cannot be calculated with"
        )
    if not low <= start <= high:
        raise SettingError(
            ("start",),
            f"parameter {code!r}: start {start:g} is outside its bounds",
            f"a number from {low:g} to {high:g}",
        )
    if values["integer"]:
        for name in ("min", "max"):
            if values[name] != int(values[name]):
                raise SettingError(
                    (name,), f"parameter {code!r}: {values[name]:g} is not an integer", "an integer"
                )
    if values["c_end"] is not None and values["c_end"] > (high - low) / 2:
        raise SettingError(
            ("c_end",),
            f"parameter {code!r}: c_end {values['c_end']:g} is more than half the range",
            f"at most {(high - low) / 2:g}",
        )
    given = [name for name in DELIVERIES if values[name] is not None]
    if len(given) > 1:
        raise SettingError(
            (given[1],),
            f"parameter {code!r} is given to engines in two ways, {given[0]} and {given[1]}",
            "one of them",
        )
    names = {"min": "minimum", "max": "maximum"}
    return TunedParameter(**{names.get(name, name): value for name, value in values.items()})


PARAMETER = CallOf(
    "Parameter",
    (
        Setting("code", String(), "Name; also the engine option's, unless another way is given."),
        Setting("start", Float(), "Value to start from.", change="report"),
        Setting("min", Float(), "Smallest value."),
        Setting("max", Float(), "Largest value."),
        Setting(
            "c_end",
            Maybe(Float(above=0)),
            "Perturbation at the last iteration; methods that can do without find their own.",
            None,
        ),
        Setting(
            "r_end",
            Maybe(Float(above=0, maximum=1000)),
            'Relative apply factor at the last iteration; with "classic" by default 0.002, '
            'with "blog" 1, a factor of epsilon.',
            None,
        ),
        Setting("integer", Boolean(), "Whether engines take whole numbers only.", False),
        Setting("option", Maybe(String()), "Name of the UCI or USI option.", None),
        Setting(
            "gtp",
            Maybe(String()),
            'GTP command that gives the value before each game, as "param mobility %s".',
            None,
        ),
        Setting(
            "argument",
            Maybe(String()),
            'Words for the command line, as "--mobility=%s".',
            None,
        ),
        Setting("environ", Maybe(String()), "Name of an environment variable.", None),
        Setting(
            "format",
            Maybe(String()),
            'How engines and reports are given the value, as "%.3f".',
            None,
        ),
        Setting(
            "transform",
            Maybe(Function("a function of a number")),
            "From the value to what the engine gets; by default they are the same.",
            None,
        ),
        Setting("frozen", Boolean(), "Whether it is left as it is.", False),
        Setting(
            "step",
            Maybe(Float(above=0)),
            'Of "weather_factory": measure of its perturbations; by default what makes '
            "c_end of the last one.",
            None,
        ),
    ),
    _build_parameter,
    positional=("code", "start", "min", "max", "c_end", "r_end"),
)


@dataclass(frozen=True)
class AnnealingSettings:
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
        Maybe(Identifier()),
        'With pairing "reference": code of the opponent.',
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
    Setting(
        "make_candidate",
        Maybe(
            Function(
                "a function that takes parameter values by name and returns a Player",
                result=PLAYER,
            )
        ),
        "Makes a player from parameter values; by default they are engine options.",
        None,
    ),
    Setting("verify", Maybe(VERIFY), "The closing match.", None),
)
