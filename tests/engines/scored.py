"""An engine over UCI or USI that scores positions, with faults on request.

The score depends on the letters of the board and the option Weight.
"""

from __future__ import annotations

import os
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from flags import Table, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMS = {
    "stockfish": "noise: 1.00\n\nFinal evaluation       {pawns:+.2f} (white side)\n\n",
    "total": "Total evaluation: {pawns:.2f} (white side)\n",
    "glaurung": "Incremental mg: 5\nFull eval: {units}\n",
    "yaneuraou": "eval = {mover}\n",
    "own": "depth: 3\nTotal: {cp} cp\n",
    "silent": "",
}
FLAGS: Table = {
    "form": ("NAME", str, "stockfish", "how `eval` answers"),
    "none-at": ("N", int, 0, "the N-th position has no score"),
    "die-at": ("N", int, 0, "exit at the N-th request"),
    "hang-at": ("N", int, 0, "do not answer the N-th request, nor anything after it"),
    "skip-at": ("N", int, 0, "leave out the N-th answer"),
    "twice-at": ("N", int, 0, "give the N-th answer twice"),
    "flood-at": ("N", int, 0, "print for ever at the N-th request"),
    "garbage-at": ("N", int, 0, "the N-th score is no number"),
    "infinite-at": ("N", int, 0, "the N-th score is inf"),
    "chatter": ("BYTES", int, 0, "so much before each answer"),
    "long-line": ("BYTES", int, 0, "a line of that length before each answer"),
    "same": ("", str, False, "all scores are the same"),
    "drifts": ("", str, False, "a score depends on how many were asked for in this game"),
    "unsteady": ("", str, False, "every process has scores of its own"),
    "never-clears": ("", str, False, "a new game is no new game to it"),
    "stalls-ahead": ("", str, False, "hang when a request comes before its answer is out"),
    "dies-ahead": ("", str, False, "the same, exit"),
    "swaps-ahead": ("", str, False, "answer two requests that came together in the wrong order"),
    "applies": ("WHEN", str, "live", "live, newgame or start: when Weight takes effect"),
    "stale": ("", str, False, "a score that is known is not made anew until a new game"),
    "endless": ("WORD", str, "", "search for ever with that limit, until `stop`"),
    "deaf": ("", str, False, "search on after `stop`, too"),
    "nodes": ("N", int, 7, "the nodes that it says it has searched, 0: as many as asked for"),
    "random": ("", str, False, "a score is another one each time"),
    "depth-0": ("N", int, 0, "what depth it says of `go depth 0`"),
}


class Scored:
    """One process."""

    def __init__(self, flags: dict[str, Any]) -> None:
        self.flags = flags
        self.weight = self.new_weight = 100
        self.started = False
        self.request_count = 0
        self.in_game = 0
        self.position = ""
        self.known: dict[str, int] = {}
        self.held = ""
        self.lines: list[str] = []
        self.rest = b""

    def write(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(1, data) :]

    def read(self) -> None:
        chunk = os.read(0, 1 << 16)
        if not chunk:
            os._exit(0)
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        self.lines += [line.decode() for line in lines]

    def run(self) -> None:
        while True:
            while not self.lines:
                self.read()
            self.obey(self.lines.pop(0))

    def obey(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word in ("uci", "usi"):
            self.write("id name scored\noption name Weight type spin default 100 min 0 max 1000\n")
            self.write("option name Idle type spin default 0 min 0 max 9\n" + word + "ok\n")
        elif word == "isready":
            self.write("readyok\n")
            if self.flags["applies"] == "live" or not self.started:
                self.weight = self.new_weight
            self.started = True
        elif word in ("ucinewgame", "usinewgame"):
            if self.flags["applies"] == "newgame":
                self.weight = self.new_weight
            if not self.flags["never-clears"]:
                self.in_game = 0
            self.known.clear()
        elif word == "setoption" and " Weight " in line:
            self.new_weight = int(line.split()[-1])
        elif word == "position":
            setup, _, board = rest.partition(" ")
            # of a line of moves any letters will do
            self.position = f"{rest.replace(' ', '')} w" if setup == "startpos" else board
        elif word == "eval":
            self.answer(self.evaluation)
        elif word == "go":
            self.go(rest.split())
        elif word == "quit":
            os._exit(0)

    def go(self, words: list[str]) -> None:
        if words[0] == self.flags["endless"]:
            while True:
                if "stop" in self.lines and not self.flags["deaf"]:
                    self.lines.remove("stop")
                    break
                self.read()
        self.answer(lambda: self.search(words))

    def answer(self, make: Any) -> None:
        self.request_count += 1
        flags, n = self.flags, self.request_count
        if n == flags["die-at"]:
            os._exit(3)
        if n == flags["hang-at"]:
            self.hang()
        while n == flags["flood-at"]:
            self.write("info string on and on\n" * 1000)
        ahead = any(line.startswith("position") for line in self.lines)
        if ahead and flags["stalls-ahead"]:
            self.hang()
        if ahead and flags["dies-ahead"]:
            os._exit(1)
        text = "info string chatter\n" * (flags["chatter"] // 20)
        if flags["long-line"]:
            text += "x" * flags["long-line"] + "\n"
        text += make() if n != flags["skip-at"] else ""
        text += make() if n == flags["twice-at"] else ""
        if ahead and flags["swaps-ahead"] and not self.held:
            self.held = text
            return
        self.write(text + self.held)
        self.held = ""

    def hang(self) -> None:
        while True:
            time.sleep(60)

    def score(self) -> int:
        """Return centipawns for the side that moves first."""
        board = self.position.partition(" ")[0]
        if self.flags["same"]:
            return 7
        if self.flags["stale"] and self.position in self.known:
            return self.known[self.position]
        self.in_game += 1
        value = zlib.crc32(board.encode()) % 1000 - 500 + self.flags["drifts"] * self.in_game
        value += os.getpid() if self.flags["unsteady"] else 0
        self.known[self.position] = score = value * self.weight // 100
        return score

    def evaluation(self) -> str:
        score = self.score()
        form = FORMS[self.flags["form"]]
        if self.request_count == self.flags["none-at"]:
            return form.partition("{")[0].rstrip().rstrip(":") + ": none (in check)\n"
        if self.request_count == self.flags["garbage-at"]:
            return form.replace("{pawns:+.2f}", "fine").format(pawns=0, units=0, mover=0, cp=0)
        if self.request_count == self.flags["infinite-at"]:
            return form.replace("{pawns:+.2f}", "inf").format(pawns=0, units=0, mover=0, cp=0)
        mover = score if self.first_moves() else -score
        units = mover * 204 / 100
        return form.format(pawns=score / 100, units=units, mover=mover * 0.9, cp=score)

    def first_moves(self) -> bool:
        fields = self.position.split()
        return (fields[1] == "b") == (fields[0].count("/") == 8)

    def search(self, words: list[str]) -> str:
        score = self.score() if self.first_moves() else -self.score()
        if self.flags["random"]:
            score += self.request_count
        depth = self.flags["depth-0"] if words[1:] == ["0"] else words[-1]
        nodes = self.flags["nodes"] or words[-1]
        info = f"info depth {depth} score cp {{}} nodes {nodes} pv a1a2\n"
        if self.request_count == self.flags["none-at"]:
            return "bestmove (none)\n"
        # only the last exact one counts
        bound = info.format(f"{score + 999} lowerbound")
        return info.format(score + 77) + info.format(score) + bound + "bestmove a1a2\n"


if __name__ == "__main__":
    Scored(parse(sys.argv[1:], __doc__ or "", FLAGS)).run()
