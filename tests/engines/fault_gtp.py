"""A GTP Go engine that answers at once, with faults on request.

Black fills the left half of the board in a fixed order, White the right half, and then
they pass; Black is ahead on the board by the points of the middle column.  Flags combine.
"""

from __future__ import annotations

import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import faults
from flags import Table, parse
from go_board import Board, vertex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _failure(text: str) -> tuple[str, str]:
    command, _, message = text.partition(":")
    return command, message or "cannot do that"


def _extra(text: str) -> tuple[str, str]:
    command, _, answer = text.partition(":")
    return command, answer


FLAGS: Table = {
    **faults.FLAGS,
    "fail": ("CMD[:MESSAGE]", _failure, [], "always answer CMD with a failure response"),
    "no-command": ("CMD", str, [], "do not know CMD"),
    "final-score": ("TEXT", str, None, "the answer to final_score, word for word"),
    "resign-at": ("N", int, 0, "resign at the N-th move"),
    "twice": ("CMD", str, [], "answer CMD twice"),
    "one-at-a-time": ("", str, False, "lose what is written before the answer is"),
    "missing-blank-line": ("", str, False, "no response is ended by an empty line"),
    "also": ("CMD[:ANSWER]", _extra, [], "know CMD too, and answer it so"),
    "analysis": ("FORM", str, "", "know FORM-genmove_analyze (kata or lz) and its limits"),
    "cpu-time": ("SECONDS", float, None, "what gomill-cpu_time says; unknown unless given"),
}
GARBAGE = b"\x00\x01\x7f\n$ segmentation fault\n\nD4\n"
BABBLE = b"still here, still talking, nothing to say\n"
LETTERS = {"b": "b", "black": "b", "w": "w", "white": "w"}


class Refused(Exception):
    """A failure response."""


