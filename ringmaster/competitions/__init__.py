"""The competition types."""

from __future__ import annotations

from importlib import import_module

from ringmaster.competitions.competition import Competition

#: Module and class of each `competition_type`, imported on demand.
_TYPES = {
    "allplayall": ("ringmaster.competitions.tournaments.roster_tournaments", "AllPlayAll"),
    "ce_tuner": ("ringmaster.competitions.tuning.ce_tuner", "CeTuner"),
    "clop_tuner": ("ringmaster.competitions.tuning.clop_tuner", "ClopTuner"),
    "gauntlet": ("ringmaster.competitions.tournaments.roster_tournaments", "Gauntlet"),
    "mc_tuner": ("ringmaster.competitions.tuning.mc_tuner", "McTuner"),
    "optuna_tuner": ("ringmaster.competitions.optuna_tuner.competition", "OptunaTuner"),
    "playoff": ("ringmaster.competitions.tournaments.playoff", "Playoff"),
    "spsa": ("ringmaster.competitions.spsa.competition", "SpsaCompetition"),
    "swiss": ("ringmaster.competitions.tournaments.swiss", "Swiss"),
    "texel": ("ringmaster.competitions.texel.competition", "TexelCompetition"),
}


#: Names callable in control files of every type, since files may share helper functions.
KINDS = (
    "Anchor",
    "Annealing",
    "Blend",
    "Cluster",
    "Competitor",
    "DrawAdjudication",
    "Elmo",
    "EXPLICIT",
    "GaussianLambda",
    "GaussNewton",
    "Genetic",
    "HandicapLadder",
    "LINEAR",
    "Linear",
    "LocalSearch",
    "LOG",
    "Matchup",
    "Openings",
    "Parameter",
    "Player",
    "Positions",
    "Precision",
    "Race",
    "ResignAdjudication",
    "Reference",
    "Ridge",
    "Score",
    "SPRT",
    "SpsaBatches",
    "Stage",
    "Sweep",
    "Tablebases",
    "Texel",
    "TimeControl",
    "Verify",
)


def type_names() -> tuple[str, ...]:
    return tuple(_TYPES)


def competition_class(type_name: str) -> type[Competition] | None:
    """Return the class of a `competition_type`, None for an unknown one."""
    if type_name not in _TYPES:
        return None
    module, name = _TYPES[type_name]
    competition: type[Competition] = getattr(import_module(module), name)
    return competition
