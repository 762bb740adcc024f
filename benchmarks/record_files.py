"""What a game costs ringmaster itself, its record included, early and late in a
long match, by where the records go.

    python benchmarks/record_files.py [--games 100000] [--files collected] [--json]

Games end out of order, as with several workers.  The ratio is of the CPU of the
last tenth of the games to that of the second (the first one warms up).  Then the
time and the memory of a run that goes on with the event.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from figures import show

from ringmaster.event import Event
from ringmaster.execution.executor import Done, Executor
from ringmaster.execution.executor import Event as Ended
from ringmaster.model.jobs import GameJob, Job
from ringmaster.model.results import GameResult
from ringmaster.reporting.live import QuietDisplay
from ringmaster.ringmaster import Ringmaster, RunOptions

CONTROL_FILE = """
competition_type = "playoff"
game = "chess"
players = {{"a": Player("a", nodes=1), "b": Player("b", nodes=1)}}
matchups = [Matchup("a", "b", number_of_games={games})]
skip_player_checks = True
record_files = {files!r}
"""
WORKERS = 16


def _record(game_id: str, rng: random.Random) -> str:
    moves = " ".join(f"{rng.choice('abcdefgh')}{rng.randrange(8)}" for _ in range(120))
    return f'[Event "x"]\n[Round "{game_id}"]\n\n{moves} 1-0\n\n'


class Simulated(Executor):
    """Plays WORKERS games at a time, any of which ends next."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._jobs: list[Job] = []
        self._rng = random.Random(1)

    @property
    def slots(self) -> int:
        return WORKERS

    def submit(self, job: Job) -> None:
        self._jobs.append(job)

    def running(self) -> list[Job]:
        return list(self._jobs)

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[Ended]:
        job = self._jobs.pop(self._rng.randrange(len(self._jobs)))
        assert isinstance(job, GameJob)
        self.times.append(time.process_time())
        winner = self._rng.randrange(2)
        record = _record(job.id, self._rng)
        score = "0-1" if winner else "1-0"
        result = GameResult(
            job.id, 0, "win", winner=winner, score=score, record=record, record_suffix="pgn"
        )
        return [Done(job, result)]

    def close(self, *, patience: float = 2.0) -> None:
        pass


def measure(games: int, files: str) -> dict[str, float]:
    """Play a match to its end, then one game more; returns what it cost."""
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder) / "match.ctl"
        control.write_text(CONTROL_FILE.format(games=games, files=files))
        work = Simulated()
        assert _run(control, work) == 0
        control.write_text(CONTROL_FILE.format(games=games + 2, files=files))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        again = time.process_time()
        assert _run(control, Simulated()) == 0
        again = time.process_time() - again
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        size = control.with_suffix(".status").stat().st_size
    tenth = games // 10
    early = work.times[2 * tenth] - work.times[tenth]
    late = work.times[-1] - work.times[-1 - tenth]
    return {
        "us_a_game_early": early / tenth * 1e6,
        "us_a_game_late": late / tenth * 1e6,
        "late_to_early": late / early,
        "seconds_to_go_on": again,
        "memory_mb": before / 1024,
        "memory_to_go_on_mb": (after - before) / 1024,
        "status_bytes_a_game": size / games,
    }


def _run(control: Path, work: Simulated) -> int:
    display = QuietDisplay(sys.stderr)
    return Ringmaster(Event(control), RunOptions(), executor=lambda: work, display=display).run()


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--games", type=int, default=100_000)
    parser.add_argument("--files", default="collected", choices=("both", "single", "collected"))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = measure(arguments.games, arguments.files)
    show(figures, as_json=arguments.json)


if __name__ == "__main__":
    main()
