"""Competitions of every type with invented results, for `scale.py`.

    python invented.py write FOLDER TYPE GAMES RECORDS
        write a control file
    python invented.py fill FOLDER GAMES
        record games up to this number
    python invented.py resume FOLDER
        resume; print the time (CLOCK_MONOTONIC) and the CPU seconds at the first job
    python invented.py slices FEW MANY GAMES SLICES
        record alternating slices of GAMES further games in the folders FEW and MANY; print the
        CPU seconds a game of both, as JSON

`fill` records through the program's own objects, thousands of games a transaction.  Other
output of a run (history, log, collected game records) gets the length that it would have.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ringmaster.execution.executor import Done, Executor, JobEnd
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.jobs import GameJob, Job, Task
from ringmaster.model.results import EngineUsage, GameResult, Result
from ringmaster.reporting.live import QuietDisplay
from ringmaster.ringmaster import Ringmaster
from ringmaster.run_control import RunOptions
from ringmaster.storage.entries import IssuedJob, RunEntry
from ringmaster.storage.journal import Journal
from ringmaster.storage.store import Store

#: Games that `fill` records in one transaction.
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

#: Control file and number of players by type; {games} is the least number of games.
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
    """Write a control file of at least `games` games; return its path."""
    text, players = TYPES[type_name]
    path = folder / "tune.ctl"
    path.write_text(text.format(games=games, players=players, records=records))
    return path


def invent(job: Task, rng: random.Random) -> GameResult:
    """Return a random result; the first player, or the larger parameters, are a little stronger."""
    assert isinstance(job, GameJob)
    first, second = (sum(values.values()) for values in job.parameters)
    if not job.parameters[0] and not job.parameters[1]:
        first, second = (-int(player.code[1:].partition("#")[0]) for player in job.players)
    bias = 0.03 if first > second else -0.03 if first < second else 0.0
    chess = job.settings.game == "chess"
    draw = chess and rng.random() < 0.4
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


class InventedGames(Executor):
    """Complete every job at once with an invented result.

    on_first_job  called when the first job is submitted
    times         CPU seconds of the process at the end of each wait
    """

    def __init__(self, on_first_job: Callable[[], None] = lambda: None, seed: int = 1) -> None:
        self.times: list[float] = []
        self._jobs: list[Job] = []
        self._on_first_job = on_first_job
        self._rng = random.Random(seed)

    @property
    def slots(self) -> int:
        return 1

    def resize(self, slots: int) -> None:
        """Do nothing: one job at a time is worked on."""

    def submit(self, job: Job) -> None:
        if not self.times and not self._jobs:
            self._on_first_job()
        self._jobs.append(job)

    def running(self) -> list[Job]:
        return list(self._jobs)

    def wait(self, timeout: float | None, wake: Sequence[int] = ()) -> list[JobEnd]:
        job = self._jobs.pop(0)
        assert isinstance(job, GameJob)
        result = invent(job, self._rng)
        self.times.append(time.process_time())
        return [Done(job, result)]

    def close(self, *, patience: float = 2.0) -> None:
        pass


def fill(control: Path, games: int, seed: int) -> None:
    """Record games in a competition up to this number; leave one issued game, like a killed run."""
    rng = random.Random(seed)
    loaded = LoadedCompetition(control)
    paths = loaded.paths
    is_new = not paths.status.exists()
    store = Store.open(paths.status)
    journal = Journal(paths.log, paths.hist, tree=paths.tree_log)
    number = 0
    if is_new:
        source, hash = loaded.control_file.source, loaded.control_file.source_hash
        number = store.begin_run(RunEntry(0, time.time(), "0", source, hash, loaded.settings))
    else:
        loaded.restore(store)
    done = sum(store.counts())
    competition = loaded.competition
    while done < games:
        lines: list[str] = []
        with store.transaction() as transaction:
            for _ in range(min(_BATCH, games - done)):
                job = competition.next_job()
                assert job is not None
                result: Result = invent(job, rng)
                transaction.store_result(job.ticket, result)
                verdict = competition.record_result(job.ticket, result)
                lines += [line for line in (verdict.line, *verdict.notes) if line]
                done += 1
            transaction.save_state(competition.state())
            transaction.set_value("history", lines[-1:])
        journal.history(lines)
        _lengthen(paths.log, sum(map(len, lines)) * 3)
    if loaded.control_file.values["record_games"]:
        _collect(loaded, store, games)
    with store.transaction() as transaction:
        job = competition.next_job()
        if job is not None:
            transaction.issue(IssuedJob(job.id, job.attempt, job.ticket))
        transaction.save_state(competition.state())
    if is_new:
        store.end_run(number, time.time(), "stopped")
    journal.close()
    store.close()


def _lengthen(path: Path, size: int) -> None:
    with path.open("a") as file:
        line = "2026-01-01 00:00:00 starting game 000000: p0 v p1\n"
        file.write(line * (size // len(line)))


def _collect(loaded: LoadedCompetition, store: Store, games: int) -> None:
    """Give the collected file its length by holes: to read them takes as long as games."""
    suffix = "sgf" if loaded.control_file.values.get("game", "go") == "go" else "pgn"
    size = games * 900
    with loaded.paths.collected(suffix).open("ab") as file:
        file.truncate(size)
    with store.transaction() as transaction:
        transaction.set_value("collected", {suffix: size})


def resume(folder: Path, games: int, executor: InventedGames) -> None:
    """Run a competition until it has `games` more results."""
    status = Ringmaster(
        LoadedCompetition(folder / "tune.ctl"),
        RunOptions(max_games=games),
        executor=lambda: executor,
        display=QuietDisplay(sys.stderr),
    ).run()
    assert status == 0


def cpu_a_game(folder: Path, games: int, seed: int) -> float:
    """Return the CPU seconds a game of `games` further games."""
    executor = InventedGames(seed=seed)
    resume(folder, games, executor)
    return (executor.times[-1] - executor.times[0]) / (len(executor.times) - 1)


def main() -> None:
    """Carry out one action."""
    action, name, *rest = sys.argv[1:]
    folder = Path(name)
    if action == "write":
        write_control_file(folder, rest[0], int(rest[1]), records=bool(int(rest[2])))
    elif action == "fill":
        fill(folder / "tune.ctl", int(rest[0]), seed=int(rest[0]))
    elif action == "resume":
        resume(folder, 1, InventedGames(lambda: print(time.monotonic(), time.process_time())))
    else:
        other, games, slices = Path(rest[0]), int(rest[1]), int(rest[2])
        pairs = [(cpu_a_game(folder, games, n), cpu_a_game(other, games, n)) for n in range(slices)]
        print(json.dumps([statistics.median(side) for side in zip(*pairs, strict=True)]))


if __name__ == "__main__":
    main()
