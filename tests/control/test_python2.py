"""Python 2 in control files: errors, values, and modules beside the file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.control.loader import ControlFile, load
from ringmaster.control.python2 import remedy
from ringmaster.control.python2_values import formatted_bytes
from ringmaster.control.source import ControlFileProblems, Diagnostic
from ringmaster.errors import SettingError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.settings import Call, Function
from tests.control.samples import PLAYER, PLAYOFF_FILE, TABLES, TUNER_FILE, load_text
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


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("print 'hello'", 1, 1, "print('hello') (the print statement is Python 2)"),
        ('print"hello %d" % 3 ; x = 1', 1, 1, 'print("hello %d" % 3) (the print'),
        ("if 1:\n    print players,  # all", 2, 5, "print(players, end=' ') (the print"),
        ("def f():\n  print 1\nprint 2\n\tprint  x\n# print 3\ns='print 4'", 2, 3,
         "print(1) (the print statement is Python 2; 2 more lines of the file look the same)"),
        ("print 1\nprint 2", 1, 1, "; 1 more line of the file looks the same)"),
        ("x = `3 + 4`", 1, 5, "repr(3 + 4) (`…` is Python 2)"),
        ("é = 0777", 1, 5, "0o777 (an octal number"),
        ("x = 10L * 3", 1, 5, "10 (a long number"),
        ("x = 0xFFl", 1, 5, "0xFF (a long"),
        ("try:\n  x = 1\nexcept ValueError, e:\n  pass", 3, 1, "except ValueError as e (a comma"),
        ("try:\n  x = 1\nexcept (IOError, OSError), why:\n  pass", 3, 1,
         "except (IOError, OSError) as why"),
        ("def f():\n    raise ValueError, 'no: %d' % 3", 2, 5,
         "raise ValueError('no: %d' % 3) (a comma after raise"),
        ("exec 'x = 1' in {}", 1, 1, "exec('x = 1', {})"),
        ("exec 'x = 1 in y'", 1, 1, "exec('x = 1 in y') ("),
        ("raise ValueError, 'no', tb", 1, 1, "raise ValueError('no').with_traceback(tb)"),
        ("x = 1 <> 2", 1, 7, "!= (the operator <>"),
        (r"x = ur'\d'", 1, 5, "r before the quotes (a raw unicode string"),
        ("def f(a, (b, c)):\n  pass", 1, 1, "one name, to be unpacked in the function"),
        ('print "%d %d" % (1,\n  2)\nx = 1', 1, 1, "print(…), the brackets around all of it ("),
        ('print "%d" % \\\n  2\nx = 1', 1, 1, "print(…), the brackets around all of it ("),
        ('print """a\nb"""', 1, 1, "print(…), the brackets around all of it ("),
        ("if 1:\n\tx = 1\n        y = 2", 3, 1, "spaces only"),
        ("path = 'C:\\Users\\me'", 1, None, "r before the quotes, or \\\\ for each backslash"),
    ],
)  # fmt: skip
def test_python_3_is_proposed_for_syntax_of_python_2(
    text: str, line: int, column: int | None, expected: str
) -> None:
    one = problem(GOOD + text + "\n")
    assert one.line == line + 3
    assert column is None or one.column == column
    assert expected in one.expected
    assert "Error: " in one.message
    assert "^" in str(one)


@pytest.mark.parametrize(
    "text",
    [
        "x = (1",
        "x = 'print 3",
        "x = = 1  # print 3",
        "def f(a):\nreturn `1",
        "x = 1 2",
        "x = 08.5.1",
        "print ('level', 3",
        "exec ('x = 1'",
        "try:\n  x = 1\nexcept IOError, OSError, KeyError:\n  pass",
    ],
)
def test_other_syntax_errors_are_not_called_python_2(text: str) -> None:
    assert "Python 2" not in problem(GOOD + text + "\n").expected


D = "d = {'a': 1}\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("x = [i for i in xrange(3)]", 1, 17, "range (xrange is Python 2)"),
        ("x = isinstance('a', basestring)", 1, 21, "str (basestring is"),
        ("x = reduce(max, [1])", 1, 5, "functools.reduce, after `import functools`"),
        ("execfile('a')", 1, 1, "exec(open(name).read())"),
        ("x = cmp(1, 2)", 1, 5, "(a > b) - (a < b)"),
        ("x = izip([], [])", 1, 5, "zip, which needs no import"),
        ("try: pass\nexcept: pass\nraise StandardError", 3, 7, "Exception (StandardError"),
        (D + "for k, v in d.iteritems(): pass", 2, 13, ".items() (iteritems is Python 2)"),
        (D + "x = d.has_key('a')", 2, 5, "`key in dictionary` (has_key"),
        (D + "x = d.keys()[0]", 2, 5, "list(dictionary)"),
        (D + "x = d.values() + [1]", 2, 5, "list(dictionary.values())"),
        (D + "x = [1] + d.items()", 2, 5, "list(dictionary.items())"),
        (D + "d.keys().sort()", 2, 1, "sorted(list(dictionary))"),
        ("x = map(str, [1])[0]", 1, 5, "list(map(…))"),
        ("x = range(3) + [3]", 1, 5, "list(range(…))"),
        ("x = range(3)\nx[0] = 5", 2, 1, "list(range(…))"),
        ("x = range(3)\nx.append(5)", 2, 1, "list(range(…)).append"),
        ("x = sorted([1], cmp=max)", 1, 5, "key=functools.cmp_to_key(…)"),
        ("x = sorted([1], max)", 1, 5, "key=functools.cmp_to_key(…)"),
        ("x = [1]\nx.sort(lambda a, b: b - a)", 2, 1, "key=functools.cmp_to_key(…)"),
        ("import string\nx = string.letters", 2, 5, "string.ascii_letters (letters is"),
        ("import string\nx = string.join(['a'], ' ')", 2, 5, "' '.join(words)"),
        ("import itertools\nx = itertools.izip([], [])", 2, 5, "zip, which needs no import"),
        ("from itertools import imap", 1, 1, "map, which needs no import (imap"),
        ("import ConfigParser", 1, 1, "configparser (ConfigParser is Python 2)"),
        ("from StringIO import StringIO", 1, 1, "io (StringIO"),
        ("import urllib2", 1, 1, "urllib.request"),
        ("from sets import Set", 1, 1, "set, which needs no import"),
        ("from gomill.settings import Player", 1, 1, "no import: Player, Matchup"),
        ("import sys\nprint >>sys.stderr, 'x'", 2, 1, "print(…, file=…)"),
        ("print ('%d') % 3", 1, 1, "the % inside the brackets"),
        ("raise 'wrong'", 1, 1, "an exception such as ValueError('…')"),
        ("print -1", 1, 1, "print(-…): print is a function"),
        ("print ('a') + 'b'", 1, 1, "the + inside the brackets of print(…)"),
        ("x = 'a'.decode('utf-8')", 1, 5, "no decoding: a string is text already"),
        ("x = 'a' + 'b'.encode('utf-8')", 1, 5, "text: files opened without 'b'"),
        ("open('f', 'w').write('b')\nx = 'a' + open('f', 'rb').read()", 2, 5, "text: files opened"),
        ("x = ','.join([b'a'])", 1, 5, "text: files opened"),
        ("x = iter([1]).next()", 1, 5, "next(…), a function"),
        ("x = range(5 / 2)", 1, 5, "a // b or int(…)"),
        ("x = [1, 2][4 / 2]", 1, 5, "a // b or int(…)"),
        ("x = sorted([1, 'a'])", 1, 5, "values of one type"),
        ("import sys\nx = sys.maxint", 2, 5, "sys.maxsize"),
        (D + "for k in d.keys():\n    d[k + 'x'] = 1", 2, None, "list(dictionary)"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_python_3_is_proposed_for_code_of_python_2(
    text: str, line: int, column: int | None, expected: str
) -> None:
    one = problem(GOOD + text + "\n")
    assert one.line == line + 3
    assert column is None or one.column == column
    assert expected in one.expected
    assert one.source_line == (GOOD + text).splitlines()[line + 2]


@pytest.mark.parametrize(
    "text",
    [
        "raise TypeError('komi in kilobytes?')",
        "raise TypeError('bytes?')",
        "x = sorted()",
        "def f(): pass\nx = f() % 3",
        "x = abs - 1",
        "raise TypeError('sort() takes no positional arguments')",
    ],
)
def test_other_errors_are_not_called_python_2(text: str) -> None:
    assert problem(GOOD + text + "\n").expected == ""


def test_class_of_an_exception_is_proposed_for_another_object() -> None:
    assert problem(GOOD + "raise 3\n").expected == "an exception such as ValueError('…')"


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
    (one,) = loaded.error([failure]).diagnostics  # type: ignore[attr-defined]
    assert one.source_line == "    xs = xrange(3)"
    assert one.column == 10
    assert one.expected == "range (xrange is Python 2)"
    assert one.setting == "make_candidate"


def test_true_division_is_that_of_gomill() -> None:
    future = "from __future__ import division, print_function\n"
    loaded = load_here(future + GOOD + "komi = 13 / 2\n")
    assert loaded.values["komi"] == 6.5
    assert loaded.warnings == []


@pytest.mark.parametrize(
    ("cookie", "line", "expected"),
    [
        ("", 4, "a file saved as UTF-8"),
        ("# -*- coding: latin-1 -*-\n", 5, "without the line that says latin-1"),
        ("#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n", 6, "that says cp1252"),
    ],
)
def test_file_must_be_saved_as_utf8(cookie: str, line: int, expected: str) -> None:
    one = problem((cookie + GOOD + "description = 'caf\xe9'\n").encode("latin-1"))
    assert (one.line, one.column) == (line, 19)
    assert expected in one.expected


def test_cookie_of_a_file_that_is_utf8_means_nothing() -> None:
    loaded = load_here("# -*- coding: latin-1 -*-\n" + GOOD + "description = 'café'\n")
    assert loaded.values["description"] == "café"


@pytest.mark.parametrize(
    ("setting", "column"),
    [
        ("description = 'x'.encode('utf-8')", 15),
        ("players['c'] = Player(b'engine')", 23),
        ("players['c'] = Player('x', options={'a': b'1'})", 42),
        ("players['c'] = Player('x', cwd=b'/')", 32),
        ("matchups = [Matchup('a', b'b')]", 26),
        ("matchups = [Matchup('a', 'b', scorer=b'players')]", 38),
    ],
)
def test_bytes_in_place_of_text_are_refused_at_their_place(setting: str, column: int) -> None:
    one = problem(GOOD + setting + "\n")
    assert (one.line, one.column) == (4, column)


def test_bytes_in_a_string_are_warned_of() -> None:
    loaded = load_here(GOOD + "players['c'] = Player('engine --level=%s' % b'3')\n")
    (warning,) = loaded.warnings
    assert (warning.line, warning.column, warning.severity) == (4, 23, "warning")
    assert "contains b'…'" in warning.message
    assert load_here(GOOD + "description = \"Bob's 'b' b''s\"\n").warnings == []


def test_program_with_bytes_in_it_is_not_warned_of() -> None:
    for command in ("['python', '-c', \"print(b'x')\"]", "'python -c \"print(b\\'x\\')\"'"):
        loaded = load_here(GOOD + f"players['c'] = Player({command})\n")
        assert loaded.warnings == [], command


def test_bytes_in_a_returned_value_are_warned_of_once() -> None:
    text = TUNER_FILE + "def make_candidate(a, b):\n    return Player('x --n=%s' % b'3')\n"
    table = tuple(
        msgspec.structs.replace(s, type=Function(result=PLAYER))
        if s.name == "make_candidate"
        else s
        for s in TABLES["mc_tuner"]
    )
    Path("tune.ctl").write_text(text)
    loaded = load("tune.ctl", {"mc_tuner": table}.get, ["mc_tuner"])
    assert loaded.warnings == []
    for _ in range(2):
        loaded.values["make_candidate"](1, 2)
    (warning,) = loaded.warnings
    assert warning.setting == "make_candidate"
    assert "contains b'…'" in warning.message


@given(
    st.recursive(st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v))
)
def test_place_of_formatted_bytes_leads_to_them(value: Any) -> None:
    call = Call("Player", (value, b"x"), {"x": [value, str(b"7")]})
    for path in formatted_bytes({"a": call}, ("s",)):
        part: Any = {"a": call}
        for key in path[1:]:
            if isinstance(part, Call):
                part = part.args[key] if isinstance(key, int) else part.kwargs[key]
            else:
                part = part[key]
        assert "b'" in part or 'b"' in part
    assert ("s", "a", "x", 1) in formatted_bytes({"a": call}, ("s",))


@pytest.mark.parametrize(
    "given_list",
    [
        "{'a': 1, 'b': 2}.keys()",
        "map(str, ['a', 'b'])",
        "filter(None, ['a', 'b'])",
        "(c for c in 'ab')",
        "['a', 'b']",
    ],
)
def test_iterators_that_were_lists_are_accepted_as_lists(given_list: str) -> None:
    text = f"players['c'] = Player('x', startup_gtp_commands={given_list})\n"
    loaded = load_here(GOOD + text)
    assert loaded.values["players"]["c"]["startup_gtp_commands"] == (("a",), ("b",))


@pytest.mark.parametrize(
    ("given_list", "message"),
    [
        ("'ab'", "is not a list"),
        ("{'a': 1}", "is not a list"),
        ("{'a', 'b'}", "is not a list"),
        ("(x for x in [1/0])", "ZeroDivisionError"),
        ("(1/x for x in [0])", "its iteration raised ZeroDivisionError: division by zero"),
        ("__import__('itertools').count()", "is not a list"),
        ("(x for x in iter(int, 1))", "items without end"),
    ],
)
def test_other_values_than_lists_are_refused(given_list: str, message: str) -> None:
    text = f"players['c'] = Player('x', startup_gtp_commands={given_list})\n"
    assert message in problem(GOOD + text).message


def test_errors_of_python_3_have_no_remedy() -> None:
    assert remedy(ValueError("bytes")) == ""
    assert remedy(TypeError("f() missing 1 required positional argument: 'x'")) == ""
    assert remedy(KeyError("xrange")) == ""
    assert remedy(AttributeError("no", name="append", obj={})) == ""


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
    loaded = load_here(GOOD + "def f():\n    import late_here\ndef g():\n    import not_here\n")
    with pytest.raises(ImportError) as caught:
        loaded.namespace["f"]()
    assert remedy(caught.value).startswith("`import late_here` at the top of the control file")
    with pytest.raises(ImportError) as caught:
        loaded.namespace["g"]()
    assert remedy(caught.value) == ""


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
def test_round_of_a_possible_half_is_a_warning_at_the_call(
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
    assert LoadedCompetition(tmp_path / "tune.ctl").control_file.warnings == []


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
