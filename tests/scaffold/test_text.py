"""Values and comments of a control file: foreign text never becomes code."""

from __future__ import annotations

import ast
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ringmaster.control.python_text import Call, Code, assignment, literal
from ringmaster.scaffold.control_file import comment, identifier

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # lone surrogates have a literal; another check refuses them
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_literal_is_the_value_again(value: Any) -> None:
    assert ast.literal_eval(literal(value)) == value
    assert ast.literal_eval(literal(value, room=1)) == value


@given(st.text(st.characters()))
def test_comment_never_becomes_code(text: str) -> None:
    commented = comment(text, "    ")
    assert ast.dump(ast.parse(commented)) == ast.dump(ast.parse(""))
    assert all(line.startswith("#") for line in commented.splitlines())


@given(st.text(st.characters()), st.lists(st.text(max_size=3), max_size=3))
def test_identifier_is_one_and_new(name: str, used: list[str]) -> None:
    from pathlib import Path

    from ringmaster.model.settings import Context, Identifier

    code = identifier(name, used)
    context = Context(Path())
    assert Identifier().interpret(code, (), context) == code
    assert not context.problems
    assert code not in used


def test_long_calls_stand_on_several_lines_that_fit() -> None:
    call = Call("Player", ("engine",), {"options": {f"Option {i}": i for i in range(12)}})
    text = assignment("player", call)
    assert len(text.splitlines()) > 12
    assert max(map(len, text.splitlines())) <= 96
    compile(text, "text", "exec")


def test_short_calls_stand_on_one_line_with_double_quotes() -> None:
    call = Call("Player", ([Code("sys.executable"), "-m"],), {"nodes": 10})
    assert assignment("a", call) == 'a = Player([sys.executable, "-m"], nodes=10)'


def test_letters_of_any_script_stay() -> None:
    assert [identifier(name, []) for name in ("Ж1", "技巧 2", "é/1")] == ["Ж1", "技巧-2", "é-1"]


def test_two_names_of_one_form_become_two_codes() -> None:
    first = identifier("Stock fish", [])
    assert [first, identifier("Stock/fish", [first])] == ["Stock-fish", "Stock-fish-2"]
