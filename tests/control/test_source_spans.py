"""Places of setting paths in the text."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringmaster.control.calls import Recorder
from ringmaster.control.safe_syntax import parse_safely
from ringmaster.control.source import Source, Span
from ringmaster.control.source_spans import SettingPlaces
from ringmaster.model.settings import Call
from tests.control.samples import PLAYOFF_FILE, load_text

POSITIONAL = {"Player": ("command",), "Matchup": ("player_1", "player_2"), "Kind": ("first",)}


def by_cpython(source: Source) -> ast.Module:
    return ast.parse(source.text)


def run(
    text: str, parse: Callable[[Source], ast.Module] = by_cpython
) -> tuple[Source, SettingPlaces, dict[str, Any]]:
    """Run a file that may call Player, Matchup and Kind; return its places and names."""
    source = Source("x.ctl", Path("/nowhere/x.ctl"), text)
    namespace: dict[str, Any] = {kind: Recorder(kind, source) for kind in POSITIONAL}
    exec(compile(source.text, source.filename, "exec", dont_inherit=True), namespace)
    return source, SettingPlaces(source, parse(source), namespace, POSITIONAL), namespace


def text_at(source: Source, span: Span) -> str:
    lines = source.lines[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column - 1]
    lines[0] = lines[0][span.column - 1 :]
    return "\n".join(lines)


def text_of(text: str, *path: str | int) -> str:
    source, positions, _ = run(text)
    return text_at(source, positions.find(path).value)


def name_of(text: str, *path: str | int) -> str | None:
    source, positions, _ = run(text)
    name = positions.find(path).name
    return None if name is None else text_at(source, name)


def test_every_part_of_a_gomill_file_is_located(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, PLAYOFF_FILE)

    def at(*path: str | int) -> str:
        return text_at(loaded.origin, loaded.setting_places.find(path).value)

    assert at("board_size") == "9"
    assert at("description").startswith('"""\nTwo')
    assert at("players", "level-1").startswith('Player("engine')
    assert at("players", "level-1", "command").endswith('"--level=1"')
    assert at("players", "level-2", "command") == '"engine --mode=gtp --level=%d" % 2'
    assert at("players", "third", "startup_gtp_commands", 1) == '"uct_max_memory 350000000"'
    assert at("matchups", 0, "board_size") == "13"
    assert at("matchups", 0, "player_2") == "'third'"
    assert at("matchups", 1, "scorer") == "'players'"
    assert at("matchups", 2, "komi") == "0.5"


def test_names_keys_and_keywords_are_located() -> None:
    text = "players = {'sf': Player('x', options={'Hash': 16})}\n"
    assert name_of(text, "players") == "players"
    assert name_of(text, "players", "sf") == "'sf'"
    assert name_of(text, "players", "sf", "options") == "options"
    assert name_of(text, "players", "sf", "options", "Hash") == "'Hash'"
    assert name_of(text, "players", "sf", "command") is None
    assert text_of(text, "players", "sf", "options", "Hash") == "16"


def test_last_assignment_counts() -> None:
    assert text_of("a = 1\nb = 2\na = 3\n", "a") == "3"
    assert text_of("if True:\n    a = 1\nelse:\n    a = 2\n", "a") == "2"
    assert text_of("a = b = 5\n", "a") == "5"
    assert text_of("a, b = 5, [6, 7]\n", "b", 1) == "7"
    assert text_of("a: int = 5\n", "a") == "5"
    assert text_of("a = [1]\na += [2]\n", "a") == "a += [2]"
    assert text_of("def f():\n    a = 1\na = 2\n", "a") == "2"


def test_place_of_a_function_is_its_name() -> None:
    assert text_of("é = 1; f = 2\ndef e(x):\n    return x\n", "e") == "e"
    assert text_of("def deco(f): return f\n@deco\ndef make(x):\n    return x\n", "make") == "make"


def test_players_of_a_helper_function_are_located_inside_it() -> None:
    text = (
        "def engine(n, options=None):\n"
        "    return Player('x %d' % n, options={'Hash': n})\n"
        "players = {'a': engine(1), 'b': engine(2, options={'Hash': 3})}\n"
    )
    assert text_of(text, "players", "b") == "engine(2, options={'Hash': 3})"
    assert text_of(text, "players", "b", "options", "Hash") == "n"
    assert text_of(text, "players", "b", "command") == "'x %d' % n"
    assert text_of(text, "players", "b", "cwd") == "Player('x %d' % n, options={'Hash': n})"


