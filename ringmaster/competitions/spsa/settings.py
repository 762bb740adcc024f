"""The settings of an spsa competition, and checks of their combinations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import astuple

from ringmaster.competitions.common_settings import TIME_CONTROL, check_player, contradiction
from ringmaster.competitions.setting_types import flag, one_of, optional
from ringmaster.competitions.spsa.methods import DEFAULTS
from ringmaster.competitions.tuning.closing_match_settings import PairedGames
from ringmaster.competitions.tuning.opponents import Opponents
from ringmaster.competitions.tuning.parameter_settings import (
    BINDING,
    BOUNDS,
    GAINS,
    ON_SCALE,
    build_parameter,
)
from ringmaster.competitions.tuning.player_tune import tune_settings
from ringmaster.errors import SettingError
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import PROTOCOL_OF_GAME, Player
from ringmaster.model.settings import (
    INVALID,
    CallOf,
    Context,
    DictOf,
    Float,
    Integer,
    OneOf,
    Setting,
    SettingPath,
    String,
)
from ringmaster.model.time_control import TimeControl

PARAMETER = CallOf(
    "Parameter",
    (
        *BOUNDS,
        *GAINS,
        ON_SCALE,
        *BINDING,
        optional(
            "step",
            Float(above=0),
            'Of "weather_factory": scale of the perturbations; by default chosen so that the '
            "last one is c_end.",
        ),
        optional("comment", String(), "Comment in parameter files.", change="report"),
        flag(
            "not_used",
            "Keep it for parameter files only, neither tuned nor sent to engines: "
            "``[[NOT USED]]`` in a ``.params``.",
        ),
    ),
    build_parameter,
    positional=("code", "start", "min", "max", "c_end", "r_end"),
)


ANNEALING = CallOf(
    "Annealing",
    (
        Setting("s", Float(minimum=1, maximum=1e6), "Factor of the perturbations.", 1.0),
        Setting("epsilon", Float(minimum=1, maximum=1e6), "Factor of epsilon.", 1.0),
        Setting(
            "games",
            Integer(minimum=1, maximum=10**9),
            "Games over which the factors fall exponentially to 1.",
        ),
    ),
    lambda values, context: values,
)


#: Equal time controls have the same text: "60" and "1:00".
_CONTROL_TEXT = dataclasses.replace(
    TIME_CONTROL, build=lambda values, context: str(TimeControl.parse(values["text"]))
)


class _Weight(Float):
    def describe(self) -> str:
        return "a weight above 0; leave out a time control that no game shall have"


class _TimeControls(DictOf):
    """Weights by time control, at least one; the shortest first, whatever their order."""

    def describe(self) -> str:
        return "time controls with weights, such as {'8+0.08': 0.7, '40+0.4': 0.3}"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        weights = super().interpret(value, path, context)
        if weights == {}:
            return context.refuse(path, "it is empty", self.describe())
        if weights is INVALID:
            return INVALID
        return dict(sorted(weights.items(), key=lambda item: astuple(TimeControl.parse(item[0]))))


SPSA_SETTINGS = tune_settings(
    PARAMETER,
    optional(
        "number_of_games",
        PairedGames(minimum=2, maximum=10**9),
        'Games of the tune; method "constant" can derive the number.',
    ),
    Setting(
        "games_per_iteration",
        PairedGames(minimum=2, maximum=10**6),
        "Games with the same perturbation; an even number.",
        2,
    ),
    optional(
        "time_controls",
        _TimeControls(_CONTROL_TEXT, _Weight(minimum=1e-9, maximum=1e9)),
        "Clocks of both sides with weights, instead of other limits: each iteration draws one.",
    ),
    one_of(
        "pairing",
        ("self_play", "reference"),
        "Whether the two sides of an iteration play each other, or both play the opponent.",
        change="refused",
    ),
    optional(
        "opponent",
        Opponents(),
        'With pairing "reference": code of the opponent; or several codes, as a list or as a '
        "dictionary of code to weight.",
        change="refused",
    ),
    one_of(
        "method",
        ("adaptive", "classic", "constant", "blog", "weather_factory"),
        "The method, which chooses the perturbations and learns from results.",
    ),
    optional(
        "alpha",
        Float(minimum=0, maximum=10),
        'Exponent of the step gain; by default 0.602, with "weather_factory" 0.601.',
    ),
    optional(
        "gamma",
        Float(minimum=0, maximum=10),
        'Exponent of the perturbation; by default 0.101, with "weather_factory" 0.102.',
    ),
    optional(
        "A",
        Float(minimum=0, maximum=1e12),
        "Stability constant, in units of k; by default A_ratio times the tune's length, with "
        '"weather_factory" 100000.',
    ),
    optional(
        "A_ratio",
        Float(minimum=0, maximum=1000),
        'Of "classic", instead of A: the stability constant as a fraction of the tune; by '
        "default 0.1.",
    ),
    optional(
        "k_counts",
        OneOf("iterations", "pairs", "games"),
        'Unit of k in the gain sequences; by default iterations, with "weather_factory" games.',
    ),
    optional(
        "update",
        OneOf("realised", "nominal"),
        "Whether a result moves θ by the difference that was played, or by the difference "
        "before clipping and rounding; by default realised.  Not for "
        '"adaptive".',
    ),
    one_of(
        "rounding",
        ("stochastic", "nearest"),
        "Rounding of integer parameters: with the same random number for both sides, or "
        "each side to the nearest integer.",
    ),
    one_of(
        "estimate",
        ("auto", "last", "mean"),
        "The estimate: chosen by the method or a drift test, the last θ, or the mean of θ over "
        "the last half.",
        change="report",
    ),
    optional(
        "epsilon",
        Float(above=0, maximum=1000),
        'Of "blog": ε; a win moves θ by ε/2 of the perturbation; by default 0.0002.',
    ),
    optional("annealing", ANNEALING, 'Of "blog": the decrease of s and ε.'),
    optional(
        "elo_per_parameter",
        Float(above=0, maximum=1000),
        'Of "constant": Elo lost at half a range from the optimum; by default 2.',
    ),
    optional(
        "precision",
        Float(above=0, maximum=1000),
        'Of "constant": largest Elo loss at the end of 95 % of all tunes; by default 0.5.',
    ),
    optional(
        "draw_ratio",
        Float(minimum=0, maximum=0.99),
        'Of "constant": the share of drawn games; by default 0.61.',
    ),
    optional(
        "a",
        Float(above=0, maximum=1e6),
        'Of "weather_factory": factor of the step gain; by default 1.',
    ),
    optional(
        "c",
        Float(above=0, maximum=1e6),
        'Of "weather_factory": factor of the perturbation; by default 1.',
    ),
)


#: Reasons why an argument of Parameter(…) has no effect, by method.  They are no errors,
#: since parameter files contain every argument.
_UNUSED_ARGUMENTS: dict[str, dict[str, str]] = {
    "adaptive": {"r_end": "finds its own steps", "step": "takes c_end, or finds its own"},
    "classic": {"step": "takes c_end"},
    "constant": {"step": "takes c_end, or a sixth of the range"},
    "blog": {"step": "takes c_end"},
    "weather_factory": {"r_end": "has the same for all, of a and c"},
}


def wrong_settings(values: Mapping[str, Any]) -> Iterator[SettingError]:
    """Yield settings that contradict each other, or that the method lacks."""
    method, games, size = (
        values[name] for name in ("method", "number_of_games", "games_per_iteration")
    )
    for name in sorted({name for own in DEFAULTS.values() for name in own}):
        if values[name] is None or name in DEFAULTS[method]:
            continue
        others = [repr(other) for other, own in DEFAULTS.items() if name in own]
        text = f"{name} has no meaning with method {method!r}"
        expected = f"the file without it, or method = {' or '.join(others)}"
        yield SettingError((name,), text, expected)
    if values["A"] is not None and values["A_ratio"] is not None and method == "classic":
        text = "A and A_ratio both set the stability constant"
        yield SettingError(("A_ratio",), text, "one of them")
    if games is None and method != "constant":
        expected = "an integer (only method 'constant' can derive it)"
        yield SettingError(("number_of_games",), "'number_of_games' is missing", expected)
    elif games is not None and games % size:
        text = f"{games} is not a multiple of games_per_iteration ({size})"
        less = games // size * size
        expected = f"{less} or {less + size}" if less else f"{size}"
        yield SettingError(("number_of_games",), text, expected)
    needed = {"classic": ("c_end",), "blog": ("c_end",), "weather_factory": ("step", "c_end")}
    for i, parameter in enumerate(values["parameters"]):
        names = needed.get(method, ())
        if names and not parameter.frozen and all(getattr(parameter, n) is None for n in names):
            text = f"parameter {parameter.code!r}: {names[0]!r} is missing"
            expected = f"a number for method {method!r}, or method = 'adaptive', which needs none"
            yield SettingError(("parameters", i, names[0]), text, expected)
    self_play = values["pairing"] == "self_play"
    if self_play and values["opponent"] is not None:
        text = "opponent has no meaning with pairing 'self_play'"
        yield SettingError(("opponent",), text, "pairing = 'reference' as well")
    if not self_play and values["opponent"] is None:
        text = "'opponent' is missing"
        yield SettingError(("opponent",), text, "the code of a player to play against")
    controls = values["time_controls"] or ()
    if controls and (error := contradiction(values)):
        yield error
    for control in controls:
        try:
            check_player(Player("", (), PROTOCOL_OF_GAME[values["game"]]).at_time_control(control))
        except SettingError as wrong:
            yield SettingError(("time_controls", control), wrong.message, wrong.expected)


def unused_arguments(name: str, parameters: Sequence[TunedParameter]) -> list[str]:
    """Return a warning for each argument of Parameter(…) that the method ignores."""
    lines = []
    for argument, why in _UNUSED_ARGUMENTS[name].items():
        if any(getattr(p, argument) is not None for p in parameters):
            lines.append(f"{argument} has no effect with method {name!r}, which {why}")
    both = [p.code for p in parameters if p.step is not None and p.c_end is not None]
    if name == "weather_factory" and both:
        lines.append("c_end has no effect beside step with method 'weather_factory'")
    return lines
