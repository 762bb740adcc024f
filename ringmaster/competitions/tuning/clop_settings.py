"""The settings of a clop_tuner."""

from __future__ import annotations

from typing import Any

import msgspec

from ringmaster.competitions.common_settings import COMMON_SETTINGS
from ringmaster.competitions.ending import ending_setting
from ringmaster.competitions.tuning.candidates import CANDIDATE_SETTINGS, TUNE_GAME_SETTINGS
from ringmaster.competitions.tuning.closing_match_settings import VERIFY, VerifySettings
from ringmaster.competitions.tuning.opponents import Opponents
from ringmaster.competitions.tuning.parameter_settings import (
    BOUNDS,
    PLAYED_BINDING,
    checked_parameter,
)
from ringmaster.errors import SettingError
from ringmaster.model.parameters import CLOP_TYPES, ClopParameter, middle
from ringmaster.model.settings import (
    Boolean,
    CallOf,
    Context,
    Float,
    Identifier,
    Integer,
    ListOf,
    Maybe,
    OneOf,
    Setting,
    SettingPath,
)


class _Type(OneOf):
    """A name of CLOP_TYPES."""

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, str) and value.startswith("Categ"):
            return context.refuse(
                path,
                "a quadratic model needs numbers, not categories",
                "an mc_tuner with EXPLICIT([…]) for choices without order",
            )
        return super().interpret(value, path, context)


def _build_parameter(values: dict[str, Any], context: Context) -> ClopParameter:
    kind, low, high = values["type"], values["min"], values["max"]
    integer, logarithmic = CLOP_TYPES[kind]
    for name in ("min", "max"):
        if logarithmic and values[name] <= 0:
            raise SettingError(
                (name,),
                f"parameter {values['code']!r}: {values[name]:g} has no logarithm, which {kind} "
                "needs",
                "a number above 0",
            )
    if values["start"] is None:
        values["start"] = middle(low, high, integer, logarithmic)
    return checked_parameter(ClopParameter, {**values, "integer": integer})


_START = msgspec.structs.replace(
    next(s for s in BOUNDS if s.name == "start"),
    type=Maybe(Float()),
    help="Value of the closing match's other side with ``against='start'``, and of a frozen "
    "parameter; by default the middle of the range.",
    default=None,
)

PARAMETER = CallOf(
    "Parameter",
    (
        *(s for s in BOUNDS if s.name != "start"),
        Setting(
            "type",
            _Type(*CLOP_TYPES),
            "CLOP's type: Integer for whole numbers, Gamma for a logarithmic scale.",
            "LinearParameter",
        ),
        _START,
        *(s for s in PLAYED_BINDING if s.name != "integer"),
    ),
    _build_parameter,
    positional=("code", "type", "min", "max"),
)

#: The closing match; `against` is "" for the first opponent.
CLOP_VERIFY = CallOf(
    VERIFY.kind,
    tuple(
        msgspec.structs.replace(
            s,
            type=Maybe(Identifier()),
            help="Opponent of the tuned values: a player's code, or 'start' for the start values; "
            "by default the first opponent of the tune.",
            default=None,
        )
        if s.name == "against"
        else s
        for s in VERIFY.settings
    ),
    lambda values, context: VERIFY.build({**values, "against": values["against"] or ""}, context),
    positional=VERIFY.positional,
)

#: The closing match of the action `verify` for a control file without Verify(…).
DEFAULT_VERIFY = VerifySettings(1000, against="")

_OF_CANDIDATES = {s.name: s for s in CANDIDATE_SETTINGS}

CLOP_SETTINGS: tuple[Setting, ...] = (
    *COMMON_SETTINGS,
    *TUNE_GAME_SETTINGS,
    Setting(
        "parameters", ListOf(PARAMETER, minimum=1), "The parameters to tune.", change="refused"
    ),
    Setting(
        "opponent",
        Opponents(),
        "Code of the candidates' opponent; or several codes, as a list or as a dictionary of code "
        "to weight, a factor of `replications`.",
        change="refused",
    ),
    msgspec.structs.replace(_OF_CANDIDATES["candidate_colour"], default="alternating"),
    Setting(
        "replications",
        Integer(minimum=1, maximum=1000),
        "Games of each sample against each opponent; with an even number both colours play each "
        "opening.",
        1,
        change="refused",
    ),
    ending_setting("number_of_games", Integer(minimum=1, maximum=10**9), "Games of the tune"),
    Setting(
        "clop_H",
        Float(minimum=0.1, maximum=100),
        "H: a lower number concentrates the samples sooner, and may miss the optimum.",
        3.0,
    ),
    Setting(
        "correlations",
        OneOf("all", "none"),
        "Whether the model has products of two parameters; none for many parameters that do not "
        "depend on each other.",
        "all",
    ),
    _OF_CANDIDATES["make_candidate"],
    _OF_CANDIDATES["player"],
    Setting("verify", Maybe(CLOP_VERIFY), "The closing match.", None),
    Setting(
        "stop_on_error",
        Maybe(Boolean()),
        "Gomill's, without effect: void games are played again.",
        None,
        change="report",
    ),
)
