from __future__ import annotations

import pytest

from ringmaster.errors import ExecutorError
from ringmaster.execution.inline import InlineExecutor
from ringmaster.model.jobs import Job
from ringmaster.model.results import JobResult
from tests.contracts.executor_contract import ExecutorContract, Make
from tests.execution.scripted_work import Scripted, game


class TestInlineExecutor(ExecutorContract):
    @pytest.fixture
    def make(self) -> Make:
        return lambda slots: InlineExecutor(Scripted(), slots)


class Counting(Scripted):
    def __init__(self) -> None:
        self.run_count = 0
        self.close_count = 0

    def run(self, job: Job) -> JobResult:
        self.run_count += 1
        return super().run(job)

    def close(self) -> None:
        self.close_count += 1


def test_nothing_runs_before_it_is_waited_for() -> None:
    work = Counting()
    executor = InlineExecutor(work, 4)
    for n in range(3):
        executor.submit(game(n))
    assert work.run_count == 0
    assert len(executor.wait(0)) == 1
    assert work.run_count == 1


def test_the_work_is_closed_once() -> None:
    work = Counting()
    executor = InlineExecutor(work)
    executor.close()
    executor.close()
    assert work.close_count == 1


def test_an_exception_is_the_cause_of_the_error() -> None:
    executor = InlineExecutor(Scripted())
    executor.submit(game(1, **{"raise": "twice nothing"}))
    with pytest.raises(ExecutorError, match=r"(?s)job 0_1 failed.*twice nothing") as caught:
        executor.wait(0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
