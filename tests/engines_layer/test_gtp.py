"""GTP responses as scripted dialogues."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.engines.channel import Exchange
from ringmaster.engines.gtp import (
    MAX_RESPONSE,
    Command,
)
from ringmaster.engines.gtp_clock import clock_command
from ringmaster.errors import EngineProtocolError, EngineRefused
from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl
from tests.engines_layer.gtp_dialogue import converse


@pytest.mark.parametrize(
    ("lines", "ok", "text"),
    [
        (["= GNU Go", ""], True, "GNU Go"),
        (["? unknown command", ""], False, "unknown command"),
        (["= boardsize", "komi", "play", ""], True, "boardsize\nkomi\nplay"),
        (["=", ""], True, ""),
        (["= ", "A B", ""], True, "A B"),
        (["", "\r", "=\r", "\r"], True, ""),
        (["= a\tb\x1b[31mc\x00", ""], True, "a b[31mc"),
    ],
)
def test_a_response_is_read_up_to_its_blank_line(lines: list[str], ok: bool, text: str) -> None:
    command = Command("name")
    assert command.request == b"name\n"
    assert converse(command, *lines, "= stale") == ["= stale"]
    assert (command.ok, command.text) == (ok, text)


@pytest.mark.parametrize("line", ["hello", "=2 text", "?7 no", "GNU Go ready"])
def test_a_malformed_response_is_an_error(line: str) -> None:
    with pytest.raises(EngineProtocolError, match="genmove"):
        Command("genmove", "b").feed(line.encode())


def test_endless_response_is_cut_off() -> None:
    command = Command("showboard")
    command.feed(b"= start")
    command.feed(b"x" * (MAX_RESPONSE - 10))
    with pytest.raises(EngineProtocolError, match="exceeds"):
        command.feed(b"x" * 10)


class Plain(Command):
    """Takes its answer line by line."""

    take = Exchange.take


PIECES = [b"=", b"?", b" ", b"\n", b"\n\n", b"= ", b"D4", b"pass", b"resign", b"2", b"=2", b"\t"]
PIECES += [b"\r", b"\x00", b"\xff", b"a" * 99, "\u265e".encode(), b"W+3.5", b"(x)"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join), st.data())
def test_usual_answers_are_read_as_all_others_are(output: bytes, data: st.DataObject) -> None:
    lines = [line + b"\n" for line in output.split(b"\n")]
    size = data.draw(st.integers(1, len(lines)))
    reads = [b"".join(lines[at : at + size]) for at in range(0, len(lines), size)]
    assert _outcome(Command("genmove", "b"), reads) == _outcome(Plain("genmove", "b"), reads)


def _outcome(command: Command, reads: list[bytes]) -> object:
    """Feed an answer to a command in pieces of whole lines; return the command's fields, the
    piece that completes it, and the rest behind the answer."""
    try:
        for number, lines in enumerate(reads):
            rest = command.take(lines)
            if rest is not None:
                return command.ok, command.text, number, rest
    except EngineProtocolError as error:
        return str(error)
    return None


def test_output_behind_an_answer_is_returned_whole() -> None:
    for command in (Command("play", "b", "D4"), Plain("play", "b", "D4")):
        assert command.take(b"=\n\n= E5\n\n") == b"= E5\n\n"
        assert (command.ok, command.text) == (True, "")


ALL_KINDS = "none absolute byo-yomi canadian fischer"


def clock_line(
    text: str | None, *commands: str, kinds: str = ALL_KINDS, move_time: float | None = None
) -> str | None:
    control = None if text is None else TimeControl.parse(text)
    player = Player("p", ("x",), time_control=control, move_time=move_time)
    command = clock_command(player, commands.__contains__, lambda: kinds)
    return " ".join(command) or None


GTP, KGS, KATA = "time_settings", "kgs-time_settings", "kata-time_settings"


@pytest.mark.parametrize(
    ("text", "commands", "line"),
    [
        ("600", [GTP], "time_settings 600 0 0"),
        ("600+25/300", [GTP, KGS, KATA], "time_settings 600 300 25"),
        ("600+5x30", [GTP, KGS], "kgs-time_settings byoyomi 600 30 5"),
        ("600+30byo", [GTP, KGS], "kgs-time_settings byoyomi 600 30 1"),
        ("600+30byo", [GTP], "time_settings 600 30 1"),
        ("600+5", [GTP, KGS, KATA], "kata-time_settings fischer 600 5"),
        # Fractions are cut off for engines that do not understand them.
        ("10.75", [GTP], "time_settings 10 0 0"),
        ("10.75", [GTP, KATA], "kata-time_settings absolute 10.75"),
        ("0.5+1.9byo", [GTP], "time_settings 0 1 1"),
        ("10+0.5byo", [GTP, KATA], "kata-time_settings byoyomi 10 0.5 1"),
        ("0+25/0.5", [GTP, KATA], "kata-time_settings canadian 0 0.5 25"),
    ],
)
def test_clock_is_sent_by_the_command_that_can_express_it(
    text: str, commands: list[str], line: str
) -> None:
    assert clock_line(text, *commands) == line


@pytest.mark.parametrize(
    ("text", "commands", "kinds", "message"),
    [
        ("600", [], ALL_KINDS, "needs the command time_settings"),
        ("600+5x30", [GTP], ALL_KINDS, "600+5x30 needs the command kgs-time_settings"),
        ("600+30byo", [], ALL_KINDS, "needs the command time_settings or kgs-time_settings"),
        ("10+0.1", [GTP, KGS], ALL_KINDS, "has an increment, which needs"),
        ("10+0.1", [GTP, KGS, KATA], "absolute byoyomi", "has an increment, which needs"),
        ("0.5", [GTP], ALL_KINDS, "has a time of less than a second, which needs"),
        ("10+0.5byo", [GTP, KGS], ALL_KINDS, "has a period of less than a second, which needs"),
        ("0+25/0.5", [GTP, KGS], ALL_KINDS, "the command kata-time_settings; write at least 1"),
        ("10+0.5byo", [GTP, KATA], "absolute", "has a period of less than a second, which needs"),
    ],
)
def test_clock_without_a_command_is_refused_with_the_command_it_needs(
    text: str, commands: list[str], kinds: str, message: str
) -> None:
    with pytest.raises(EngineRefused, match="time control") as caught:
        clock_line(text, *commands, kinds=kinds)
    assert message in str(caught.value)


def test_move_time_is_a_period_of_one_stone_if_the_engine_has_a_command() -> None:
    assert clock_line(None, GTP, move_time=5) == "time_settings 0 5 1"
    assert clock_line(None, KATA, move_time=0.5) == "kata-time_settings byoyomi 0 0.5 1"
    assert clock_line(None, GTP, move_time=0.5) is None
    assert clock_line(None, move_time=5) is None
    assert clock_line(None, GTP, KGS, KATA) is None


def test_time_control_comes_before_move_time() -> None:
    assert clock_line("600", GTP, move_time=5) == "time_settings 600 0 0"
