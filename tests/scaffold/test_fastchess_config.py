"""`ringmaster import config.json`: the match that fastchess saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ringmaster.errors import UsageError
from ringmaster.parameter_files.text import Text
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.fastchess_config import import_files, recognises
from tests.scaffold.loading import event_of

#: Saved by fastchess in a match of two engines with most options.
SAVED = (Path(__file__).parent / "fastchess_config.json").read_text()


def imported(**changes: Any) -> Match:
    text = Text("config.json", json.dumps({**json.loads(SAVED), **changes}))
    assert recognises(text)
    return import_files([text], Places(Path("/w"), Path("/w")))


def test_saved_match_is_the_match_of_its_command_line(tmp_path: Path) -> None:
    match = imported()
    values = event_of(match.render("x.ctl"), tmp_path).control_file.values
    players = {code: player.values for code, player in values["players"].items()}
    assert list(players) == ["A", "B"]
    assert players["A"]["options"] == {"Hash": 8}
    assert values["options"] == {"Threads": 1}
    assert (str(players["A"]["time_control"]), str(players["B"]["time_control"])) == (
        "40/8+0.08",
        "4+0.04",
    )
    assert players["B"]["depth"] == 9
    assert (values["number_of_games"], values["parallel"]) == (1000, 2)
    assert (values["openings"].order, values["openings"].start) == ("random", 3)
    draw, resign = values["draw_adjudication"], values["resign_adjudication"]
    assert (draw.move_number, draw.move_count, draw.score) == (40, 8, 10)
    assert (resign.move_count, resign.score, resign.two_sided) == (3, 600, True)
    assert (values["move_limit"], values["failures"]) == (400, "loss")
    assert match.settings["matchups"][0].kwargs["sprt"].kwargs["elo1"] == 5
    assert match.settings["record_info"] == ["nodes"]


def test_half_played_match_is_said_to_begin_anew() -> None:
    pair = {"wins": 3, "losses": 2, "draws": 5, "penta_WW": 0}
    lines = imported(stats={"A vs B": pair}).messages()
    assert any("cannot be resumed: its 10 games are not imported" in line for line in lines)


def test_options_without_a_counterpart_are_named() -> None:
    notes = imported(affinity=True, epd={"file": "e.epd", "append_file": True}).notes
    assert any(note.startswith("-use-affinity") for note in notes)
    assert any(note.startswith("-epdout e.epd") for note in notes)


@pytest.mark.parametrize(
    ("key", "value"), [("options", [["Hash"]]), ("limit", {"tc": {"fixed_time": 10**400}})]
)
def test_engine_that_fastchess_did_not_write_is_refused(key: str, value: Any) -> None:
    first, *others = json.loads(SAVED)["engines"]
    limit = {"nodes": 0, "plies": 0, **value} if key == "limit" else value
    with pytest.raises(UsageError, match="is not as fastchess writes it"):
        imported(engines=[{**first, key: limit}, *others])


@pytest.mark.parametrize(
    "changes",
    [{"engines": [{}]}, {"engines": 3}, {"type": 7}, {"resign": None}, {"stats": {"a": {}}}],
)
def test_file_that_fastchess_did_not_write_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is not as fastchess writes it"):
        imported(**changes)
