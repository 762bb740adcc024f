"""Comparison of a control file with its last run."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.control.changes import (
    Comparison,
    SettingChange,
    allow_all,
    canonical_settings,
    find_changes,
    judge_by_played,
)
from ringmaster.model.canonical import canonical
from ringmaster.model.parameters import Linear, Log
from ringmaster.model.settings import (
    INHERITED,
    CallOf,
    DictOf,
    FileName,
    Float,
    Identifier,
    Integer,
    ListOf,
    Maybe,
    Scalar,
    Setting,
    SettingPath,
    String,
    Words,
)
from tests.control.samples import as_dict


def where(path: SettingPath) -> str:
    return ".".join(map(str, path))


def changes(
    table: list[Setting], before: dict[str, Any], now: dict[str, Any]
) -> list[SettingChange]:
    return find_changes(table, canonical(before), canonical(now), where)


def texts(table: list[Setting], before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [f"{c} ({c.change})" for c in changes(table, before, now)]


PARAMETER = CallOf(
    "Parameter",
    (
        Setting("code", Identifier(), "."),
        Setting("split", Integer(), "."),
        Setting("format", Maybe(String()), ".", None, change="report"),
        Setting("deep", Maybe(DictOf(String(), Scalar())), ".", None, change="free"),
    ),
    as_dict,
)
MATCHUP = CallOf(
    "Matchup",
    (
        Setting("id", Maybe(Identifier()), ".", None),
        Setting("komi", Float(), ".", INHERITED),
        Setting("games", Maybe(Integer()), ".", 10),
    ),
    as_dict,
)
TABLE = [
    Setting("coefficient", Float(), ".", 0.45),
    Setting("seed", Integer(), ".", 0, change="refused"),
    Setting("note", Maybe(String()), ".", None, change="report"),
    Setting("parameters", ListOf(PARAMETER), ".", (), change="refused"),
    Setting("matchups", Maybe(ListOf(MATCHUP)), ".", ()),
    Setting("competitors", ListOf(Identifier()), ".", ()),
]
SAME = {s.name: s.default for s in TABLE}
ONE = {"code": "a", "split": 8, "format": None, "deep": {"x": 1}}
TWO = {**ONE, "code": "b"}


def changed(**now: Any) -> list[str]:
    """Return the changes from default settings to other values."""
    return texts(TABLE, SAME, {**SAME, **now})


def test_each_kind_of_change_names_its_setting() -> None:
    assert changed(coefficient=0.3) == ["coefficient 0.45 → 0.3 (free)"]
    assert changed(note="one\ntwo") == ["note has been changed (report)"]
    assert changed(seed=1, coefficient=1) == [
        "seed 0 → 1 (refused)",
        "coefficient 0.45 → 1 (free)",
    ]
    assert changed() == []


def test_innermost_setting_with_a_kind_judges_the_change() -> None:
    before = {**SAME, "parameters": [ONE]}
    for edit, expected in [
        ({"format": "%s"}, ["parameters.0.format (a) None → '%s' (report)"]),
        ({"split": 4}, ["parameters.0.split (a) 8 → 4 (refused)"]),
        ({"deep": {"x": 2, "y": True}}, ["parameters.0.deep.x (a) 1 → 2 (free)",
                                         "parameters.0.deep.y (a) is new: True (free)"]),
        ({"deep": None}, ["parameters.0.deep (a) {'x': 1} → None (free)"]),
        ({"code": "z"}, ["parameters 'a' is gone (refused)",
                         "parameters.0 ('z') is new (refused)"]),
    ]:  # fmt: skip
        assert texts(TABLE, before, {**SAME, "parameters": [ONE | edit]}) == expected


def test_items_are_matched_by_their_code() -> None:
    before = {**SAME, "parameters": [ONE, TWO]}
    new = {**ONE, "code": "new"}
    assert texts(TABLE, before, {**SAME, "parameters": [new, ONE, TWO | {"split": 3}]}) == [
        "parameters.0 ('new') is new (refused)",
        "parameters.2.split (b) 8 → 3 (refused)",
    ]
    assert texts(TABLE, before, {**SAME, "parameters": [TWO, ONE]}) == [
        "parameters in another order: ['a', 'b'] → ['b', 'a'] (refused)"
    ]
    assert texts(TABLE, before, {**SAME, "parameters": [TWO]}) == [
        "parameters 'a' is gone (refused)"
    ]


def test_item_without_an_id_is_known_by_its_index() -> None:
    plain, named = {"id": None, "games": 10}, {"id": "x", "games": 10}
    before = {**SAME, "matchups": [plain, named]}
    assert texts(TABLE, before, {**SAME, "matchups": [plain, {"id": "1", "games": 2}, named]}) == [
        "matchups.1 ('1') is new (free)"
    ]
    now = {**SAME, "matchups": [plain | {"games": 4}, named]}
    assert texts(TABLE, before, now) == ["matchups.0.games 10 → 4 (free)"]
    twice = {**SAME, "matchups": [named, named | {"games": 1}]}
    assert texts(TABLE, before, twice) == [
        "matchups.0.id None → 'x' (free)",
        "matchups.1.games 10 → 1 (free)",
    ]


def test_inherited_argument_was_not_given() -> None:
    before, now = {"id": None, "games": None}, {"id": None, "games": None, "komi": 7.0}
    expected = texts(TABLE, {**SAME, "matchups": [before]}, {**SAME, "matchups": [now]})
    assert expected == ["matchups.0.komi not given → 7 (free)"]


def test_files_of_the_folder_are_stored_relative_to_it() -> None:
    player = CallOf(
        "Player",
        (Setting("command", Words(), "."), Setting("cwd", Maybe(FileName()), ".", None)),
        as_dict,
    )
    table = [
        Setting("players", DictOf(Identifier(), player), "."),
        Setting("book", Maybe(FileName()), ".", None),
        Setting("description", String(), "."),
    ]

    def stored(folder: str) -> dict[str, Any]:
        words = (f"{folder}/bin/x", f"{folder}/arg")
        values = {
            "players": {"a": {"command": words, "cwd": folder}, "b": {"command": ("x",)}},
            "book": f"{folder}/b.epd",
            "description": f"{folder}/x",
        }
        return canonical_settings(table, values, f"{folder}/tune.ctl")

    data = stored("/a/b")
    assert data["players"]["a"] == {"command": ["./bin/x", "/a/b/arg"], "cwd": "."}
    assert data["book"] == "./b.epd"
    # what only looks like a path is the user's own text
    assert [str(c) for c in find_changes(table, data, stored("/c"), where)] == [
        "players.a.command.1 '/a/b/arg' → '/c/arg'",
        "description '/a/b/x' → '/c/x'",
    ]


def test_number_types_do_not_count_and_truth_values_do() -> None:
    table = [Setting("options", DictOf(String(), Scalar()), ".")]
    before = {"options": {"a": 1, "b": 1}}
    assert texts(table, before, {"options": {"a": 1.0, "b": True}}) == ["options.b 1 → True (free)"]


def test_another_kind_of_object_is_another_value() -> None:
    table = [Setting("scale", String(), ".", change="refused")]
    assert texts(table, {"scale": Linear(1.5, 2)}, {"scale": Log(1.5, 2)}) == [
        "scale Linear(lower_bound=1.5, upper_bound=2, integer=False) → "
        "Log(lower_bound=1.5, upper_bound=2, integer=False) (refused)"
    ]
    assert texts(table, {"scale": Linear(1, 5)}, {"scale": Linear(2, 5)}) == [
        "scale.lower_bound 1 → 2 (refused)"
    ]


def test_long_texts_are_shown_where_they_differ() -> None:
    table = [Setting("command", ListOf(String()), ".")]
    long = "engine --mode=gtp --some-option " * 3
    (text,) = texts(table, {"command": [long + "--level=1"]}, {"command": [long + "--level=2"]})
    assert text == "command.0 …'option --level=1' → …'option --level=2' (free)"
    assert texts(table, {"command": ["x" * 80]}, {"command": ["y" * 80]}) == [
        f"command.0 '{'x' * 58}… → '{'y' * 58}… (free)"
    ]


def test_text_of_a_change_contains_when_it_applies() -> None:
    differences = changes(TABLE, SAME, {**SAME, "coefficient": 0.3, "note": "x", "seed": 5})
    comparison = Comparison(1, 0.0, 811, True, tuple(differences))
    assert list(comparison.texts()) == [
        "coefficient 0.45 → 0.3, applies after 811 games",
        "note None → 'x', applies at once",
    ]
    jobs = msgspec.structs.replace(comparison, unit="job")
    assert next(jobs.texts()) == "coefficient 0.45 → 0.3, applies after 811 jobs"
    tune = msgspec.structs.replace(comparison, completed=128, closing=28)
    assert next(tune.texts()).endswith("after 100 games and 28 games of closing matches")
    assert list(comparison.texts(1))[1] == "1 more changes; `diff` lists them all"
    assert comparison.as_data()[0] == {
        "setting": "seed",
        "change": "0 → 5",
        "before": 0,
        "now": 5,
        "allowed": False,
        "applies": None,
        "reason": None,
    }
    assert json.loads(json.dumps(comparison.as_data())) == comparison.as_data()
    assert all(change.allowed for change in allow_all(differences))


def test_function_in_place_of_another_is_a_change_only_if_it_contradicts_values_played() -> None:
    table = [Setting("scales", ListOf(String()), ".", change="played")]
    one, other, linear = (lambda f: f), (lambda f: 2 * f), Linear(1, 5)
    assert changes(table, {"scales": [one]}, {"scales": [other]}) == []
    found = changes(table, {"scales": [one, linear]}, {"scales": [linear, linear]})
    assert [str(c) for c in found] == [
        "scales.0 a function → Linear(lower_bound=1, upper_bound=5, integer=False)"
    ]
    (judged,) = judge_by_played(found, {}, where)
    assert judged.change == "free"
    refused, free = judge_by_played(found, {("scales", 1): "for 0.5 it gave 3"}, where)
    assert (refused.path, refused.allowed, free.allowed) == (("scales", 1), False, True)
    assert str(refused.error()).startswith("for 0.5 it gave 3; expected ")
    (refused,) = judge_by_played(found, {("scales", 0): "for 0.5 it gave 3"}, where)
    assert not refused.allowed


_NUMBERS, _TEXTS = st.integers(-2, 2), st.text(max_size=2)
_PARAMETERS = st.fixed_dictionaries(
    {
        "code": st.sampled_from("abc"),
        "split": _NUMBERS,
        "format": st.none() | _TEXTS,
        "deep": st.none() | st.dictionaries(st.text(max_size=1), _NUMBERS | st.booleans()),
    }
)
_VALUES = st.fixed_dictionaries(
    {
        "coefficient": st.floats(-1, 1, allow_subnormal=False, width=16),
        "seed": _NUMBERS,
        "note": st.none() | _TEXTS,
        "parameters": st.lists(_PARAMETERS, max_size=3),
        "matchups": st.just(()),
        "competitors": st.lists(_TEXTS, max_size=3),
    }
)


@given(_VALUES, _VALUES)
def test_changes_are_reported_if_and_only_if_values_differ(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    before, now = canonical_settings(TABLE, old), canonical_settings(TABLE, new)
    stored = msgspec.json.decode(msgspec.json.encode(before))
    assert find_changes(TABLE, stored, before, where) == []
    assert bool(find_changes(TABLE, stored, now, where)) == (_strict(before) != _strict(now))


def _strict(value: Any) -> Any:
    """Return a value in which True is not 1; 0 and -0.0 are the same."""
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, dict):
        return {k: _strict(v) for k, v in value.items()}
    return [_strict(v) for v in value] if isinstance(value, list) else value
