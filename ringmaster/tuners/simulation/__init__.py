"""Tunes on simulated players: how far below the optimum a method ends, before an
engine has played for it.

The methods are the ones that tune engines, `tuners.spsa.Method`, and so are the two
sides of an iteration; only the games are drawn by lot.  Many independent tunes
(replicates) go on at once in arrays (…, replicates, n).  No engines, no files, no clock;
the lots of a replicate depend on the seed and its own number alone, whichever others
are simulated with it.
"""

from ringmaster.tuners.simulation.clop import CLOP_FUNCTIONS, Clop, ClopFunction
from ringmaster.tuners.simulation.elo import SHAPES, EloModel, Shaped, spsa_tuner
from ringmaster.tuners.simulation.lots import (
    DRAW_MODELS,
    GROUP,
    BayesElo,
    Davidson,
    Draws,
    FixedDraws,
)
from ringmaster.tuners.simulation.replicates import Course, Players, Tune, join, simulate

__all__ = [
    "CLOP_FUNCTIONS",
    "DRAW_MODELS",
    "GROUP",
    "SHAPES",
    "BayesElo",
    "Clop",
    "ClopFunction",
    "Course",
    "Davidson",
    "Draws",
    "EloModel",
    "FixedDraws",
    "Players",
    "Shaped",
    "Tune",
    "join",
    "simulate",
    "spsa_tuner",
]
