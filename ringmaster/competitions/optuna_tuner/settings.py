"""The settings of an optuna_tuner, and checks of their combinations."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

from ringmaster.competitions.common_settings import COMMON_SETTINGS
from ringmaster.competitions.tuning.candidates import TUNE_GAME_SETTINGS
from ringmaster.competitions.tuning.closing_match_settings import VERIFY
from ringmaster.competitions.tuning.opponents import Opponents, opponent_weights
from ringmaster.competitions.tuning.player_tune import MAKE_CANDIDATE
from ringmaster.competitions.tuning.searched_parameter import PARAMETER
from ringmaster.errors import SettingError, nearest, shown
from ringmaster.model.settings import (
    Boolean,
    Context,
    Float,
    Function,
    Identifier,
    Integer,
    ListOf,
    Maybe,
    OneOf,
    Setting,
    SettingPath,
)
from ringmaster.tuners.search.optuna_study import NEEDS, SAMPLERS
from ringmaster.tuners.search.space import Space


class _Sampler(OneOf):
    """The name of a sampler; an unknown one is answered with the nearest."""

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str) and value not in self.choices:
            return context.refuse(
                path, f"there is no sampler {shown(value)}", nearest(value, self.choices)
            )
        return super().interpret(value, path, context)


OPTUNA_SETTINGS: tuple[Setting, ...] = (
    *COMMON_SETTINGS,
    *TUNE_GAME_SETTINGS,
    Setting("player", Identifier(), "Code of the player to tune.", change="refused"),
    Setting(
        "parameters",
        ListOf(PARAMETER, minimum=1),
        "The parameters to tune.",
        change="refused",
    ),
    Setting(
        "sampler",
        _Sampler(*SAMPLERS),
        "Optuna's sampler, which proposes the candidates; a new one proposes the next trial.",
        "tpe",
    ),
    Setting(
        "number_of_trials",
        Integer(minimum=1, maximum=100_000),
        "Candidates, with the start values as the first.",
    ),
    Setting(
        "games_per_trial",
        Integer(minimum=2, maximum=10**6),
        "Games of a candidate that is not ended early; an even number.",
        40,
    ),
    Setting(
        "opponent",
        Maybe(Opponents()),
        "Code of the candidates' opponent; or several codes, as a list or as a dictionary of "
        "code to weight.  By default the player with the start values.",
        None,
        change="refused",
    ),
    Setting(
        "end_hopeless",
        Maybe(Float(above=0, maximum=0.5)),
        "Largest probability of ending a candidate early although it scores as much as the best "
        "estimate at its beginning; None: end none.",
        0.05,
    ),
    Setting(
        "constraint",
        Maybe(
            Function(
                "a function that takes parameter values by name and returns whether to play them",
                result=Boolean(),
            )
        ),
        "Function that refuses candidates by returning False; others are drawn instead.",
        None,
    ),
    MAKE_CANDIDATE,
    Setting("verify", Maybe(VERIFY), "The closing match.", None),
)


def check_numbers(values: Mapping[str, Any]) -> Iterator[SettingError]:
    """Yield errors in the numbers of games."""
    games = values["games_per_trial"]
    if games % 2:
        yield SettingError(
            ("games_per_trial",), f"{games} is odd", "an even number: games are played in pairs"
        )


def check_sampler(sampler: str, space: Space) -> Iterator[SettingError]:
    """Yield errors of a sampler that cannot search a space."""
    if sampler == "cmaes" and len(_numbers(space)) < 2:
        yield SettingError(
            ("sampler",),
            "'cmaes' needs two or more numbers to tune; choices, parameters with only_if and "
            "frozen ones do not count",
            "'tpe'",
        )


def check_packages(sampler: str) -> None:
    """Raise SettingError for a missing package."""
    needed = ["optuna", NEEDS.get(sampler, "optuna")]
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if not missing:
        return
    # torch is too large for an extra
    install = "torch" if missing == ["torch"] else "'ringmaster-engines[tuners]'"
    raise SettingError(
        ("sampler",),
        f"{sampler!r} needs {missing[0]}, which is not installed: pip install {install}",
    )


def doubts(values: Mapping[str, Any], space: Space) -> Iterator[str]:
    """Yield warnings about settings that work otherwise than they seem to."""
    sampler = values["sampler"]
    outside = []
    if sampler == "cmaes":
        numbers = _numbers(space)
        outside = [space.dimensions[i].code for i in space.searched if i not in numbers]
    elif sampler in ("gp", "nsga2", "qmc"):
        outside = [space.dimensions[i].code for i in space.searched if space.dimensions[i].only_if]
    if outside:
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


def _numbers(space: Space) -> list[int]:
    """Return the indices of numbers that every candidate has."""
    return [
        i
        for i in space.searched
        if not space.dimensions[i].choices and not space.dimensions[i].conditional
    ]
