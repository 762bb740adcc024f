"""The commands that set the clock of a GTP engine.

There are three.  `time_settings` of GTP 2 knows absolute time and
Canadian byo-yomi, in whole seconds.  `kgs-time_settings` (KGS) adds Japanese
byo-yomi.  `kata-time_settings` (KataGo) adds a base time with an increment and
fractions of a second, in `time_left` too: KataGo's manual demands both of each engine
that has the command.  To other engines `time_left` has whole seconds (GTP 2).
"""

from __future__ import annotations

from collections.abc import Callable

from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl, number

_STANDARD, _KGS = "time_settings", "kgs-time_settings"
#: The command after which an engine takes fractions of a second.
KATA = "kata-time_settings"


class ClockNotExpressible(ValueError):
    """An engine has no command for its clock; the message names the command."""


def clock_command(
    player: Player, knows: Callable[[str], bool], kinds: Callable[[], frozenset[str]]
) -> tuple[str, ...]:
    """Return the command that sets the player's clock, () without a clock.

    knows  returns whether the engine has a command
    kinds  returns the clocks that kata-time_settings takes

    A move time becomes a period of one stone, if the engine has a command for it.
    Raises ClockNotExpressible for a time control without a command.
    """
    control = player.time_control
    if control is not None:
        return _command(control, knows, kinds)
    if player.move_time is None:
        return ()
    try:
        return _command(TimeControl(0, period=player.move_time, periods=1), knows, kinds)
    except ClockNotExpressible:
        # The referee enforces the move time in any case.
        return ()


def _command(
    control: TimeControl, knows: Callable[[str], bool], kinds: Callable[[], frozenset[str]]
) -> tuple[str, ...]:
    kind, numbers = _kind(control)
    kata = (KATA, kind, *map(number, numbers))
    whole = all(value == int(value) for value in numbers)
    if not whole or kind == "fischer":
        if knows(KATA) and kind in kinds():
            return kata
        if kind == "fischer":
            raise ClockNotExpressible(
                f"its time control {control} has an increment, which needs the command {KATA}; "
                "GTP itself knows absolute time ('600') and byo-yomi ('600+25/300', '600+30byo')"
            )
    seconds = [int(value) for value in numbers]
    last, word = (seconds[0], "time") if kind == "absolute" else (seconds[1], "period")
    if last == 0:
        raise ClockNotExpressible(
            f"its time control {control} has a {word} of less than a second, which needs the "
            f"command {KATA}; write at least 1"
        )
    if kind == "byoyomi" and not knows(_KGS) and control.periods == 1 and knows(_STANDARD):
        # The same rule: one stone in each period.
        kind = "canadian"
    if kind == "byoyomi" and knows(_KGS):
        return _KGS, kind, *map(str, seconds)
    if kind != "byoyomi" and knows(_STANDARD):
        if kind == "absolute":
            seconds += [0, 0]
        return _STANDARD, *map(str, seconds)
    if knows(KATA) and kind in kinds():
        return kata
    if kind == "byoyomi":
        wanted = _KGS if control.periods > 1 else f"{_STANDARD} or {_KGS}"
    else:
        wanted = _STANDARD
    raise ClockNotExpressible(f"its time control {control} needs the command {wanted}")


def _kind(control: TimeControl) -> tuple[str, list[float]]:
    """Return a clock's name in kgs-time_settings and kata-time_settings, and its numbers."""
    if control.overtime == "japanese":
        return "byoyomi", [control.base, control.period, control.periods]
    if control.overtime == "canadian":
        return "canadian", [control.base, control.period, control.stones]
    if control.increment:
        return "fischer", [control.base, control.increment]
    return "absolute", [control.base]


def read_kinds(text: str) -> frozenset[str]:
    """Return the clocks in an answer to kata-list_time_settings; KataGo's manual writes
    "byo-yomi" there and "byoyomi" in the command."""
    return frozenset(word.lower().replace("-", "") for word in text.split())
