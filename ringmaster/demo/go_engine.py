"""The demo Go engine over GTP: moves by weighted features, without a search.

Rules, parameters and analysis have the commands of KataGo and of Leela Zero.  A visit is the
evaluation of one move.  All stones on the board count as alive, and seki is not detected.
Clocks are ignored, since a move takes a few milliseconds.
"""

from __future__ import annotations

import json
import math
import time
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature

from ringmaster import __version__
from ringmaster.demo.console import Console, Engine, Option, noise
from ringmaster.demo.go_rules import change_rules, parse_rules
from ringmaster.errors import IllegalMove
from ringmaster.games.go import fixed_handicap, max_fixed_handicap, new_go_game, parse_vertex
from ringmaster.model.go_rules import Rules

WEIGHTS = (
    # for each captured stone
    Option("Capture", 30, -100, 200),
    # for each liberty of the played chain, up to four
    Option("Liberties", 4, -50, 50),
    # for a point near the last move; on the third or fourth line, less the first
    Option("Near", 6, -100, 100),
    Option("HighLine", 8, -100, 100),
)
_NO_LIMIT = 1 << 50
_LIMITS = tuple(Option(name, _NO_LIMIT, 1, _NO_LIMIT) for name in ("maxVisits", "maxPlayouts"))
#: Value of a move, its vertex or "pass", and the amounts of the weights or another reason.
Candidate = tuple[int, str, dict[str, int] | str]


