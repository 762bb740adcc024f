"""The action `simulate`: the tune of a control file on simulated players."""

from __future__ import annotations

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
        f"{given.bias:g} Elo, correlation {given.correlation:g}, {given.concurrency} games in "
        f"flight, seed {given.seed}",
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
        "gain": {**summary(gain), "error": _standard_error(gain)},
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


def _standard_error(values: Array) -> float:
    if len(values) < 2:
        return 0.0
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _spread(found: dict[str, float], form: str = ".3f") -> tuple[str, str]:
    """Return the mean, and median and quantiles."""
    low, median, high = (format(found[name], form) for name in ("q10", "median", "q90"))
    return format(found["mean"], form), f"{median} ({low} to {high})"


def _report(code: str, data: dict[str, Any]) -> Report:
    rows: list[tuple[Cell, ...]] = [("0", *(_spread(data["start"]) * 3))]
    for point in data["course"]:
        cells = [cell for kind in _KINDS for cell in _spread(point[kind])]
        rows.append((f"{point['games']}", *cells))
    heads = [cell for head in _HEADS for cell in (head, "median (10 % to 90 %)")]
    gain, better = data["gain"], data["better_than_start"]
    spread = _spread(gain)
    parameters = [
        (
            found["code"],
            f"{found['start']:.6g}",
            *_spread(found["estimate"], ".6g"),
            *(_spread(found["distance"], ".4g") if "distance" in found else ()),
        )
        for found in data["parameters"]
    ]
    distance = ("off by", "median (10 % to 90 %)") if "distance" in data["parameters"][0] else ()
    return Report(
        (
            Text(
                (
                    f"simulation of {code}: {data['replicates']} tunes of {data['games']} games",
                    *(f"  {line}" for line in data["assumed"]),
                )
            ),
            Table(("games", *heads), tuple(rows), title="Elo below the optimum, means"),
            Text(
                (
                    f"gain from the start: {spread[0]} ± {1.96 * gain['error']:.3f} Elo (mean and "
                    f"its 95 % interval), median {spread[1]}",
                    f"the estimate is better than the start in {100 * better:.0f} % of the tunes",
                )
            ),
            Table(
                ("parameter", "start", "mean", "median (10 % to 90 %)", *distance),
                tuple(parameters),
                title="estimates at the end",
            ),
        )
    )
