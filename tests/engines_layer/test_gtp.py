"""GTP responses as scripted dialogues."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.engines.exchange import Exchange
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


class Plain(Command):
    """Takes its answer line by line."""

    take = Exchange.take


PIECES = [b"=", b"?", b" ", b"\n", b"\n\n", b"= ", b"D4", b"pass", b"resign", b"2", b"=2", b"\t"]
PIECES += [b"\r", b"\x00", b"\xff", b"a" * 99, "\u265e".encode(), b"W+3.5", b"(x)"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join), st.data())
@settings(max_examples=500)
def test_usual_answers_are_read_as_all_others_are(said: bytes, data: st.DataObject) -> None:
    lines = [line + b"\n" for line in said.split(b"\n")]
    size = data.draw(st.integers(1, len(lines)))
    reads = [b"".join(lines[at : at + size]) for at in range(0, len(lines), size)]
    assert _outcome(Command("genmove", "b"), reads) == _outcome(Plain("genmove", "b"), reads)


def _outcome(command: Command, reads: list[bytes]) -> object:
    """Return what becomes of a command whose answer is read in pieces of whole lines:
    what it holds, which piece completes it, and what stands behind the answer."""
    try:
        for number, lines in enumerate(reads):
            rest = command.take(lines)
            if rest is not None:
                return command.ok, command.text, number, rest
    except EngineProtocolError as error:
        return str(error)
    return None


def test_what_stands_behind_an_answer_is_kept_whole() -> None:
    for command in (Command("play", "b", "D4"), Plain("play", "b", "D4")):
        assert command.take(b"=\n\n= E5\n\n") == b"= E5\n\n"
        assert (command.ok, command.text) == (True, "")
