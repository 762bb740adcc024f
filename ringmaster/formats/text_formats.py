"""Read labelled positions from text: EPD, FEN or SFEN with a result, separated lists, .plain.

Nearly all lines match one pattern as a whole.  Only other lines are parsed field by field,
to be repaired or refused.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ringmaster.formats.source import (
    NAN,
    SIZE,
    Batch,
    Source,
    Unfinished,
    hash_of,
    make_batch,
    quoted,
    result_of,
    score_of,
)
from ringmaster.games.game import beginning
from ringmaster.model.players import GameName

_CHESS = (
    rb"([1-8KQRBNPkqrbnp/]{15,90} ([wb]) (?:-|[KQkqA-Ha-h]{1,4}) (?:-|[a-h][1-8])"
    rb"(?: [0-9]{1,5} ([0-9]{1,5}))?)"
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


@dataclass(frozen=True)
class Notation:
    """The notation of positions in a game.

    place     a pattern with three groups: text, letter of the side to move, move number
    counters  default counters of a text without a move number
    second    letter of the side that moves second
    scale     plies counted by one move number
    """

    game: GameName
    variant: str
    place: bytes
    counters: bytes
    second: bytes
    scale: int

    @cached_property
    def line(self) -> re.Pattern[bytes]:
        """A line that begins with a position; the last group is the rest."""
        return re.compile(self.place + rb'((?:[ ;,|"\[].*)?)')

    def wrong(self, line: bytes) -> str:
        """Return the fault of a line that does not begin with a position."""
        text = line.decode(errors="replace")
        other = other_game(line, self.game)
        if other:
            return f"this is a position of {other}, but the game is {self.game}"
        words = re.split(r"[|,;\[\"]", text)[0].split()
        if self.game == "shogi":
            words = words[1:] if words[:1] == ["sfen"] else words
            position = " ".join(words[:4] if words[3:4] and words[3].isdigit() else words[:3])
        else:
            counted = len(words) >= 6 and words[4].isdigit() and words[5].isdigit()
            position = " ".join(words[:6] if counted else [*words[:4], "0", "1"])
        try:
            beginning(self.game, variant=self.variant)(position)
        except ValueError as error:
            return str(error)
        return f"this does not begin with {'an SFEN' if self.game == 'shogi' else 'a FEN'}"


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

_NOTATIONS = {
    "shogi": Notation("shogi", "standard", _SHOGI, b" 1", b"w", 1),
    "chess": Notation("chess", "standard", _CHESS, b" 0 1", b"b", 2),
}


def notation_of(source: Source) -> Notation:
    """Return the notation of a file's positions."""
    if source.game == "chess" and source.variant not in ("standard", "chess960"):
        return Notation("chess", source.variant, _VARIANT, b" 0 1", b"b", 2)
    return _NOTATIONS[source.game]


#: Size of the cache of tails; most files have few different ones.
_CACHED = 1 << 15


class Tail(NamedTuple):
    """The rest of a line, behind its position.

    counters  half-move clock and move number, b"" for none
    """

    result: float = NAN
    teacher: float = NAN
    game: int = 0
    counters: bytes = b""


def read_epd(source: Source) -> Iterator[Batch]:
    """Yield the positions of an EPD file.

    The result is an operand of c0 to c9, or of an operation such as `result`.  The score is the
    operand of `ce`.
    """
    return _read(source, _operations)


def read_fen(source: Source) -> Iterator[Batch]:
    """Yield the positions of `FEN [result]`, also without brackets, or with a score at the end."""
    return _read(source, _bracketed)


def read_bar(source: Source) -> Iterator[Batch]:
    """Yield the positions of `FEN | centipawns | result`."""
    return _read(source, _barred)


def read_comma(source: Source) -> Iterator[Batch]:
    """Yield the positions of `FEN,centipawns,result`.

    A result is 0, 1 or 2 half points, or a share with a decimal point.
    """
    return _read(source, _comma)