class GoEngine(Engine):
    def __init__(self, console: Console) -> None:
        super().__init__(console, WEIGHTS + _LIMITS, noise=3)
        self._rules = Rules(compensation="no")
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
            "play": lambda colour, vertex: self._advance(_colour(colour), vertex),
            "genmove": lambda word: self._genmove("", word),
            "kata-genmove_analyze": partial(self._genmove, "kata"),
            "lz-genmove_analyze": partial(self._genmove, "lz"),
            "undo": self._undo,
            "final_score": self._final_score,
            "final_status_list": self._final_status_list,
            "kata-get-rules": lambda: json.dumps(self._rules.as_json(), separators=(",", ":")),
            "kata-set-rules": lambda *words: self._set_rules(parse_rules(" ".join(words))),
            "kata-set-rule": lambda name, word: self._set_rules(
                change_rules(self._rules, {name: word})
            ),
            "kata-list-params": lambda: " ".join(self.values),
            "kata-get-param": self._get_param,
            "kata-set-param": self.set_option,
            "lz-setoption": self._set_lz_option,
            "time_settings": lambda main, period, stones: "",
            "kgs-time_settings": lambda *words: "",
            "kata-time_settings": lambda *words: "",
            "kata-list_time_settings": lambda: "none absolute byoyomi canadian fischer",
            "time_left": lambda colour, seconds, stones: "",
            "gomill-cpu_time": lambda: f"{time.process_time():.6f}",
            "gomill-explain_last_move": lambda: self._explanation,
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
        return [*(line.rstrip() for line in f"={number} {answer}".split("\n")), ""]

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
        rules = self._rules
        self._game = new_go_game(
            size, stones, 1 if stones else 0, ko_rule=rules.ko, suicide=rules.suicide
        )
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

    def _advance(self, colour: int, vertex: str) -> None:
        """Play a move of either side.  Raises IllegalMove."""
        if self._game.to_move != colour:
            self._game.play("pass")
        self._game.play(vertex)
        self._moves.append((colour, vertex))
        self._explanation = ""

    def _genmove(self, dialect: str, word: str, *options: str) -> str:
        """Play and return a move, in the dialect "kata" or "lz" after a line of analysis."""
        colour = _colour(word)
        candidates = self._candidates(colour)
        root = f" rootInfo visits {max(len(candidates) - 1, 1)}" if "rootInfo" in options else ""
        while True:
            value, vertex, reason = candidates[0]
            analysis = dialect and self._analysis(dialect, colour, candidates[:-1] or candidates)
            try:
                self._advance(colour, vertex)
                break
            except IllegalMove:
                # a superko forbids it
                del candidates[0]
        if isinstance(reason, dict):
            reasons = [f"{name} {self.values[name] * n:+d}" for name, n in reason.items() if n]
            reason = f"value {value}: {', '.join(reasons) or 'nothing in particular'}"
        self._explanation = reason
        return f"\n{analysis}{root}\nplay {vertex}" if dialect else vertex

    def _analysis(self, dialect: str, colour: int, candidates: list[Candidate]) -> str:
        """Return the evaluated moves as KataGo or Leela Zero prints them."""
        # a move whose value is larger by 10 is e times as likely
        shares = [math.exp((value - candidates[0][0]) / 10) for value, _, _ in candidates]
        total = sum(shares)
        groups = []
        for order, (_, vertex, _) in enumerate(candidates):
            lead, prior = self._lead(colour, vertex), shares[order] / total
            # fitted to 150 games between two of these engines on 9x9
            winrate = 1 / (1 + math.exp(-lead / 14))
            words = f"winrate {winrate:.6f} scoreLead {lead:g} prior {prior:.6f}"
            if dialect == "lz":
                words = f"winrate {10000 * winrate:.0f} prior {10000 * prior:.0f}"
            groups.append(f"info move {vertex} visits 1 {words} order {order} pv {vertex}")
        return " ".join(groups)

    def _undo(self) -> None:
        if not self._moves:
            raise ValueError("cannot undo")
        moves = self._moves[:-1]
        self._begin(self._game.size, self._stones)
        for colour, vertex in moves:
            self._advance(colour, vertex)

    def _set_rules(self, rules: Rules) -> None:
        if rules.tax == "all":
            raise ValueError("tax ALL is not supported by this engine")
        self._rules = rules
        # in a game that has begun, ko and suicide stay as they are
        if not self._moves:
            self._begin(self._game.size, self._stones)

    def _get_param(self, name: str) -> str:
        if name not in self.values:
            raise ValueError(f"Invalid parameter: {name}")
        return str(self.values[name])

    def _set_lz_option(self, _name: str, name: str, _value: str, number: str) -> None:
        option = {"visits": "maxVisits", "playouts": "maxPlayouts"}.get(name.lower(), name)
        # Leela Zero: 0 is no limit
        self.set_option(option, str(_NO_LIMIT) if number == "0" else number)

    def _final_score(self) -> str:
        margin = self._game.margin(self._komi, self._rules)
        return "0" if margin == 0 else f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"

    def _final_status_list(self, status: str) -> str:
        if status not in ("alive", "dead", "seki"):
            raise ValueError("the status must be alive, dead or seki")
        return " ".join(sorted(set.union(*self._game.stones()))) if status == "alive" else ""

    def _candidates(self, colour: int) -> list[Candidate]:
        """Return the evaluated moves, the best first, and last a pass."""
        game, geometry = self._game, self._game.geometry
        # positions could repeat forever under simple ko
        if len(self._moves) > 4 * game.size**2:
            return [(0, "pass", "pass: the game is too long")]
        if self._moves and self._moves[-1] == (1 - colour, "pass"):
            margin = game.margin(self._komi, self._rules)
            if margin > 0 if colour == 0 else margin < 0:
                return [(0, "pass", "pass: so did the other side, and the score is a win")]
        position = zlib.crc32(game.position().encode())
        points: Sequence[int] = geometry.points
        limit = min(self.values["maxVisits"], self.values["maxPlayouts"])
        if limit < len(points):
            order = {"Noise": 1 << 30, "Seed": self.values["Seed"]}
            points = sorted(points, key=lambda point: noise(order, position << 10 | point))
        candidates: list[Candidate] = []
        for point in points:
            vertex = geometry.names[point]
            features = self._features(point, colour)
            if features is None or vertex == game.ko:
                continue
            value = sum(self.values[name] * amount for name, amount in features.items())
            value += noise(self.values, position << 10 | point)
            candidates.append((value, vertex, features))
            if len(candidates) == limit:
                break
        candidates.sort(key=lambda candidate: -candidate[0])
        return [*candidates, (0, "pass", "pass: only own eyes are left")]

    def _lead(self, colour: int, vertex: str) -> float:
        """Return the estimated lead in points of a colour after its move.

        An empty point belongs to the side with the nearer stone, up to a distance of two.
        """
        geometry, sides = self._game.geometry, [0, 0]
        bit = 0 if vertex == "pass" else geometry.bits[geometry.numbers[vertex]]
        sides[colour] = bit
        for own_bit, chain in zip(geometry.bits, self._game.chains, strict=True):
            # a chain without another liberty is captured
            if chain and (chain.colour == colour or chain.liberties != bit):
                sides[chain.colour] |= own_bit
        for _ in range(2):
            empty = geometry.board & ~(sides[0] | sides[1])
            near = [geometry.grow(side) & empty for side in sides]
            sides = [sides[0] | near[0] & ~near[1], sides[1] | near[1] & ~near[0]]
        lead = sides[0].bit_count() - sides[1].bit_count() - self._komi
        lead -= self._rules.handicap_points(len(self._stones))
        return lead if colour == 0 else -lead

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
