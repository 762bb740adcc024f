"""`ringmaster import engines.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ringmaster.errors import ParameterFileError, UsageError
from ringmaster.parameter_files.text import Text
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.match_engines import import_files, recognises
from tests.scaffold.loading import event_of

HERE = Places(Path("/list"), Path("/list"))


def engine(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "command": name.lower(), "protocol": "uci", **more}


def imported(*entries: Any) -> Match:
    return import_files([Text("engines.json", json.dumps(entries))], HERE)


def player(match: Match, code: str) -> Any:
    return next(e for e in match.entrants if e.code == code)


def test_two_engines_play_a_match_and_more_all_against_all(tmp_path: Path) -> None:
    event = event_of(imported(engine("A"), engine("B")).render("x.ctl"), tmp_path)
    assert event.control_file.competition_type == "playoff"
    assert list(event.control_file.values["players"]) == ["A", "B"]
    match = imported(*(engine(f"E {i}") for i in range(3)))
    assert match.type_name == "allplayall"
    assert match.settings["competitors"] == ["E-0", "E-1", "E-2"]


def test_fields_of_an_engine_become_arguments_of_its_player() -> None:
    match = imported(
        engine(
            "A",
            workingDirectory="/opt/a",
            arguments=["--uci"],
            ponder=True,
            whitepov=True,
            restart="on",
            initStrings=["setoption name Clear Hash value true"],
        ),
        engine("B"),
    )
    assert player(match, "A").command == ["a", "--uci"]
    assert player(match, "A").arguments == {
        "cwd": "/opt/a",
        "options": {"Clear Hash": True},
        "time_control": "10+0.1",
        "move_time": None,
        "nodes": None,
        "depth": None,
        "ponder": True,
        "score_pov": "white",
        "restart": "on",
    }
    assert match.notes == []


def test_options_with_other_than_default_values_are_imported() -> None:
    options = [
        {"name": "Hash", "type": "spin", "value": 64, "default": 16, "min": 1, "max": 1024},
        {"name": "Threads", "type": "spin", "value": 1, "default": 1, "min": 1, "max": 8},
        {"name": "Book", "type": "file", "value": "b.bin", "default": "", "alias": "x"},
        {"name": "Clear Hash", "type": "button"},
    ]
    match = imported(engine("A", options=options), engine("B"))
    assert player(match, "A").arguments["options"] == {"Hash": 64, "Book": "b.bin"}


def test_engine_that_cannot_be_used_is_left_out_with_a_note() -> None:
    told = engine("C", initStrings=["hello"])
    match = imported(engine("A"), engine("Crafty", protocol="xboard"), engine("B"), told)
    assert match.codes() == ["A", "B"]
    assert match.notes[0] == "engine Crafty: its protocol is 'xboard'; expected uci"
    assert "only options can be set" in match.notes[1]
    assert "# not imported: engine Crafty" in match.render("x.ctl")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("stderrFile", "err.txt", "stderrFile err.txt (the log has"),
        ("variants", ["fischerandom"], "variants fischerandom (`variant` is"),
        ("invented", 1, "invented 1 (an unknown field"),
    ],
)
def test_ignored_field_becomes_a_note(field: str, value: Any, said: str) -> None:
    match = imported(engine("A", **{field: value}), engine("B"))
    assert match.codes() == ["A", "B"]
    assert said in match.notes[0]


def test_fewer_than_two_engines_are_refused_with_the_reasons() -> None:
    with pytest.raises(UsageError, match=r"fewer than two .*Crafty: its protocol is 'xboard'"):
        imported(engine("A"), engine("Crafty", protocol="xboard"))


def test_byte_order_mark_does_not_matter() -> None:
    data = b"\xef\xbb\xbf" + json.dumps([engine("A"), engine("B")]).encode()
    text = Text.decoded(data, "engines.json")
    assert recognises(text)
    assert import_files([text], HERE).codes() == ["A", "B"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    [
        *("name", "command", "workingDirectory", "stderrFile", "protocol", "initStrings"),
        *("whitepov", "ponder", "restart", "variants", "options", "arguments", "debug"),
    ]
)
OPTION = st.dictionaries(st.sampled_from(["name", "value", "default", "type"]), JSON)
ENTRY = st.dictionaries(FIELDS, JSON | st.lists(OPTION, max_size=2), max_size=5).map(
    lambda entry: {"name": "x", "command": "y", "protocol": "uci", **entry}
)


@settings(deadline=None)
@given(st.lists(ENTRY | JSON, max_size=4))
@example([{"name": "x", "command": "y", "protocol": "uci", "variants": True}])
def test_any_list_gives_a_file_that_loads_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Any]
) -> None:
    try:
        match = imported(*entries)
    except (UsageError, ParameterFileError):
        return
    event_of(match.render("x.ctl"), tmp_path_factory.mktemp("list"))
