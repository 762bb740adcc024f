"""Values as data: what is looked into, what is known by name, and what is said
of everything else."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from ringmaster.control.function_changes import function_changes, not_compared
from ringmaster.control.values import same, written
from ringmaster.model.canonical import DEEPEST, canonical
from ringmaster.model.settings import Call
from tests.control.test_function_changes import namespace, stored, told

IMPORTS = """
import array, collections, enum, functools, re, types
from collections import deque, defaultdict, namedtuple, OrderedDict, Counter
from dataclasses import dataclass, field
from typing import NamedTuple
"""


def seen(before: str, now: str) -> list[str]:
    return told(IMPORTS + before, IMPORTS + now)


def use(value: str, body: str = "return X") -> str:
    return f"X = {value}\ndef make(): {body}\n"


# A: what is foreign


def test_environment_is_known_by_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "do-not-keep-this")
    text = (
        "from os import environ, environb\nimport os\nHELD = [environ]\n"
        "def make(): return environ, environb, HELD, os.environ['SECRET']\n"
    )
    made = stored(text)
    assert "do-not-keep" not in json.dumps(made)
    assert made["uses"]["environb"] == {"$": "name", "text": "os.environb"}
    assert list(not_compared(made)) == []


def test_object_of_a_library_is_known_by_its_type_and_said_not_to_be_comparable() -> None:
    lock, mock = threading.Lock(), MagicMock(secret="no")
    made = canonical(SimpleNamespace(lock=lock, mock=mock, other=random.Random(3)))
    assert "secret" not in json.dumps(made)
    _, _, note = not_compared(made)
    why = "what it holds is not looked into"
    assert note == f"a random.Random cannot be compared with the last run: {why}"


def test_subclass_of_a_library_class_keeps_what_only_the_library_knows() -> None:
    text = (
        "import threading\nclass T(threading.Thread): pass\nT.__qualname__\nX = T(name='hidden')\n"
    )
    made = stored(text + "def make(): return X\n")
    assert "hidden" not in json.dumps(made)
    assert len(list(not_compared(made))) == 1


def test_installed_functions_are_known_by_public_names() -> None:
    text = "from random import choice, random\nfrom pathlib import Path\n"
    made = stored(text + "def make(): return choice, random, Path\n")
    assert [made["uses"][name]["text"] for name in ("choice", "random")] == [
        "random.choice",
        "random.random",
    ]
    assert made["uses"]["Path"] == {"$": "name", "text": "pathlib.Path"}


def test_function_of_the_file_that_a_library_object_holds_is_followed() -> None:
    text = "import numpy as np\nN = {}\ndef f(x): return x * N\nV = np.vectorize(f)\n"
    text += "def make(x): return V(x)\n"
    assert told(text.format(1), text.format(2)) == ["N 1 → 2"]


# B: keys of one's own


def test_keys_that_begin_with_a_dollar_are_kept_apart_from_ours() -> None:
    for key in ("$", "$$", "$items", "$class"):
        value = {key: "code", "source": 3, "a": {key: {"$": "function", "is": 1}}}
        made = canonical({"x": value})
        assert same(made, json.loads(json.dumps(made)))
        assert list(not_compared(made)) == []
        assert written(made, 500) == repr({"x": value})
        text = "X = {!r}\ndef make(): return X\n"
        changed = told(text.format(value), text.format({**value, key: "unseen"}))
        assert changed == [f"X[{key!r}] 'code' → 'unseen'"]


@pytest.mark.parametrize("name", ["code", "function", "unseen", "set", "large", "name"])
def test_class_may_have_any_name(name: str) -> None:
    text = f"class {name}:\n  pass\nX = {name}()\nX.a, X.text = 1, 2\nsetattr(X, '$', 4)\n"
    text += "def make(): return X.a\n"
    assert told(text, text) == []
    assert "X.a 1 → 5" in told(text, text.replace("= 1, 2", "= 5, 2"))


# C: objects that do not behave


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


def test_object_of_the_file_is_asked_nothing() -> None:
    assert told("N = 1" + HOSTILE, "N = 2" + HOSTILE) == ["X.size 1 → 2", "N 1 → 2"]
    assert list(not_compared(stored("N = 1" + HOSTILE))) == []


def test_values_that_cannot_be_looked_into_are_noted() -> None:
    class Raising(Call):
        def canonical(self) -> dict[str, Any]:
            raise ValueError("no")

    Raising.__module__ = "ringmaster.model.settings"
    (note,) = not_compared(canonical([Raising("Player", (), {})]))
    assert note.endswith("looking into it raised ValueError")
    deep: list[Any] = []
    for _ in range(DEEPEST + 5):
        deep = [deep]
    (note,) = not_compared(canonical({"x": deep}))
    assert note.endswith("it is nested too deeply")
    broad: list[Any] = []
    for _ in range(40):
        broad = [broad, broad]
    assert any("too much" in note for note in not_compared(canonical(broad[:1])))


def test_own_method_of_the_name_canonical_hides_nothing() -> None:
    text = "class A:\n  def __init__(self, n): self.n = n\n  def canonical(self): return 1\n"
    text += "X = A({})\ndef make(): return X.n\n"
    assert told(text.format(3), text.format(4)) == ["X.n 3 → 4"]


# D: releases of Python


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@dataclass(order=True, frozen=True)\nclass P:\n  x: int = 3\n", {"P", "P.x"}),
        ("@dataclass(slots=True)\nclass P:\n  x: int = 3\n", {"P"}),
        ("class P(NamedTuple):\n  x: int = 3\n", {"P", "P._fields", "P._field_defaults"}),
        ("class P(enum.Enum):\n  A = 1\n  B = 2\n", {"P", "Enum", "P.A", "P.B"}),
    ],
)
def test_what_python_generates_is_not_compared(text: str, names: set[str]) -> None:
    made = stored(IMPORTS + text + "def make(): return P\n")
    assert set(made["uses"]) == names
    assert list(not_compared(made)) == []
    assert made["uses"]["P"]["source"].startswith(("class P", "@dataclass"))


# E: the folder


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
    assert one["uses"]["BOOK"] == {
        "$": "path",
        "text": "./b.epd",
        "whole": "/home/one/b.epd",
    }
    assert one["uses"]["OTHER"] == "/elsewhere/c"


# F: what was not seen


@pytest.mark.parametrize(
    ("before", "now", "what"),
    [
        (use("types.SimpleNamespace(a=1)"), use("types.SimpleNamespace(a=2)"), "X.a 1 → 2"),
        (use("types.SimpleNamespace(a=1, b=2)"), use("types.SimpleNamespace(b=2, a=1)"), ""),
        (use("deque([1])"), use("deque([2])"), "X[0] 1 → 2"),
        (use("deque([1])"), use("deque([1], 3)"), "X.maxlen None → 3"),
        (use("array.array('d', [1])"), use("array.array('d', [2])"), "X[0] 1 → 2"),
        (use("{'a': 1, 'b': 2}"), use("{'b': 2, 'a': 1}"),
         "X {'a': 1, 'b': 2} → {'b': 2, 'a': 1}"),
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
        (use("re.compile('a')"), use("re.compile('a', re.I)"), "X.flags 32 → 34"),
        ("def make(): return make.n\nmake.n = 1", "def make(): return make.n\nmake.n = 2",
         "attribute n 1 → 2"),
        ("class S:\n  __slots__ = ('a',)\nX = S(); X.a = 1\ndef make(): return X",
         "class S:\n  __slots__ = ('a',)\nX = S(); X.a = 2\ndef make(): return X", "X.a 1 → 2"),
        ("class P(NamedTuple):\n  a: int\nX = P(1)\ndef make(): return X",
         "class P(NamedTuple):\n  a: int\nX = P(2)\ndef make(): return X", "X[0] 1 → 2"),
        ("P = namedtuple('P', 'a')\nX = P(1)\ndef make(): return X",
         "P = namedtuple('P', 'a')\nX = P(2)\ndef make(): return X", "X[0] 1 → 2"),
    ],
)  # fmt: skip
def test_value_that_a_function_uses_is_compared(before: str, now: str, what: str) -> None:
    assert "; ".join(seen(before, now)) == what


N_CLASS = """
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
    one = N_CLASS.format(base, "", "return 1", argument)
    other = N_CLASS.format(base, "", "return 2", argument)
    assert seen(one, one) == []
    assert seen(one, other) == ["the code of P has been changed"]
    assert seen(one, one.replace("= P(", "= (").replace(f"({argument})", base + f"({argument})"))


