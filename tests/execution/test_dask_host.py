"""A Dask worker as a host: tasks that are taken back, failures, idle engines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from ringmaster.execution.dask_protocol import Answer, Assignment, NumberedJob, encode
from ringmaster.model.jobs import Job
from tests.execution.scripted_work import expected, game
from tests.processes import LONG
from tests.requirements import package

package("distributed")
dask_host = import_module("ringmaster.execution.dask_host")

pytestmark = [pytest.mark.optional, pytest.mark.process]


class Worker:
    """What a plugin needs of a Dask worker."""

    def __init__(self) -> None:
        self.removed: list[str] = []

    async def plugin_remove(self, name: str) -> None:
        self.removed.append(name)


class Host:
    """A plugin with tasks as the scheduler gives and takes them."""

    def __init__(self, slots: int) -> None:
        self.worker = Worker()
        self.plugin = dask_host.HostPlugin()
        self.plugin.setup(self.worker)
        work = "tests.execution.scripted_work:factory"
        orders = Assignment("r", "1", work, {}, "ringmaster.engines.reaper")
        self.plugin.take(orders, slots, "here")

    def play(self, key: str, *jobs: Job) -> asyncio.Task[bytes]:
        numbered = [NumberedJob(number, job) for number, job in enumerate(jobs)]
        return asyncio.ensure_future(self.plugin.play(key, numbered))

    def take_back(self, key: str) -> None:
        self.plugin.transition(key, "executing", "released")


def test_host_without_affinity_of_cpus_plays_but_cannot_pin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # macOS
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(os, "sched_setaffinity")

    async def check(host: Host) -> None:
        orders = Assignment("r", "1", "tests.execution.scripted_work:factory")
        facts = host.plugin.take(orders, 1, "mac")
        assert (facts.cpus, facts.refusal) == (os.cpu_count(), "")
        pinned = host.plugin.take(msgspec.structs.replace(orders, pin=True), 1, "mac")
        assert pinned.refusal == "its system cannot keep a game to some of the CPUs (pin)"
        await host.play("t", game(1))

    run(check, 1)


def run(test: Callable[[Host], Awaitable[None]], slots: int = 2) -> None:
    """Run a test in an event loop, and end its host."""

    async def whole() -> None:
        host = Host(slots)
        try:
            await asyncio.wait_for(test(host), LONG)
        finally:
            await host.plugin.close(0.0)

    asyncio.run(whole())


async def answer(task: asyncio.Task[bytes]) -> Answer:
    return msgspec.json.decode(await task, type=Answer)


def fifo(folder: Path, name: str) -> Path:
    os.mkfifo(folder / name)
    return folder / name


async def pids(path: Path) -> list[int]:
    """Return the process ids that a game tells."""
    text = await asyncio.to_thread(path.read_text)
    return [int(word) for word in text.split()]


def test_game_that_is_taken_back_ends_with_its_engines_and_others_begin_again(
    tmp_path: Path,
) -> None:
    async def test(host: Host) -> None:
        first, second = fifo(tmp_path, "first"), fifo(tmp_path, "second")
        gone = host.play("a", game(1, do="block", tell=str(first), engine="plain"))
        processes = [psutil.Process(pid) for pid in await pids(first)]
        host.take_back("a")
        kept = host.play("b", game(2), game(3, do="pid", tell=str(second)))
        await pids(second)
        assert (await answer(gone)).unprepared
        outcomes = (await answer(kept)).outcomes
        assert sorted(outcome.number for outcome in outcomes) == [0, 1]
        assert expected(game(2)) in [outcome.result for outcome in outcomes]
        assert psutil.wait_procs(processes, timeout=LONG)[1] == []

    run(test)


def test_every_task_is_answered_however_others_are_taken_back() -> None:
    async def test(host: Host) -> None:
        for _ in range(3):
            blocked = [host.play(f"old {n}", game(n, do="block")) for n in range(2)]
            await asyncio.sleep(0)
            for n in range(2):
                host.take_back(f"old {n}")
            new = [host.play(f"new {n}", game(n, n=n)) for n in range(6)]
            answers = await asyncio.gather(*map(answer, new))
            assert [a.outcomes[0].result for a in answers] == [
                expected(game(n, n=n)) for n in range(6)
            ]
            assert not any(a.failure for a in answers)
            assert all(a.unprepared for a in await asyncio.gather(*map(answer, blocked)))

    run(test)


def test_failure_of_the_host_is_the_answer_to_present_and_later_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_arguments: Any, **_settings: Any) -> None:
        raise OSError(28, "No space left on device")

    async def test(host: Host) -> None:
        monkeypatch.setattr(dask_host.tempfile, "TemporaryDirectory", fail)
        both = [host.play("a", game(1)), host.play("b", game(2))]
        for task in both:
            assert "No space left on device" in (await answer(task)).failure
        assert "No space left on device" in (await answer(host.play("c", game(3)))).failure

    run(test)


def test_idle_engines_end_and_the_run_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(host: Host) -> None:
        first = host.play("a", game(1, do="pid"))
        # not before: a host of a busy machine may forget a run before its first game
        monkeypatch.setattr(dask_host, "IDLE", 0.05)
        (outcome,) = (await answer(first)).outcomes
        worker = psutil.Process(int(outcome.result.detail))  # type: ignore[union-attr]  # a game
        assert (await asyncio.to_thread(psutil.wait_procs, [worker], LONG))[1] == []
        thread = host.plugin._thread
        assert thread is not None
        await asyncio.to_thread(thread.join)
        await asyncio.sleep(0)
        assert host.worker.removed == ["ringmaster-r"]
        assert (await answer(host.play("b", game(2)))).unprepared

    run(test)


def test_engines_live_on_from_task_to_task() -> None:
    async def test(host: Host) -> None:
        first = await answer(host.play("a", game(1, do="pid")))
        second = await answer(host.play("b", game(2, do="pid")))
        assert first.outcomes[0].result.detail == second.outcomes[0].result.detail  # type: ignore[union-attr]  # games

    run(test, slots=1)


def test_assignment_of_another_version_is_refused() -> None:
    orders = Assignment("r", "0.0.1", "no:matter")
    facts = asyncio.run(dask_host.prepare(encode(orders), dask_worker=object()))
    assert b"this is 0.0.1" in facts
