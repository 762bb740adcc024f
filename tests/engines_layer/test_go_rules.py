"""Engines are told the rules of Go, and asked what they have understood."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ringmaster.errors import EngineRefused
from ringmaster.model.go_rules import NAMED, Rules
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import Player
from tests.engines_layer.gtp_dialogue import talker


def go(rules: Rules | None = None, **settings: Any) -> GameSettings:
    return GameSettings("go", board_size=9, komi=6.5, rules=rules or Rules(), **settings)


def test_rules_are_told_before_each_game_by_their_name() -> None:
    engine, channel = talker(kata__set__rules="")
    engine.start_game(go(NAMED["japanese"]), Opening(), 0)
    told = ["boardsize 9", "clear_board", "komi 6.5", "kata-set-rules japanese"]
    assert channel.written_lines == told


def test_parts_of_rules_are_told_as_katago_prints_them() -> None:
    engine, channel = talker(kata__set__rules="")
    engine.start_game(go(Rules("own", "situational", tax="seki", button=True)), Opening(), 0)
    command, _, text = channel.written_lines[-1].partition(" ")
    assert command == "kata-set-rules"
    assert json.loads(text) == {
        "ko": "SITUATIONAL",
        "scoring": "AREA",
        "tax": "SEKI",
        "suicide": True,
        "hasButton": True,
        "whiteHandicapBonus": "N",
    }


def test_a_name_with_another_compensation_is_told_by_its_parts() -> None:
    assert Rules("japanese").command.startswith("{")


def test_an_engine_without_the_command_is_not_told() -> None:
    engine, _ = talker(kata__get__rules=json.dumps(NAMED["chinese"].as_json()))
    assert engine.check(go(NAMED["korean"])) == []
    assert not engine.told_rules


def test_engines_hear_nothing_of_rules_that_the_control_file_leaves_out() -> None:
    engine, channel = talker(kata__set__rules="")
    engine.start_game(go(), Opening(), 0)
    assert channel.written_lines == ["boardsize 9", "clear_board", "komi 6.5"]


def test_kept_engine_gets_its_own_rules_back_for_games_without_rules() -> None:
    own = json.dumps(NAMED["tromp-taylor"].as_json())
    engine, channel = talker(kata__set__rules="", kata__get__rules=own)
    for rules in (None, NAMED["japanese"], NAMED["korean"], None):
        engine.start_game(go(rules), Opening(), 0)
    about_rules = [line for line in channel.written_lines if "-rules" in line]
    assert about_rules == [
        "kata-get-rules",
        "kata-set-rules japanese",
        "kata-set-rules korean",
        f"kata-set-rules {own}",
    ]
    # commands of the player itself come after them
    engine.player = msgspec.structs.replace(
        engine.player, startup_gtp_commands=(("kata-set-rules", "aga"),)
    )
    channel.written_lines.clear()
    engine.start_game(go(), Opening(), 0)
    about_rules = [line for line in channel.written_lines if "-rules" in line]
    assert about_rules == [f"kata-set-rules {own}", "kata-set-rules aga"]


def test_rules_that_an_engine_refuses_are_a_problem_with_its_own_words() -> None:
    engine, _ = talker(kata__set__rules="? not supported by this net")
    (problem,) = engine.check(go(NAMED["stone-scoring"]))
    assert str(problem) == ("it refused 'kata-set-rules stone-scoring': not supported by this net")
    with pytest.raises(EngineRefused):
        engine.start_game(go(NAMED["stone-scoring"]), Opening(), 0)


def test_rules_that_an_engine_understands_otherwise_are_a_problem() -> None:
    answer = json.dumps({**NAMED["japanese"].as_json(), "tax": "NONE", "future": 1})
    engine, _ = talker(kata__set__rules="", kata__get__rules=answer)
    (problem,) = engine.check(go(NAMED["japanese"]))
    assert str(problem) == (
        'told the rules japanese, it says that it has others: tax "NONE", not "SEKI"; choose rules '
        "that it knows"
    )
    engine, _ = talker(kata__set__rules="", kata__get__rules="nonsense")
    assert engine.check(go(NAMED["japanese"])) == []


def test_a_referee_needs_a_command_for_the_score() -> None:
    engine, _ = talker()
    (problem,) = engine.check(go(referee=Player("x", ("x",)), scorer="referee"))
    assert str(problem) == "it has no command final_score"
