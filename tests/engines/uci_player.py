"""The honest part of the UCI test engines: options, and moves from scripts.

The move is that of the ply which the `position` command has reached, so one script
serves both sides and nothing is remembered from move to move.
"""

from __future__ import annotations

import os
import zlib

from flags import Table
from scripted_games import GAMES

NAME = b"Instant"

#: name, type and range as declared, default
OPTIONS = [
    ("Hash", "spin default 16 min 1 max 1024", "16"),
    ("Strength", "spin default 500 min 0 max 1000", "500"),
    ("Width", "spin default 500 min 0 max 1000", "500"),
    ("Seed", "spin default 0 min 0 max 1000000", "0"),
    ("Ponder", "check default false", "false"),
    ("Style", "combo default Normal var Solid var Normal var Risky", "Normal"),
    ("Book File", "string default <empty>", "<empty>"),
    ("Clear Hash", "button", ""),
]

# A short game for each result.  White's first move, one of LEVELS, shows how strong
# White feels; Black compares, and its answer tells White who is to win.  In all lines
# the rooks, the queen's bishops and Black's queen's knight and pawns have no part.
LEVELS = ("a2a3", "a2a4", "b2b3", "b2b4", "c2c3", "c2c4", "b1a3", "b1c3")
WHITE_WINS = ("f7f6", "e2e4", "g7g5", "d1h5")
BLACK_WINS = ("e7e5", "f2f3", "h7h6", "g2g4", "d8h4")
DRAW = ("g8f6", "g1f3", "f6g8", "f3g1", "g8f6", "g1f3", "f6g8", "f3g1")
LINES: dict[str, tuple[str, ...]] = {line[0]: line for line in (WHITE_WINS, BLACK_WINS, DRAW)}
BY_NAME = {"white": WHITE_WINS, "black": BLACK_WINS, "draw": DRAW}
OUTCOMES = (*BY_NAME, "by-option")
#: A level is this much stronger or weaker by chance, at most.
NOISE = 1.5

EXPECTED = ("right", "h7h5", "a1b4")

FLAGS: Table = {
    "plies": (
        "N",
        int,
        None,
        "a built-in game of N plies: 40, 100 and 200 (the default) end in mate, other "
        "numbers are the first N plies of the longest",
    ),
    "outcome": (
        "|".join(OUTCOMES),
        lambda text: OUTCOMES[_index(text)],
        None,
        "a decided game of 5 to 9 plies; by-option: won by the side with the higher "
        "Strength and the Width nearer to 700, more or less (the chance depends on the "
        "options, the side and the start position alone), for start positions "
        "that --openings prints",
    ),
    "info": ("N", int, 0, "info lines before each bestmove"),
    "option": ("NAME type …", str, [], "declare this option, too"),
    "expect": (
        "right|wrong|illegal",
        lambda text: EXPECTED[("right", "wrong", "illegal").index(text)],
        None,
        "name the opponent's answer after each move: the one of the script, one that is "
        "never played, or one that nobody could play",
    ),
    "openings": ("N", int, 0, "print N different start positions as EPD, and exit"),
}


def _index(text: str) -> int:
    if text not in OUTCOMES:
        raise ValueError("choose " + ", ".join(OUTCOMES))
    return OUTCOMES.index(text)


def openings(count: int) -> list[str]:
    """Return up to 1024 start positions as EPD: the usual one without some of the
    pieces that have no part in a decided game."""
    lines = []
    for number in range(min(count, 1024)):
        rows = [list("rnbqkbnr"), list("pppppppp"), list("PPPPPPPP"), list("RNBQKBNR")]
        spare = [(0, 0), (0, 1), (0, 2), (0, 7), (1, 0), (1, 1), (1, 2), (3, 0), (3, 2), (3, 7)]
        for bit, (row, column) in enumerate(spare):
            if number >> bit & 1:
                rows[row][column] = "1"
        castling = (
            ("K" if rows[3][7] == "R" else "")
            + ("Q" if rows[3][0] == "R" else "")
            + ("k" if rows[0][7] == "r" else "")
            + ("q" if rows[0][0] == "r" else "")
        )
        ranks = ["".join(row) for row in rows]
        for ones in range(8, 1, -1):
            ranks = [rank.replace("1" * ones, str(ones)) for rank in ranks]
        board = f"{ranks[0]}/{ranks[1]}/8/8/8/8/{ranks[2]}/{ranks[3]}"
        lines.append(f'{board} w {castling or "-"} - id "{number}";')
    return lines


