"""Values and functions of two control files: conversion to data, and their differences."""

from __future__ import annotations

import ast
import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringmaster.control.loader import load
from ringmaster.control.source import Source
from ringmaster.control.values import function_changes, not_compared, same, written
from ringmaster.model.canonical import DEEPEST, canonical
from ringmaster.model.jobs import ScoreKind
from ringmaster.model.settings import Call
from tests.control.samples import TABLES

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
    names: dict[str, Any] = {"__name__": "control_file", "__file__": file}
    exec(compile(text, file, "exec", dont_inherit=True), names)
    return names


def stored(text: str, name: str = "make") -> Any:
    """Return a function as a run stores it."""
    data = canonical(namespace(text)[name])
    assert json.loads(json.dumps(data)) == data
    return data


def changes_of(before: str, now: str, name: str = "make") -> list[str]:
    return [change.what for change in function_changes(stored(before, name), stored(now, name))]


def edited(old: str, new: str) -> list[str]:
    assert old in FILE
    return changes_of(FILE, FILE.replace(old, new))


def test_same_function_has_no_changes() -> None:
    assert changes_of(FILE, FILE) == []


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
    assert changes_of(FILE, other) == []


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
def test_change_names_the_part_that_differs(old: str, new: str, what: str) -> None:
    assert edited(old, new) == [what]


def test_several_parts_are_reported_together() -> None:
    now = FILE.replace("5000", "1000").replace("[0] * b", "[0]").replace('"fuego", ', "")
    assert changes_of(FILE, now) == [
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
    assert "; ".join(changes_of(PARTS + before, PARTS + now)) == what


def test_numpy_is_understood() -> None:
    text = "import numpy as np\nA = np.{}\nU = np.{}\ndef make(x): return U(x) * A"
    assert changes_of(text.format("int64(3)", "sqrt"), text.format("int8(3)", "sqrt")) == []
    assert changes_of(text.format("int64(3)", "sqrt"), text.format("int64(4)", "sqrt")) == [
        "A 3 → 4"
    ]
    zeros, ones = text.format("zeros(1)", "sqrt"), text.format("ones(1)", "sqrt")
    assert changes_of(zeros, ones) == ["A[0] 0 → 1"]
    assert changes_of(text.format("pi", "sqrt"), text.format("pi", "exp")) == [
        "U numpy.sqrt → numpy.exp"
    ]
    assert canonical([np.float64(0.5), np.int8(2), np.bool_(True)]) == [0.5, 2, True]


def test_large_values_are_compared_by_their_hash() -> None:
    text = "TABLE = [{} for _ in range(10_000)]\ndef make(): return TABLE"
    one = stored(text.format(1))
    assert len(json.dumps(one)) < 1000
    assert changes_of(text.format(1), text.format(1)) == []
    assert len(changes_of(text.format(1), text.format(2))) == 1


def test_values_that_go_in_circles_or_too_deep_are_stored() -> None:
    assert changes_of(*["L = []\nL.append(L)\ndef make(): return L"] * 2) == []
    deep = "L = []\nfor _ in range(100_000): L = [L]\ndef make(): return L"
    assert json.dumps(canonical(namespace(deep)["make"]))


def test_function_without_source_is_called_so() -> None:
    one = stored("make = eval('lambda x: x + 1')")
    assert list(not_compared({"make": one, "others": [stored(FILE)]})) == [
        "function <lambda> cannot be compared with the last run: it has no source"
    ]
    assert changes_of("make = eval('lambda x: x + 1')", "make = eval('lambda x: x + 2')") == []


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


# Values and objects that functions use


def test_record_with_a_field_named_kind_is_converted() -> None:
    assert canonical(ScoreKind("depth", 3))["kind"] == "depth"


IMPORTS = """
import array, collections, enum, functools, re, types
from collections import deque, defaultdict, namedtuple, OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple
"""


def changes_after_imports(before: str, now: str) -> list[str]:
    return changes_of(IMPORTS + before, IMPORTS + now)


def use(value: str) -> str:
    return f"X = {value}\ndef make(): return X\n"


def test_environment_is_known_by_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "do-not-keep-this")
    text = (
        "from os import environ, environb\nimport os\nHELD = [environ]\n"
        "def make(): return environ, environb, HELD, os.environ['SECRET']\n"
    )
    function = stored(text)
    assert "do-not-keep" not in json.dumps(function)
    assert function["uses"]["environb"] == {"$": "name", "text": "os.environb"}
    assert list(not_compared(function)) == []


