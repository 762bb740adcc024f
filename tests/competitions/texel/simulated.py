"""A texel competition without engines: positions in a file, a simulated engine, and runs."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ringmaster.datasets import position_set
from ringmaster.model.jobs import EvaluationJob, GameJob
from ringmaster.model.results import EvaluationResult, GameResult
from ringmaster.positions import PositionFile
from ringmaster.storage.entries import IssuedJob
from tests.competitions.settings_of import call, make, uci, won
from tests.positions.writing import write_positions as write_set
from tests.recorded import memory_store

CODES = ("A", "B", "C")
#: True values: they labelled the positions.
TRUE = {"A": 140, "B": 60, "C": 100}
#: Positions of a game.
PER_GAME = 8


@functools.cache
def features(count: int) -> np.ndarray:
    """Return the counts of each parameter in each position, (count, 3)."""
    return np.random.default_rng(7).normal(0.0, 1.0, (count, len(CODES)))


def write_positions(
    path: Path,
    games: int = 60,
    held: float = 0.25,
    *,
    teacher: bool | np.ndarray = True,
    result: bool | np.ndarray = True,
    key: str = "simulated",
    seed: int = 3,
) -> None:
    """Write positions whose results and teacher's scores follow the true values.

    teacher, result  False for none, or other labels of all positions
    """
    rng = np.random.default_rng(seed)
    counts = features(games * PER_GAME)
    true = counts @ np.array([TRUE[code] for code in CODES])
    border = round(games * (1 - held))
    # averaged labels have less noise than one result
    drawn = [rng.binomial(4, part) / 4 for part in np.split(1 / (1 + np.exp(-true / 200)), games)]
    columns = {
        "result": np.concatenate(drawn),
        "teacher": true,
        "weight": np.ones(len(true)),
        "progress": np.tile(np.linspace(0.1, 0.9, PER_GAME), games),
        "group": np.repeat(np.arange(games), PER_GAME),
        "ply": np.tile(np.arange(10, 10 + PER_GAME), games),
    }
    for name, column in (("teacher", teacher), ("result", result)):
        if column is False:
            columns[name] = np.full(len(true), np.nan)
        elif column is not True:
            columns[name] = column
    texts = [f"{row} w".encode() for row in range(len(true))]
    held_out = columns["group"] >= border
    write_set(path, texts, columns, held_out, key=key, notes=["made for a test"], piece=len(texts))


def engine(job: EvaluationJob) -> EvaluationResult:
    """Return the result of the simulated engine."""
    if job.probe is not None:
        return probed(job)
    file = PositionFile(Path(job.positions))
    rows = [int(text.split()[0]) for text in file.texts(job.first, job.stop, job.step)]
    theta = np.array([float(job.player.options[code]) for code in CODES])
    scores = np.rint(features(len(file))[rows] @ theta)
    if job.score.kind == "depth":
        # every tenth position is not quiet
        scores = scores + np.where(np.array(rows) % 10 == 0, 300.0, 0.0)
    return EvaluationResult(
        job.id,
        job.attempt,
        "evaluated",
        score_key=job.score_key,
        shard=job.shard,
        seconds=0.5,
        positions=len(rows),
        scores=scores.astype("<f4").tobytes(),
        answers=tuple(f"score {score:g}" for score in scores) if job.answers else None,
    )


def probed(job: EvaluationJob, **facts: Any) -> EvaluationResult:
    """Return the result of a probe."""
    assert job.probe is not None
    count = len(job.probe.changed)
    actual = {
        "apply": "live",
        "in_flight": 16,
        "repeatable": True,
        "moved": [True] * count,
        "largest": [50.0] * count,
        "none": 0.0,
        "rate": 20_000.0,
        "name": "Formula 1",
        "problem": "",
        **facts,
    }
    return EvaluationResult(job.id, job.attempt, "evaluated", facts=actual)


def parameter(code: str, **overrides: Any) -> Any:
    return call(
        "Parameter", code, **{"start": 100, "min": 0, "max": 200, "integer": True, **overrides}
    )


def texel(folder: Path, **overrides: Any) -> Any:
    """Return an event of `Positions("set.epd")` whose position file is in a folder."""
    event = make(
        "texel",
        folder,
        **{
            "game": "chess",
            "players": {"e": uci()},
            "player": "e",
            "parameters": [parameter(code) for code in CODES],
            "positions": call("Positions", "set.epd"),
            **overrides,
        },
    )
    event.positions_file = folder / "event.positions"
    return event


@pytest.fixture(name="folder")
def folder_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a position file, and disable its build, but not that of moves."""
    usual = position_set.build_positions

    def build(*arguments: Any) -> PositionFile:
        target = arguments[-2]
        return usual(*arguments) if target.suffix == ".moves" else PositionFile(target)

    monkeypatch.setattr("ringmaster.datasets.position_set.build_positions", build)
    write_positions(tmp_path / "event.positions")
    return tmp_path


