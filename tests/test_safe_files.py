"""Safe mode gives the settings and games of plain execution, and starts nothing by itself."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from ringmaster.cli import run
from ringmaster.commands.options import verbs
from ringmaster.commands.serve import beside_a_run
from ringmaster.competitions import type_names
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.players import PROTOCOL_OF_GAME
from tests.program import PLAYOFF, ringmaster, shown, write_control_file
from tests.requirements import package
from tests.test_controlfiles import FILES, FOLDER
from tests.test_docs import control_files
from tests.test_gomill_examples import EXAMPLES


def compare(control: Path) -> None:
    """Check that both ways of loading a control file give the same competition."""
    plain, safe = LoadedCompetition(control), LoadedCompetition(control, safe=True)
    assert safe.settings == plain.settings
    assert safe.warnings() == plain.warnings()
    for loaded in (plain, safe):
        loaded.competition.positions_file = control.with_suffix(".positions")
        loaded.prepare()
        loaded.check_functions(played=False)
    # both call the file's functions
    assert safe.setup().checks == plain.setup().checks
    assert safe.competition.next_job() == plain.competition.next_job()


def add_files(folder: Path) -> None:
    for file in (*FOLDER.glob("*.epd"), FOLDER / "openings.sfen"):
        shutil.copy(file, folder)
    for name in ("book.epd", "selfplay.epd", "set.epd", "more.epd"):
        text = "openings.epd" if name == "book.epd" else "texel_positions.epd"
        shutil.copy(FOLDER / text, folder / name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_control_file_is_the_same_in_safe_mode(path: Path, tmp_path: Path) -> None:
    if path.name.startswith("optuna"):
        package("optuna")
    add_files(tmp_path)
    compare(Path(shutil.copy(path, tmp_path)))


@pytest.mark.parametrize("text", list(control_files()))
def test_control_file_of_the_documentation_is_the_same_in_safe_mode(
    text: str, tmp_path: Path
) -> None:
    if "optuna_tuner" in text:
        package("optuna")
    add_files(tmp_path)
    (tmp_path / "doc.ctl").write_text(text.replace(".plain", ".epd"), encoding="utf-8")
    compare(tmp_path / "doc.ctl")


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_of_gomills_documentation_is_the_same_in_safe_mode(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "example.ctl").write_text(EXAMPLES[name], encoding="utf-8")
    compare(tmp_path / "example.ctl")


@pytest.mark.slow
@pytest.mark.parametrize("type_name", type_names())
@pytest.mark.parametrize("game", PROTOCOL_OF_GAME)
def test_new_control_file_is_the_same_in_safe_mode(
    game: str, type_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if type_name.startswith("optuna"):
        package("optuna")
    monkeypatch.chdir(tmp_path)
    if run(["new", game, type_name, "new.ctl"]) != 0:
        pytest.skip("there is no such competition")
    plain = LoadedCompetition(tmp_path / "new.ctl")
    safe = LoadedCompetition(tmp_path / "new.ctl", safe=True)
    assert safe.settings == plain.settings
    assert safe.setup().checks == plain.setup().checks


def test_every_verb_that_loads_a_control_file_has_safe_mode() -> None:
    without = {verb.name for verb in verbs() if verb.has_control_file} - {
        verb.name for verb in verbs() for option in verb.options() if option.key == "safe"
    }
    assert without == {"stop", "reset", "backup", "restore"}


@pytest.mark.process
def test_safe_run_names_the_programs_and_plays(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    done = ringmaster(control, "--safe", "-q")
    assert done.returncode == 0
    assert "--safe: the control file starts " in done.stderr
    assert shown(control)["games"]["completed"] == 6
    changed: Any = ringmaster(control, "diff", "--safe")
    assert (changed.returncode, changed.stderr) == (0, "")


def test_cluster_of_a_control_file_is_refused_in_safe_mode(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    control.write_text(control.read_text() + 'cluster = Cluster("tcp://host:8786")\n')
    for verb in ("run", "check"):
        assert run([str(control), verb, "--safe"]) == 2
        assert "the cluster of the control file is not used" in capfd.readouterr().err


@pytest.mark.process
def test_server_of_a_run_imports_no_module_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    (tmp_path / "uvicorn.py").write_text("open('imported', 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    with beside_a_run(control, 0, True) as address:
        assert address.startswith("http://")
    assert not (tmp_path / "imported").exists()
