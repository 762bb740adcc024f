from __future__ import annotations

import multiprocessing
import os
import resource
from concurrent.futures import ProcessPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.errors import ExecutorError, UsageError
from ringmaster.execution import processes
from ringmaster.execution.affinity import parse_cpus, plan, share
from ringmaster.execution.executor import Done
from ringmaster.execution.local import LocalExecutor
from tests.execution.scripted_work import expected, game
from tests.processes import LONG

NO_END = resource.RLIM_INFINITY


class Limits:
    """Stands in for the system's limit of open files."""

    def __init__(self, soft: int, hard: int) -> None:
        self.limits = soft, hard

    def getrlimit(self, which: int) -> tuple[int, int]:
        assert which == resource.RLIMIT_NOFILE
        return self.limits

    def setrlimit(self, which: int, limits: tuple[int, int]) -> None:
        assert which == resource.RLIMIT_NOFILE
        if limits[0] > limits[1] != NO_END:
            raise ValueError("current limit exceeds maximum limit")
        self.limits = limits


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Limits:
    limits = Limits(1024, 4096)
    monkeypatch.setattr(processes.resource, "getrlimit", limits.getrlimit)
    monkeypatch.setattr(processes.resource, "setrlimit", limits.setrlimit)
    return limits


@pytest.mark.parametrize("soft", [1024, NO_END])
def test_a_limit_that_suffices_is_left_alone(system: Limits, soft: int) -> None:
    system.limits = soft, NO_END
    assert processes.raise_file_limit(256) == soft
    assert system.limits == (soft, NO_END)


@pytest.mark.parametrize("hard", [4096, NO_END])
def test_the_limit_is_raised_for_many_workers_and_the_former_one_returned(
    system: Limits, hard: int
) -> None:
    system.limits = 1024, hard
    assert processes.raise_file_limit(1000) == 1024
    soft, unchanged = system.limits
    assert soft >= 3 * 1000
    assert unchanged == hard


def test_more_workers_than_the_system_has_room_for_are_refused_with_the_numbers(
    system: Limits,
) -> None:
    with pytest.raises(ExecutorError, match=r"2,000 games .* need 6\d+ open files, .* have 4096 "):
        processes.raise_file_limit(2000)
    assert system.limits == (1024, 4096)


def limits_of_a_run() -> tuple[int, list[Done[str]]]:
    """Return the executor's own limit, and the answer of a worker, under a limit of 128 files."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    executor = LocalExecutor("tests.execution.scripted_work:factory", 2)
    try:
        executor.submit(game(1, do="open files"))
        return resource.getrlimit(resource.RLIMIT_NOFILE)[0], executor.wait(LONG)
    finally:
        executor.close()


@pytest.mark.process
def test_workers_have_the_limit_that_the_user_had() -> None:
    # In a new process: files that this one has open count against its limit.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        own, done = fresh.submit(limits_of_a_run).result()
    assert own > 128
    job = game(1, do="open files")
    assert done == [Done(job, expected(job, "128"))]


needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="this system cannot pin processes"
)


@pytest.mark.parametrize(
    ("text", "cpus"), [("0", [0]), ("0-3,8", [0, 1, 2, 3, 8]), ("3, 1,1-2", [1, 2, 3])]
)
def test_a_list_of_cpus_is_read(text: str, cpus: list[int]) -> None:
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["", "a", "3-1", "0,,1", "-1", "0-", "1.5", "９"])
def test_a_malformed_list_of_cpus_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of CPUs"):
        parse_cpus(text)


@given(st.sets(st.integers(0, 255), min_size=1, max_size=64), st.integers(1, 64), st.data())
def test_every_worker_has_equally_many_cpus_and_no_cpu_has_two_workers(
    cpus: set[int], workers: int, data: st.DataObject
) -> None:
    threads = data.draw(st.sampled_from([1, 2, 4]))
    if workers > len(cpus):
        with pytest.raises(UsageError, match="cannot have CPUs of their own"):
            share(sorted(cpus), workers, core=str)
        return
    shares = share(sorted(cpus), workers, core=lambda cpu: str(cpu // threads))
    given_out = [cpu for each in shares for cpu in each]
    assert len(shares) == workers
    assert all(shares)
    assert len(given_out) == len(set(given_out))
    assert set(given_out) <= cpus
    if threads == 1:
        assert len({len(each) for each in shares}) == 1


def test_hardware_threads_of_a_core_stay_together() -> None:
    # cores {0, 4}, {1, 5}, {2, 6}, {3, 7}, as Linux numbers them
    shares = share(range(8), 2, core=lambda cpu: str(cpu % 4))
    assert shares == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_cores_are_divided_only_when_there_are_too_few() -> None:
    assert share(range(4), 4, core=lambda cpu: str(cpu % 2)) == [[0], [2], [1], [3]]


@needs_affinity
def test_a_cpu_that_cannot_be_used_is_named() -> None:
    with pytest.raises(UsageError, match=r"CPU 65000 cannot be used here; there are [0-9]"):
        plan("65000", 1)


@pytest.mark.process
@needs_affinity
def test_a_worker_keeps_to_its_cpus_and_so_do_its_engines() -> None:
    cpu = max(os.sched_getaffinity(0))
    executor = LocalExecutor(
        "tests.execution.scripted_work:factory", 1, setup={"cpus": [[cpu]]}, reaper=None
    )
    try:
        executor.submit(game(1, do="affinity"))
        (event,) = executor.wait(LONG)
    finally:
        executor.close()
    assert isinstance(event, Done)
    assert event.result.detail == f"[{cpu}] [{cpu}]"  # type: ignore[union-attr]
