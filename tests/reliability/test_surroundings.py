"""A run whose surroundings change: clocks, folders, locks, and a second ringmaster."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.processes import LONG, await_that
from tests.program import (
    PLAYOFF,
    environment,
    living_engines,
    ringmaster,
    start,
    write_control_file,
)
from tests.reliability.killing import recorded
from tests.reliability.limits import counted

pytestmark = [pytest.mark.slow, pytest.mark.process]

GAMES = 60

#: Changes the time of day of every Python process at each hundredth question.
JUMPS = """
import itertools, time
true, questions = time.time, itertools.count(1)
jumps = itertools.cycle([0, 86_400, -86_400, 3_600, -1_700_000_000 + 7, 100 * 365 * 86_400])
offset = 0
def moved():
    global offset
    if next(questions) % 100 == 0:
        offset = next(jumps)
    return true() + offset
time.time = moved
"""
#: Every kind of lock of a file fails, as on file systems without locks.
NO_LOCKS = """
import errno, fcntl
def fail(*arguments, true=None):
    raise OSError(errno.{error}, "no locks")
fcntl.flock = fcntl.lockf = fail
fcntl.fcntl = fail
"""


def patched(
    control: Path, folder: Path, source: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run the program with changes of Python's library in all processes."""
    folder.mkdir()
    folder.joinpath("sitecustomize.py").write_text(source)
    variables = environment()
    variables["PYTHONPATH"] = f"{folder}{os.pathsep}{variables['PYTHONPATH']}"
    return subprocess.run(
        [sys.executable, "-m", "ringmaster", str(control), *arguments],
        capture_output=True,
        text=True,
        timeout=3 * LONG,
        env=variables,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def control(tmp_path: Path) -> Path:
    return write_control_file(tmp_path / "event", PLAYOFF, GAMES)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    control = write_control_file(tmp_path_factory.mktemp("whole"), PLAYOFF, GAMES)
    assert ringmaster(control, "-q").returncode == 0
    return counted(control)


def test_jumps_of_the_clock_change_no_result(
    control: Path, whole: list[tuple[object, ...]], tmp_path: Path
) -> None:
    done = patched(control, tmp_path / "patch", JUMPS, "run", "-q", "-j", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert counted(control) == whole
    assert ringmaster(control, "show").returncode == 0


@pytest.mark.parametrize("error", ["ENOLCK", "ENOSYS", "EOPNOTSUPP"])
def test_file_system_without_locks_is_refused(control: Path, tmp_path: Path, error: str) -> None:
    source = NO_LOCKS.replace("{error}", error)
    done = patched(control, tmp_path / "patch", source, "run", "-q")
    assert done.returncode == 1
    assert "keep the competition on a file system that has locks" in done.stderr
    assert recorded(control) == 0


def test_of_several_ringmasters_at_once_one_runs(
    control: Path, whole: list[tuple[object, ...]]
) -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "ringmaster", str(control), "run", "-q"],
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=environment(),
            text=True,
        )
        for _ in range(4)
    ]
    ends = [(run.communicate(timeout=LONG)[1], run.returncode) for run in runs]
    for message, status in ends:
        assert status in (0, 1)
        if status:
            assert "is being run by another ringmaster" in message
    # a late one finds a complete competition
    assert 0 in [status for _, status in ends]
    assert counted(control) == whole


def test_copy_of_a_folder_during_a_run_is_whole_or_refused(
    control: Path, whole: list[tuple[object, ...]], tmp_path: Path
) -> None:
    run = start(control, "run", "-q", "-j", "2")
    copies = []
    try:
        for _ in range(3):
            await_that(lambda: recorded(control) > 40 * len(copies))
            copies.append(tmp_path / f"copy{len(copies)}")
            # records are renamed meanwhile
            with suppress(shutil.Error):
                shutil.copytree(control.parent, copies[-1])
    finally:
        assert run.wait(LONG) == 0
    for folder in copies:
        copy = folder / control.name
        done = ringmaster(copy, "-q", "-j", "1")
        if done.returncode:
            assert done.returncode == 1
            assert "damaged" in done.stderr
        else:
            assert counted(copy) == whole
        assert living_engines(copy) == []
    assert counted(control) == whole


def test_folder_that_is_moved_during_a_run_keeps_its_results(
    control: Path, whole: list[tuple[object, ...]], tmp_path: Path
) -> None:
    run = start(control, "run", "-q", "-j", "2")
    await_that(lambda: recorded(control) >= 20)
    moved = tmp_path / "moved"
    control.parent.rename(moved)
    assert run.wait(LONG) in (0, 1)
    kept = recorded(moved / control.name)
    assert kept >= 20
    # the control file names the place of its engines' list, which is gone
    control.parent.mkdir()
    done = ringmaster(moved / control.name, "-q", "-j", "2")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert counted(moved / control.name) == whole
