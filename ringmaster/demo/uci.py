"""The demo chess engine as UCI sees it: commands, options, limits and the clock.

Unknown commands are ignored, as UCI asks; an option or position that cannot be
taken is answered with an "info string" and changes nothing.
"""

from __future__ import annotations

import time
from types import ModuleType
from typing import Any

from ringmaster import __version__
from ringmaster.demo import chess_rules
from ringmaster.demo.chess_evaluation import NOISE, WEIGHTS, Evaluation
from ringmaster.demo.chess_search import MATE, MATE_BOUND, MAX_DEPTH, Report, Search, Stopped
from ringmaster.demo.console import Console, serve
from ringmaster.demo.options import OptionError, Options

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"

#: Seconds kept back from every clock for the way to the referee.
_OVERHEAD = 0.02
_LIMITS = ("depth", "nodes", "movetime", "wtime", "btime", "winc", "binc", "movestogo", "mate")
_SUBCOMMANDS = (*_LIMITS, "infinite", "ponder", "searchmoves")
_MAX_FEN = 200


class ChessEngine:
    """A UCI engine that is fed one line at a time.

    console  where lines arrive during a search, and long output goes
    rules    cozy_chess or its likeness; None takes the best there is
    """

    def __init__(self, console: Console, rules: ModuleType | None = None) -> None:
        self.console = console
        self._rules = chess_rules.load() if rules is None else rules
        self._read = chess_rules.bitboard_reader(self._rules)
        self._moves = chess_rules.MoveTable(self._rules)
        self.options = Options(WEIGHTS + NOISE)
        self._evaluation: Evaluation | None = None
        #: Whether "quit" was received.
        self.quit = False
        self._set_up(START)

    def handle(self, line: str) -> list[str]:
        """Carry out one command and return its answer.

        A long search writes its progress to the console; what is left of it is
        returned.
        """
        words = line.split()
        # UCI: leading words that are unknown are skipped.
        while words:
            command, *arguments = words
            if command == "uci":
                return self._uci()
            if command == "isready":
                return ["readyok"]
            if command == "setoption":
                return self._set_option(arguments)
            if command == "position":
                return self._position(arguments)
            if command == "go":
                return self._go(arguments)
            if command == "ucinewgame":
                self._set_up(START)
                return []
            if command == "quit":
                self.quit = True
                return []
            if command in ("stop", "ponderhit", "debug", "register"):
                return []
            words = arguments
        return []

    def run(self) -> None:
        """Serve the console until "quit" or the end of input."""
        serve(self)

    def _uci(self) -> list[str]:
        options = [
            f"option name {o.name} type spin default {o.default} min {o.min} max {o.max}"
            for o in self.options.table
        ]
        about = [f"id name ringmaster demo {__version__}", "id author the authors of ringmaster"]
        return [*about, *options, "uciok"]

    def _set_option(self, words: list[str]) -> list[str]:
        """setoption name <words> [value <words>]"""
        if words[:1] != ["name"]:
            return ["info string setoption needs 'name'"]
        end = words.index("value") if "value" in words else len(words)
        try:
            self.options.set(" ".join(words[1:end]), " ".join(words[end + 1 :]))
        except OptionError as error:
            return [f"info string {_printable(str(error))}"]
        self._evaluation = None
        return []

    def _set_up(self, fen: str) -> None:
        """Set up a position without moves.  Raises ValueError."""
        try:
            self._board: Any = self._rules.Board.from_fen(fen, False)
        except Exception as error:
            raise ValueError(str(error)) from None
        self._fen = fen
        self._played: list[str] = []
        #: Hashes of the positions before this one that can still be repeated.
        self._history: set[int] = set()

    def _position(self, words: list[str]) -> list[str]:
        """position (startpos | fen <fen>) [moves <move>…]"""
        end = words.index("moves") if "moves" in words else len(words)
        moves = words[end + 1 :]
        if words[:1] == ["startpos"]:
            fen = START
        elif words[:1] == ["fen"]:
            fen = _complete(words[1:end])
        else:
            return ["info string position needs 'startpos' or 'fen'"]
        played = self._played
        if fen == self._fen and moves[: len(played)] == played:
            moves = moves[len(played) :]
        else:
            try:
                if len(fen) > _MAX_FEN or not fen.isascii():
                    raise ValueError("not a FEN")
                self._set_up(fen)
            except ValueError as error:
                return [f"info string cannot set up {_printable(fen)}: {_printable(str(error))}"]
        for text in moves:
            move = chess_rules.parse_uci(text, self._board, self._read(self._board))
            if move is None:
                return [f"info string illegal move {_printable(text)}, it and all after it ignored"]
            self._history.add(self._board.hash_without_ep())
            self._board.play_unchecked(self._moves[move])
            if self._board.halfmove_clock == 0:
                self._history = set()
            self._played.append(text)
        return []

    def _go(self, words: list[str]) -> list[str]:
        started = time.perf_counter()
        lines: list[str] = []
        limits = _limits(words, lines)
        budget = self._budget(limits)
        endless = "infinite" in words or "ponder" in words
        deferred: list[str] = []
        told_to_stop = False

        def interrupt(line: str | None) -> bool:
            """Take a line that arrived during the search; True ends it."""
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
            nonlocal told_to_stop
            if lines:
                self.console.write(lines)
                lines.clear()
            # What follows another "go" is meant for that one.
            while not (told_to_stop or (deferred and deferred[-1].split()[:1] == ["go"])):
                line = self.console.read_nowait()
                told_to_stop = interrupt(line)
                if line is None:
                    break
            if told_to_stop:
                told_to_stop = True
                raise Stopped
            if budget is not None and time.perf_counter() - started >= budget:
                raise Stopped

        if self._evaluation is None:
            self._evaluation = Evaluation(self.options.values)
        search = Search(self._moves, self._evaluation, self._history, limits.get("nodes"), on_check)
        depth = min(limits.get("depth", MAX_DEPTH), MAX_DEPTH)
        for report in search.run(self._board, depth):
            elapsed = time.perf_counter() - started
            lines.append(self._info(report, elapsed))
            # The next iteration takes several times as long as all before it.
            if budget is not None and "movetime" not in limits and elapsed > budget / 3:
                break
        if endless and not told_to_stop and not self.quit:
            self.console.write(lines)
            lines.clear()
            # UCI: no bestmove before "stop", even when there is no more to search.
            while not interrupt(self.console.read()):
                pass
        self.console.unread(deferred)
        best = "(none)" if search.best is None else self._names([search.best])
        return [*lines, f"bestmove {best}"]

    def _budget(self, limits: dict[str, int]) -> float | None:
        """Return the seconds to think, None without a limit of time."""
        if "movetime" in limits:
            return max(limits["movetime"] / 1000 - _OVERHEAD, 0.001)
        side = "w" if self._board.side_to_move() == self._rules.Color.White else "b"
        if f"{side}time" not in limits:
            return None
        left = limits[f"{side}time"] / 1000 - _OVERHEAD
        # Without a number of moves to go, a thirtieth of the time is for each.
        share = left / min(limits.get("movestogo", 30) or 30, 30)
        budget = share + 0.8 * limits.get(f"{side}inc", 0) / 1000
        return max(min(budget, 0.5 * left), 0.001)

    def _info(self, report: Report, elapsed: float) -> str:
        score = f"cp {report.score}"
        if abs(report.score) > MATE_BOUND:
            moves = (MATE - abs(report.score) + 1) // 2
            score = f"mate {moves if report.score > 0 else -moves}"
        return (
            f"info depth {report.depth} score {score} nodes {report.nodes}"
            f" time {int(elapsed * 1000)} pv {self._names(report.line)}"
        )

    def _names(self, line: list[int]) -> str:
        """Return moves played from the present position in UCI's notation."""
        board = self._board.__copy__()
        names = []
        for move in line:
            bitboards = self._read(board)
            own = bitboards[0 if board.side_to_move() == self._rules.Color.White else 1]
            names.append(chess_rules.uci(move, own, bitboards[7]))
            board.play_unchecked(self._moves[move])
        return " ".join(names)


