"""The action `simulate`: run the tune of a control file on simulated players."""

from __future__ import annotations

import math
import multiprocessing
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, TextIO

import numpy as np

from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.errors import RingmasterError, counted
from ringmaster.forecast.assumptions import (
    Assumptions,
    ForecastOptions,
    assume,
    games_of,
    make_players,
    make_tune,
    measured,
    spsa_of,
)
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.report import LEFT, Column, Listing, Report, Text
from ringmaster.reporting.tables import render_report
from ringmaster.reporting.text import folded
from ringmaster.stats.elo import Z95
from ringmaster.tuners.simulation import (
    GROUP,
    SimulatedCourse,
    SimulatedPlayers,
    SimulatedTune,
    join,
    simulate,
)
from ringmaster.tuners.space import Array

#: Points of the course: tenths of the tune.
POINTS = tuple(i / 10 for i in range(1, 11))
_QUANTILES = (0.1, 0.5, 0.9)


@dataclass(frozen=True, kw_only=True)
class SimulationOptions(ForecastOptions):
    """Options of `simulate`: the number of tunes, and the models of players."""

    replicates: int = 100
    elo_model: str = "quadratic"
    draw_model: str = "fixed"
    bias: float = 0.0
    correlation: float = 0.0


def run(
    options: SimulationOptions, loaded: LoadedCompetition, *, progress: Progress
) -> tuple[Callable[[], str], dict[str, Any]]:
    """Simulate a tune; return a function that renders the text, and the data of --json.

    Raises UsageError, StoreError.
    """
    competition = spsa_of(loaded)
    known = measured(loaded)
    assumed = assume(options, competition, known)
    players = make_players(
        assumed,
        elo_model=options.elo_model,
        draw_model=options.draw_model,
        bias=options.bias,
        correlation=options.correlation,
    )
    tune = make_tune(competition, assumed.concurrency)
    course = simulate_in_processes(
        tune,
        players,
        options.replicates,
        processes=options.parallel,
        seed=options.seed,
        points=POINTS,
        progress=progress,
    )
    lines = [
        *_about_optimum(options.elo_model, assumed),
        f"Elo model {options.elo_model}, draw model {options.draw_model}, opening bias "
        f"{options.bias:g} Elo, correlation {options.correlation:g}, {options.concurrency} "
        f"game{'s' * (options.concurrency != 1)} in progress, seed {options.seed}",
    ]
    data = {
        "competition": loaded.code,
        "replicates": options.replicates,
        "games": games_of(competition),
        "assumed": lines,
        **course_data(course, competition),
    }
    return lambda: render_report(_report(loaded.code, data)), data


def _about_optimum(model: str, assumed: Assumptions) -> list[str]:
    elo, optimum, draws = assumed.lines
    if model == "spsa_tuner":
        each = ", ".join(f"{e:g}" for e in dict.fromkeys(assumed.elo.tolist()))
        return [f"{each} Elo are lost at 100 from the optimum, which is 0 (--elo)", draws]
    if model.startswith("clop-"):
        return ["strength and optimum are those of the function", draws]
    return [elo, optimum, draws]


def course_data(course: SimulatedCourse, competition: SpsaCompetition) -> dict[str, Any]:
    """Return a course as JSON data; Elo is lost against the optimum."""
    size = competition.tuner.counting.games_per_iteration
    kinds = {"last": course.last, "mean": course.mean, "estimate": course.estimate}
    gain = course.start - course.estimate[-1]
    values = competition.tuner.space.values
    estimates = values(course.values)
    optima = None if course.optimum is None else values(course.optimum)
    return {
        "start": summary(course.start),
        "course": [
            {
                "games": iterations * size,
                **{kind: summary(elo[i]) for kind, elo in kinds.items()},
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
                **(
                    {"distance": summary(np.abs(estimates - optima)[:, i])}
                    if optima is not None
                    else {}
                ),
            }
            for i, parameter in enumerate(competition.tuned)
        ],
    }


def summary(values: Array) -> dict[str, float]:
    """Return the mean and quantiles of values, (replicates,)."""
    low, median, high = np.quantile(values, _QUANTILES).tolist()
    return {"mean": float(values.mean()), "median": median, "q10": low, "q90": high}


def error_of_mean(values: Array) -> float:
    """Return half the width of the 95 % interval of the mean."""
    if len(values) < 2:
        return 0.0
    return Z95 * float(values.std(ddof=1) / np.sqrt(len(values)))


def _short(value: float) -> str:
    """Return four digits of a value, never an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"


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


#: Reports the completed share, from 0 to 1.
Progress = Callable[[float], object]


def divide(replicates: int, processes: int) -> list[tuple[int, int]]:
    """Return (first, count) of replicates for each process; groups are not divided."""
    groups = -(-replicates // GROUP)
    bounds = [groups * i // processes * GROUP for i in range(processes)]
    ends = [*bounds[1:], replicates]
    return [(a, b - a) for a, b in zip(bounds, ends, strict=True) if b > a]


def simulate_in_processes(
    tune: SimulatedTune,
    players: SimulatedPlayers,
    replicates: int,
    *,
    processes: int = 1,
    seed: int = 0,
    points: Sequence[float] = (1.0,),
    progress: Progress = lambda share: None,
) -> SimulatedCourse:
    """Simulate replicates; the result does not depend on the number of processes.

    Raises RingmasterError if a process dies.
    """
    ranges = divide(replicates, processes)
    if len(ranges) == 1:
        course = simulate(
            tune,
            players,
            replicates,
            seed=seed,
            points=points,
            progress=lambda iterations: progress(iterations / tune.iterations),
        )
        progress(1.0)
        return course
    # not fork: the linear algebra library has threads
    context = multiprocessing.get_context("spawn")
    ends: list[Connection] = []
    workers = []
    try:
        for first, count in ranges:
            ours, theirs = context.Pipe(duplex=False)
            worker = context.Process(
                target=_work, args=(theirs, tune, players, count, seed, first, tuple(points))
            )
            worker.start()
            theirs.close()
            ends.append(ours)
            workers.append(worker)
        courses = _collect(ends, tune.iterations, progress)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
        for end in ends:
            end.close()
    return join(courses)


def _collect(
    ends: Sequence[Connection], iterations: int, progress: Progress
) -> list[SimulatedCourse]:
    completed = dict.fromkeys(range(len(ends)), 0)
    courses: dict[int, SimulatedCourse] = {}
    while len(courses) < len(ends):
        for ready in wait([end for i, end in enumerate(ends) if i not in courses]):
            at = next(i for i, end in enumerate(ends) if end is ready)
            try:
                message: int | SimulatedCourse = ends[at].recv()
            except EOFError:
                raise RingmasterError("a process of the simulation died") from None
            if isinstance(message, SimulatedCourse):
                courses[at], completed[at] = message, iterations
            else:
                completed[at] = message
        progress(sum(completed.values()) / (len(ends) * iterations))
    return [courses[i] for i in range(len(ends))]


def _work(
    end: Connection,
    tune: SimulatedTune,
    players: SimulatedPlayers,
    count: int,
    seed: int,
    first: int,
    points: tuple[float, ...],
) -> None:
    # Ctrl-C reaches every process of the terminal; the parent ends this one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        course = simulate(
            tune, players, count, seed=seed, first=first, points=points, progress=end.send
        )
        end.send(course)
    except BrokenPipeError:
        pass


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
