"""Python 2 in control files: errors, values, and modules beside the file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ringmaster.control.loader import ControlFile, load
from ringmaster.control.source import ControlFileProblems, Diagnostic
from ringmaster.errors import SettingError
from ringmaster.loaded_competition import LoadedCompetition
from tests.control.samples import PLAYOFF_FILE, TABLES, TUNER_FILE, load_text
from tests.program import CE_TUNER, write_control_file

HEAD = "competition_type = 'playoff'\n"
PLAYERS = "players = {'a': Player('a'), 'b': Player('b')}\n"
MATCHUPS = "matchups = [Matchup('a', 'b')]\n"
GOOD = HEAD + PLAYERS + MATCHUPS


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load_here(text: str | bytes) -> ControlFile:
    Path("tune.ctl").write_bytes(text.encode() if isinstance(text, str) else text)
    return load("tune.ctl", TABLES.get, list(TABLES))


def problem(text: str | bytes) -> Diagnostic:
    with pytest.raises(ControlFileProblems) as caught:
        load_here(text)
    (one, *_) = caught.value.diagnostics
    return one


EXCEPT = "try:\n  x = 1\nexcept {}:\n  pass"
PYTHON_3_14 = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="Python 3.14 reads a comma as between two exceptions"
)


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("print 'hello'", 1, "brackets: print(…)"),
        ("if 1:\n    print players,  # all", 2, "brackets: print(…)"),
        ("exec 'x = 1' in {}", 1, "exec(…)"),
        ("x = `3 + 4`", 1, "repr(…)"),
        pytest.param(EXCEPT.format("ValueError, e"), 3, "as error", marks=PYTHON_3_14),
        pytest.param(EXCEPT.format("(A, B), e"), 3, "(A, B) as error", marks=PYTHON_3_14),
        ("path = 'C:\\Users\\me'", 1, "r before the quotes"),
    ],
)  # fmt: skip
def test_python_3_is_proposed_for_syntax_of_python_2(text: str, line: int, expected: str) -> None:
    one = problem(GOOD + text + "\n")
    assert one.line == line + 3
    assert expected in one.expected


@pytest.mark.parametrize("text", ["x = (1", "x = 'print 3", "x = = 1  # `3`", "print ('a', 3"])
def test_other_syntax_errors_are_not_called_python_2(text: str) -> None:
    assert problem(GOOD + text + "\n").expected == ""


D = "d = {'a': 1}\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("x = [i for i in xrange(3)]", 1, 17, "range (xrange is Python 2)"),
        ("x = isinstance('a', unicode)", 1, 21, "str (unicode is Python 2)"),
        ("execfile('a')", 1, 1, "exec(open(name).read()) (execfile is Python 2)"),
        (D + "for k, v in d.iteritems(): pass", 2, 13, ".items() (iteritems is Python 2)"),
        (D + "x = d.has_key('a')", 2, 5, "`key in dictionary` (has_key is Python 2)"),
        ("from gomill.settings import Player", 1, 1,
         "no import: Player, Matchup and the other calls are predefined (gomill is Python 2)"),
    ],
)  # fmt: skip
def test_python_3_is_proposed_for_names_of_python_2(
    text: str, line: int, column: int, expected: str
) -> None:
    one = problem(GOOD + text + "\n")
    assert (one.line, one.column, one.expected) == (line + 3, column, expected)


@pytest.mark.parametrize("text", ["raise KeyError('xrange')", "'a'.iteritems()", "import no_such"])
def test_other_errors_are_not_called_python_2(text: str) -> None:
    assert problem(GOOD + text + "\n").expected == ""


def test_similar_names_of_the_file_are_proposed_too() -> None:
    assert problem(GOOD + "files = 1\nx = file\n").expected == "open (file is Python 2) or 'files'"
    assert problem(GOOD + "x = player\n").expected == "'players' or 'Player'"


def test_function_that_fails_later_is_shown_at_its_line() -> None:
    text = TUNER_FILE.replace("    return engine(\n", "    xs = xrange(3)\n    return engine(\n")
    loaded = load_here(text)
    try:
        loaded.namespace["make_candidate"](1, 2)
    except NameError as error:
        failure = SettingError(("make_candidate",), "it raised NameError: xrange")
        failure.__cause__ = error
    (one,) = loaded.error([failure]).diagnostics
    assert one.source_line == "    xs = xrange(3)"
    assert one.column == 10
    assert one.expected == "range (xrange is Python 2)"
    assert one.setting == "make_candidate"


def test_true_division_is_that_of_gomill() -> None:
    future = "from __future__ import division, print_function\n"
    loaded = load_here(future + GOOD + "komi = 13 / 2\n")
    assert loaded.values["komi"] == 6.5
    assert loaded.warnings == []


def test_file_must_be_saved_as_utf8() -> None:
    latin = GOOD + "description = 'caf\xe9'\n"
    one = problem(latin.encode("latin-1"))
    assert (one.line, one.column, one.expected) == (4, 19, "a file saved as UTF-8")
    one = problem(("# -*- coding: latin-1 -*-\n" + latin).encode("latin-1"))
    assert one.expected == "a file saved as UTF-8 without the line that says latin-1"
    loaded = load_here("# -*- coding: latin-1 -*-\n" + latin)
    assert loaded.values["description"] == "café"


@pytest.mark.parametrize(
    ("setting", "column"),
    [
        ("description = 'x'.encode('utf-8')", 15),
        ("players['c'] = Player(b'engine')", 23),
        ("matchups = [Matchup('a', 'b', scorer=b'players')]", 38),
    ],
)
def test_bytes_in_place_of_text_are_refused_at_their_place(setting: str, column: int) -> None:
    one = problem(GOOD + setting + "\n")
    assert (one.line, one.column) == (4, column)


# Modules beside the control file


def test_sibling_module_is_imported_and_then_forgotten() -> None:
    Path("engines_here.py").write_text("import more_here\nNAME = more_here.NAME\n")
    Path("more_here.py").write_text("NAME = 'x'\ndef name(): return NAME\n")
    before = list(sys.path)
    text = HEAD + "import engines_here, more_here\nname = more_here.name\n"
    text += "players = {'a': Player(engines_here.NAME)}\nmatchups = []\n"
    loaded = load_here(text)
    assert loaded.values["players"]["a"]["command"] == ("x",)
    assert sys.path == before
    assert not {"engines_here", "more_here"} & set(sys.modules)
    assert loaded.namespace["name"]() == "x"
    assert sorted(os.listdir()) == ["engines_here.py", "more_here.py", "tune.ctl"]
    Path("more_here.py").write_text("NAME = 'y'\ndef name(): return NAME\n")
    assert load_here(text).values["players"]["a"]["command"] == ("y",)


def test_sibling_module_must_be_imported_at_the_top() -> None:
    Path("late_here.py").write_text("x = 1\n")
    loaded = load_here(GOOD + "def f():\n    import late_here\n")
    failure = SettingError(("players",), "it raised an error")
    with pytest.raises(ImportError) as caught:
        loaded.namespace["f"]()
    failure.__cause__ = caught.value
    (one,) = loaded.error([failure]).diagnostics
    assert one.expected == "`import late_here` at the top of the control file, not in a function"


def test_sibling_module_hides_no_other() -> None:
    for name in ("colorsys", "chess", "random"):
        Path(f"{name}.py").write_text("raise SystemError('the wrong one')\n")
    loaded = load_here(HEAD + "import colorsys, chess, random\n" + PLAYERS + MATCHUPS)
    assert hasattr(loaded.namespace["chess"], "Board")


def test_folder_is_searched_only_for_an_imported_sibling() -> None:
    Path("engines_here.py").write_text("")
    loaded = load_here(GOOD + "import sys\n_path = list(sys.path)\n")
    assert os.getcwd() not in loaded.namespace["_path"]


def test_error_in_a_sibling_module_is_shown_at_its_import() -> None:
    Path("engines_here.py").write_text("x = 1\nprint 'hello'\n")
    before = list(sys.path)
    one = problem(HEAD + "from engines_here import x\n" + PLAYERS)
    assert (one.line, one.column) == (2, 1)
    assert "engines_here.py, line 2" in one.message
    assert sys.path == before


# Values that Python 3 has changed

LINE = TUNER_FILE.count("\n") + 1


def test_round_is_a_warning_at_the_call(tmp_path: Path) -> None:
    text = TUNER_FILE + "_s = lambda f: round(f*5)\ndef _t(f):\n    return int(round(f, 1)) / 2\n"
    first, second = load_text(tmp_path, text).warnings
    assert str(first) == (
        f"{tmp_path / 'tune.ctl'}:{LINE}:16: warning: halves are rounded to the even digit: "
        "round(2.5) is 2; in Python 2 it was 3.0, and so in Gomill; expected "
        "math.floor(x + 0.5), or math.ceil(x - 0.5) for x below 0\n"
        f"   {LINE} | _s = lambda f: round(f*5)\n"
        "      |                ^^^^^^^^^^"
    )
    assert (second.line, second.column, second.expected) == (LINE + 2, 16, "")


@pytest.mark.parametrize(
    "lines",
    [
        "_x = 7 / 2\n_y = int(7 / 2)",
        "def round(x): return int(x)\n_x = round(2.5)",
        "from math import floor as round\n_x = round(2.5)",
        "def _f(x): return obj.round(x)",
        "_x = round(2.5)\n_text = f'{_x}'",
        "def _f(x: float): return round(x)",
        "def _f(x, *, y): return round(x)",
        "game = 'chess'\n_x = game, round(2.5)",
    ],
)
def test_no_warning_where_python_2_gave_the_same_or_could_not_read_the_file(
    tmp_path: Path, lines: str
) -> None:
    assert load_text(tmp_path, f"{TUNER_FILE}{lines}\n").warnings == []


def test_no_warning_in_a_competition_type_that_gomill_has_not() -> None:
    Path("tune.ctl").write_text(PLAYOFF_FILE.replace("'playoff'", "'spsa'") + "_x = round(2.5)\n")
    assert load("tune.ctl", {"spsa": TABLES["playoff"]}.get, ["spsa"]).warnings == []


def test_samples_of_a_ce_tuner_are_no_halves(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, CE_TUNER, 100)
    assert "round(f)" in control.read_text()
    assert LoadedCompetition(control).control_file.warnings == []


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
