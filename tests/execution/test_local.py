from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest

from ringmaster.engines import reaper
from ringmaster.errors import ExecutorError
from ringmaster.execution import local
from ringmaster.execution.executor import Done, JobEnd, Lost
from ringmaster.execution.local import LocalExecutor
from ringmaster.execution.processes import WorkerProcess
from ringmaster.model.jobs import CheckJob, GameSettings
from ringmaster.model.players import Player
from tests.contracts.executor_contract import ExecutorContract, run_all
from tests.execution.scripted_work import check, expected, game, holder
from tests.execution.watched import Watched
from tests.processes import LONG, await_that, commanded, open_files, under

HERE = "tests.execution.scripted_work"
WORK = f"{HERE}:factory"
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs pidfd (Linux)")


class Maker:
    """Makes executors, and closes them at the end of the test."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(
        self, slots: int, work: str = WORK, *, with_reaper: bool = True, **resources: int
    ) -> LocalExecutor:
        reaper_program = reaper.__file__ if with_reaper else None
        executor = LocalExecutor(work, slots, reaper=reaper_program, resources=resources)
        self._stack.callback(executor.close)
        return executor


@pytest.fixture
def make() -> Iterator[Maker]:
    with ExitStack() as stack:
        yield Maker(stack)


class TestLocalExecutor(ExecutorContract):
    """The contract; `make` is the fixture of the module."""


@pytest.mark.process
def test_quick_checks_are_no_reason_to_queue_games(make: Maker) -> None:
    executor = make(1)
    run_all(executor, map(check, range(50)))
    assert executor.room(ahead=True) == 1


#: An engine that writes down its session, group and worker, and ends.
REPORTER = """
import os, sys
with open(sys.argv[1], "a") as file:
    print(os.getpid(), os.getpgid(0), os.getsid(0), os.getppid(), os.getpgid(os.getppid()),
          os.getsid(os.getppid()), file=file)
"""


@pytest.mark.process
def test_workers_and_engines_share_a_session_and_lead_groups_of_their_own(
    make: Maker, tmp_path: Path
) -> None:
    written = tmp_path / "written"
    engine = Player("a", (sys.executable, "-S", "-c", REPORTER, str(written)), protocol="uci")
    executor = make(2, "ringmaster.play.worker:contained_worker")
    run_all(executor, [CheckJob(f"check_{n}", engine, GameSettings("chess")) for n in range(4)])
    lines = [[int(word) for word in line.split()] for line in written.read_text().splitlines()]
    assert len(lines) == 4
    assert all(
        pid == group and worker == its_group for pid, group, _, worker, its_group, _ in lines
    )
    sessions = {session for line in lines for session in (line[2], line[5])}
    assert len(sessions) == 1
    assert sessions != {os.getsid(0)}


class Fifo:
    """A pipe on which workers write the process ids of themselves and their engines."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = str(path)
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def close(self) -> None:
        os.close(self._fd)

    def pids(self, executor: LocalExecutor | None = None) -> list[int]:
        """Wait for the process ids of one worker with a job that does not end.

        The executor goes on meanwhile.
        """
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        deadline = time.monotonic() + LONG
        text = b""
        while not text.endswith(b"\n"):
            assert time.monotonic() < deadline, "no worker wrote its process id"
            if executor is None:
                poll.poll(LONG * 1000)
            else:
                assert executor.wait(LONG, [self._fd]) == []
            with suppress(BlockingIOError):  # a worker has it open, and has not written
                text += os.read(self._fd, 1000)
        return [int(word) for word in text.split()]


@pytest.fixture
def fifos(tmp_path: Path) -> Iterator[list[Fifo]]:
    pipes = [Fifo(tmp_path / f"fifo{n}") for n in range(3)]
    yield pipes
    for fifo in pipes:
        fifo.close()


@pytest.fixture
def fifo(fifos: list[Fifo]) -> Fifo:
    return fifos[0]


