"""A control file beside which Gomill has run: its files stay as they are."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from ringmaster.cli import run
from tests.program import PLAYOFF, write_control_file

FILES = {
    "log": "run started at 2010-05-06 07:08 with max_games None\n",
    "hist": "    0_0 a beat b B+R\n",
    "report": "playoff: event\n\na v b (1/2 games)\n\n",
    "cmd": "stop",
    "games/0_0.sgf": "(;FF[4]AP[gomill:0.8.3]\n)\n",
    "gtplogs/0_0.log": ">> b: boardsize 5\n<< b: =\n",
}


@pytest.fixture
def control(tmp_path: Path) -> Path:
    """Return a control file beside files of Gomill."""
    control = write_control_file(tmp_path, PLAYOFF, 2)
    for name, text in FILES.items():
        path = control.parent / f"{control.stem}.{name}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    status = {"void_game_count": 0, "comp": {}, "comp_vn": 1}
    control.with_suffix(".status").write_bytes(pickle.dumps((0, status), 2))
    return control


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.process
@pytest.mark.parametrize(
    "action", ["run", "show", "report", "diff", "reset", "stop", "export", "check", "plot"]
)
@pytest.mark.parametrize("has_status", [True, False])
def test_no_action_touches_a_file_of_gomill(
    control: Path, action: str, has_status: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    if not has_status:
        control.with_suffix(".status").unlink()
    before = contents(control.parent)
    status = run([str(control), action])
    after = contents(control.parent)
    assert {name: after[name] for name in before} == before
    if has_status or action in ("run", "report", "reset", "stop"):
        assert status == 1
        assert "Gomill" in capfd.readouterr().err


def test_run_names_each_file_of_gomill_and_the_remedy(
    control: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([str(control), "run"]) == 1
    message = capfd.readouterr().err
    names = ["games", "gtplogs", "hist", "log", "report", "status"]
    listed = ", ".join(f"{control.stem}.{name}" for name in names[:-1])
    assert f"Gomill wrote {listed} and {control.stem}.status;" in message
    assert "copy the control file under another name" in message


@pytest.mark.parametrize("left", ["status", "log", "hist", "report", "games", "gtplogs"])
def test_any_one_file_of_gomill_is_enough_to_refuse_a_run(control: Path, left: str) -> None:
    for path in list(control.parent.iterdir()):
        if path.suffix not in (".ctl", f".{left}") and path.stem == control.stem:
            if path.is_dir():
                for record in path.iterdir():
                    record.unlink()
                path.rmdir()
            else:
                path.unlink()
    before = contents(control.parent)
    assert run([str(control), "-q"]) == 1
    assert contents(control.parent) == before


def test_report_does_not_write_over_a_file_of_another_program(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    thesis = control.with_suffix(".report")
    thesis.write_text("Chapter 1\n")
    assert run([str(control), "report"]) == 1
    assert f"nothing shows that ringmaster wrote {thesis.name};" in capfd.readouterr().err
    assert thesis.read_text() == "Chapter 1\n"
    thesis.unlink()
    assert run([str(control), "report"]) == 0
    assert run([str(control), "report"]) == 0


def test_plot_does_not_write_over_a_page_of_another_program(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    page = control.with_suffix(".html")
    page.write_text("<html>mine</html>")
    assert run([str(control), "plot", "-q"]) == 1
    assert f"nothing shows that ringmaster wrote {page.name};" in capfd.readouterr().err
    page.unlink()
    assert run([str(control), "plot", "-q"]) == 0
    assert run([str(control), "plot", "-q"]) == 0
    assert run([str(control), "reset", "--yes"]) == 0
    assert not page.exists()


@pytest.mark.slow
def test_run_after_a_reset_starts_over(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    assert run([str(control), "-q", "--log-gtp"]) == 0
    control.with_suffix(".status").unlink()
    assert run([str(control), "-q"]) == 0
    assert run([str(control), "reset", "--yes"]) == 0
    assert [p.name for p in tmp_path.iterdir() if p.stem == control.stem] == [control.name]
