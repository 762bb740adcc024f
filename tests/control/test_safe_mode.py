"""Safe mode: what it refuses, its bounds, and what it does without CPython's compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.control.loader import MOST_CHARACTERS
from ringmaster.control.source import ControlFileProblems
from ringmaster.errors import ControlFileError, SafeModeError
from ringmaster.loaded_competition import LoadedCompetition
from tests.control.escapes import HEAD, LONG, escapes, load_safely
from tests.program import PLAYOFF, environment, write_control_file


def values(folder: Path, text: str) -> dict[str, Any]:
    """Return the names of a control file that ends with `text`."""
    return load_safely(folder, f"{HEAD}{text}\n").control_file.namespace


def problem(folder: Path, text: str) -> str:
    """Return the place and the message of the refusal of a control file."""
    with pytest.raises(ControlFileProblems) as caught:
        load_safely(folder, f"{HEAD}{text}\n")
    diagnostic = caught.value.diagnostics[0]
    return (
        f"{(diagnostic.line or 0) - HEAD.count(chr(10))}:{diagnostic.column}: {diagnostic.message}"
    )


TUNER = """competition_type = "ce_tuner"
players = {"other": Player("engine")}
opponent = "other"
candidate_colour = "w"
board_size = 9
komi = 7.5
number_of_generations = 2
samples_per_generation = 10
batch_size = 2
elite_proportion = 0.2
step_size = 0.5
def power(x):
    return 10.0**x
def make_candidate(value):
    return Player(["engine", str(value)])
parameters = [Parameter("x", initial_mean=0.0, initial_variance=1.0, transform=power)]
"""

#: Parts of names of escapes that take the time that safe mode gives.
_LONGEST = ("while", "for ", "range")


def is_long(name: str) -> bool:
    return name in LONG or any(part in name for part in _LONGEST)


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if is_long(n) else []) for n in escapes()],
)
def test_escape_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    started = time.thread_time()
    with pytest.raises(ControlFileError) as caught:
        load_safely(tmp_path, escapes()[name])
    assert time.thread_time() - started < 4.0  # a second, on a machine with time
    assert isinstance(caught.value, ControlFileProblems)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.line is not None
    assert diagnostic.severity == "error"


_CORPUS = """
import resource, sys, pathlib
from ringmaster.errors import ControlFileError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.loaded_competition import LoadedCompetition
from tests.control.escapes import HEAD, LONG, escapes, load_safely
control = pathlib.Path(sys.argv[1]) / "x.ctl"
control.write_text(HEAD)
LoadedCompetition(control, safe=True)
used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 200 * 2**20,) * 2)
for name, text in escapes().items():
    control.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        LoadedCompetition(control, safe=True)
    except ControlFileError as error:
        if "MemoryError" in str(error):
            print(name)
    else:
        print(name)
"""


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is measured on Linux")
def test_no_escape_takes_200_megabytes(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CORPUS, str(tmp_path)],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""


_AUDITED = """
import sys
events, verb = [], ""
def hook(event, args):
    text = str(args)
    if event in ("compile", "exec") and ("duel(" in text or "event.ctl" in text):
        events.append((verb, event, args))
    if verb != "run" and event in ("subprocess.Popen", "os.system", "os.posix_spawn", "os.fork"):
        events.append((verb, event, args))
sys.addaudithook(hook)
from ringmaster.cli import run
for verb in ("show", "run", "show", "diff", "report", "plot", "export", "run"):
    assert run([sys.argv[1], verb, "--safe"]) == 0, verb
