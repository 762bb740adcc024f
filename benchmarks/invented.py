"""Events of every type whose games nobody plays: their control files, invented
results, and status files with any number of them.

What is recorded goes through the program's own objects, thousands of games a
transaction; what a run would have had written in the meantime (history, log, the
collected file of game records) is made as long as it would be.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ringmaster.event import Event
from ringmaster.execution.executor import Done, Executor
from ringmaster.execution.executor import Event as Ended
from ringmaster.model.jobs import GameJob, Job, Task
from ringmaster.model.results import EngineUsage, GameResult, Result
from ringmaster.storage.journal import Journal
from ringmaster.storage.sqlite_store import SqliteStore
from ringmaster.storage.store import Issue, Run

#: Games recorded in one transaction when a status file is made.
_BATCH = 10_000

_CHESS = """
game = "chess"
players = {{f"p{{i}}": Player(f"p{{i}}", nodes=1) for i in range({players})}}
skip_player_checks = True
record_games = {records}
"""

_CANDIDATES = """
players = {{"opponent": Player("opponent")}}
opponent = "opponent"
board_size = 9
komi = 7.5
candidate_colour = "random"
skip_player_checks = True
record_games = {records}
def make_candidate(x, y):
    return Player(["candidate", str(x), str(y)])
"""

#: Control file and number of players by type; {games} is how many are wanted at least.
TYPES = {
    "playoff": (
        'competition_type = "playoff"\n'
        + _CHESS
        + 'matchups = [Matchup("p0", "p1", number_of_games={games})]\n',
        2,
    ),
    "allplayall": (
        'competition_type = "allplayall"\n'
        + _CHESS
        + "competitors = list(players)\nrounds = {games} // 28 + 1\n",
        8,
    ),
    "gauntlet": (
        'competition_type = "gauntlet"\n'
        + _CHESS
        + 'challengers = ["p0", "p1"]\nopponents = list(players)[2:]\n'
        + "rounds = {games} // 16 + 1\n",
        10,
    ),
    "swiss": (
        'competition_type = "swiss"\n'
        + _CHESS
        + "competitors = list(players)\nrounds = 19\ngames_per_pairing = {games} // 190 + 1\n",
        20,
    ),
    "mc_tuner": (
        'competition_type = "mc_tuner"\n'
        + _CANDIDATES
        + """
parameters = [
    Parameter("x", scale=LINEAR(-1, 1), split=8, format="x: %.3f"),
    Parameter("y", scale=LINEAR(-1, 1), split=8, format="y: %.3f"),
]
exploration_coefficient = 0.45
initial_visits = 10
initial_wins = 5
max_depth = 3
number_of_games = {games}
""",
        0,
    ),
    "ce_tuner": (
        'competition_type = "ce_tuner"\n'
        + _CANDIDATES
        + """
parameters = [
    Parameter("x", initial_mean=0.0, initial_variance=1.0, format="x: %.3f"),
    Parameter("y", initial_mean=0.0, initial_variance=1.0, format="y: %.3f"),
]
number_of_generations = {games} // 1000 + 1
samples_per_generation = 100
batch_size = 10
elite_proportion = 0.1
step_size = 0.8
seed = 1
""",
        0,
    ),
    "spsa": (
        'competition_type = "spsa"\n'
        + _CHESS
        + """