@pytest.mark.parametrize(
    "member",
    [
        "@functools.cached_property\n    def c(self): return helper()",
        "@functools.lru_cache\n    def c(self): return helper()",
        "@functools.lru_cache(maxsize=3)\n    def c(self): return helper()",
        "@property\n    def c(self): return helper()",
        "@staticmethod\n    def c(): return helper()",
        "@classmethod\n    def c(cls): return helper()",
        "@functools.singledispatchmethod\n    def c(self, x): return helper()",
        "@wrapping\n    def c(self): return 3",
        "c = functools.partialmethod(lambda self, n: n, N)",
        "c = Held(N)",
        "c = types.SimpleNamespace(n=N)",
        "c = [Held(N)]",
        "def c(self, n=N): return n",
        "c = lambda self: helper()",
        "class Inner:\n        def c(self): return helper()",
    ],
)
def test_every_kind_of_class_attribute_is_followed(member: str) -> None:
    head = "N = {}\nclass Held:\n  def __init__(self, n): self.n = n\ndef helper(): return N\n"
    head += "def wrapping(f):\n  def wrapper(*a): return f(*a) + N\n  return wrapper\n"
    one, other = (head.format(n) + N_CLASS.format("object", member, "return 1", "") for n in (1, 2))
    assert seen(one, one) == []
    told_ = seen(one, other)
    assert len(told_) == 1
    assert told_[0].endswith("1 → 2")


