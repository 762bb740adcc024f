"""The common part of the UCI and USI engines: commands, options, limits and the clock.

Unknown commands are ignored, as both protocols require.  A wrong option or position is
answered with an "info string" and changes nothing.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

from ringmaster import __version__
from ringmaster.demo.console import Console, Option, OptionError, Options

MATE = 30_000
#: Larger scores are mates in MATE - |score| plies.
MATE_BOUND = 29_000
MAX_DEPTH = 32
#: Larger than any score.
INFINITY = 32_000
#: Nodes between two checks of the clock and the input.
CHECK_EVERY = 256
#: Change of a weight that determines its coefficient, large against rounding.
_FAR = 100_000
#: Most characters of a position.
_MAX_POSITION = 200

#: Seconds reserved for the communication with the referee.
_OVERHEAD = 0.02
_LIMITS = (
    "depth",
    "nodes",
    "movetime",
    "wtime",
    "btime",
    "winc",
    "binc",
    "byoyomi",
    "movestogo",
    "mate",
)
_SUBCOMMANDS = (*_LIMITS, "infinite", "ponder", "searchmoves")

Limits = dict[str, int]


class Stopped(Exception):
    """Ends a search, which keeps its best move."""


class FinishedDepth(NamedTuple):
    """A finished iteration: `score` in centipawns for the mover, `line` of expected moves."""

    depth: int
    score: int
    nodes: int
    line: list[int]


class Deepening(ABC):
    """A search by iterative deepening of one position.

    limit     most nodes, None for no limit
    on_check  called every CHECK_EVERY nodes; raises Stopped to end the search
    """

    def __init__(
        self, limit: int | None = None, on_check: Callable[[], None] | None = None
    ) -> None:
        self.nodes = 0
        #: The best move so far.
        self.best: int | None = None
        self._line: list[int] = []
        self._limit = limit
        self._on_check = on_check
        self._next_check = CHECK_EVERY if limit is None else min(CHECK_EVERY, limit)

    def run(self, max_depth: int = MAX_DEPTH) -> Iterator[FinishedDepth]:
        """Yield a report for every finished iteration, up to `max_depth`.

        Ends early when stopped, at the node limit, and after a forced mate.
        """
        moves = self._root_moves()
        if not moves:
            return
        self.best = moves[0]
        for depth in range(1, max_depth + 1):
            try:
                score = self._root(moves, depth)
            except Stopped:
                return
            yield FinishedDepth(depth, score, self.nodes, self._line)
            if abs(score) > MATE_BOUND and MATE - abs(score) <= depth:
                return
            # best move first, the others in their order
            moves.remove(self._line[0])
            moves.insert(0, self._line[0])

    @abstractmethod
    def quiesce(self) -> int:
        """Return the score of the quiescence search for the side to move."""

    @abstractmethod
    def _root_moves(self) -> list[int]:
        """Return the legal moves, the most promising first."""

    @abstractmethod
    def _reply(self, move: int, depth: int, beta: int) -> tuple[int, list[int]] | None:
        """Return the opponent's score after a root move, and the expected line.

        The score may be a lower bound of at least `beta`.  None: the move is too weak to
        be searched.  Raises Stopped.
        """

    def _root(self, moves: list[int], depth: int) -> int:
        """Search `moves`, set `best` and `_line`, and return the score."""
        best = -INFINITY
        for move in moves:
            reply = self._reply(move, depth - 1, -best)
            if reply is not None and -reply[0] > best:
                best = -reply[0]
                self._line = [move, *reply[1]]
                # valid even if this iteration is stopped: it beat the first move
                self.best = move
        return best

    def _count(self) -> None:
        """Count a node.  Raises Stopped."""
        self.nodes += 1
        if self.nodes >= self._next_check:
            if self._limit is not None and self.nodes >= self._limit:
                raise Stopped
            if self._on_check is not None:
                self._on_check()
            self._next_check = self.nodes + CHECK_EVERY
            if self._limit is not None:
                self._next_check = min(self._next_check, self._limit)


class UniversalEngine(ABC):
    """A UCI or USI engine.

    weights  options of the evaluation
    others   further options
    """

    #: "uci" or "usi".
    protocol: ClassVar[str]
    #: The protocol's word for the text of a position: "fen" or "sfen".
    notation: ClassVar[str]
    #: The usual start position.
    start: ClassVar[str]
    #: Words of `eval` before the static evaluation.
    evaluation_words: ClassVar[str]

    def __init__(
        self, console: Console, weights: tuple[Option, ...], others: tuple[Option, ...]
    ) -> None:
        self.console = console
        self.options = Options(weights + others)
        self._weights = weights
        #: The evaluation for the present options (None: not built), and evaluations with one
        #: changed weight.
        self._evaluation: Any = None
        self._changed: dict[str, Any] = {}
        self._new_game()
        #: Whether "quit" was received.
        self.quit = False

    @abstractmethod
    def _set_up(self, position: str) -> None:
        """Set up a position.  Raises ValueError, and changes nothing then."""

    @abstractmethod
    def _play(self, text: str) -> bool:
        """Play a move in the protocol's notation if it is legal; return whether it is."""

    def _complete(self, fields: list[str]) -> str:
        """Return the full text of a position."""
        return " ".join(fields)

    @abstractmethod
    def _search(self, limits: Limits, on_check: Callable[[], None]) -> Deepening:
        """Return a search of the position."""

    @abstractmethod
    def _evaluation_of(self, values: dict[str, int]) -> Any:
        """Return the evaluation function for option values."""

    @abstractmethod
    def _static(self, evaluation: Any) -> int:
        """Return the evaluation of the position for the side that moves first in a game."""

    @abstractmethod
    def _in_check(self) -> bool:
        """Whether the side to move is in check."""

    @abstractmethod
    def _any_move(self) -> str:
        """Return a legal move, or the answer for a position without one."""

    @abstractmethod
    def _colour(self) -> str:
        """Return the side to move, "w" or "b" as in the clocks of `go`."""

    @abstractmethod
    def _names(self, line: list[int]) -> str:
        """Return moves played from the present position in the protocol's notation."""

    def _nothing(self) -> str:
        """Return the answer for a position without legal moves."""
        return "(none)"

    def handle(self, line: str) -> list[str]:
        """Carry out one command and return its answer.

        A long search writes lines to the console before it returns the rest.
        """
        words = line.split()
        # skip unknown leading words
        while words:
            command, *arguments = words
            if command == self.protocol:
                return self._about()
            if command == "isready":
                return ["readyok"]
            if command == "setoption":
                return self._set_option(arguments)
            if command == "position":
                return self._position(arguments)
            if command == "go":
                return self._go(arguments)
            if command == f"{self.protocol}newgame":
                self._new_game()
                return []
            if command == "eval":
                return [self._evaluated()]
            if command == "features":
                return [self._features()]
            if command == "quit":
                self.quit = True
                return []
            if command in ("stop", "ponderhit", "debug", "register", "gameover"):
                return []
            words = arguments
        return []

    def _about(self) -> list[str]:
        options = [
            f"option name {o.name} type spin default {o.default} min {o.min} max {o.max}"
            for o in self.options.table
        ]
        about = [f"id name ringmaster demo {__version__}", "id author the authors of ringmaster"]
        return [*about, *options, f"{self.protocol}ok"]

    def _new_game(self) -> None:
        self._begin(self.start)

    def _begin(self, position: str) -> None:
        """Set up a position without moves.  Raises ValueError."""
        self._set_up(position)
        self._position_text = position
        self._played: list[str] = []
        #: Hashes of earlier positions that can be repeated.
        self._history: set[int] = set()

    def _position(self, words: list[str]) -> list[str]:
        """position (startpos | fen <fen> | sfen <sfen>) [moves <move>…]"""
        end = words.index("moves") if "moves" in words else len(words)
        moves = words[end + 1 :]
        if words[:1] == ["startpos"]:
            position = self.start
        elif words[:1] == [self.notation]:
            position = self._complete(words[1:end])
        else:
            return [f"info string position needs 'startpos' or '{self.notation}'"]
        played = self._played
        if position == self._position_text and moves[: len(played)] == played:
            moves = moves[len(played) :]
        else:
            try:
                if len(position) > _MAX_POSITION or not position.isascii():
                    raise ValueError(f"not in {self.notation.upper()}")
                self._begin(position)
            except ValueError as error:
                return [f"info string cannot set up {printable(position)}: {printable(str(error))}"]
        for text in moves:
            if not self._play(text):
                return [f"info string illegal move {printable(text)}, it and all after it ignored"]
            self._played.append(text)
        return []

    def _set_option(self, words: list[str]) -> list[str]:
        """setoption name <words> [value <words>]"""
        if words[:1] != ["name"]:
            return ["info string setoption needs 'name'"]
        end = words.index("value") if "value" in words else len(words)
        try:
            self.options.set(" ".join(words[1:end]), " ".join(words[end + 1 :]))
        except OptionError as error:
            return [f"info string {printable(str(error))}"]
        self._evaluation = None
        return []

    def _go(self, words: list[str]) -> list[str]:
        started = time.perf_counter()
        lines: list[str] = []
        limits = _limits(words, lines)
        if limits.get("depth") == 0:
            return self._depth_0()
        budget = self._budget(limits)
        endless = "infinite" in words or "ponder" in words
        deferred: list[str] = []
        stop = False

        def interrupt(line: str | None) -> bool:
            """Process a line received during the search; return whether it ends the search."""
            if line is None:
                return self.console.at_end
            command = line.split(maxsplit=1)[:1]
            if command == ["isready"]:
                self.console.write(["readyok"])
            elif command == ["quit"]:
                self.quit = True
                return True
            elif command in (["stop"], ["ponderhit"]):
                return True
            else:
                deferred.append(line)
            return False

        def on_check() -> None:
            nonlocal stop
            if lines:
                self.console.write(lines)
                lines.clear()
            # lines after another "go" belong to that search
            while not (stop or (deferred and deferred[-1].split()[:1] == ["go"])):
                line = self.console.read_nowait()
                stop = interrupt(line)
                if line is None:
                    break
            if stop:
                raise Stopped
            if budget is not None and time.perf_counter() - started >= budget:
                raise Stopped

        search = self._search(limits, on_check)
        depth = min(limits.get("depth", MAX_DEPTH), MAX_DEPTH)
        for report in search.run(depth):
            elapsed = time.perf_counter() - started
            lines.append(self._info(report, elapsed))
            # the next iteration takes several times as long as all earlier ones
            if budget is not None and "movetime" not in limits and elapsed > budget / 3:
                break
        if endless and not stop and not self.quit:
            self.console.write(lines)
            lines.clear()
            # no bestmove before "stop", even after the search has ended
            while not interrupt(self.console.read()):
                pass
        self.console.unread(deferred)
        best = self._nothing() if search.best is None else self._names([search.best])
        return [*lines, f"bestmove {best}"]

    def _evaluated(self) -> str:
        """eval: the static evaluation in pawns, in the format of Stockfish"""
        if self._in_check():
            return f"{self.evaluation_words}: none (in check)"
        return f"{self.evaluation_words}: {self._static(self._function()) / 100:.2f} (white side)"

    def _function(self) -> Any:
        """Return the evaluation for the present options."""
        if self._evaluation is None:
            self._evaluation = self._evaluation_of(self.options.values)
            self._changed = {}
        return self._evaluation

    def _features(self) -> str:
        """features: "features constant <c> <weight> <coefficient> …"

        Apart from rounding, the static evaluation for the side that moves first in a
        game, in centipawns, is the constant plus each weight times its coefficient.  The
        coefficient of a weight that multiplies another holds near the present values.
        """
        score = self._static(self._function())
        values = self.options.values
        constant = float(score)
        words = []
        for option in self._weights:
            name = option.name
            if name not in self._changed:
                changed = {**values, name: values[name] + _FAR}
                self._changed[name] = self._evaluation_of(changed)
            moved = self._static(self._changed[name]) - score
            coefficient = round(moved / _FAR, 3)
            constant -= coefficient * values[name]
            words += [name, f"{coefficient:g}"]
        return " ".join(["features", "constant", f"{round(constant, 3):g}", *words])

    def _depth_0(self) -> list[str]:
        """go depth 0: the score of the quiescence search, and any legal move"""
        search = self._search({}, lambda: None)
        score = _score_words(search.quiesce())
        return [
            f"info depth 0 score {score} nodes {search.nodes}",
            f"bestmove {self._any_move()}",
        ]

    def _budget(self, limits: Limits) -> float | None:
        """Return the thinking time in seconds, None without a time limit."""
        if "movetime" in limits:
            return max(limits["movetime"] / 1000 - _OVERHEAD, 0.001)
        side = self._colour()
        extra = limits.get("byoyomi", 0) / 1000
        if f"{side}time" not in limits:
            return max(extra - _OVERHEAD, 0.001) if extra else None
        left = limits[f"{side}time"] / 1000 - _OVERHEAD
        # without movestogo, a thirtieth of the time for each move
        share = left / min(limits.get("movestogo", 30) or 30, 30)
        budget = share + 0.8 * limits.get(f"{side}inc", 0) / 1000
        return max(min(budget, 0.5 * left) + max(extra - _OVERHEAD, 0.0), 0.001)

    def _info(self, report: FinishedDepth, elapsed: float) -> str:
        return (
            f"info depth {report.depth} score {_score_words(report.score)} nodes {report.nodes}"
            f" time {int(elapsed * 1000)} pv {self._names(report.line)}"
        )


def _score_words(score: int) -> str:
    if abs(score) <= MATE_BOUND:
        return f"cp {score}"
    moves = (MATE - abs(score) + 1) // 2
    return f"mate {moves if score > 0 else -moves}"


def _limits(words: list[str], complaints: list[str]) -> Limits:
    """Return the limits of a "go" command; add a complaint for each invalid one."""
    limits: Limits = {}
    for name, value in zip(words, [*words[1:], ""], strict=True):
        if name not in _LIMITS:
            continue
        digits = value.removeprefix("-")
        if value in _SUBCOMMANDS or not digits.isdecimal() or len(digits) > 15:
            complaints.append(f"info string go {name} needs a number")
            continue
        # some referees send clocks below zero
        limits[name] = max(int(value), 1 if name == "nodes" else 0)
    return limits


def printable(text: str) -> str:
    """Return a received text, shortened and without control characters."""
    text = text if len(text) <= 300 else text[:300] + "…"
    return "".join(c if c.isprintable() else "?" for c in text)
