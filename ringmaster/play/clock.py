"""A player's clock: time left, time to report to the engine, overstepping.

All arithmetic is in whole nanoseconds.  Protocols get milliseconds or seconds, rounded
down, so that an engine never expects more time than it has.  The time of a move is rounded
down to milliseconds over UCI and USI, and not rounded over GTP.
"""

from __future__ import annotations

from typing import Final

from ringmaster.engines.engine import Limits
from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl

_NS: Final = 1_000_000_000
_MS: Final = 1_000_000


class Clock:
    """The clock of one player in one game.

    Without a time control it only enforces the move time, if any, and `hang_timeout`.

    Overtime begins within the move that uses up the base time.  A period is lost when it is
    overstepped, not when it is used to the last nanosecond.
    """

    def __init__(self, player: Player, *, margin: float, hang_timeout: float) -> None:
        """margin, hang_timeout  seconds; the player's own margin has precedence."""
        self._player = player
        control = player.time_control
        self._control: TimeControl | None = control
        #: Whether a clock runs.
        self.has_time = control is not None
        own_margin = margin if player.margin is None else player.margin
        self._margin = round(own_margin * _NS)
        self._unit = 1 if player.protocol == "gtp" else _MS
        self._hang = round(hang_timeout * _NS)
        self._move_time = None if player.move_time is None else round(player.move_time * _NS)
        #: Nanoseconds left of the base time or the present period; and the stage: 0 in the
        #: base time, else the stones to play in the period (Canadian) or the periods left,
        #: with the present one (Japanese).
        self._left, self._stage = now = 0, 0
        self._increment = self._period = 0
        #: Moves to the next time control, 0 without one.
        self.moves_to_go = 0
        self._canadian = False
        #: Time and stage at the start of overtime.
        self._overtime_start = now
        if control is not None:
            self._increment = round(control.increment * _NS)
            self.moves_to_go = control.moves
            self._period = round(control.period * _NS)
            self._canadian = control.overtime == "canadian"
            self._overtime_start = self._period, control.periods or control.stones
            base = round(control.base * _NS)
            now = (base, 0) if base or not self._period else self._overtime_start
        #: Milliseconds of a period, 0 without overtime.
        self.byoyomi_ms = self._period // _MS
        #: Milliseconds added after each move.
        self.increment_ms = self._increment // _MS
        #: Milliseconds left of the base time, 0 in overtime; at least 1 without overtime,
        #: since engines read 0 as "no clock".
        self.remaining_ms = 0
        #: Nanoseconds of all moves, and of the longest one.
        self.spent = 0
        self.slowest = 0
        #: Nanoseconds for the next move, with the margin; None without a limit but `hang_timeout`.
        self.allowance: int | None = None
        #: Seconds after which the engine has lost or hangs.
        self.deadline = 0.0
        self._set(now[0], now[1])

    def _set(self, left: int, stage: int) -> None:
        """Set the clock and all values that depend on it."""
        self._left, self._stage = left, stage
        if self._period:
            self.remaining_ms = 0 if stage else left // _MS
        else:
            self.remaining_ms = left // _MS or 1
        allowance = self._move_time
        if self.has_time:
            total = self.total if self._period else left
            if allowance is None or total < allowance:
                allowance = total
        if allowance is None:
            self.allowance, self.deadline = None, self._hang / _NS
        else:
            self.allowance = allowance = allowance + self._margin
            self.deadline = allowance / _NS

    @property
    def reading(self) -> tuple[int, int | None] | None:
        """Nanoseconds left, and the stones (Canadian) or periods (Japanese) left, None in
        the base time; None without a clock."""
        return (self._left, self._stage or None) if self.has_time else None

    @property
    def total(self) -> int:
        """Nanoseconds for the next move, with all periods."""
        left, count = self._left, self._stage
        if not self._period:
            return left
        if self._canadian:
            return left if count else left + self._period
        return left + (count - 1 if count else self._overtime_start[1]) * self._period

    @property
    def time_left(self) -> tuple[float, int] | None:
        """The arguments of GTP's time_left: (seconds, stones or periods), None without a
        limit.  Seconds are in whole milliseconds.

        GTP cannot express a base time of less than a second; overtime replaces it, which is
        less time than there is.
        """
        if self._control is None:
            # A move time is a period of one stone.
            return None if self._move_time is None else (self._move_time // _MS / 1000, 1)
        left, count = self._left, self._stage
        if count == 0 and self._period and left < _NS:
            left, count = self._overtime_start
        return left // _MS / 1000, count

    def count(self, elapsed: int) -> None:
        """Add a move's time to the statistics without charging it."""
        self.spent += elapsed
        if elapsed > self.slowest:
            self.slowest = elapsed

    def charge(self, elapsed: int) -> bool:
        """Charge a move of `elapsed` nanoseconds, rounded down to the protocol's unit;
        return False when it was too long."""
        self.count(elapsed)
        elapsed -= elapsed % self._unit
        allowance = self.allowance
        if allowance is not None and elapsed > allowance:
            return False
        control = self._control
        if control is None:
            return True
        if self._period:
            left, stage = self._after_period_move(elapsed)
            self._set(left, stage)
            return True
        # Within the margin an overstepped clock stands at zero.
        left = self._left - elapsed
        left = (left if left > 0 else 0) + self._increment
        if self.moves_to_go:
            self.moves_to_go -= 1
            if self.moves_to_go == 0:
                self.moves_to_go = control.moves
                left += round(control.base * _NS)
        self._set(left, 0)
        return True

    def _after_period_move(self, elapsed: int) -> tuple[int, int]:
        """Return time left and stage after a move in time."""
        left, count = self._left, self._stage
        if count == 0:
            if elapsed <= left:
                return left - elapsed + self._increment, 0
            elapsed -= left
            left, count = self._overtime_start
        if self._increment:
            # The increment is base time again: USI's increment with byo-yomi.
            return self._increment, 0
        if self._canadian:
            count -= 1
            return (max(0, left - elapsed), count) if count else self._overtime_start
        # The margin may extend the last period.
        lost = max(0, -(-(elapsed - left) // self._period))
        return self._period, max(1, count - lost)

    def limits(self) -> Limits:
        """Return the limits that are the same for every move."""
        player = self._player
        return Limits(
            seconds=self.deadline,
            byoyomi_ms=self.byoyomi_ms,
            nodes=player.nodes,
            depth=player.depth,
            move_time_ms=None if player.move_time is None else round(player.move_time * 1000),
        )
