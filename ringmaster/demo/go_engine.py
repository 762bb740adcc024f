"""The demo Go engine over GTP: moves by weighted features, without a search.

The rules are the referee's.  `ringmaster-param NAME VALUE` sets a weight.  Clocks are
ignored, since a move takes a few milliseconds.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Sequence
from inspect import signature

from ringmaster import __version__
from ringmaster.demo.console import Console, Engine, Option, noise
from ringmaster.errors import IllegalMove
from ringmaster.games.go import (
    GoGame,
    fixed_handicap,
    max_fixed_handicap,
    parse_vertex,
)

WEIGHTS = (
    # for each captured stone
    Option("Capture", 30, -100, 200),
    # for each liberty of the played chain, up to four
    Option("Liberties", 4, -50, 50),
    # for a point near the last move; on the third or fourth line, less the first
    Option("Near", 6, -100, 100),
    Option("HighLine", 8, -100, 100),
)


class GoEngine(Engine):
    def __init__(self, console: Console) -> None:
        super().__init__(console, WEIGHTS, noise=3)
        self._komi = 6.5
        self._explanation = ""
        self._begin(19)
        self._commands: dict[str, Callable[..., str | None]] = {
            "protocol_version": lambda: "2",
            "name": lambda: "ringmaster demo",
            "version": lambda: __version__,
            "known_command": lambda name: "true" if name in self._commands else "false",
            "list_commands": lambda: "\n".join(self._commands),
            "quit": self._quit,
            "boardsize": lambda size: self._begin(int(size)),
            "clear_board": lambda: self._begin(self._game.size),
            "komi": self._set_komi,
            "fixed_handicap": lambda n: self._place(*fixed_handicap(self._game.size, int(n))),
            "place_free_handicap": self._place_free_handicap,
            "set_free_handicap": self._place,
            "play": self._play,
            "genmove": self._genmove,
            "undo": self._undo,
            "final_score": self._final_score,
            "time_settings": lambda main, period, stones: "",
            "kgs-time_settings": lambda *words: "",
            "time_left": lambda colour, seconds, stones: "",
            "gomill-cpu_time": lambda: f"{time.process_time():.6f}",
            "gomill-explain_last_move": lambda: self._explanation,
            "ringmaster-param": self.set_option,
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
            answer = self._answer(*words)
        except (ValueError, IllegalMove) as error:
            return [f"?{number} {error}", ""]
        return [*f"={number} {answer}".rstrip().split("\n"), ""]

    def _answer(self, name: str = "", *arguments: str) -> str:
        command = self._commands.get(name)
        if command is None:
            raise ValueError("unknown command")
        try:
            signature(command).bind(*arguments)
        except TypeError:
            raise ValueError(f"wrong number of arguments for {name}") from None
        return command(*arguments) or ""

    def _quit(self) -> None:
        self.quit = True

    def _begin(self, size: int, stones: Sequence[str] = ()) -> str:
        """Begin a game with black handicap stones."""
        self._game = GoGame(size, stones)
        self._stones = tuple(stones)
        self._moves: list[tuple[int, str]] = []
        self._explanation = ""
        return " ".join(stones)

    def _set_komi(self, word: str) -> None:
        if not math.isfinite(float(word)):
            raise ValueError("komi not a number")
        self._komi = float(word)

    def _place(self, *vertices: str) -> str:
        if self._moves or self._stones:
            raise ValueError("board not empty")
        if not 2 <= len(vertices) < self._game.size**2:
            raise ValueError("invalid number of stones")
        return self._begin(self._game.size, vertices)

    def _place_free_handicap(self, word: str) -> str:
        count, size = int(word), self._game.size
        most = max_fixed_handicap(size)
        # GTP allows fewer stones, but at least two
        return self._place(*(fixed_handicap(size, min(count, most)) if most else ("A1", "B2")))

    def _play(self, colour: str, vertex: str) -> None:
        self._advance(_colour(colour), vertex)

    def _advance(self, colour: int, vertex: str) -> None:
        """Play a move of either side.  Raises IllegalMove."""
        if self._game.to_move != colour:
            self._game.play("pass")
        self._game.play(vertex)
        self._moves.append((colour, vertex))
        self._explanation = ""

    def _genmove(self, word: str) -> str:
        colour = _colour(word)
        vertex, explanation = self._choose(colour)
        self._advance(colour, vertex)
        self._explanation = explanation
        return vertex

    def _undo(self) -> None:
        if not self._moves:
            raise ValueError("cannot undo")
        moves = self._moves[:-1]
        self._begin(self._game.size, self._stones)
        for colour, vertex in moves:
            self._advance(colour, vertex)

    def _final_score(self) -> str:
        margin = self._game.margin(self._komi)
        return "0" if margin == 0 else f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"

    def _choose(self, colour: int) -> tuple[str, str]:
        """Return the vertex to play or "pass", and the reason."""
        game = self._game
        # only simple ko is forbidden, so positions could repeat forever
        if len(self._moves) > 4 * game.size**2:
            return "pass", "pass: the game is too long"
        if self._moves and self._moves[-1] == (1 - colour, "pass"):
            margin = game.margin(self._komi)
            if margin > 0 if colour == 0 else margin < 0:
                return "pass", "pass: so did the other side, and the score is a win"
        position = zlib.crc32(game.position().encode())
        best: tuple[int, str, dict[str, int]] | None = None
        for point in game.geometry.points:
            vertex = game.geometry.names[point]
            features = self._features(point, colour)
            if features is None or vertex == game.ko:
                continue
            value = sum(self.values[name] * amount for name, amount in features.items())
            value += noise(self.values, position << 10 | point)
            if best is None or value > best[0]:
                best = value, vertex, features
        if best is None:
            return "pass", "pass: only own eyes are left"
        value, vertex, features = best
        reasons = [f"{name} {self.values[name] * n:+d}" for name, n in features.items() if n]
        return vertex, f"value {value}: {', '.join(reasons) or 'nothing in particular'}"

    def _features(self, point: int, colour: int) -> dict[str, int] | None:
        """Return the amounts of the weights; None for an own eye, suicide, or a stone's point."""
        game, geometry = self._game, self._game.geometry
        around = [game.chains[q] for q in geometry.neighbours[point]]
        own = {chain for chain in around if chain and chain.colour == colour}
        enemies = {chain for chain in around if chain and chain.colour != colour}
        if game.chains[point] or (not (None in around or enemies) and self._is_eye(point, colour)):
            return None
        bit = geometry.bits[point]
        captured = sum(len(chain.points) for chain in enemies if chain.liberties == bit)
        free = sum(geometry.bits[q] for q in geometry.neighbours[point] if not game.chains[q])
        for chain in own:
            free |= chain.liberties & ~bit
        # about one liberty for each captured stone
        liberties = free.bit_count() + captured
        if liberties == 0:
            return None
        column, row = point % geometry.stride, point // geometry.stride
        line = 1 + min(column, row, game.size - 1 - column, game.size - 1 - row)
        last = parse_vertex(self._moves[-1][1], game.size) if self._moves else None
        return {
            "Capture": captured,
            "Liberties": min(liberties, 4),
            "Near": last is not None and abs(last[0] - column) + abs(last[1] - row) <= 3,
            "HighLine": (line in (3, 4)) - (line == 1),
        }

    def _is_eye(self, point: int, colour: int) -> bool:
        """Return whether a point between own stones is an eye: most diagonals are not lost."""
        geometry = self._game.geometry
        corners = (point + a + b for a in (-geometry.stride, geometry.stride) for b in (-1, 1))
        diagonals = [self._game.chains[q] for q in corners if q in geometry.names]
        lost = sum(chain is not None and chain.colour != colour for chain in diagonals)
        return lost == 0 or (lost == 1 and len(diagonals) == 4)


def _colour(word: str) -> int:
    colour = {"b": 0, "black": 0, "w": 1, "white": 1}.get(word.lower())
    if colour is None:
        raise ValueError("invalid color")
    return colour