def level(options: dict[str, str], side: int, start: str) -> int:
    """Return how strong a side feels, 0 to 7: a function of its arguments alone."""
    strength = int(options["Strength"]) / 1000
    width = (int(options["Width"]) - 700) / 1000
    key = f"{sorted(options.items())} {side} {start}".encode()
    # CRC is linear, which a multiplication hides well enough
    scattered = zlib.crc32(key) * 0x9E3779B97F4A7C15 >> 11 & 0xFFFFFFFF
    chance = (2 * scattered / 0xFFFFFFFF - 1) * NOISE
    return max(0, min(7, int(8 * (strength - width * width) + chance)))


class UciPlayer:
    """Answers one command after the other, at once.

    `options` are the values set so far, `line` the last position command.
    """

    protocol = "uci"
    declared = OPTIONS
    games = GAMES
    #: The answer when the script has come to its end.
    last = b"bestmove (none)\n"

    def __init__(self, flags: dict[str, object]) -> None:
        for text in flags["option"]:  # type: ignore[attr-defined]
            name, _, rest = text.partition(" type ")
            self.declared = [*self.declared, (name, rest, "")]
        self.options = {name: default for name, _, default in self.declared}
        self.line = b"position startpos"
        self._outcome = flags["outcome"]
        plies = flags["plies"] if isinstance(flags["plies"], int) else 200
        moves = self.games.get(plies, self.games[200]).split()[:plies]
        if self._outcome in BY_NAME:
            moves = [LEVELS[0], *BY_NAME[str(self._outcome)]]
        expected = (
            [*moves[1:], ""] if flags["expect"] == "right" else [flags["expect"]] * len(moves)
        )
        self._answers = [
            (f"bestmove {move} ponder {reply}\n" if reply else f"bestmove {move}\n").encode()
            for move, reply in zip(moves, expected, strict=True)
        ]
        info = b"info depth %d seldepth 9 score cp %d nodes %d nps 1000000 time 1 pv e2e4 e7e5\n"
        count = flags["info"] if isinstance(flags["info"], int) else 0
        lines = b"".join(info % (i, 10 + i, 100 * i) for i in range(1, count + 1))
        self._answers = [lines + answer for answer in self._answers]
        self._no_move = lines + self.last
        self._lines = lines

    def ply(self) -> int:
        """Return how many moves the position command has."""
        start = self.line.find(b" moves ")
        return 0 if start < 0 else self.line.count(b" ", start + 7) + 1

    def handle(self, line: bytes) -> bytes:
        """Return the whole answer to a command, b"" for none."""
        if line.startswith(b"position"):
            self.line = line
            return b""
        if line.startswith(b"go"):
            return self.bestmove()
        command = line.split(None, 1)[0] if line.strip() else b""
        if command == b"isready":
            return b"readyok\n"
        if command == self.protocol.encode():
            declared = [f"option name {name} type {rest}\n" for name, rest, _ in self.declared]
            lines = b"id name %s\nid author ringmaster's tests\n" % NAME
            return lines + "".join(declared).encode() + b"%sok\n" % command
        if command == b"setoption":
            return self._set_option(line.decode("utf-8", "replace"))
        return b""

    def bestmove(self) -> bytes:
        """Return the info lines and the bestmove line for the present position."""
        ply = self.ply()
        if self._outcome == "by-option":
            return self._lines + b"bestmove " + self._duel(ply).encode() + b"\n"
        return self._answers[ply] if ply < len(self._answers) else self._no_move

    def _duel(self, ply: int) -> str:
        start, _, played = self.line.decode("ascii", "replace").partition(" moves ")
        moves = played.split()
        if ply == 0:
            return LEVELS[level(self.options, 0, start)]
        if ply == 1:
            if moves[0] not in LEVELS:
                return "(none)"
            white, black = LEVELS.index(moves[0]), level(self.options, 1, start)
            line = WHITE_WINS if white > black else BLACK_WINS if black > white else DRAW
            return line[0]
        chosen = LINES.get(moves[1], ())
        return chosen[ply - 1] if ply - 1 < len(chosen) else "(none)"

    def _set_option(self, line: str) -> bytes:
        name, _, value = line.partition("setoption name ")[2].partition(" value ")
        for known, declared, _ in self.declared:
            if known.casefold() == name.strip().casefold():
                if not declared.startswith("button"):
                    self.options[known] = value.strip()
                return b""
        return f"No such option: {name.strip()}\n".encode()


def print_openings(count: int) -> None:
    """Print start positions, one a line."""
    os.write(1, "".join(line + "\n" for line in openings(count)).encode())