def test_items_of_comprehensions_sums_and_updates_are_located_by_their_calls() -> None:
    text = "m = [Matchup('a', 'b%d' % i, komi=i) for i in range(3)]\n"
    assert text_of(text, "m", 2, "komi") == "i"
    assert text_of(text, "m", 2) == "Matchup('a', 'b%d' % i, komi=i)"
    text = "old = [Matchup('a', 'b')]\nm = old + [Matchup('c', 'd', komi=7)]\n"
    assert text_of(text, "m", 1, "komi") == "7"
    assert text_of("m = []\nm.append(Matchup('a', 'b', komi=6))\n", "m", 0, "komi") == "6"
    assert text_of("m = [1, 2] + [3, 4]\n", "m", 3) == "4"
    text = "players = dict(a=Player('x'))\nplayers['b'] = Player('y', cwd=3)\n"
    assert text_of(text, "players", "a", "command") == "'x'"
    assert text_of(text, "players", "b", "cwd") == "3"


def test_names_bound_once_are_followed() -> None:
    assert text_of(
        "O = {'Hash': 16}\np = {'a': Player('x', options=O)}\n", "p", "a", "options"
    ) == ("O")
    text = "O = {'Hash': 16}\np = {'a': Player('x', options=O)}\n"
    assert text_of(text, "p", "a", "options", "Hash") == "16"
    text = "O = {'Hash': 16}\nO = {'Hash': 32}\np = {'a': Player('x', options=O)}\n"
    assert text_of(text, "p", "a", "options", "Hash") == "O"
    assert text_of("K = 'a'\np = {K: Player('x', cwd=5)}\n", "p", "a", "cwd") == "5"


def test_local_name_of_a_function_is_no_setting() -> None:
    text = (
        "options = {'Hash': 1}\n"
        "def engine():\n"
        "    options = {'Hash': 2}\n"
        "    return Player('x', options=options)\n"
        "p = {'a': engine()}\n"
    )
    assert text_of(text, "p", "a", "options", "Hash") == "options"


def test_computed_keys_are_located_in_order() -> None:
    text = "p = {'level-%d' % 1: Player('a'), str(2): Player('b', cwd=0)}\n"
    assert text_of(text, "p", "2", "cwd") == "0"
    assert name_of(text, "p", "level-1") == "'level-%d' % 1"
    assert text_of("more = {'b': 2}\np = {'a': 1, **more}\n", "p", "b") == "{'a': 1, **more}"


def test_arguments_around_stars_are_located() -> None:
    text = "more = {'komi': 3}\nm = [Matchup('a', *['b'], scorer=1, **more)]\n"
    assert text_of(text, "m", 0, "scorer") == "1"
    assert text_of(text, "m", 0, "player_1") == "'a'"
    assert text_of(text, "m", 0, "komi") == text.splitlines()[1][5:-1]
    assert text_of(text, "m", 0, 0) == "'a'"


def test_missing_setting_is_put_where_the_competition_type_is_given() -> None:
    assert text_of("# comment\ncompetition_type = 'playoff'\n", "players") == "'playoff'"
    assert text_of("x = 1\n", "players") == "x"


def test_two_calls_at_one_place_are_distinguished() -> None:
    text = "def wrap(p):\n    return lambda: p\nm = [Matchup('a', 'b', komi=1), Player('x')]\n"
    assert text_of(text, "m", 0, "komi") == "1"
    text = "def Wrap(x):\n    return lambda *a: Player('inner', cwd=x)\np = {'a': Wrap(4)(5)}\n"
    assert text_of(text, "p", "a", "cwd") == "x"


def test_columns_count_characters_not_bytes() -> None:
    text = "名前 = 'é'; p = {'ü': Player('ö', cwd='ß')}\n"
    source, positions, _ = run(text)
    place = positions.find(("p", "ü", "cwd"))
    assert (place.value.line, place.value.column) == (1, text.index("'ß'") + 1)
    call = source.lines[0].index("Player") + 1
    assert Recorder("Kind", source)().position is None  # not called by the file
    assert positions.find(("p", "ü")).value.column == call


# Random files: every part of every setting is where its text is.