def test_implementations_of_a_generic_function_are_followed() -> None:
    text = "N = {}\n@functools.singledispatch\ndef g(x): return 1\n"
    text += "@g.register\ndef _(x: int): return N\ndef make(): return g(3)\n"
    assert seen(text.format(1), text.format(2)) == ["N 1 → 2"]


def test_factory_of_a_dataclass_field_is_followed() -> None:
    text = "N = {}\ndef some(): return [N]\n@dataclass\nclass P:\n"
    text += "  x: list = field(default_factory=some)\ndef make(): return P()\n"
    assert seen(text.format(1), text.format(2)) == ["N 1 → 2"]


def test_functions_that_call_one_another_to_any_depth_are_compared() -> None:
    lines = ["N = {}", "def f0(): return N"]
    lines += [f"def f{i}():\n    x = [{i}]\n    return f{i - 1}(), x" for i in range(1, 600)]
    text = "\n".join([*lines, "def make(): return f599()\n"])
    assert told(text.replace("{}", "1"), text.replace("{}", "2")) == ["N 1 → 2"]


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
    assert len(walked) == 1


def test_path_is_the_same_data_in_every_release(tmp_path: Path) -> None:
    (made,) = canonical([tmp_path / "x"], str(tmp_path / "a.ctl"))
    assert made == {"$": "path", "text": "./x", "whole": str(tmp_path / "x")}
    assert canonical(Path("x")) == {"$": "path", "text": "x"}
    assert canonical(os.environ) == {"$": "name", "text": "os.environ"}
    assert canonical(re.compile(b"x"))["flags"] == 0
