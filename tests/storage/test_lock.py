"""The lock of a competition."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ringmaster.errors import AlreadyRunning, StoreUnwritable
from ringmaster.storage import lock
from ringmaster.storage.lock import competition_lock, is_locked

HOLD = """
import subprocess, sys
from pathlib import Path
from ringmaster.storage.lock import competition_lock
with competition_lock(Path(sys.argv[1])):
    engine = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, close_fds=False)
    print(engine.pid, flush=True)
    sys.stdin.readline()
    engine.kill()
    engine.wait()
"""


@contextmanager
def holder(status: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that holds the lock, and the pid of a child it has started."""
    command = [sys.executable, "-c", HOLD, str(status)]
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


def take(status: Path) -> None:
    with competition_lock(status):
        pass


def test_second_run_is_refused_while_one_is_alive(tmp_path: Path) -> None:
    status = tmp_path / "tune.status"
    assert not is_locked(status)
    assert not status.exists()
    with holder(status) as (process, _):
        assert is_locked(status)
        with pytest.raises(AlreadyRunning, match="tune is being run") as caught:
            take(status)
        assert str(caught.value).endswith("or end it: ringmaster tune.ctl stop")
        if sys.platform == "linux":
            assert f"(process {process.pid})" in str(caught.value)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.wait() == 0
        assert not is_locked(status)
        take(status)


def test_lock_of_a_killed_run_is_free_though_its_engines_live(tmp_path: Path) -> None:
    status = tmp_path / "tune.status"
    with holder(status) as (process, engine):
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.kill(engine, 0)
        assert not is_locked(status)
        take(status)


def test_deleted_file_is_created_and_locked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = tmp_path / "t.status"
    try_lock = lock._try_lock
    deleted: list[bool] = []

    def reset_first(fd: int, kind: int, file: Path) -> bool:
        if not deleted:
            deleted.append(True)
            status.unlink()
        return try_lock(fd, kind, file)

    monkeypatch.setattr(lock, "_try_lock", reset_first)
    before = len(os.listdir("/proc/self/fd")) if sys.platform == "linux" else 0
    with competition_lock(status):
        assert is_locked(status)
    if sys.platform == "linux":
        assert len(os.listdir("/proc/self/fd")) == before


def test_starting_run_waits_for_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path / "t.status"
    status.touch()
    looking = os.open(status, os.O_RDONLY)
    assert lock._try_lock(looking, fcntl.LOCK_SH, status)
    pauses = []

    def look_no_more(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            os.close(looking)

    monkeypatch.setattr(time, "sleep", look_no_more)
    take(status)
    assert len(pauses) == 3


def test_wait_for_readers_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status = tmp_path / "t.status"
    status.touch()
    now = iter(range(100))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    with status.open() as looking:
        assert lock._try_lock(looking.fileno(), fcntl.LOCK_SH, status)
        with pytest.raises(AlreadyRunning):
            take(status)


def test_folder_that_is_not_there_or_a_file_that_is_a_folder_is_a_clear_error(
    tmp_path: Path,
) -> None:
    with pytest.raises(StoreUnwritable, match="there is no folder"):
        take(tmp_path / "none" / "t.status")
    assert not is_locked(tmp_path / "none" / "t.status")
    (tmp_path / "t.status").mkdir()
    with pytest.raises(StoreUnwritable, match=r"cannot write .*t\.status: it is a folder"):
        take(tmp_path / "t.status")


def test_file_system_without_locks_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.status").touch()

    def no_locks(*arguments: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "fcntl" if sys.platform == "linux" else "flock", no_locks)
    with pytest.raises(StoreUnwritable, match="cannot lock"):
        take(tmp_path / "t.status")
    with pytest.raises(StoreUnwritable, match="cannot lock"):
        is_locked(tmp_path / "t.status")


def test_lock_leaves_no_empty_file(tmp_path: Path) -> None:
    status = tmp_path / "t.status"
    take(status)
    assert not status.exists()
    with competition_lock(status):
        status.write_text("results")
    assert status.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux locks the status file")
def test_reading_and_closing_the_status_file_does_not_end_its_lock(tmp_path: Path) -> None:
    status = tmp_path / "t.status"
    with competition_lock(status):
        status.read_bytes()
        with pytest.raises(AlreadyRunning):
            take(status)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux locks the status file")
def test_lock_and_sqlite_do_not_meet(tmp_path: Path) -> None:
    status = tmp_path / "t.status"
    with competition_lock(status):
        for mode in ("WAL", "DELETE"):
            with closing(sqlite3.connect(status, timeout=0)) as connection:
                connection.execute(f"PRAGMA journal_mode = {mode}")
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                connection.execute(f"CREATE TABLE {mode}_table (x)")
                connection.commit()
                assert is_locked(status)


def test_pipe_in_the_place_of_the_file_is_a_clear_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.status")
    with pytest.raises(StoreUnwritable, match="it is a FIFO"):
        take(tmp_path / "t.status")
    with pytest.raises(StoreUnwritable, match="it is a FIFO"):
        is_locked(tmp_path / "t.status")
