"""How many simulated games a second the whole mc_tuner gets through: choosing,
store, history and log included, in one process; and whether a game costs the
same late in a tune as at its beginning.

    python benchmarks/mc_tuner_games.py [--games 100000] [--depth 1] [--json]

64 candidates, two parameters; the players are simulated, so what is measured is
ringmaster's own work.  As machines are noisy the cost is given as a ratio, too,
of the last tenth of the games to the first tenth in the same run.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from figures import show

from ringmaster.event import Event
from ringmaster.execution.inline import InlineExecutor
from ringmaster.model.jobs import GameJob, Job
from ringmaster.model.results import GameResult, JobResult
from ringmaster.reporting.live import QuietDisplay
from ringmaster.ringmaster import Ringmaster, RunOptions

CONTROL_FILE = """
competition_type = "mc_tuner"
players = {{"opponent": Player("opponent")}}
opponent = "opponent"
def make_candidate(x, y):
    return Player(["candidate", str(x), str(y)])
parameters = [
    Parameter("x", scale=LINEAR(-1, 1), split=8, format="x: %.3f"),
    Parameter("y", scale=LINEAR(-1, 1), split=8, format="y: %.3f"),
]
board_size = 9
komi = 7.5
candidate_colour = "random"
exploration_coefficient = 0.45
initial_visits = 10
initial_wins = 5
max_depth = {depth}
number_of_games = {games}
skip_player_checks = True
record_games = False
"""


class SimulatedGames:
    """Plays by the candidate's true win rate, 0.65 - 0.15 ((x-0.3)² + (y+0.2)²)."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._random = random.Random(1)

    def run(self, job: Job) -> JobResult:
        assert isinstance(job, GameJob)
        self.times.append(time.perf_counter())
        seat = 0 if job.parameters[0] else 1
        x, y = job.parameters[seat]["x"], job.parameters[seat]["y"]
        rate = 0.65 - 0.15 * ((x - 0.3) ** 2 + (y + 0.2) ** 2)
        won = self._random.random() < rate
        return GameResult(job.id, 0, "win", winner=seat if won else 1 - seat, score="B+R")

    def close(self) -> None:
        pass


def measure(games: int, depth: int) -> dict[str, float]:
    """Run a tune to its end; returns games a second and the ratio late to early."""
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder) / "bandit.ctl"
        control.write_text(CONTROL_FILE.format(games=games, depth=depth))
        work = SimulatedGames()
        began = time.perf_counter()
        status = Ringmaster(
            Event(control),
            RunOptions(),
            executor=lambda: InlineExecutor(work),
            display=QuietDisplay(sys.stderr),
        ).run()
        seconds = time.perf_counter() - began
        assert status == 0
        size = control.with_suffix(".status").stat().st_size
    tenth = games // 10
    early = work.times[tenth] - work.times[0]
    late = work.times[-1] - work.times[-1 - tenth]
    return {
        "games": games,
        "games per second": games / seconds,
        "late to early": late / early,
        "bytes a game": size / games,
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--games", type=int, default=100_000)
    parser.add_argument("--depth", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = measure(arguments.games, arguments.depth)
    show(figures, as_json=arguments.json)


if __name__ == "__main__":
    main()
