from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.errors import UsageError
from ringmaster.execution.affinity import parse_cpus, plan, share
from ringmaster.execution.executor import Done
from ringmaster.execution.local import LocalExecutor
from tests.execution.scripted_work import game

needs_affinity = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="this system cannot pin processes"
)


@pytest.mark.parametrize(
    ("text", "cpus"), [("0", [0]), ("0-3,8", [0, 1, 2, 3, 8]), ("3, 1,1-2", [1, 2, 3])]
)
def test_a_list_of_cpus_is_read(text: str, cpus: list[int]) -> None:
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["", "a", "3-1", "0,,1", "-1", "0-", "1.5", "９"])
def test_what_is_no_list_of_cpus_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of CPUs"):
        parse_cpus(text)


@given(st.sets(st.integers(0, 255), min_size=1, max_size=64), st.integers(1, 64), st.data())
def test_every_worker_has_as_many_cpus_and_none_is_given_twice(
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


@needs_affinity
def test_a_worker_keeps_to_its_cpus_and_so_do_its_engines() -> None:
    cpu = max(os.sched_getaffinity(0))
    executor = LocalExecutor(
        "tests.execution.scripted_work:factory", 1, setup={"cpus": [[cpu]]}, watcher=None
    )
    try:
        executor.submit(game(1, do="affinity"))
        (event,) = executor.wait(60)
    finally:
        executor.close()
    assert isinstance(event, Done)
    assert event.result.detail == f"[{cpu}] [{cpu}]"  # type: ignore[union-attr]
