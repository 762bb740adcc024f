"""A mover's clock: what is left, what the engine is told, whether it overstepped.

All arithmetic is in whole nanoseconds; protocols are told milliseconds,
rounded down so that an engine never believes it has more than it has.
"""

from __future__ import annotations

from ringmaster.engines.engine import Limits
from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl

_NS = 1_000_000_000
_MS = 1_000_000


class Clock:
    """The clock of one player in one game.

    A player without a time control has a clock that only holds it to its move
    time, if it has one, and to `hang_timeout`.
    """

    def __init__(self, player: Player, *, margin: float, hang_timeout: float) -> None:
        """margin, hang_timeout in seconds."""
        self._player = player
        control = player.time_control
        self._control: TimeControl | None = control
        self._margin = round(margin * _NS)
        self._hang = round(hang_timeout * _NS)
        self._move_time = None if player.move_time is None else round(player.move_time * _NS)
        self.remaining = 0 if control is None else round(control.base * _NS)
        self._increment = 0 if control is None else round(control.increment * _NS)
        self._to_go = 0 if control is None else control.moves

    @property
    def has_time(self) -> bool:
        """Whether a clock runs."""
        return self._control is not None

    @property
    def remaining_ms(self) -> int:
        """Milliseconds left, at least 1: engines read 0 as "no clock"."""
        return max(1, self.remaining // _MS)

    @property
    def increment_ms(self) -> int:
        """Milliseconds added after each move."""
        return self._increment // _MS

    @property
    def moves_to_go(self) -> int:
        """Moves to the next time control, 0 when there is none."""
        return self._to_go

    def allowance(self) -> int | None:
        """Return the nanoseconds the next move may take, the margin included;
        None when only hanging is limited."""
        bounds = []
        if self._control is not None:
            bounds.append(self.remaining)
        if self._move_time is not None:
            bounds.append(self._move_time)
        return min(bounds) + self._margin if bounds else None

    def deadline(self) -> float:
        """Return the seconds after which there is no more point in waiting."""
        allowance = self.allowance()
        return (self._hang if allowance is None else allowance) / _NS

    def charge(self, elapsed: int) -> bool:
        """Take `elapsed` nanoseconds off; returns False when that was too long."""
        allowance = self.allowance()
        if allowance is not None and elapsed > allowance:
            return False
        if self._control is not None:
            # within the margin an overstepped clock stands at zero, not below
            self.remaining = max(0, self.remaining - elapsed) + self._increment
            if self._to_go:
                self._to_go -= 1
                if self._to_go == 0:
                    self._to_go = self._control.moves
                    self.remaining += round(self._control.base * _NS)
        return True

    def limits(self) -> Limits:
        """Return the limits of this player that do not change from move to move."""
        player = self._player
        return Limits(
            seconds=self.deadline(),
            nodes=player.nodes,
            depth=player.depth,
            move_time_ms=None if player.move_time is None else round(player.move_time * 1000),
        )


def describe_limits(player: Player) -> str:
    """Return a player's limits for a record or report, e.g. "10+0.1" or
    "nodes 1000"; "" without any."""
    parts = [] if player.time_control is None else [str(player.time_control)]
    if player.move_time is not None:
        parts.append(f"{player.move_time:g} s a move")
    if player.nodes is not None:
        parts.append(f"nodes {player.nodes}")
    if player.depth is not None:
        parts.append(f"depth {player.depth}")
    return ", ".join(parts)
