"""`ringmaster import FILE`: parameter files of other tuners become control files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringmaster.cli import REPORTED, USAGE, run
from ringmaster.competitions.spsa.competition import SpsaCompetition
from ringmaster.errors import UsageError
from ringmaster.parameter_files.formats import FORMATS
from ringmaster.parameter_files.text import Text
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.parameter_import import PLACEHOLDER, import_files
from ringmaster.tuners.spsa.method import GainMethod
from tests.scaffold.loading import event_of

SAMPLES = {
    "spsa_tuner": ("t.var", "Speed,30,0,200,10,0.002,0\n"),
    "fishtest": ("t.csv", "Speed,30,0,200,10,0.002\n"),
    "openbench": ("t.txt", "Speed, int, 30, 0, 200, 10, 0.002\n"),
    "openbench_values": ("v.txt", "Speed, 30\n"),
    "weather_factory": (
        "config.json",
        '{"Speed": {"value": 30, "min_value": 0, "max_value": 200, "step": 10}}',
    ),
    "yaneuraou": ("t.params", "Speed,int,30,0,200,10,0.002 // 速さ\n"),
    "clop": ("t.clop", "IntegerParameter Speed 0 200\nGammaParameter Scale 1 8\n"),
    "chess_tuning_tools": ("t.json", '{"Speed": "Integer(0, 200)", "Scale": "Real(0.5, 8)"}'),
    "optuna_tuner": ("o.json", '{"Speed": {"default": 30, "min": 0, "max": 200, "step": 5}}'),
}
SPSA_JSON = json.dumps({"a": 0.5, "c": 2.0, "A": 100, "alpha": 0.6, "gamma": 0.1, "target": 2})
CUTECHESS_JSON = json.dumps(
    {"engine": "sf", "book": "b.epd", "games": 8, "tc": 10.0, "hash": 8, "threads": 4, "save": 9}
)


def imported(*files: tuple[str, str], folder: Path = Path("/w")) -> Match:
    texts = [Text(name, text) for name, text in files]
    return import_files(texts, Places(folder, folder))


@pytest.mark.parametrize("format", FORMATS)
def test_parameter_file_makes_a_control_file_that_loads(format: str, tmp_path: Path) -> None:
    match = imported(SAMPLES[format])
    text = match.render("x.ctl")
    compile(text, "x.ctl", "exec")
    assert match.game == ("shogi" if format == "yaneuraou" else "chess")
    event = event_of(text, tmp_path)
    assert event.control_file.values["parameters"][0].code == "Speed"


@pytest.mark.parametrize(
    ("format", "settings"),
    [
        (
            "spsa_tuner",
            {"method": "classic", "update": "nominal", "rounding": "nearest", "A_ratio": 0.1},
        ),
        (
            "fishtest",
            {"method": "classic", "rounding": "stochastic", "k_counts": "pairs", "alpha": 0.602},
        ),
        ("openbench", {"method": "classic", "games_per_iteration": 16, "k_counts": "iterations"}),
        ("weather_factory", {"method": "weather_factory", "a": 1.0, "c": 1.0, "A": 100_000}),
        (
            "yaneuraou",
            {"method": "blog", "pairing": "reference", "rounding": "nearest", "epsilon": 1.0},
        ),
        ("chess_tuning_tools", {"method": None}),
        ("optuna_tuner", {"method": None}),
    ],
)
def test_practice_of_the_source_is_written_out(format: str, settings: dict[str, object]) -> None:
    tune_settings = imported(SAMPLES[format]).settings
    assert {name: tune_settings.get(name) for name in settings} == settings


def test_yaneuraous_delta_times_mobility_is_the_factor_of_a_win(tmp_path: Path) -> None:
    event = event_of(imported(SAMPLES["yaneuraou"]).render("x.ctl"), tmp_path)
    competition = event.competition
    assert isinstance(competition, SpsaCompetition)
    method = competition.tuner.method
    assert isinstance(method, GainMethod)
    # each result of its tool moves by step·delta·mobility/2, times the results of both sides
    for k in (1, 90_000):
        assert method.gains.c(k)[0] == 10
        assert method.gains.R(k)[0] == pytest.approx(0.002 / 2, rel=1e-12)


@pytest.mark.process
def test_engine_is_one_that_check_complains_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.ctl"
    path.write_text(imported(SAMPLES["fishtest"]).render("x.ctl"))
    assert run([str(path), "check"]) == REPORTED
    assert PLACEHOLDER.removeprefix("./") in capsys.readouterr().err


def test_rounding_of_negative_numbers_by_yaneuraous_script_becomes_a_note() -> None:
    negative = "Margin,int,-45,-200,200,10,0.002\n"
    note = "YaneuraOu's script plays int(v + 0.5), so -45 as -44"
    assert any(note in line for line in imported(("t.params", negative)).different)
    for other in ("Speed,int,30,0,200,10,0.002\n", "Rate,float,-1,-2,2,1,0.002\n"):
        assert not any(note in line for line in imported(("t.params", other)).different)


def test_comment_of_the_file_stays_a_comment() -> None:
    match = imported(("t.params", "Speed,int,30,0,200,10,0.002 // 速\x0b\u2028import os\n"))
    assert 'comment="速' in match.render("x.ctl")
    assert "\nimport os" not in match.render("x.ctl")


def test_logarithmic_scales_are_kept() -> None:
    ranges = '{"g": "Real(1, 16, prior=log-uniform)", "h": "Integer(1, 64, prior=log-uniform)"}'
    text = imported(("t.json", ranges)).render("x.ctl")
    text = " ".join(text.split())
    assert '"g", start=4, min=1, max=16, scale="log"' in text
    assert '"h", start=8, min=1, max=64, integer=True, scale="log"' in text


def test_clop_file_becomes_a_clop_tuner(tmp_path: Path) -> None:
    file = """Name test
