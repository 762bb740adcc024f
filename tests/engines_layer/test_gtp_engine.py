"""Dialogues with a GTP engine before and during a game."""

from __future__ import annotations

from typing import Any

import pytest

from ringmaster.engines.engine import Limits
from ringmaster.errors import EngineProtocolError, EngineRefused, EngineTimeout
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl
from tests.engines_layer.gtp_dialogue import talker


def player(**settings: Any) -> Player:
    control = settings.pop("time_control", None)
    return Player("x", ("x",), time_control=control and TimeControl.parse(control), **settings)


def go(**settings: Any) -> GameSettings:
    return GameSettings("go", **{"board_size": 9, "komi": 6.5, **settings})


def test_game_begins_with_startup_commands_size_board_and_komi() -> None:
    engine, channel = talker(
        player(startup_gtp_commands=(("level", "3"), ("loud",))), level="ok", loud="!"
    )
    engine.start_game(go(komi=6.0), Opening(), 0)
    assert channel.written_lines == ["level 3", "loud", "boardsize 9", "clear_board", "komi 6"]


@pytest.mark.parametrize("command", ["level", "boardsize", "clear_board", "komi", "time_settings"])
def test_refused_setup_is_reported_with_the_command_and_the_engines_words(command: str) -> None:
    engine, _ = talker(
        player(startup_gtp_commands=(("level", "3"),), time_control="600"),
        **{"level": "", "time_settings": "", command: "? cannot do that"},
    )
    with pytest.raises(EngineRefused, match=rf"it refused '{command}.*cannot do that"):
        engine.start_game(go(), Opening(), 0)


def test_clock_is_set_after_the_board_and_sent_before_each_move() -> None:
    engine, channel = talker(player(time_control="600+25/300"), time_settings="", time_left="")
    engine.start_game(go(), Opening(), 0)
    assert channel.written_lines[-2:] == ["komi 6.5", "time_settings 600 300 25"]
    channel.written_lines.clear()
    engine.send_time(Limits(60, time_left=((599.9, 0), (31.25, 3))))
    engine.send_delayed()
    assert channel.written_lines == ["time_left b 599 0", "time_left w 31 3"]


def test_fractions_go_to_engines_that_understand_them() -> None:
    engine, channel = talker(player(time_control="10+0.5"), kata__time_settings="", time_left="")
    engine.start_game(go(), Opening(), 0)
    engine.send_time(Limits(60, time_left=((9.125, 0), (10.0, 0))))
    engine.send_delayed()
    assert channel.written_lines[-3:] == [
        "kata-time_settings fischer 10 0.5",
        "time_left b 9.125 0",
        "time_left w 10 0",
    ]


@pytest.mark.parametrize("time_left", [None, "? what?"])
def test_engine_without_time_left_plays_on(time_left: str | None) -> None:
    more = {} if time_left is None else {"time_left": time_left}
    engine, channel = talker(player(time_control="600"), time_settings="", **more)
    engine.start_game(go(), Opening(), 0)
    engine.send_time(Limits(60, time_left=((600.0, 0), None)))
    engine.send_delayed()
    assert ("time_left b 600 0" in channel.written_lines) == (time_left is not None)


def test_engine_that_hangs_over_time_left_is_no_loss_on_time() -> None:
    engine, channel = talker(player(time_control="600"), time_settings="", time_left="")
    engine.start_game(go(), Opening(), 0)
    channel.answers["time_left"] = EngineTimeout("no answer")
    engine.send_time(Limits(60, time_left=((600.0, 0), None)))
    with pytest.raises(EngineTimeout):
        engine.begin(0, Limits(60))


def test_engine_without_a_clock_hears_nothing_of_time() -> None:
    engine, channel = talker(None, time_settings="", time_left="")
    engine.start_game(go(), Opening(), 0)
    engine.send_time(Limits(60, time_left=(None, (12.0, 0))))
    engine.send_delayed()
    assert not any("time" in line for line in channel.written_lines)


def test_aliases_hold_for_the_clock_too() -> None:
    engine, channel = talker(
        player(
            time_control="600",
            gtp_aliases={
                "time_settings": "my-clock",
                "time_left": "my-left",
            },
        ),
        my__clock="",
        my__left="",
    )
    engine.start_game(go(), Opening(), 0)
    engine.send_time(Limits(60, time_left=((600.0, 0), None)))
    engine.send_delayed()
    assert channel.written_lines[-2:] == ["my-clock 600 0 0", "my-left b 600 0"]