player = "p0"
parameters = [
    Parameter(f"Parameter{{i}}", start=100, min=0, max=200) for i in range(12)
]
number_of_games = {games}
""",
        1,
    ),
}

USAGE = (
    EngineUsage("Engine 1.0", 0.31, 23_000_000, 1.234567, 0.043215),
    EngineUsage("Engine 1.0", 0.29, 23_000_000, 1.198765, 0.051234),
)
_MOVES = " ".join(f"{n}. Nf3 Nf6 {n + 1}. Ng1 Ng8" for n in range(1, 80, 2))


def write_control_file(folder: Path, type_name: str, games: int, *, records: bool) -> Path:
    """Write a control file that wants at least so many games; returns its path."""
    text, players = TYPES[type_name]
    path = folder / "tune.ctl"
    path.write_text(text.format(games=games, players=players, records=records))
    return path


def invent(job: Task, rng: random.Random) -> GameResult:
    """Return a result: what comes first in the alphabet or has the larger parameters
    is a little stronger."""
    assert isinstance(job, GameJob)
    first, second = (sum(values.values()) for values in job.parameters)
    if not job.parameters[0] and not job.parameters[1]:
        first, second = (-int(player.code[1:].partition("#")[0]) for player in job.players)
    bias = 0.03 if first > second else -0.03 if first < second else 0.0
    chess = job.settings.game == "chess"
    at = rng.random()
    draw = 0.4 if chess and at < 0.4 else 0.0
    winner = None if draw else int(rng.random() > 0.5 + bias)
    if winner is None:
        score, reason = "1/2-1/2", "repetition"
    elif chess:
        score, reason = ("1-0", "0-1")[winner], "mate"
    else:
        score, reason = ("B+R", "W+R")[winner], "resignation"
    return GameResult(
        job.id,
        job.attempt,
        "draw" if winner is None else "win",
        winner=winner,
        reason=reason,
        score=score,
        plies=87,
        seconds=2.417,
        usage=USAGE,
        record=_record(job, score) if job.record else None,
        record_suffix="pgn" if chess else "sgf",
    )


def _record(job: GameJob, score: str) -> str:
    return (
        f'[Event "tune"]\n[Round "{job.id}"]\n[White "{job.players[0].code}"]\n'
        f'[Black "{job.players[1].code}"]\n[Result "{score}"]\n\n{_MOVES} {score}\n\n'
    )


class Invented(Executor):
    """Every job comes back at once.

    first  called when the first job is given out

    times  CPU seconds of the process at the end of each wait
    """

    def __init__(self, first: Callable[[], None] = lambda: None, seed: int = 1) -> None:
        self.times: list[float] = []
        self._jobs: list[Job] = []
        self._first = first
        self._rng = random.Random(seed)

    @property
    def slots(self) -> int:
        return 1

    def submit(self, job: Job) -> None:
        if not self.times and not self._jobs:
            self._first()
        self._jobs.append(job)

    def running(self) -> list[Job]:
        return list(self._jobs)

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[Ended]:
        job = self._jobs.pop(0)
        assert isinstance(job, GameJob)
        result = invent(job, self._rng)
        self.times.append(time.process_time())
        return [Done(job, result)]

    def close(self, *, patience: float = 2.0) -> None:
        pass


def fill(control: Path, games: int, seed: int) -> float:
    """Record games in an event, up to this number of them; returns the seconds it took.

    The last of them leaves what a run that was killed leaves: one game given out.
    """
    began = time.perf_counter()
    rng = random.Random(seed)
    event = Event(control)
    paths = event.paths
    new = not paths.status.exists()
    store = SqliteStore.open(paths.status)
    journal = Journal(paths.log, paths.hist, tree=paths.tree_log)
    number = 0
    if new:
        source, hash = event.loaded.source, event.loaded.source_hash
        number = store.begin_run(Run(0, time.time(), "0", source, hash, event.settings))
    else:
        event.restore(store)
    done = sum(store.counts())
    competition = event.competition
    while done < games:
        lines: list[str] = []
        with store.transaction() as transaction:
            for _ in range(min(_BATCH, games - done)):
                job = competition.next_job()
                assert job is not None
                result: Result = invent(job, rng)
                transaction.record(job.ticket, result)
                verdict = competition.take(job.ticket, result)
                lines += [line for line in (verdict.line, *verdict.notes) if line]
                done += 1
            transaction.save_state(competition.state())
            transaction.set_note("history", lines[-1:])
        journal.history(lines)
        _lengthen(paths.log, sum(map(len, lines)) * 3)
    if event.loaded.values["record_games"]:
        _collect(event, store, games)
    with store.transaction() as transaction:
        job = competition.next_job()
        if job is not None:
            transaction.issue(Issue(job.id, job.attempt, job.ticket))
        transaction.save_state(competition.state())
    if new:
        store.end_run(number, time.time(), "stopped")
    journal.close()
    store.close()
    return time.perf_counter() - began


def _lengthen(path: Path, size: int) -> None:
    with path.open("a") as file:
        line = "2026-01-01 00:00:00 starting game 000000: p0 v p1\n"
        file.write(line * (size // len(line)))


def _collect(event: Event, store: SqliteStore, games: int) -> None:
    """Make the collected file as long as it would be, of holes: who reads all of it
    takes as long as if they were games."""
    suffix = "sgf" if event.loaded.values.get("game", "go") == "go" else "pgn"
    size = games * 900
    with event.paths.collected(suffix).open("ab") as file:
        file.truncate(size)
    with store.transaction() as transaction:
        transaction.set_note("collected", {suffix: size})
