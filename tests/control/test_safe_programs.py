"""Random programs of safe mode give the values that CPython gives."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringmaster.control.safe_evaluation import SafeEvaluator
from ringmaster.control.safe_syntax import parse_safely
from ringmaster.control.source import ControlFileProblems, Source
from ringmaster.errors import SafeModeError

NAMES = ("a", "b", "c", "d")


SIGNS = (
    *("+", "-", "*", "/", "//", "%", "**", "|", "&", "^", "<<", ">>", "and", "or"),
    *("==", "!=", "<", "<=", "in", "not in", "is", "is not", "< 3 <"),
)
CALLS = """len sum min max sorted abs round int float str bool list tuple dict set any all repr
reversed range enumerate math.sqrt math.floor isinstance ord chr divmod pow callable next"""
METHODS = (
    *("upper()", "split()", "strip('a')", "replace('a', 'b')", "items()", "keys()", "values()"),
    *("get(1)", "copy()", "index(1)", "count('a')", "startswith('a')", "join(['x', 'y'])"),
    *("format(1, x=2)", "title()", "splitlines()", "rjust(5)", "union([1])", "zfill(3)"),
)


def indented(lines: list[str]) -> str:
    return "\n".join("    " + line for text in lines for line in text.split("\n"))


def texts(*templates: str, **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return a strategy of templates whose fields are other strategies."""
    return st.one_of(
        [
            st.fixed_dictionaries(
                {name: part for name, part in parts.items() if "{" + name + "}" in template}
            ).map(lambda values, t=template: t.format(**values))
            for template in templates
        ]
    )


NAME = st.sampled_from(NAMES)
ATOM = st.one_of(
    NAME,
    st.integers(-5, 40).map(repr),
    st.sampled_from(
        ["0.5", "1e3", "True", "None", "'x'", '"a b"', "()", "[]", "{}", "'%d'", "r'\\d'", "0x1f"]
    ),
    st.floats(-100, 100, width=16).map(repr),
    st.text("ab{}%\\'\n é1", max_size=4).map(repr),
)


