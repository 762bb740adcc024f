"""The settings of an optuna_tuner, and checks of their combinations.

Parameters are numbers on a plain, stepped or logarithmic scale, or choices; they may depend on
a choice.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.setting_types import one_of, optional
from ringmaster.competitions.tuning.closing_match_settings import PairedGames
from ringmaster.competitions.tuning.opponents import Opponents, opponent_weights
from ringmaster.competitions.tuning.parameter_settings import (
    ON_SCALE,
    PLAYED_BINDING,
    Choices,
    check_codes,
    checked_parameter,
    wrong_argument,
)
from ringmaster.competitions.tuning.player_tune import tune_settings
from ringmaster.errors import SettingError, nearest, shown
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import OptionValue
from ringmaster.model.settings import (
    Boolean,
    CallOf,
    Context,
    DictOf,
    Float,
    Function,
    Integer,
    ListOf,
    Maybe,
    Scalar,
    Setting,
    SettingPath,
    SettingType,
    String,
)
from ringmaster.tuners.search.optuna_study import NEEDS, SAMPLERS
from ringmaster.tuners.search.space import Dimension, Space

#: Significant digits of a played number without a step; no tune is more precise.
DIGITS = 6
#: Rounding error of a multiple of a step, in steps.
_ROUNDING = 1e-6
#: Arguments that only numbers have.
_OF_NUMBERS = ("min", "max", "step", "scale", "integer", "format", "transform")


class SearchedParameter(TunedParameter, frozen=True):
    """A parameter of an optuna_tuner.  The value of a choice is its index.

    only_if  it exists only if each of these parameters (by code) has one of these choices
    """

    only_if: Mapping[str, tuple[OptionValue, ...]] = msgspec.field(default_factory=dict)

    @property
    def choices(self) -> Choices | None:
        """The choices, None for a number."""
        return self.transform if isinstance(self.transform, Choices) else None

    @property
    def spacing(self) -> float:
        return self.step or super().spacing

    def canonical(self) -> dict[str, Any]:
        data = super().canonical()
        if self.choices is not None:
            for name in _OF_NUMBERS:
                del data[name]
            data["start"] = self.choices(self.start)
            data["choices"] = list(self.choices.choices)
        return data

    def played_value(self, value: float) -> int | float:
        if self.integer:
            return super().played_value(value)
        if self.step is not None:
            steps = math.floor((value - self.minimum) / self.step + 0.5)
            return self.clip(float(f"{self.minimum + steps * self.step:.12g}"))
        return self.clip(float(f"{value:.{DIGITS}g}"))

    def shown(self, value: int | float) -> Any:
        """Return a played value for people: a choice instead of its index."""
        return value if self.choices is None else self.choices(value)


class _Alternatives(SettingType):
    def describe(self) -> str:
        return "a value, or a list of values"

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        listed = value if isinstance(value, list | tuple) else [value]
        return ListOf(Scalar(), minimum=1).interpret(listed, path, context)


def _build(values: dict[str, Any], context: Context) -> SearchedParameter:
    given = {name: value for name, value in values.items() if name != "choices"}
    given["only_if"] = values["only_if"] or {}
    if values["choices"] is not None:
        choices = Choices(values["choices"])
        given |= {"start": _index_of_start(values, choices), "integer": True, "transform": choices}
        return checked_parameter(
            SearchedParameter, {**given, "min": 0, "max": len(choices.choices) - 1}
        )
    code, start = values["code"], values["start"]
    for name in ("min", "max"):
        if values[name] is None:
            expected = "a number; or choices for a parameter without a range"
            raise wrong_argument(code, name, f"{name!r} is missing", expected)
    if isinstance(start, bool | str):
        expected = "a number; or choices, such as choices=[True, False]"
        raise wrong_argument(code, "start", f"start {shown(start)} is not a number", expected)
    built = checked_parameter(SearchedParameter, given)
    _check_step(built)
    return built


def _index_of_start(values: Mapping[str, Any], choices: Choices) -> int:
    """Return the index of the start.  Raises SettingError for arguments beside choices."""
    code, start = values["code"], values["start"]
    for name in _OF_NUMBERS:
        if values[name] not in (None, False, "linear"):
            raise wrong_argument(code, name, f"{name} has no meaning beside choices", "one of them")
    for i, choice in enumerate(choices.choices):
        if choices.index(choice) != i:
            error = wrong_argument(code, "choices", f"the choice {shown(choice)} is listed twice")
            raise SettingError(("choices", i), error.message)
    index = choices.index(start)
    if index is None:
        expected = f"one of {', '.join(map(repr, choices.choices))}"
        raise wrong_argument(
            code, "start", f"start {shown(start)} is not among its choices", expected
        )
    return index


def _check_step(p: SearchedParameter) -> None:
    """Raise SettingError for a step that does not fit the range or the scale."""
    low, step = p.minimum, p.step
    if step is None:
        return
    if p.scale == "log":
        text = "a step excludes a logarithmic scale"
        raise wrong_argument(p.code, "step", text, "one of them")
    if p.integer and step != int(step):
        raise wrong_argument(p.code, "step", f"a step of {step:g} is not an integer", "an integer")
    for name, value in (("max", p.maximum), ("start", p.start)):
        steps = (value - low) / step
        if abs(steps - round(steps)) > _ROUNDING:
            below = low + math.floor(steps) * step
            text = f"{name} {value:g} is not a whole number of steps of {step:g} above min {low:g}"
            raise wrong_argument(p.code, name, text, f"{below:g} or {below + step:g}")


PARAMETER = CallOf(
    "Parameter",
    (
        Setting("code", String(), "Name; also of the engine option, unless set otherwise."),
        Setting("start", Scalar(), "Start value: a number, or one of the choices."),
        optional("min", Float(), "Smallest value."),
        optional("max", Float(), "Largest value."),
        optional(
            "step",
            Float(above=0),
            "Distance of neighbouring values, counted from min; by default any number, or 1 for "
            "whole numbers.",
        ),
        ON_SCALE,
        optional(
            "choices",
            ListOf(Scalar(), minimum=2),
            "Values without an order, instead of a range: texts, numbers or truth values.",
        ),
        optional(
            "only_if",
            DictOf(String(), _Alternatives()),
            'Choices of earlier parameters that it depends on, such as ``{"style": "risky"}`` or '
            '``{"style": ["risky", "mad"]}``.  Other candidates do not have it: its option '
            "stays at the engine's default, and make_candidate gets None.",
        ),
        *PLAYED_BINDING,
    ),
    _build,
    positional=("code", "start", "min", "max"),
)


def check_parameters(parameters: Sequence[SearchedParameter]) -> Iterator[SettingError]:
    yield from check_codes(parameters)
    #: Choices of the parameters above the one that is checked.
    above: dict[str, Choices] = {}
    for i, p in enumerate(parameters):
        for code, wanted in p.only_if.items():
            path: SettingPath = ("parameters", i, "only_if", code)
            head = f"parameter {p.code!r} depends on {code!r}"
            if code not in above:
                expected = nearest(code, list(above)) if above else "such a parameter"
                text = f"{head}, which is not a parameter with choices above it"
                yield SettingError(path, text, expected)
                continue
            known = ", ".join(map(repr, above[code].choices))
            for value in wanted:
                if above[code].index(value) is None:
                    text = f"{head}, which never is {shown(value)}"
                    yield SettingError(path, text, f"one of {known}")
        if p.choices is not None:
            above[p.code] = p.choices


def space_of(parameters: Sequence[SearchedParameter]) -> Space:
    places = {p.code: (i, p.choices) for i, p in enumerate(parameters)}
    dimensions = []
    for p in parameters:
        conditions = []
        for code, wanted in p.only_if.items():
            place, choices = places[code]
            indices = [choices.index(value) for value in wanted] if choices else []
            conditions.append((place, tuple(index for index in indices if index is not None)))
        dimensions.append(
            Dimension(
                p.code,
                p.played_value(p.start),
                p.minimum,
                p.maximum,
                integer=p.integer,
                log=p.scale == "log",
                step=p.step,
                choices=p.choices is not None,
                fixed=p.frozen,
                only_if=tuple(conditions),
            )
        )
    return Space(tuple(dimensions))


OPTUNA_SETTINGS = tune_settings(
    PARAMETER,
    one_of(
        "sampler",
        SAMPLERS,
        "Optuna's sampler, which proposes the candidates; a new one proposes the next trial.",
    ),
    Setting(
        "number_of_trials",
        Integer(minimum=1, maximum=100_000),
        "Candidates, with the start values as the first.",
    ),
    Setting(
        "games_per_trial",
        PairedGames(minimum=2, maximum=10**6),
        "Games of a candidate that is not ended early; an even number.",
        40,
    ),
    optional(
        "opponent",
        Opponents(),
        "Code of the candidates' opponent; or several codes, as a list or as a dictionary of "
        "code to weight.  By default the player with the start values.",
        change="refused",
    ),
    Setting(
        "end_hopeless",
        Maybe(Float(above=0, maximum=0.5)),
        "Largest probability of ending a candidate early although it scores as much as the best "
        "estimate at its beginning; None: end none.",
        0.05,
    ),
    optional(
        "constraint",
        Function(
            "a function that takes parameter values by name and returns whether to play them",
            result=Boolean(),
        ),
        "Function that refuses candidates by returning False; others are drawn instead.",
    ),
    change="refused",
)


def _drawn_at_random(sampler: str, space: Space) -> list[str]:
    """Return the codes of parameters that a sampler knows nothing about."""
    plain = sampler in ("cmaes", "gp", "nsga2", "qmc")
    searched = [space.dimensions[i] for i in space.searched]
    return [d.code for d in searched if (plain and d.only_if) or (sampler == "cmaes" and d.choices)]


def check_sampler(sampler: str, space: Space) -> Iterator[SettingError]:
    """Yield errors of a sampler that cannot search a space."""
    if sampler == "cmaes" and len(space.searched) - len(_drawn_at_random(sampler, space)) < 2:
        yield SettingError(
            ("sampler",),
            "'cmaes' needs two or more numbers to tune; choices, parameters with only_if and "
            "frozen ones do not count",
            "'tpe'",
        )


def check_packages(sampler: str) -> None:
    needed = ["optuna", "sklearn", NEEDS.get(sampler, "optuna")]
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if not missing:
        return
    # torch is too large for an extra
    install = "torch" if missing == ["torch"] else "'ringmaster-engines[tuners]'"
    raise SettingError(
        ("sampler",),
        f"an optuna_tuner with {sampler!r} needs {missing[0]}, which is not installed: "
        f"pip install {install}",
    )


def doubts(values: Mapping[str, Any], space: Space) -> Iterator[str]:
    """Yield warnings about settings that work otherwise than they seem to."""
    sampler = values["sampler"]
    if outside := _drawn_at_random(sampler, space):
        yield (
            f"sampler {sampler!r} draws {', '.join(outside)} at random: it knows "
            f"{'numbers' if sampler == 'cmaes' else 'parameters'} without only_if alone; "
            "'tpe' learns all"
        )
    cycle = 2 * sum(opponent_weights(values).values())
    games = values["games_per_trial"]
    if cycle and games % cycle:
        yield (
            f"games_per_trial {games} is not a multiple of {cycle}: candidates meet some opponents "
            "more often than their weights say"
        )