Script ./play.py x
GammaParameter g 1 16
IntegerParameter h 1 64  # hashed
Processor one
Processor two
Replications 2
DrawElo 100
H 4
Correlations none
StopOnError true
"""
    match = imported(("t.clop", file))
    values = event_of(match.render("x.ctl"), tmp_path).control_file.values
    assert (values["clop_H"], values["correlations"], values["replications"]) == (4, "none", 2)
    parameters = values["parameters"]
    assert [(p.code, p.scale, p.integer, p.minimum, p.maximum) for p in parameters] == [
        ("g", "log", False, 1, 16),
        ("h", "linear", True, 1, 64),
    ]
    assert match.parallel == 2
    assert match.notes == ["Script './play.py x'", "StopOnError 'true'"]
    assert match.different == ["a draw is half a win; there is no DrawElo"]


@pytest.mark.parametrize(
    "line", ["H many", "H 0", "Correlations some", "Replications 0", f"Replications {'9' * 50}"]
)
def test_doubtful_setting_of_clop_becomes_a_note(line: str) -> None:
    match = imported(("t.clop", f"LinearParameter x 0 1\n{line}\n"))
    name, value = line.split()
    assert match.notes == [f"{name} {value!r}"]


def test_choice_is_left_out_with_a_note() -> None:
    match = imported(("t.json", '{"a": "Integer(0, 9)", "b": "(\'x\', \'y\')"}'))
    assert match.notes == ["b (a choice without order, which SPSA cannot tune)"]
    with pytest.raises(UsageError, match="no parameter that can be tuned"):
        imported(("t.json", "{\"b\": \"('x', 'y')\"}"))


def test_openbenchs_output_gives_the_start_values() -> None:
    for files in (("openbench", "openbench_values"), ("openbench_values", "openbench")):
        samples = [SAMPLES[format] for format in files]
        samples = [(name, text.replace("Speed, 30", "Speed, 37")) for name, text in samples]
        (parameter,) = imported(*samples).settings["parameters"]
        assert parameter.args == ("Speed",)
        assert parameter.kwargs.items() >= {"start": 37, "min": 0, "max": 200}.items()


@pytest.mark.parametrize("values", ["Spede, 30\n", "Speed, 300\n"])
def test_output_of_other_parameters_is_refused(values: str) -> None:
    with pytest.raises(UsageError, match=r"is not a parameter|is outside its bounds"):
        imported(SAMPLES["openbench"], ("v.txt", values))


def test_weather_factorys_three_files_are_one_tune() -> None:
    match = imported(
        SAMPLES["weather_factory"], ("spsa.json", SPSA_JSON), ("cutechess.json", CUTECHESS_JSON)
    )
    assert match.entrants[0].command == ["tuner/sf"]
    arguments = match.entrants[0].arguments
    assert (arguments["time_control"], arguments["options"]) == ("10+0.1", {"Hash": 8})
    assert match.settings["openings"].args == ("tuner/b.epd",)
    tune_settings = {name: match.settings[name] for name in ("a", "c", "A", "alpha", "gamma")}
    assert tune_settings == {"a": 0.5, "c": 2.0, "A": 100, "alpha": 0.6, "gamma": 0.1}
    assert match.settings["games_per_iteration"] == 8
    assert match.parallel == 4
    assert len(match.notes) == 2


#: As its repository has them, but with the 120 games that its program plays by default.
WEATHER_FACTORY = (
    (
        "config.json",
        '{"Param": {"value": 50, "min_value": 0, "max_value": 100, "step": 10}}',
    ),
    ("cutechess.json", '{"engine": "engine", "book": "book.pgn", "save_rate": 10}'),
    ("spsa.json", '{"a": 1.0, "c": 1.0, "A": 100000, "alpha": 0.601, "gamma": 0.102}'),
)


def test_weather_factorys_defaults_make_a_tune_of_whole_iterations(tmp_path: Path) -> None:
    match = imported(*WEATHER_FACTORY)
    values = event_of(match.render("x.ctl"), tmp_path).control_file.values
    assert (values["games_per_iteration"], values["number_of_games"]) == (120, 100_080)
    assert (values["draw_adjudication"].move_count, values["draw_adjudication"].score) == (8, 10)
    assert (values["resign_adjudication"].move_count, values["resign_adjudication"].score) == (
        3,
        400,
    )
    assert values["openings"].plies == 16
    assert values["failures"] == "loss"
    assert match.entrants[0].arguments["time_control"] == "5+0.05"


def test_folder_of_weather_factory_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in WEATHER_FACTORY:
        (tmp_path / name).write_text(text)
    assert run(["import", "."]) == 0
    assert '"tuner/engine"' in capsys.readouterr().out


def test_openbenchs_frozen_parameter_stays_frozen(tmp_path: Path) -> None:
    frozen = "Speed, int, 30, 0, 200, 10, 0.002\nFrozen, int, 5, 0, 10, 0, 0.002\n"
    match = imported(("t.txt", frozen))
    values = event_of(match.render("x.ctl"), tmp_path).control_file.values
    assert [(p.code, p.start, p.frozen) for p in values["parameters"]] == [
        ("Speed", 30, False),
        ("Frozen", 5, True),
    ]
    assert any("Frozen is frozen at 5: its c_end is 0" in line for line in match.messages())
    with pytest.raises(UsageError, match="no parameter that can be tuned"):
        imported(("t.txt", frozen.splitlines()[1]))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.csv", "match.cfg"], "match.cfg is a match.cfg of KataGo, which cannot be combined"),
        (["a.csv", "b.txt"], "a.csv (fishtest) and b.txt (openbench) cannot be combined"),
        (["a.csv", "fastchess", "-engine"], "'a.csv' and the command line of fastchess cannot be"),
        (["a.csv", "gone.csv"], "there is no file 'gone.csv'"),
    ],
)
def test_material_that_cannot_be_combined_is_named(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(SAMPLES["fishtest"][1])
    (tmp_path / "b.txt").write_text(SAMPLES["openbench"][1])
    (tmp_path / "match.cfg").write_text("numBots = 2")
    at = words.index("fastchess") if "fastchess" in words else len(words)
    assert run(["import", *words[:at], "-o", "x.ctl", *words[at:]]) == USAGE
    assert message in capsys.readouterr().err


def test_two_files_of_one_tune_are_imported_with_the_output_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("openbench", "openbench_values"):
        file, text = SAMPLES[name]
        (tmp_path / file).write_text(text)
    assert run(["import", "t.txt", "v.txt", "-o", "x.ctl"]) == 0
    assert (tmp_path / "x.ctl").exists()


def test_shift_jis_and_latin_1_are_read_with_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.params").write_bytes("Speed,int,30,0,200,10,.002 // 速さ".encode("cp932"))
    (tmp_path / "t.txt").write_bytes("Größe, int, 30, 0, 200, 10, .002\r\n".encode("latin-1"))
    assert run(["import", str(tmp_path / "t.params")]) == 0
    assert "line 1 is not UTF-8; it is read as Shift JIS" in capsys.readouterr().err
    assert run(["import", str(tmp_path / "t.txt")]) == 0
    out, err = capsys.readouterr()
    assert 'Parameter("Größe", start=30' in out
    assert "line 1 is not UTF-8; it is read as ISO 8859-1" in err


@pytest.mark.parametrize(
    "files",
    [
        (SAMPLES["fishtest"], SAMPLES["openbench"]),
        (SAMPLES["fishtest"], ("spsa.json", SPSA_JSON)),
        (("spsa.json", SPSA_JSON),),
        (SAMPLES["weather_factory"], ("cutechess.json", CUTECHESS_JSON.replace('"sf"', "3"))),
        (SAMPLES["weather_factory"], ("cutechess.json", CUTECHESS_JSON.replace("10.0", "-1"))),
    ],
)
def test_files_that_do_not_go_together_are_refused(files: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(UsageError, match="import: "):
        imported(*files)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "import: tune.csv is empty; expected "),
        ("Dear reader\n", "a parameter file of another tuner"),
        ("A;30;0;200;10;0.002\n", "tune.csv:1: its columns are not separated by commas"),
    ],
)
def test_other_file_is_refused_with_the_reason_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    (tmp_path / "tune.csv").write_text(content)
    assert run(["import", "-o", str(tmp_path / "x.ctl"), str(tmp_path / "tune.csv")]) != 0
    assert message in capsys.readouterr().err
    assert not (tmp_path / "x.ctl").exists()
