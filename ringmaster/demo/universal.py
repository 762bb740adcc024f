"""The UCI and USI engines: commands, limits and the clock.

Unknown commands are ignored, as both protocols require.  A wrong option or position is
answered with an "info string" and changes nothing.
"""

from __future__ import annotations

import re
import time
from abc import abstractmethod
from itertools import pairwise
from typing import ClassVar

from ringmaster import __version__
from ringmaster.demo.console import Console, Engine, Option
from ringmaster.demo.search import MATE, MATE_BOUND, Position, Search, Stopped
from ringmaster.errors import IllegalMove
from ringmaster.games.game import beginning
from ringmaster.model.players import GameName

_MAX_DEPTH = 32
#: Seconds reserved for the communication with the referee.
_OVERHEAD = 0.02


class UniversalEngine(Engine):
    """A UCI or USI engine; the rules of its game are the referee's."""

    game: ClassVar[GameName]
    #: "uci" or "usi".
    protocol: ClassVar[str]
    #: The protocol's word for the text of a position: "fen" or "sfen".
    notation: ClassVar[str]
    #: The answer for a position without legal moves.
    no_move: ClassVar[str]
    #: Words of `eval` before the static evaluation.
    evaluation_words: ClassVar[str]

    def __init__(self, console: Console, weights: tuple[Option, ...]) -> None:
        super().__init__(console, weights)
        self._begin(None)

    @abstractmethod
    def _read(self) -> Position:
        """Return the position of the game, with its evaluation by the present options."""

    def handle(self, line: str) -> list[str]:
        command, *arguments = line.split() or [""]
        try:
            match command:
                case self.protocol:
                    return self._about()
                case "isready":
                    return ["readyok"]
                case "setoption":
                    self._set_option(arguments)
                case "position":
                    self._set_position(arguments)
                case "go":
                    return self._go(arguments)
                case "eval":
                    return [self._evaluated()]
                case "features":
                    return [self._features()]
                case "quit":
                    self.quit = True
        except (ValueError, IllegalMove) as error:
            return [f"info string {error}"]
        return []

    def _about(self) -> list[str]:
        options = [
            f"option name {o.name} type spin default {o.default} min {o.min} max {o.max}"
            for o in self.options
        ]
        about = [f"id name ringmaster demo {__version__}", "id author the authors of ringmaster"]
        return [*about, *options, f"{self.protocol}ok"]

    def _begin(self, position: str | None) -> None:
        """Set up a position, None for the usual one.  Raises ValueError."""
        self._game = beginning(self.game)(position)
        self._start = position
        #: Keys of earlier positions.
        self._earlier: set[int] = set()

    def _set_position(self, words: list[str]) -> None:
        """position (startpos | fen <fen> | sfen <sfen>) [moves <move>…]"""
        end = words.index("moves") if "moves" in words else len(words)
        moves = words[end + 1 :]
        start = None
        if words[:1] == [self.notation]:
            # EPD lacks both counters
            counters = ["0", "1"] if self.game == "chess" and end == 5 else []
            start = " ".join([*words[1:end], *counters])
        elif words[:1] != ["startpos"]:
            raise ValueError(f"position needs 'startpos' or '{self.notation}'")
        played = self._game.moves
        if start == self._start and moves[: len(played)] == played:
            moves = moves[len(played) :]
        else:
            self._begin(start)
        for move in moves:
            key = self._read().key()
            self._game.play(move)
            self._earlier.add(key)

    def _set_option(self, words: list[str]) -> None:
        """setoption name <words> [value <words>]"""
        if words[:1] != ["name"]:
            raise ValueError("setoption needs 'name'")
        end = words.index("value") if "value" in words else len(words)
        self.set_option(" ".join(words[1:end]), " ".join(words[end + 1 :]))

    def _go(self, words: list[str]) -> list[str]:
        started = time.perf_counter()
        lines: list[str] = []
        limits = _limits(words)
        position = self._read()
        budget = self._budget(limits)
        endless = "infinite" in words or "ponder" in words
        deferred: list[str] = []
        stop = False

        def ends_search(line: str | None) -> bool:
            """Process a line received during the search."""
            if line is None:
                return self.console.at_end
            command = line.split(maxsplit=1)[:1]
            if command == ["isready"]:
                self.console.write(["readyok"])
            elif command == ["quit"]:
                self.quit = True
            elif command not in (["stop"], ["ponderhit"]):
                deferred.append(line)
                return False
            return command != ["isready"]

        def on_check() -> None:
            nonlocal stop
            self.console.write(lines)
            lines.clear()
            # lines after another "go" belong to that search
            while not (stop or (deferred and deferred[-1].split()[:1] == ["go"])):
                line = self.console.read_nowait()
                stop = ends_search(line)
                if line is None:
                    break
            if stop or (budget is not None and time.perf_counter() - started >= budget):
                raise Stopped

        search = Search(position, set(self._earlier), limits.get("nodes"), on_check)
        for depth, score, line in search.run(min(limits.get("depth", _MAX_DEPTH), _MAX_DEPTH)):
            elapsed = time.perf_counter() - started
            lines.append(
                f"info depth {depth} score {_score_words(score)} nodes {search.nodes}"
                f" time {int(elapsed * 1000)} pv {' '.join(map(position.name, line))}"
            )
            # the next iteration takes several times as long as all earlier ones
            if budget is not None and "movetime" not in limits and elapsed > budget / 3:
                break
        if endless and not stop and not self.quit:
            self.console.write(lines)
            lines.clear()
            # no bestmove before "stop", even after the search has ended
            while not ends_search(self.console.read()):
                pass
        self.console.unread(deferred)
        best = self.no_move if search.best is None else position.name(search.best)
        return [*lines, f"bestmove {best}"]

    def _evaluated(self) -> str:
        """eval: the static evaluation in pawns, in the format of Stockfish"""
        if self._game.in_check():
            return f"{self.evaluation_words}: none (in check)"
        score = self._read().evaluate() * (1, -1)[self._game.to_move]
        return f"{self.evaluation_words}: {score / 100:.2f} (white side)"

    def _features(self) -> str:
        """features: "features constant <c> <weight> <coefficient> …"

        Apart from rounding, the static evaluation for the side that moves first in a
        game, in centipawns, is the constant plus each weight times its coefficient.  The
        coefficient of a weight that multiplies another holds near the present values.
        """
        position = self._read()
        constant = float(position.evaluate() * (1, -1)[self._game.to_move])
        words = []
        for option, coefficient in zip(self.weights, position.coefficients(), strict=True):
            coefficient = round(coefficient, 3)
            constant -= coefficient * self.values[option.name]
            words += [option.name, f"{coefficient:g}"]
        return " ".join(["features", "constant", f"{round(constant, 3):g}", *words])

    def _budget(self, limits: dict[str, int]) -> float | None:
        """Return the thinking time in seconds, None without a time limit."""
        if "movetime" in limits:
            return max(limits["movetime"] / 1000 - _OVERHEAD, 0.001)
        side = self._game.colours[self._game.to_move][0]
        extra = limits.get("byoyomi", 0) / 1000
        if f"{side}time" not in limits:
            return max(extra - _OVERHEAD, 0.001) if extra else None
        left = limits[f"{side}time"] / 1000 - _OVERHEAD
        # without movestogo, a thirtieth of the time for each move
        share = left / min(limits.get("movestogo", 30) or 30, 30)
        budget = share + 0.8 * limits.get(f"{side}inc", 0) / 1000
        return max(min(budget, 0.5 * left) + max(extra - _OVERHEAD, 0.0), 0.001)


def _score_words(score: int) -> str:
    if abs(score) <= MATE_BOUND:
        return f"cp {score}"
    moves = (MATE - abs(score) + 1) // 2
    return f"mate {moves if score > 0 else -moves}"


def _limits(words: list[str]) -> dict[str, int]:
    """Return the numbers of a "go" command."""
    return {
        # some referees send clocks below zero
        name: max(int(value), 1 if name == "nodes" else 0)
        for name, value in pairwise(words)
        if re.fullmatch("-?[0-9]{1,15}", value)
    }