def test_object_of_a_library_is_reported_as_not_compared() -> None:
    lock, mock = threading.Lock(), MagicMock(secret="no")
    data = canonical(SimpleNamespace(lock=lock, mock=mock))
    assert "secret" not in json.dumps(data)
    first, _ = not_compared(data)
    why = "its contents are not read"
    assert first == f"a thread.lock cannot be compared with the last run: {why}"
    text = "import threading\nclass T(threading.Thread): pass\nX = T(name='hidden')\n"
    function = stored(text + "def make(): return X\n")
    assert "hidden" not in json.dumps(function)
    assert len(list(not_compared(function))) == 1


def test_installed_functions_are_known_by_public_names() -> None:
    text = "from random import choice, random\nfrom pathlib import Path\n"
    uses = stored(text + "def make(): return choice, random, Path\n")["uses"]
    assert {name: uses[name]["text"] for name in uses} == {
        "choice": "random.Random.choice",
        "random": "random.Random.random",
        "Path": "pathlib.Path",
    }


def test_function_of_the_file_that_a_library_object_holds_is_followed() -> None:
    text = "import numpy as np\nN = {}\ndef f(x): return x * N\nV = np.vectorize(f)\n"
    text += "def make(x): return V(x)\n"
    assert changes_of(text.format(1), text.format(2)) == ["N 1 → 2"]


def test_keys_that_begin_with_a_dollar_are_escaped() -> None:
    for key in ("$", "$$", "$items", "$class"):
        value = {key: "code", "source": 3, "a": {key: {"$": "function", "is": 1}}}
        data = canonical({"x": value})
        assert same(data, json.loads(json.dumps(data)))
        assert list(not_compared(data)) == []
        assert written(data, 500) == repr({"x": value})
        text = "X = {!r}\ndef make(): return X\n"
        changes = changes_of(text.format(value), text.format({**value, key: "unseen"}))
        assert changes == [f"X[{key!r}] 'code' → 'unseen'"]


@pytest.mark.parametrize("name", ["code", "function", "unseen", "set", "large", "name"])
def test_class_may_have_any_name(name: str) -> None:
    text = f"class {name}:\n  pass\nX = {name}()\nX.a, X.text = 1, 2\nsetattr(X, '$', 4)\n"
    text += "def make(): return X.a\n"
    assert changes_of(text, text) == []
    assert "X.a 1 → 5" in changes_of(text, text.replace("= 1, 2", "= 5, 2"))


HOSTILE = """
class Hostile:
    def __init__(self): object.__setattr__(self, 'size', N)
    def canonical(self): raise SystemExit
    def __getattribute__(self, name): raise KeyError(name)
    def __getitem__(self, key): raise ValueError
    def __iter__(self): raise ValueError
    def __repr__(self): raise ValueError
    def __eq__(self, other): raise ValueError
    def __hash__(self): raise ValueError
    def keys(self): raise ValueError
X = Hostile()
def make(): return X
"""


def test_no_method_of_an_object_of_the_file_is_called() -> None:
    assert changes_of("N = 1" + HOSTILE, "N = 2" + HOSTILE) == ["X.size 1 → 2", "N 1 → 2"]
    assert list(not_compared(stored("N = 1" + HOSTILE))) == []


@pytest.mark.slow
def test_values_that_cannot_be_converted_are_noted() -> None:
    class Raising(Call):
        def canonical(self) -> dict[str, Any]:
            raise ValueError("no")

    Raising.__module__ = "ringmaster.model.settings"
    (note,) = not_compared(canonical([Raising("Player", (), {})]))
    assert note.endswith("reading it raised ValueError")
    deep: list[Any] = []
    for _ in range(DEEPEST + 5):
        deep = [deep]
    (note,) = not_compared(canonical({"x": deep}))
    assert note.endswith("it is nested too deeply")
    broad: list[Any] = []
    for _ in range(40):
        broad = [broad, broad]
    assert any("too large" in note for note in not_compared(canonical(broad[:1])))


