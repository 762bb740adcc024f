"""`ringmaster import tune.conf`: the SPSA Tuner's configuration."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from ringmaster.cli import run
from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.errors import UsageError
from ringmaster.parameter_files.text import Text
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.spsa_tuner import import_files, recognises
from ringmaster.tuners.spsa.method import GainMethod
from tests.scaffold.loading import event_of

MAIN = """\
[Main]
Simulate = 0
Variables = tune.var
Log = tune.log
GameLog = tune_$THREAD.log
Iterations = 50000
A = 5000
Gamma = 0.101
Alpha = 0.602
"""
ENGINE = """
[Engine]
Engine1 = ./stockfish
Engine2 = ./stockfish
EPDBook = ./book.epd
BaseTime = 1000
IncTime = 50
Concurrency = 4
DrawScoreLimit = 4
DrawMoveLimit = 8
WinScoreLimit = 650
WinMoveLimit = 7
"""
VARIABLES = "Aggressiveness,30,0,200,10,0.0020,0\n"


def imported(
    text: str, folder: Path, control: Path | None = None, variables: str = VARIABLES
) -> Match:
    (folder / "tune.var").write_text(variables)
    places = Places(folder, control or folder)
    return import_files([Text.decoded(text.encode(), "tune.conf")], places)


def refusal(text: str, folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        imported(text, folder)
    return str(caught.value)


def test_configuration_makes_a_control_file_of_the_same_tune(tmp_path: Path) -> None:
    match = imported(MAIN + ENGINE, tmp_path)
    values = event_of(match.render("x.ctl"), tmp_path).control_file.values
    assert values["number_of_games"] == 100_000
    assert (values["alpha"], values["gamma"], values["A"]) == (0.602, 0.101, 5000)
    (one,) = values["parameters"]
    assert (one.code, one.start, one.minimum, one.maximum) == ("Aggressiveness", 30, 0, 200)
    assert (one.c_end, one.r_end, one.integer) == (10, 0.002, True)
    assert str(values["players"]["engine"].make("engine", "chess").time_control) == "1+0.05"
    assert values["openings"].path == str(tmp_path / "book.epd")
    assert values["openings"].order == "random"
    draw, win = values["draw_adjudication"], values["resign_adjudication"]
    assert (draw.move_number, draw.move_count, draw.score) == (0, 4, 4)
    assert (win.move_count, win.score, win.two_sided) == (4, 650, True)
    assert match.parallel == 4


@pytest.mark.parametrize("k", [1, 777, 50_000])
def test_gains_are_computed_like_the_program(k: int, tmp_path: Path) -> None:
    event = event_of(imported(MAIN + ENGINE, tmp_path).render("x.ctl"), tmp_path)
    competition = event.competition
    assert isinstance(competition, SpsaCompetition)
    # as spsa.pl derives them
    c_start = 10 * 50_000**0.101
    a_start = 0.002 * 10**2 * (5000 + 50_000) ** 0.602
    c, a = c_start / k**0.101, a_start / (5000 + k) ** 0.602
    method = competition.tuner.method
    assert isinstance(method, GainMethod)
    assert method.nominal
    assert method.gains.c(k)[0] == pytest.approx(c, rel=1e-12)
    assert method.gains.R(k)[0] == pytest.approx(a / c**2, rel=1e-12)


def test_file_names_start_at_the_folder_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "tuner").mkdir()
    match = imported(MAIN + ENGINE, tmp_path / "tuner", tmp_path)
    assert match.entrants[0].command == ["tuner/stockfish"]
    assert match.settings["openings"].args == ("tuner/book.epd",)


def test_every_option_without_counterpart_becomes_a_note(tmp_path: Path) -> None:
    engine = ENGINE.replace("Engine2 = ./stockfish", "Engine2 = ./other") + "MaxDepth = 10\n"
    text = "\n".join(imported(MAIN + "Pace = 3\n" + engine, tmp_path).messages())
    assert "also starts Engine2: ./other" in text
    for option in ("Log = tune.log", "GameLog = tune_$THREAD.log", "MaxDepth = 10", "Pace = 3"):
        assert f"not imported: {option}" in text or f"not imported: [Main] {option}" in text


def test_simulation_needs_no_engine(tmp_path: Path) -> None:
    text = MAIN.replace("= 0\n", "= 1\n", 1)
    match = imported(text, tmp_path, variables="x,100,-1000,1000,100,.002,1\n")
    event = event_of(match.render("x.ctl"), tmp_path)
    assert event.control_file.values["parameters"][0].code == "x"
    assert not any("simul" in line for line in match.messages() if "engine" not in line)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("elo", "given"),
    [
        ((1, 1), "1"),
        ((3, 20), "0,x[0]=3,y=20"),
    ],
)
def test_simulation_of_the_file_is_printed_as_a_command(
    elo: tuple[float, float], given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = zip(("x[0]", "y"), elo, strict=True)
    (tmp_path / "t.var").write_text(
        "".join(f"{name},100,-1000,1000,100,.002,{value}\n" for name, value in rows)
    )
    control = tmp_path / "t.ctl"
    assert run(["import", "-o", str(control), str(tmp_path / "t.var")]) == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "simul_elo" in line]
    _, command = line.split("simul_elo describes: ")
    name, *words = shlex.split(command)
    assert name == "ringmaster"
    assert words[1:] == [
        *("simulate", "--elo-model", "spsa_tuner", "--draw-ratio", "0", "--elo"),
        given,
    ]
    assert words[0] == str(control)
    assert f"#   {command}\n" in control.read_text()
    assert run([*words, "--replicates", "2", "--json", "-q"]) == 0
    start = sum(e * 0.0001 * 100**2 for e in elo)
    assert json.loads(capsys.readouterr().out)["start"]["mean"] == pytest.approx(start)


def test_no_simulation_is_printed_where_the_file_has_none(tmp_path: Path) -> None:
    assert imported(MAIN + ENGINE, tmp_path).simulate == ""
    below = imported(MAIN + ENGINE, tmp_path, variables="x,30,0,200,10,0.002,-2\n")
    assert below.simulate == ""
    assert any("simul_elo of x, which is below 0" in line for line in below.messages())


def test_comments_and_line_ends_of_windows_are_understood(tmp_path: Path) -> None:
    text = "\ufeff; a tune\r\n" + (MAIN + "# fast\n" + ENGINE).replace("\n", "\r\n")
    assert recognises(Text.decoded(text.encode(), "x"))
    assert imported(text, tmp_path).settings["number_of_games"] == 100_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MAIN, "[Engine] has no Engine1"),
        (MAIN.replace("Alpha", "Alhpa") + ENGINE, "[Main] has no Alpha; it has 'Alhpa'"),
        (
            MAIN + "Iterations = 3\n" + ENGINE,
            "'tune.conf' [line 10]: option 'Iterations' in section 'Main' already",
        ),
        (MAIN + "nonsense\n" + ENGINE, "'tune.conf'\n\t[line 10]: 'nonsense"),
        (MAIN.replace("50000", "many") + ENGINE, "Iterations: 'many' is not an integer"),
        (MAIN.replace("0.602", "-1") + ENGINE, "Alpha -1 is out of range"),
        (MAIN + ENGINE.replace("= 1000", "= 0").replace("= 50\n", "= 0\n"), "BaseTime, IncTime"),
        (MAIN + ENGINE.replace("./stockfish", "'"), 'Engine1: "\'": No closing quotation'),
        (MAIN.replace("tune.var", "no.var") + ENGINE, "cannot read the variables 'no.var'"),
    ],
)
def test_wrong_option_is_refused_by_name(text: str, message: str, tmp_path: Path) -> None:
    assert message in refusal(text, tmp_path)


def test_text_of_a_configuration_stays_text(tmp_path: Path) -> None:
    nasty = './"; import os; os.mkdir("made") #'
    text = MAIN + ENGINE.replace("./book.epd", nasty) + 'Odd = """; import os\n'
    event_of(imported(text, tmp_path).render("x.ctl"), tmp_path)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "words", [["tune.conf"], ["tune.conf", "tune.var"], ["tune.var", "tune.conf"]]
)
def test_command_takes_the_configuration_with_or_without_its_variables(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tune.conf").write_text(MAIN + ENGINE)
    (tmp_path / "tune.var").write_text(VARIABLES)
    assert run(["import", *words]) == 0
    out, err = capsys.readouterr()
    assert 'Parameter("Aggressiveness", start=30, min=0, max=200' in out
    assert "not imported: Log = tune.log" in err
