"""One engine under test: its process, its findings, and searches that always end."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ringmaster.engines.channel import Exchange, Transcript
from ringmaster.engines.engine import Engine, start_timeout
from ringmaster.engines.uci_messages import LONG_MATE, OptionDeclaration, read_info
from ringmaster.errors import EngineError, EngineTimeout
from ringmaster.games.clean_text import one_line
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import Finding, Problem
from ringmaster.play.compliance.positions import UCI, CheckPosition, Dialect

#: Characters of a finding's detail and of a protocol line in a finding.
DETAIL, WIDTH = 300, 160
#: Lines kept of each request and of each answer in the transcript's tail.
SENT, RECEIVED = 3, 4
#: Bytes kept of a handshake, lines kept of an answer, and bytes of a line.
HANDSHAKE_BYTES, ANSWER_LINES, LINE_BYTES = 1 << 18, 200, 4096

_NUMBER = re.compile(r"[+-]?\d{1,15}")
#: The words of an info line behind which there are no numbers.
_FREE_TEXT = re.compile(r"(?<!\S)(pv|string)(?!\S)")
_COUNTS = ("depth", "seldepth", "time", "nodes", "nps", "hashfull", "tbhits", "multipv")


@dataclass(frozen=True)
class Patience:
    """Seconds to wait.

    search  beyond a search's limit, until `stop` is sent
    stop    from `stop` to the move, and for readyok during a search
    quiet   for unexpected lines
    idle    of a search without a limit
    quit    from `quit` to the end of the process
    whole   for all tests; starts of the engine are not counted
    starts  for all starts; after this, tests that may crash an engine are left out
    """

    search: float = 3.0
    stop: float = 2.0
    quiet: float = 0.05
    idle: float = 0.2
    quit: float = 2.0
    whole: float = 60.0
    starts: float = 20.0


class TranscriptTail:
    """Keep the handshake and the last two requests with their answers.

    full  receives all lines, too
    """

    def __init__(self, full: Transcript | None = None) -> None:
        self._full = full
        #: Bytes of the handshake, collected while `is_opening`.
        self.handshake = b""
        self.is_opening = True
        #: Lines that began with "bestmove", counted since the last reset.
        self.bestmoves = 0
        self._turns: deque[tuple[list[bytes], list[bytes]]] = deque(maxlen=2)

    def note(self, code: str, direction: str, data: bytes) -> None:
        """Record lines; direction is ">", "<" or "!" (standard error)."""
        if self._full is not None:
            self._full.note(code, direction, data)
        if direction == ">":
            self._turns.append((data.split(b"\n")[-SENT:], []))
        elif direction == "<":
            self.bestmoves += data.count(b"\nbestmove") + data.startswith(b"bestmove")
            if self.is_opening:
                self.handshake = (self.handshake + data + b"\n")[:HANDSHAKE_BYTES]
            if self._turns:
                answer = self._turns[-1][1]
                # a flood is cut before it is split
                answer += data[-RECEIVED * LINE_BYTES :].rsplit(b"\n", RECEIVED)[-RECEIVED:]
                del answer[:-RECEIVED]

    def forget(self) -> None:
        """Clear the requests of a former process."""
        self._turns.clear()
        self.bestmoves = 0

    def evidence(self) -> tuple[str, ...]:
        """Return the last two requests and answers, with "> " or "< " before each line."""
        return tuple(
            f"{mark} {_text(line, WIDTH)}"
            for turn in self._turns
            for mark, lines in zip("><", turn, strict=True)
            for line in lines
        )


def _text(line: bytes, limit: int = 100) -> str:
    return one_line(line[: 4 * limit].decode("utf-8", "replace"), limit)


@dataclass
class Info:
    """One info line.

    score  centipawns
    mate   in the protocol's unit; None with `is_mate`: a mate of unknown length ("+", "-" in USI)
    sign   of the score or mate; 0: neither
    bound  whether the score is only a bound
    """

    counts: dict[str, int] = field(default_factory=dict)
    score: int | None = None
    mate: int | None = None
    is_mate: bool = False
    sign: int = 0
    bound: bool = False
    pv: tuple[str, ...] = ()
    problem: str = ""

    @classmethod
    def parse(cls, line: bytes) -> Info:
        """Read a line; `problem` names an unreadable part."""
        parts = _FREE_TEXT.split(line.decode("utf-8", "replace"), maxsplit=1)
        words = parts[0].split()
        numbers = read_info(parts[0].encode())
        score, mate = numbers.get("score"), numbers.get("mate")
        # "mate 0": the side to move has been mated
        value = score or 0 if mate is None else mate or -1
        return cls(
            counts=numbers,
            score=score,
            mate=None if mate is None or abs(mate) == LONG_MATE else mate,
            is_mate=mate is not None,
            sign=(value > 0) - (value < 0),
            bound="lowerbound" in words or "upperbound" in words,
            pv=tuple(parts[2].split()) if parts[1:2] == ["pv"] else (),
            problem=_unreadable(words, has_score=score is not None or mate is not None),
        )

    def __str__(self) -> str:
        """Return the score as the protocol writes it."""
        if not self.is_mate:
            return f"cp {self.score}"
        return f"mate {('+' if self.sign > 0 else '-') if self.mate is None else self.mate}"


def _unreadable(words: list[str], *, has_score: bool) -> str:
    """Return the fault of an info line's numbers, or ""."""
    for word, value in zip(words, [*words[1:], ""], strict=True):
        if word in _COUNTS and not _NUMBER.fullmatch(value):
            return f"{word} {one_line(value, 20)!r} is no number"
    if "score" in words and not has_score:
        value = " ".join(words[words.index("score") + 1 :][:2])
        return f"score {one_line(value, 30)!r} is neither cp nor mate"
    return ""


