"""The Universal Chess Interface: exchanges, option declarations, and an engine.

The position is kept as one growing byte string that is written together with
`go`, so that a move costs one write and one answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ringmaster.engines.channel import Exchange
from ringmaster.engines.engine import MAX_NAME, Engine, Limits, Thought, start_timeout
from ringmaster.errors import EngineError, EngineProtocolError, OptionRefused
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import OptionValue
from ringmaster.model.wording import nearest, shown

#: An engine may declare this many options, print this many lines of info, …
MAX_OPTIONS = 10_000

_OPTION = re.compile(
    r"option\s+name\s+(?P<name>.*?)\s+type\s+(?P<type>check|spin|combo|button|string|filename)"
    r"(?:\s+(?P<rest>.*))?$"
)
# an engine may print anything; what has more digits than this is no number
_NUMBER = re.compile(rb"[+-]?\d{1,15}")
_KEYWORD = re.compile(r"(?:^|\s)(default|min|max|var)(?=\s|$)")


@dataclass(frozen=True, slots=True)
class OptionDeclaration:
    """An option as the engine declared it."""

    name: str
    type: str
    default: str = ""
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()

    @classmethod
    def parse(cls, line: str) -> OptionDeclaration | None:
        """Read an "option name … type …" line; None when it is not one."""
        match = _OPTION.match(line)
        if match is None:
            return None
        words = _KEYWORD.split(match["rest"] or "")
        values: dict[str, list[str]] = {"default": [], "min": [], "max": [], "var": []}
        for keyword, value in zip(words[1::2], words[2::2], strict=True):
            values[keyword].append(value.strip())
        return cls(
            name=match["name"],
            type=match["type"],
            default=values["default"][0] if values["default"] else "",
            minimum=_integer(values["min"]),
            maximum=_integer(values["max"]),
            choices=tuple(values["var"]),
        )

    def render(self, value: OptionValue) -> str:
        """Return `value` as `setoption` wants it.

        Raises OptionRefused with the range or the choices.
        """
        if self.type == "check":
            text = str(value).lower() if isinstance(value, bool | str) else ""
            if text not in ("true", "false"):
                raise self._refusal(value, "True or False")
            return text
        if self.type == "spin":
            return self._render_spin(value)
        if self.type == "combo":
            for choice in self.choices:
                if str(value).casefold() == choice.casefold():
                    return choice
            raise self._refusal(value, "one of " + ", ".join(self.choices))
        if self.type == "button":
            if value is not True:
                raise self._refusal(value, "True, to press the button")
            return ""
        return str(value) or "<empty>"

    def _render_spin(self, value: OptionValue) -> str:
        low, high = self.minimum, self.maximum
        wanted = "an integer" if low is None or high is None else f"an integer from {low} to {high}"
        try:
            number = int(value) if isinstance(value, str) else value
        except ValueError:
            raise self._refusal(value, wanted) from None
        if isinstance(number, bool) or number != int(number):
            raise self._refusal(value, wanted)
        if (low is not None and number < low) or (high is not None and number > high):
            raise self._refusal(value, wanted)
        return str(int(number))

    def _refusal(self, value: OptionValue, wanted: str) -> OptionRefused:
        return OptionRefused(f"option {self.name!r} cannot be {shown(value)}; it takes {wanted}")


def _integer(words: list[str]) -> int | None:
    try:
        return int(words[0])
    except (ValueError, IndexError):
        return None


class Handshake(Exchange):
    """uci … uciok: collects the engine's name and its options.

    Lines that are no part of it are passed over: Stockfish greets before it
    answers, Toga II reports on missing bitbases.
    """

    request = b"uci\n"

    def __init__(self) -> None:
        self.name = ""
        self.options: dict[str, OptionDeclaration] = {}

    def feed(self, line: bytes) -> bool:
        text = line.decode("utf-8", "replace").strip()
        if text == "uciok":
            return True
        if text.startswith("id name "):
            self.name = text[8:].strip()
        elif text.startswith("option "):
            option = OptionDeclaration.parse(text)
            if option is not None:
                self.options[option.name.casefold()] = option
            if len(self.options) > MAX_OPTIONS:
                raise EngineProtocolError(f"it declares more than {MAX_OPTIONS} options")
        return False


class Ready(Exchange):
    """isready … readyok, after whatever `before` sets up."""

    def __init__(self, before: bytes = b"") -> None:
        self.request = before + b"isready\n"
        self.complaints: list[str] = []

    def feed(self, line: bytes) -> bool:
        if line.strip() == b"readyok":
            return True
        # Stockfish: "No such option: X"; others say it in an info string
        if b"No such option" in line and len(self.complaints) < 20:
            self.complaints.append(line.decode("utf-8", "replace").strip())
        return False


class Go(Exchange):
    """position … go … bestmove.  Of the info lines only the last one with a
    score is kept, and read only when somebody asks for it."""

    __slots__ = ("bestmove", "info", "request")

    def __init__(self, request: bytes) -> None:
        self.request = request
        self.info = b""
        self.bestmove = ""

    def feed(self, line: bytes) -> bool:
        if line.startswith(b"info "):
            # with MultiPV the best line counts, which is the first
            if b" score " in line and (b" multipv " not in line or b" multipv 1 " in line):
                self.info = line
            return False
        if line.startswith(b"bestmove"):
            words = line.split(None, 2)
            # an answer that is no text is kept visible for the error message
            self.bestmove = words[1].decode("ascii", "replace") if len(words) > 1 else ""
            return True
        return False


def read_info(line: bytes) -> dict[str, int]:
    """Return "score" (centipawns) or "mate", "depth" and "nodes" of an info
    line, as far as it has them.  The score is the mover's."""
    words = line.split()
    found: dict[str, int] = {}
    for i, word in enumerate(words[:-1]):
        if word == b"pv":
            break
        name = word.decode("ascii", "replace")
        if name in ("cp", "mate") and words[i - 1] == b"score":
            name = "score" if name == "cp" else name
        elif name not in ("depth", "nodes"):
            continue
        if _NUMBER.fullmatch(words[i + 1]):
            found[name] = int(words[i + 1])
    return found