def test_nothing_changes_when_the_folder_is_moved() -> None:
    text = "import os\nfrom pathlib import Path\nHERE = os.path.dirname(__file__)\n"
    text += "BOOK = Path(__file__).parent / 'b.epd'\nLONG = [HERE + '/x'] * 900\n"
    text += "OTHER, WRITTEN = '/elsewhere/c', '/home/one/d'\n"
    text += "def make(): return HERE, BOOK, __file__, LONG, OTHER, WRITTEN\n"
    one, other = (
        canonical(namespace(text, f"{folder}/tune.ctl")["make"], f"{folder}/tune.ctl")
        for folder in ("/home/one", "/home/one-two/three")
    )
    assert function_changes(one, other) == []
    assert one["uses"]["BOOK"] == {"$": "path", "text": "./b.epd", "whole": "/home/one/b.epd"}
    assert one["uses"]["OTHER"] == "/elsewhere/c"


@pytest.mark.parametrize(
    ("before", "now", "what"),
    [
        (use("types.SimpleNamespace(a=1)"), use("types.SimpleNamespace(a=2)"), "X.a 1 → 2"),
        (use("types.SimpleNamespace(a=1, b=2)"), use("types.SimpleNamespace(b=2, a=1)"), ""),
        (use("deque([1])"), use("deque([2])"), "X[0] 1 → 2"),
        (use("array.array('d', [1])"), use("array.array('d', [2])"),
         "X array('d', [1.0]) → array('d', [2.0])"),
        (use("[{'a': 1, 'b': 2}]"), use("[{'b': 2, 'a': 1}]"),
         "X[0] {'a': 1, 'b': 2} → {'b': 2, 'a': 1}"),
        (use("OrderedDict(a=1, b=2)"), use("OrderedDict(b=2, a=1)"),
         "X {'a': 1, 'b': 2} → {'b': 2, 'a': 1}"),
        (use("defaultdict(int)"), use("defaultdict(list)"), "X.default_factory int → list"),
        (use("defaultdict(lambda: 1)"), use("defaultdict(lambda: 2)"),
         "the code of <lambda> has been changed"),
        (use("1"), use("1.0"), "X 1 → 1.0"),
        (use("[1, 2]"), use("(1, 2)"), "X [1, 2] → (1, 2)"),
        (use("{1: 2}"), use("{1.0: 2}"), "X['1'] 2 → not given; X['1.0'] not given → 2"),
        (use("frozenset([1])"), use("{1}"), "X frozenset([1]) → {1}"),
        (use(f"re.compile('{'a' * 300}b')"), use(f"re.compile('{'a' * 300}c')"),
         f"X.pattern …'{'a' * 15}b' → …'{'a' * 15}c'"),
        ("class S:\n  __slots__ = ('a',)\nX = S(); X.a = 1\ndef make(): return X",
         "class S:\n  __slots__ = ('a',)\nX = S(); X.a = 2\ndef make(): return X", "X.a 1 → 2"),
        ("P = namedtuple('P', 'a')\nX = P(1)\ndef make(): return X",
         "P = namedtuple('P', 'a')\nX = P(2)\ndef make(): return X", "X[0] 1 → 2"),
        ("class P(NamedTuple):\n  a: int\nX = P(1)\ndef make(): return X",
         "class P(NamedTuple):\n  a: int\nX = P(2)\ndef make(): return X", "X[0] 1 → 2"),
        ("class P(enum.Enum):\n  A = 1\ndef make(): return P.A",
         "class P(enum.Enum):\n  A = 2\ndef make(): return P.A",
         "the code of P has been changed"),
        ("make = [lambda v, k=k: v * k for k in (1, 2)][1]",
         "make = [lambda v, k=k: v * k for k in (1, 3)][1]", "default of k 2 → 3"),
    ],
)  # fmt: skip
def test_value_that_a_function_uses_is_compared(before: str, now: str, what: str) -> None:
    assert "; ".join(changes_after_imports(before, now)) == what


CLASS = """
class P({}):
    {}
    def m(self): {}
X = P({})
def make(): return X
"""


