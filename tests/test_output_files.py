"""Output files that cannot be written, or vanish: nothing that was recorded is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ringmaster.results import load
from tests.program import PLAYOFF, environment, ringmaster, start, write_control_file
from tests.test_cli import _wait_for_games as wait_for_games

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    "name", ["games.pgn", "games.sgf", "hist", "log", "report", "status", "tree.jsonl", "cmd"]
)
def test_folder_in_the_place_of_a_file_is_refused_before_the_first_game(
    tmp_path: Path, name: str
) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    folder = control.with_suffix(f".{name}")
    folder.mkdir()
    done = ringmaster(control, "run", "-q")
    assert done.returncode == 1
    assert done.stderr == f"ringmaster: {folder} is a folder, and ringmaster writes a file there\n"
    assert not (tmp_path / "engines.txt").exists()
    folder.rmdir()
    assert ringmaster(control, "run", "-q").returncode == 0


@pytest.mark.parametrize("name", ["games.pgn", "hist", "log", "report", "cmd"])
def test_fifo_in_the_place_of_a_file_is_refused_and_not_waited_for(
    tmp_path: Path, name: str
) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    fifo = control.with_suffix(f".{name}")
    os.mkfifo(fifo)
    done = ringmaster(control, "run", "-q", timeout=30)
    assert done.returncode == 1
    assert done.stderr == f"ringmaster: {fifo} is a FIFO, and ringmaster writes a file there\n"


@pytest.mark.parametrize("name", ["games", "void", "gtplogs", "live"])
def test_file_in_the_place_of_a_folder_is_refused_before_the_first_game(
    tmp_path: Path, name: str
) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    path = control.with_suffix(f".{name}")
    path.touch()
    done = ringmaster(control, "run", "-q")
    assert done.returncode == 1
    assert done.stderr == f"ringmaster: {path} is no folder, and ringmaster makes a folder there\n"
    assert not (tmp_path / "engines.txt").exists()


def test_run_goes_on_without_a_record_and_the_next_run_writes_it(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    assert ringmaster(control, "run", "-q", "--max-games", "1").returncode == 0
    (first,) = control.with_suffix(".games").iterdir()
    blocked = first.with_name(first.name.replace("0.pgn", "1.pgn"))
    blocked.mkdir()
    done = ringmaster(control, "run", "-q")
    assert done.returncode == 0
    assert done.stderr.count(f"cannot write {blocked}: Is a directory") == 2
    assert "1 game record could not be written" in done.stderr
    exported = ringmaster(control, "export", "--format", "pgn")
    assert (exported.stdout.count("[Event "), exported.stderr) == (6, "")
    blocked.rmdir()
    done = ringmaster(control, "run", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert blocked.read_text().startswith("[Event ")
    assert load(control).waiting_records() == {}


def test_record_folder_that_is_deleted_during_a_run_begins_anew(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 100_000)
    games = control.with_suffix(".games")
    run = start(control, "-q")
    try:
        wait_for_games(control)
        shutil.rmtree(games, ignore_errors=True)
        deadline = time.monotonic() + 30
        while not (games.exists() and any(games.iterdir())) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert ringmaster(control, "stop").returncode == 0
        assert run.wait(30) == 0
    finally:
        run.kill()
        run.wait()
    assert any(games.iterdir())


def test_deleted_folder_of_a_competition_ends_the_run_with_its_results_rescued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = write_control_file(tmp_path / "event", PLAYOFF, 100_000)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    run = subprocess.Popen(
        [sys.executable, "-m", "ringmaster", str(control), "-q"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        wait_for_games(control)
        control.parent.rename(tmp_path / "elsewhere")
        _, errors = run.communicate(timeout=30)
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 1
    assert "Traceback" not in errors.rpartition("ringmaster: ")[2]
    assert "event.status was moved, deleted or replaced while the run was writing it" in errors
    (rescued,) = tmp_path.glob("event.rescued-*.status")
    assert f"All recorded results are in {rescued}" in errors
