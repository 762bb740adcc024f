"""An engine's use of CPU and memory in one game, and its pondering.

A process may play many games, so a game's CPU time is the difference of two readings.
"""

from __future__ import annotations

from collections.abc import Sequence

from ringmaster.engines.engine import Engine, Limits
from ringmaster.engines.gtp import GtpEngine
from ringmaster.engines.usage import Usage
from ringmaster.errors import EngineError


class Meter:
    """CPU time of one engine in one game: the engine's own count if it has one, else the
    system's."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._own: float | None = None
        self._system: float | None = None

    def begin_new(self) -> None:
        """Begin with a new process, whose whole use belongs to this game."""
        self._own = self._system = 0.0

    def begin_kept(self) -> None:
        """Begin with a process that has played before, once it is ready for the game (it
        may reset its own count with the board)."""
        self._own = self._own_count()
        self._system = self._engine.measure().cpu_time

    def read(self, *, ask: bool) -> Usage:
        """Return the use since the beginning and the peak of memory.

        ask  whether the engine may be asked for its own count
        """
        if not self._engine.is_launched:
            return Usage(None, None)
        used = self._engine.measure()
        own = self._own_count() if ask and self._own is not None else None
        if own is not None and self._own is not None:
            # Less than before: the engine reset its count during the game.
            return Usage(own - self._own if own >= self._own else own, used.peak_memory)
        if used.cpu_time is None or self._system is None:
            return Usage(None, used.peak_memory)
        return Usage(max(0.0, used.cpu_time - self._system), used.peak_memory)

    def _own_count(self) -> float | None:
        engine = self._engine
        if not isinstance(engine, GtpEngine) or not engine.is_usable():
            return None
        try:
            return engine.cpu_time()
        except EngineError:
            return None


class Pondering:
    """The pondering of both engines of one game."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._engines = engines
        self._ponders = [False, False]
        #: Whether any engine has pondered in this game.
        self.is_on = False
        #: CPU seconds at the start of the present pondering, and of all completed ones: None
        #: if unknown or without pondering.
        self._began: list[float | None] = [None, None]
        self.used: list[float | None] = [None, None]

    def begin(self, index: int, limits: Limits) -> None:
        """Let an engine ponder after its move.  Raises EngineError."""
        engine, opponent = self._engines[index], self._engines[1 - index]
        exchange = engine.ponder(index, limits)
        if exchange is not None:
            self._ponders[index] = self.is_on = True
            self._began[index] = engine.measure().cpu_time
            opponent.channel.attend(engine.channel, exchange)

    def end(self, index: int) -> None:
        """End an engine's pondering after its opponent's move."""
        if self._ponders[index]:
            self._ponders[index] = False
            self._engines[1 - index].channel.leave()
            began, now = self._began[index], self._engines[index].measure().cpu_time
            if began is not None and now is not None:
                self.used[index] = (self.used[index] or 0.0) + max(0.0, now - began)

    def stop(self, index: int, seconds: float) -> None:
        """End an engine's pondering with the game.

        Raises EngineError when it does not stop within `seconds`.
        """
        self.end(index)
        self._engines[index].stop_pondering(seconds)

    def leave(self) -> None:
        """Stop reading pondering engines, however the game ended."""
        for index in (0, 1):
            if self._ponders[index]:
                self._engines[1 - index].channel.leave()