def sniffers(source: Source) -> list[tuple[str, Callable[[bytes], bool]]]:
    """Return for each format a function that tests whether a line may belong to it."""
    notation = notation_of(source)

    def fits(parse: Callable[[bytes], Tail], line: bytes) -> bool:
        match = notation.line.fullmatch(b" ".join(line.split()))
        if match is None:
            return False
        try:
            parse(match[4])
        except Unfinished:
            return True
        except ValueError:
            return False
        return True

    fen = "sfen" if source.game == "shogi" else "fen"
    parsers = (("epd", _operations), (fen, _bracketed), ("bar", _barred), ("comma", _comma))
    return [(name, functools.partial(fits, parse)) for name, parse in parsers]


def is_bare(source: Source, line: bytes) -> bool:
    """Return whether a line is a position and nothing else."""
    match = notation_of(source).line.fullmatch(b" ".join(line.split()))
    return match is not None and not match[4]


def _read(source: Source, parse: Callable[[bytes], Tail]) -> Iterator[Batch]:
    notation = notation_of(source)
    cache: dict[bytes, Tail | None] = {}
    for first, chunk in source.chunks():
        lines = chunk.split(b"\n")
        for start in range(0, len(lines), SIZE):
            piece = lines[start : start + SIZE]
            yield _batch(source, notation, parse, cache, first + start, piece)


def _batch(
    source: Source,
    notation: Notation,
    parse: Callable[[bytes], Tail],
    cache: dict[bytes, Tail | None],
    first: int,
    lines: list[bytes],
) -> Batch:
    texts: list[bytes] = []
    results: list[float] = []
    teachers: list[float] = []
    plies: list[int] = []
    games: list[int] = []
    places: list[int] = []
    default, scale, second = notation.counters, notation.scale, notation.second
    fullmatch = notation.line.fullmatch
    for number, line in enumerate(lines, first):
        match = fullmatch(line) or _match_untidy(source, notation, number, line)
        if match is None:
            continue
        text, side, count, rest = match.groups()
        try:
            tail = cache[rest]
        except KeyError:
            if len(cache) >= _CACHED:
                cache.clear()
            try:
                tail = cache[rest] = _parsed(parse, rest)
            except ValueError as error:
                source.bad(number, str(error))
                continue
        if tail is None:
            source.counts["positions of unfinished games"] += 1
            continue
        if tail.counters and count is None:
            text += b" " + tail.counters
            count = tail.counters.split()[-1]
        if count is None:
            text += default
            plies.append(-1)
        else:
            plies.append(max(0, int(count) - 1) * scale + (scale == 2 and side == second))
        texts.append(text)
        results.append(tail.result)
        teachers.append(tail.teacher)
        games.append(tail.game)
        places.append(number)
    return make_batch(texts, results, teachers, plies, games, places)


def _parsed(parse: Callable[[bytes], Tail], rest: bytes) -> Tail | None:
    try:
        return parse(rest)
    except Unfinished:
        return None


def _match_untidy(
    source: Source, notation: Notation, number: int, line: bytes
) -> re.Match[bytes] | None:
    """Return the match of a line with superfluous spaces.

    None stands for a line without a position: blank, a comment, a heading, or bad.
    """
    line = b" ".join(line.split())
    if not line or line[:1] in b"#;" or (number == 1 and _HEADING.match(line)):
        return None
    match = notation.line.fullmatch(line)
    if match is None:
        source.bad(number, f"{notation.wrong(line)}: {quoted(line, 60)}")
    return match


_HEADING = re.compile(rb"\W*(?:s?fen|position)\b\W+[A-Za-z]", re.IGNORECASE)

