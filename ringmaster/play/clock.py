"""A mover's clock: what is left, what the engine is told, whether it overstepped.

All arithmetic is in whole nanoseconds; protocols are told milliseconds or
seconds, rounded down so that an engine never believes it has more than it has.
What a move took is rounded down, too, to the milliseconds of UCI and USI: an
engine cannot know of less.  GTP's time is charged as it was.
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

    A player without a time control has a clock that only holds it to its move
    time, if it has one, and to `hang_timeout`.

    Overtime begins within the move that uses up the base time.  A period is
    lost when it is overstepped, not when it is used to the last nanosecond.
    """

    def __init__(self, player: Player, *, margin: float, hang_timeout: float) -> None:
        """margin, hang_timeout in seconds; a player's own margin comes first."""
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
        #: Nanoseconds left of the base time, or of the present period; and 0 in the base
        #: time, else the stones to be played in the period (Canadian) or the periods
        #: left, the present one included (Japanese).
        self._left, self._stage = now = 0, 0
        self._increment = self._period = 0
        #: Moves to the next time control, 0 when there is none.
        self.moves_to_go = 0
        self._canadian = False
        #: Both, as overtime begins.
        self._fresh = now
        if control is not None:
            self._increment = round(control.increment * _NS)
            self.moves_to_go = control.moves
            self._period = round(control.period * _NS)
            self._canadian = control.overtime == "canadian"
            self._fresh = self._period, control.periods or control.stones
            base = round(control.base * _NS)
            now = (base, 0) if base or not self._period else self._fresh
        #: Milliseconds of a period, 0 without overtime.
        self.byoyomi_ms = self._period // _MS
        #: Milliseconds added after each move.
        self.increment_ms = self._increment // _MS
        #: Milliseconds left of the base time, 0 in overtime; at least 1 where there is
        #: no overtime: engines read 0 as "no clock".
        self.remaining_ms = 0
        #: Nanoseconds that the moves have taken, and the longest of them.
        self.spent = 0
        self.slowest = 0
        self._allowance: int | None = None
        self._deadline = 0.0
        self._set(now[0], now[1])

    def _set(self, left: int, stage: int) -> None:
        """Set the clock; what follows from it is asked for more than once a move."""
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
            self._allowance, self._deadline = None, self._hang / _NS
        else:
            self._allowance = allowance = allowance + self._margin
            self._deadline = allowance / _NS

    @property
    def remaining(self) -> int:
        """Nanoseconds left of the base time, or of the present period."""
        return self._left

    @property
    def reading(self) -> tuple[int, int | None] | None:
        """What is left, in ns, and the stones (Canadian) or periods (Japanese)
        left, None in the base time; None without a clock."""
        return (self._left, self._stage or None) if self.has_time else None

    @property
    def total(self) -> int:
        """Nanoseconds that the next move may take in all: periods included."""
        left, count = self._left, self._stage
        if not self._period:
            return left
        if self._canadian:
            return left if count else left + self._period
        return left + (count - 1 if count else self._fresh[1]) * self._period

    @property
    def time_left(self) -> tuple[float, int] | None:
        """What GTP's time_left says: (seconds, stones or periods), None without
        a limit.  Seconds are in whole milliseconds.

        A base time of less than a second is as good as used up, and GTP has no
        word for it: overtime is told instead, which is less than there is.
        """
        if self._control is None:
            # a move time is a period of one stone, over and over
            return None if self._move_time is None else (self._move_time // _MS / 1000, 1)
        left, count = self._left, self._stage
        if count == 0 and self._period and left < _NS:
            left, count = self._fresh
        return left // _MS / 1000, count

    def allowance(self) -> int | None:
        """Return the nanoseconds the next move may take, the margin included;
        None when only hanging is limited."""
        return self._allowance

    def deadline(self) -> float:
        """Return the seconds after which there is no more point in waiting."""
        return self._deadline

    def count(self, elapsed: int) -> None:
        """Count what a move has taken, without taking it off."""
        self.spent += elapsed
        if elapsed > self.slowest:
            self.slowest = elapsed

    def charge(self, elapsed: int) -> bool:
        """Take `elapsed` nanoseconds off, in the protocol's unit, and count them; returns
        False when that was too long."""
        self.count(elapsed)
        elapsed -= elapsed % self._unit
        allowance = self._allowance
        if allowance is not None and elapsed > allowance:
            return False
        control = self._control
        if control is None:
            return True
        if self._period:
            left, stage = self._after_period_move(elapsed)
            self._set(left, stage)
            return True
        # within the margin an overstepped clock stands at zero, not below
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
        """Return time left and stage after a move in the time that was left."""
        left, count = self._left, self._stage
        if count == 0:
            if elapsed <= left:
                return left - elapsed, 0
            elapsed -= left
            left, count = self._fresh
        if self._canadian:
            count -= 1
            return (max(0, left - elapsed), count) if count else self._fresh
        # the margin may carry a move beyond the last period
        lost = max(0, -(-(elapsed - left) // self._period))
        return self._period, max(1, count - lost)

    def limits(self) -> Limits:
        """Return the limits of this player that do not change from move to move."""
        player = self._player
        return Limits(
            seconds=self._deadline,
            byoyomi_ms=self.byoyomi_ms,
            nodes=player.nodes,
            depth=player.depth,
            move_time_ms=None if player.move_time is None else round(player.move_time * 1000),
        )
