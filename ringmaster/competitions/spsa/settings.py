"""The settings of an spsa event."""

from __future__ import annotations

from typing import Any

from ringmaster.competitions.closing_match import VERIFY
from ringmaster.competitions.common import COMMON_SETTINGS
from ringmaster.competitions.game_settings import GAME_SETTINGS
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
    Setting,
    String,
)


def _build_parameter(values: dict[str, Any], context: Context) -> TunedParameter:
    low, high, start = values["min"], values["max"], values["start"]
    code = values["code"]
    if low > high:
        raise SettingError(("min",), f"parameter {code!r}: min {low:g} is more than max {high:g}")
    if low == high:
        raise SettingError(("min",), f"parameter {code!r}: min and max are both {low:g}")
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
    if values["c_end"] > (high - low) / 2:
        raise SettingError(
            ("c_end",),
            f"parameter {code!r}: c_end {values['c_end']:g} is more than half the range",
            f"at most {(high - low) / 2:g}",
        )
    return TunedParameter(
        code=code,
        start=start,
        minimum=low,
        maximum=high,
        c_end=values["c_end"],
        r_end=values["r_end"],
        integer=values["integer"],
        option=values["option"],
    )


PARAMETER = CallOf(
    "Parameter",
    (
        Setting("code", String(), "Name; also the engine option's, unless `option` is given."),
        Setting("start", Float(), "Value to start from."),
        Setting("min", Float(), "Smallest value."),
        Setting("max", Float(), "Largest value."),
        Setting("c_end", Float(above=0), "Perturbation at the last iteration."),
        Setting(
            "r_end",
            Float(above=0, maximum=1000),
            "Relative apply factor at the last iteration.",
            0.002,
        ),
        Setting("integer", Boolean(), "Whether engines take whole numbers only.", False),
        Setting("option", Maybe(String()), "Name of the engine option.", None),
    ),
    _build_parameter,
    positional=("code",),
)

#: Every setting of the type.
SPSA_SETTINGS: tuple[Setting, ...] = (
    *COMMON_SETTINGS,
    *GAME_SETTINGS,
    Setting("player", Identifier(), "Code of the player to tune.", change="refused"),
    Setting(
        "parameters",
        ListOf(PARAMETER, minimum=1),
        "What is tuned.",
        change="refused",
    ),
    Setting(
        "number_of_games",
        Integer(minimum=2, maximum=10**9),
        "Games of the tune, two for each iteration.",
    ),
    Setting(
        "alpha",
        Float(minimum=0, maximum=10),
        "Exponent of the step gain.",
        0.602,
        change="refused",
    ),
    Setting(
        "gamma",
        Float(minimum=0, maximum=10),
        "Exponent of the perturbation.",
        0.101,
        change="refused",
    ),
    Setting(
        "A",
        Maybe(Float(minimum=0, maximum=1e12)),
        "Stability constant in iterations; None: a tenth of them.",
        None,
        change="refused",
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