class Dialogue(Exchange):
    """A request, and the lines up to the one that ends the answer.

    ends   whether a line ends the answer
    lines  the last lines before it; given: those of an answer that continues
    last   the line that ended the answer
    """

    def __init__(
        self, request: bytes, ends: Callable[[bytes], bool], lines: deque[bytes] | None = None
    ) -> None:
        self.request = request
        self._ends = ends
        self.lines = deque[bytes](maxlen=ANSWER_LINES) if lines is None else lines
        self.last = b""

    def feed(self, line: bytes) -> bool:
        if self._ends(line):
            self.last = line
            return True
        if line.strip():
            self.lines.append(line[:LINE_BYTES])
        return False

    def texts(self) -> list[str]:
        """Return the lines that are no info lines, as text."""
        return [_text(line) for line in self.lines if not line.startswith(b"info")]


def search_for(request: str, lines: deque[bytes] | None = None) -> Dialogue:
    """Return the dialogue of a search that ends with bestmove."""
    return Dialogue(request.encode(), lambda line: line.startswith(b"bestmove"), lines)


@dataclass
class Answer:
    """The result of a search.

    ms           from the last byte of `go` to bestmove
    was_stopped  whether the engine ignored its limit until `stop`
    """

    bestmove: str
    ponder: str
    infos: list[Info]
    ms: float
    was_stopped: bool = False

    @classmethod
    def read(cls, dialogue: Dialogue, ms: float, *, was_stopped: bool = False) -> Answer:
        """Read a finished search."""
        words = [*_text(dialogue.last, 200).split()[1:4], "", "", ""]
        ponder = words[2] if words[1] == "ponder" else ""
        # the start of a longer line is not enough
        lines = (line for line in dialogue.lines if len(line) < LINE_BYTES)
        infos = [Info.parse(line) for line in lines if line.startswith(b"info")]
        return cls(one_line(words[0], 40), one_line(ponder, 40), infos, ms, was_stopped)

    def most(self, name: str) -> int | None:
        """Return the highest count of a name in the info lines, or None."""
        return max((i.counts[name] for i in self.infos if name in i.counts), default=None)

    def final_info(self) -> Info | None:
        """Return the last info line with a score of the best line, if possible an exact score."""
        scored = [
            info
            for info in self.infos
            if (info.score is not None or info.is_mate) and info.counts.get("multipv", 1) == 1
        ]
        return next(reversed([info for info in scored if not info.bound] or scored), None)


class NotSetUp(EngineError):
    """A new process could not be set up like the first."""


