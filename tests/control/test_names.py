"""Names that look like settings, and settings in the wrong place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from ringmaster.control.loader import load
from ringmaster.control.source import ControlFileProblems, Diagnostic
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.settings import Setting
from tests.control.samples import PLAYOFF_FILE, TABLES, TUNER_FILE, load_text


def warned(folder: Path, lines: str, text: str = PLAYOFF_FILE) -> list[tuple[str, str]]:
    loaded = load_text(folder, text + lines)
    assert all(w.severity == "warning" for w in loaded.warnings)
    return [(w.message.split("'")[1], w.expected) for w in loaded.warnings]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("boardsize, x = 3, 4", "board_size"),
        ("def matchup(): pass", "matchups"),
        ("boardsize = 3\nboardsize += 1", "board_size"),
    ],
)
def test_function_or_variable_like_a_setting_that_is_given_is_a_warning(
    tmp_path: Path, line: str, meant: str
) -> None:
    ((name, expected),) = warned(tmp_path, line + "\n")
    assert expected == f"{meant!r}, or '_{name}' for a variable of your own"


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("Komi = 3", "'komi'"),
        ("boardsize = 3", "'board_size'"),
        ("recordgames: bool = False", "'record_games'"),
        ("if True:\n    descripton = 'x'", "'description'"),
        ("try:\n    pass\nexcept ValueError:\n    descripton = 'x'", "'description'"),
        ("player = {}", "'players'"),
        ("number_of_generations = 3", "'number_of_games'"),
        ("number_of_games = 5\nnumber_of_game = 3", "'number_of_games'"),
        ("number_of_games = 5\nrounds = 3", "'number_of_games'"),
        # settings of other programs
        ("concurency = 3", "'parallel'"),
        ("tc = '10+0.1'", "'time_control'"),
        ("hash = 16", 'options = {"Hash": …}'),
        ("resign = 3", "'resign_adjudication'"),
        ("dev_options = 'Hash=8'", "'options' in a Player"),
    ],
)
def test_unused_name_like_a_setting_or_of_another_program_is_an_error(
    tmp_path: Path, line: str, meant: str
) -> None:
    (error,) = refused(tmp_path, f"{PLAYOFF_FILE}{line}\n")
    assert error.expected.startswith(meant)
    name = line.split("\n")[-1].split()[0].rstrip(":")
    assert warned(tmp_path, f"{line}\n_used = lambda: {name}\n") == []


def refused(folder: Path, text: str) -> list[Diagnostic]:
    with pytest.raises(ControlFileProblems) as problems:
        load_text(folder, text)
    assert all(d.severity == "error" for d in problems.value.diagnostics)
    return list(problems.value.diagnostics)


def test_misspelt_exploration_coefficient_is_an_error(tmp_path: Path) -> None:
    text = TUNER_FILE.replace("exploration_coefficient", "exploration_coeficient")
    (error,) = refused(tmp_path, text)
    assert str(error) == (
        f"{tmp_path / 'tune.ctl'}:46:1: error: 'exploration_coeficient' is not a setting, and "
        "nothing uses it; expected 'exploration_coefficient', or '_exploration_coeficient' for a "
        "variable of your own\n"
        "   46 | exploration_coeficient = 0.45\n"
        "      | ^^^^^^^^^^^^^^^^^^^^^^"
    )


@pytest.mark.parametrize(
    "lines",
    [
        "number_of_game = 3\nnumber_of_games = number_of_game",
        "boardsize = 9\n_text = f'{boardsize}'",
        "boardsize = 9\n_text = '%(boardsize)d' % globals()",
        "import os as koma",
        "from os import path as players_",
        "for komi_ in range(2):\n    pass",
        "class Matchups: pass",
        "def helper():\n    boardsize = 9",
        "cwd, rest = 1, 2",
        "cwd = '/home'\n_engine = f'{cwd}/engine'",
        "_number_of_games = 3",
    ],
)
def test_no_warning_about_names_that_are_used_or_unlike_settings(
    tmp_path: Path, lines: str
) -> None:
    assert warned(tmp_path, lines + "\n") == []


@pytest.mark.parametrize(
    "lines",
    [
        "rounds = 0\nfor _i in range(3):\n    rounds += 1",
        "games = 10\ndel games",
        "games, depth = 20, 3",
        "_n = games = 20",
    ],
)
def test_variables_of_the_users_own_are_no_errors(tmp_path: Path, lines: str) -> None:
    assert warned(tmp_path, lines + "\n") == []


@pytest.mark.parametrize(
    "line",
    [
        "ko = 'positional'",
        "time_settings = '10 0 0'",
        "rules = {'ko': 'simple'}",
        "numgames = 3",
        "MAX: int = 3",
        "command = 'engine'",
        "if True:\n    rules = 'chinese'",
    ],
)
@pytest.mark.parametrize("safe", [False, True])
def test_plain_value_that_nothing_uses_is_a_warning(tmp_path: Path, line: str, safe: bool) -> None:
    loaded = load_text(tmp_path, f"{PLAYOFF_FILE}{line}\n", safe=safe)
    (warning,) = loaded.warnings
    name = line.split("\n")[-1].split()[0].rstrip(":")
    assert warning.message == f"{name!r} is not a setting, and nothing uses it"
    assert warning.expected == f"'_{name}' for a variable of your own"
    assert warning.line == 39 + len(line.split("\n"))


@pytest.mark.parametrize("line", ["cwd = '/tmp'", "options = [1]"])
def test_common_names_of_arguments_are_warnings(tmp_path: Path, line: str) -> None:
    ((name, expected),) = warned(tmp_path, line + "\n")
    assert line.startswith(name)
    assert expected.startswith(f"{name}=… in ")


def test_setting_of_another_type_is_a_warning(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, PLAYOFF_FILE + "parameters = 3\n")
    (warning,) = loaded.warnings
    assert warning.message == (
        "'parameters' has no meaning when competition_type is 'playoff'; "
        "it is a setting of 'mc_tuner'"
    )
    assert (warning.line, warning.column, warning.end_column) == (40, 1, 11)


def test_unread_argument_of_a_call_at_the_top_level_is_an_error(tmp_path: Path) -> None:
    (error,) = refused(tmp_path, PLAYOFF_FILE + "time_control = '10+0.1'\n")
    assert (
        str(error)
        .splitlines()[0]
        .endswith(
            "tune.ctl:40:1: error: 'time_control' is an argument of Player; nothing uses it here; "
            "expected time_control=… in each Player, or '_time_control' for a variable of your own"
        )
    )


@pytest.mark.parametrize(
    "use", ["Player('e', cwd='/')", "dict(cwd='/')", "{'cwd': '/'}", "Player(**{'cwd': '/'})"]
)
def test_argument_at_the_top_level_is_a_warning_when_the_file_gives_it_elsewhere(
    tmp_path: Path, use: str
) -> None:
    ((name, _),) = warned(tmp_path, f"cwd = '/'\n_common = {use}\n")
    assert name == "cwd"


def test_several_misplaced_names_are_one_report(tmp_path: Path) -> None:
    lines = "number_of_game = 3\ncwd = '/'\nKomi = 3\n"
    with pytest.raises(ControlFileProblems) as problems:
        load_text(tmp_path, PLAYOFF_FILE.replace("board_size = 9", "board_size = 0") + lines)
    places = [(d.severity, d.line) for d in problems.value.diagnostics]
    assert sorted(places) == [("error", 25), ("error", 40), ("error", 42), ("warning", 41)]


TEXEL_FILE = """
competition_type = "texel"
game = "chess"
players = {"e": Player("engine", protocol="uci")}
player = "e"
parameters = [Parameter("a", option="A", start=1, min=0, max=9)]
positions = "set.epd"
"""


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("quiet = True", "Positions"),
        ("score_pov = 'white'", "each Player or Positions"),
        ("score_cap = 600", "Positions"),
    ],
)
def test_misplaced_settings_of_a_texel_file_are_errors(
    tmp_path: Path, line: str, where: str
) -> None:
    control = tmp_path / "tune.ctl"
    control.write_text(f"{TEXEL_FILE.strip()}\n{line}\n")
    name = line.split()[0]
    with pytest.raises(ControlFileProblems, match=f"tune.ctl:7:1: error: '{name}' is an argument"):
        LoadedCompetition(control)
    with pytest.raises(ControlFileProblems, match=f"expected {name}=… in {where}, or '_{name}'"):
        LoadedCompetition(control)


def test_correct_file_needs_no_settings_of_other_types(tmp_path: Path) -> None:
    asked: list[str] = []

    def table_of(type_name: str) -> Sequence[Setting] | None:
        asked.append(type_name)
        return TABLES.get(type_name)

    (tmp_path / "tune.ctl").write_text(PLAYOFF_FILE)
    assert load(tmp_path / "tune.ctl", table_of, list(TABLES)).warnings == []
    assert asked == ["playoff"]


def test_name_is_warned_of_where_it_stands_in_characters(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, PLAYOFF_FILE + "_é = 'é'; kommi, _x = 3, 4\n")
    (warning,) = loaded.warnings
    assert (warning.column, warning.end_column) == (11, 16)
