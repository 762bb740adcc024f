"""The demo Go engine: commands of GTP 2 and some extensions of Gomill.

`ringmaster-param NAME VALUE` and `ringmaster-params` set and list the weights of its
evaluation.  It ignores clocks, since a move takes a few milliseconds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from ringmaster import __version__
from ringmaster.demo.console import Console, OptionError, Options
from ringmaster.demo.go_player import BLACK, NOISE, WEIGHTS, WHITE, Position, bits, choose, geometry
from ringmaster.games.go import (
    check_size,
    fixed_handicap,
    format_vertex,
    max_fixed_handicap,
    parse_vertex,
)

_COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}


class _Failure(Exception):
    """A failure response with its text."""


class _State(NamedTuple):
    """A position of the game: `last` is the point of the last move, None after a pass;
    `passed` is the colour that passed, None after a move."""

    position: Position = Position()
    last: int | None = None
    passed: int | None = None


class GoEngine:
    """The GTP engine."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.options = Options(WEIGHTS + NOISE)
        #: Whether "quit" was received.
        self.quit = False
        self._board = geometry(19)
        self._komi = 6.5
        self._explanation = ""
        self._states = [_State()]
        self._commands: dict[str, Callable[[list[str]], str]] = {
            "protocol_version": lambda _: "2",
            "name": lambda _: "ringmaster demo",
            "version": lambda _: __version__,
            "known_command": self._known_command,
            "list_commands": lambda _: "\n".join(self._commands),
            "quit": self._quit,
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "komi": self._set_komi,
            "fixed_handicap": self._fixed_handicap,
            "place_free_handicap": self._place_free_handicap,
            "set_free_handicap": self._set_free_handicap,
            "play": self._play,
            "genmove": self._genmove,
            "undo": self._undo,
            "showboard": lambda _: self._diagram(),
            "final_score": lambda _: self._final_score(),
            "time_settings": lambda words: self._accept_numbers(words, 3),
            "kgs-time_settings": self._kgs_time_settings,
            "time_left": self._time_left,
            "gomill-cpu_time": lambda _: f"{time.process_time():.6f}",
            "gomill-explain_last_move": lambda _: self._explanation,
            "gomill-describe_engine": lambda _: self._describe(),
            "ringmaster-param": self._set_parameter,
            "ringmaster-params": lambda _: self._parameters(),
        }

    def handle(self, line: str) -> list[str]:
        """Carry out one command and return its response, with the final blank line.

        The response to a blank line or a comment is empty.
        """
        # GTP 2, section 3.1: drop control characters and comments
        text = "".join(" " if c == "\t" else c for c in line if c == "\t" or c.isprintable())
        words = text.partition("#")[0].split()
        if not words:
            return []
        number = words.pop(0) if words[0].isdecimal() else ""
        try:
            if not words:
                raise _Failure("no command")
            command = self._commands.get(words[0])
            if command is None:
                raise _Failure("unknown command")
            answer = command(words[1:])
        except _Failure as failure:
            return [f"?{number} {failure}", ""]
        # an empty line would end the response
        lines = [part for part in answer.split("\n") if part] or [""]
        lines[0] = f"={number} {lines[0]}".rstrip()
        return [*lines, ""]

    def _known_command(self, words: list[str]) -> str:
        return "true" if words[:1] and words[0] in self._commands else "false"

    def _quit(self, words: list[str]) -> str:
        self.quit = True
        return ""

    def _boardsize(self, words: list[str]) -> str:
        try:
            size = int(_one(words, "a size"))
        except ValueError:
            raise _Failure("boardsize not an integer") from None
        try:
            check_size(size)
        except ValueError:
            raise _Failure("unacceptable size") from None
        self._board = geometry(size)
        return self._clear_board([])

    def _clear_board(self, words: list[str]) -> str:
        self._states = [_State()]
        self._explanation = ""
        return ""

    def _set_komi(self, words: list[str]) -> str:
        try:
            komi = float(_one(words, "a komi"))
        except ValueError:
            raise _Failure("komi not a number") from None
        if not math.isfinite(komi):
            raise _Failure("komi not a number")
        self._komi = komi
        return ""

    def _place(self, vertices: list[str]) -> str:
        """Place black handicap stones on the empty board."""
        self._require_empty()
        stones = 0
        for vertex in vertices:
            bit = 1 << self._point(vertex)
            if stones & bit:
                raise _Failure(f"{vertex} is listed twice")
            stones |= bit
        self._states = [_State(Position(black=stones))]
        return " ".join(vertices)

    def _fixed_handicap(self, words: list[str]) -> str:
        self._require_empty()
        try:
            return self._place(list(fixed_handicap(self._board.size, self._stones(words))))
        except ValueError:
            raise _Failure("invalid number of stones") from None

    def _place_free_handicap(self, words: list[str]) -> str:
        self._require_empty()
        count, size = self._stones(words), self._board.size
        most = max_fixed_handicap(size)
        vertices = list(fixed_handicap(size, min(count, most))) if most >= 2 else []
        # GTP allows fewer stones, but at least two
        spare = [self._vertex(p) for p in self._board.points[:: 2 if size > 3 else 1]]
        vertices += [v for v in spare if v not in vertices][: max(0, 2 - len(vertices))]
        return self._place(vertices)

    def _set_free_handicap(self, words: list[str]) -> str:
        if not 2 <= len(words) < self._board.size**2:
            raise _Failure("invalid number of stones")
        self._place(words)
        return ""

    def _stones(self, words: list[str]) -> int:
        try:
            count = int(_one(words, "a number of stones"))
        except ValueError:
            raise _Failure("number of stones not an integer") from None
        if not 2 <= count < self._board.size**2:
            raise _Failure("invalid number of stones")
        return count

    def _require_empty(self) -> None:
        position = self._states[-1].position
        if position.black | position.white:
            raise _Failure("board not empty")

    def _play(self, words: list[str]) -> str:
        if len(words) != 2:
            raise _Failure("play needs a colour and a vertex")
        colour = _colour(words[0])
        if words[1].lower() == "pass":
            self._advance(None, colour)
        elif not self._advance(self._point(words[1]), colour):
            raise _Failure("illegal move")
        self._explanation = ""
        return ""

    def _genmove(self, words: list[str]) -> str:
        colour = _colour(_one(words, "a colour"))
        state = self._states[-1]
        point, reason = self._choose(state, colour)
        self._advance(point, colour)
        self._explanation = reason
        return self._vertex(point)

    def _choose(self, state: _State, colour: int) -> tuple[int | None, str]:
        # only simple ko is forbidden, so positions could repeat forever
        if len(self._states) > 4 * self._board.size**2:
            return None, "pass: the game is too long"
        if state.passed == 1 - colour:
            margin = self._margin()
            if margin > 0 if colour == BLACK else margin < 0:
                return None, "pass: so did the other side, and the score is a win"
        return choose(self._board, state.position, colour, state.last, self.options.values)

    def _advance(self, point: int | None, colour: int) -> bool:
        """Play a move or a pass if it is legal; return whether it is."""
        position = self._states[-1].position
        if point is None:
            after: Position | None = position._replace(ko=0)
        else:
            after = position.play(self._board, point, colour)
        if after is None:
            return False
        self._states.append(_State(after, point, colour if point is None else None))
        return True

    def _undo(self, words: list[str]) -> str:
        if len(self._states) == 1:
            raise _Failure("cannot undo")
        self._states.pop()
        self._explanation = ""
        return ""

    def _margin(self) -> float:
        """Return Black's area minus White's area and the komi."""
        black, white = self._states[-1].position.area(self._board)
        return black - white - self._komi

    def _final_score(self) -> str:
        margin = self._margin()
        return "0" if margin == 0 else f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"

    def _time_left(self, words: list[str]) -> str:
        if len(words) != 3:
            raise _Failure("time_left needs a colour, a time and a number of stones")
        _colour(words[0])
        return self._accept_numbers(words[1:], 2)

    def _kgs_time_settings(self, words: list[str]) -> str:
        counts = {"none": 0, "absolute": 1, "byoyomi": 3, "canadian": 3}
        if not words or words[0] not in counts:
            raise _Failure("kgs-time_settings needs one of " + ", ".join(counts))
        return self._accept_numbers(words[1:], counts[words[0]])

    def _accept_numbers(self, words: list[str], count: int) -> str:
        if len(words) != count or not all(word.isdecimal() for word in words):
            raise _Failure(f"needs {count} whole numbers")
        return ""

    def _set_parameter(self, words: list[str]) -> str:
        if len(words) != 2:
            raise _Failure("ringmaster-param needs a name and a value")
        try:
            self.options.set(*words)
        except OptionError as error:
            raise _Failure(str(error)) from None
        return ""

    def _parameters(self) -> str:
        return "\n".join(
            f"{option.name} {self.options.values[option.name]} {option.min} {option.max}"
            for option in self.options.table
        )

    def _describe(self) -> str:
        changed = [
            f"{o.name}={self.options.values[o.name]}"
            for o in self.options.table
            if self.options.values[o.name] != o.default
        ]
        return f"ringmaster demo {__version__}\nweights: {' '.join(changed) or 'as shipped'}"

    def _diagram(self) -> str:
        position, size, stride = self._states[-1].position, self._board.size, self._board.stride
        black, white = set(bits(position.black)), set(bits(position.white))
        names = "ABCDEFGHJKLMNOPQRSTUVWXYZ"[:size]
        rows = []
        for row in reversed(range(size)):
            points = range(row * stride, row * stride + size)
            marks = ["X" if p in black else "O" if p in white else "." for p in points]
            rows.append(f"{row + 1:2} {' '.join(marks)}")
        return "\n".join(["", *rows, f"   {' '.join(names)}"]).lstrip("\n")

    def _vertex(self, point: int | None) -> str:
        if point is None:
            return "pass"
        return format_vertex((point % self._board.stride, point // self._board.stride))

    def _point(self, vertex: str) -> int:
        try:
            parsed = parse_vertex(vertex, self._board.size)
        except ValueError:
            parsed = None
        if parsed is None:
            raise _Failure("invalid vertex")
        return parsed[1] * self._board.stride + parsed[0]


def _one(words: list[str], description: str) -> str:
    if len(words) != 1:
        raise _Failure(f"expected {description}")
    return words[0]


def _colour(word: str) -> int:
    colour = _COLOURS.get(word.lower())
    if colour is None:
        raise _Failure("invalid color")
    return colour