class UciEngine(Engine):
    """A chess engine over UCI, kept from game to game."""

    protocol = "uci"

    def _shake_hands(self) -> None:
        handshake = Handshake()
        self.channel.converse(handshake, self._timeout)
        self.name = handshake.name[:MAX_NAME]
        self.options = handshake.options
        self._set: dict[str, str] = {}
        self._position = b""
        self._has_moves = False

    def option_lines(self) -> list[str]:
        """Return the setoption lines that bring the engine from what it was
        last told to its player's options.

        An option that the previous player set and this one does not is set to
        its declared default.  Raises OptionRefused naming every wrong option.
        """
        wanted: dict[str, str] = {}
        problems: list[str] = []
        for name, value in self.player.options.items():
            declared = self.options.get(name.casefold())
            if declared is None:
                known = [option.name for option in self.options.values()]
                guess = nearest(name, known) if len(known) <= 10 else _close(name, known)
                problems.append(f"it has no option {name!r}{guess and f'; it has {guess}'}")
                continue
            try:
                wanted[declared.name] = declared.render(value)
            except OptionRefused as refusal:
                problems.append(str(refusal))
        if problems:
            raise OptionRefused("\n".join(problems), self.player.code)
        for name in self._set.keys() - wanted.keys():
            declared = self.options[name.casefold()]
            if declared.type != "button":
                wanted[name] = declared.default
        lines = []
        for name, text in wanted.items():
            if self._set.get(name) != text or self.options[name.casefold()].type == "button":
                lines.append(f"setoption name {name}" + (f" value {text}" if text else ""))
        self._set = wanted
        return lines

    def _get_ready(self, *more: str) -> Ready:
        lines = [*self.option_lines(), *more]
        exchange = Ready("".join(f"{line}\n" for line in lines).encode())
        self.channel.converse(exchange, self._timeout)
        return exchange

    def check(self, settings: GameSettings) -> list[str]:
        self._timeout = start_timeout(settings)
        try:
            return self._get_ready("ucinewgame").complaints
        except OptionRefused as refusal:
            return str(refusal).splitlines()
        except EngineError as error:
            return [str(error)]

    def start_game(self, settings: GameSettings, opening: Opening, colour: int) -> None:
        self._timeout = start_timeout(settings)
        self._get_ready("ucinewgame")
        start = "startpos" if opening.fen is None else f"fen {opening.fen}"
        self._position = f"position {start}".encode()
        self._has_moves = False
        for move in opening.moves:
            self.observe(0, move, own=False)

    def observe(self, colour: int, move: str, *, own: bool) -> None:
        if self._has_moves:
            self._position += b" " + move.encode()
        else:
            self._position += b" moves " + move.encode()
            self._has_moves = True

    def think(self, colour: int, limits: Limits) -> Thought:
        # A late line of the last search must not answer this one.
        self.channel.discard_input()
        go = Go(self._position + b"\n" + go_command(limits))
        elapsed = self.channel.converse(go, limits.seconds)
        info = read_info(go.info) if go.info else {}
        return Thought(
            "move",
            go.bestmove,
            elapsed,
            score=info.get("score"),
            mate=info.get("mate"),
            depth=info.get("depth"),
            nodes=info.get("nodes"),
        )

    def _say_goodbye(self) -> None:
        # `stop` first: some engines read nothing else while they search
        self.channel.send(b"stop\nquit\n", 0.1)


def go_command(limits: Limits) -> bytes:
    """Return the `go` line for the limits, its newline included."""
    words = ["go"]
    if limits.clock_ms is not None:
        words += ["wtime", str(limits.clock_ms[0]), "btime", str(limits.clock_ms[1])]
        if any(limits.increment_ms):
            words += ["winc", str(limits.increment_ms[0]), "binc", str(limits.increment_ms[1])]
        if limits.moves_to_go:
            words += ["movestogo", str(limits.moves_to_go)]
    if limits.nodes is not None:
        words += ["nodes", str(limits.nodes)]
    if limits.depth is not None:
        words += ["depth", str(limits.depth)]
    if limits.move_time_ms is not None:
        words += ["movetime", str(limits.move_time_ms)]
    return (" ".join(words) + "\n").encode()


def _close(name: str, known: list[str]) -> str:
    """Return the names most like `name`, "" when none is: an engine with a
    hundred options must not have them all listed."""
    import difflib

    folded = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)
    return ", ".join(repr(folded[c]) for c in close)
