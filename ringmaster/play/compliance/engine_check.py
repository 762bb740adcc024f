"""One engine under test: its process, its findings, and searches that always end."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ringmaster.engines.channel import Transcript
from ringmaster.engines.engine import Engine, Limits, Thought, start_timeout
from ringmaster.engines.uci_messages import read_info
from ringmaster.errors import EngineNotStarted, EngineTimeout
from ringmaster.games.clean_text import one_line
from ringmaster.model.jobs import CheckJob
from ringmaster.model.players import Player
from ringmaster.model.results import Finding, Problem
from ringmaster.play.compliance.positions import CheckPosition, positions_for
from ringmaster.play.transcript import GameTranscript

DETAIL, WIDTH = 300, 160  # characters of a finding's detail and of a protocol line in a finding
SENT, RECEIVED = 3, 4  # lines kept of each request and of each answer in the transcript's tail
LINE_BYTES = 4096  # read of a protocol line

Lines = tuple[str, ...]


@dataclass(frozen=True)
class Patience:
    """Seconds to wait."""

    search: float = 3.0  # beyond a search's limit, until `stop` is sent
    stop: float = 2.0  # from `stop` to the move, and for readyok during a search
    quiet: float = 0.05  # for unexpected lines
    idle: float = 0.2  # of a search without a limit
    quit: float = 2.0  # from `quit` to the end of the process
    clock: float = 0.4  # the longest time limit of a search
    limits: float = 30.0  # for all searches with the player's limits
    whole: float = 60.0  # for all tests


#: The searches before a first game take a second.
FIRST_GAME = Patience(search=0.5, stop=0.4, clock=0.2, limits=0.9)


class Search(NamedTuple):
    """An engine's answer to a request to move.

    ms           from the request to the move
    was_stopped  whether the engine ignored its limit until `stop`
    """

    thought: Thought
    ms: float
    was_stopped: bool = False

    def most(self, name: str) -> int | None:
        """Return the highest count of a name in the last info lines, or None."""
        counts = map(read_info, self.thought.info_lines.split(b"\n"))
        return max((numbers[name] for numbers in counts if name in numbers), default=None)


class EngineCheck:
    """The check of one player's engine, with its findings.

    make        returns an engine; called again when one has failed
    make_other  returns an engine for a player of a game
    running     the engine; None before the start
    start       the dialogue of the start
    dialogue    the later traffic
    """

    running: Engine | None = None
    start: Transcript | None = None

    def __init__(
        self,
        job: CheckJob,
        make: Callable[[], Engine],
        make_other: Callable[[Player], Engine],
        patience: Patience | None = None,
    ) -> None:
        self.job = job
        self.player = job.player
        self.settings = job.settings
        self.patience = patience or (Patience() if job.thorough else FIRST_GAME)
        self._make = make
        self.make_other = make_other
        self.dialogue = GameTranscript("", of_faults=True)
        #: Problems of the last start with the player's settings.
        self.complaints: list[Problem] = []
        #: The name of the present test.
        self.name = ""
        self.findings: list[Finding] = []
        self.stderr: list[str] = []
        self.positions = positions_for(job.settings)
        #: The load of the machine in the minute before the check.
        self.load = os.getloadavg()[0]
        self.processors = os.cpu_count() or 1
        #: The limits of a short search; some engines crash on a limit that they do not know.
        self.quick = Limits(0.0, move_time_ms=60)
        if job.player.protocol == "usi":
            self.quick = Limits(0.0, clock_ms=(0, 0), byoyomi_ms=100)
        elif job.player.protocol == "gtp":
            self.quick = Limits(job.settings.hang_timeout)

    def engine(self) -> Engine:
        """Return the engine, set up; replace a process that has failed.

        Raises EngineError; `complaints` has all problems with the player's settings.
        """
        if self.running is None or not self.running.is_usable():
            self.drop()
            self.running = self._make()
            if not self.running.is_usable():
                timeout = start_timeout(self.settings, self.player)
                self.running.launch(GameTranscript("", of_faults=True), timeout=timeout)
            self.complaints = self.running.check(self.settings)
            if self.complaints:
                raise EngineNotStarted(str(self.complaints[0]), self.player.code)
            channel = self.running.channel
            self.start, channel.transcript = channel.transcript, self.dialogue
        return self.running

    def drop(self, patience: float = 0.2) -> None:
        """End the process, if there is one."""
        if self.running is not None:
            if self.running.is_launched and self.job.show_stderr and len(self.stderr) < 1000:
                self.stderr += self.running.channel.errors.take()
            self.running.end(patience)

    # findings; `name` is that of the present test, unless given

    def note(
        self,
        status: Literal["pass", "skip", "warn", "fail"],
        detail: str = "",
        name: str = "",
        exchange: Lines = (),
    ) -> None:
        """Record a finding."""
        self.findings.append(Finding(status, name or self.name, one_line(detail, DETAIL), exchange))

    def judge(
        self,
        fault: str,
        detail: str = "",
        name: str = "",
        *,
        spoils: bool = False,
        is_timed: bool = False,
        exchange: Lines | None = None,
    ) -> None:
        """Record a fault, or a passed test with `detail` if there is no fault.

        spoils    whether the fault would spoil games ("fail", else "warn")
        is_timed  whether a busy machine excuses it
        exchange  protocol lines that show it; None: the last ones
        """
        if not fault:
            return self.note("pass", detail, name)
        if is_timed and self.load > self.processors:
            load = f"a load of {self.load:.1f} on {self.processors}"
            return self.note("skip", f"{fault} (the machine is busy: {load})", name)
        if exchange is None:
            exchange = self.evidence()
            if self.running is not None and not self.running.is_usable():
                stderr = self.running.last_words().splitlines()[-3:]
                exchange += tuple(f"! {one_line(line, WIDTH)}" for line in stderr)
        self.note("fail" if spoils else "warn", fault, name, exchange)

    def evidence(self) -> Lines:
        """Return the last two requests and the ends of the answers, with "> " or "< " before
        each line."""
        lines, requests, room = list[str](), 0, RECEIVED
        for _, _, direction, data in reversed(self.dialogue.entries):
            most = SENT if direction == ">" else room
            # a flood is cut before it is split
            last = data[-most * LINE_BYTES :].split(b"\n")[-most:] if most else []
            for line in reversed(last):
                text = line[:LINE_BYTES].decode("utf-8", "replace")
                lines.append(f"{direction} {one_line(text, WIDTH)}")
            requests += direction == ">"
            room = RECEIVED if direction == ">" else room - len(last)
            if requests == 2:
                break
        return tuple(reversed(lines))

    # dialogues; all raise EngineError

    def begin(self, position: CheckPosition, *, new_game: bool = True) -> None:
        """Set up a position.

        new_game  whether to prepare the engine as between games: a filled hash table would give
                  the answer at once
        """
        engine = self.engine()
        engine.end_game("draw")
        engine.checked_for = None if new_game else self.settings
        engine.start_game(self.settings, position.opening, 0)

    def think(self, limits: Limits, colour: int = 0) -> Search:
        """Request a move, with `stop` after `limits.seconds` and `patience.search`.

        Raises EngineTimeout when the engine ignores `stop`, too.
        """
        engine, patience = self.engine(), self.patience
        limits = dataclasses.replace(limits, seconds=limits.seconds + patience.search)
        engine.send_time(limits)
        try:
            thought = engine.think(colour, limits)
        except EngineTimeout as error:
            answer = engine.stop_thinking(patience.stop)
            if answer is None:
                is_gtp = self.player.protocol == "gtp"
                late = "" if is_gtp else f", nor after 'stop' in {patience.stop:g} s"
                raise EngineTimeout(f"{error}{late}", self.player.code) from None
            ms = 1000 * limits.seconds + answer.elapsed_ns / 1e6
            return Search(answer, ms, was_stopped=self.player.protocol != "gtp")
        return Search(thought, thought.elapsed_ns / 1e6)
