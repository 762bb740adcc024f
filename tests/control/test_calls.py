"""read_parameters("file") in a control file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ringmaster.errors import ControlFileError
from ringmaster.loaded_competition import LoadedCompetition
from tests.scaffold.loading import event_of

HEAD = """\
competition_type = "spsa"
game = "chess"
players = {"a": Player("engine", depth=1)}
player = "a"
number_of_games = 100
"""
FISHTEST = "Speed,12,0,100,5,0.002\nWidth,-3,-20,20,2,0.002\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.csv").write_text(FISHTEST)
    return tmp_path


def load_control(folder: Path, parameters: str) -> LoadedCompetition:
    return event_of(f"{HEAD}parameters = {parameters}\n", folder)


def parameters_of(loaded: LoadedCompetition) -> Any:
    return loaded.control_file.values["parameters"]


def refused(folder: Path, parameters: str, head: str = HEAD) -> str:
    with pytest.raises(ControlFileError) as caught:
        event_of(f"{head}parameters = {parameters}\n", folder)
    return str(caught.value).replace(f"{folder}/", "")


def test_parameters_of_a_file_equal_written_ones(folder: Path) -> None:
    written = load_control(
        folder,
        '[Parameter("Speed", start=12, min=0, max=100, c_end=5, r_end=0.002, integer=True), '
        'Parameter("Width", start=-3, min=-20, max=20, c_end=2, r_end=0.002, integer=True)]',
    )
    read = load_control(folder, 'read_parameters("p.csv")')
    assert parameters_of(read) == parameters_of(written)
    assert read.settings["parameters"] == written.settings["parameters"]


def test_file_is_looked_for_beside_the_control_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert len(parameters_of(load_control(folder, 'read_parameters("p.csv")'))) == 2


def test_list_of_a_file_goes_into_other_lists(folder: Path) -> None:
    loaded = load_control(
        folder, '[*read_parameters("p.csv"), Parameter("More", start=1, min=0, max=9, c_end=1)]'
    )
    assert [p.code for p in parameters_of(loaded)] == ["Speed", "Width", "More"]
    loaded = load_control(folder, '[p for p in read_parameters("p.csv") if p.args[0] != "Speed"]')
    assert [p.code for p in parameters_of(loaded)] == ["Width"]


def test_change_of_the_file_is_a_change_of_the_parameters(folder: Path) -> None:
    before = load_control(folder, 'read_parameters("p.csv")').settings
    (folder / "p.csv").write_text(FISHTEST.replace("12", "13"))
    after = load_control(folder, 'read_parameters("p.csv")').settings
    assert {name for name in before if before[name] != after[name]} == {"parameters"}


def test_caller_may_say_that_values_are_not_whole(folder: Path) -> None:
    loaded = load_control(folder, 'read_parameters("p.csv", integer=False)')
    assert not any(p.integer for p in parameters_of(loaded))


def test_length_of_the_tune_makes_the_gains_of_weather_factory(folder: Path) -> None:
    (folder / "w.json").write_text(
        '{"a": {"value": 50, "min_value": 0, "max_value": 100, "step": 10}}'
    )
    (one,) = parameters_of(load_control(folder, 'read_parameters("w.json", games=40000)'))
    assert one.c_end == pytest.approx(10 * 40_000**-0.102)


def test_wrong_line_is_shown_with_the_call_and_its_own_place(folder: Path) -> None:
    (folder / "p.csv").write_text(FISHTEST + "Depth,9,1,5,1,0.002\n")
    assert refused(folder, '[*read_parameters("p.csv")]').splitlines() == [
        "made.ctl:6:16: error: p.csv:3: Depth: start 9 is outside its bounds; expected a number "
        "from 1 to 5",
        '    6 | parameters = [*read_parameters("p.csv")]',
        "      |                ^^^^^^^^^^^^^^^^^^^^^^^^",
        "            3 | Depth,9,1,5,1,0.002",
    ]


@pytest.mark.slow
def test_value_that_the_setting_refuses_is_shown_at_the_call(folder: Path) -> None:
    (folder / "p.csv").write_text("Speed,12,0,100,70,5000\n")
    first, _, marks = refused(folder, '[*read_parameters("p.csv")]').splitlines()[:3]
    assert first.startswith("made.ctl:6:16: error: parameters[0].r_end: ")
    assert marks.endswith(" ^^^^^^^^^^^^^^^^^^^^^^^^")


def test_assumption_is_a_warning_at_the_call(folder: Path) -> None:
    (folder / "p.csv").write_text("Speed,12,100,0,5,0.002,0\n")
    (warning,) = load_control(folder, 'read_parameters("p.csv")').control_file.warnings
    assert (warning.line, warning.column, warning.severity) == (6, 14, "warning")
    assert warning.message.startswith("p.csv: every line has the larger bound first")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('read_parameters("q.csv")', "q.csv: cannot be read: No such file or directory"),
        ('read_parameters(".")', ".: cannot be read: Is a directory"),
        ("read_parameters(3)", "read_parameters: 3 is not a file name"),
        ('read_parameters("p.csv", format="fishtst")', "expected 'fishtest'"),
        (
            'read_parameters("p.csv", format="clop")',
            "p.csv:1: 'Speed,12,0,100,5,0.002' cannot begin",
        ),
        ('read_parameters("p.csv", games=0)', "games 0 is not a whole number of at least 2"),
        ('read_parameters("p.csv", integer="no")', "integer 'no' is neither True nor False"),
    ],
)
def test_wrong_argument_is_refused_at_the_call(folder: Path, call: str, message: str) -> None:
    text = refused(folder, call)
    assert text.startswith("made.ctl:6:14: error: ")
    assert message in text


def test_choice_is_not_tuned_by_spsa(folder: Path) -> None:
    (folder / "c.json").write_text("{\"a\": \"('x', 'y', 'z')\"}")
    assert "c.json: a is a choice, and SPSA needs an order" in refused(
        folder, 'read_parameters("c.json")'
    )


def test_file_of_unused_parameters_is_refused(folder: Path) -> None:
    (folder / "u.params").write_text("a,int,1,0,9,2,.1 [[NOT USED]]\n")
    assert "none of its parameters is used" in refused(folder, 'read_parameters("u.params")')


@pytest.mark.parametrize("type_name", ["playoff", "mc_tuner", "ce_tuner"])
def test_other_competition_types_have_no_use_for_it(folder: Path, type_name: str) -> None:
    head = HEAD.replace("spsa", type_name)
    message = refused(folder, 'read_parameters("p.csv")', head)
    assert "read_parameters is for competition_type 'spsa'" in message


def test_file_whose_reading_may_not_end_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "endless.csv")
    assert "endless.csv: is not a regular file" in refused(folder, 'read_parameters("endless.csv")')
