"""Workers that share a process."""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.engines import watcher
from ringmaster.errors import ExecutorError
from ringmaster.execution import seating
from ringmaster.execution.executor import Done, Event, Lost
from ringmaster.execution.local import LocalExecutor
from tests.contracts.executor_contract import LONG, ExecutorContract, Make, run_all
from tests.execution.scripted_work import game
from tests.execution.test_local import HERE, Fifo, Maker, Parent, all_work, everything
from tests.execution.watched import Watched

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="needs epoll (Linux)")


@pytest.fixture
def maker() -> Iterator[Maker]:
    with ExitStack() as stack:
        yield Maker(stack)


@pytest.fixture
def fifos(tmp_path: Path) -> Iterator[list[Fifo]]:
    made = [Fifo(tmp_path / f"fifo{n}") for n in range(3)]
    yield made
    for fifo in made:
        fifo.close()


class TestAllInOneProcess(ExecutorContract):
    @pytest.fixture
    def make(self, maker: Maker) -> Make:
        # a lone worker never shares: one more makes it two
        return lambda slots: maker(slots, processes=1)


class TestTwoProcesses(ExecutorContract):
    @pytest.fixture
    def make(self, maker: Maker) -> Make:
        return lambda slots: maker(slots, processes=min(2, slots))


def details(executor: LocalExecutor, **ticket: object) -> list[str]:
    """Run as many jobs at a time as there are slots; returns the details of their results."""
    events = run_all(executor, [game(n, **ticket) for n in range(executor.slots)])
    assert all(isinstance(event, Done) for event in events)
    return [event.result.detail for event in events]  # type: ignore[union-attr]  # of games


def finish(executor: LocalExecutor, count: int) -> list[Event]:
    events: list[Event] = []
    while len(events) < count:
        some = executor.wait(LONG)
        assert some, "nothing happened for a long time"
        events += some
    return events


def test_each_worker_has_its_own_number_in_the_same_process(maker: Maker) -> None:
    executor = maker(5, processes=2)
    assert sorted(line[0] for line in details(executor, do="context")) == list("01234")
    assert len({int(pid) for pid in details(executor, do="pid")}) == 2


def test_jobs_of_one_process_are_carried_out_at_the_same_time(maker: Maker) -> None:
    executor = maker(20, processes=1)
    assert all_work(executor)
    began = time.monotonic()
    details(executor, do="sleep", seconds=0.5)
    assert time.monotonic() - began < 20 * 0.5 / 2


def test_a_job_that_waits_holds_up_nobody_else(maker: Maker, fifos: list[Fifo]) -> None:
    executor = maker(2, processes=1)
    executor.submit(stays := game("stays", do="block", tell=fifos[0].path))
    fifos[0].pids(executor)
    for n in range(10):
        executor.submit(game(n))
    assert len(finish(executor, 10)) == 10
    assert list(executor.running()) == [stays]


def test_more_can_be_said_at_once_than_fits_in_between(maker: Maker) -> None:
    # neither side may wait for the other to read first
    executor = maker(8, processes=1)
    jobs = [game(n, record=2_000_000, ballast="x" * 500_000) for n in range(24)]
    events = run_all(executor, jobs)
    assert all(isinstance(event, Done) for event in events)


def test_a_process_that_is_killed_costs_the_jobs_of_its_workers_only(
    maker: Maker, fifos: list[Fifo]
) -> None:
    executor = maker(4, processes=2)
    jobs = [game(n, do="block", tell=fifo.path) for n, fifo in enumerate(fifos)]
    pids = []
    for job, fifo in zip(jobs, fifos, strict=True):
        executor.submit(job)
        pids += fifo.pids(executor)
    shared = next(pid for pid in pids if pids.count(pid) == 2)
    os.kill(shared, signal.SIGKILL)
    events = finish(executor, 2)
    assert all(isinstance(event, Lost) for event in events)
    lost = [jobs[n] for n in range(3) if pids[n] == shared]
    assert sorted(event.job.id for event in events) == sorted(job.id for job in lost)
    for event in events:
        assert isinstance(event, Lost)
        assert re.fullmatch(rf"worker \d \(process {shared}\) was killed by SIGKILL", event.reason)
    assert list(executor.running()) == [job for job in jobs if job not in lost]


def test_workers_of_a_process_that_died_get_one_each(maker: Maker) -> None:
    executor = maker(4, processes=2)
    before = details(executor, do="pid")
    os.kill(int(before[0]), signal.SIGKILL)
    run_all(executor, [game(n) for n in range(20)])
    after = details(executor, do="sleep", seconds=0.3) and {
        pid for _ in range(20) for pid in details(executor, do="pid")
    }
    assert len(after) == 3
    assert sorted(line[0] for line in details(executor, do="context")) == list("0123")


def test_the_job_that_kills_its_process_is_found_among_the_innocent(maker: Maker) -> None:
    executor = maker(6, processes=2)
    guilty = game("guilty", do="die")
    innocent = [game(n, do="sleep", seconds=0.05) for n in range(60)]
    for job in [*innocent[:4], guilty, *innocent[4:]]:
        executor.submit(job)
    finished: list[str] = []

    def play_on() -> None:
        while True:
            for event in executor.wait(LONG):
                if isinstance(event, Done):
                    finished.append(event.job.id)
                else:
                    executor.submit(event.job)

    with pytest.raises(ExecutorError, match="job 0_guilty was lost 3 times"):
        play_on()
    assert len(set(finished)) == len(finished)


