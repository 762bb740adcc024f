"""The bench an engine is tested on: a process that is started anew after each
failure, findings, and searches that end whatever the engine does."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ringmaster.engines.engine import Engine, start_timeout
from ringmaster.engines.exchange import Exchange
from ringmaster.errors import EngineError, EngineTimeout
from ringmaster.games.text import one_line
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import Finding
from ringmaster.play.compliance.answers import Answer, Info, Overhear, Think
from ringmaster.play.compliance.tape import Tape

#: Characters of a finding's detail.
DETAIL = 300


@dataclass(frozen=True)
class Patience:
    """Seconds to wait.

    search  for a move beyond what its limit allows, before the engine is told to stop
    stop    from `stop` to the move, and for readyok while the engine thinks
    quiet   to listen for what nobody asked for
    idle    to let the engine think without a limit
    quit    from `quit` to the end of the process
    whole   after which no further test is begun, starts not counted
    starts  of starting all together, after which nothing is tried that an engine
            may die of without harm to games
    """

    search: float = 3.0
    stop: float = 2.0
    quiet: float = 0.05
    idle: float = 0.2
    quit: float = 2.0
    whole: float = 60.0
    starts: float = 20.0


class NotSetUp(EngineError):
    """A process that was started anew could not be set up like the first."""


class Bench:
    """One player's engine under test.

    make   returns its engine, not launched
    clock  seconds, monotonic
    """

    def __init__(
        self,
        player: Player,
        settings: GameSettings,
        make: Callable[[], Engine],
        tape: Tape,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.player = player
        self.settings = settings
        self.tape = tape
        self.patience = patience
        self.clock = clock
        self.findings: list[Finding] = []
        self.suggestions: list[str] = []
        #: What the engine says when it is set up, "" for nothing wrong.
        self.complaints: list[str] = []
        #: Seconds from its start to the end of the handshake, and of setting up.
        self.handshake_seconds = 0.0
        self.setup_seconds = 0.0
        #: Seconds spent on starts so far.
        self.starting = 0.0
        #: The most it overstepped, in ms, by what it was asked: "clock", "movetime".
        self.overstep: dict[str, float] = {}
        #: Seconds of a move as its games have it, 0 for not known.
        self.move_seconds = 0.0
        #: Whether the same search gave the same answer in a new game.
        self.is_repeatable = True
        #: Whether a new process could do what the old one could not.
        self.needs_restart = False
        #: Whether its memory grew from game to game.
        self.grows = False
        #: Processes that wanted to run in the minute before the check.
        self.load = os.getloadavg()[0]
        self.processors = os.cpu_count() or 1
        self.stderr: list[str] = []
        self._make = make
        self._engine: Engine | None = None
        self.is_first = True

    @property
    def is_busy(self) -> bool:
        """Whether the machine has more to do than it has processors for, so that
        lateness may not be the engine's fault."""
        return self.load > self.processors

    def late(self, name: str, detail: str, *, matters: bool) -> None:
        """Record that an answer came too late: a warning at most when the machine is busy."""
        if self.is_busy:
            detail += f" (the machine is busy: a load of {self.load:.1f} on {self.processors})"
        self.failed(name, detail, matters=matters and not self.is_busy)

    @property
    def margin(self) -> float:
        """Seconds it may overstep its clock in games."""
        return self.settings.margin if self.player.margin is None else self.player.margin

    def engine(self) -> Engine:
        """Return the engine, set up; started if there is no process.

        Raises EngineNotStarted, NotSetUp.
        """
        if self._engine is not None and self._engine.is_alive():
            return self._engine
        self.drop()
        self.tape.forget()
        former, self._engine = self._engine, self._make()
        self._engine.takes_one_command = former is not None and former.takes_one_command
        start = self.clock()
        self._engine.launch(self.tape, timeout=start_timeout(self.settings, self.player))
        if self._engine.remarks:
            # later starts are quicker
            self.drop()
            return self.engine()
        ready = self.clock()
        self.tape.is_opening = False
        complaints = self._engine.check(self.settings)
        self.starting += self.clock() - start
        if self.is_first:
            self.is_first = False
            self.complaints = complaints
            self.handshake_seconds = ready - start
            self.setup_seconds = self.clock() - ready
        elif complaints:
            raise NotSetUp(complaints[0], self.player.code)
        return self._engine

    def adopt(self, engine: Engine) -> None:
        """Test a process that is there and set up; what it says is recorded."""
        self._engine = engine
        self.is_first = False
        self.tape.is_opening = False
        engine.channel.transcript = self.tape

    @property
    def name(self) -> str:
        """The name that the engine gave in its last handshake, or ""."""
        return "" if self._engine is None else self._engine.name

    def note_overstep(self, kind: str, ms: float) -> None:
        """Remember by how much a "clock" or "movetime" was overstepped."""
        self.overstep[kind] = max(self.overstep.get(kind, 0.0), ms)

    def forgive(self) -> None:
        """Go on with a process that has not answered in time."""
        if self._engine is not None:
            self._engine.channel.has_failed = False

    def drop(self, patience: float = 0.2) -> None:
        """End the process, if there is one."""
        if self._engine is None:
            return
        if self._engine.is_launched and len(self.stderr) < 1000:
            self.stderr += self._engine.channel.take_stderr()
        self._engine.end(patience)

    def passed(self, name: str, detail: str = "") -> None:
        """Record that a test was passed."""
        self.findings.append(Finding("pass", name, one_line(detail, DETAIL)))

    def skipped(self, name: str, detail: str) -> None:
        """Record that something could not be tested, and why."""
        self.findings.append(Finding("skip", name, one_line(detail, DETAIL)))

    def failed(
        self,
        name: str,
        detail: str,
        *,
        matters: bool = True,
        exchange: tuple[str, ...] | None = None,
    ) -> None:
        """Record that a test was not passed.

        matters   whether it would spoil games ("fail", else "warn")
        exchange  lines that show it, by default the last ones
        """
        shown = (*self.tape.evidence(), *self._last_words()) if exchange is None else exchange
        text = one_line(detail, DETAIL)
        self.findings.append(Finding("fail" if matters else "warn", name, text, shown))

    def _last_words(self) -> tuple[str, ...]:
        """Return the end of standard error of a process that is not there any
        more, "! " before each line."""
        if self._engine is None or self._engine.is_alive():
            return ()
        return tuple(f"! {one_line(w, 160)}" for w in self._engine.last_words().splitlines()[-3:])

    def warned(self, name: str, detail: str, exchange: tuple[str, ...] | None = None) -> None:
        """Record what is odd or against the protocol, and does no harm to games."""
        self.failed(name, detail, matters=False, exchange=exchange)

    def converse(self, exchange: Exchange, seconds: float) -> float:
        """Carry out an exchange; returns milliseconds.  Raises EngineError."""
        return self.engine().channel.converse(exchange, seconds) / 1e6

    def think(self, position: str, go: str, seconds: float | None = None) -> Answer:
        """Have the engine search.

        position, go  lines without their end
        seconds       to wait before it is told to stop; by default
                      `patience.search`

        Raises EngineTimeout when it does not obey `stop` either.
        """
        seconds = self.patience.search if seconds is None else seconds
        channel = self.engine().channel
        channel.discard_input()
        self.tape.bestmoves = 0
        think = Think(f"{position}\n{go}\n".encode())
        try:
            ms = self.converse(think, seconds)
            return self.answer(think, ms)
        except EngineTimeout:
            channel.has_failed = False
        try:
            late, ms = self.stop(think.infos)
        except EngineTimeout:
            raise EngineTimeout(
                f"no bestmove after {go!r} in {seconds:g} s, "
                f"nor after 'stop' in {self.patience.stop:g} s",
                self.player.code,
            ) from None
        return self.answer(late, 1000 * seconds + ms, was_stopped=True)

    def stop(self, infos: deque[bytes] | None = None) -> tuple[Think, float]:
        """Tell the engine to stop; returns its answer and the milliseconds it
        took.  Raises EngineTimeout."""
        late = Think(b"stop\n", infos)
        return late, self.converse(late, self.patience.stop)

    def answer(self, think: Think, ms: float, *, was_stopped: bool = False) -> Answer:
        """Return what an exchange gathered, its info lines read."""
        infos = [Info.parse(line) for line in think.infos]
        return Answer(think.bestmove, think.ponder, infos, ms, was_stopped)

    def overhear(self, seconds: float | None = None) -> list[str]:
        """Return the first lines that the engine prints unasked within some time.

        Raises EngineCrashed when it exits meanwhile.
        """
        channel = self.engine().channel
        exchange = Overhear()
        try:
            channel.converse(exchange, self.patience.quiet if seconds is None else seconds)
        except EngineTimeout:
            channel.has_failed = False
        text = channel.unasked().decode("utf-8", "replace")
        return [*exchange.lines, *(one_line(line, 100) for line in text.splitlines()[:2])]
