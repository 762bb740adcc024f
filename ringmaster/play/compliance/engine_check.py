"""One engine under test: its process, its findings, and searches that always end."""

from __future__ import annotations

import os
import select
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from ringmaster.engines.channel import Exchange, Transcript
from ringmaster.engines.engine import Engine, start_timeout
from ringmaster.engines.uci_messages import Go, OptionDeclaration, read_info, score_line
from ringmaster.errors import EngineNotStarted, EngineTimeout
from ringmaster.games.clean_text import one_line
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import Player
from ringmaster.model.results import Finding, Problem
from ringmaster.play.compliance.positions import CheckPosition, positions_for

DETAIL, WIDTH = 300, 160  # characters of a finding's detail and of a protocol line in a finding
SENT, RECEIVED = 3, 4  # lines kept of each request and of each answer in the transcript's tail
#: Lines kept of a handshake, info lines kept of a search, bytes kept of a line and of a read.
HANDSHAKE_LINES, INFO_LINES, LINE_BYTES, READ_BYTES = 5000, 200, 4096, 1 << 18

Lines = tuple[str, ...]
Status = Literal["pass", "skip", "warn", "fail"]


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
    whole: float = 60.0  # for all tests; starts of the engine are not counted


class TranscriptTail:
    """The handshake, and the last two requests with their answers; `full` receives all lines."""

    def __init__(self, full: Transcript | None = None) -> None:
        self._full = full
        self.handshake: list[str] = []
        self.is_opening = True
        self.turns: deque[tuple[list[bytes], deque[bytes]]] = deque(maxlen=2)

    def note(self, code: str, direction: str, data: bytes) -> None:
        """Record lines; see channel.Transcript."""
        if self._full is not None:
            self._full.note(code, direction, data)
        if direction == ">":
            self.turns.append((data.split(b"\n")[-SENT:], deque(maxlen=RECEIVED)))
        elif direction == "<":
            if self.is_opening and len(self.handshake) < HANDSHAKE_LINES:
                text = data[:READ_BYTES].decode("utf-8", "replace")
                self.handshake += [line.strip() for line in text.split("\n")]
            if self.turns:
                # a flood is cut before it is split
                self.turns[-1][1].extend(data[-RECEIVED * LINE_BYTES :].split(b"\n"))

    def evidence(self) -> Lines:
        """Return the last two requests and answers, with "> " or "< " before each line."""
        return tuple(
            f"{mark} {one_line(line[:LINE_BYTES].decode('utf-8', 'replace'), WIDTH)}"
            for turn in self.turns
            for mark, lines in zip("><", turn, strict=True)
            for line in lines
        )


class Search(Go):
    """A search that keeps its last info lines.

    ms           from the last byte of the request to the move
    was_stopped  whether the engine ignored its limit until `stop`
    """

    was_stopped = False
    ms = 0.0

    def __init__(self, position: CheckPosition, go: str) -> None:
        super().__init__(f"position {position.arguments}\n{go}\n".encode())
        self.infos = deque[bytes](maxlen=INFO_LINES)

    def take(self, lines: bytes) -> bytes | None:
        for line in lines[-READ_BYTES:].split(b"\n"):
            if line.startswith(b"info ") and not line.startswith(b"info string"):
                self.infos.append(line[:LINE_BYTES])
        return super().take(lines)

    def most(self, name: str) -> int | None:
        """Return the highest count of a name in the info lines, or None."""
        counts = map(read_info, self.infos)
        return max((numbers[name] for numbers in counts if name in numbers), default=None)

    def score(self) -> int | None:
        """Return the mover's score or mate (its sign counts), None without one."""
        numbers = read_info(score_line(b"\n".join(self.infos)))
        # "mate 0": the side to move has been mated
        return numbers["mate"] or -1 if "mate" in numbers else numbers.get("score")


