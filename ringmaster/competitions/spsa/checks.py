"""What of an spsa event's settings does not go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ringmaster.competitions.players import find_player
from ringmaster.competitions.spsa.methods import DEFAULTS
from ringmaster.errors import SettingError
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import Player

#: Why an argument of Parameter(…) has no effect with a method, by both.  Files of
#: parameters have them all, so they are let pass.
_WITHOUT_EFFECT: dict[str, dict[str, str]] = {
    "adaptive": {"r_end": "finds its own steps", "step": "takes c_end, or finds its own"},
    "classic": {"step": "takes c_end"},
    "constant": {"step": "takes c_end, or a sixth of the range"},
    "blog": {"step": "takes c_end"},
    "weather_factory": {"r_end": "has the same for all, of a and c"},
}


def check_method(values: Mapping[str, Any]) -> list[SettingError]:
    """Return what of the settings does not go with the method."""
    method = values["method"]
    errors = []
    for name in sorted({name for own in DEFAULTS.values() for name in own}):
        if values[name] is None or name in DEFAULTS[method]:
            continue
        others = [repr(other) for other, own in DEFAULTS.items() if name in own]
        errors.append(
            SettingError(
                (name,),
                f"{name} has no meaning with method {method!r}",
                f"to leave it out, or method = {' or '.join(others)}",
            )
        )
    if values["A"] is not None and values["A_ratio"] is not None and method == "classic":
        errors.append(
            SettingError(("A_ratio",), "A and A_ratio say the same in two ways", "one of them")
        )
    if values["number_of_games"] is None and method != "constant":
        errors.append(
            SettingError(
                ("number_of_games",),
                "'number_of_games' is missing",
                "an integer (only method 'constant' finds it out)",
            )
        )
    for i, parameter in enumerate(values["parameters"]):
        if parameter.frozen or parameter.c_end is not None:
            continue
        if method in ("classic", "blog"):
            missing = "c_end"
        elif method == "weather_factory" and parameter.step is None:
            missing = "step"
        else:
            continue
        errors.append(
            SettingError(
                ("parameters", i, missing),
                f"parameter {parameter.code!r}: {missing!r} is missing",
                f"a number, which method {method!r} needs, or method = 'adaptive', which "
                "finds its own",
            )
        )
    return errors


def without_effect(name: str, parameters: Sequence[TunedParameter]) -> list[str]:
    """Return a line for each argument of Parameter(…) that the method does not use."""
    lines = []
    for argument, why in _WITHOUT_EFFECT[name].items():
        if any(getattr(p, argument) is not None for p in parameters):
            lines.append(f"{argument} has no effect with method {name!r}, which {why}")
    both = [p.code for p in parameters if p.step is not None and p.c_end is not None]
    if name == "weather_factory" and both:
        lines.append("c_end has no effect beside step with method 'weather_factory'")
    return lines


def weights_of(values: Mapping[str, Any]) -> dict[str, int]:
    """Return the weights of the opponents by player code, {} in self-play."""
    opponent = values["opponent"]
    if opponent is None:
        return {}
    return {opponent: 1} if isinstance(opponent, str) else dict(opponent)


def find_opponents(values: Mapping[str, Any]) -> dict[str, Player]:
    """Return the references by player code, {} in self-play.  Raises SettingError."""
    weights = weights_of(values)
    if values["pairing"] == "self_play":
        if weights:
            raise SettingError(
                ("opponent",),
                "opponent has no meaning with pairing 'self_play'",
                "pairing = 'reference' beside it",
            )
        return {}
    if not weights:
        raise SettingError(
            ("opponent",), "'opponent' is missing", "the code of a player to play against"
        )
    found = {}
    for code in weights:
        definition = find_player(values["players"], code, ("opponent",))
        try:
            found[code] = definition.make(code, values["game"])
        except SettingError as error:
            raise error.under("players", code) from None
    return found


def check_numbers(values: Mapping[str, Any]) -> list[SettingError]:
    """Return what is wrong with the numbers of games."""
    size, games = values["games_per_iteration"], values["number_of_games"]
    for name, number in (("games_per_iteration", size), ("number_of_games", games)):
        if number is not None and number % 2:
            expected = "an even number: games are played in pairs"
            return [SettingError((name,), f"{number} is odd", expected)]
    if games is None or games % size == 0:
        return []
    less = games // size * size
    return [
        SettingError(
            ("number_of_games",),
            f"{games} is not a multiple of games_per_iteration ({size})",
            f"{less} or {less + size}" if less else f"{size}",
        )
    ]
