"""Simultaneous perturbation stochastic approximation, as the field runs it.

J. C. Spall, "Implementation of the simultaneous perturbation algorithm for
stochastic optimization", IEEE Trans. Aerospace and Electronic Systems 34(3),
1998.  In every method two sides play each other,

    θ± = clip(θ ± c_k·δ)        δᵢ = ±1

and all but the adaptive method then move by θ ← clip(θ + R_k·d·(W−L)), d being
the difference that was really played, (θ⁺ − θ⁻)/2 after clipping and rounding (or,
where a practice is to be reproduced, c_k·δ).  The adaptive method plays about points near
θ, and finds θ from all results so far.

Pure ask and tell: no engines, no files, no clock.  δ and the rounding are functions
of (seed, iteration).  Everything is written for arrays (…, n): the last axis is that
of the n parameters, those before it are independent tunes, of which a real one has
none and a simulation as many as it has replicates.
"""

from __future__ import annotations

from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.gains import (
    Annealing,
    Autoselect,
    Blog,
    C,
    Classic,
    Constant,
    Gains,
    WeatherFactory,
    autoselect,
)
from ringmaster.tuners.spsa.method import GainMethod, Interval, Memory, Method
from ringmaster.tuners.spsa.perturbation import Perturbation, Rounding, draw, sides
from ringmaster.tuners.spsa.regression import Fit
from ringmaster.tuners.spsa.space import Array, Space
from ringmaster.tuners.spsa.tuner import Counting, Counts, Spsa, Trust

__all__ = [
    "Adaptive",
    "Annealing",
    "Array",
    "Autoselect",
    "Blog",
    "C",
    "Classic",
    "Constant",
    "Counting",
    "Counts",
    "Fit",
    "GainMethod",
    "Gains",
    "Interval",
    "Memory",
    "Method",
    "Perturbation",
    "Rounding",
    "Space",
    "Spsa",
    "Trust",
    "WeatherFactory",
    "autoselect",
    "draw",
    "sides",
]
