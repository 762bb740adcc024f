"""Runs under limits of the system end with a message, lose nothing, and go on later.

`benchmarks/reliability.py` tries many more sizes, and limits that only root may set.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.program import PLAYOFF, ringmaster, write_control_file
from tests.reliability.limits import (
    can_mount,
    counted,
    grow_disk,
    run_limited,
    small_disk,
    strain,
)

pytestmark = [pytest.mark.slow, pytest.mark.process]

#: Games of each of three matchups.
GAMES = 20


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    control = write_control_file(tmp_path_factory.mktemp("whole"), PLAYOFF, GAMES)
    assert ringmaster(control, "-q").returncode == 0
    return counted(control)


@pytest.mark.parametrize("size", [0, 4096, 150_000, 300_000])
def test_write_that_fails_ends_the_run_with_a_message(
    tmp_path: Path, whole: list[tuple[object, ...]], size: int
) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, GAMES)
    done = strain(control, "file size", size, whole)
    assert (done.status, done.problems) == (1, [])
    assert "cannot write" in done.message
    assert "Traceback" not in done.message


@pytest.mark.skipif(not can_mount(), reason="mounting a small disk needs root")
def test_full_disk_ends_the_run_and_room_completes_it(
    tmp_path: Path, whole: list[tuple[object, ...]]
) -> None:
    with small_disk(tmp_path / "disk", 600_000) as disk:
        control = write_control_file(disk / "event", PLAYOFF, GAMES)
        done = run_limited(control, "", 0)
        assert done.returncode == 1
        # whichever file needs room first
        assert re.search(
            "the disk is full; recorded results are safe|No space left on device", done.stderr
        )
        grow_disk(disk)
        assert ringmaster(control, "-q", "-j", "1").returncode == 0
        assert counted(control) == whole


def test_too_few_open_files_are_told(tmp_path: Path, whole: list[tuple[object, ...]]) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, GAMES)
    done = strain(control, "open files", 64, whole)
    assert (done.status, done.problems) == (1, [])
    assert "open files, and a process may have 64 here" in done.message


def test_run_needs_less_than_64_mib_of_addresses(
    tmp_path: Path, whole: list[tuple[object, ...]]
) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, GAMES)
    done = strain(control, "memory", 64 << 20, whole)
    assert (done.status, done.kept, done.problems) == (0, len(whole), [])