def test_a_fault_costs_its_process_and_is_told_of_with_its_words(
    maker: Maker, fifos: list[Fifo]
) -> None:
    executor = maker(2, processes=1)
    executor.submit(game("other", do="block", engine="plain", tell=fifos[0].path))
    _, engine = fifos[0].pids(executor)
    with Watched([engine]) as watched:
        executor.submit(game("bad", **{"raise": "in the middle"}, do="wrong"))
        executor.submit(game("later"))
        events = finish(executor, 3)
        assert watched.alive(LONG) == []
    reasons = {e.job.id: e.reason for e in events if isinstance(e, Lost)}
    assert reasons.keys() == {"0_bad", "0_other"}
    first = reasons["0_bad"].splitlines()[0]
    assert re.fullmatch(r"worker [01] failed: ZeroDivisionError: in the middle", first)
    # the one beside it had the same fate, and says whose fault it was
    assert reasons["0_other"].splitlines()[0] == first


def test_a_factory_that_raises_is_told_of(maker: Maker) -> None:
    executor = maker(3, f"{HERE}:broken_factory", processes=1)
    executor.submit(game(1))
    with pytest.raises(ExecutorError, match="LookupError: no board to play on"):
        run_all(executor, [])


def test_a_terminated_process_ends_its_engines_itself(maker: Maker, fifos: list[Fifo]) -> None:
    executor = maker(2, reaper=False, processes=1)
    pids = []
    for n in range(2):
        executor.submit(game(n, do="block", engine="plain", tell=fifos[n].path))
        worker, engine = fifos[n].pids(executor)
        pids.append(engine)
    with Watched(pids) as watched:
        os.kill(worker, signal.SIGTERM)
        reasons = [e.reason for e in finish(executor, 2) if isinstance(e, Lost)]
        assert watched.alive() == []
    ending = rf"\(process {worker}\) exited with status 143"
    assert all(re.fullmatch(rf"worker [01] {ending}", reason) for reason in reasons)
    assert len(reasons) == 2


def test_close_leaves_nothing(fifos: list[Fifo]) -> None:
    me = psutil.Process()
    before = me.num_fds(), everything()
    executor = LocalExecutor(f"{HERE}:factory", 12, watcher=watcher.__file__, processes=2)
    pids = []
    for n, fifo in enumerate(fifos):
        executor.submit(game(n, do="block", engine="family", tell=fifo.path))
        pids += fifo.pids(executor)
    with Watched({*pids, *everything()}) as watched:
        began = time.monotonic()
        executor.close(patience=LONG)
        assert time.monotonic() - began < LONG / 4
        assert watched.alive() == []
    assert (me.num_fds(), everything()) == before


def test_close_kills_workers_of_which_one_does_not_abandon_its_job(
    maker: Maker, fifos: list[Fifo]
) -> None:
    executor = maker(3, processes=1)
    executor.submit(game(1, do="block", engine="plain", tell=fifos[0].path))
    pids = fifos[0].pids(executor)
    executor.submit(game(2, do="stick", engine="plain", tell=fifos[1].path))
    pids += fifos[1].pids(executor)
    with Watched({*pids, *everything()}) as watched:
        executor.close(patience=0.0)
        assert watched.alive() == []


def test_nothing_survives_a_killed_parent(fifos: list[Fifo]) -> None:
    parent = Parent(fifos, LONG, "block", "block", processes=1)
    with Watched({*parent.pids, *parent.helpers}) as watched:
        assert len(watched.alive()) == 2 * 2 + 1 + 2
        parent.process.kill()
        parent.process.wait()
        assert watched.alive(LONG) == []


# How many processes


@given(st.integers(1, 600), st.data())
def test_every_slot_is_in_one_process_and_none_has_two_more_than_another(
    slots: int, data: st.DataObject
) -> None:
    processes = data.draw(st.integers(1, slots))
    spread = seating.spread(slots, processes)
    assert [slot for each in spread for slot in each] == list(range(slots))
    assert len(spread) == processes
    sizes = {len(each) for each in spread}
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(
    ("slots", "setup", "open_files", "processes"),
    [
        (1, {}, 1024, 1),
        (8, {}, 1024, 8),
        (9, {}, 1024, 2),
        (106, {}, 1024, 2),
        (107, {}, 1024, 3),
        (256, {}, 1024, 5),
        (256, {}, 100_000, 2),
        (256, {}, -1, 2),
        (9, {"cpus": [[0]] * 9}, 1024, 9),
    ],
)
def test_workers_share_processes_when_there_are_many_for_each_cpu(
    monkeypatch: pytest.MonkeyPatch,
    slots: int,
    setup: dict[str, object],
    open_files: int,
    processes: int,
) -> None:
    monkeypatch.setattr(seating, "usable_cpus", lambda: 2)
    assert seating.processes_for(slots, setup, open_files) == processes


def test_a_number_of_processes_must_make_sense(maker: Maker) -> None:
    for processes in (0, 3):
        with pytest.raises(ValueError, match=f"2 workers cannot have {processes} processes"):
            maker(2, processes=processes)