NAMES = st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True).filter(
    lambda name: not keyword.iskeyword(name)
)
STRINGS = st.text(max_size=6).map(repr)
SCALARS = st.one_of(
    st.integers(-1000, 10**12).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    STRINGS,
    st.sampled_from(["True", "False", "None", "0x1f", "1_000", "1e3", "'a' \"b\"", "r'\\n'"]),
)
SPACE = st.sampled_from(["", " ", "  ", "\n", "\n\t", "  # remark, (with) 'signs'\n    "])


def _list(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda parts, space, comma: (
            f"[{space}" + f",{space}".join(parts) + ("," if comma and parts else "") + f"{space}]"
        ),
        st.lists(items, max_size=3),
        SPACE,
        st.booleans(),
    )


def _dict(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda parts, space: (
            f"{{{space}" + f",{space}".join(f"{k} :{space}{v}" for k, v in parts.items()) + "}"
        ),
        st.dictionaries(st.one_of(STRINGS, st.integers(0, 9).map(repr)), items, max_size=3),
        SPACE,
    )


def _call(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda first, rest, space: (
            f"Kind({space}"
            + f",{space}".join([*first, *(f"{k}{space}={space}{v}" for k, v in rest.items())])
            + f"{space})"
        ),
        st.lists(items, max_size=1),
        st.dictionaries(NAMES.filter(lambda n: n != "first"), items, max_size=3),
        SPACE,
    )


VALUES = st.recursive(
    SCALARS,
    lambda items: st.one_of(
        _list(items), _dict(items), _call(items), items.map(lambda item: f"({item})")
    ),
    max_leaves=8,
)


def parts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    yield path, value
    if isinstance(value, Call):
        inner = {**dict(zip(("first",), value.args, strict=False)), **value.kwargs}
    elif isinstance(value, dict):
        inner = value
    elif isinstance(value, list):
        inner = dict(enumerate(value))
    else:
        return
    for key, item in inner.items():
        yield from parts(item, (*path, key))


def same(one: Any, other: Any) -> bool:
    """Whether two values are alike, calls by kind and arguments."""
    if isinstance(one, Call) and isinstance(other, Call):
        return same(list(one.args), list(other.args)) and same(one.kwargs, other.kwargs)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("parse", [by_cpython, parse_safely])
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=3), SPACE.filter(lambda s: "\n" in s))
def test_every_path_of_a_random_file_leads_to_its_text(
    parse: Callable[[Source], ast.Module], texts: dict[str, str], space: str
) -> None:
    text = space.lstrip(" \t") + "\n" + "".join(f"{n} = {v}\n" for n, v in texts.items())
    text = text.replace("\n\t\n", "\n\n")
    source, positions, namespace = run(text, parse)
    for name in texts:
        for path, value in parts(namespace[name], (name,)):
            written = text_at(source, positions.find(path).value)
            again = eval(f"({written}\n)", {"Kind": Recorder("Kind", source)})
            assert same(again, value), (path, written)


@pytest.mark.parametrize("parse", [by_cpython, parse_safely])
@settings(deadline=None)
@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=3))
def test_every_name_in_a_random_file_leads_to_its_text(
    parse: Callable[[Source], ast.Module], texts: dict[str, str]
) -> None:
    text = "".join(f"{n} = {v}\n" for n, v in texts.items())
    source, positions, namespace = run(text, parse)
    for name in texts:
        for path, _ in parts(namespace[name], (name,)):
            span = positions.find(path).name
            if span is None:
                assert isinstance(path[-1], int) or path[-1] == "first"
                continue
            written = text_at(source, span)
            assert path[-1] == written or path[-1] == ast.literal_eval(written)


@settings(deadline=None)
@given(
    st.text(st.sampled_from("ab=[]{}(),:'\"\n #\\\t+*"), max_size=40),
    st.lists(st.one_of(st.integers(-1, 3), st.sampled_from("ab")), min_size=1, max_size=3),
)
def test_any_file_and_any_path_give_some_place(text: str, path: list[str | int]) -> None:
    source = Source("x.ctl", Path("/nowhere/x.ctl"), text)
    try:
        compile(source.text, "x", "exec", dont_inherit=True)
    except SyntaxError:
        return
    place = SettingPlaces(source, ast.parse(source.text), {}, {}).find(tuple(path))
    assert 1 <= place.value.line <= len(source.lines)
