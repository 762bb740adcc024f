"""Processes that engines leave behind are killed: after each game, with a killed worker, and
by the next run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from ringmaster.engines import reaper
from ringmaster.execution import local
from ringmaster.execution.executor import Done, Lost
from ringmaster.execution.local import LocalExecutor
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import Player, Restart
from ringmaster.model.results import GameResult
from tests.execution.watched import Watched
from tests.processes import LONG, await_that, commanded, under
from tests.program import ENGINE, ringmaster, start, write_control_file

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="needs child subreapers and prlimit"),
]


@pytest.fixture
def executor() -> Iterator[LocalExecutor]:
    """An executor with one worker."""
    executor = LocalExecutor(
        "ringmaster.play.worker:contained_worker", 1, reaper=reaper.__file__, setup={}
    )
    yield executor
    executor.close()


def game(folder: Path, *flags: str, restart: Restart = "off") -> GameJob:
    """Return a game between two engines that write their pids to a file."""
    engine = (sys.executable, "-I", "-S", str(ENGINE), "--pid-file", str(folder / "pids"), *flags)
    one, other = (
        Player(code, engine, protocol="uci", nodes=1, restart=restart) for code in ("one", "other")
    )
    return GameJob("g", (one, other), GameSettings("chess"))


def play(executor: LocalExecutor, job: GameJob) -> GameResult:
    executor.submit(job)
    while not (ends := executor.wait(LONG)):
        pass  # notices end a wait, too
    (end,) = ends
    assert isinstance(end, Done)
    assert isinstance(end.result, GameResult)
    return end.result


def pids(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "pids").read_text().split()]


def await_living(pids: list[int], number: int) -> None:
    """Wait until so many of some processes are left: the kernel takes its time to end one."""
    await_that(lambda: len(living(pids)) <= number)
    assert len(living(pids)) == number


def living(pids: list[int]) -> list[int]:
    states = ((pid, reaper.read_status(pid)) for pid in pids)
    return [pid for pid, status in states if status is not None and status.is_alive()]


@pytest.mark.parametrize("restart", ["on", "off"])
def test_escaped_process_is_killed_after_its_game(
    executor: LocalExecutor, tmp_path: Path, restart: Restart
) -> None:
    result = play(executor, game(tmp_path, "--escapee", restart=restart))
    assert result.reason == "mate"
    # both engines, if they are kept, and none of what they left
    assert len(pids(tmp_path)) == 4
    await_living(pids(tmp_path), 2 if restart == "off" else 0)
    ((message, _),) = executor.notices()
    assert message.startswith("g: killed 2 processes that an engine had left behind")


def test_kept_engines_play_on_after_a_sweep(executor: LocalExecutor, tmp_path: Path) -> None:
    for _ in range(3):
        assert play(executor, game(tmp_path, "--escapee", "--daemon-child")).reason == "mate"
    # The daemon is its engine's child.
    assert len(pids(tmp_path)) == 6
    await_living(pids(tmp_path), 4)


def test_engine_that_ends_with_a_crash_keeps_its_exit_status(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    result = play(executor, game(tmp_path, "--escapee", "--crash-on", "go", "--exit-code", "9"))
    assert result.reason == "crash"
    assert "it exited with status 9" in result.detail
    await_living(pids(tmp_path), 0)


def test_worker_has_no_zombies_of_escaped_processes(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    for _ in range(2):
        play(executor, game(tmp_path, "--escapee", restart="on"))
    (fork_server,) = commanded(psutil.Process().children(), "fork_server")
    (worker,) = fork_server.children()
    await_that(lambda: worker.children(recursive=True) == [])


@pytest.mark.slow
def test_worker_that_an_engine_stops_is_replaced(
    executor: LocalExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "LOOK_PERIOD", 0.1)
    monkeypatch.setattr(executor, "_next_look", 0.0)
    executor.submit(game(tmp_path, "--stop-parent", "go:2", "--once", str(tmp_path / "struck")))
    (end,) = executor.wait(LONG)
    assert isinstance(end, Lost)
    assert "it was stopped (SIGSTOP), perhaps by an engine" in end.reason
    with Watched(pids(tmp_path)) as watched:
        assert watched.alive(LONG) == []
    assert play(executor, game(tmp_path)).outcome == "win"


@pytest.mark.kill
@pytest.mark.slow
def test_escaped_process_of_a_killed_worker_is_killed(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    executor.submit(game(tmp_path, "--escapee", "--hang-on", "go"))
    path = tmp_path / "pids"
    while not path.exists() or len(pids(tmp_path)) < 4:
        assert executor.wait(0.01) == []
    with Watched(pids(tmp_path)) as watched:
        (worker,) = {
            parent.pid
            for pid in pids(tmp_path)
            for parent in psutil.Process(pid).parents()
            if "fork_server" in " ".join(parent.cmdline()) and parent.ppid() != os.getpid()
        }
        os.kill(worker, signal.SIGKILL)
        assert len(executor.wait(LONG)) == 1
        assert watched.alive(LONG) == []


#: A worker that starts two processes, prints their pids, and waits to be killed.
WORKER = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
import reaper
reaper._first_tag = lambda: int(sys.argv[3])
reaper.tag_worker()
command = [sys.argv[2], "100"]
started = [subprocess.Popen(command, env={}, start_new_session=True) for _ in range(2)]
print(*(process.pid for process in started), flush=True)
sys.stdin.read()
"""