@pytest.mark.parametrize(
    ("keywords", "command_line"),
    [
        ("claim", "gomill-genmove_ex b claim"),
        ("other\nclaim", "gomill-genmove_ex b claim"),
        # As in Gomill: an engine must ignore unknown keywords.
        ("? no colour", "gomill-genmove_ex b claim"),
        ("other", "genmove b"),
    ],
)
def test_claims_are_allowed_where_the_engine_knows_the_word(
    keywords: str, command_line: str
) -> None:
    engine, channel = talker(
        player(allow_claim=True),
        gomill__genmove_ex=lambda words: "claim" if words else keywords,
    )
    engine.start_game(go(), Opening(), 0)
    engine.think(0, Limits(60))
    assert channel.written_lines[-1] == command_line


def test_claim_of_an_engine_that_may_not_is_a_move_like_any_other() -> None:
    engine, _ = talker(None, gomill__genmove_ex="claim", genmove="claim")
    engine.start_game(go(), Opening(), 0)
    assert engine.think(0, Limits(60)).kind == "move"


def test_engine_of_another_protocol_version_is_refused() -> None:
    with pytest.raises(EngineProtocolError, match="it speaks GTP version '1', not 2"):
        talker(None, protocol_version="1")


def test_engine_without_a_list_gets_known_command_once_for_each_command() -> None:
    engine, channel = talker(
        None, list_commands="? no", known_command=lambda words: str(words[0] == "undo").lower()
    )
    channel.written_lines.clear()
    assert engine.knows("undo")
    assert engine.knows("undo")
    assert not engine.knows("time_left")
    assert channel.written_lines == ["known_command undo", "known_command time_left"]


def test_list_that_leaves_commands_out_is_not_the_last_word() -> None:
    engine, channel = talker(
        None,
        list_commands="boardsize",
        known_command=lambda words: str(words[0] in ("play", "final_score")).lower(),
    )
    assert engine.knows("final_score")
    assert not engine.knows("undo")
    channel.written_lines.clear()
    assert [*map(str, engine.check(go()))] == ["it has no command clear_board, komi, genmove"]
    assert "known_command boardsize" not in channel.written_lines


def test_engine_that_does_not_say_what_it_knows_is_tried() -> None:
    engine, _ = talker(None, list_commands="? no", known_command="? no")
    assert engine.check(go()) == []
    assert not engine.knows("final_score")


@pytest.mark.parametrize(
    ("name", "version", "shown"),
    [
        ("? busy", "1.0", ""),
        ("GNU Go", "3.8", "GNU Go:3.8"),
        ("GNU Go", "gnu go 3.8", "GNU Go:3.8"),
        ("Pachi", "12.0 (Genjo): I'm playing; please chat winrate", "Pachi"),
    ],
)
def test_version_that_repeats_the_name_or_greets_is_cut(
    name: str, version: str, shown: str
) -> None:
    assert talker(None, name=name, version=version)[0].name == shown


def test_unasked_word_is_a_broken_protocol_and_not_the_next_answer() -> None:
    engine, channel = talker()
    engine.start_game(go(), Opening(), 0)
    channel.stray = b"= A9"
    with pytest.raises(EngineProtocolError, match="it said '= A9' unasked, before 'genmove'"):
        engine.think(0, Limits(1))
    assert channel.has_failed, "no further game is played with this process"


@pytest.mark.parametrize(
    ("settings", "lacking", "problem"),
    [
        ({}, ["genmove", "play"], "it has no command play, genmove"),
        ({"handicap": 2}, [], "it has no command fixed_handicap"),
        (
            {"handicap": 2, "handicap_style": "free"},
            [],
            "it has neither of the commands place_free_handicap, set_free_handicap",
        ),
    ],
)
def test_check_names_the_commands_that_games_will_need(
    settings: dict[str, Any], lacking: list[str], problem: str
) -> None:
    engine, _ = talker(None, *lacking)
    assert [*map(str, engine.check(go(**settings)))] == [problem]


def test_check_sets_up_a_game_with_its_clock() -> None:
    engine, channel = talker(
        player(startup_gtp_commands=(("level", "3"),), time_control="600+30byo"),
        level="",
        time_settings="",
        set_free_handicap="",
    )
    assert engine.check(go(handicap=2, handicap_style="free")) == []
    assert channel.written_lines == [
        "level 3",
        "boardsize 9",
        "clear_board",
        "komi 6.5",
        "time_settings 600 30 1",
    ]


