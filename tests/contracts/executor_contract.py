"""Test the contract of every executor.

Subclass `ExecutorContract` in a test module, with a `make` fixture: a function from a number of
slots, and tokens by resource, to an executor of `tests.execution.scripted_work.Scripted`.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pytest

from ringmaster.errors import ExecutorError
from ringmaster.execution.executor import Done, Executor, JobEnd, Lost
from ringmaster.model.jobs import Job
from ringmaster.model.results import EvaluationResult, GameResult, JobResult
from tests.execution.scripted_work import (
    check,
    evaluation,
    expected,
    game,
    held_at_most,
    holder,
)
from tests.processes import LONG

Make = Callable[..., Executor]


def run_all(executor: Executor, jobs: Iterable[Job]) -> list[JobEnd]:
    """Submit jobs and wait for all results."""
    for job in jobs:
        executor.submit(job)
    events: list[JobEnd] = []
    while executor.running():
        new_events = executor.wait(LONG)
        assert new_events, f"no event in {LONG} s"
        events += new_events
    return events


def bare(result: JobResult) -> JobResult:
    """A result without its host."""
    if isinstance(result, GameResult | EvaluationResult):
        return msgspec.structs.replace(result, host=None)
    return result


class ExecutorContract:
    @pytest.mark.parametrize("slots", [1, 3])
    def test_every_job_gives_exactly_one_event_with_its_own_result(
        self, make: Make, slots: int
    ) -> None:
        executor = make(slots)
        jobs: list[Job] = [game(n, n=n) if n % 3 else check(n) for n in range(30)]
        events = run_all(executor, jobs)
        assert executor.slots == slots
        assert sorted(id(e.job) for e in events) == sorted(map(id, jobs))
        assert all(isinstance(e, Done) and bare(e.result) == expected(e.job) for e in events)
        assert executor.wait(0) == []

    def test_shards_of_positions_give_their_own_scores(self, make: Make, tmp_path: Path) -> None:
        positions = tmp_path / "x.positions"
        positions.write_bytes(b"two positions")
        jobs = [evaluation(n, str(positions)) for n in range(12)]
        events = run_all(make(3), [*jobs[:6], game(1), *jobs[6:]])
        shards = {e.job.id: e for e in events if e.job.id != "0_1"}
        assert shards.keys() == {job.id for job in jobs}
        assert all(
            isinstance(e, Done) and bare(e.result) == expected(e.job) for e in shards.values()
        )
        assert len(events) == 13

    def test_each_idle_worker_has_room_for_a_job(self, make: Make) -> None:
        executor = make(3)
        rooms = [executor.room()]
        for n in range(4):
            executor.submit(game(n))
            rooms.append(executor.room())
        assert rooms == [3, 2, 1, 0, 0]
        run_all(executor, [])
        assert executor.room() == 3
        assert executor.room(ahead=True) >= 3

    def test_change_of_slots_costs_no_job_and_applies_at_once(self, make: Make) -> None:
        executor = make(3)
        for n in range(9):
            executor.submit(game(n))
        executor.resize(1)
        events = run_all(executor, [])
        assert all(isinstance(event, Done) for event in events)
        assert sorted(event.job.id for event in events) == [f"0_{n}" for n in range(9)]
        assert (executor.slots, executor.room()) == (1, 1)
        in_order = run_all(executor, [game(n) for n in range(9, 15)])
        assert [event.job.id for event in in_order] == [f"0_{n}" for n in range(9, 15)]
        executor.submit(game(0))
        executor.resize(3)
        assert (executor.slots, executor.room()) == (3, 2)
        assert len(run_all(executor, [game(n) for n in range(1, 20)])) == 20

    def test_jobs_at_a_time_never_hold_more_tokens_than_there_are(
        self, make: Make, tmp_path: Path
    ) -> None:
        executor, log = make(8, gpu0=2), tmp_path / "log"
        players = [holder(code, gpu0=1) for code in "abcd"]
        pairs = itertools.permutations([*players, holder("e")], 2)
        jobs: list[Job] = [game(n, *pair, hold=str(log)) for n, pair in enumerate(pairs)]
        events = run_all(executor, [*jobs, check(1), game(100)])
        assert all(isinstance(event, Done) for event in events)
        assert len(events) == len(jobs) + 2
        assert held_at_most(log) == 2
        assert executor.room() == 8

    def test_equal_jobs_are_different_jobs(self, make: Make) -> None:
        executor = make(2)
        assert len(run_all(executor, [game(1)] * 5)) == 5

    def test_running_lists_the_jobs_not_yet_reported_oldest_first(self, make: Make) -> None:
        executor = make(2)
        jobs: list[Job] = [game(n) for n in range(6)]
        for job in jobs:
            executor.submit(job)
        left = list(jobs)
        while left:
            assert list(executor.running()) == left
            for event in executor.wait(LONG):
                left.remove(event.job)
        assert list(executor.running()) == []

    def test_text_and_numbers_reach_the_worker_and_return_unchanged(self, make: Make) -> None:
        ticket = {"é": "\0\n\x1b[31m☃ 𝄞", "seed": 2**100, "x": 0.1, "list": [None, True, {}]}
        job = game(1, record=3_000_000, **ticket)
        (event,) = run_all(make(1), [job])
        assert isinstance(event, Done)
        with_record = msgspec.structs.replace(expected(job), record="x" * 3_000_000)
        assert bare(event.result) == with_record

    def test_wait_without_jobs_ends_at_once_or_at_its_timeout(self, make: Make) -> None:
        executor = make(1)
        assert executor.wait(None) == []
        started = time.monotonic()
        assert executor.wait(0.05) == []
        assert 0.045 <= time.monotonic() - started < LONG

    def test_a_readable_descriptor_ends_a_wait_and_is_left_unread(self, make: Make) -> None:
        executor = make(1)
        read, write = os.pipe()
        try:
            os.write(write, b"wake")
            assert executor.wait(None, [read]) == []
            assert executor.wait(LONG, [read, read]) == []
            assert os.read(read, 10) == b"wake"
            assert executor.wait(0, [read]) == []
        finally:
            os.close(read)
            os.close(write)

    def test_work_that_always_raises_ends_in_an_error_with_its_message(self, make: Make) -> None:
        executor = make(2)
        job = game(1, **{"raise": "scripted failure"})

        def run_ten_times() -> None:
            for _ in range(10):
                (event,) = run_all(executor, [job])
                assert isinstance(event, Lost)
                assert "scripted failure" in event.reason

        with pytest.raises(ExecutorError, match="ZeroDivisionError: scripted failure"):
            run_ten_times()

    def test_close_is_idempotent_and_ends_everything(self, make: Make) -> None:
        executor = make(2)
        for n in range(4):
            executor.submit(game(n))
        executor.close()
        executor.close(patience=0)
        assert list(executor.running()) == []
        assert executor.wait(None) == []
        assert executor.wait(LONG) == []
        with pytest.raises(ExecutorError, match="closed"):
            executor.submit(game(5))