def one_event(executor: LocalExecutor) -> JobEnd:
    (event,) = executor.wait(LONG)
    return event


def lost(executor: LocalExecutor) -> str:
    """Wait for a lost job; returns the reason."""
    event = one_event(executor)
    assert isinstance(event, Lost), event
    return event.reason


def detail(executor: LocalExecutor, **ticket: object) -> str:
    """Run a job; returns the detail of its result."""
    executor.submit(game(1, **ticket))
    event = one_event(executor)
    assert isinstance(event, Done), event
    return event.result.detail  # type: ignore[union-attr]  # the result of a game


def helper(name: str, parent: int | None = None) -> int:
    """Return the process id of the fork server or the reaper among the children."""
    (process,) = commanded(psutil.Process(parent).children(), f"{name}.py")
    return process.pid


def all_work(executor: LocalExecutor) -> bool:
    events = run_all(executor, [game(n) for n in range(3 * executor.slots)])
    return all(isinstance(event, Done) for event in events)


# What a worker is given


@pytest.mark.process
def test_the_factory_gets_its_slot_and_the_setup() -> None:
    executor = LocalExecutor(WORK, 1, setup={"pin": 1, "folder": "ü"})
    try:
        assert detail(executor, do="context") == "0 [('folder', 'ü'), ('pin', 1)]"
    finally:
        executor.close()


@pytest.mark.process
def test_a_worker_holds_no_descriptor_of_its_parent_but_its_own(
    make: Maker, tmp_path: Path
) -> None:
    with open(tmp_path / "lock", "w") as lock:
        os.set_inheritable(lock.fileno(), True)
        executor = make(2)
        links = detail(executor, do="descriptors").splitlines()
    pairs = (link.split(maxsplit=1) for link in links)
    kinds = {int(fd): re.sub(r"\d+", "", target) for fd, target in pairs}
    assert kinds.pop(0) == "/dev/null"
    # Files without a name take standard output and error.
    assert kinds.pop(1) == kinds.pop(2) != "/dev/null"
    # The rest: its connection, the pipe of the reaper, and the listing itself.
    assert sorted(k for k in kinds.values() if k != "gone") == ["pipe:[]", "socket:[]"]


@pytest.mark.process
def test_a_worker_ignores_the_interrupt_of_its_terminal(make: Maker) -> None:
    executor = make(1)
    executor.submit(job := game(1, do="signals"))
    assert one_event(executor) == Done(job, expected(job))


