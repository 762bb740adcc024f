"""GTP responses as scripted dialogues."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.engines.gtp import MAX_RESPONSE, Command
from ringmaster.errors import EngineProtocolError
from tests.engines_layer.dialogue import converse, still_waits


def test_command_is_one_line() -> None:
    assert Command("play", "b", "D4").request == b"play b D4\n"


def test_success_and_failure_are_told_apart() -> None:
    good, bad = Command("name"), Command("name")
    converse(good, "= GNU Go", "")
    converse(bad, "? unknown command", "")
    assert (good.ok, good.text) == (True, "GNU Go")
    assert (bad.ok, bad.text) == (False, "unknown command")


def test_response_of_several_lines_keeps_them() -> None:
    command = Command("list_commands")
    rest = converse(command, "= boardsize", "komi", "play", "", "= stale")
    assert command.text == "boardsize\nkomi\nplay"
    assert rest == ["= stale"]


def test_empty_response_is_complete_after_its_blank_line() -> None:
    command = Command("quit")
    converse(command, "=", "")
    assert (command.ok, command.text) == (True, "")


def test_response_may_begin_on_the_second_line() -> None:
    command = Command("showboard")
    converse(command, "= ", "A B", "")
    assert command.text == "A B"


def test_blank_lines_before_a_response_are_passed_over() -> None:
    command = Command("komi")
    converse(command, "", "\r", "=\r", "\r")
    assert command.ok


def test_response_is_not_complete_without_its_blank_line() -> None:
    assert still_waits(Command("name"), "= GNU Go")


def test_control_characters_and_tabs_are_cleaned() -> None:
    command = Command("name")
    converse(command, "= a\tb\x1b[31mc\x00", "")
    assert command.text == "a b[31mc"


@pytest.mark.parametrize("line", ["hello", "=2 text", "?7 no", "GNU Go ready"])
def test_what_is_no_response_is_an_error(line: str) -> None:
    with pytest.raises(EngineProtocolError, match="genmove"):
        Command("genmove", "b").feed(line.encode())


def test_endless_response_is_cut_off() -> None:
    command = Command("showboard")
    command.feed(b"= start")
    command.feed(b"x" * (MAX_RESPONSE - 10))
    with pytest.raises(EngineProtocolError, match="exceeds"):
        command.feed(b"x" * 10)


@given(st.lists(st.binary(max_size=40).filter(lambda b: b"\n" not in b), max_size=8))
def test_any_lines_give_an_answer_or_a_protocol_error(lines: list[bytes]) -> None:
    command = Command("genmove", "b")
    try:
        done = any(command.feed(line) for line in lines)
    except EngineProtocolError:
        return
    assert not done or command.text == command.text.strip()
