"""Read and write positions in lines: EPD, FEN or SFEN, with labels in any usual form.

Nearly all lines match one pattern as a whole.  Only other lines are parsed field by field,
to be repaired or refused.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

from ringmaster.formats.recorded_game import RESULTS
from ringmaster.formats.source import (
    MATE,
    NAN,
    SIZE,
    Batch,
    Record,
    Source,
    batch_of,
    hash_of,
    quoted,
)
from ringmaster.games.game import beginning
from ringmaster.model.players import GameName

_CHESS = (
    rb"([1-8KQRBNPkqrbnp/]{15,90} ([wb]) (?:-|[KQA-H]{1,2}[kqa-h]{0,2}|[kqa-h]{1,2})"
    rb" (?:-|[a-h][1-8])(?: [0-9]{1,5} ([0-9]{1,5}))?)"
)
_VARIANT = (
    rb"([0-9A-Za-z+*~/\[\]-]{5,300} ([wb]) [A-Za-z-]{1,20} [a-z0-9-]{1,4}(?: [0-9]\+[0-9])?"
    rb"(?: [0-9]{1,5} ([0-9]{1,5}))?(?: \+[0-9]\+[0-9])?)"
)
_SHOGI = (
    rb"(?:sfen )?([1-9+PLNSBRGKplnsbrgk/]{17,120}"
    rb" ([bw]) (?:-|(?:(?:[1-9][0-9]?)?[PLNSGBRplnsgbr]){1,14})"
    rb"(?: ([0-9]{1,4}))?)"
)
_CASTLING = re.compile(rb"(\S+ [wb] )([KQkqA-Ha-h]{2,4})(?= )")
#: Lines that begin so are comments.
COMMENTS = b"#;%"


@dataclass(frozen=True)
class Notation:
    """The notation of positions in a game.

    place     a pattern with three groups: text, letter of the side to move, move number
    counters  default counters of a text without a move number
    """

    game: GameName
    variant: str
    place: bytes
    counters: bytes

    @cached_property
    def line(self) -> re.Pattern[bytes]:
        """A line that begins with a position; the last group is the rest."""
        return re.compile(self.place + rb'((?:[ ;,|"\[][^\t]*)?)')

    def tidy(self, line: bytes) -> bytes:
        """Return a line with single spaces, a bare position and castling in the usual order."""
        line = b" ".join(line.split())
        if line.startswith(b'"'):
            line = b" ".join(line[1:].split(b'"', 1))
        if self.game == "chess" and (castling := _CASTLING.match(line)):
            # white's rights, in capitals, come first
            letters = bytes(sorted(castling[2], key=lambda letter: letter >= ord("a")))
            line = castling[1] + letters + line[castling.end() :]
        return line

    def match(self, line: bytes) -> re.Match[bytes]:
        """Return the groups of a line in any form.  Raises ValueError."""
        match = self.line.fullmatch(line) or self.line.fullmatch(tidy := self.tidy(line))
        if match is None:
            raise ValueError(self._fault(tidy))
        return match

    def _fault(self, line: bytes) -> str:
        """Return the fault of a line that does not begin with a position."""
        text = line.decode(errors="replace")
        other = other_game(line, self.game)
        if other:
            return f"this is a position of {other}, but the game is {self.game}"
        words = re.split(r"[|,;\[\"]", text)[0].split()
        if self.game == "shogi":
            words = words[1:] if words[:1] == ["sfen"] else words
            position = " ".join(words[:4] if words[3:4] and words[3].isdigit() else words[:3])
        elif len(words) < 4:
            return f"an EPD has at least 4 fields, this has {len(words)}"
        else:
            is_counted = len(words) >= 6 and words[4].isdigit() and words[5].isdigit()
            position = " ".join(words[:6] if is_counted else [*words[:4], "0", "1"])
        try:
            beginning(self.game, variant=self.variant)(position)
        except ValueError as error:
            return str(error)
        return f"this does not begin with {'an SFEN' if self.game == 'shogi' else 'a FEN'}"

    def position(self, line: str) -> tuple[str, dict[str, str]]:
        """Return the position of one line with all counters, and its EPD operations.

        Labels and comments behind the position are passed over.  Raises ValueError for a line
        that does not begin with a position, and for other text behind it; the position's
        legality is not checked.
        """
        text, _, count, rest = self.match(line.encode()).groups()
        operations, at = _operations_of(rest)
        left = rest[at:].strip()
        while (label := _LABEL.match(rest, at)) and _is_label(label):
            at = label.end()
        if not _REMARK.match(rest, at) or (count is None and _INTEGERS.fullmatch(left)):
            raise ValueError(f'{quoted(left)} is neither a label nor an operation such as id "x";')
        if count is None:
            text += _counters(operations) or self.counters
        named = {code.decode(): it.decode(errors="replace") for code, it in operations.items()}
        return text.decode(), named


_INTEGERS = re.compile(rb"[\s0-9-]+")


def other_game(line: bytes, game: GameName) -> str:
    """Return the other game that a line's position belongs to, "" if it may be `game`."""
    board = line.removeprefix(b"sfen ").split(b" ", 1)[0]
    if game == "chess" and (line.startswith(b"sfen ") or _SHOGI_BOARD.fullmatch(board)):
        return "shogi"
    if game == "shogi" and _CHESS_BOARD.fullmatch(board):
        return "chess"
    return ""