@pytest.mark.kill
@pytest.mark.parametrize("name", ["sleep", "wineserver"])
def test_only_processes_of_dead_workers_are_leftovers(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Reapers of other tests, which run at the same time, must not see these processes.
    first_tag = (1 << 62) + (os.getpid() << 22)
    monkeypatch.setattr(reaper, "_first_tag", lambda: first_tag)
    program = tmp_path / name
    program.write_bytes(Path("/bin/sleep").read_bytes())
    program.chmod(0o755)
    with ExitStack() as stack:
        worker = stack.enter_context(
            subprocess.Popen(
                [
                    *(sys.executable, "-c", WORKER, str(Path(reaper.__file__).parent)),
                    *(str(program), str(first_tag)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        )
        assert worker.stdout is not None
        engines = [int(word) for word in worker.stdout.readline().split()]
        watched = stack.enter_context(Watched(engines))
        stranger = stack.enter_context(subprocess.Popen(["sleep", "100"]))
        stack.callback(stranger.kill)
        assert reaper.kill_leftovers() == 0
        assert watched.alive() == engines
        worker.kill()
        worker.wait()
        killed = reaper.kill_leftovers(shared=False)
        if name == "wineserver":
            # engines of other workers may need it
            assert watched.alive() == engines
            killed = reaper.kill_leftovers()
        assert killed == 2
        assert watched.alive(LONG) == []
        assert stranger.poll() is None


STUBBORN = """
competition_type = "playoff"
game = "chess"
def stubborn():
    return Player([{python!r}, "-I", "-S", {engine!r}, "--pid-file", {log!r}, "--escapee",
                   "--ignore-quit", "--ignore-sigterm", "--hang-on", "go:2"],
                  nodes=1)
players = {{"a": stubborn(), "b": stubborn()}}
openings = Openings("book.epd")
matchups = [Matchup("a", "b", number_of_games={games})]
skip_player_checks = True
"""


@pytest.mark.kill
@pytest.mark.slow
def test_next_run_kills_engines_when_all_of_ringmaster_was_killed_at_once(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, STUBBORN, 2)
    log = tmp_path / "engines.txt"
    process = start(control, "run", "-q")
    main = psutil.Process(process.pid)
    await_that(lambda: log.exists() and len(log.read_text().split()) == 4, process)
    engines = [int(word) for word in log.read_text().split()]
    own = [main, *under("reaper.py", "fork_server.py", parent=main.pid)]
    assert len(own) == 4
    with Watched(engines) as watched:
        for one in own:
            one.suspend()
        for one in own:
            one.kill()
        process.wait(LONG)
        log.unlink()
        control.write_text(control.read_text().replace('"--hang-on", "go:2"', '"--plies", "5"'))
        assert ringmaster(control, "-q").returncode == 0
        assert watched.alive() == []
    await_living([int(word) for word in log.read_text().split()], 0)
