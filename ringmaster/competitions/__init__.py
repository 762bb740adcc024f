"""The competition types: settings, logic and report data of each in one module."""

from __future__ import annotations

from importlib import import_module

from ringmaster.competitions.competition import Competition

#: Where each `competition_type` lives; imported when it is asked for.
_TYPES = {
    "allplayall": ("ringmaster.competitions.allplayall", "AllPlayAll"),
    "ce_tuner": ("ringmaster.competitions.ce_tuner", "CeTuner"),
    "gauntlet": ("ringmaster.competitions.gauntlet", "Gauntlet"),
    "mc_tuner": ("ringmaster.competitions.mc_tuner", "McTuner"),
    "playoff": ("ringmaster.competitions.playoff", "Playoff"),
    "spsa": ("ringmaster.competitions.spsa.competition", "SpsaCompetition"),
    "swiss": ("ringmaster.competitions.swiss", "Swiss"),
    "texel": ("ringmaster.competitions.texel.competition", "TexelCompetition"),
}


#: What control files may call, whatever their type: a helper function that is
#: shared between files may mention what only another type understands.
KINDS = (
    "Anchor",
    "Annealing",
    "Blend",
    "Competitor",
    "DrawAdjudication",
    "Elmo",
    "EXPLICIT",
    "GaussianLambda",
    "GaussNewton",
    "Genetic",
    "LINEAR",
    "Linear",
    "LocalSearch",
    "LOG",
    "Matchup",
    "Openings",
    "Parameter",
    "Player",
    "Positions",
    "ResignAdjudication",
    "Reference",
    "Ridge",
    "Score",
    "SPRT",
    "SpsaBatches",
    "Sweep",
    "Tablebases",
    "Texel",
    "TimeControl",
    "Verify",
)


def type_names() -> tuple[str, ...]:
    """Return every `competition_type`."""
    return tuple(_TYPES)


def competition_class(type_name: str) -> type[Competition] | None:
    """Return the class of a `competition_type`, None for an unknown one."""
    if type_name not in _TYPES:
        return None
    module, name = _TYPES[type_name]
    found: type[Competition] = getattr(import_module(module), name)
    return found