_SHOGI_BOARD = re.compile(rb"(?:[1-9+PLNSBRGKplnsbrgk]+/){8}[1-9+PLNSBRGKplnsbrgk]+")
_CHESS_BOARD = re.compile(rb"(?:[1-8KQRBNPkqrbnp]+/){7}[1-8KQRBNPkqrbnp]+")


@cache
def notation_of(game: GameName, variant: str = "standard") -> Notation:
    if game == "shogi":
        return Notation(game, variant, _SHOGI, b" 1")
    place = _CHESS if variant in ("standard", "chess960") else _VARIANT
    return Notation(game, variant, place, b" 0 1")


# labels

#: Results in words, as the first player's share.
_POINTS = {text.encode(): points for text, points in {**RESULTS, "0.5-0.5": 0.5}.items()}
#: The result of an unfinished game, whose positions are left out without an error.
_UNFINISHED = math.inf
#: A score beyond this is neither centipawns nor any engine's code for a mate.
_ABSURD = 100_000.0
_NUMBER = re.compile(rb"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?")
_MATE = re.compile(rb"[-+]?[#M][-+]?[0-9]+")
#: Lines that decide the unit of a file's results.
_DECIDING = 10_000
#: The numbers of a loss and of a win, by unit.
UNITS = {"0-1": (0.0, 1.0), "0-2": (0.0, 2.0), "-1-1": (-1.0, 1.0)}


class Results:
    """Converts results of one file to shares of the first player or of the mover.

    The file, not the single number, decides the unit: 1 is a win beside 0.5, a draw beside 2.
    """

    def __init__(self, unit: str | None) -> None:
        """Use a unit of `UNITS`; None to collect numbers for `decide`."""
        self._unit = unit
        self._numbers: set[float] = set()
        self._has_shares = False

    def share(self, text: bytes) -> float:
        """Return a result from 0 to 1, or `_UNFINISHED`.  Raises ValueError."""
        value = _POINTS.get(text)
        if value is not None:
            self._has_shares |= value == 0.5
            return value
        if text == b"*":
            return _UNFINISHED
        if not _NUMBER.fullmatch(text):
            raise ValueError(f"the result is {quoted(text)}, not 1-0, 0-1, 1/2-1/2 or a number")
        value = float(text)
        if self._unit is None:
            self._numbers.add(value)
            self._has_shares |= b"." in text
            return NAN
        low, high = UNITS[self._unit]
        if not low <= value <= high:
            others = "" if self._unit == "0-1" else ", as the other results of this file"
            raise ValueError(f"the result is {quoted(text)}, not from {low:g} to {high:g}{others}")
        return (value - low) / (high - low)

    def decide(self, source: Source) -> None:
        """Choose the unit by the collected numbers.  Raises DataFileError where both fit."""
        numbers = self._numbers
        has_fractions = any(value != int(value) for value in numbers)
        if min(numbers, default=0) < 0:
            self._unit = "-1-1"
        elif max(numbers, default=0) > 1 and not has_fractions:
            self._unit = "0-2"
        elif self._has_shares or not numbers:
            self._unit = "0-1"
        else:
            known = " and ".join(f"{value:g}" for value in sorted(numbers))
            raise source.error(
                None,
                f"its results are {known} only: is 1 a win, or a draw, as in 0, 1, 2? "
                'write results="0-1" or results="0-2" in Positions(…), or --results',
            )