_RESULT = rb"1-0|0-1|1/2-1/2|0\.5-0\.5|1/2|\*|[-+]?[0-9]*\.?[0-9]+"
_SCORE = rb"[-+#M0-9.]+|[A-Za-z]+"
_BRACKETED = re.compile(
    rb'[ ;]*(?:\[ ?(%b) ?\]|"(%b)"|(%b))(?:[ ;,]+(%b))?[ ;]*' % (_RESULT, _RESULT, _RESULT, _SCORE)
)
_BARRED = re.compile(rb" *\| *([^| ]*) *\| *([^| ]*) *")
_COMMA = re.compile(rb' *"? *, *([^, ]*) *, *([^, ]*) *')


def _bracketed(rest: bytes) -> Tail:
    match = _BRACKETED.fullmatch(rest)
    if match is None:
        shown = quoted(rest.strip())
        raise ValueError(f"a result such as [0.5] or 1-0 is expected, not {shown}")
    bracketed, in_quotes, bare, score = match.groups()
    result = result_of(bracketed or in_quotes or bare)
    return Tail(result, NAN if score is None else score_of(score))


def _barred(rest: bytes) -> Tail:
    match = _BARRED.fullmatch(rest)
    if match is None:
        raise ValueError(
            f"expected | score | result behind the position, not {quoted(rest.strip())}"
        )
    return Tail(result_of(match[2]), score_of(match[1]))


def _comma(rest: bytes) -> Tail:
    match = _COMMA.fullmatch(rest)
    if match is None:
        raise ValueError(f"expected ,score,result behind the position, not {quoted(rest.strip())}")
    result = match[2]
    if b"." in result or b"-" in result or result == b"*":
        return Tail(result_of(result), score_of(match[1]))
    if result not in (b"0", b"1", b"2"):
        raise ValueError(f"the result is {quoted(result)}, not 0, 1 or 2 half points")
    return Tail(int(result) / 2, score_of(match[1]))


#: An opcode and its operands; a quoted operand may contain semicolons.
_OPERATION = re.compile(rb' *([A-Za-z][A-Za-z0-9_]*)(?=[ ;"=]|$)=?((?:[^;"]|"[^"]*")*)(?:;|$)')
_COMMENTS = frozenset(b"c%d" % i for i in range(10))
_RESULT_CODES = frozenset((b"result", b"res", b"wdl", b"outcome", b"game_result"))
_LOOKS_LIKE_RESULT = re.compile(rb"1-0|0-1|1/2-1/2|1/2|\*|[01]\.[0-9]+")


def _operations(rest: bytes) -> Tail:
    result = teacher = NAN
    game, clock, move = 0, b"0", b""
    at = 0
    unfinished = False
    while rest[at:].strip(b" ;"):
        match = _OPERATION.match(rest, at)
        if match is None:
            raise ValueError(
                f'{quoted(rest[at:].strip())} is not an EPD operation such as c9 "1-0";'
            )
        code, operand = match[1].lower(), match[2].strip().strip(b'"').strip()
        at = match.end()
        if code in _RESULT_CODES or (code in _COMMENTS and _LOOKS_LIKE_RESULT.fullmatch(operand)):
            try:
                result = result_of(operand)
            except Unfinished:
                unfinished = True
        elif code == b"c9" and operand in (b"0", b"1"):
            result = float(operand)
        elif code == b"ce":
            teacher = score_of(operand)
        elif code == b"id":
            game = hash_of(operand)
        elif code == b"hmvc" and operand.isdigit():
            clock = operand
        elif code == b"fmvn" and operand.isdigit() and len(operand) <= 5:
            move = operand
    if unfinished:
        raise Unfinished
    if result != result and teacher != teacher:
        raise ValueError('there is neither a result (c9 "1-0";) nor a score (ce 35;)')
    return Tail(result, teacher, game, clock + b" " + move if move else b"")


#: The usual block.
_BLOCK = rb"s?fen %b\n(?:move ([^\n]*)\n)?score (-?[0-9]{1,5})\nply ([0-9]{1,5})\nresult (-1|0|1)"
_RESULTS = {b"1": 1.0, b"0": 0.5, b"-1": 0.0}
#: Stockfish's VALUE_NONE.
_NO_SCORE = b"32002"
#: Limit of lines in a block, above any program's.
_LINES = 32


