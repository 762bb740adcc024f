"""Messages of UCI and USI: info lines, options, and the exchanges with an engine.

A search's info lines are kept as they came.  The score is read after the move, the other
numbers only for a record.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ringmaster.engines.channel import Exchange
from ringmaster.errors import EngineProtocolError, OptionRefused, nearest, shown, similar
from ringmaster.model.players import OptionValue

#: Bytes kept of an info line; a principal variation of 500 moves fits.
MAX_INFO: Final = 4096
#: The length of a mate that an engine does not give ("mate +", USI).
LONG_MATE: Final = 999
#: Limit of declared options.
MAX_OPTIONS: Final = 10_000

_NEWLINE: Final = ord("\n")

_SCORE: Final = re.compile(rb"\sscore\s+(cp|mate)\s+([+-]?\d{1,15}|[+-])(?!\S)")
# Numbers with more digits are garbage.
_FIELD: Final = re.compile(
    rb"(?<!\S)(depth|seldepth|nodes|nps|hashfull|tbhits|time|multipv)\s+([+-]?\d{1,15})(?!\S)"
)
#: Words behind which there are no numbers.
_TEXT: Final = re.compile(rb"(?:\s|^)(?:pv|string)(?!\S)")

OPTION_TYPES: Final = ("check", "spin", "combo", "button", "string", "filename")
_OPTION: Final = re.compile(
    rf"option\s+name\s+(?P<name>.*?)\s+type\s+(?P<type>{'|'.join(OPTION_TYPES)})"
    r"(?:\s+(?P<rest>.*))?$",
    re.IGNORECASE,
)
#: A declaration without a type, or with one that UCI does not have ("float", "file").
_UNTYPED: Final = re.compile(
    r"option\s+name\s+(?P<name>\S.*?)(?:\s+type\s+(?P<type>\S+))?(?:\s+default(?:\s+(?P<default>.*?))?)?"
    r"(?:\s+min\s+\S+\s+max\s+\S+)?$"
)
#: Keywords and values by type.  Every value but a number may have several words and keywords.
_VALUES: Final = {
    "spin": re.compile(r"(?<!\S)(default|min|max)\s+(\S+)"),
    "combo": re.compile(r"(?<!\S)(default|var)\s+(\S.*?)(?=\s+var\s|$)"),
}
_ONE_VALUE: Final = re.compile(r"^(default)\s+(\S.*)")


def find_line(lines: bytes, word: bytes, begin: int = 0) -> int:
    """Return the index of the first `word` that has only blanks before it in its line, -1
    without one (UCI: "arbitrary white space between tokens is allowed").

    begin  index at which the search begins
    """
    at = lines.find(word, begin)
    while at > 0 and lines[at - 1] != _NEWLINE:
        start = lines.rfind(b"\n", 0, at) + 1
        if not lines[start:at].strip():
            break
        # Behind this line, which may be long and full of the word.
        end = lines.find(b"\n", at)
        at = lines.find(word, end) if end >= 0 else -1
    return at


# Info lines


def read_score(line: bytes) -> tuple[int | None, int | None]:
    """Return the (centipawns, mate) of an info line, at most one of them not None.

    The score is the mover's.  A mate is in moves over UCI and in plies over USI;
    "mate +" and "mate -" are LONG_MATE, "mate -0" is a mate on the board.
    """
    match = _SCORE.search(line)
    if match is None:
        return None, None
    kind, text = match.groups()
    if text in (b"+", b"-"):
        return None, (LONG_MATE if text == b"+" else -LONG_MATE) if kind == b"mate" else None
    return (int(text), None) if kind == b"cp" else (None, int(text))


def last_score_lines(lines: bytes) -> tuple[bytes, bytes]:
    """Return (exact, bound) of whole lines: the last info line with an exact score of the
    best move, and the last one with a bound behind it; b"" without one.

    Searches from the end, since engines print many lines.
    """
    bound, end = b"", len(lines)
    while (at := lines.rfind(b" score ", 0, end)) >= 0:
        end = lines.rfind(b"\n", 0, at) + 1
        stop = lines.find(b"\n", at)
        line = (lines[end:stop] if stop >= 0 else lines[end:]).lstrip()
        # "info string" is free text.
        if not line.startswith(b"info ") or line.startswith(b"info st"):
            continue
        # With MultiPV the first line is the best.
        if b" multipv " in line and b" multipv 1 " not in line:
            continue
        if b"bound" not in line:
            return line, bound
        bound = bound or line
    return b"", bound


def score_line(lines: bytes) -> bytes:
    """Return the info line that has a search's score: the last exact one, else the last
    bound, else b""; at most MAX_INFO bytes."""
    exact, bound = last_score_lines(lines)
    return (exact or bound)[:MAX_INFO]


def read_info(line: bytes) -> dict[str, int]:
    """Return the numbers of an info line by name: "depth", "seldepth", "nodes", "nps",
    "hashfull" (per mille), "tbhits", "time" (ms), "multipv"."""
    end = _TEXT.search(line)
    fields = _FIELD.findall(line if end is None else line[: end.start()])
    return {name.decode(): int(number) for name, number in fields}


def read_pv(line: bytes) -> tuple[str, ...]:
    """Return the principal variation of an info line, () without one."""
    before, _, rest = line.partition(b" pv ")
    if b" string" in before:
        return ()
    # YaneuraOu and others end it with a remark: "pv 7g7f rep_draw".
    return tuple(word.decode("ascii", "replace") for word in rest.split())


# Options


@dataclass(frozen=True, slots=True)
class OptionDeclaration:
    """An option as the engine declared it; `default` is "" for a button and where the
    declaration has none."""

    name: str
    type: str
    default: str = ""
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()

    @classmethod
    def parse(cls, line: str) -> OptionDeclaration | None:
        """Read an "option name …" line, None for any other.  An unknown type is like a string."""
        match = _OPTION.match(line)
        if match is None:
            match = _UNTYPED.match(line)
            return match and cls(match["name"], match["type"] or "", match["default"] or "")
        kind, rest = match["type"].lower(), match["rest"] or ""
        choices, _, default = rest.rpartition(" default ")
        # a choice may be named "default"
        if kind == "combo" and choices.startswith("var") and not default.startswith("var "):
            rest = f"default {default} {choices}"
        values = _VALUES.get(kind, _ONE_VALUE).findall(rest)
        first = dict(reversed(values))
        return cls(
            name=match["name"],
            type=kind,
            default=first.get("default", ""),
            minimum=_integer(first.get("min", "")),
            maximum=_integer(first.get("max", "")),
            choices=tuple(value for keyword, value in values if keyword == "var"),
        )

    @property
    def reset_text(self) -> str | None:
        """The default as `setoption` wants it, None where it is unknown.

        An empty text is unknown: Stockfish 15 takes "<empty>" for a file's name unless it
        declares this word.
        """
        try:
            return self.render(self.default) if self.default else None
        except OptionRefused:
            return None

    def render(self, value: OptionValue) -> str:
        """Return `value` as `setoption` wants it.  Raises OptionRefused with possible values."""
        if self.type == "check":
            text = str(value).lower() if isinstance(value, bool | str) else ""
            if text not in ("true", "false"):
                raise self._refusal(value, "True or False")
            return text
        if self.type == "spin":
            return self._render_spin(value)
        if self.type == "combo" and self.choices:
            for choice in self.choices:
                if str(value).casefold() == choice.casefold():
                    return choice
            raise self._refusal(value, "one of " + ", ".join(self.choices))
        if self.type == "button":
            if value is not True:
                raise self._refusal(value, "True, to press the button")
            return ""
        # as engines declare truth values
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return text or "<empty>"

    def _render_spin(self, value: OptionValue) -> str:
        low, high = self.minimum, self.maximum
        wanted = "an integer" if low is None or high is None else f"an integer from {low} to {high}"
        try:
            number = int(value) if isinstance(value, str) else value
        except ValueError:
            raise self._refusal(value, wanted) from None
        if isinstance(number, bool) or not math.isfinite(number) or number != int(number):
            raise self._refusal(value, wanted)
        if (low is not None and number < low) or (high is not None and number > high):
            raise self._refusal(value, wanted)
        return str(int(number))

    def _refusal(self, value: OptionValue, wanted: str) -> OptionRefused:
        text = f"option {self.name!r} cannot be {shown(value)}; it takes {wanted}"
        return OptionRefused(text, option=self.name, expected=wanted)


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def describe_unknown(name: str, declared: Iterable[OptionDeclaration]) -> str:
    """Return the message for an option that the engine does not have.

    Names at most three similar options where there are more than ten.
    """
    known = [option.name for option in declared]
    has_few = len(known) <= 10
    guess = nearest(name, known) if has_few else ", ".join(map(repr, similar(name, known)))
    return f"it has no option {name!r}{guess and f'; it has {guess}'}"


# Exchanges


class Handshake(Exchange):
    """uci … uciok, usi … usiok: collects the engine's name and its options.

    Other lines are ignored: Stockfish greets before it answers, Toga II reports missing
    bitbases, YaneuraOu describes its build.

    Raises EngineProtocolError for an engine that does not know the command.
    """

    def __init__(self, protocol: str = "uci") -> None:
        self.request = protocol.encode() + b"\n"
        self._word = protocol
        self._end = protocol + "ok"
        self.name = ""
        self.options: dict[str, OptionDeclaration] = {}

    def feed(self, line: bytes) -> bool:
        text = line.decode("utf-8", "replace").strip()
        if text == self._end:
            return True
        # Stockfish: "Unknown command: 'usi'. …"; GNU Go over GTP: "? unknown command"
        if "unknown command" in text.casefold() and (self._word in text or text[:1] == "?"):
            other = " as over GTP, the protocol of Go" if text[:1] == "?" else ""
            raise EngineProtocolError(
                f"it does not speak {self._word.upper()}: it answers {shown(text)}{other}"
            )
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
    """isready … readyok, with lines to write before it.

    moves  lines before readyok that answer `go`
    """

    def __init__(self, *before: str) -> None:
        self.request = "".join(f"{line}\n" for line in (*before, "isready")).encode()
        self.complaints: list[str] = []
        self.moves = b""

    def feed(self, line: bytes) -> bool:
        if line.strip() == b"readyok":
            return True
        if line.lstrip().startswith(b"bestmove"):
            self.moves += line + b"\n"
        # Stockfish: "No such option: X"; others say it in an info string.
        if b"No such option" in line and len(self.complaints) < 20:
            self.complaints.append(line.decode("utf-8", "replace").strip())
        return False


class Go(Exchange):
    """position … go … bestmove.

    info_lines  the search's info lines, or a few of them with the one that has the score
    """

    bestmove = ""
    ponder = ""
    is_complete = False
    info_lines = b""

    def __init__(self, request: bytes) -> None:
        self.request = request

    def take(self, lines: bytes) -> bytes | None:
        at = 0 if lines.startswith(b"bestmove") else find_line(lines, b"bestmove")
        if at:
            self.info_lines += lines if at < 0 else lines[:at]
            if len(self.info_lines) > MAX_INFO:
                line = score_line(self.info_lines)
                self.info_lines = line + b"\n" if line else b""
            if at < 0:
                return None
            lines = lines[at:]
        answer, _, rest = lines.partition(b"\n")
        words = answer.split(None, 4)
        # Bytes that are no text stay visible in the error message.
        if len(words) > 1:
            self.bestmove = words[1].decode("ascii", "replace")
            if len(words) > 3 and words[2] == b"ponder":
                self.ponder = words[3].decode("ascii", "replace")
        self.is_complete = True
        return rest


class PonderedGo(Go):
    """go ponder … bestmove; `started` is the time of the request, in ns."""

    def __init__(self, request: bytes, started: int) -> None:
        super().__init__(request)
        self.started = started


class FirstLine(Exchange):
    """Ends with the first line of a pondering search, which takes the line."""

    def __init__(self, pondered: PonderedGo) -> None:
        self._pondered = pondered

    def take(self, lines: bytes) -> bytes | None:
        return self._pondered.take(lines) or b""
