"""The verb `choose`: rules that lead to a tuner, with measured figures as reasons.
docs/choosing.rst states the same rules."""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ringmaster.commands.console import DONE, say
from ringmaster.errors import counted
from ringmaster.scaffold.control_file import Code, assignment
from ringmaster.tuners.space import Space
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.planning import games_to_halve_loss

#: An example of each kind of parameter.
KINDS = {
    "float": 'Parameter("Rate", start=0.5, min=0.1, max=2.0)',
    "integer": 'Parameter("Margin", start=100, min=20, max=200, integer=True)',
    "categorical": 'Parameter("Mode", start="on", choices=["on", "off"])',
    "conditional": 'Parameter("Depth", start=5, min=2, max=9, only_if={"Mode": "on"})',
}
#: Expressions of these examples in the words of other competition types.
WORDS = {
    "clop_tuner": ("integer=True", 'type="IntegerParameter"'),
    "mc_tuner": ('start="on", choices=["on", "off"]', 'scale=EXPLICIT(["on", "off"]), split=2'),
}
GAMES, SPSA, CLOP, TPE, CMAES = (500, 2_000, 10_000), "spsa", "CLOP", "TPE", "CMA-ES"
RIDGE = "a narrow ridge of 2 parameters"
FOUR, EIGHT = "4 parameters with curvatures 100:1", "8 parameters with rotated axes"
THIRTY = "30 parameters of which 5 matter"
#: Elo lost after these numbers of games, medians, by landscape and tuner (reports/tuners.rst).
FIGURES: dict[str, dict[str, tuple[float, ...]]] = {
    RIDGE: {
        SPSA: (2.9, 2.3, 1.6),
        CLOP: (1.8, 1.1, 0.7),
        TPE: (9.3, 1.5, 1),
        CMAES: (6.3, 5.3, 3.5),
    },
    FOUR: {
        SPSA: (1.7, 0.99, 0.44),
        CLOP: (1.8, 2.3, 1),
        TPE: (6.5, 7.6, 2.2),
        CMAES: (5.5, 7.7, 2.5),
    },
    EIGHT: {
        SPSA: (6.3, 2.9, 1),
        CLOP: (2.2, 2.3, 2.3),
        TPE: (6.7, 9.2, 6.8),
        CMAES: (11, 8.8, 5.9),
    },
    THIRTY: {
        SPSA: (4.1, 0.56, 0.31),
        CLOP: (4.3, 3.1, 1.5),
        TPE: (5.5, 10, 6.3),
        CMAES: (8.9, 3.3, 5.8),
    },
}


class Tune(NamedTuple):
    """The tune that the options describe."""

    parameters: int
    kinds: frozenset[str]
    games: int
    opponents: bool
    positions: bool

    def figures(self, landscape: str = "") -> str:
        """Return the figures nearest to the games, and by default to the parameters' number."""
        n = self.parameters
        landscape = landscape or (FOUR if n < 6 else EIGHT if n < 16 else THIRTY)
        column = min(range(3), key=lambda i: abs(math.log(self.games / GAMES[i])))
        lost = FIGURES[landscape].items()
        cells = ", ".join(f"{name} {elo[column]:g}" for name, elo in lost if elo[column:])
        return f"Elo lost on {landscape} after {GAMES[column]:,} games: {cells}."

    def halving(self) -> str:
        """Return the importance of parameters that spsa improves, by the formula of `plan`."""
        one = np.ones(1)
        space = Space(one / 2, 0 * one, one, one < 1)
        # 1 Elo at half a range is 1/3 Elo on average over all optima in the range
        games = games_to_halve_loss(
            space, Adaptive(space).c(1), elo=one, lost_at_start=one / 3, draw_ratio=0.61
        )
        # games are proportional to 1/Elo²
        elo = math.sqrt(float(games[0]) * (4 if self.opponents else 1) / self.games)
        return f"spsa can halve the loss of parameters worth {elo:.2g} Elo or more at half a range."


class Rule(NamedTuple):
    """A competition type, its condition in words and code, its reason, and its settings."""

    type: str
    when: str
    applies: Callable[[Tune], bool]
    why: str
    settings: tuple[tuple[str, str], ...] = ()


