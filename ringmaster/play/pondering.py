"""Who thinks on the opponent's time in a game: which engine has to be read while
its opponent is waited for, and what CPU that takes."""

from __future__ import annotations

from collections.abc import Sequence

from ringmaster.engines.engine import Engine, Limits


class Pondering:
    """The pondering of both engines of one game."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self._engines = engines
        self._ponders = [False, False]
        #: Whether any engine has pondered in this game.
        self.is_on = False
        #: Seconds of CPU when it began, and of all that are over.
        self._began: list[float | None] = [None, None]
        self._used: list[float | None] = [None, None]

    def begin(self, index: int, limits: Limits) -> None:
        """Let an engine that has just moved ponder.  Raises EngineError."""
        engine, opponent = self._engines[index], self._engines[1 - index]
        exchange = engine.ponder(index, limits)
        if exchange is not None:
            self._ponders[index] = self.is_on = True
            self._began[index] = engine.used_cpu()
            opponent.channel.attend(engine.channel, exchange)

    def end(self, index: int) -> None:
        """Take note that the opponent of an engine has moved."""
        if self._ponders[index]:
            self._ponders[index] = False
            self._engines[1 - index].channel.leave()
            self._count(index)

    def stop(self, index: int, seconds: float) -> None:
        """End an engine's pondering with the game.  Raises EngineError when it
        does not stop within `seconds`."""
        self.end(index)
        self._engines[index].stop_pondering(seconds)

    def leave(self) -> None:
        """Stop reading what a pondering engine says, whatever became of the game."""
        for index in (0, 1):
            if self._ponders[index]:
                self._engines[1 - index].channel.leave()

    def cpu_time(self, index: int) -> float | None:
        """Return the seconds of CPU that an engine has used while its opponent was
        thinking, None where it did not ponder or it cannot be had."""
        return self._used[index]

    def _count(self, index: int) -> None:
        began, now = self._began[index], self._engines[index].used_cpu()
        if began is not None and now is not None:
            self._used[index] = (self._used[index] or 0.0) + max(0.0, now - began)