def larger(e: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return texts(
        "({e} {sign} {f})",
        "(-{e})",
        "(not {e})",
        "[{e}, {f}]",
        "({e}, {f})",
        "{{{e}, {f}}}",
        "{{{e}: {f}, 'k': {g}}}",
        "[{e}, *{f}]",
        "({e} if {f} else {g})",
        "{e}[{f}]",
        "{e}[{f}:{g}]",
        "{e}[::-1]",
        "[{e} for {n} in {f}]",
        "[{e} for {n}, {m} in {f} if {g}]",
        "{{{e}: {f} for {n} in {g}}}",
        "{{{e} for {n} in {f} for {m} in {g}}}",
        "sorted(({e} for {n} in {f}), key=lambda {n}: {g})",
        "list(map(lambda {n}: {e}, {f}))",
        "list(filter(lambda {n}: {e}, {f}))",
        "list(zip({e}, {f}))",
        "(lambda {n}, {m}={e}: {f})({g})",
        "(lambda *{n}, **{m}: {e})({f}, z={g})",
        "({n} := {e})",
        "{call}({e})",
        "{call}({e}, {f})",
        "max({e}, key=lambda {n}: {f}, default={g})",
        "{e}.{method}",
        "('%s %d' % ({e}, {f}))",
        "('%r' % ({e},))",
        "f'{{{e_plain}}}'",
        "f'{{{e_plain}!r:>5}}-{{{e_plain}}}'",
        e=e,
        f=e,
        g=e,
        n=NAME,
        m=NAME,
        sign=st.sampled_from(SIGNS),
        call=st.sampled_from(CALLS.split()),
        method=st.sampled_from(METHODS),
        e_plain=st.one_of(NAME, st.sampled_from(["a[0]", "len(b)", "c + 1"])),
    )


EXPRESSION = st.recursive(ATOM, larger, max_leaves=8)


def blocks(s: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(s, min_size=1, max_size=3).map(indented)
    return texts(
        "if {e}:\n{body}\nelif {f}:\n{other}\nelse:\n{body}",
        "for {n} in {e}:\n{body}",
        "for {n}, {m} in {e}:\n{body}\nelse:\n{other}",
        "for {n} in range(3):\n{body}\n    if {e}: break\n    if {f}: continue\n{other}",
        "while {n} and len(str({n})) < 9:\n{body}\n    {n} = {n} and {n}[1:]",
        "def {n}({m}={e}):\n{body}\n    return {f}",
        "def {n}(*, {m}={e}):\n{body}\n    return lambda: {m}",
        e=EXPRESSION,
        f=EXPRESSION,
        n=NAME,
        m=NAME,
        body=body,
        other=body,
    )


SIMPLE = texts(
    "{n} = {e}",
    "{n} += {e}",
    "{n} *= {e}",
    "{n} |= {e}",
    "{n}, {m} = {e}",
    "{n}, *{m} = {e}",
    "{n}[{e}] = {f}",
    "{n}[{e}] += {f}",
    "{n} = {m} = {e}",
    "{e}",
    "{n}.append({e})",
    "{n}.extend({e})",
    "{n}.update({e})",
    "{n}.setdefault({e}, []).append({f})",
    "{n}.sort(reverse=True)",
    "{n} = {m}({e})",
    "pass",
    e=EXPRESSION,
    f=EXPRESSION,
    n=NAME,
    m=NAME,
)
PROGRAM = st.lists(st.recursive(SIMPLE, blocks, max_leaves=4), max_size=6).map("\n".join)
START = "import math\na, b, c, d = [3, 1], 'x y', 2, {1: 'a'}\n"


def described(value: Any, level: int = 0) -> Any:
    """Return a value so that equal values of equal types are equal."""
    if isinstance(value, list | tuple | set) and level < 9:
        items = [described(item, level + 1) for item in value]
        return type(value).__name__, sorted(items, key=repr) if isinstance(value, set) else items
    if isinstance(value, dict) and level < 9:
        pairs = [(described(k, level + 1), described(v, level + 1)) for k, v in value.items()]
        return "dict", pairs
    plain = isinstance(value, int | float | str | None | range)
    return type(value).__name__, repr(value) if plain else callable(value)


def values_of(namespace: dict[str, Any]) -> dict[str, Any]:
    return {name: described(namespace[name]) for name in NAMES if name in namespace}


def by_cpython(text: str) -> tuple[dict[str, Any], bool]:
    """Return the values after a program, and whether it raised an exception."""
    namespace: dict[str, Any] = {}
    try:
        exec(compile(text, "x.ctl", "exec", dont_inherit=True), namespace)
    except Exception:
        return {}, True  # what is evaluated before the error may differ
    return values_of(namespace), False


def in_safe_mode(text: str) -> tuple[dict[str, Any], bool]:
    """Return the same of safe mode.  Raises SafeModeError and ControlFileProblems."""
    source = Source("x.ctl", Path("/nowhere/x.ctl"), text)
    namespace: dict[str, Any] = {}
    try:
        SafeEvaluator(source, parse_safely(source), namespace).run()
    except (SafeModeError, ControlFileProblems):
        raise
    except Exception:
        return {}, True  # what is evaluated before the error may differ
    return values_of(namespace), False


def agrees(program: str) -> bool:
    """Return whether both evaluations of a program give the same; False if it is refused."""
    text = START + program + "\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
            compile(text, "x.ctl", "exec")
        except SyntaxError:
            return False
        source = Source("x.ctl", Path("/nowhere/x.ctl"), text)
        try:
            assert ast.dump(parse_safely(source)) == ast.dump(tree)
            safe = in_safe_mode(text)
        except (SafeModeError, ControlFileProblems):
            return False
        plain = by_cpython(text)
    assert repr(safe).replace("SafeFunction", "function") == repr(plain), text
    return True


@settings(deadline=None, derandomize=True, max_examples=25, suppress_health_check=list(HealthCheck))
@given(PROGRAM)
def test_random_program_has_the_values_of_cpython(program: str) -> None:
    agrees(program)
