"""`ringmaster new chess spsa --from-engine ./engine`: the parameters that an engine has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ringmaster.cli import USAGE, run
from ringmaster.loaded_competition import LoadedCompetition

#: An engine that knows the handshake, for both protocols.
ENGINE = """
import sys
for line in sys.stdin:
    if line.strip() in ("uci", "usi"):
        print("id name Tunable 2")
        for option in OPTIONS:
            print("option name " + option)
        print(line.strip() + "ok", flush=True)
    if line.strip() == "quit":
        break
"""
OPTIONS = [
    "Hash type spin default 16 min 1 max 1024",
    "USI_Hash type spin default 16 min 1 max 1024",
    "Threads type spin default 1 min 1 max 64",
    "MultiPV type spin default 1 min 1 max 500",
    "Skill Level type spin default 20 min 0 max 20",
    "Move Overhead type spin default 10 min 0 max 5000",
    "UCI_Elo type spin default 1320 min 1320 max 3190",
    "MaxMovesToDraw type spin default 0 min 0 max 100000",
    "Ponder type check default false",
    "Clear Hash type button",
    "Style type combo default a var a var b",
    "LmrBase type spin default 80 min 0 max 160",
    "LmrLogDivisor type spin default 30 min 1 max 100000",
    "HashMoveBonus type spin default -20 min -100000 max 100000",
    "Tempo Bonus type spin default 0 min -10000 max 10000",
    "SupportedPawn type spin default 3 min 0 max 20",
    "Fixed type spin default 4 min 4 max 4",
    "Odd type spin default 9 min 1 max 4",
    "Bare type spin default 9",
    "name\\x1b[2J type spin default 9 min 1 max 40",
]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return write(tmp_path, monkeypatch, OPTIONS)


def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> Path:
    path = tmp_path / "engines" / "tunable"
    path.parent.mkdir()
    listed = ", ".join(f'"{option}"' for option in options)
    path.write_text(f"#!{sys.executable} -ISu\nOPTIONS = [{listed}]\n{ENGINE}")
    path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return path


def ranges(loaded: LoadedCompetition) -> dict[str, tuple[float, float, float]]:
    return {
        p.code: (p.start, p.minimum, p.maximum) for p in loaded.control_file.values["parameters"]
    }


@pytest.mark.parametrize("game", ["chess", "shogi"])
def test_parameters_are_the_options_that_are_about_playing(game: str, engine: Path) -> None:
    (engine.parent.parent / "sub").mkdir()
    words = ["new", game, "spsa", "sub/my.ctl", "--from-engine", "engines/tunable"]
    assert run(words) == 0
    loaded = LoadedCompetition(engine.parent.parent / "sub" / "my.ctl")
    assert loaded.control_file.warnings == []
    assert ranges(loaded) == {
        "LmrBase": (80, 0, 160),
        "LmrLogDivisor": (30, 1, 60),
        "HashMoveBonus": (-20, -40, 0),
        "Tempo Bonus": (0, -5, 5),
        "SupportedPawn": (3, 0, 20),
    }
    assert all(p.integer for p in loaded.control_file.values["parameters"])
    (player,) = loaded.control_file.values["players"].values()
    assert Path(player.values["command"][0]).resolve() == engine
    assert player.values["options"] == {"Threads": 1, "Hash": 16, "USI_Hash": 16}


def test_choice_is_commented(engine: Path) -> None:
    assert run(["new", "chess", "spsa", "my.ctl", f"--from-engine={engine}"]) == 0
    text = (engine.parent.parent / "my.ctl").read_text()
    prose = " ".join(text.replace("\n#", " ").split())
    assert "The integer options of Tunable 2; delete the parameters that you do not want" in prose
    assert "Narrower than the engine's own range: LmrLogDivisor (1 to 100000); HashMove" in prose
    assert "LmrLogDivisor: the largest value is 20 times the smallest or more" in prose
    assert "Left out (not about the quality of play): Hash, USI_Hash, Threads, MultiPV," in prose
    assert "Left out (it cannot be changed): Fixed." in prose
    assert "Left out (the default is outside its bounds): Odd." in prose
    assert "Left out (without a default value or bounds): Bare." in prose
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["chess", "playoff", "-", "--from-engine=engines/tunable"], "makes the parameters of"),
        (["go", "spsa", "-", "--from-engine=gnugo"], "Go engines have no options; write"),
        (["chess", "spsa", "-", "--from-engine="], "is not a command"),
        (["chess", "spsa", "-", "--from-engine='"], "No closing quotation"),
        (["chess", "spsa", "-", "--from-engine=./gone"], "cannot be used: cannot start"),
        (["chess", "spsa", "-", f"--from-engine={sys.executable} -c pass"], "cannot be used: it "),
    ],
)
def test_wrong_arguments_are_refused(
    words: list[str], message: str, engine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new", *words]) == USAGE
    assert message in capsys.readouterr().err


def test_engine_without_tunable_options_is_refused_with_its_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, monkeypatch, OPTIONS[:3])
    assert run(["new", "chess", "spsa", "-", "--from-engine", "engines/tunable"]) == USAGE
    message_part = (
        "no option that can be tuned: Hash, USI_Hash, Threads (not about the quality of play)"
    )
    assert message_part in capsys.readouterr().err