class EngineCheck:
    """One player's engine under test, with its findings and measurements.

    make  returns the engine, not launched
    """

    def __init__(
        self,
        player: Player,
        settings: GameSettings,
        make: Callable[[], Engine],
        tail: TranscriptTail,
        patience: Patience,
        dialect: Dialect = UCI,
    ) -> None:
        self.player = player
        self.settings = settings
        self.tail = tail
        self.patience = patience
        self.dialect = dialect
        self.findings: list[Finding] = []
        self.stderr: list[str] = []
        #: Problems with the settings of the first process.
        self.complaints: list[Problem] = []
        self.handshake_seconds = 0.0
        self.setup_seconds = 0.0
        #: Seconds of all starts.
        self.starting = 0.0
        #: The longest overstepping in ms of "clock" and "movetime".
        self.overstep: dict[str, float] = {}
        #: Seconds of a move in games; 0: unknown.
        self.move_seconds = 0.0
        #: `go` commands of short searches, by limit, for limits that the engine obeys.
        self.usable: dict[str, str] = {}
        #: Declared options by casefolded name.
        self.options: dict[str, OptionDeclaration] = {}
        self.is_repeatable = True
        #: Whether a new process answered after the old one broke down.
        self.needs_restart = False
        #: Whether memory grew from game to game.
        self.grows = False
        #: The load of the machine in the minute before the check.
        self.load = os.getloadavg()[0]
        self.processors = os.cpu_count() or 1
        self._make = make
        self._engine: Engine | None = None
        self._is_first = True

    # the process

    def engine(self) -> Engine:
        """Return the engine, set up; start it if there is no process.

        Raises EngineNotStarted, NotSetUp.
        """
        if self._engine is not None and self._engine.is_usable():
            return self._engine
        self.drop()
        self.tail.forget()
        former, self._engine = self._engine, self._make()
        self._engine.takes_one_command = former is not None and former.takes_one_command
        start = time.monotonic()
        self._engine.launch(self.tail, timeout=start_timeout(self.settings, self.player))
        if self._engine.remarks:
            # measure a second start: the remark took time
            self.drop()
            return self.engine()
        ready = time.monotonic()
        self.tail.is_opening = False
        complaints = self._engine.check(self.settings)
        self.starting += time.monotonic() - start
        if self._is_first:
            self._is_first = False
            self.complaints = complaints
            self.handshake_seconds = ready - start
            self.setup_seconds = time.monotonic() - ready
        elif complaints:
            raise NotSetUp(str(complaints[0]), self.player.code)
        return self._engine

    def adopt(self, engine: Engine) -> None:
        """Test a running engine that is set up."""
        self._engine = engine
        self._is_first = False
        self.tail.is_opening = False
        engine.channel.transcript = self.tail

    def drop(self, patience: float = 0.2) -> None:
        """End the process, if there is one."""
        if self._engine is not None:
            if self._engine.is_launched and len(self.stderr) < 1000:
                self.stderr += self._engine.channel.take_stderr()
            self._engine.end(patience)

    # findings

    def passed(self, name: str, detail: str = "") -> None:
        """Record a passed test."""
        self.findings.append(Finding("pass", name, one_line(detail, DETAIL)))

    def skipped(self, name: str, detail: str) -> None:
        """Record a test that was impossible, with the reason."""
        self.findings.append(Finding("skip", name, one_line(detail, DETAIL)))

    def failed(
        self,
        name: str,
        detail: str,
        *,
        matters: bool = True,
        exchange: tuple[str, ...] | None = None,
    ) -> None:
        """Record a fault.

        matters   whether it would spoil games ("fail", else "warn")
        exchange  protocol lines that show it; None: the last ones
        """
        if exchange is None:
            exchange = self.tail.evidence()
            if self._engine is not None and not self._engine.is_usable():
                stderr = self._engine.last_words().splitlines()[-3:]
                exchange = (*exchange, *(f"! {one_line(line, WIDTH)}" for line in stderr))
        text = one_line(detail, DETAIL)
        self.findings.append(Finding("fail" if matters else "warn", name, text, exchange))

    def warned(self, name: str, detail: str, exchange: tuple[str, ...] | None = None) -> None:
        """Record a fault that does no harm to games."""
        self.failed(name, detail, matters=False, exchange=exchange)

    def judged(
        self,
        name: str,
        fault: str,
        detail: str = "",
        *,
        matters: bool = False,
        exchange: tuple[str, ...] | None = None,
    ) -> None:
        """Record a fault, or a passed test with `detail` if there is no fault."""
        if fault:
            self.failed(name, fault, matters=matters, exchange=exchange)
        else:
            self.passed(name, detail)

    def late(self, name: str, detail: str, *, matters: bool) -> None:
        """Record a late answer; only a warning while the machine is busy."""
        if self.is_busy:
            detail += f" (the machine is busy: a load of {self.load:.1f} on {self.processors})"
        self.failed(name, detail, matters=matters and not self.is_busy)

    @property
    def is_busy(self) -> bool:
        """Whether the load is higher than the number of processors."""
        return self.load > self.processors

    @property
    def margin_ms(self) -> float:
        """Milliseconds by which a move may overstep its time in games."""
        margin = self.settings.margin if self.player.margin is None else self.player.margin
        return 1000 * margin

    def note_overstep(self, kind: str, ms: float) -> None:
        """Record by how much a "clock" or "movetime" was overstepped."""
        self.overstep[kind] = max(self.overstep.get(kind, 0.0), ms)

    # dialogues; all raise EngineError

    def converse(self, exchange: Exchange, seconds: float) -> float:
        """Carry out an exchange; return milliseconds."""
        return self.engine().channel.converse(exchange, seconds) / 1e6

    def starts_search(self, position: CheckPosition, go: str, seconds: float) -> Dialogue | Answer:
        """Search for some seconds; return the answer, or the dialogue if there is none yet."""
        channel = self.engine().channel
        channel.discard_input()
        self.tail.bestmoves = 0
        dialogue = search_for(f"{position.command}\n{go}\n")
        try:
            return Answer.read(dialogue, self.converse(dialogue, seconds))
        except EngineTimeout:
            channel.has_failed = False
        return dialogue

    def search(self, position: CheckPosition, go: str, seconds: float | None = None) -> Answer:
        """Search, with `stop` after `seconds` (None: `patience.search`).

        Raises EngineTimeout when the engine ignores `stop`, too.
        """
        seconds = self.patience.search if seconds is None else seconds
        answer = self.starts_search(position, go, seconds)
        if isinstance(answer, Answer):
            return answer
        try:
            stopped = self.stop(answer)
        except EngineTimeout:
            raise EngineTimeout(
                f"no bestmove after {go!r} in {seconds:g} s, "
                f"nor after 'stop' in {self.patience.stop:g} s",
                self.player.code,
            ) from None
        stopped.ms += 1000 * seconds
        return stopped

    def stop(self, search: Dialogue) -> Answer:
        """Stop a search; `Answer.ms` is the time since `stop`."""
        dialogue = search_for("stop\n", search.lines)
        return Answer.read(dialogue, self.converse(dialogue, self.patience.stop), was_stopped=True)

    def search_in_new_game(self, position: CheckPosition, go: str) -> Answer:
        """Search in a game of its own."""
        self.new_game()
        return self.search(position, go)

    def timed_search(self, position: CheckPosition, go: str, allowed: int) -> tuple[Answer, float]:
        """Search for `allowed` ms; return the answer and its lateness in ms (negative: in time).

        After a late answer the better of two tries counts: the machine may have been busy.
        """
        answers: list[Answer] = []
        while len(answers) < 2:
            # a filled hash table would give the answer at once
            self.new_game()
            answer = self.search(position, go, allowed / 1000 + self.patience.search)
            answers.append(answer)
            if answer.was_stopped or answer.ms - allowed <= self.margin_ms:
                break
        best = min(answers, key=lambda answer: answer.ms)
        return best, best.ms - allowed

    def new_game(self) -> float:
        """Announce a new game; return the milliseconds to readyok."""
        if self.dialect.name == "UCI":
            return self.ready(self.dialect.new_game)[0]
        # in USI gameover ends a game, and isready precedes usinewgame
        ms = self.ready("gameover draw")[0]
        self.engine().channel.send(f"{self.dialect.new_game}\n".encode(), self.patience.stop)
        return ms

    def ready(self, *before: str, seconds: float | None = None) -> tuple[float, list[str]]:
        """Send lines and isready; return the milliseconds to readyok, and lines before it."""
        request = "".join(f"{line}\n" for line in (*before, "isready"))
        dialogue = Dialogue(request.encode(), lambda line: line.strip() == b"readyok")
        patience = max(self.patience.search, self.settings.hang_timeout)
        return self.converse(dialogue, patience if seconds is None else seconds), dialogue.texts()

    def unexpected_lines(self) -> list[str]:
        """Return lines that the engine prints without a request."""
        channel = self.engine().channel
        dialogue = Dialogue(b"", lambda line: False)
        try:
            channel.converse(dialogue, self.patience.quiet)
        except EngineTimeout:
            channel.has_failed = False
        return [_text(line) for line in (*dialogue.lines, *channel.unasked().splitlines()[:2])]

    # limits that the engine is known to obey

    @property
    def quick(self) -> str:
        """A `go` command for a search of about 50 ms."""
        limits = ("nodes", "movetime", "depth", "clock")
        return next((self.usable[name] for name in limits if name in self.usable), "go movetime 60")

    @property
    def deep(self) -> str:
        """A `go` command for a search that sees a mate in two moves."""
        if "movetime" in self.usable:
            return "go movetime 300"
        if "nodes" in self.usable:
            return f"go nodes {6 * int(self.usable['nodes'].split()[-1])}"
        return self.dialect.go(6000, 6000) if "clock" in self.usable else self.quick

    @property
    def repeatable(self) -> str | None:
        """A `go` command that gives the same search each time, or None."""
        return self.usable.get("nodes") or self.usable.get("depth")
