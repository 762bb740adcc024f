"""The lock of a competition."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from ringmaster.errors import AlreadyRunning, StoreUnwritable
from ringmaster.storage.lock import CompetitionLock, is_locked

HOLD = """
import subprocess, sys
from pathlib import Path
from ringmaster.storage.lock import CompetitionLock
with CompetitionLock(Path(sys.argv[1])):
    engine = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, close_fds=False)
    print(engine.pid, flush=True)
    sys.stdin.readline()
    engine.kill()
    engine.wait()
"""


@contextmanager
def holder(log: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that holds the lock, and the pid of a child it has started."""
    command = [sys.executable, "-c", HOLD, str(log)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            yield process, child
        finally:
            process.kill()
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass


def take(log: Path) -> None:
    with CompetitionLock(log):
        pass


def test_second_run_is_refused_while_one_is_alive(tmp_path: Path) -> None:
    log = tmp_path / "tune.log"
    assert not is_locked(log)
    assert not log.exists()
    with holder(log) as (process, _):
        assert is_locked(log)
        with pytest.raises(AlreadyRunning, match="tune is being run") as caught:
            take(log)
        assert str(caught.value).endswith("or end it: ringmaster tune.ctl stop")
        if sys.platform == "linux":
            assert f"(process {process.pid})" in str(caught.value)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.wait() == 0
        assert not is_locked(log)
        take(log)


def test_lock_of_a_killed_run_is_free_though_its_engines_live(tmp_path: Path) -> None:
    log = tmp_path / "tune.log"
    with holder(log) as (process, engine):
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.kill(engine, 0)
        assert not is_locked(log)
        take(log)


def test_process_cannot_take_it_twice(tmp_path: Path) -> None:
    log = tmp_path / "t.log"
    with CompetitionLock(log):
        assert is_locked(log)
        with pytest.raises(AlreadyRunning):
            take(log)
        assert is_locked(log)
    assert not is_locked(log)


def test_lock_neither_changes_nor_empties_the_log(tmp_path: Path) -> None:
    log = tmp_path / "t.log"
    log.write_text("lines\n")
    take(log)
    is_locked(log)
    assert log.read_text() == "lines\n"


def test_it_is_released_by_an_exception(tmp_path: Path) -> None:
    log = tmp_path / "t.log"

    def fail() -> None:
        with CompetitionLock(log):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert not is_locked(log)


def test_deleted_log_is_created_and_locked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "t.log"
    flock = fcntl.flock
    deleted: list[bool] = []

    def reset_first(fd: int, kind: int) -> None:
        if not deleted:
            deleted.append(True)
            log.unlink()
        flock(fd, kind)

    monkeypatch.setattr(fcntl, "flock", reset_first)
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    with CompetitionLock(log):
        assert is_locked(log)
    if sys.platform == "linux":
        assert len(os.listdir("/proc/self/fd")) == before


def test_replaced_log_is_the_one_that_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "t.log"
    flock = fcntl.flock

    with ExitStack() as other:

        def another_run_first(fd: int, kind: int) -> None:
            monkeypatch.setattr(fcntl, "flock", flock)
            log.unlink()
            other.enter_context(CompetitionLock(log))
            flock(fd, kind)

        monkeypatch.setattr(fcntl, "flock", another_run_first)
        with pytest.raises(AlreadyRunning):
            take(log)


def test_starting_run_waits_for_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "t.log"
    log.touch()
    looking = os.open(log, os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    pauses = []

    def look_no_more(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            os.close(looking)

    monkeypatch.setattr(time, "sleep", look_no_more)
    take(log)
    assert len(pauses) == 3


def test_wait_for_readers_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "t.log"
    log.touch()
    now = iter(range(100))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    with log.open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        with pytest.raises(AlreadyRunning):
            take(log)


def test_readers_do_not_disturb_one_another(tmp_path: Path) -> None:
    log = tmp_path / "t.log"
    log.touch()
    with log.open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        assert not is_locked(log)


def test_folder_that_is_not_there_or_a_log_that_is_a_folder_is_a_clear_error(
    tmp_path: Path,
) -> None:
    with pytest.raises(StoreUnwritable, match="there is no folder"):
        take(tmp_path / "none" / "t.log")
    assert not is_locked(tmp_path / "none" / "t.log")
    (tmp_path / "t.log").mkdir()
    with pytest.raises(StoreUnwritable, match=r"cannot write .*t\.log: Is a directory"):
        take(tmp_path / "t.log")


def test_file_system_without_locks_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(fd: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(StoreUnwritable, match="cannot lock"):
        take(tmp_path / "t.log")
    with pytest.raises(StoreUnwritable, match="cannot lock"):
        is_locked(tmp_path / "t.log")


def test_without_proc_the_process_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(self: Path, **_: object) -> str:
        raise FileNotFoundError(self)

    log = tmp_path / "t.log"
    with CompetitionLock(log):
        monkeypatch.setattr(Path, "read_text", none)
        with pytest.raises(AlreadyRunning, match="by another ringmaster; wait"):
            take(log)
