"""Expressions that had another value in Python 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringmaster.event import Event
from tests.control.samples import PLAYOFF_FILE, TUNER_FILE, load_text
from tests.events import CE_TUNER, write_event

LINE = TUNER_FILE.count("\n") + 1


def warned(folder: Path, lines: str, text: str = TUNER_FILE) -> list[tuple[int | None, int, str]]:
    loaded = load_text(folder, text + lines)
    return [(w.line, w.column, w.expected.split(",")[0]) for w in loaded.warnings]


@pytest.mark.parametrize(
    ("lines", "line", "column", "expected"),
    [
        ("_scale = lambda f: round(f*5)", 0, 20, "math.floor(x + 0.5)"),
        ("def _scale(f):\n    return int(round(f*10))/2", 1, 16, "math.floor(x + 0.5)"),
        ("_x = round(2.5)", 0, 6, "math.floor(x + 0.5)"),
        ("_x = round(-0.5)", 0, 6, "math.floor(x + 0.5)"),
        ("_scale = lambda f: round(f*5, 1)", 0, 20, "math.floor(10 * x + 0.5) / 10"),
        ("_halves = [round(i/2.) for i in range(3)]", 0, 12, "math.floor(x + 0.5)"),
    ],
)
def test_round_of_what_may_be_a_half_is_a_warning_at_the_call(
    tmp_path: Path, lines: str, line: int, column: int, expected: str
) -> None:
    assert warned(tmp_path, lines + "\n") == [(LINE + line, column, expected)]


def test_game_that_gomill_does_not_know_is_of_python_3(tmp_path: Path) -> None:
    chess = TUNER_FILE + 'game = "chess"\n'
    assert warned(tmp_path, "_x = round(2.5)\n", chess) == []


def test_warning_about_round_gives_both_values(tmp_path: Path) -> None:
    (warning,) = load_text(tmp_path, TUNER_FILE + "_s = lambda f: round(f*5)\n").warnings
    assert str(warning) == (
        f"{tmp_path / 'tune.ctl'}:{LINE}:16: warning: halves are rounded to the even digit: "
        "round(2.5) is 2; in Python 2 it was 3.0, and so in Gomill; expected "
        "math.floor(x + 0.5), or math.ceil(x - 0.5) for x below 0\n"
        f"   {LINE} | _s = lambda f: round(f*5)\n"
        "      |                ^^^^^^^^^^"
    )


@pytest.mark.parametrize(
    "lines",
    [
        "_x = round(3)\n_y = round(2.7)\n_z = round(-1.25)",
        "_x = 7 / 2\n_y = int(7 / 2)",
        "def round(x): return int(x)\n_x = round(2.5)",
        "from math import floor as round\n_x = round(2.5)",
        "def _f(x): return obj.round(x)",
        "_x = round(2.5)\n_text = f'{_x}'",
        "def _f(x: float): return round(x)",
        "def _f(x, *, y): return round(x)",
    ],
)
def test_no_warning_where_python_2_gave_the_same_or_could_not_read_the_file(
    tmp_path: Path, lines: str
) -> None:
    assert warned(tmp_path, lines + "\n") == []


def test_no_warning_in_a_competition_type_that_gomill_has_not(tmp_path: Path) -> None:
    text = (
        'competition_type = "spsa"\ngame = "chess"\nplayers = {"e": Player("e")}\nplayer = "e"\n'
        'parameters = [Parameter("a", option="A", start=1, min=0, max=9)]\n'
        "number_of_games = round(2.5) * 10\n"
    )
    (tmp_path / "tune.ctl").write_text(text.replace('Player("e")', 'Player("e", nodes=1)'))
    assert Event(tmp_path / "tune.ctl").loaded.warnings == []


def test_samples_of_a_ce_tuner_are_no_halves(tmp_path: Path) -> None:
    control = write_event(tmp_path, CE_TUNER, 100)
    assert "round(f)" in control.read_text()
    assert Event(control).loaded.warnings == []


MODULE = """
import math
half = 7 / 2
whole = 7 // 2
fraction = 7 / 2.0
share = float(half) / 2
root = math.sqrt(9) / 2
def part(n):
    n /= 2
    return n / len("ab") + (1.0 * n) / 3
def near(x):
    return round(x)
"""


def test_division_and_round_in_a_module_beside_the_file_are_warnings(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text(MODULE)
    loaded = load_text(tmp_path, PLAYOFF_FILE + "import helpers\n")
    places = [(Path(w.path).name, w.line, w.column) for w in loaded.warnings]
    assert sorted(places) == [
        ("helpers.py", 3, 8),
        ("helpers.py", 9, 5),
        ("helpers.py", 10, 12),
        ("helpers.py", 12, 12),
    ]
    assert "/ gives a fraction: 7 / 2 is 3.5; in a module of Python 2 it was 3" in str(
        next(w for w in loaded.warnings if w.line == 3)
    )


@pytest.mark.parametrize("first", ["from __future__ import division", "part: int = 3"])
def test_module_that_divides_truly_or_is_python_3_has_no_warning(
    tmp_path: Path, first: str
) -> None:
    (tmp_path / "helpers.py").write_text(f"{first}\nhalf = 7 / 2\n")
    assert load_text(tmp_path, PLAYOFF_FILE + "import helpers\n").warnings == []
