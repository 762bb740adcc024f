"""A UCI engine that answers at once, with faults on request.

Without flags for it, it plays like instant_uci.py.  Flags combine.
"""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import faults
import uci_player
from flags import Table, parse
from uci_player import UciPlayer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FLAGS: Table = {
    **uci_player.FLAGS,
    **faults.FLAGS,
    "no-uciok": ("", str, False, "never end the answer to `uci` or `usi`"),
    "ready-after": ("SECONDS", float, 0.0, "time for the first `isready`"),
    "crash-on-stop": ("", str, False, "exit when told to stop"),
    "answer-early": ("", str, False, "answer `go ponder` before `ponderhit`"),
    "turns": ("FIFO", str, None, "who answers early writes a byte there, others wait for it"),
    "ponder-chatter": ("BYTES", int, 0, "so much of info lines as it begins to ponder"),
    "ignore-stop": ("", str, False, "think on after `stop`"),
    "second-move": ("MOVE", str, None, "answer each `go` a second time, with this move"),
    "late": ("", str, False, "the second answer comes with the next command"),
    "echo-unknown": ("", str, False, "complain about unknown commands, as Stockfish does"),
}
COMMANDS = {
    *("uci", "ucinewgame", "usi", "usinewgame", "gameover"),
    *("isready", "setoption", "position", "go", "stop", "ponderhit"),
}
GARBAGE = b"\x00\x01\x7f\n$ segmentation fault\n\nuciok readyok bestmovee2e4\nBestmove e2e4\n"
BABBLE = b"info string still here, still talking, nothing to say\n"
# No piece moves from a1 to b4.
ILLEGAL = "a1b4"


class FaultyEngine:
    """One process: a player with faults."""

    def __init__(self, flags: dict[str, Any], player: UciPlayer, illegal: str) -> None:
        self._flags = flags
        self._player = player
        self._illegal = illegal
        self._faults = faults.Faults(flags, BABBLE, "go")
        self._reader = faults.Reader()
        # open for both, so that nobody waits for the other end
        self._turns = flags["turns"] and os.open(flags["turns"], os.O_RDWR)
        self._late = b""

    def run(self) -> None:
        """Answer commands until quit."""
        self._faults.begin()
        while True:
            line = self._reader.line()
            if line is None:
                self._faults.end_of_input()
                self._faults.hang()
            self._faults.write(self._late)
            self._late = b""
            self._obey(line)

    def _obey(self, line: bytes) -> None:
        words = line.split(None, 1)
        command = words[0].decode("ascii", "replace") if words else ""
        if self._faults.command(command):
            self._faults.write(GARBAGE)
        elif command == "quit":
            self._faults.end_of_input()
        elif command == "go":
            self._go(line.split())
        elif command == self._player.protocol:
            answer = self._player.handle(line)
            if self._flags["bad-utf8"]:
                answer = answer.replace(uci_player.NAME, faults.BAD_UTF8)
            if self._flags["hostile"]:
                answer = answer.replace(uci_player.NAME, faults.HOSTILE)
            if self._flags["no-uciok"]:
                answer = answer.removesuffix(command.encode() + b"ok\n")
            self._faults.write(answer)
        elif command == "isready":
            seconds, self._flags["ready-after"] = self._flags["ready-after"], 0.0
            if seconds:
                self._reader.think(seconds, lambda line: True)
            self._faults.write(self._player.handle(line))
        elif command and command not in COMMANDS and self._flags["echo-unknown"]:
            self._faults.write(b"Unknown command: '%s'. Type help for more information.\n" % line)
        else:
            self._faults.write(self._player.handle(line))

    def _go(self, words: list[bytes]) -> None:
        seconds = self._flags["slow"]
        late = self._flags["overstep"]
        if late is not None:
            seconds += self._clock(words) + late / 1000
        self._ponders = b"ponder" in words
        if b"infinite" in words or self._ponders:
            seconds = 1e6
        if self._ponders:
            chatter = self._flags["ponder-chatter"]
            self._faults.write(BABBLE * (chatter // len(BABBLE)))
            if self._flags["answer-early"]:
                seconds = 0
        # who oversteps does not stop either
        self._deaf = self._flags["ignore-stop"] or late is not None
        if seconds:
            self._reader.think(seconds, self._interrupt)
        if self._turns and not self._flags["answer-early"]:
            os.read(self._turns, 1)
        info, _, move = self._player.bestmove().rpartition(b"bestmove ")
        answer = self._faults.move(move.decode().strip(), self._illegal)
        if self._flags["long-line"]:
            info += b"info string " + b"x" * (self._flags["long-line"] - 12) + b"\n"
        if self._flags["bad-utf8"]:
            info += b"info string " + faults.BAD_UTF8 + b"\n"
        if self._flags["hostile"]:
            info += b"info string " + faults.HOSTILE + b"\n"
        self._faults.write(info)
        line, second = b"bestmove " + os.fsencode(answer) + b"\n", b""
        if self._flags["second-move"]:
            second = b"bestmove " + os.fsencode(self._flags["second-move"]) + b"\n"
        if self._flags["late"]:
            self._late, second = second, b""
        self._faults.write_move(line + second)
        if self._turns and self._ponders and self._flags["answer-early"]:
            os.write(self._turns, b".")

    def _interrupt(self, line: bytes) -> bool:
        """Take a command while thinking; whether to think on."""
        command = line.strip()
        if command == b"isready":
            self._faults.write(b"readyok\n")
        elif command == b"stop":
            if self._flags["crash-on-stop"]:
                os._exit(1)
            return bool(self._deaf)
        elif command == b"ponderhit" and self._ponders:
            return False
        elif command == b"quit" and not self._flags["ignore-quit"]:
            self._reader.put_back(line)
            return False
        return True

    def _clock(self, words: list[bytes]) -> float:
        """Return the seconds that `go` allows for the move; 0 when it sets no time."""
        fields = self._player.line.split()
        black_first = fields[1:2] == [b"fen"] and fields[3:4] == [b"b"]
        black = (self._player.ply() + black_first) % 2
        if self._player.protocol == "usi":
            black = not black
        seconds = 0.0
        for name in (b"movetime", b"btime" if black else b"wtime", b"byoyomi"):
            if name in words[:-1]:
                seconds += int(words[words.index(name) + 1]) / 1000
        return seconds


def main(
    kind: type[UciPlayer] = UciPlayer, doc: str = __doc__ or "", illegal: str = ILLEGAL
) -> None:
    flags = parse(sys.argv[1:], doc + (faults.__doc__ or ""), FLAGS)
    if flags["openings"]:
        uci_player.print_openings(flags["openings"])
        return
    FaultyEngine(flags, kind(flags), illegal).run()


if __name__ == "__main__":
    main()