class GtpEngine:
    """One process: the player and its faults."""

    def __init__(self, flags: dict[str, Any]) -> None:
        self._flags = flags
        self._faults = faults.Faults(flags, BABBLE, "genmove")
        self._reader = faults.Reader()
        self._failures: dict[str, str] = dict(flags["fail"])
        self._board = Board(19)
        self._komi = 0.0
        self._moves = 0
        self._time_left = {"b": 0.0, "w": 0.0}
        self._commands: dict[str, Callable[[list[str]], str]] = {
            "protocol_version": lambda words: "2",
            "name": lambda words: "Filler",
            "version": lambda words: "1.0",
            "known_command": lambda words: str(words[0] in self._commands).lower(),
            "list_commands": lambda words: "\n".join(self._commands),
            "quit": lambda words: "",
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "komi": self._set_komi,
            "play": self._play,
            "genmove": self._genmove,
            "fixed_handicap": self._fixed_handicap,
            "place_free_handicap": self._place_free_handicap,
            "set_free_handicap": self._set_free_handicap,
            "final_score": self._final_score,
            "final_status_list": lambda words: "",
            "time_settings": lambda words: "",
            "time_left": self._note_time_left,
            "kgs-time_settings": lambda words: "",
            "gomill-genmove_ex": self._genmove_ex,
            "gomill-explain_last_move": lambda words: f"move {self._moves} of a fixed order",
            "gomill-describe_engine": lambda words: "Filler\nfills its half of the board",
        }
        self._visits = 100
        if flags["analysis"]:
            self._commands[f"{flags['analysis']}-genmove_analyze"] = self._analyze
            self._commands["kata-set-param"] = self._set_param
            self._commands["lz-setoption"] = self._set_param
            del self._commands["lz-setoption" if flags["analysis"] == "kata" else "kata-set-param"]
        for name, answer in flags["also"]:
            self._commands[name] = lambda words, answer=answer: answer  # type: ignore[misc]
        if flags["cpu-time"] is not None:
            self._commands["gomill-cpu_time"] = lambda words: str(flags["cpu-time"])
        for name in flags["no-command"]:
            self._commands.pop(name, None)

    def run(self) -> None:
        """Answer commands until quit."""
        self._faults.begin()
        while True:
            line = self._reader.line()
            if line is None:
                self._faults.end_of_input()
                self._faults.hang()
            if self._flags["one-at-a-time"]:
                self._reader.lose()
            # GTP 2, section 2.2: comments and control characters are discarded
            text = line.decode("utf-8", "replace").partition("#")[0].replace("\t", " ")
            words = text.split()
            number = words.pop(0) if words and words[0].isdigit() else ""
            if words:
                self._obey(number, words)

    def _obey(self, number: str, words: list[str]) -> None:
        name = words[0]
        if self._faults.command(name):
            self._faults.write(GARBAGE)
            return
        sign = "="
        try:
            if name in self._failures:
                raise Refused(self._failures[name])
            if name not in self._commands:
                raise Refused("unknown command")
            text = self._commands[name](words[1:])
        except Refused as refused:
            sign, text = "?", str(refused)
        except (ValueError, IndexError, KeyError) as error:
            sign, text = "?", f"syntax error: {error}"
        self._respond(name, sign, number, text)
        if name == "quit":
            self._faults.end_of_input()

    def _respond(self, name: str, sign: str, number: str, text: str) -> None:
        data = os.fsencode(f"{sign}{number} {text}\n")
        if self._flags["bad-utf8"] and name == "name":
            data = data.replace(b"Filler", faults.BAD_UTF8)
        if self._flags["hostile"]:
            for word in (b"Filler", b"fixed order"):
                data = data.replace(word, faults.HOSTILE)
        makers = ("genmove", "gomill-genmove_ex")
        is_move = (name in makers or name.endswith("genmove_analyze")) and sign == "="
        if is_move and self._flags["long-line"]:
            data += b"x" * self._flags["long-line"] + b"\n"
        if is_move and self._flags["bad-utf8"]:
            data += faults.BAD_UTF8 + b"\n"
        if not self._flags["missing-blank-line"]:
            data += b"\n"
        if name in self._flags["twice"]:
            data += data
        if is_move:
            self._faults.write_move(data)
        else:
            self._faults.write(data)

    def _boardsize(self, words: list[str]) -> str:
        size = int(words[0])
        if not 1 <= size <= 25:
            raise Refused("unacceptable size")
        self._board = Board(size)
        return ""

    def _clear_board(self, words: list[str]) -> str:
        self._board = Board(self._board.size)
        self._moves = 0
        return ""

    def _set_komi(self, words: list[str]) -> str:
        self._komi = float(words[0])
        return ""

    def _play(self, words: list[str]) -> str:
        colour = LETTERS[words[0].lower()]
        if words[1].lower() == "pass":
            self._board.forget_ko()
            return ""
        try:
            self._board.play(colour, self._board.point(words[1]))
        except ValueError as error:
            raise Refused(str(error)) from None
        return ""

    def _genmove_ex(self, words: list[str]) -> str:
        return self._genmove(words) if words else "claim"

    def _genmove(self, words: list[str]) -> str:
        colour = LETTERS[words[0].lower()]
        self._moves += 1
        seconds = self._flags["slow"]
        if self._flags["overstep"] is not None:
            seconds += self._time_left[colour] + self._flags["overstep"] / 1000
        if seconds:
            self._reader.think(seconds, lambda line: True)
        if self._moves == self._flags["resign-at"]:
            return "resign"
        # there is no point outside the board, and an occupied one is as bad
        illegal = vertex(next(iter(self._board.stones))) if self._board.stones else "Z99"
        point = self._board.fill(colour)
        if point is None:
            self._board.forget_ko()
        return self._faults.move("pass" if point is None else vertex(point), illegal)

    def _analyze(self, words: list[str]) -> str:
        ahead = self._board.area() - self._komi
        if words[0] == "w":
            ahead = -ahead
        move = self._genmove(words[:1])
        best, other = self._visits - self._visits // 4, self._visits // 4
        winrate = 1 / (1 + math.exp(-ahead / 10))
        if self._flags["analysis"] == "lz":
            chance = round(10_000 * winrate)
            shown = f"visits {best} winrate {chance} prior 9 lcb {chance} order 0"
        else:
            shown = (
                f"visits {best} winrate {winrate:.6g} scoreMean {ahead} scoreLead {ahead} order 0"
            )
        last = f"info move A1 visits {other} winrate 0 order 1 pv A1"
        info = f"info move {move} {shown} pv {move} C3 pass {last}"
        return f"\n{info}\nplay {move}"

    def _set_param(self, words: list[str]) -> str:
        if words[-2:-1] in (["maxVisits"], ["value"]) and words[-1].isdecimal():
            self._visits = int(words[-1])
        return ""

    def _fixed_handicap(self, words: list[str]) -> str:
        size, count = self._board.size, int(words[0])
        if self._board.stones:
            raise Refused("board not empty")
        if size < 7 or not 2 <= count <= (9 if size % 2 and size > 7 else 4):
            raise Refused("invalid number of stones")
        edge = 3 if size >= 13 else 2
        low, middle, high = edge, size // 2, size - 1 - edge
        # GTP 2, section 4.1.1: the order of the stones
        points = [(low, low), (high, high), (low, high), (high, low)]
        sides = [(low, middle), (high, middle), (middle, low), (middle, high)]
        if count > 5:
            points += sides[: 2 if count < 8 else 4]
        points = points[: count - count % 2] if count > 4 else points[:count]
        if count > 4 and count % 2:
            points.append((middle, middle))
        for point in points:
            self._board.play("b", point)
        return " ".join(map(vertex, points))

    def _place_free_handicap(self, words: list[str]) -> str:
        points = [self._board.fill("b") for _ in range(int(words[0]))]
        return " ".join(vertex(point) for point in points if point is not None)

    def _set_free_handicap(self, words: list[str]) -> str:
        for word in words:
            self._board.play("b", self._board.point(word))
        return ""

    def _final_score(self, words: list[str]) -> str:
        if self._flags["final-score"] is not None:
            return str(self._flags["final-score"])
        margin = self._board.area() - self._komi
        if margin == 0:
            return "0"
        return f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"

    def _note_time_left(self, words: list[str]) -> str:
        self._time_left[LETTERS[words[0].lower()]] = float(words[1])
        return ""


def main() -> None:
    GtpEngine(parse(sys.argv[1:], (__doc__ or "") + (faults.__doc__ or ""), FLAGS)).run()


if __name__ == "__main__":
    main()
