"""What one engine uses in one game, also when its process lives on from game to
game: two readings of the same counter, and their difference."""

from __future__ import annotations

from ringmaster.engines.engine import Engine
from ringmaster.engines.gtp import GtpEngine
from ringmaster.engines.usage import Usage
from ringmaster.errors import EngineError


class Meter:
    """CPU time by the engine's own word where it gives one, else as the system
    counts; a counter is only ever compared with itself."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._own: float | None = None
        self._system: float | None = None
        self._has_begun = False

    def begin_new(self) -> None:
        """Begin with a process that has just been started: all it has used
        belongs to this game."""
        self._own = self._system = 0.0
        self._has_begun = True

    def begin_kept(self) -> None:
        """Begin with a process that has played before, once it is ready: it may
        have begun to count anew with the board."""
        self._own = self._ask()
        self._system = self._engine.used_cpu()
        self._has_begun = True

    def read(self, *, ask: bool) -> Usage:
        """Return what was used since the beginning, and the peak of memory; an
        engine that must not be talked to any more is not asked."""
        if not self._engine.is_launched:
            return Usage(None, None)
        used = self._engine.measure()
        if not self._has_begun:
            return Usage(None, used.peak_memory)
        own = self._ask() if ask and self._own is not None else None
        if own is not None and self._own is not None:
            # less than before: the counter was set back during the game
            return Usage(own - self._own if own >= self._own else own, used.peak_memory)
        if used.cpu_time is None or self._system is None:
            return Usage(None, used.peak_memory)
        return Usage(max(0.0, used.cpu_time - self._system), used.peak_memory)

    def _ask(self) -> float | None:
        engine = self._engine
        if not isinstance(engine, GtpEngine) or not engine.is_alive():
            return None
        try:
            return engine.cpu_time()
        except EngineError:
            return None
