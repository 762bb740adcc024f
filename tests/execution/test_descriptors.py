from __future__ import annotations

import resource

import pytest

from ringmaster.errors import ExecutorError
from ringmaster.execution import descriptors
from ringmaster.execution.executor import Done
from ringmaster.execution.local import LocalExecutor
from tests.contracts.executor_contract import LONG
from tests.execution.scripted_work import expected, game

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
        self.limits = limits


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Limits:
    limits = Limits(1024, 4096)
    monkeypatch.setattr(descriptors.resource, "getrlimit", limits.getrlimit)
    monkeypatch.setattr(descriptors.resource, "setrlimit", limits.setrlimit)
    return limits


@pytest.mark.parametrize("soft", [1024, NO_END])
def test_a_limit_that_suffices_is_left_alone(system: Limits, soft: int) -> None:
    system.limits = soft, NO_END
    assert descriptors.make_room(256) == soft
    assert system.limits == (soft, NO_END)


@pytest.mark.parametrize("hard", [4096, NO_END])
def test_the_limit_is_raised_for_many_workers_and_the_former_one_returned(
    system: Limits, hard: int
) -> None:
    system.limits = 1024, hard
    assert descriptors.make_room(1000) == 1024
    soft, unchanged = system.limits
    assert soft >= 3 * 1000
    assert unchanged == hard


def test_more_workers_than_the_system_has_room_for_are_refused_with_the_numbers(
    system: Limits,
) -> None:
    with pytest.raises(ExecutorError, match=r"2000 games .* need 6\d+ open files, .* have 4096 "):
        descriptors.make_room(2000)
    assert system.limits == (1024, 4096)


def test_workers_have_the_limit_that_the_user_had() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, before[1]))
    try:
        executor = LocalExecutor("tests.execution.scripted_work:factory", 2)
        try:
            assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 128
            job = game(1, do="open files")
            executor.submit(job)
            assert executor.wait(LONG) == [Done(job, expected(job, "128"))]
        finally:
            executor.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