Answer = Callable[[EvaluationJob], EvaluationResult]


class Runs:
    """An event with its store, run by run; jobs complete in random order."""

    def __init__(
        self, fresh: Callable[[], Any], *, workers: int = 1, seed: int = 0, answer: Answer = engine
    ) -> None:
        self.fresh = fresh
        self.workers = workers
        self.answer = answer
        self.rng = random.Random(seed)
        self.store = memory_store()
        self.history: list[str] = []
        self.halted = ""
        self.done = 0
        self.running: list[Any] = []
        self.begin()

    def begin(self) -> list[str]:
        """Start a run, as a new process does."""
        self.event = event = self.fresh()
        event.prepare()
        event.scores = self.store.scores
        self.halted = ""
        snapshot = self.store.snapshot()
        lines: list[str] = []
        issues: list[IssuedJob] = []
        if snapshot is not None:
            event.restore(snapshot[1])
            for actual in self.store.results(snapshot[0]):
                event.record_result(actual.ticket, actual.result)
            issues = list(self.store.issues())
            lines = event.apply_edits([issue.ticket for issue in issues])
        with self.store.transaction() as transaction:
            transaction.save_state(event.state())
        self.history += lines
        self.running = [
            event.make_job(issue.game_id, issue.attempt, issue.ticket)
            for issue in issues
            if event.resume(issue.ticket)
        ]
        with self.store.transaction() as transaction:
            self._fill(transaction)
            transaction.save_state(event.state())
        return lines

    def _fill(self, transaction: Any) -> None:
        while len(self.running) < self.workers and not self.halted:
            job = self.event.next_job()
            if job is None:
                return
            assert all(job.id != other.id for other in self.running)
            transaction.issue(IssuedJob(job.id, job.attempt, job.ticket))
            self.running.append(job)

    def step(self) -> None:
        """Complete a job."""
        job = self.running.pop(self.rng.randrange(len(self.running)))
        result: Any = self._played(job) if isinstance(job, GameJob) else self.answer(job)
        with self.store.transaction() as transaction:
            result = self.event.complete_result(job, result)
            if transaction.store_result(job.ticket, result) is not None:
                verdict = self.event.record_result(job.ticket, result)
                if verdict.replay:
                    again = msgspec.structs.replace(job, attempt=job.attempt + 1)
                    transaction.issue(IssuedJob(again.id, again.attempt, again.ticket))
                    self.running.append(again)
                self.halted = self.halted or verdict.halt
                for number in verdict.forget:
                    transaction.drop_scores(number)
                self.history += [line for line in (verdict.line, *verdict.notes) if line]
                self._fill(transaction)
                if verdict.save or self.rng.random() < 0.1:
                    transaction.save_state(self.event.state())
        self.done += 1

    def _played(self, job: GameJob) -> GameResult:
        return won(job, job.players[0].code)

    def run(self, most: int = 10_000) -> None:
        """Run to the end."""
        while self.running and not self.halted and most:
            self.step()
            most -= 1
        assert most

    def final(self) -> dict[str, Any]:
        """Return the state at the end."""
        actual: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self.event.state()))
        return actual