@pytest.mark.parametrize(
    ("base", "argument"), [("dict", "a=1"), ("list", "[1]"), ("str", "'x'"), ("int", "3"),
                           ("float", "3"), ("deque", "[1]"), ("tuple", "[1]")],
)  # fmt: skip
def test_methods_of_a_class_derived_from_a_plain_one_are_compared(base: str, argument: str) -> None:
    one = CLASS.format(base, "", "return 1", argument)
    other = CLASS.format(base, "", "return 2", argument)
    assert changes_after_imports(one, one) == []
    assert changes_after_imports(one, other) == ["the code of P has been changed"]
    plain = one.replace("= P(", "= (").replace(f"({argument})", f"{base}({argument})")
    assert changes_after_imports(one, plain)


@pytest.mark.parametrize(
    "member",
    [
        "@functools.cached_property\n    def c(self): return helper()",
        "@property\n    def c(self): return helper()",
        "@staticmethod\n    def c(): return helper()",
        "@wrapping\n    def c(self): return 3",
        "c = functools.partialmethod(lambda self, n: n, N)",
        "c = Held(N)",
        "def c(self, n=N): return n",
        "c = lambda self: helper()",
        "class Inner:\n        def c(self): return helper()",
    ],
)
def test_every_kind_of_class_attribute_is_followed(member: str) -> None:
    head = "N = {}\nclass Held:\n  def __init__(self, n): self.n = n\ndef helper(): return N\n"
    head += "def wrapping(f):\n  def wrapper(*a): return f(*a) + N\n  return wrapper\n"
    one, other = (head.format(n) + CLASS.format("object", member, "return 1", "") for n in (1, 2))
    assert changes_after_imports(one, one) == []
    assert changes_after_imports(one, other) == ["N 1 → 2"]


def test_factory_of_a_dataclass_field_is_followed() -> None:
    text = "N = {}\ndef some(): return [N]\n@dataclass\nclass P:\n"
    text += "  x: list = field(default_factory=some)\ndef make(): return P()\n"
    assert changes_after_imports(text.format(1), text.format(2)) == ["N 1 → 2"]
    assert list(not_compared(stored(IMPORTS + text.format(1)))) == []


@pytest.mark.slow
def test_functions_that_call_one_another_to_any_depth_are_compared() -> None:
    lines = ["N = {}", "def f0(): return N"]
    lines += [f"def f{i}():\n    x = [{i}]\n    return f{i - 1}(), x" for i in range(1, 600)]
    text = "\n".join([*lines, "def make(): return f599()\n"])
    assert changes_of(text.replace("{}", "1"), text.replace("{}", "2")) == ["N 1 → 2"]


def test_file_of_many_functions_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = "".join(f"def f{i}():\n    x = [{i}]\n    return x\n" for i in range(400))
    calls = ", ".join(f"f{i}()" for i in range(400))
    whole = namespace(f"{functions}def make(): return {calls}\n")["make"]
    walked = []
    walk = ast.walk

    def counted(node: ast.AST) -> Iterator[ast.AST]:
        walked.append(node)
        return walk(node)

    monkeypatch.setattr(ast, "walk", counted)
    assert len(canonical(whole)["uses"]) == 400
    assert len(walked) == 2  # once for docstrings, once for definitions


def test_class_of_a_forgotten_helper_module_is_compared(tmp_path: Path) -> None:
    def now(level: int) -> Any:
        import linecache

        linecache.clearcache()
        (tmp_path / "levels_here.py").write_text(f"class Level:\n    top = {level}\n")
        (tmp_path / "tune.ctl").write_text(
            "competition_type = 'playoff'\nfrom levels_here import Level\n"
            "players = {'a': Player('a'), 'b': Player('b')}\nmatchups = [Matchup('a', 'b')]\n"
            "def make(): return Level.top\n"
        )
        loaded = load(tmp_path / "tune.ctl", TABLES.get, list(TABLES))
        return canonical(loaded.namespace["make"], str(tmp_path / "tune.ctl"))

    assert [change.what for change in function_changes(now(3), now(4))] == [
        "the code of Level has been changed"
    ]


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

    reported = changes_of(text(one), text(other))
    for name, a, b in zip(NAMES, one, other, strict=True):
        # types count: 1 is another value than 1.0
        assert any(re.match(rf"{name}\b", what) for what in reported) == (repr(a) != repr(b))


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

    assert changes_of(text(one, loose=False), text(one, loose=True)) == []
    assert (changes_of(text(one, loose=False), text(other, loose=True)) == []) == (one == other)
