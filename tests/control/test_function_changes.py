"""Functions of two control files: when they are the same, and what is said when
they are not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringmaster.control.function_changes import function_changes, not_compared
from ringmaster.control.source import Source
from ringmaster.model.canonical import canonical

FILE = '''
import functools
import math
from math import sqrt

FUEGO_MAX_GAMES = 5000
WEIGHTS = {"a": [1, 2.5]}

def fuego(max_games, commands=[]):
    """Make a Fuego."""
    # its settings
    return ["fuego", max_games, *commands]

def make(a, b):
    """Make a candidate."""
    return fuego(FUEGO_MAX_GAMES, ["set %f" % a, WEIGHTS["a"][0] * b])
'''


def namespace(text: str, file: str = "/nowhere/tune.ctl") -> dict[str, Any]:
    """Run a control file; functions keep their source."""
    source = Source("tune.ctl", Path(file), text)
    source.register()
    made: dict[str, Any] = {"__name__": "control_file", "__file__": file}
    exec(compile(text, file, "exec", dont_inherit=True), made)
    return made


def stored(text: str, name: str = "make") -> Any:
    """Return a function as a run stores it."""
    made = canonical(namespace(text)[name])
    assert json.loads(json.dumps(made)) == made
    return made


def told(before: str, now: str, name: str = "make") -> list[str]:
    return [change.what for change in function_changes(stored(before, name), stored(now, name))]


def edited(old: str, new: str) -> list[str]:
    assert old in FILE
    return told(FILE, FILE.replace(old, new))


def test_same_function_has_no_changes() -> None:
    assert told(FILE, FILE) == []


def test_layout_comments_and_docstrings_do_not_count() -> None:
    other = '''
import functools, math
from math import sqrt
WEIGHTS = dict(a=[1,
                  2.5])
FUEGO_MAX_GAMES = 4000 + 1000  # as before
UNUSED = 3

def make(a, b):

      """Another docstring."""

      return (fuego(FUEGO_MAX_GAMES, [ 'set ' '%f' % a,
           (WEIGHTS['a'][0]*b) ],))
def fuego(max_games,commands = [],): return [ "fuego",max_games,*commands ]
'''
    assert told(FILE, other) == []


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("GAMES = 5000", "GAMES = 1000", "FUEGO_MAX_GAMES 5000 → 1000"),
        ("GAMES = 5000", "GAMES = 5000.5", "FUEGO_MAX_GAMES 5000 → 5000.5"),
        ("GAMES = 5000", "GAMES = '5000'", "FUEGO_MAX_GAMES 5000 → '5000'"),
        ("2.5]", "3.5]", "WEIGHTS['a'][1] 2.5 → 3.5"),
        ('["fuego", max', '["Fuego", max', "the code of fuego has been changed"),
        ("[0] * b", "[0] + b", "its code has been changed"),
        ("WEIGHTS = {", "WEIGHTS = {'n': None, ", "WEIGHTS['n'] not given → None"),
    ],
)
def test_change_is_told_by_what_has_changed(old: str, new: str, what: str) -> None:
    assert edited(old, new) == [what]


def test_several_parts_are_told_together() -> None:
    now = FILE.replace("5000", "1000").replace("[0] * b", "[0]").replace('"fuego", ', "")
    assert told(FILE, now) == [
        "its code has been changed",
        "the code of fuego has been changed",
        "FUEGO_MAX_GAMES 5000 → 1000",
    ]


def test_changed_code_is_shown_as_a_short_diff() -> None:
    now = FILE.replace("[0] * b", "[0] + b")
    (change,) = function_changes(stored(FILE), stored(now))
    assert change.lines == (
        "-    return fuego(FUEGO_MAX_GAMES, ['set %f' % a, WEIGHTS['a'][0] * b])",
        "+    return fuego(FUEGO_MAX_GAMES, ['set %f' % a, WEIGHTS['a'][0] + b])",
    )
    long = "def make():\n" + "".join(f"    x{i} = 'VALUE'\n" for i in range(20))
    one, other = stored(long.replace("VALUE", "y" * 300)), stored(long)
    (change,) = function_changes(one, other)
    assert len(change.lines) == 7
    assert change.lines[-1] == "…"
    assert max(map(len, change.lines)) == 200


PARTS = """
import functools, math
from math import sqrt
N = 1
class Scale:
    factor = N * 2
    def __init__(self, x): self.x = x
    def __call__(self, v): return v * self.x + helper(v)
    def method(self, v): return v + self.x