def score_of(text: bytes) -> float:
    """Return a score in centipawns, within ±`MATE`.  Raises ValueError for an absurd one."""
    if not _NUMBER.fullmatch(text):
        if _MATE.fullmatch(text):
            return -MATE if b"-" in text else MATE
        raise ValueError(f"the score is {quoted(text)}, not a number of centipawns")
    value = float(text)
    if abs(value) > _ABSURD:
        raise ValueError(f"the score {value:g} is beyond ±{_ABSURD:,.0f} centipawns")
    return min(max(value, -MATE), MATE)


class Tail(NamedTuple):
    """The rest of a line, behind its position.

    counters  half-move clock and move number, b"" for none
    """

    result: float = NAN
    teacher: float = NAN
    game: int = 0
    counters: bytes = b""


#: Reads the rest of a line.  Raises ValueError.
Parser = Callable[[bytes, Results], Tail]

#: A label in brackets, in quotes or bare, behind separators.
_LABEL = re.compile(rb'([\s,;|]*)(?:\[ *([^\[\]]*?) *\]|" *([^"]*?) *"|([-+]?#?[^\s,;|\[\]"#]+))')
#: The beginning of text behind the labels.
_REMARK = re.compile(rb"[\s,|]*[;#]|[\s,|]*\Z")


def _is_label(match: re.Match[bytes]) -> bool:
    """Return whether a match of `_LABEL` is a result or a score."""
    text = match[match.lastindex or 1]
    is_number = _NUMBER.fullmatch(text) or _MATE.fullmatch(text)
    return is_number is not None or text in _POINTS or text == b"*"


def _labels(rest: bytes, results: Results, columns: tuple[str, ...]) -> Tail:
    """Read labels in the order of some columns; a single one is the result."""
    labels: list[bytes] = []
    at = 0
    while len(labels) < len(columns) and (match := _LABEL.match(rest, at)):
        label = match[match.lastindex or 1]
        if labels and not _is_label(match) and (b";" in match[1] or label.startswith(b"#")):
            break  # a remark
        labels.append(label)
        at = match.end()
    if not labels or not _REMARK.match(rest, at):
        raise ValueError(f"expected {', '.join(columns)} behind the position, not {quoted(rest)}")
    if len(labels) < len(columns) == 2:
        columns = ("result",)
    named = dict(zip(columns, labels, strict=False))
    score = named.get("score")
    teacher = NAN if score is None else score_of(score)
    return Tail(results.share(named["result"]) if "result" in named else NAN, teacher)


#: An opcode and its operands; a quoted operand may contain semicolons.
_OPERATION = re.compile(rb' *([A-Za-z][A-Za-z0-9_]*)(?=[ ;"=]|$)=?((?:[^;"]|"[^"]*")*)(?:;|$)')
_C_CODES = frozenset(b"c%d" % i for i in range(10))
_RESULT_CODES = frozenset((b"result", b"res", b"wdl", b"outcome", b"game_result"))
_SHARE = re.compile(rb"[01]\.[0-9]+")
_COUNTER = re.compile(rb"[0-9]{1,5}")


def _operations_of(rest: bytes) -> tuple[dict[bytes, bytes], int]:
    """Return the operands of EPD operations by their codes, and where the operations end."""
    operations: dict[bytes, bytes] = {}
    at = 0
    while operation := _OPERATION.match(rest, at):
        operations[operation[1].lower()] = operation[2].strip().strip(b'"').strip()
        at = operation.end()
    return operations, at