print(events, file=open(sys.argv[2], "w"))
"""


@pytest.mark.slow
@pytest.mark.process
def test_cpython_does_not_compile_a_file_in_safe_mode(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2)
    done = subprocess.run(
        [sys.executable, "-c", _AUDITED, str(control), str(tmp_path / "events")],
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "events").read_text() == "[]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = ().__class__", "2:5: .__class__ is not allowed in safe mode"),
        ("import os", "1:1: import os is not allowed in safe mode"),
        ("x = [1, open('f')]", "1:9: open is not allowed in safe mode"),
        ("x = [\n  9**9**9]", "2:3: an integer of more than 4096 bits in safe mode"),
        ("class A:\n    pass", "1:1: class is not allowed in safe mode"),
        ("x = 'é' + nome", "1:11: NameError: name 'nome' is not defined"),
        ("def f(x):\n    return 1 / x\nf(0)", "2:12: ZeroDivisionError: division by zero"),
        ("x = y y", "1:7: SyntaxError: invalid syntax"),
        ("x = f'{a.b}'", "1:8: NameError: name 'a' is not defined"),
        ("def f(b,\n      a=nome): pass", "2:9: NameError: name 'nome' is not defined"),
        ("match 1:\n    case 1: pass", "1:1: this is not allowed in safe mode"),
        ("return 1", "1:1: SyntaxError: 'return' outside function"),
        ("x = [b'b']", "1:6: bytes is not allowed in safe mode"),
        ("x = 1\ny = []\ny.append(y)", "2:1: lists are nested too deeply for safe mode"),
        ("print(1)", "1:1: print is not allowed in safe mode"),
    ],
)
def test_refusal_names_its_place(text: str, message: str, tmp_path: Path) -> None:
    assert problem(tmp_path, text) == message


def is_wrong_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "x.ctl", "exec")
        except SyntaxError:
            return True
        except (MemoryError, RecursionError, ValueError):
            return False
    return False


WRONG = {
    name: text
    for name, text in escapes().items()
    if is_wrong_python(text) and len(text) < MOST_CHARACTERS
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_python_is_refused_as_in_plain_mode(name: str, tmp_path: Path) -> None:
    control = tmp_path / "x.ctl"
    control.write_text(WRONG[name])
    with pytest.raises(ControlFileError) as plain:
        LoadedCompetition(control)
    with pytest.raises(ControlFileError) as safe:
        LoadedCompetition(control, safe=True)
    assert str(safe.value) == str(plain.value)


F_STRINGS = r"""
f'{1 != 2}'
f'{len([1])=}'
f'{{1}} {[*range(2)]!r:>{4 + 4}}'
f'{"a:b"}'
f'{(lambda y: y + 1)(2):.{2}f}' 'b' f'{1}'
f'{ {1: 2}[1] }'
rf'\d{1}'
f'\N{BULLET}{1}'
f'{"é":é>5}'
"""


@pytest.mark.parametrize("text", F_STRINGS.strip().split("\n"))
def test_f_string_has_the_text_of_python(text: str, tmp_path: Path) -> None:
    assert values(tmp_path, f"x = {text}")["x"] == eval(text)


def test_names_scopes_and_functions_are_those_of_python(tmp_path: Path) -> None:
    found = values(
        tmp_path,
        "import math as m\nfrom math import pi\nx = 3\n"
        "def outer(a, /, b=2, *rest, c=3, **named):\n"
        "    'A docstring.'\n"
        "    total = [a, b, c, rest, named]\n"
        "    def inner(y):\n        return y + x + b\n"
        "    return total, inner\n"
        "first, inner = outer(1, 5, 6, c=7, d=8)\n"
        "second = inner(1)\n"
        "squares = {n: n * n for n in range(3)}\n"
        "adders = [lambda y, n=n: y + n for n in range(2)]\n"
        "third = [f(1) for f in adders]\n"
        "fourth = '%s-%03d' % ('a', m.floor(pi)) + '{:>4}|{x!r}'.format(1, x='b')\n"
        "fifth = sorted(['b', 'A'], key=lambda t: t.lower()) + [*map(str, range(2))]\n",
    )
    assert found["first"] == [1, 5, 7, (6,), {"d": 8}]
    assert (found["second"], found["squares"]) == (9, {0: 0, 1: 1, 2: 4})
    assert found["third"] == [1, 2]
    assert found["fourth"] == "a-003   1|'b'"
    assert found["fifth"] == ["A", "b", "0", "1"]


def test_function_is_evaluated_within_bounds_when_it_is_called_later(tmp_path: Path) -> None:
    found = values(
        tmp_path,
        "known = []\ndef endless():\n    while True: pass\n"
        "def remember(x):\n    known.append(x)\n"
        "def count(n):\n    own = []\n    for i in range(n): own.append(i)\n    return len(own)\n"
        "def deep(n): return deep(n + 1)\n",
    )
    with pytest.raises(SafeModeError, match="steps"):
        found["endless"]()
    with pytest.raises(SafeModeError, match="cannot change a list"):
        found["remember"](1)
    with pytest.raises(SafeModeError, match="nested too deeply"):
        found["deep"](0)
    assert [found["count"](1000) for _ in range(50)] == [1000] * 50


def test_error_of_a_function_called_later_has_its_place(tmp_path: Path) -> None:
    text = TUNER.replace("return 10.0**x", "return 10.0 / 0")
    assert text != TUNER
    with pytest.raises(ControlFileProblems) as caught:
        load_safely(tmp_path, text)
    assert "ZeroDivisionError" in str(caught.value)
    line = caught.value.diagnostics[0].line
    assert line is not None
    assert text.split("\n")[line - 1] == "    return 10.0 / 0"


@settings(deadline=None, max_examples=50)
@given(st.text(st.sampled_from("ab=[]{}(),:'\"\n #\\\t+*.fx1 é\u00aa\f\ud800"), max_size=30))
def test_any_text_is_evaluated_or_refused(tmp_path_factory: Any, text: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    try:
        load_safely(folder, HEAD + text)
    except ControlFileError:
        pass
