"""Output files that cannot be written, or vanish: nothing that was recorded is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ringmaster.storage.store import Store
from tests.processes import LONG
from tests.program import PLAYOFF, environment, ringmaster, write_control_file
from tests.test_cli import _wait_for_games as wait_for_games

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("make", "suffix", "fault"),
    [
        (Path.mkdir, "hist", "is a folder"),
        (os.mkfifo, "log", "is a FIFO"),
        (Path.touch, "games", "is no folder"),
    ],
)
def test_output_of_another_kind_is_refused_before_the_first_game(
    tmp_path: Path, make: Callable[[Path], None], suffix: str, fault: str
) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    make(control.with_suffix(f".{suffix}"))
    done = ringmaster(control, "run", "-q")
    assert done.returncode == 1
    assert f"{control.with_suffix(f'.{suffix}')} {fault}" in done.stderr
    assert not (tmp_path / "engines.txt").exists()


def test_run_goes_on_without_a_record_and_the_next_run_writes_it(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    assert ringmaster(control, "run", "-q", "--max-games", "1").returncode == 0
    (first,) = control.with_suffix(".games").iterdir()
    blocked = first.with_name(first.name.replace("0.pgn", "1.pgn"))
    blocked.mkdir()
    done = ringmaster(control, "run", "-q")
    assert done.returncode == 0
    assert done.stderr.count(f"cannot write {blocked}: it is a folder") == 2
    assert "1 game record could not be written" in done.stderr
    exported = ringmaster(control, "export", "--format", "pgn")
    assert (exported.stdout.count("[Event "), exported.stderr) == (6, "")
    blocked.rmdir()
    done = ringmaster(control, "run", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert blocked.read_text().startswith("[Event ")
    with closing(Store.open_readonly(control.with_suffix(".status"))) as store:
        assert list(store.pending()) == []


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
        _, errors = run.communicate(timeout=LONG)
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 1
    assert "Traceback" not in errors.rpartition("ringmaster: ")[2]
    assert "event.status was moved, deleted or replaced while the run was writing it" in errors
    (rescued,) = tmp_path.glob("event.rescued-*.status")
    assert f"All recorded results are in {rescued}" in errors
