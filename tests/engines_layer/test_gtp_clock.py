"""How GTP engines are told of their clocks."""

from __future__ import annotations

import pytest

from ringmaster.engines.gtp_clock import ClockNotTold, clock_command, read_kinds
from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl

ALL_KINDS = "none absolute byo-yomi canadian fischer"


def told(
    text: str | None, *commands: str, kinds: str = ALL_KINDS, move_time: float | None = None
) -> str | None:
    control = None if text is None else TimeControl.parse(text)
    player = Player("p", ("x",), time_control=control, move_time=move_time)
    command = clock_command(player, commands.__contains__, lambda: read_kinds(kinds))
    if command is None:
        return None
    assert command.fractions == (command.words[0] == "kata-time_settings")
    return " ".join(command.words)


GTP, KGS, KATA = "time_settings", "kgs-time_settings", "kata-time_settings"


@pytest.mark.parametrize(
    ("text", "commands", "line"),
    [
        ("600", [GTP], "time_settings 600 0 0"),
        ("600+25/300", [GTP, KGS, KATA], "time_settings 600 300 25"),
        ("0+25/300", [GTP], "time_settings 0 300 25"),
        ("600+5x30", [GTP, KGS], "kgs-time_settings byoyomi 600 30 5"),
        ("600+5x30", [GTP, KATA], "kata-time_settings byoyomi 600 30 5"),
        ("600+30byo", [GTP, KGS], "kgs-time_settings byoyomi 600 30 1"),
        ("600+30byo", [GTP], "time_settings 600 30 1"),
        ("0+30byo", [GTP], "time_settings 0 30 1"),
        ("600+5", [GTP, KGS, KATA], "kata-time_settings fischer 600 5"),
        ("0.5+0.1", [KATA], "kata-time_settings fischer 0.5 0.1"),
        # fractions are told where they are understood, else cut off
        ("10.75", [GTP], "time_settings 10 0 0"),
        ("10.75", [GTP, KATA], "kata-time_settings absolute 10.75"),
        ("10+25/20.5", [GTP], "time_settings 10 20 25"),
        ("0+25/0.5", [GTP, KATA], "kata-time_settings canadian 0 0.5 25"),
        ("600", [KATA], "kata-time_settings absolute 600"),
    ],
)
def test_clock_is_told_by_the_command_that_can_say_it(
    text: str, commands: list[str], line: str
) -> None:
    assert told(text, *commands) == line


@pytest.mark.parametrize(
    ("text", "commands", "kinds", "said"),
    [
        ("600", [], ALL_KINDS, "needs the command time_settings"),
        ("600+25/300", [KGS], ALL_KINDS, "needs the command time_settings"),
        ("600+5x30", [GTP], ALL_KINDS, "600+5x30 needs the command kgs-time_settings"),
        ("600+30byo", [], ALL_KINDS, "needs the command time_settings or kgs-time_settings"),
        ("10+0.1", [GTP, KGS], ALL_KINDS, "has an increment, which needs"),
        ("10+0.1", [GTP, KGS, KATA], "absolute byoyomi", "has an increment, which needs"),
        ("0.5", [GTP], ALL_KINDS, "is less than a second"),
        ("0+5x0.5", [GTP, KGS], ALL_KINDS, "is less than a second"),
    ],
)
def test_clock_that_cannot_be_told_is_refused_with_the_command_it_needs(
    text: str, commands: list[str], kinds: str, said: str
) -> None:
    with pytest.raises(ClockNotTold, match="time control") as caught:
        told(text, *commands, kinds=kinds)
    assert said in str(caught.value)


def test_move_time_is_a_period_of_one_stone_where_that_can_be_told() -> None:
    assert told(None, GTP, move_time=5) == "time_settings 0 5 1"
    assert told(None, KATA, move_time=0.5) == "kata-time_settings byoyomi 0 0.5 1"
    assert told(None, GTP, move_time=0.5) is None
    assert told(None, move_time=5) is None


def test_nothing_is_told_without_a_clock() -> None:
    assert told(None, GTP, KGS, KATA) is None


def test_time_control_comes_before_move_time() -> None:
    assert told("600", GTP, move_time=5) == "time_settings 600 0 0"
