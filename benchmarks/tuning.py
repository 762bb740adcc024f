"""Compare the tuners on families of landscapes: Elo lost after a number of games.

    python benchmarks/tuning.py [--families curvatures ridge …] [--tuners adaptive clop …]
        [--games 500 2000 10000] [--replicates 24] [--few 8] [--in-flight 1] [--seed 1] [-j 1]
        [--plot regret.svg]

"adaptive" is the default method; "fishtest" is classic SPSA with the gains that its users mostly
take, c_end a twentieth of the range and r_end 0.002; "oracle" is classic SPSA with the best pair
of a grid of gains for each cell, chosen afterwards.  They are simulated many tunes at a time.
Tunes of the others, --few of them, are competitions that issue games and record results as in a
run.  Only the games are simulated (`benchmarks/landscapes.py`).

Prints the median Elo lost by the estimate with its quartiles and the share of tunes that end more
than 0.5 Elo below their start, after each number of games; of one tune as a competition, the
tuner's own CPU time for a game and the size of its state; and of the default method the length of
the path of θ and its largest step after the first tenth of the tune, in units of the distance
between start and end.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

import msgspec
import numpy as np

from benchmarks.landscapes import FAMILIES, Landscape
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from ringmaster.tuners.simulation import SimulatedPlayers, SimulatedTune, simulate
from ringmaster.tuners.space import Space
from ringmaster.tuners.spsa.adaptive import Adaptive
from ringmaster.tuners.spsa.method import Classic, GainMethod, Method
from ringmaster.tuners.spsa.perturbation import Counting
from tests.competitions.settings_of import call, make, uci

#: The oracle's perturbations, as shares of half a range, and apply factors.
PERTURBATIONS = (0.005, 0.02, 0.1, 0.2, 0.4, 0.75)
FACTORS = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.064)


class Followed(Adaptive):
    """The default method, with the course of θ in half ranges.

    late  the iteration from which on steps count
    """

    def __init__(self, space: Space, late: int) -> None:
        super().__init__(space)
        self.path, self.step = np.zeros(1), np.zeros(1)
        self._late = late

    def learn(self, memory: Any, k: float, *arguments: Any) -> None:
        before = memory["theta"]
        super().learn(memory, k, *arguments)
        step = np.linalg.norm((memory["theta"] - before) / self.half, axis=-1)
        self.path = self.path + step
        if k >= self._late:
            self.step = np.maximum(self.step, step)

    def end(self, theta: np.ndarray) -> None:
        """Divide path and largest step by the way from the start to the last θ.

        A tune that ends at its start has a way of a fiftieth of the ranges.
        """
        way = np.linalg.norm((theta - self.space.start) / self.half, axis=-1)
        way = np.maximum(way, 0.02 * len(self.space) ** 0.5)
        self.path, self.step = self.path / way, self.step / way


class Measured(NamedTuple):
    """One tune.

    lost  Elo below the best value within the bounds, at each number of games
    milliseconds  the tuner's CPU time for a game
    size  bytes of its state at the end
    """

    lost: list[float]
    milliseconds: float
    size: int


def _tune(type_name: str, landscape: Landscape, seed: int, **settings: Any) -> Any:
    space = landscape.space
    columns = [space.values(each) for each in (space.start, space.minimum, space.maximum)]
    parameters = []
    for i, integer in enumerate(space.integer):
        of_kind = int if integer else float
        ends = zip(("start", "min", "max"), columns, strict=True)
        values = {name: of_kind(column[i]) for name, column in ends}
        scale = "log" if space.is_logarithmic(i) else "linear"
        parameters.append(call("Parameter", f"x{i}", **values, integer=bool(integer), scale=scale))
    return make(
        type_name,
        game="chess",
        players={"e": uci(), "start": uci("other")},
        player="e",
        parameters=parameters,
        seed=seed,
        **settings,
    )


def _spsa(landscape: Landscape, games: int, seed: int) -> Any:
    return _tune("spsa", landscape, seed, number_of_games=games)


def _clop(landscape: Landscape, games: int, seed: int) -> Any:
    return _tune("clop_tuner", landscape, seed, number_of_games=games, opponent="start")


def _optuna(sampler: str, landscape: Landscape, games: int, seed: int) -> Any:
    each = max(16, games // 150 // 2 * 2)
    return _tune(
        "optuna_tuner",
        landscape,
        seed,
        sampler=sampler,
        number_of_trials=4 * games // each,
        games_per_trial=each,
    )


TUNERS: dict[str, Callable[[Landscape, int, int], Any]] = {
    "adaptive": _spsa,
    "clop": _clop,
    **{sampler: partial(_optuna, sampler) for sampler in ("tpe", "cmaes", "random")},
}


def estimate(tune: Any) -> list[float]:
    """Return the tuned values now."""
    parameters = tune.summary().data()["parameters"]
    return [
        p["engine_value"] if p.get("engine_value") is not None else p["start"] for p in parameters
    ]


def play(name: str, family: str, games: Sequence[int], in_flight: int, seed: int) -> Measured:
    """Return a tune of the longest number of games."""
    landscape = FAMILIES[family]()
    tune = TUNERS[name](landscape, games[-1], seed)
    codes = [f"x{i}" for i in range(len(landscape.space))]
    space = landscape.space
    best = landscape.elo.loss(space.values(space.clip(space.theta(landscape.optimum))))
    start = dict(zip(codes, space.values(space.start).tolist(), strict=True))
    luck = np.random.default_rng([seed, 7]).random(games[-1])

    def loss(values: dict[str, Any]) -> float:
        point = np.array([float(values.get(code, start[code])) for code in codes])
        return float(landscape.elo.loss(point) - best)

    def result(job: GameJob, u: float) -> GameResult:
        first, second = (loss(values) for values in job.parameters)
        advantage = second - first
        won = advantage > landscape.draws.won_above(np.array(u))
        lost = -advantage > landscape.draws.won_above(np.array(1 - u))
        if not (won or lost):
            return GameResult(job.id, 0, "draw", reason="stalemate", score="1/2-1/2")
        return GameResult(job.id, 0, "win", winner=0 if won else 1, reason="mate", score="1-0")

    waiting: deque[GameJob] = deque()
    spent, completed, at = 0.0, 0, []
    while completed < games[-1]:
        began = time.process_time()
        job = tune.next_job() if len(waiting) < in_flight else None
        spent += time.process_time() - began
        if job is not None:
            waiting.append(job)
            continue
        if not waiting:
            break
        job = waiting.popleft()
        outcome = result(job, luck[completed])
        began = time.process_time()
        tune.record_result(job.ticket, outcome)
        spent += time.process_time() - began
        completed += 1
        if completed in games:
            at.append(loss(dict(zip(codes, estimate(tune), strict=True))))
    # a tuner may end before the limit
    at += [loss(dict(zip(codes, estimate(tune), strict=True)))] * (len(games) - len(at))
    size = len(msgspec.json.encode(tune.state()))
    return Measured(at, 1000 * spent / max(completed, 1), size)


def simulated(
    method: Method, landscape: Landscape, games: Sequence[int], arguments: argparse.Namespace
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the Elo lost by tunes of one length at each number of games, (games, tunes): by the
    last θ, by the mean of its last half, and by the estimate.

    A method that is `Followed` learns its course.
    """
    space = landscape.space
    best = landscape.elo.loss(space.values(space.clip(space.theta(landscape.optimum))))
    players = SimulatedPlayers(landscape.elo, landscape.draws)
    tune = SimulatedTune(method, games[-1] // 2, Counting(), in_flight=arguments.in_flight)
    points = [number / games[-1] for number in games]
    course = simulate(tune, players, arguments.replicates, seed=arguments.seed, points=points)
    if isinstance(method, Followed):
        method.end(course.values)
    return course.last - best, course.mean - best, course.estimate - best


def classic(space: Space, c: float, r: float, games: int) -> Method:
    """Return classic SPSA.

    c, r  perturbation in half ranges and apply factor at the end
    """
    N = games // 2
    c_end, r_end = c * space.width / 2, np.full(len(space), r)
    return GainMethod(space, Classic(c_end, r_end, N, 0.602, 0.101, 0.1 * N, space.least_c))


def adaptive(landscape: Landscape, games: Sequence[int], arguments: argparse.Namespace) -> Any:
    """Return the Elo lost by the default method, (games, tunes), and its median path and step."""
    method = Followed(landscape.space, games[-1] // 20)
    lost = simulated(method, landscape, games, arguments)[-1]
    return lost, (float(np.median(method.path)), float(np.median(method.step)))


def fishtest(landscape: Landscape, games: Sequence[int], arguments: argparse.Namespace) -> Any:
    """Return the Elo lost by classic SPSA with the usual gains, (games, tunes)."""
    methods = [(n, classic(landscape.space, 0.1, 0.002, n)) for n in games]
    return np.array([simulated(one, landscape, [n], arguments)[0][0] for n, one in methods]), ()


def oracle(landscape: Landscape, games: Sequence[int], arguments: argparse.Namespace) -> Any:
    """Return the Elo lost by classic SPSA with the best gains of a grid, (games, tunes)."""
    best = []
    for n in games:
        grid = [
            lost[0]
            for c, r in itertools.product(PERTURBATIONS, FACTORS)
            for lost in simulated(classic(landscape.space, c, r, n), landscape, [n], arguments)[:2]
        ]
        best.append(min(grid, key=lambda lost: float(np.median(lost))))
    return np.array(best), ()


SIMULATED = {"adaptive": adaptive, "fishtest": fishtest, "oracle": oracle}


def _job(
    job: tuple[str, str, Sequence[int], argparse.Namespace],
) -> tuple[Any, tuple[float, ...], list[Measured]]:
    """Return the Elo lost by some tunes of a tuner, (games, tunes), its course and competitions."""
    name, family, games, arguments = job
    runs: list[Measured] = []
    if name in TUNERS:
        few = 1 if name in SIMULATED else arguments.few
        at = [games[0], min(10_000, games[-1])] if name in SIMULATED else games
        seeds = range(arguments.seed, arguments.seed + few)
        runs = [play(name, family, at, arguments.in_flight, seed) for seed in seeds]
    if name in SIMULATED:
        return *SIMULATED[name](FAMILIES[family](), games, arguments), runs
    return np.array([one.lost for one in runs]).T, (), runs


def plot(path: str, games: Sequence[int], curves: dict[str, dict[str, np.ndarray]]) -> None:
    """Draw the median Elo lost with its quartiles, a picture for each family."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    columns = min(4, len(curves))
    rows = -(-len(curves) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4 * columns, 3 * rows), squeeze=False)
    for axis, (family, tuners) in zip(axes.flat, curves.items(), strict=False):
        for name, lost in tuners.items():
            low, middle, high = np.quantile(lost, [0.25, 0.5, 0.75], axis=0)
            (line,) = axis.loglog(games, np.maximum(middle, 1e-3), marker="o", label=name)
            axis.fill_between(
                games,
                np.maximum(low, 1e-3),
                np.maximum(high, 1e-3),
                color=line.get_color(),
                alpha=0.15,
            )
        axis.set_title(family)
        axis.set_xlabel("games")
        axis.set_ylabel("Elo lost")
    for axis in axes.flat[len(curves) :]:
        axis.axis("off")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower right", ncols=len(labels))
    figure.savefig(path, dpi=70)


def _digits(elo: float) -> str:
    """Return Elo with two digits, without exponents."""
    return f"{elo:.0f}" if not 0.0005 <= elo < 100 else f"{elo:.2g}"


def main() -> None:
    """Print a row for each family and tuner."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    tuners = [*dict.fromkeys([*SIMULATED, *TUNERS])]
    parser.add_argument("--families", nargs="+", default=[*FAMILIES], choices=FAMILIES)
    parser.add_argument("--tuners", nargs="+", default=tuners, choices=tuners)
    parser.add_argument("--games", type=int, nargs="+", default=[500, 2000, 10_000])
    parser.add_argument("--replicates", type=int, default=24, help="simulated tunes")
    parser.add_argument("--few", type=int, default=8, help="tunes as competitions")
    parser.add_argument("--in-flight", type=int, default=1, help="games in progress")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", help="picture of the curves")
    parser.add_argument("-j", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    games = sorted(arguments.games)
    jobs = [
        (name, family, games, arguments)
        for family in arguments.families
        for name in arguments.tuners
    ]
    heads = "".join(f"{number:>27,}" for number in games)
    tail = f"{'ms a game':>11}{'state, KB':>11}{'path':>8}{'step':>8}"
    print(f"{'landscape':14}{'tuner':9}{heads}{tail}")
    curves: dict[str, dict[str, np.ndarray]] = {}
    with ProcessPoolExecutor(arguments.j) as pool:
        results = zip(jobs, pool.map(_job, jobs), strict=True)
        for (name, family, *_), (lost, course, runs) in results:
            curves.setdefault(family, {})[name] = lost.T
            space, elo = FAMILIES[family]().space, FAMILIES[family]().elo
            optimum = space.clip(space.theta(FAMILIES[family]().optimum))
            start = elo.loss(space.values(space.start)) - elo.loss(space.values(optimum))
            cells = ""
            for one in lost:
                low, middle, high = np.quantile(one, [0.25, 0.5, 0.75])
                worse = f"{(one > start + 0.5).mean():4.0%}"
                cells += f"{_digits(middle)} ({_digits(low)}–{_digits(high)}) {worse}".rjust(27)
            tail = ""
            if runs:
                cost = np.mean([run.milliseconds for run in runs])
                tail = f"{cost:11.3f}{max(run.size for run in runs) / 1000:11.1f}"
            tail += "".join(f"{each:8.2g}" for each in course)
            print(f"{family:14}{name:9}{cells}{tail}", flush=True)
    if arguments.plot:
        plot(arguments.plot, games, curves)


if __name__ == "__main__":
    main()
