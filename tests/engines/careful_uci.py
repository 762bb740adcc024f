"""A UCI engine that keeps to the protocol in any position, but for the faults it is
told to have; slow to start (it needs python-chess), quick to move.

It makes the first legal move of the alphabet.  Flags combine.
"""

from __future__ import annotations

import itertools
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import chess
import faults
from flags import Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FLAGS: Table = {
    **faults.FLAGS,
    "ignore": ("LIMIT", str, [], "think on after that limit: nodes, depth, movetime, clock"),
    "late": ("MS", float, 0.0, "answer that long after a clock or move time has run out"),
    "lazy": ("", str, False, "answer at once whatever the move time"),
    "swap-clocks": ("", str, False, "take the other side's clock for its own"),
    "nodes": ("N", int, None, "the nodes that it says it has searched"),
    "depth": ("N", int, None, "the depth that it says it has reached"),
    "castle": ("", str, False, "king takes rook, whether it may or not"),
    "early": ("", str, False, "answer to `go infinite` and `go ponder` at once"),
    "deaf": ("", str, False, "think on after `stop`"),
    "deaf-ready": ("", str, False, "no readyok while it thinks"),
    "chatter": ("", str, False, "something to say after each move"),
    "no-author": ("", str, False, "no `id author`"),
    "option": ("LINE", str, [], "declare this, too"),
}


class CarefulEngine:
    """One process."""

    def __init__(self, flags: dict[str, Any]) -> None:
        self._flags = flags
        self._faults = faults.Faults(flags, b"info string on and on\n", "go")
        self._reader = faults.Reader()
        self._board = chess.Board()

    def run(self) -> None:
        """Answer commands until quit."""
        self._faults.begin()
        while (line := self._reader.line()) is not None:
            self._obey(line.decode("ascii", "replace").split())
        self._faults.end_of_input()
        self._faults.hang()

    def _obey(self, words: list[str]) -> None:
        command = words[0] if words else ""
        self._faults.command(command)
        if command == "uci":
            self._say("id name Careful")
            if not self._flags["no-author"]:
                self._say("id author ringmaster's tests")
            for line in (
                "option name Hash type spin default 16 min 1 max 64",
                "option name Threads type spin default 1 min 1 max 4",
                "option name Ponder type check default false",
                *(f"option {line}" for line in self._flags["option"]),
            ):
                self._say(line)
            self._say("uciok")
        elif command == "isready":
            self._say("readyok")
        elif command == "position":
            self._set_up(words[1:])
        elif command == "go":
            self._go(words[1:])
        elif command == "quit":
            self._faults.end_of_input()

    def _set_up(self, words: list[str]) -> None:
        end = words.index("moves") if "moves" in words else len(words)
        self._board = chess.Board(
            " ".join(words[1:end]) if words[0] == "fen" else chess.STARTING_FEN
        )
        for move in words[end + 1 :]:
            self._board.push_uci(move)

    def _go(self, words: list[str]) -> None:
        numbers = dict(itertools.pairwise(words))
        if "infinite" in words or "ponder" in words:
            if not self._flags["early"]:
                self._wait(1e6)
        else:
            self._spend(numbers)
        move, info = self._decide(numbers)
        self._say(info)
        self._faults.write_move(f"bestmove {self._faults.move(move, 'a1b4')}\n".encode())
        if self._flags["chatter"]:
            self._say("info string that was a good move")

    def _spend(self, numbers: dict[str, str]) -> None:
        flags = self._flags
        white = self._board.turn != bool(flags["swap-clocks"])
        clock = "wtime" if white else "btime"
        if any(limit in numbers for limit in flags["ignore"]) or (
            "clock" in flags["ignore"] and "wtime" in numbers
        ):
            self._wait(1e6)
        elif "movetime" in numbers and not flags["lazy"]:
            self._wait((int(numbers["movetime"]) - 20 + flags["late"] * 1.2) / 1000)
        elif "wtime" in numbers and (flags["late"] or flags["swap-clocks"]):
            left = min(int(numbers[clock]), 2000)
            self._wait((left + flags["late"] if flags["late"] else left / 2) / 1000)

    def _wait(self, seconds: float) -> None:
        self._reader.think(seconds, self._interrupt)

    def _interrupt(self, line: bytes) -> bool:
        command = line.strip()
        self._faults.command(command.decode("ascii", "replace"))
        if command == b"isready" and not self._flags["deaf-ready"]:
            self._say("readyok")
        elif command == b"stop":
            return bool(self._flags["deaf"])
        elif command == b"ponderhit":
            return False
        elif command == b"quit":
            self._reader.put_back(line)
            return False
        return True

    def _decide(self, numbers: dict[str, str]) -> tuple[str, str]:
        """Return the words of the bestmove line, and the info line."""
        flags, move = self._flags, min(map(str, self._board.legal_moves))
        nodes = flags["nodes"] or numbers.get("nodes", 100)
        depth = flags["depth"] or numbers.get("depth", 1)
        info = f"info depth {depth} score cp 0 nodes {nodes} time 0 pv {move}"
        if flags["castle"] and move in ("e1g1", "e1e2") and self._board.castling_rights:
            move = "e1h1"
        return move, info

    def _say(self, text: str) -> None:
        self._faults.write(text.encode() + b"\n")


def main() -> None:
    CarefulEngine(parse(sys.argv[1:], (__doc__ or "") + (faults.__doc__ or ""), FLAGS)).run()


if __name__ == "__main__":
    main()