@pytest.mark.slow
def test_the_main_script_is_not_run_again_and_the_current_folder_shadows_nothing(
    tmp_path: Path,
) -> None:
    for name in ("msgspec", "json", "select", "psutil"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')")
    done = subprocess.run(
        [sys.executable, ROOT / "tests/execution/parent_script.py", WORK, "1", '{"do": "main"}'],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=LONG,
    )
    assert done.stderr == ""
    assert done.stdout.count("run\n") == 1
    assert "fork_server.py" in done.stdout
    assert done.stdout.endswith("closed\n")


# Workers that die


@pytest.mark.process
def test_a_killed_worker_costs_only_its_own_job(make: Maker, fifos: list[Fifo]) -> None:
    executor = make(2)
    jobs = [game(n, do="block", tell=fifo.path) for n, fifo in enumerate(fifos[:2])]
    pids = []
    for job, fifo in zip(jobs, fifos, strict=False):
        executor.submit(job)
        pids += fifo.pids(executor)
    os.kill(pids[1], signal.SIGKILL)
    (event,) = executor.wait(LONG)
    assert isinstance(event, Lost)
    assert event.job is jobs[1]
    assert re.fullmatch(rf"worker [01] \(process {pids[1]}\) was killed by SIGKILL", event.reason)
    assert list(executor.running()) == [jobs[0]]
    executor.submit(game(3))
    assert isinstance(one_event(executor), Done)


@pytest.mark.process
def test_the_engines_of_a_killed_worker_are_killed_with_their_children(
    make: Maker, fifo: Fifo
) -> None:
    executor = make(1)
    executor.submit(game(1, do="block", engine="family", tell=fifo.path))
    worker, *engines = fifo.pids(executor)
    assert len(engines) == 2
    with Watched(engines) as watched:
        os.kill(worker, signal.SIGKILL)
        lost(executor)
        assert watched.alive(LONG) == []
    assert all_work(executor)


@pytest.mark.process
@pytest.mark.parametrize(
    ("way", "number", "reason"),
    [
        ("pause", signal.SIGTERM, r"worker 0 \(process \d+\) exited with status 143"),
        ("fault", signal.SIGUSR1, "worker 0 failed: ZeroDivisionError: in the middle"),
    ],
)
def test_a_worker_that_is_terminated_or_raises_ends_its_engines_itself(
    make: Maker, fifo: Fifo, way: str, number: int, reason: str
) -> None:
    executor = make(1, with_reaper=False)
    executor.submit(game(1, do=way, engine="plain", tell=fifo.path))
    worker, *engines = fifo.pids(executor)
    with Watched(engines) as watched:
        os.kill(worker, number)
        assert re.match(reason, lost(executor))
        assert watched.alive(LONG) == []


@pytest.mark.process
def test_a_worker_killed_while_idle_is_replaced_without_a_word(make: Maker) -> None:
    executor = make(1)
    pid = int(detail(executor, do="pid"))
    with Watched([pid]) as watched:
        os.kill(pid, signal.SIGKILL)
        assert watched.alive(LONG) == []
    assert all_work(executor)


@pytest.mark.process
def test_messages_of_workers_are_notices_and_leave_results_alone(make: Maker) -> None:
    executor = make(2)
    jobs = [game(number, notices=["slow", "très slow"]) for number in range(3)]
    for job in jobs:
        executor.submit(job)
    events = []
    notices = []
    while executor.running():
        events += executor.wait(10)
        notices += executor.notices()
    assert {event.job.id for event in events} == {job.id for job in jobs}
    assert sorted(notices) == sorted([("slow", True), ("très slow", True)] * 3)
    assert executor.notices() == []


def test_last_words_of_a_dead_worker_are_in_the_reason(make: Maker) -> None:
    executor = make(1)
    executor.submit(game(1, do="exit", say="no\x1b[31mmemory"))
    reason = lost(executor)
    assert re.fullmatch(
        r"worker 0 \(process \d+\) exited with status 3\nno\ufffd\[31mmemory", reason
    )


@pytest.mark.process
def test_a_fault_of_the_work_is_reported_with_its_traceback(make: Maker) -> None:
    executor = make(1)
    executor.submit(game(1, **{"raise": "many"}, say="warned"))
    first, *rest = lost(executor).splitlines()
    assert first == "worker 0 failed: ZeroDivisionError: many"
    assert rest[0].startswith("Traceback")
    assert any("scripted_work.py" in line for line in rest)
    assert rest[-1] == "warned"
    assert all_work(executor)


@pytest.mark.process
def test_a_result_of_the_wrong_type_is_a_fault_of_the_work(make: Maker) -> None:
    executor = make(1)
    executor.submit(game(1, do="wrong result"))
    assert lost(executor).startswith("worker 0 failed: sent no valid result")


@pytest.mark.process
def test_a_job_that_kills_every_worker_ends_the_run_though_others_succeed(make: Maker) -> None:
    executor = make(2)
    deadly = game("deadly", do="die")
    losses: list[Lost] = []

    def play() -> None:
        executor.submit(deadly)
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            executor.submit(game(len(losses)))
            for event in executor.wait(LONG):
                if isinstance(event, Lost):
                    losses.append(event)
                    executor.submit(event.job)

    with pytest.raises(ExecutorError, match=r"job 0_deadly was lost 3 times.*SIGKILL"):
        play()
    assert [event.job for event in losses] == [deadly] * 3


@pytest.mark.process
def test_a_job_lost_twice_and_then_done_starts_over(make: Maker) -> None:
    executor = make(1)
    for _ in range(2):
        for _ in range(2):
            executor.submit(game(1, do="die"))
            lost(executor)
        executor.submit(game(1))
        assert isinstance(one_event(executor), Done)


@pytest.mark.process
def test_results_are_reported_before_the_failure_of_others(make: Maker) -> None:
    executor = make(1)
    for n in range(3):
        executor.submit(game(n, do="die"))
    events = [one_event(executor) for _ in range(3)]
    assert [event.job.id for event in events] == ["0_0", "0_1", "0_2"]
    for _ in range(2):
        with pytest.raises(ExecutorError, match="worker 0 ended 3 times in a row"):
            executor.wait(LONG)


@pytest.mark.process
@pytest.mark.parametrize(
    ("work", "words"),
    [
        (f"{HERE}:broken_factory", "LookupError: no board to play on"),
        (f"{HERE}:dying_factory", "exited with status 4\ngoodbye from the factory"),
        (f"{HERE}:absent", "has no attribute 'absent'"),
        ("ringmaster.absent:factory", "No module named 'ringmaster.absent'"),
    ],
)
def test_workers_that_cannot_start_are_an_error_with_the_reason(
    make: Maker, work: str, words: str
) -> None:
    executor = make(2, work)
    executor.submit(game(1))
    with pytest.raises(ExecutorError, match=re.escape(words)) as caught:
        executor.wait(LONG)
    assert "ended 3 times in a row without finishing a job" in str(caught.value)


@pytest.mark.process
def test_a_job_that_is_no_json_data_is_refused_when_it_is_submitted(make: Maker) -> None:
    executor = make(1)
    with pytest.raises(ExecutorError, match="job 0_1 cannot be sent"):
        executor.submit(game(1, lock=object()))
    assert executor.running() == []
    assert all_work(executor)


@pytest.mark.process
def test_no_job_starts_before_every_worker_is_ready(tmp_path: Path) -> None:
    # games that are being played would hold up the start of the others
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    executor = LocalExecutor(f"{HERE}:late_factory", 2, setup={"fifo": str(fifo)})
    try:
        executor.submit(job := game(1, do="context"))
        # opening it waits for the second worker
        with open(fifo, "w") as late:
            assert executor.wait(0.2) == []
            assert executor.running() == [job]
            print(file=late)
        event = one_event(executor)
        assert isinstance(event, Done)
    finally:
        executor.close()


# Resources


@pytest.mark.process
def test_tokens_of_a_killed_worker_go_to_the_first_job_that_waits_for_them(
    make: Maker, fifos: list[Fifo]
) -> None:
    executor = make(3, gpu0=1)
    needy, free = holder("a", gpu0=1), holder("b")
    first = game(1, needy, free, do="block", tell=fifos[0].path)
    executor.submit(first)
    (pid,) = fifos[0].pids(executor)
    waiting = [game(2, free, needy), game(3, needy, free, do="block", tell=fifos[1].path)]
    for job in waiting:
        executor.submit(job)
    # two workers are idle, and two jobs wait
    assert (list(executor.in_progress()), executor.room()) == ([first], 2)
    executor.submit(other := game(4, free, free))
    assert one_event(executor).job is other
    os.kill(pid, signal.SIGKILL)
    assert isinstance(one_event(executor), Lost)
    assert one_event(executor) == Done(waiting[0], expected(waiting[0]))
    fifos[1].pids(executor)
    assert list(executor.running()) == [waiting[1]]


@pytest.mark.process
def test_held_executor_ends_jobs_in_progress_and_begins_no_others(make: Maker, fifo: Fifo) -> None:
    executor = make(2, gpu0=1)
    needy = holder("a", gpu0=1), holder("b")
    executor.submit(game(0, *needy, do="block", tell=fifo.path))
    (pid,) = fifo.pids(executor)
    executor.submit(waiting := game(1, *needy))
    executor.is_held = True
    os.kill(pid, signal.SIGKILL)
    assert isinstance(one_event(executor), Lost)
    assert list(executor.running()) == []
    executor.is_held = False
    assert list(executor.running()) == [waiting]
    assert one_event(executor).job is waiting


@pytest.mark.process
def test_jobs_that_wait_for_tokens_make_no_endless_queue(make: Maker, fifo: Fifo) -> None:
    executor = make(2, gpu0=1)
    needy = holder("a", gpu0=1), holder("b")
    executor.submit(game(0, *needy, do="block", tell=fifo.path))
    fifo.pids(executor)
    count = 1
    while executor.room():
        executor.submit(game(count, *needy))
        count += 1
    assert count == 2 * executor.slots


# More and fewer workers


def test_game_in_progress_survives_its_worker_not_being_needed(
    make: Maker, fifos: list[Fifo], tmp_path: Path
) -> None:
    executor = make(2)
    jobs = [game(n, do="block", tell=fifo.path) for n, fifo in enumerate(fifos[:2])]
    pids = []
    for job, fifo in zip(jobs, fifos, strict=False):
        executor.submit(job)
        pids += fifo.pids(executor)
    executor.resize(1)
    assert list(executor.running()) == list(executor.in_progress()) == jobs
    assert executor.wait(0) == []
    # the newest worker leaves, whichever job it has; without its job it has no replacement
    newest = pids.index(max(pids))
    os.kill(pids[newest], signal.SIGKILL)
    assert isinstance(one_event(executor), Lost)
    executor.submit(game(3))
    assert executor.wait(0.05) == []
    executor.resize(2)
    assert isinstance(one_event(executor), Done)
    assert list(executor.running()) == [jobs[1 - newest]]


@pytest.mark.process
def test_idle_workers_that_are_not_needed_end(make: Maker) -> None:
    executor = make(3)
    assert all_work(executor)
    before = set(everything())
    executor.resize(1)
    await_that(lambda: executor.wait(0) == [] and len(before - set(everything())) == 2)
    assert all_work(executor)


@pytest.mark.process
def test_engines_of_a_worker_that_does_not_end_are_killed_during_the_run(
    make: Maker, fifo: Fifo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_LEAVE_GRACE", 0.0)
    executor = make(2, f"{HERE}:stubborn_factory")
    executor.submit(game(1, engine="plain", tell=fifo.path))
    assert isinstance(one_event(executor), Done)
    pids = fifo.pids()
    executor.submit(game(2, do="block"))  # in the other worker
    executor.resize(1)
    with Watched(pids) as watched:
        await_that(lambda: executor.wait(0) == [] and watched.alive() == [])


@pytest.mark.process
def test_new_worker_has_another_number_than_one_that_is_ending(make: Maker) -> None:
    executor = make(2, f"{HERE}:stubborn_factory")
    assert all_work(executor)
    executor.resize(1)
    executor.resize(2)
    executor.submit(game(1, do="block"))
    assert detail(executor, do="context").startswith("2 ")


def test_workers_without_planned_cpus_are_refused(make: Maker) -> None:
    executor = LocalExecutor(WORK, 1, setup={"cpus": [[0]]})
    try:
        with pytest.raises(ExecutorError, match=r"CPUs are planned for 1 .* -j 2 for more"):
            executor.resize(2)
        assert executor.slots == 1
        assert all_work(executor)
    finally:
        executor.close()


# The end


def everything() -> list[int]:
    """Return the processes below this one.

    Without multiprocessing's tracker, which another test may have started: it lives as long
    as this process.
    """
    trackers = under("resource_tracker")
    children = psutil.Process().children(recursive=True)
    return [process.pid for process in children if process not in trackers]


@pytest.mark.slow
def test_close_leaves_no_process_and_no_descriptor(fifo: Fifo) -> None:
    before = open_files(), everything()
    executor = LocalExecutor(WORK, 3, reaper=reaper.__file__)
    executor.submit(game(1, do="block", engine="family", tell=fifo.path))
    pids = fifo.pids(executor)
    executor.submit(game(2, do="die"))
    lost(executor)
    with Watched({*pids, *everything()}) as watched:
        started = time.monotonic()
        executor.close(patience=LONG)
        # A worker that watches its control_fd does not make close wait.
        assert time.monotonic() - started < LONG / 4
        assert watched.alive() == []
    assert open_files() - before[0] == set()
    assert everything() == before[1]


@pytest.mark.slow
@pytest.mark.parametrize("has_fork_server", [True, False])
def test_close_kills_a_worker_that_does_not_abandon_its_job(
    make: Maker, fifo: Fifo, has_fork_server: bool
) -> None:
    executor = make(1)
    executor.submit(game(1, do="stick", engine="plain", tell=fifo.path))
    fork_server = helper("fork_server")
    with Watched([*fifo.pids(executor), fork_server]) as watched:
        if not has_fork_server:
            os.kill(fork_server, signal.SIGKILL)
        executor.close(patience=0.0)
        assert watched.alive() == []


@pytest.mark.process
def test_an_executor_can_be_closed_before_its_workers_have_started() -> None:
    before = open_files()
    LocalExecutor(WORK, 4, reaper=reaper.__file__).close()
    assert (open_files() - before, everything()) == (set(), [])


@pytest.mark.process
def test_a_close_that_was_interrupted_goes_on_when_called_again(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = make(2)
    executor.submit(game(1, do="block"))

    def interrupted(workers: list[WorkerProcess], seconds: float) -> list[WorkerProcess]:
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(local, "wait_for", interrupted)
    with pytest.raises(KeyboardInterrupt):
        executor.close()
    executor.close()
    assert everything() == []


@pytest.mark.slow
def test_a_fork_server_that_is_killed_costs_nothing(make: Maker, fifo: Fifo) -> None:
    executor = make(1)
    worker = int(detail(executor, do="pid"))
    fork_server = helper("fork_server")
    with Watched([fork_server]) as watched:
        os.kill(fork_server, signal.SIGKILL)
        assert watched.alive(LONG) == []
    # The worker works on; when it dies too, a new fork server brings up another.
    executor.submit(game(2, do="block", tell=fifo.path))
    assert fifo.pids(executor) == [worker]
    os.kill(worker, signal.SIGKILL)
    assert lost(executor) == f"worker 0 (process {worker}) ended"
    assert all_work(executor)
    assert helper("fork_server") != fork_server


@pytest.mark.slow
def test_engines_are_found_by_their_tag_when_the_reaper_was_killed(make: Maker, fifo: Fifo) -> None:
    executor = make(1)
    executor.submit(game(1, do="block", engine="family", tell=fifo.path))
    worker, *engines = fifo.pids(executor)
    reaper = helper("reaper")
    with Watched(engines) as watched, Watched([reaper]) as dead:
        os.kill(reaper, signal.SIGKILL)
        assert dead.alive(LONG) == []
        os.kill(worker, signal.SIGKILL)
        lost(executor)
        assert all_work(executor)
        executor.close()
        assert watched.alive() == []


# The parent dies


class Parent:
    """A program with an executor, two jobs and their engines, to be killed."""

    def __init__(self, fifos: list[Fifo], grace: float, *ways: str) -> None:
        tickets = [
            {"do": way, "engine": "family", "tell": fifo.path}
            for way, fifo in zip(ways, fifos, strict=False)
        ]
        self.process = subprocess.Popen(
            [sys.executable, "tests/execution/parent_script.py", WORK, str(grace)]
            + [json.dumps(ticket) for ticket in tickets],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            process_group=0,
        )
        self.pids = [pid for fifo, _ in zip(fifos, ways, strict=False) for pid in fifo.pids()]
        self.helpers = [helper(name, self.process.pid) for name in ("fork_server", "reaper")]


@pytest.mark.parametrize("way", ["block", "stick"])
@pytest.mark.slow
def test_nothing_survives_a_killed_parent(fifos: list[Fifo], way: str) -> None:
    parent = Parent(fifos, LONG if way == "block" else 0.05, "block", way)
    with Watched([*parent.pids, *parent.helpers]) as watched:
        assert len(watched.alive()) == 2 * 3 + 2
        parent.process.kill()
        parent.process.wait()
        assert watched.alive(LONG) == []


@pytest.mark.slow
def test_nothing_survives_when_all_processes_of_ringmaster_are_killed_at_once(
    fifos: list[Fifo],
) -> None:
    parent = Parent(fifos, LONG, "block", "stick")
    fork_server, reaper = parent.helpers
    workers = [child.pid for child in psutil.Process(fork_server).children()]
    with Watched([*parent.pids, fork_server, reaper]) as watched:
        for group in (fork_server, *workers):
            os.killpg(group, signal.SIGSTOP)
        os.killpg(parent.process.pid, signal.SIGKILL)
        for group in (fork_server, *workers):
            os.killpg(group, signal.SIGKILL)
        parent.process.wait()
        assert watched.alive(LONG) == []


# Jobs ahead


@pytest.fixture
def quick(make: Maker, monkeypatch: pytest.MonkeyPatch) -> LocalExecutor:
    """Two workers known to be quick."""
    monkeypatch.setattr(local, "AHEAD_SECONDS", 1e9)
    executor = make(2)
    run_all(executor, [game(f"first{n}") for n in range(2)])
    return executor


def names(events: list[JobEnd]) -> list[str]:
    """Return the ids of the jobs that are done."""
    return [event.job.id for event in events if isinstance(event, Done)]


def first_events(executor: LocalExecutor, number: int, complaint: str) -> list[JobEnd]:
    """Wait until so many jobs have been reported."""
    events: list[JobEnd] = []
    while len(events) < number:
        some = executor.wait(LONG)
        assert some, complaint
        events += some
    return events


@pytest.mark.process
def test_quick_workers_are_worth_more_jobs_than_one_each(quick: LocalExecutor) -> None:
    assert quick.room(ahead=True) == 2 * (1 + local.AHEAD_JOBS)
    assert quick.room() == 2


@pytest.mark.process
def test_jobs_ahead_of_a_late_worker_are_done_by_others(quick: LocalExecutor, fifo: Fifo) -> None:
    quick.submit(game("late", do="block", tell=fifo.path))
    fifo.pids(quick)
    jobs = [game(n) for n in range(20)]
    for job in jobs:
        quick.submit(job)
    done = first_events(quick, len(jobs), "jobs wait behind one that does not end")
    assert sorted(names(done)) == sorted(job.id for job in jobs)
    assert [job.id for job in quick.running()] == ["0_late"]


@pytest.mark.process
@pytest.mark.parametrize("way", ["die", "exit", "raise"])
def test_end_of_a_worker_costs_no_job_ahead(quick: LocalExecutor, way: str) -> None:
    ticket = {"raise": "on purpose"} if way == "raise" else {"do": way}
    events = run_all(quick, [game("bad", **ticket), *(game(n) for n in range(20))])
    assert [event.job.id for event in events if isinstance(event, Lost)] == ["0_bad"]
    assert sorted(names(events)) == sorted(f"0_{n}" for n in range(20))


@pytest.mark.process
def test_a_job_of_a_megabyte_is_done_like_others(quick: LocalExecutor) -> None:
    long = game("long", text="x" * 1_000_000)
    events = run_all(quick, [game(0), game(1), long, *(game(n) for n in range(2, 9))])
    assert all(isinstance(e, Done) and e.result == expected(e.job) for e in events)
    assert len(events) == 10