def _operations(rest: bytes, results: Results) -> Tail:
    """Read the labels of EPD operations."""
    operations, at = _operations_of(rest)
    left = rest[at:].strip(b" ;")
    if left and not left.startswith((b"#", b"%")):
        raise ValueError(f'{quoted(left)} is not an EPD operation such as c9 "1-0";')
    result = teacher = NAN
    game = 0
    # the last result counts: c9 has precedence over c0 to c8, and names over c9
    for code, operand in sorted(operations.items()):
        looks_like_result = operand in _POINTS or operand == b"*" or _SHARE.fullmatch(operand)
        is_result = (
            code in _RESULT_CODES
            or (code in _C_CODES and looks_like_result)
            or (code == b"c9" and _NUMBER.fullmatch(operand))
        )
        if is_result:
            result = results.share(operand)
        elif code == b"ce":
            teacher = score_of(operand)
        elif code == b"id":
            game = hash_of(operand)
    return Tail(result, teacher, game, _counters(operations))


def _counters(operations: dict[bytes, bytes]) -> bytes:
    """Return the counters of EPD operations, b"" for none.  Raises ValueError."""
    if not operations.keys() & {b"hmvc", b"fmvn"}:
        return b""
    clock, number = operations.get(b"hmvc", b"0"), operations.get(b"fmvn", b"1")
    if not (_COUNTER.fullmatch(clock) and _COUNTER.fullmatch(number)):
        raise ValueError(f"hmvc and fmvn are {quoted(clock)} and {quoted(number)}, not numbers")
    return b" %b %b" % (clock, number)


# lines

#: Names of columns in a heading.
_COLUMNS = {
    **dict.fromkeys(_RESULT_CODES, "result"),
    **dict.fromkeys((b"score", b"eval", b"cp", b"evaluation", b"centipawns"), "score"),
}
HEADING = re.compile(rb'"?(?:s?fen|epd|position)"?\s*(?:[,;|\t]|\Z)', re.IGNORECASE)
#: Size of the cache of tails; most files have few different ones.
_CACHED = 1 << 15


def read_epd(source: Source) -> Iterator[Batch]:
    """Yield the positions of an EPD file.

    The result is an operand of c0 to c9, or of an operation such as `result`.  The score is the
    operand of `ce`.
    """
    return _read(source, _operations)


def read_fen(source: Source) -> Iterator[Batch]:
    """Yield the positions of `FEN [result]`, in other forms, too, or with a score at the end."""
    return _read(source, partial(_labels, columns=("result", "score")))


def read_list(source: Source) -> Iterator[Batch]:
    """Yield the positions of `FEN | centipawns | result`, or with other separators.

    A heading such as `fen,result,score` gives another order of the columns.
    """
    return _read(source, partial(_labels, columns=("score", "result")))


def guessed_format(source: Source, lines: list[bytes]) -> str:
    """Return the format of most of some lines, "" where none begins with a position.

    The form of a line decides, not its labels, so that a bad label is reported as such.
    Raises DataFileError for positions without labels.
    """
    notation = notation_of(source.game, source.variant)
    matches = (notation.line.fullmatch(notation.tidy(line)) for line in lines)
    names = Counter(_form(match[4]) for match in matches if match is not None)
    name = max(names, key=names.__getitem__, default="")
    if name == "bare":
        raise source.error(None, "the positions have neither results nor scores")
    return "sfen" if name == "fen" and source.game == "shogi" else name


def _form(rest: bytes) -> str:
    """Return the format of a line by its rest, "bare" for a position without labels."""
    if re.match(rb"[ ;]*[A-Za-z]\w*[ =]+[^ ;,|]", rest):
        return "epd"
    if not rest.strip(b" ;,|") or re.match(rb' *[;#](?! *[-+0-9.*\["])[^;]*\Z', rest):
        return "bare"
    if rest.count(b",") >= 2:
        return "comma"
    return "bar" if max(rest.count(b"|"), rest.rstrip(b" ;").count(b";")) >= 2 else "fen"