def helper(v, k=N): return v * N
def around(n):
    def inner(v): return v + n
    return inner
def wrapping(f):
    @functools.wraps(f)
    def wrapper(*args): return f(*args)
    return wrapper
"""


CIRCLE = "def make(): return a()\ndef a(): return b()\ndef b(): return a() + N\n"
LOOP = "def make(): return [N for _ in 'x']"
DEFAULT = "def make({}n=N): return n"


@pytest.mark.parametrize(
    ("before", "now", "what"),
    [
        ("make, _ = lambda v: v + 1, lambda v: v + 2",) * 2 + ("",),
        (
            "make, _ = lambda v: v + 1, lambda v: v + 2",
            "_, make = lambda v: v + 1, lambda v: v + 2",
            "its code has been changed",
        ),
        (
            "make, _ = lambda: 1, lambda: 2",
            "_, make = lambda: 1, lambda: 2",
            "its code has been changed",
        ),
        ("make = lambda: 1; _ = 0", "make = lambda : (1)", ""),
        ("make = around(3)", "make = around(4)", "n 3 → 4"),
        ("make = around(N)", "N = 2; make = around(N)", "n 1 → 2"),
        ("p = functools.partial; make = p(helper, 1)", "make = functools.partial(helper, 1)", ""),
        (
            "make = functools.partial(helper, 1)",
            "make = functools.partial(helper, 2)",
            "args[0] 1 → 2",
        ),
        (
            "make = functools.partial(helper, k=1)",
            "make = functools.partial(helper, k=4)",
            "keywords['k'] 1 → 4",
        ),
        ("make = math.sqrt", "make = sqrt", ""),
        ("make = math.sqrt", "make = math.exp", "math.sqrt → math.exp"),
        ("make = math.sqrt", "make = helper", "math.sqrt → a function"),
        ("make = Scale(3)", "make = Scale(4)", "x 3 → 4"),
        ("make = Scale(3).method", "make = Scale(5).method", "of.x 3 → 5"),
        ("make = Scale(3)", "Scale.factor = 7; make = Scale(3)", "Scale.factor 2 → 7"),
        ("make = helper", "N = 2; make = helper", "N 1 → 2"),
        ("make = wrapping(helper)", "N = 2; make = wrapping(helper)", "N 1 → 2"),
        ("make = functools.cache(helper)", "N = 3; make = functools.cache(helper)", "N 1 → 3"),
        (
            "make = lambda: sqrt(2)",
            "from cmath import sqrt; make = lambda: sqrt(2)",
            "sqrt math.sqrt → cmath.sqrt",
        ),
        (LOOP, "N = 9\n" + LOOP, "N 1 → 9"),
        (DEFAULT.format(""), "N = 5\n" + DEFAULT.format(""), "default of n 1 → 5"),
        (DEFAULT.format("*, "), "N = 5\n" + DEFAULT.format("*, "), "default of n 1 → 5"),
        ("def make(): return make", "def make(): return (make)", ""),
        (CIRCLE, CIRCLE + "N = 2", "N 1 → 2"),
    ],
)
def test_every_kind_of_callable_is_followed(before: str, now: str, what: str) -> None:
    assert "; ".join(told(PARTS + before, PARTS + now)) == what


def test_numpy_is_understood() -> None:
    text = "import numpy as np\nA = np.{}\nU = np.{}\ndef make(x): return U(x) * A"
    assert told(text.format("int64(3)", "sqrt"), text.format("int8(3)", "sqrt")) == []
    assert told(text.format("int64(3)", "sqrt"), text.format("int64(4)", "sqrt")) == ["A 3 → 4"]
    assert len(told(text.format("zeros(3)", "sqrt"), text.format("ones(3)", "sqrt"))) == 1
    assert told(text.format("zeros(3)", "sqrt"), text.format("zeros(3)", "sqrt")) == []
    assert len(told(text.format("pi", "sqrt"), text.format("pi", "exp"))) >= 1
    assert canonical([np.float64(0.5), np.int8(2), np.bool_(True)]) == [0.5, 2, True]


def test_large_values_are_told_apart_by_their_hash() -> None:
    text = "TABLE = [{} for _ in range(100_000)]\ndef make(): return TABLE"
    one = stored(text.format(1))
    assert len(json.dumps(one)) < 1000
    assert told(text.format(1), text.format(1)) == []
    assert len(told(text.format(1), text.format(2))) == 1


def test_values_that_go_in_circles_or_too_deep_are_stored() -> None:
    assert told(*["L = []\nL.append(L)\ndef make(): return L"] * 2) == []
    deep = "L = []\nfor _ in range(100_000): L = [L]\ndef make(): return L"
    assert json.dumps(canonical(namespace(deep)["make"]))


def test_function_without_source_is_called_so() -> None:
    one = stored("make = eval('lambda x: x + 1')")
    assert list(not_compared({"make": one, "others": [stored(FILE)]})) == [
        "function <lambda> cannot be compared with the last run: it has no source"
    ]
    assert told("make = eval('lambda x: x + 1')", "make = eval('lambda x: x + 2')") == []


def test_helper_module_beside_the_control_file_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    text = (
        "import helper_of_a_tune\nfrom helper_of_a_tune import build\n"
        "def make(): return build(helper_of_a_tune.SIZE)"
    )

    def now(module: str) -> Any:
        import linecache

        sys.modules.pop("helper_of_a_tune", None)
        (tmp_path / "helper_of_a_tune.py").write_text(module)
        sys.path_importer_cache.clear()
        linecache.clearcache()
        for old in (tmp_path / "__pycache__").glob("*"):
            old.unlink()
        return stored(text)

    try:
        one = now("SIZE = 3\nK = 1\ndef build(n): return n * K  # note\n")
        assert function_changes(one, now("SIZE=3\nK=1\ndef build(n): return (n*K)\n")) == []
        other = now("SIZE = 4\nK = 2\ndef build(n): return n + K\n")
    finally:
        sys.modules.pop("helper_of_a_tune", None)
    assert [c.what for c in function_changes(one, other)] == [
        "the code of build has been changed",
        "helper_of_a_tune.SIZE 3 → 4",
        "helper_of_a_tune.K 1 → 2",
    ]


def test_functions_on_one_line_are_told_apart_without_columns() -> None:
    program = (
        "from tests.control.test_function_changes import stored\n"
        "text = 'make, other = lambda x: x + 1, lambda x: x + 2'\n"
        "print(stored(text)['is']['source'], stored(text, 'other')['is']['source'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", "-c", program],
        capture_output=True,
        check=True,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=60,
    )
    assert done.stdout == "lambda x: x + 1 lambda x: x + 2\n"


NAMES = ("N", "TEXT", "LIST")
_VALUES = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.lists(st.integers(-3, 3), max_size=3),
    st.dictionaries(st.sampled_from("ab"), st.integers(0, 2)),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_VALUES, min_size=3, max_size=3), st.lists(_VALUES, min_size=3, max_size=3))
def test_value_of_a_constant_is_seen_if_and_only_if_it_is_another(
    one: list[Any], other: list[Any]
) -> None:
    code = "\ndef deeper(): return LIST, TEXT\ndef make(x): return x * N if x else deeper()\n"

    def text(values: list[Any]) -> str:
        lines = [f"{n} = {v!r}" for n, v in zip(NAMES, values, strict=True)]
        return "inf = 1e999\n" + "\n".join(lines) + code

    found = told(text(one), text(other))
    for name, a, b in zip(NAMES, one, other, strict=True):
        # types count: 1 is another value than 1.0
        assert any(re.match(rf"{name}\b", what) for what in found) == (repr(a) != repr(b))


_EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "1", "'x'", "N"]),
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("f({}, k={})".format, inner, inner),
        st.builds("({} if {} else (lambda q: {}))".format, inner, inner, inner),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(_EXPRESSIONS, _EXPRESSIONS, st.randoms(use_true_random=False))
def test_layout_is_never_seen_and_code_always(one: str, other: str, random: Any) -> None:
    def text(body: str, *, loose: bool) -> str:
        if loose:
            body = re.sub(
                r"([(\[,+])", lambda m: m[1] + random.choice(["", " ", "  # why\n   ", "\n"]), body
            )
            body = f"(\n{body}\n  )"
        head = "N = 1\n" + random.choice(["", "# note\n\n"]) * loose
        return f"{head}def make(a, b):\n   '''doc'''\n   return {body}\n"

    assert told(text(one, loose=False), text(one, loose=True)) == []
    assert (told(text(one, loose=False), text(other, loose=True)) == []) == (one == other)
