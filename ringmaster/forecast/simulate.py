"""The action `simulate`: run the tune of a control file on simulated players."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TextIO

import numpy as np

from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.errors import counted
from ringmaster.forecast.forecast import ForecastOptions, Progress, assume, error_of_mean
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.report import LEFT, Column, Listing, Report, Text
from ringmaster.reporting.tables import format_float, render_report
from ringmaster.reporting.text import folded
from ringmaster.tuners.simulation import SimulatedCourse
from ringmaster.tuners.space import Array

#: Points of the course: tenths of the tune.
POINTS = tuple(i / 10 for i in range(1, 11))
_QUANTILES = (0.1, 0.5, 0.9)


def run(
    options: ForecastOptions, loaded: LoadedCompetition, *, progress: Progress
) -> tuple[Callable[[], str], dict[str, Any]]:
    """Simulate a tune; return a function that renders the text, and the data of --json.

    Raises UsageError, StoreError.
    """
    forecast = assume(options, loaded)
    course = forecast.simulate(options.replicates, points=POINTS, progress=progress)
    lines = [
        *forecast.lines,
        f"Elo model {options.elo_model}, draw model {options.draw_model}, opening bias "
        f"{options.bias:g} Elo, {options.parallel} "
        f"game{'s' * (options.parallel != 1)} in progress, seed {options.seed}",
    ]
    data = {
        "competition": loaded.code,
        "replicates": options.replicates,
        "games": forecast.games,
        "assumed": lines,
        **course_data(course, forecast.competition),
    }
    return lambda: render_report(_report(loaded.code, data)), data


def course_data(course: SimulatedCourse, competition: SpsaCompetition) -> dict[str, Any]:
    """Return a course as JSON data; Elo is lost against the optimum."""
    size = competition.tuner.counting.games_per_iteration
    gain = course.start - course.estimate[-1]
    estimates = competition.tuner.space.values(course.values)
    distances = np.abs(estimates - course.optimum)
    return {
        "start": summary(course.start),
        "course": [
            {
                "games": iterations * size,
                "last": summary(course.last[i]),
                "mean": summary(course.mean[i]),
                "estimate": summary(course.estimate[i]),
            }
            for i, iterations in enumerate(course.iterations)
        ],
        "gain": {**summary(gain), "error": error_of_mean(gain)},
        "better_than_start": float((gain > 0).mean()),
        "parameters": [
            {
                "code": parameter.code,
                "start": parameter.start,
                "estimate": summary(estimates[:, i]),
                "distance": summary(distances[:, i]),
            }
            for i, parameter in enumerate(competition.tuned)
        ],
    }


def summary(values: Array) -> dict[str, float]:
    """Return the mean and quantiles of values, (replicates,)."""
    low, median, high = np.quantile(values, _QUANTILES).tolist()
    return {"mean": float(values.mean()), "median": median, "q10": low, "q90": high}


def _short(value: float) -> str:
    """Return four digits of a value."""
    return format_float(float(f"{value:.4g}"))


def _spread(summary: dict[str, float], form: Callable[[float], str] = "{:.3f}".format) -> str:
    """Return the mean, with quantiles in brackets."""
    mean, low, median, high = (form(summary[name]) for name in ("mean", "q10", "median", "q90"))
    return f"{mean} ({low}/{median}/{high})"


_COURSE = (
    Column("games", "games", align=LEFT),
    Column("last", "last θ", _spread),
    Column("mean", "mean of last half", _spread),
    Column("estimate", "estimate", _spread),
)
_PARAMETERS = (
    Column("code", "parameter", align=LEFT),
    Column("start", "start", "{:.6g}".format),
    Column("estimate", "estimate", lambda values: _spread(values, _short)),
    Column("distance", "off by", lambda values: _spread(values, _short)),
)


def _report(code: str, data: dict[str, Any]) -> Report:
    start = {"games": 0, **dict.fromkeys(("last", "mean", "estimate"), data["start"])}
    gain, better = data["gain"], data["better_than_start"]
    head = [
        f"simulation of {code}: {counted(data['replicates'], 'tune')} of "
        f"{counted(data['games'], 'game')}",
        *(f"  {line}" for line in data["assumed"]),
    ]
    outcome = [
        f"gain from the start: {gain['mean']:.3f} ± {gain['error']:.3f} Elo "
        f"(mean and its 95 % interval), median {gain['median']:.3f} (10 % to 90 %: "
        f"{gain['q10']:.3f} to {gain['q90']:.3f})",
        f"the estimate is better than the start in {100 * better:.0f} % of the tunes",
    ]
    return Report(
        (
            Text(folded(head)),
            Listing(_COURSE, (start, *data["course"])).table(
                "Elo below the optimum: mean (10 %/median/90 % of the tunes)"
            ),
            Text(folded(outcome)),
            Listing(_PARAMETERS, tuple(data["parameters"])).table(
                "estimates at the end: mean (10 %/median/90 % of the tunes)"
            ),
        )
    )


class Meter:
    """Reports each completed tenth on a stream, in one place of a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._tenths = 0
        self._in_place = stream.isatty()

    def __call__(self, share: float) -> None:
        """Report a share from 0 to 1."""
        tenths = int(10 * share)
        if tenths <= self._tenths:
            return
        self._tenths = tenths
        text = f"simulated {10 * tenths} %"
        self._stream.write(f"\r{text}" if self._in_place else f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Clear the line of the terminal."""
        if self._in_place and self._tenths:
            self._stream.write("\r\033[K")
            self._stream.flush()