# Delayed commands


def test_move_clocks_and_request_are_written_in_one_piece() -> None:
    engine, channel = talker(player(time_control="600"), time_settings="", time_left="")
    engine.start_game(go(), Opening(), 1)
    limits = Limits(60, time_left=((599.9, 0), (31.25, 0)))
    engine.observe(0, "C3", own=False)
    engine.send_time(limits)
    engine.begin(1, limits)
    assert channel.writes[-1] == "play b C3\ntime_left b 599 0\ntime_left w 31 0\ngenmove w\n"
    assert engine.think(1, limits).move == "D4"
    assert channel.unanswered == []


def test_delayed_commands_come_before_any_other() -> None:
    engine, channel = talker(None, final_score="0")
    engine.start_game(go(), Opening(), 1)
    engine.observe(0, "pass", own=False)
    assert engine.optional("final_score") == "0"
    assert channel.written_lines[-2:] == ["play b pass", "final_score"]


def test_next_game_does_not_hear_of_the_last_move_of_the_one_before() -> None:
    engine, channel = talker()
    engine.start_game(go(), Opening(), 1)
    engine.observe(0, "C3", own=False)
    engine.start_game(go(), Opening(), 1)
    assert not any(line.startswith("play") for line in channel.written_lines)


@pytest.mark.parametrize("plies", [0, 1, 64, 65, 150])
def test_opening_is_sent_in_few_writes_and_in_order(plies: int) -> None:
    engine, channel = talker()
    moves = tuple(f"A{n}" for n in range(plies))
    engine.start_game(go(), Opening(moves=moves), 0)
    played = [line for line in channel.written_lines if line.startswith("play")]
    assert played == [f"play {'bw'[n % 2]} A{n}" for n in range(plies)]
    assert sum("play" in text for text in channel.writes) == -(-plies // 64)
    assert channel.unanswered == []


def test_refused_move_is_reported_and_later_answers_are_read() -> None:
    engine, channel = talker(
        player(time_control="600"), time_settings="", time_left="", play="? illegal move"
    )
    engine.start_game(go(), Opening(), 1)
    limits = Limits(60, time_left=((599.9, 0), None))
    engine.observe(0, "C3", own=False)
    engine.send_time(limits)
    with pytest.raises(EngineRefused, match=r"^illegal move$"):
        engine.begin(1, limits)
    assert channel.unanswered == []
    assert not channel.has_failed
    assert engine.command("komi", "0") == ""


def test_engine_that_does_not_answer_after_its_refusal_is_not_talked_to_again() -> None:
    engine, channel = talker(None, play="? illegal move", genmove=EngineTimeout("no answer"))
    engine.start_game(go(), Opening(), 1)
    engine.observe(0, "C3", own=False)
    with pytest.raises(EngineRefused, match=r"^illegal move$"):
        engine.begin(1, Limits(60))
    assert channel.has_failed


def test_failure_of_a_delayed_request_is_a_refusal_to_move() -> None:
    engine, _ = talker(None, genmove="? out of memory")
    engine.start_game(go(), Opening(), 1)
    engine.observe(0, "C3", own=False)
    engine.begin(1, Limits(60))
    with pytest.raises(EngineRefused, match=r"^out of memory$"):
        engine.think(1, Limits(60))


@pytest.mark.parametrize("version", ["2", "? unknown command"])
def test_empty_move_of_an_engine_that_keeps_step_is_a_move_like_any_other(version: str) -> None:
    engine, channel = talker(None, genmove="")
    engine.start_game(go(), Opening(), 1)
    channel.answers["protocol_version"] = version
    engine.observe(0, "C3", own=False)
    engine.begin(1, Limits(60))
    assert engine.think(1, Limits(60)).move == ""


def test_empty_move_that_was_a_second_answer_to_play_is_a_broken_protocol() -> None:
    engine, channel = talker(None, genmove="", protocol_version="2")
    engine.start_game(go(), Opening(), 1)
    # the answer to genmove itself comes one command late
    channel.answers["protocol_version"] = "E5"
    engine.observe(0, "C3", own=False)
    engine.begin(1, Limits(60))
    with pytest.raises(EngineProtocolError, match="it said '=' unasked, before 'genmove'"):
        engine.think(1, Limits(60))
    assert channel.has_failed