def _complete(fields: list[str]) -> str:
    """Return a FEN with both counters, which EPD leaves out, and with those
    beyond the range that the rules take brought into it."""
    counters = []
    for given, default, most in zip([*fields, "", ""][4:6], (0, 1), (100, 9999), strict=False):
        if given.isdecimal() and len(given) < 9:
            given = str(min(max(int(given), default), most))
        counters.append(given or str(default))
    return " ".join([*fields[:4], *counters, *fields[6:]])


def _limits(words: list[str], complaints: list[str]) -> dict[str, int]:
    """Return the limits of a "go" command; a bad one is complained of and ignored."""
    limits: dict[str, int] = {}
    for name, value in zip(words, [*words[1:], ""], strict=True):
        if name not in _LIMITS:
            continue
        digits = value.removeprefix("-")
        if value in _SUBCOMMANDS or not digits.isdecimal() or len(digits) > 15:
            complaints.append(f"info string go {name} needs a number")
            continue
        # Clocks below zero are seen in practice; a depth of 0 gets a move too.
        limits[name] = max(int(value), 1 if name in ("depth", "nodes") else 0)
    return limits


def _printable(text: str) -> str:
    text = text if len(text) <= 300 else text[:300] + "…"
    return "".join(c if c.isprintable() else "?" for c in text)
