"""Tunes on simulated players, to measure the final loss of a method without engines.

Methods and perturbations are those of real tunes (`tuners.spsa`); only the games are
random.  Many independent tunes (replicates) run at once in arrays (…, replicates, n).
The random numbers of a replicate depend on the seed and its own number only.
"""

from ringmaster.tuners.simulation.game_outcomes import (
    CLOP_FUNCTIONS,
    DRAW_MODELS,
    GROUP,
    SHAPES,
    BayesElo,
    Clop,
    ClopFunction,
    Davidson,
    Draws,
    EloModel,
    FixedDraws,
    Shaped,
    spsa_tuner,
)
from ringmaster.tuners.simulation.replicates import (
    SimulatedCourse,
    SimulatedPlayers,
    SimulatedTune,
    join,
    simulate,
)

__all__ = [
    "CLOP_FUNCTIONS",
    "DRAW_MODELS",
    "GROUP",
    "SHAPES",
    "BayesElo",
    "Clop",
    "ClopFunction",
    "Davidson",
    "Draws",
    "EloModel",
    "FixedDraws",
    "Shaped",
    "SimulatedCourse",
    "SimulatedPlayers",
    "SimulatedTune",
    "join",
    "simulate",
    "spsa_tuner",
]