#: The first rule that applies decides.
RULES = (
    Rule(
        "mc_tuner",
        "one or two parameters, all with choices, against opponents",
        lambda tune: tune.kinds == {"categorical"} and tune.parameters <= 2 and tune.opponents,
        "Few combinations are a bandit problem. Of 64 candidates it chose one within 0.02 of the "
        "best win rate in 90 of 100 tunes of 10,000 games (reports/mc_tuner_bandit.rst).",
    ),
    Rule(
        "optuna_tuner",
        "choices or conditional parameters",
        lambda tune: not tune.kinds <= {"float", "integer"},
        "Choices and conditional parameters need optuna_tuner; its sampler tpe learns both. For "
        "numbers spsa lost less Elo than tpe, except on a ridge: tune the choices first, then the "
        "numbers alone by spsa.",
        (("sampler", "tpe"),),
    ),
    Rule(
        "texel",
        "weights of an evaluation, and labelled positions",
        lambda tune: tune.positions,
        "It plays no games: 20,000 positions recovered 13 weights in 8 seconds "
        "(reports/texel_end_to_end.rst). If scores are sums of counts times weights, its linear "
        "optimiser needs no engine (docs/texel_linear.rst). Parameters of the search do not change "
        "the evaluation: tune them in games.",
    ),
    Rule(
        "clop_tuner",
        "one or two numbers, against opponents",
        lambda tune: tune.opponents and tune.parameters <= 2,
        "{ridge} CLOP played an opponent, spsa itself; against opponents spsa needs about four "
        "times as many games.",
    ),
    Rule(
        "spsa",
        "three or more numbers, against opponents",
        lambda tune: tune.opponents,
        "{figures} CLOP played an opponent, spsa itself; against opponents spsa needs about four "
        "times as many games. CLOP began near the optimum, at the middle of the ranges. {halving}",
        (("pairing", "reference"),),
    ),
    Rule(
        "spsa",
        "two numbers, in self-play",
        lambda tune: tune.parameters == 2,
        "{figures} {halving} If the two compensate each other, use clop_tuner: {ridge}",
    ),
    Rule(
        "spsa",
        "numbers, in self-play",
        lambda tune: True,
        "{figures} {halving} On six weights of Toga II it gained in 2,000 games what clop_tuner "
        "and optuna_tuner gained in 4,000 (reports/tuning_toga2.rst).",
    ),
)


def choose(arguments: argparse.Namespace) -> int:
    """Print the tuner for a tune."""
    tune = Tune(**vars(arguments))
    rule = next(rule for rule in RULES if rule.applies(tune))
    given = "".join(f" with {assignment(*item)}" for item in rule.settings)
    quoted = {"figures": tune.figures(), "ridge": tune.figures(RIDGE)}
    why = rule.why.format(**quoted, halving=tune.halving())
    lines = [
        f"For {counted(tune.parameters, 'parameter')} and {counted(tune.games, 'game')} "
        f"({rule.when}), use {rule.type}{given}.",
        why,
        f"`ringmaster new GAME {rule.type} tune.ctl` writes a control file. Set in it, as here:",
    ]
    paragraphs = [textwrap.fill(line, 96, break_on_hyphens=False) for line in lines]
    say("\n\n".join([*paragraphs, _settings(tune, rule)]))
    return DONE


def _settings(tune: Tune, rule: Rule) -> str:
    """Return the settings of a control file that follow from the rule."""
    settings: dict[str, Any] = {"competition_type": rule.type, **dict(rule.settings)}
    if tune.opponents and rule.type != "texel":
        settings["opponent"] = "opponent"
    # only_if names a parameter with choices
    kinds = tune.kinds | ({"categorical"} if "conditional" in tune.kinds else set())
    words = WORDS.get(rule.type, ("", ""))
    settings["parameters"] = [Code(KINDS[k].replace(*words)) for k in KINDS if k in kinds]
    if rule.type == "optuna_tuner":
        each = max(16, tune.games // 150 // 2 * 2)
        settings |= {"number_of_trials": max(1, tune.games // each), "games_per_trial": each}
    elif rule.type != "texel":
        settings["number_of_games"] = tune.games
    return "".join(f"{assignment(*item)}\n" for item in settings.items())
