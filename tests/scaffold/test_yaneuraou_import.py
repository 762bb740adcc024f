"""`ringmaster import SPSA-settings.json5`: the tune of YaneuraOu's scripts, or a remedy."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.cli import REPORTED, USAGE, run
from ringmaster.errors import RingmasterError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.parameter_files.text import Text
from ringmaster.scaffold.control_file import Places
from ringmaster.scaffold.yaneuraou import import_files

SETTINGS = """{
    // the "openings"
    "START_SFENS_PATH": "settings/start.txt", /* relative */
    "ENGINE_SETTINGS": [
        "settings/references.json5",
        "settings/tuned.json5",
    ],
    "STANDARD_BOARD": true,
    "PARAMETERS_PATH": "param/yo.params"
}
"""
REFERENCES = """[
    { "path": "engines\\\\ref", "name": "ref // 1", "nodes": 5000, "multi": 2 }, // twice
    { "path": "/bin/other", "name": "other", "nodes": 200, },
]"""
TUNED = '[{"path": "engines/mine", "name": "mine", "nodes": 300, "multi": 3}]'
PARAMS = "Contempt,int,24,-100,100,10,0.002 // c\nOld,int,3,0,9,1,0.002 [[NOT USED]]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "settings/SPSA-settings.json5": SETTINGS,
        "settings/references.json5": REFERENCES,
        "settings/tuned.json5": TUNED,
        "param/yo.params": PARAMS,
        "settings/start.txt": "startpos moves 7g7f 3c3d\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(capsys: pytest.CaptureFixture[str], name: str = "settings/SPSA-settings.json5") -> str:
    assert run(["import", name]) in (REPORTED, USAGE)
    return capsys.readouterr().err


def test_settings_file_makes_a_tune_against_its_reference_engines(folder: Path) -> None:
    assert run(["import", "settings/SPSA-settings.json5", "-o", "tune.ctl"]) == 0
    values = LoadedCompetition(folder / "tune.ctl").control_file.values
    assert (values["game"], values["method"], values["parallel"]) == ("shogi", "blog", 3)
    assert values["player"] == "mine"
    assert values["opponent"] == {"ref-1": 2, "other": 1}
    players: dict[str, Any] = {c: p.values for c, p in values["players"].items()}
    assert players["mine"]["command"] == (str(folder / "engines/mine"),)
    assert players["ref-1"]["command"] == (str(folder / "engines/ref"),)
    assert players["other"]["command"] == ("/bin/other",)
    assert [p["nodes"] for p in players.values()] == [300, 5000, 200]
    parameter, *others = values["parameters"]
    assert all(other.not_used for other in others)
    assert (parameter.code, parameter.start, parameter.c_end) == ("Contempt", 24, 10)
    assert values["openings"].path == str(folder / "settings/start.txt")
    LoadedCompetition(folder / "tune.ctl").competition.prepare()


def test_sample_of_the_scripts_is_imported(folder: Path) -> None:
    # bare names, an engine behind ssh, and multipliers of the nodes
    (folder / "settings/SPSA-settings.json5").write_text(
        SETTINGS.replace('"PARAMETERS_PATH"', "PARAMETERS_PATH").replace(
            '"STANDARD_BOARD": true,',
            "STANDARD_BOARD: true, NODE_MULTIPLIERS: [1, 2, 3,], "
            "'NODE_MULTIPLIERS_SHUFFLE_SEED': null,",
        )
    )
    remote = "ssh -o ServerAliveInterval=15 9950b suisho10.bat"
    (folder / "settings/references.json5").write_text(f"[{{path: '{remote}', nodes: 500}}]")
    assert run(["import", "settings/SPSA-settings.json5", "-o", "tune.ctl"]) == 0
    players = LoadedCompetition(folder / "tune.ctl").control_file.values["players"]
    reference = players["suisho10.bat"].values
    assert reference["command"] == tuple(remote.split())
    assert [player.values["nodes"] for player in players.values()] == [600, 1000]
    text = " ".join((folder / "tune.ctl").read_text().replace("\n#", " ").split())
    assert "all games have nodes times 2, the mean of NODE_MULTIPLIERS" in text
    assert "SHUFFLE_SEED" not in text


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("settings/SPSA-settings.json5", "true", "false", "STANDARD_BOARD: ringmaster plays"),
        (
            "settings/SPSA-settings.json5",
            "true,",
            "true",
            "settings.json5:9: this is not JSON",
        ),
        ("settings/SPSA-settings.json5", "param/yo", "gone", "PARAMETERS_PATH: there is no 'gone"),
        (
            "settings/tuned.json5",
            "300",
            "0",
            "tuned.json5: Expected `int` >= 1 - at `$[0].nodes`",
        ),
        (
            "settings/SPSA-settings.json5",
            "true,",
            "true, NODE_MULTIPLIERS: [0],",
            "Expected `float` > 0.0 - at `$.NODE_MULTIPLIERS[0]`",
        ),
        ("settings/tuned.json5", "}]", '}, {"path": "x"}]', "2 engines to tune"),
    ],
)
def test_wrong_settings_are_refused(
    name: str, old: str, new: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert message in refusal(capsys)


def test_patch_of_a_source_is_refused_with_a_remedy(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "yo.tune").write_text("#set file search.cpp\n#context margin\n    int m = 123@;\n")
    refusal_text = refusal(capsys, "yo.tune")
    assert "python tune.py tune yo.tune SOURCE" in refusal_text
    assert "build that engine, then: ringmaster import yo.params" in refusal_text


@given(st.text('{}[]":,/*\\ \nENGINE_SETTINGS', max_size=40))
def test_no_settings_file_ends_in_a_traceback(text: str) -> None:
    here = Path("/nowhere")
    with contextlib.suppress(RingmasterError):
        import_files([Text("s.json5", text)], Places(here, here))
