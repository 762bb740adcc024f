"""Every control file of the repository loads and plays."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ringmaster.loaded_competition import LoadedCompetition
from tests.program import ringmaster, shown
from tests.requirements import PLACES, engine, package

FOLDER = Path(__file__).parent.parent / "controlfiles"
FILES = sorted(FOLDER.glob("*.ctl"))
CHESS = ["stockfish", "glaurung", "toga2", "ethereal-chess", "fairy-stockfish"]
NEEDS = {
    "allplayall_chess.ctl": ["stockfish", "ethereal-chess", "toga2"],
    "allplayall_gnugo.ctl": ["gnugo"],
    "ce_tuner_gnugo.ctl": ["gnugo"],
    "clop_gnugo.ctl": ["gnugo"],
    "clop_toga2.ctl": ["toga2", "glaurung"],
    "gauntlet_chess.ctl": CHESS,
    "mc_tuner_gnugo.ctl": ["gnugo"],
    "optuna_gnugo.ctl": ["gnugo"],
    "optuna_toga2.ctl": ["toga2"],
    "playoff_chess.ctl": ["stockfish", "glaurung"],
    "playoff_gnugo.ctl": ["gnugo"],
    "playoff_shogi.ctl": ["fairy-stockfish"],
    "playoff_shogi_clock.ctl": ["fairy-stockfish", "gpsusi"],
    "spsa_glaurung.ctl": ["glaurung"],
    "spsa_shogi.ctl": [],
    "spsa_toga2.ctl": ["toga2"],
    "sprt_chess.ctl": ["stockfish"],
    "stages_chess.ctl": ["stockfish"],
    "swiss_chess.ctl": CHESS,
    "texel_chess.ctl": [],
    "texel_linear.ctl": [],
    "tune.ctl": [],
}
#: Files with engines of the machine are tests of real engines.
PLAYED = [
    pytest.param(path, id=path.name, marks=[pytest.mark.real] if NEEDS.get(path.name) else [])
    for path in FILES
]


def test_every_control_file_is_listed_here() -> None:
    assert [path.name for path in FILES] == sorted(NEEDS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_control_file_loads_without_a_warning(path: Path, tmp_path: Path) -> None:
    if path.name.startswith("optuna"):
        package("optuna")
    loaded = LoadedCompetition(path)
    loaded.competition.positions_file = tmp_path / "event.positions"
    loaded.prepare()
    assert loaded.warnings() == []


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("path", PLAYED)
def test_control_file_plays(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NEEDS[path.name]:
        engine(name)
    if path.name.startswith("optuna"):
        package("optuna")
    monkeypatch.setenv("PATH", PLACES)
    for file in (path, *FOLDER.glob("*.epd"), FOLDER / "openings.sfen"):
        shutil.copy(file, tmp_path)
    control = tmp_path / path.name
    # the first job of a tune over positions is the probe
    jobs = 2 if path.name.startswith("texel") else 1
    done = ringmaster(control, "-g", str(jobs))
    assert (done.returncode, done.stderr) == (0, "")
    summary = shown(control)
    if summary["competition_type"] == "texel":
        assert summary["shards"] == {"completed": 1, "void": 0}
        return
    assert summary["games"]["completed"] == 1
    assert summary["games"]["void"] == 0


@pytest.mark.parametrize(
    "path", sorted((FOLDER.parent / "reports").rglob("*.ctl")), ids=lambda path: path.name
)
def test_control_file_of_a_report_loads(path: Path) -> None:
    assert LoadedCompetition(path).control_file.warnings == []
