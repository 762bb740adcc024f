"""Commands that set a clock over GTP.

`time_settings` of GTP 2 knows absolute time and Canadian byo-yomi, in whole seconds.
`kgs-time_settings` (KGS) adds Japanese byo-yomi.  `kata-time_settings` (KataGo) adds a base time
with an increment and fractions of a second, in `time_left` too: KataGo's manual demands both of
each engine that has the command.  To other engines `time_left` has whole seconds (GTP 2).
"""

from __future__ import annotations

from collections.abc import Callable

from ringmaster.errors import EngineRefused
from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl, number

_STANDARD, _KGS = "time_settings", "kgs-time_settings"
#: The command after which an engine takes fractions of a second.
KATA = "kata-time_settings"


def clock_command(
    player: Player, knows: Callable[[str], bool], list_kinds: Callable[[], str | None]
) -> tuple[str, ...]:
    """Return the command that sets the player's clock, () without a clock.

    knows       returns whether the engine has a command
    list_kinds  returns the names of the clocks that kata-time_settings takes, None for all

    A move time becomes a period of one stone, if the engine has a command for it.
    Raises EngineRefused for a time control without a command.
    """
    control = player.time_control
    if control is None and player.move_time is not None:
        control = TimeControl(0, period=player.move_time, periods=1)
    if control is None:
        return ()
    try:
        return _command(control, knows, list_kinds)
    except EngineRefused as refusal:
        if player.time_control is None:
            # The referee enforces the move time in any case.
            return ()
        refusal.code = player.code
        raise


def _command(
    control: TimeControl, knows: Callable[[str], bool], list_kinds: Callable[[], str | None]
) -> tuple[str, ...]:
    kind, numbers = _kind(control)
    kata = (KATA, kind, *map(number, numbers))

    def takes_kata() -> bool:
        listed = list_kinds() if knows(KATA) else ""
        # KataGo's manual writes "byo-yomi" there and "byoyomi" in the command.
        return listed is None or kind in listed.lower().replace("-", "").split()

    whole = all(value == int(value) for value in numbers)
    if not whole or kind == "fischer":
        if takes_kata():
            return kata
        if kind == "fischer":
            raise EngineRefused(
                f"its time control {control} has an increment, which needs the command {KATA}; "
                "GTP itself knows absolute time ('600') and byo-yomi ('600+25/300', '600+30byo')"
            )
    seconds = [int(value) for value in numbers]
    last, word = (seconds[0], "time") if kind == "absolute" else (seconds[1], "period")
    if last == 0:
        raise EngineRefused(
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
    if takes_kata():
        return kata
    if kind == "byoyomi":
        wanted = _KGS if control.periods > 1 else f"{_STANDARD} or {_KGS}"
    else:
        wanted = _STANDARD
    raise EngineRefused(f"its time control {control} needs the command {wanted}")


def _kind(control: TimeControl) -> tuple[str, list[float]]:
    """Return a clock's name in kgs-time_settings and kata-time_settings, and its numbers."""
    if control.overtime == "japanese":
        return "byoyomi", [control.base, control.period, control.periods]
    if control.overtime == "canadian":
        return "canadian", [control.base, control.period, control.stones]
    if control.increment:
        return "fischer", [control.base, control.increment]
    return "absolute", [control.base]