def read_plain(source: Source) -> Iterator[Batch]:
    """Yield the positions of Stockfish's .plain, and of YaneuraOu's counterpart.

    A block has lines with `fen` (in shogi `sfen`), `move`, `score`, `ply` and `result`, and
    ends with `e`.  Score and result are the mover's; a result is 1, 0 or -1.

    Raises DataFileError.
    """
    notation = notation_of(source)
    match = re.compile(_BLOCK % notation.place).fullmatch
    rest, first = b"", 1
    texts: list[bytes] = []
    results: list[float] = []
    scores: list[float] = []
    plies: list[int] = []
    places: list[int] = []
    moves: list[str] = []
    for _, chunk in source.chunks():
        blocks = (rest + b"\n" + chunk if rest else chunk).split(b"\ne\n")
        rest = blocks.pop()
        if rest.endswith(b"\ne"):
            blocks.append(rest.removesuffix(b"\ne"))
            rest = b""
        if rest.count(b"\n") > _LINES:
            raise source.error(first, "a block of lines is not closed by e")
        for block in blocks:
            usual = match(block)
            lines = block.count(b"\n") + 2
            if usual is None:
                text, result, score, ply, move = _block(source, first, block)
            else:
                text, _, number, move, value, count, outcome = usual.groups()
                if number is None:
                    text += notation.counters
                result, ply = _RESULTS[outcome], int(count)
                score = float(value) if len(value) < 5 else _long_score(value)
            if text:
                texts.append(text)
                results.append(result)
                scores.append(score)
                plies.append(ply)
                places.append(first)
                if source.moves:
                    moves.append((move or b"").decode(errors="replace"))
            first += lines
            if len(texts) == SIZE:
                yield make_batch(texts, results, scores, plies, [0] * SIZE, places, moves=moves)
                texts, results, scores, plies, places, moves = [], [], [], [], [], []
    if rest.strip():
        source.bad(first, "the last block of lines is not closed by e")
    yield make_batch(texts, results, scores, plies, [0] * len(texts), places, moves=moves)


def _long_score(value: bytes) -> float:
    return NAN if value == _NO_SCORE else score_of(value)


def _block(source: Source, first: int, block: bytes) -> tuple[bytes, float, float, int, bytes]:
    """Return (text, result, score, ply, move) of an unusual block; no text for a bad block."""
    notation = notation_of(source)
    text, result, score, ply, move = b"", NAN, NAN, -1, b""
    rows = block.split(b"\n")
    for number, row in enumerate(rows, first):
        word, _, value = row.strip().partition(b" ")
        value = value.strip()
        try:
            if word in (b"fen", b"sfen"):
                line = b" ".join(value.split())
                match = notation.line.fullmatch(line)
                if match is None or match[4]:
                    raise ValueError(f"{notation.wrong(line)}: {quoted(line, 60)}")
                text = match[1] + (b"" if match[3] else notation.counters)
            elif word == b"score":
                score = _long_score(value)
            elif word == b"ply":
                if not re.fullmatch(rb"[0-9]{1,5}", value):
                    raise ValueError(f"the ply is {quoted(value)}, not a number")
                ply = int(value)
            elif word == b"result":
                if value not in _RESULTS:
                    raise ValueError(f"the result is {quoted(value)}, not 1, 0 or -1")
                result = _RESULTS[value]
            elif word == b"move":
                move = value
            elif word not in (b"", b"e"):
                raise ValueError(
                    f"{quoted(row)} is not one of fen, sfen, move, score, ply, result, e"
                )
        except ValueError as error:
            source.bad(number, str(error))
            return b"", NAN, NAN, -1, b""
    if not text and block.strip():
        source.bad(first, "a block of lines has no position (fen or sfen)")
    if text and result != result and score != score:
        source.bad(first, "a block of lines has neither a result nor a score")
        text = b""
    return text, result, score, ply, move
