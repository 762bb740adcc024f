"""One engine under test: its process, its findings, and dialogues that always end."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ringmaster.engines.channel import Exchange, Transcript
from ringmaster.engines.engine import Engine, start_timeout
from ringmaster.engines.uci_messages import (
    LONG_MATE,
    OptionDeclaration,
    read_info,
    read_pv,
    score_line,
)
from ringmaster.errors import EngineNotStarted, EngineTimeout
from ringmaster.games.clean_text import one_line
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import Player
from ringmaster.model.results import Finding, Problem
from ringmaster.play.compliance.positions import UCI, CheckPosition, Dialect

DETAIL, WIDTH = 300, 160  # characters of a finding's detail and of a protocol line in a finding
MOST_FAULTS = 5  # faults of one kind that are reported
SENT, RECEIVED = 3, 4  # lines kept of each request and of each answer in the transcript's tail
#: Lines kept of a handshake and bytes of each read, lines kept of an answer, bytes of a line.
HANDSHAKE_LINES, HANDSHAKE_BYTES, ANSWER_LINES, LINE_BYTES = 5000, 1 << 18, 200, 4096

_NUMBER = re.compile(r"[+-]?\d{1,15}")
#: The words of an info line behind which there are no numbers.
_FREE_TEXT = re.compile(r"(?<!\S)(?:pv|string)(?!\S)")
_COUNTS = ("depth", "seldepth", "time", "nodes", "nps", "hashfull", "tbhits", "multipv")

#: Protocol lines; the text of a fault with the lines that show it.
Lines = tuple[str, ...]
Fault = tuple[str, Lines]
Status = Literal["pass", "skip", "warn", "fail"]


@dataclass(frozen=True)
class Patience:
    """Seconds to wait."""

    search: float = 3.0  # beyond a search's limit, until `stop` is sent
    stop: float = 2.0  # from `stop` to the move, and for readyok during a search
    quiet: float = 0.05  # for unexpected lines
    idle: float = 0.2  # of a search without a limit
    quit: float = 2.0  # from `quit` to the end of the process
    whole: float = 60.0  # for all tests; starts of the engine are not counted
    starts: float = 20.0  # for all starts; after this, optional tests are left out


class TranscriptTail:
    """The handshake, and the last two requests with their answers; `full` receives all lines."""

    def __init__(self, full: Transcript | None = None) -> None:
        self._full = full
        #: Lines of the handshake, collected while `is_opening`.
        self.handshake: list[str] = []
        self.is_opening = True
        self.turns: deque[tuple[list[bytes], deque[bytes]]] = deque(maxlen=2)

    def note(self, code: str, direction: str, data: bytes) -> None:
        """Record lines; direction is ">", "<" or "!" (standard error)."""
        if self._full is not None:
            self._full.note(code, direction, data)
        if direction == ">":
            self.turns.append((data.split(b"\n")[-SENT:], deque(maxlen=RECEIVED)))
        elif direction == "<":
            if self.is_opening and len(self.handshake) < HANDSHAKE_LINES:
                text = data[:HANDSHAKE_BYTES].decode("utf-8", "replace")
                self.handshake += [line.strip() for line in text.split("\n")]
            if self.turns:
                # a flood is cut before it is split
                self.turns[-1][1].extend(data[-RECEIVED * LINE_BYTES :].split(b"\n"))

    def evidence(self) -> tuple[str, ...]:
        """Return the last two requests and answers, with "> " or "< " before each line."""
        return tuple(
            f"{mark} {_text(line, WIDTH)}"
            for turn in self.turns
            for mark, lines in zip("><", turn, strict=True)
            for line in lines
        )


def _text(line: bytes, limit: int = 100) -> str:
    return one_line(line[: 4 * limit].decode("utf-8", "replace"), limit)


class Info:
    """One info line.

    score, mate  as `read_score` returns them
    sign         of the score or mate; 0: neither
    problem      an unreadable part, or ""
    """

    def __init__(self, line: bytes) -> None:
        head = _FREE_TEXT.split(line.decode("utf-8", "replace"))[0]
        self.counts = read_info(head.encode())
        self.score, self.mate = self.counts.get("score"), self.counts.get("mate")
        # "mate 0": the side to move has been mated
        value = self.score or 0 if self.mate is None else self.mate or -1
        self.sign = (value > 0) - (value < 0)
        self.pv = read_pv(line)
        self.problem = _unreadable(head.split(), self.counts)

    def __str__(self) -> str:
        """Return the score as the protocol writes it."""
        if self.mate is None:
            return f"cp {self.score}"
        return "mate " + {LONG_MATE: "+", -LONG_MATE: "-"}.get(self.mate, str(self.mate))


def _unreadable(words: list[str], numbers: dict[str, int]) -> str:
    for word, value in itertools.zip_longest(words, words[1:], fillvalue=""):
        if word in _COUNTS and not _NUMBER.fullmatch(value):
            return f"{word} {one_line(value, 20)!r} is no number"
    if "score" in words and not {"score", "mate"} & numbers.keys():
        value = " ".join(words[words.index("score") + 1 :][:2])
        return f"score {one_line(value, 30)!r} is neither cp nor mate"
    return ""


class Dialogue(Exchange):
    """A request, and the lines up to the one that ends the answer.

    ends   beginnings of the line that ends the answer
    lines  the last lines before it
    last   the line that ended the answer, "" until then
    ms     from the last byte of the request to the end of the answer
    """

    def __init__(self, request: str, *ends: bytes) -> None:
        self.request = request.encode()
        self._ends = ends
        self.lines = deque[bytes](maxlen=ANSWER_LINES)
        self.last = ""
        self.ms = 0.0

    def feed(self, line: bytes) -> bool:
        line = line.lstrip()
        if line.startswith(self._ends):
            self.last = _text(line, 200)
        elif line.strip():
            self.lines.append(line[:LINE_BYTES])
        return self.last != ""

    def texts(self) -> list[str]:
        """Return the lines that are no info lines."""
        return [_text(line) for line in self.lines if not line.startswith(b"info")]


class Search(Dialogue):
    """A search.

    was_stopped  whether the engine ignored its limit until `stop`
    over, late   ms beyond the allowed time (negative: in time), and whether games allow less
    """

    was_stopped = late = False
    over = 0.0

    def __init__(self, position: CheckPosition, go: str) -> None:
        super().__init__(f"position {position.arguments}\n{go}\n", b"bestmove")

    @property
    def bestmove(self) -> str:
        return "".join(self.last.split()[1:2])[:40]

    @property
    def ponder(self) -> str:
        return "".join(self.last.partition(" ponder ")[2].split()[:1])[:40]

    @property
    def infos(self) -> list[Info]:
        """The last info lines; a line that was cut is left out."""
        return [Info(x) for x in self.lines if x.startswith(b"info") and len(x) < LINE_BYTES]

    def most(self, name: str) -> int | None:
        """Return the highest count of a name in the info lines, or None."""
        return max((i.counts[name] for i in self.infos if name in i.counts), default=None)

    def reached(self, name: str) -> str:
        """Return the nodes or the depth of the search in words."""
        count = self.most(name)
        if count is None:
            return f"without reporting its {name}"
        return f"{count:,} nodes" if name == "nodes" else f"to depth {count}"

    def final_info(self) -> Info | None:
        """Return the last info line with a score of the best line, if possible an exact score."""
        info = Info(score_line(b"\n".join(self.lines)))
        return None if info.score is None and info.mate is None else info


#: A position; None: the middlegame.
Where = CheckPosition | None


@dataclass
class EngineCheck:
    """One player's engine under test, with its findings and measurements."""

    player: Player
    settings: GameSettings
    make: Callable[[], Engine]  # returns the engine, not launched
    tail: TranscriptTail
    patience: Patience
    dialect: Dialect = UCI
    name: str = ""  # of the test that runs
    matters: bool = False  # whether games depend on this test
    findings: list[Finding] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)
    complaints: list[Problem] | None = None  # of the first process about settings; None before it
    handshake_seconds: float = 0.0
    setup_seconds: float = 0.0
    starting: float = 0.0  # seconds of all starts
    over: float = 0.0  # the longest overstepping in ms of a limit that the games have
    move_seconds: float = 0.0  # of a move in games; 0: unknown
    usable: dict[str, str] = field(default_factory=dict)  # `go` commands with a limit that it obeys
    options: dict[str, OptionDeclaration] = field(default_factory=dict)  # by casefolded name
    is_repeatable: bool = True
    needs_restart: bool = False  # whether a new process answered after the old one broke down
    grows: bool = False  # whether memory grew from game to game
    #: The load of the machine in the minute before the check.
    load: float = field(default_factory=lambda: os.getloadavg()[0])
    processors: int = os.cpu_count() or 1
    running: Engine | None = None

    # the process

    def engine(self) -> Engine:
        """Return the engine, set up; start it if there is no process.

        Raises EngineNotStarted, also when a new process cannot be set up like the first.
        """
        if self.running is not None and self.running.is_usable():
            return self.running
        self.drop()
        self.tail.turns.clear()
        former, self.running = self.running, self.make()
        self.running.takes_one_command = former is not None and former.takes_one_command
        start = time.monotonic()
        self.running.launch(self.tail, timeout=start_timeout(self.settings, self.player))
        if self.running.remarks:
            # measure a second start: the remark took time
            self.drop()
            return self.engine()
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
        detail = one_line(detail, DETAIL)
        self.findings.append(Finding(status, name or self.name, detail, shown))

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
        is_late   whether a busy machine may be the cause; then it is only a warning
        """
        if not fault:
            return self.note("pass", detail, name)
        if exchange is None:
            exchange = self.tail.evidence()
            if self.running is not None and not self.running.is_usable():
                stderr = self.running.last_words().splitlines()[-3:]
                exchange += tuple(f"! {one_line(line, WIDTH)}" for line in stderr)
        if is_late and self.is_busy:
            matters = False
            fault += f" (the machine is busy: a load of {self.load:.1f} on {self.processors})"
        self.note("fail" if matters else "warn", fault, name, exchange)

    def judge_all(
        self, faults: Sequence[Fault], detail: str, name: str = "", *, matters: bool = False
    ) -> None:
        """Record the first faults, or a passed test if there are none and there is a detail."""
        more = f"and {len(faults) - MOST_FAULTS} more"
        rest = [(more, ())] if len(faults) > MOST_FAULTS else []
        for fault, exchange in [*faults[:MOST_FAULTS], *rest]:
            self.judge(fault, "", name, matters=matters, exchange=exchange)
        if detail and not faults:
            self.note("pass", detail, name)

    @property
    def is_busy(self) -> bool:
        """Whether the load is higher than the number of processors."""
        return self.load > self.processors

    @property
    def margin_ms(self) -> float:
        """Milliseconds by which a move may overstep its time in games."""
        margin = self.settings.margin if self.player.margin is None else self.player.margin
        return 1000 * margin

    # dialogues; all raise EngineError

    def converse(self, dialogue: Dialogue, seconds: float | None = None) -> Dialogue:
        """Carry out a dialogue (None: hang_timeout), and return it."""
        seconds = seconds or self.settings.hang_timeout
        dialogue.ms = self.engine().channel.converse(dialogue, seconds) / 1e6
        return dialogue

    def is_answered(self, dialogue: Dialogue, seconds: float) -> bool:
        """Carry out a dialogue; return whether the answer came in time.

        The process stays in use.
        """
        channel = self.engine().channel
        try:
            self.converse(dialogue, seconds)
        except EngineTimeout:
            channel.has_failed = False
        return dialogue.last != ""

    def begin_search(self, go: str, seconds: float, position: Where = None) -> Search:
        """Search for some seconds; the search may go on afterwards."""
        self.engine().channel.discard_input()
        search = Search(position or self.dialect.middlegame, go)
        self.is_answered(search, seconds)
        return search

    def is_stopped(self, search: Search) -> bool:
        """Stop a search, or end the process; `ms` is then the time since `stop`."""
        search.request, search.was_stopped = b"stop\n", True
        if not self.is_answered(search, self.patience.stop):
            self.drop()
        return search.last != ""

    def search(self, go: str, allowed: float | None = None, position: Where = None) -> Search:
        """Search, with `stop` after `patience.search` and `allowed` ms.

        Raises EngineTimeout when the engine ignores `stop`, too.
        """
        seconds = self.patience.search + (allowed or 0) / 1000
        search = self.begin_search(go, seconds, position)
        if not search.last:
            if not self.is_stopped(search):
                late = f"no bestmove after {go!r} in {seconds:g} s, nor after 'stop'"
                raise EngineTimeout(f"{late} in {self.patience.stop:g} s", self.player.code)
            search.ms += 1000 * seconds
        if allowed is not None:
            search.over = search.ms - allowed
            search.late = search.was_stopped or search.over > self.margin_ms
        return search

    def new_game(self, *moves: str) -> float:
        """Begin a game as in a match, with some moves played; return the milliseconds."""
        start, engine = time.monotonic(), self.engine()
        engine.end_game("draw")
        engine.checked_for = None
        engine.start_game(self.settings, Opening(moves=moves), 0)
        return 1000 * (time.monotonic() - start)

    def search_in_new_game(
        self, go: str, allowed: float | None = None, position: Where = None
    ) -> Search:
        """Search in a game of its own: a filled hash table would give the answer at once.

        After a late answer the better of two tries counts: the machine may have been busy.
        """
        self.new_game()
        search = self.search(go, allowed, position)
        if not search.late or search.was_stopped:
            return search
        self.new_game()
        return min(search, self.search(go, allowed, position), key=lambda s: s.ms)

    def unexpected_lines(self) -> list[str]:
        """Return lines that the engine prints without a request."""
        dialogue = Dialogue("")
        self.is_answered(dialogue, self.patience.quiet)
        rest = self.engine().channel.unasked().splitlines()[:2]
        return [_text(line) for line in (*dialogue.lines, *rest)]

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
