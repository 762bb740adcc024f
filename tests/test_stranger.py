"""A folder that a stranger packed: its links, its status file, its control file under --safe."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringmaster.cli import run
from tests.program import PLAYOFF, write_control_file

pytestmark = pytest.mark.process

FILES = (
    *("report", "html", "status", "log", "hist", "cmd", "games.pgn", "tree.jsonl"),
    *("report.new~", "html.new~", "csv", "svg"),
)
FOLDERS = "games", "void", "gtplogs", "live", "backups"
VERBS = (
    ("--safe", "report"),
    ("--safe", "plot"),
    ("--safe", "plot", "-o", "event.svg"),
    ("--safe", "export", "-o", "event.csv"),
    ("--safe", "run", "-q", "--log-gtp"),
    ("stop",),
    ("fsck",),
    ("backup",),
)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a competition that has been played."""
    control = write_control_file(tmp_path_factory.mktemp("played"), PLAYOFF, 2)
    assert run([str(control), "run", "-q"]) == 0
    return control


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
@pytest.mark.parametrize("target", ["there", "missing"])
@pytest.mark.parametrize("is_played", [pytest.param(True, marks=pytest.mark.slow), False])
def test_no_output_follows_a_link_out_of_the_folder(
    played: Path,
    tmp_path: Path,
    arguments: tuple[str, ...],
    target: str,
    is_played: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "daily-20200101.status").write_text("a file of the user's")
    (home / "b.json").write_text("a file of the user's")
    if target == "there":
        (home / "profile").write_text("a file of the user's\n")
    before = contents(home)
    folder = tmp_path / "unpacked"
    folder.mkdir()
    for name in ("event.ctl", "book.epd", *(["event.status"] if is_played else [])):
        (folder / name).write_bytes((played.parent / name).read_bytes())
    for suffix in FILES:
        if not (folder / f"event.{suffix}").exists():
            (folder / f"event.{suffix}").symlink_to(home / "profile")
    for suffix in FOLDERS:
        (folder / f"event.{suffix}").symlink_to(home)
    monkeypatch.chdir(folder)
    run(["event.ctl", *arguments])
    assert contents(home) == before


def test_file_is_not_written_over_because_a_store_is_beside_it(
    played: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("event.ctl", "book.epd", "event.status"):
        (tmp_path / name).write_bytes((played.parent / name).read_bytes())
    report = tmp_path / "event.report"
    report.write_text("a text of the user's\n")
    assert run([str(tmp_path / "event.ctl"), "--safe", "report"]) == 1
    assert "nothing shows that ringmaster wrote event.report" in capfd.readouterr().err
    assert report.read_text() == "a text of the user's\n"