def _read(source: Source, parse: Parser) -> Iterator[Batch]:
    notation = notation_of(source.game, source.variant)
    chunks = ((first, chunk.split(b"\n")) for first, chunk in source.chunks())
    start: list[bytes] = []
    while len(start) < _DECIDING and (chunk := next(chunks, None)):
        start += chunk[1]
    top = next((i for i, line in enumerate(start) if line.strip()[:1] not in COMMENTS), 0)
    if start and HEADING.match(start[top]):
        names = re.split(rb"[,;|\t]", start[top].lower())[1:]
        labels = tuple(_COLUMNS.get(name.strip(b'" '), "") for name in names)
        if names and not any(labels):
            message = "no column of the heading is called result or score"
            raise source.error(top + 1, f"{message}: {quoted(start[top], 60)}")
        parse = partial(_labels, columns=labels) if names else parse
        start[top] = b""
    results = Results(source.results)
    if source.results is None:
        _look(notation, start, parse, results)
        results.decide(source)
    tails: dict[bytes, Tail | None] = {}
    columns: tuple[list[Any], ...] = ([], [], [], [], [], [])
    texts, shares, teachers, plies, places, games = columns
    default, fullmatch = notation.counters, notation.line.fullmatch
    is_chess = source.game == "chess"
    parts = (
        (first + at, lines[at : at + SIZE])
        for first, lines in itertools.chain([(1, start)], chunks)
        for at in range(0, len(lines), SIZE)
    )
    for first, lines in parts:
        for number, line in enumerate(lines, first):
            match = fullmatch(line)
            try:
                if match is None:
                    if not line.strip() or line.lstrip()[:1] in COMMENTS:
                        continue
                    match = notation.match(line)
                text, side, count, rest = match.groups()
                try:
                    tail = tails[rest]
                except KeyError:
                    if len(tails) >= _CACHED:
                        tails.clear()
                    tail = tails[rest] = _parsed(parse, rest, results)
            except ValueError as error:
                source.bad(number, f"{error}: {quoted(line.strip(), 100)}")
                continue
            if tail is None:
                source.counts["positions of unfinished games"] += 1
                continue
            result, teacher, game, counters = tail
            if counters and count is None:
                text += counters
                count = counters.split()[-1]
            if count is None:
                text += default
                plies.append(-1)
            else:
                move = max(0, int(count) - 1)
                plies.append(2 * move + (side == b"b") if is_chess else move)
            texts.append(text)
            shares.append(result)
            teachers.append(teacher)
            games.append(game)
            places.append(number)
        yield batch_of(columns)
        for column in columns:
            column.clear()


def _parsed(parse: Parser, rest: bytes, results: Results) -> Tail | None:
    """Return the labels of a line, None for an unfinished game.  Raises ValueError."""
    tail = parse(rest, results)
    if tail.result == _UNFINISHED:
        return None
    if math.isnan(tail.result) and math.isnan(tail.teacher):
        raise ValueError('there is neither a result (c9 "1-0";) nor a score (ce 35;)')
    return tail


def _look(notation: Notation, lines: list[bytes], parse: Parser, results: Results) -> None:
    """Collect the results of the first lines of a file; faults are reported later."""
    known: set[bytes] = set()
    for line in lines[:_DECIDING]:
        match = notation.line.fullmatch(line) or notation.line.fullmatch(notation.tidy(line))
        if match is None or match[4] in known:
            continue
        known.add(match[4])
        with suppress(ValueError):
            parse(match[4], results)


# writers


def write_epd(record: Record) -> bytes:
    """Return a line of EPD; the standard prescribes the mover's score."""
    *position, clock, number = record.text.decode().split()
    text = f"{' '.join(position)} hmvc {clock}; fmvn {number};"
    if not math.isnan(record.teacher):
        text += f" ce {round(record.teacher)};"
    outcome = {1.0: "1-0", 0.0: "0-1"}.get(record.result, "1/2-1/2")
    name = record.game.replace('"', "'").replace("\n", " ")
    return f'{text} c9 "{outcome}"; id "{name}";\n'.encode()


def write_bar(record: Record) -> bytes:
    """Return a line with bars."""
    return f"{record.text.decode()} | {round(record.teacher)} | {record.result}\n".encode()


def write_sfen(record: Record) -> bytes:
    """Return a line of shogi."""
    score = "" if math.isnan(record.teacher) else f" {round(record.teacher)}"
    return f"sfen {record.text.decode()} [{record.result}]{score}\n".encode()
