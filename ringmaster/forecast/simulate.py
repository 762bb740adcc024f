"""The action `simulate`: the tune of a control file on simulated players."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.event import Event
from ringmaster.forecast.assumptions import (
    Assumptions,
    Given,
    assume,
    make_players,
    make_tune,
    measured,
    spsa_of,
)
from ringmaster.forecast.processes import Progress, simulate_in_processes
from ringmaster.model.report import Cell, Report, Table, Text
from ringmaster.reporting.tables import render_report
from ringmaster.reporting.text import folded
from ringmaster.stats.elo import Z95
from ringmaster.tuners.simulation import Course
from ringmaster.tuners.spsa import Array

#: When the tunes are looked at: tenths of them.
POINTS = tuple(i / 10 for i in range(1, 11))
_QUANTILES = (0.1, 0.5, 0.9)
_KINDS = ("last", "mean", "estimate")
_HEADS = ("last θ", "mean of last half", "estimate")


@dataclass(frozen=True, kw_only=True)
class GivenForSimulation(Given):
    """What is given of a simulation: the number of tunes, and what the players are."""

    replicates: int = 100
    elo_model: str = "quadratic"
    draw_model: str = "fixed"
    bias: float = 0.0
    correlation: float = 0.0


def run(
    given: GivenForSimulation, event: Event, *, progress: Progress
) -> tuple[Callable[[], str], dict[str, Any]]:
    """Simulate; returns what makes the text, and the data of --json.

    Raises UsageError, StoreError.
    """
    competition = spsa_of(event)
    known = measured(event)
    assumed = assume(given, competition, known)
    players = make_players(
        assumed,
        elo_model=given.elo_model,
        draw_model=given.draw_model,
        bias=given.bias,
        correlation=given.correlation,
    )
    tune = make_tune(competition, assumed.concurrency)
    course = simulate_in_processes(
        tune,
        players,
        given.replicates,
        processes=given.parallel,
        seed=given.seed,
        points=POINTS,
        progress=progress,
    )
    lines = [
        *_about_optimum(given.elo_model, assumed),
        f"Elo model {given.elo_model}, draw model {given.draw_model}, opening bias "
        f"{given.bias:g} Elo, correlation {given.correlation:g}, {given.concurrency} "
        f"game{'s' * (given.concurrency != 1)} in flight, seed {given.seed}",
    ]
    data = {
        "competition": event.code,
        "replicates": given.replicates,
        "games": competition.iterations * tune.counting.games_per_iteration,
        "assumed": lines,
        **course_data(course, competition),
    }
    return lambda: render_report(_report(event.code, data)), data


def _about_optimum(model: str, assumed: Assumptions) -> list[str]:
    elo, optimum, draws = assumed.lines
    if model == "spsa_tuner":
        each = ", ".join(f"{e:g}" for e in dict.fromkeys(assumed.elo.tolist()))
        return [f"{each} Elo are lost at 100 from the optimum, which is 0 (--elo)", draws]
    if model.startswith("clop-"):
        return ["strength and optimum are those of the function", draws]
    return [elo, optimum, draws]


def course_data(course: Course, competition: SpsaCompetition) -> dict[str, Any]:
    """Return what came out as JSON data: Elo are those below the optimum."""
    size = competition.tuner.counting.games_per_iteration
    kinds = {"last": course.last, "mean": course.mean, "estimate": course.estimate}
    gain = course.start - course.estimate[-1]
    return {
        "start": summary(course.start),
        "course": [
            {
                "games": told * size,
                **{kind: summary(elo[i]) for kind, elo in kinds.items()},
            }
            for i, told in enumerate(course.told)
        ],
        "gain": {**summary(gain), "error": error_of_mean(gain)},
        "better_than_start": float((gain > 0).mean()),
        "parameters": [
            {
                "code": parameter.code,
                "start": parameter.start,
                "estimate": summary(course.values[:, i]),
                **(
                    {"distance": summary(np.abs(course.values - course.optimum)[:, i])}
                    if course.optimum is not None
                    else {}
                ),
            }
            for i, parameter in enumerate(competition.tuned)
        ],
    }


def summary(values: Array) -> dict[str, float]:
    """Return the mean and quantiles of the replicates' values, (replicates,)."""
    low, median, high = np.quantile(values, _QUANTILES).tolist()
    return {"mean": float(values.mean()), "median": median, "q10": low, "q90": high}


def error_of_mean(values: Array) -> float:
    """Return half the width of the 95 % interval of the replicates' mean."""
    if len(values) < 2:
        return 0.0
    return Z95 * float(values.std(ddof=1) / np.sqrt(len(values)))


def _elo(value: float) -> str:
    return f"{value:.3f}"


def _short(value: float) -> str:
    """Return four digits of a value, never an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"


def _spread(found: dict[str, float], form: Callable[[float], str] = _elo) -> str:
    """Return the mean, and in brackets quantiles."""
    mean, low, median, high = (form(found[name]) for name in ("mean", "q10", "median", "q90"))
    return f"{mean} ({low}/{median}/{high})"


def _report(code: str, data: dict[str, Any]) -> Report:
    rows: list[tuple[Cell, ...]] = [("0", *([_spread(data["start"])] * 3))]
    for point in data["course"]:
        rows.append((f"{point['games']}", *(_spread(point[kind]) for kind in _KINDS)))
    gain, better = data["gain"], data["better_than_start"]
    parameters = [
        (
            found["code"],
            f"{found['start']:.6g}",
            _spread(found["estimate"], _short),
            *([_spread(found["distance"], _short)] if "distance" in found else ()),
        )
        for found in data["parameters"]
    ]
    distance = ("off by",) if "distance" in data["parameters"][0] else ()
    head = [
        f"simulation of {code}: {data['replicates']} tunes of {data['games']} games",
        *(f"  {line}" for line in data["assumed"]),
    ]
    return Report(
        (
            Text(folded(head)),
            Table(
                ("games", *_HEADS),
                tuple(rows),
                title="Elo below the optimum: mean (10 %/median/90 % of the tunes)",
            ),
            Text(
                folded(
                    [
                        f"gain from the start: {gain['mean']:.3f} ± {gain['error']:.3f} Elo "
                        f"(mean and its 95 % interval), median {gain['median']:.3f} (10 % to 90 %: "
                        f"{gain['q10']:.3f} to {gain['q90']:.3f})",
                        f"the estimate is better than the start in {100 * better:.0f} % of the "
                        "tunes",
                    ]
                )
            ),
            Table(
                ("parameter", "start", "estimate", *distance),
                tuple(parameters),
                title="estimates at the end: mean (10 %/median/90 % of the tunes)",
            ),
        )
    )
