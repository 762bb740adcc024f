"""`export-parameters`: tuned values for other tuners, engines, programs, and the control
file itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from ringmaster.cli import REPORTED, USAGE, run
from ringmaster.errors import ControlFileError, UsageError
from ringmaster.export.parameters import (
    FORMATS,
    Tuned,
    parameter_list,
    render,
    tuned_parameters,
)
from ringmaster.model.parameters import TunedParameter
from ringmaster.parameter_files.entries import Entry
from ringmaster.parameter_files.formats import FORMATS as FILE_FORMATS
from ringmaster.parameter_files.formats import read_file, write_file
from ringmaster.parameter_files.text import Text
from ringmaster.reporting.text import width
from ringmaster.scaffold.control_file import Places
from ringmaster.scaffold.importers import import_material
from tests.parameter_files.samples import entries
from tests.program import SPSA, write_control_file
from tests.recorded import CHESS, TUNE, recorded, won, write
from tests.scaffold.loading import event_of

CONTROL = """\
competition_type = "spsa"
game = "chess"
players = {"a": Player("engine", depth=1)}
player = "a"
number_of_games = 1000
parameters = [
    Parameter("LmrBase", start=12, min=0, max=100, c_end=5, r_end=0.004, integer=True),
    Parameter("pruning", start=-0.25, min=-1, max=1, c_end=.1, option="Null_Pruning"),
]
"""
HEAD = CONTROL[: CONTROL.index("parameters =")]

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def control(tmp_path: Path) -> Path:
    path = tmp_path / "t.ctl"
    path.write_text(CONTROL)
    return path


def exported(control: Path, capsys: Captured, format: str) -> str:
    assert run([str(control), "export-parameters", "--format", format]) == 0
    return capsys.readouterr().out


def one(code: str = "a", value: float | int = 3, **more: object) -> Tuned:
    """Return a parameter that has been tuned to a value."""
    integer = isinstance(value, int)
    parameter = TunedParameter(code, value, -(10.0**12), 10.0**12, integer=integer, **more)  # type: ignore[arg-type]
    return Tuned(parameter, value, value, value, parameter.minimum, parameter.maximum)


# From the tune to the file


@pytest.mark.slow
def test_exported_values_are_the_tuned_ones(tmp_path: Path, capsys: Captured) -> None:
    text = SPSA.replace("verify = Verify(games=20)\n", 'method = "classic"\n')
    control = write_control_file(tmp_path, text.replace("1000, int", "1000, c_end=20, int"), 40)
    assert run([str(control), "run", "--quiet"]) == 0
    capsys.readouterr()
    assert run([str(control), "show", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["parameters"]
    assert any(row["value"] != row["start"] for row in shown)
    lines = exported(control, capsys, "setoption").splitlines()
    assert lines == [f"setoption name {r['code']} value {r['engine_value']}" for r in shown]
    # YaneuraOu's file has θ also where engines get whole numbers
    rows = [line.split(",") for line in exported(control, capsys, "yaneuraou").splitlines()]
    assert [float(row[2]) for row in rows] == [float(f"{p['estimate']:.6g}") for p in shown]
    assert any(float(row[2]) % 1 for row in rows)
    assert all(row[1] == "int" for row in rows)


def test_values_are_the_start_values_before_the_first_game(control: Path, capsys: Captured) -> None:
    assert exported(control, capsys, "setoption") == (
        "setoption name LmrBase value 12\nsetoption name Null_Pruning value -0.25\n"
    )


def test_table_is_written_where_no_format_is_named(control: Path, capsys: Captured) -> None:
    assert run([str(control), "export-parameters"]) == 0
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["parameter", "start", "tuned", "min", "max"]
    assert first.split() == ["LmrBase", "12", "12", "0", "100"]
    assert second.split() == ["pruning", "-0.25", "-0.25", "-1", "1"]
    assert width(header) == width(first) == width(second)


@pytest.mark.parametrize("format", FILE_FORMATS)
def test_exported_file_is_read_again(format: str, control: Path, capsys: Captured) -> None:
    if format in ("clop", "chess_tuning_tools"):
        expected = [(50.0, 0.0, 100.0), (0.0, -1.0, 1.0)]  # these have no start
    elif format == "openbench_values":
        expected = [(12.0, 0.0, 24.0), (-0.25, -0.5, 0.0)]  # and this no range
    else:
        expected = [(12.0, 0.0, 100.0), (-0.25, -1.0, 1.0)]
    text = exported(control, capsys, format.replace("_", "-"))
    imported = read_file(Text("x.params", text), format, games=1000)
    assert [e.code for e in imported.entries] == ["LmrBase", "Null_Pruning"]
    assert [(e.start, e.minimum, e.maximum) for e in imported.entries] == expected
    if format in ("spsa_tuner", "fishtest", "openbench", "yaneuraou"):
        assert [(e.c_end, e.r_end) for e in imported.entries] == [(5, 0.004), (0.1, 0.002)]


@pytest.mark.parametrize("format", ["fishtest", "spsa_tuner", "openbench"])
def test_exported_file_tunes_on_from_where_the_tune_was(format: str, control: Path) -> None:
    target = control.parent / "tuned.txt"
    assert run([str(control), "export-parameters", "--format", format, "-o", str(target)]) == 0
    loaded = event_of(HEAD + 'parameters = read_parameters("tuned.txt")\n', control.parent)
    assert [(p.start, p.c_end) for p in loaded.control_file.values["parameters"]] == [
        (12, 5),
        (-0.25, 0.1),
    ]


def test_control_files_own_list_is_ready_to_be_pasted(tmp_path: Path) -> None:
    before = event_of(CONTROL, tmp_path)
    text, notes = parameter_list(
        [_moved(t, 44) for t in tuned_parameters(tmp_path / "made.ctl")[1]], before
    )
    assert notes == []
    after = event_of(HEAD + text, tmp_path)
    (first, _), (was, _) = (
        after.control_file.values["parameters"],
        before.control_file.values["parameters"],
    )
    assert first.start == 44
    assert first == TunedParameter(**{**first_fields(was), "start": 44.0})
    assert after.control_file.values["parameters"][1].option == "Null_Pruning"


def first_fields(parameter: TunedParameter) -> dict[str, object]:
    return {name: getattr(parameter, name) for name in parameter.__struct_fields__}


def _moved(tuned: Tuned, value: float) -> Tuned:
    """Return a parameter of whole numbers elsewhere; others stay."""
    if not tuned.parameter.integer:
        return tuned
    given = int(value)
    return Tuned(tuned.parameter, value, given, tuned.start_value, tuned.low, tuned.high)


def test_parameters_of_a_file_are_written_out(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("Speed,12,0,100,5,0.002\n")
    event_of(HEAD + 'parameters = read_parameters("p.csv")\n', tmp_path)
    loaded, tuned = tuned_parameters(tmp_path / "made.ctl")
    assert parameter_list(tuned, loaded)[0] == (
        'parameters = [Parameter("Speed", start=12, min=0, max=100, c_end=5, r_end=0.002, '
        "integer=True)]\n"
    )


def test_long_call_is_written_with_a_line_an_argument(tmp_path: Path) -> None:
    name = "x" * 70
    event_of(CONTROL.replace("LmrBase", name), tmp_path)
    loaded, tuned = tuned_parameters(tmp_path / "made.ctl")
    text = parameter_list(tuned, loaded)[0]
    assert f'    Parameter(\n        "{name}",\n        start=12,\n' in text
    assert max(map(len, text.splitlines())) <= 96


# Values that are no plain numbers


def test_parameter_on_a_logarithmic_scale_is_written_in_the_engines_units() -> None:
    parameter = TunedParameter("a", 8.0, 1.0, 64.0, c_end=1.0, integer=True, scale="log")
    entry = Tuned(parameter, 31.6, 32, 8, 1, 64).entry()
    assert entry is not None
    assert (entry.start, entry.minimum, entry.maximum, entry.scale) == (32.0, 1.0, 64.0, "log")
    assert entry.integer
    assert entry.c_end == 1.0


def test_value_outside_its_transformed_bounds_is_refused() -> None:
    parameter = TunedParameter("a", 0, -1, 1, transform=lambda x: 4 - x * x)
    assert Tuned(parameter, 0.0, 4.0, 4.0, 3.0, 3.0).entry() is None


def test_value_that_is_a_text_is_no_line_of_a_file(tmp_path: Path) -> None:
    loaded = event_of(CONTROL, tmp_path)
    style = Tuned(TunedParameter("style", 0, 0, 2), 1, "wild", "calm", "calm", "mad")
    assert render("setoption", [style], loaded)[0] == "setoption name style value wild\n"
    with pytest.raises(UsageError, match="style"):
        render("fishtest", [style], loaded)


def test_other_parameters_than_options_are_left_out_with_a_note(tmp_path: Path) -> None:
    loaded = event_of(CONTROL, tmp_path)
    text, notes = render("setoption", [one("a"), one("b", gtp="level %s")], loaded)
    assert text == "setoption name a value 3\n"
    assert notes == ["setoption: left out, not an option of the engine: b"]


def test_format_of_a_parameter_is_applied(tmp_path: Path) -> None:
    loaded = event_of(CONTROL, tmp_path)
    assert render("setoption", [one("a", 0.5, format="%.3f")], loaded)[0].endswith(" 0.500\n")


def test_frozen_parameters_are_no_lines_of_a_file(tmp_path: Path) -> None:
    loaded = event_of(CONTROL, tmp_path)
    text, notes = render("fishtest", [one("a"), one("b", frozen=True)], loaded)
    assert text.startswith("a,3,")
    assert len(text.splitlines()) == 1
    assert notes[-1] == "fishtest: frozen, and left out: b"
    assert "b" in render("setoption", [one("b", frozen=True)], loaded)[0]


def test_assumed_gains_become_a_note(control: Path, capsys: Captured, tmp_path: Path) -> None:
    loaded = event_of(CONTROL, tmp_path)
    _, notes = render("fishtest", [one("a")], loaded)
    assert notes == [
        "fishtest: c_end is a twentieth of the range for parameters without one (1)",
        "fishtest: r_end is 0.002 for parameters without one (1)",
    ]


# YaneuraOu's own rows

PARAMS = """\
LateBase,int,164.883,0,1024,25,0.002 // base of late moves
Old,int,3,0,9,1,0.002 // gone [[NOT USED]]
Bare,int,3.25,0,9,1,0.002 [[NOT USED]]
Margin,int,-45.125,-200,200,10,0.002 // 余白
Rate,float,0.123456789,0,1.5,0.1,0.002
"""


@pytest.mark.parametrize("way", ["import", "read_parameters"])
def test_params_file_comes_back_as_it_was(way: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "t.params").write_text(PARAMS, encoding="utf-8")
    control = tmp_path / "made.ctl"
    if way == "import":
        assert run(["import", "-o", str(control), str(tmp_path / "t.params")]) == 0
    else:
        event_of(f'{HEAD}parameters = read_parameters("t.params")\n', tmp_path)
    capsys.readouterr()
    assert run([str(control), "export-parameters", "--format", "yaneuraou"]) == 0
    out, err = capsys.readouterr()
    assert out == PARAMS
    loaded, tuned = tuned_parameters(control)
    pasted = event_of(HEAD + parameter_list(tuned, loaded)[0], tmp_path, "pasted.ctl")
    before, after = (each.control_file.values["parameters"] for each in (loaded, pasted))
    assert [(p.comment, p.not_used) for p in after] == [(p.comment, p.not_used) for p in before]
    assert "YaneuraOu's script plays int(v + 0.5), so -45 as -44" in err


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=entries("yaneuraou"))
def test_any_params_file_comes_back_as_it_was(rows: list[Entry], tmp_path: Path) -> None:
    text, _ = write_file("yaneuraou", rows)
    (tmp_path / "t.params").write_text(text, encoding="utf-8")
    places = Places(tmp_path, tmp_path)
    try:
        imported = import_material([str(tmp_path / "t.params")], places).render("x.ctl")
        loaded = event_of(imported, tmp_path)
    except (ControlFileError, UsageError):
        return  # no parameter that is used, or a perturbation beyond half the range
    assert render("yaneuraou", tuned_parameters(loaded.paths.control)[1], loaded)[0] == text


def test_rows_not_used_are_left_out_of_files_that_cannot_mark_them(
    tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "t.params").write_text(PARAMS, encoding="utf-8")
    event_of(f'{HEAD}parameters = read_parameters("t.params")\n', tmp_path)
    for format in FORMATS:
        assert run([str(tmp_path / "made.ctl"), "export-parameters", "--format", format]) == 0
        out, err = capsys.readouterr()
        has_unused = format in ("yaneuraou", "control-file")
        assert ("Old" in out) == has_unused
        if format in FILE_FORMATS and not has_unused:
            assert f"{format}: not used, and left out: Old, Bare" in err


def test_impossible_export_is_refused(control: Path, tmp_path: Path, capsys: Captured) -> None:
    assert run([str(control), "export-parameters", "--format", "fishtst"]) == USAGE
    assert "'fishtst' of parameters; expected 'fishtest'" in capsys.readouterr().err
    (tmp_path / "t.ctl").write_text(CHESS)
    assert run([str(tmp_path / "t.ctl"), "export-parameters"]) == REPORTED
    assert "has no tuned parameters: its competition_type is 'playoff'" in capsys.readouterr().err


def test_values_of_a_refused_edit_are_not_written(tmp_path: Path, capsys: Captured) -> None:
    tickets = [({"k": 1, "g": game, "p": [6, 6], "m": [4, 4]}, won(f"1_{game}")) for game in (0, 1)]
    control = recorded(write(tmp_path, TUNE), tickets)
    write(tmp_path, f"{TUNE}seed = 7\n")
    assert run([str(control), "export-parameters"]) == REPORTED
    out, err = capsys.readouterr()
    assert (out, "seed" in err) == ("", True)


@pytest.mark.parametrize("name", ["t.status", "t.log", "new.ctl"])
def test_competitions_own_files_are_not_overwritten(
    name: str, control: Path, capsys: Captured
) -> None:
    target = control.parent / name
    assert run([str(control), "export-parameters", "-o", str(target)]) == USAGE
    assert not target.exists()


def test_name_that_a_format_cannot_hold_is_refused(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "t.ctl").write_text(CONTROL.replace("LmrBase", "Lmr, Base"))
    action = [str(tmp_path / "t.ctl"), "export-parameters", "--format"]
    for format in ("fishtest", "spsa_tuner", "openbench", "yaneuraou", "clop"):
        assert run([*action, format, "-o", str(tmp_path / "out")]) == USAGE
        assert "'Lmr, Base' cannot be" in capsys.readouterr().err
        assert not (tmp_path / "out").exists()