@dataclass
class EngineCheck:
    """One player's engine under test, with its findings and measurements."""

    player: Player
    settings: GameSettings
    make: Callable[[], Engine]  # returns the engine, not launched
    tail: TranscriptTail = field(default_factory=TranscriptTail)
    patience: Patience = field(default_factory=Patience)
    is_trial: bool = False  # before a first game, where every fault is a warning
    name: str = ""  # of the test that runs
    findings: list[Finding] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)
    complaints: list[Problem] | None = None  # of the first process about settings; None before it
    handshake_seconds: float = 0.0
    setup_seconds: float = 0.0
    starting: float = 0.0  # seconds of all starts
    over_ms: float = 0.0  # the longest overstepping of a time limit
    move_seconds: float = 0.0  # of a move in games; 0: unknown
    options: dict[str, OptionDeclaration] = field(default_factory=dict)  # by casefolded name
    #: The load of the machine in the minute before the check.
    load: float = field(default_factory=lambda: os.getloadavg()[0])
    processors: int = os.cpu_count() or 1
    running: Engine | None = None

    def __post_init__(self) -> None:
        self.positions = positions_for(self.player, self.settings)
        #: A `go` command for a short search; some engines crash on a limit that they do not know.
        is_usi = self.player.protocol == "usi"
        self.quick = "go btime 0 wtime 0 byoyomi 100" if is_usi else "go movetime 60"

    def engine(self) -> Engine:
        """Return the engine, set up; start it if there is no process.

        Raises EngineNotStarted, also when a new process cannot be set up like the first.
        """
        if self.running is not None and self.running.is_usable():
            return self.running
        self.drop()
        self.tail.turns.clear()
        self.running = self.make()
        start = time.monotonic()
        self.running.launch(self.tail, timeout=start_timeout(self.settings, self.player))
        ready = time.monotonic()
        self.tail.is_opening = False
        complaints = self.running.check(self.settings)
        end = time.monotonic()
        self.starting += end - start
        if self.complaints is None:
            self.complaints = complaints
            self.handshake_seconds, self.setup_seconds = ready - start, end - ready
        elif complaints:
            raise EngineNotStarted(str(complaints[0]), self.player.code)
        return self.running

    def drop(self, patience: float = 0.2) -> None:
        """End the process, if there is one."""
        if self.running is not None:
            if self.running.is_launched and len(self.stderr) < 1000:
                self.stderr += self.running.channel.take_stderr()
            self.running.end(patience)

    # findings; `name` is that of the test that runs, unless given

    def note(self, status: Status, detail: str = "", name: str = "", shown: Lines = ()) -> None:
        self.findings.append(Finding(status, name or self.name, one_line(detail, DETAIL), shown))

    def judge(
        self,
        fault: str,
        detail: str = "",
        name: str = "",
        *,
        matters: bool = False,
        exchange: Lines | None = None,
        is_late: bool = False,
    ) -> None:
        """Record a fault, or a passed test with `detail` if there is no fault.

        matters   whether the fault would spoil games ("fail", else "warn")
        exchange  protocol lines that show it; None: the last ones
        is_late   whether a busy machine may be the cause; then there is no verdict
        """
        if not fault:
            return self.note("pass", detail, name)
        if is_late and self.load > self.processors:
            busy = f"the machine is busy: a load of {self.load:.1f} on {self.processors}"
            return self.note("skip", f"{fault} ({busy})", name)
        if exchange is None:
            exchange = self.tail.evidence()
            if self.running is not None and not self.running.is_usable():
                stderr = self.running.last_words().splitlines()[-3:]
                exchange += tuple(f"! {one_line(line, WIDTH)}" for line in stderr)
        self.note("fail" if matters and not self.is_trial else "warn", fault, name, exchange)

    @property
    def margin_ms(self) -> float:
        """Milliseconds by which a move may overstep its time in games."""
        margin = self.settings.margin if self.player.margin is None else self.player.margin
        return 1000 * margin

    # dialogues; all raise EngineError

    def converse(self, exchange: Exchange, seconds: float) -> float | None:
        """Carry out an exchange; return its milliseconds, None without an answer in time.

        The process stays in use.
        """
        channel = self.engine().channel
        try:
            return channel.converse(exchange, seconds) / 1e6
        except EngineTimeout:
            channel.has_failed = False
            return None

    def stop(self, search: Search) -> float | None:
        """Stop a search; return the milliseconds until its move.

        Ends the process and returns None without a move in time.
        """
        search.request, search.was_stopped = b"stop\n", True
        ms = self.converse(search, self.patience.stop)
        if ms is None:
            self.drop()
        return ms

    def search(
        self,
        go: str,
        position: CheckPosition | None = None,
        allowed: int = 0,
        *,
        new_game: bool = True,
    ) -> Search:
        """Search, with `stop` after `patience.search` and `allowed` ms.

        position  None: the middlegame
        new_game  whether to begin a game: a filled hash table would give the answer at once

        Raises EngineTimeout when the engine ignores `stop`, too.
        """
        seconds = self.patience.search + allowed / 1000
        if new_game:
            self.new_game()
        self.engine().channel.discard_input()
        search = Search(position or self.positions[0], go)
        ms = self.converse(search, seconds)
        if ms is None:
            ms = self.stop(search)
            if ms is None:
                late = f"no bestmove after {go!r} in {seconds:g} s, nor after 'stop'"
                raise EngineTimeout(f"{late} in {self.patience.stop:g} s", self.player.code)
            ms += 1000 * seconds
        search.ms = ms
        return search

    def new_game(self, *moves: str) -> None:
        """Begin a game as in a match, with some moves played."""
        engine = self.engine()
        engine.end_game("draw")
        engine.checked_for = None
        engine.start_game(self.settings, Opening(moves=moves), 0)

    def judge_silence(self, name: str, *, matters: bool = False) -> None:
        """Judge output without a request."""
        channel = self.engine().channel
        select.select([channel.process.stdout_fd], [], [], self.patience.quiet)
        text = one_line(channel.unasked().decode("utf-8", "replace"), 100)
        fault = f"the engine also prints {text!r}" if text else ""
        self.judge(fault, name=name, matters=matters)

    def try_quit(self) -> None:
        """Judge whether the process ends after `quit`."""
        seconds = self.patience.quit
        self.engine().channel.send(b"quit\n", seconds)
        assert self.running is not None
        process = self.running.channel.process
        if not process.wait(seconds):
            self.judge(f"the engine has not exited after {seconds:g} s")
        else:
            status = process.exit_status()
            self.judge("" if status == "status 0" else f"the engine exits with {status}")
        self.drop()
