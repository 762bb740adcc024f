"""Formats with a position a line: EPD, a FEN with a result behind it, and lists of
position, score and result with bars or commas between them; in shogi with SFEN.

A line is matched as a whole first, which is what nearly all lines need; only one that does
not match is looked at more closely, to be tidied or refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ringmaster.datasets.batch import NAN, SIZE, Batch, hash_of, make_batch
from ringmaster.datasets.labels import Unfinished, quoted, result_of, score_of
from ringmaster.datasets.notation import Notation, notation_of
from ringmaster.datasets.source import Source

#: Tails of lines that are remembered: most files have few.
_REMEMBERED = 1 << 15


class Tail(NamedTuple):
    """What stands behind a position.

    counters  half-move clock and move number, where they stand here; b"" elsewhere
    """

    result: float = NAN
    teacher: float = NAN
    game: int = 0
    counters: bytes = b""


def read_epd(source: Source) -> Iterator[Batch]:
    """Yield the positions of a file of EPD: the result is an operand of c0 to c9 or of
    an operation such as `result`, the score that of `ce`."""
    return _read(source, _operations)


def read_fen(source: Source) -> Iterator[Batch]:
    """Yield the positions of a file with a result behind each FEN, in brackets or not,
    and a score behind that, if there is one."""
    return _read(source, _bracketed)


def read_bar(source: Source) -> Iterator[Batch]:
    """Yield the positions of `FEN | centipawns | result`."""
    return _read(source, _barred)


def read_comma(source: Source) -> Iterator[Batch]:
    """Yield the positions of `FEN,centipawns,result`, where a result is 0, 1 or 2 half
    points, or a share with a decimal point."""
    return _read(source, _comma)


def sniffers(source: Source) -> list[tuple[str, Callable[[bytes], bool]]]:
    """Return by the names of formats whether a line could be of them."""
    notation = notation_of(source)

    def fits(parse: Callable[[bytes], Tail]) -> Callable[[bytes], bool]:
        def looks_so(line: bytes) -> bool:
            found = notation.line.fullmatch(b" ".join(line.split()))
            if found is None:
                return False
            try:
                parse(found[4])
            except Unfinished:
                return True
            except ValueError:
                return False
            return True

        return looks_so

    fen = "sfen" if source.game == "shogi" else "fen"
    return [
        ("epd", fits(_operations)),
        (fen, fits(_bracketed)),
        ("bar", fits(_barred)),
        ("comma", fits(_comma)),
    ]


def is_bare(source: Source, line: bytes) -> bool:
    """Whether a line is a position and nothing else."""
    found = notation_of(source).line.fullmatch(b" ".join(line.split()))
    return found is not None and not found[4]


def _read(source: Source, parse: Callable[[bytes], Tail]) -> Iterator[Batch]:
    notation = notation_of(source)
    match = notation.line.fullmatch
    known: dict[bytes, Tail | None] = {}
    for first, chunk in source.chunks():
        lines = chunk.split(b"\n")
        for start in range(0, len(lines), SIZE):
            piece = lines[start : start + SIZE]
            yield _batch(source, notation, parse, match, known, first + start, piece)


def _batch(
    source: Source,
    notation: Notation,
    parse: Callable[[bytes], Tail],
    match: Callable[[bytes], re.Match[bytes] | None],
    known: dict[bytes, Tail | None],
    first: int,
    lines: list[bytes],
) -> Batch:
    texts: list[bytes] = []
    results: list[float] = []
    teachers: list[float] = []
    plies: list[int] = []
    games: list[int] = []
    places: list[int] = []
    default, scale, shift = notation.counters, notation.scale, notation.shift
    second = notation.second
    for number, line in enumerate(lines, first):
        found = match(line)
        if found is None:
            found = _tidied(source, notation, number, line)
            if found is None:
                continue
        text, side, count, rest = found.groups()
        try:
            tail = known[rest]
        except KeyError:
            if len(known) >= _REMEMBERED:
                known.clear()
            try:
                tail = known[rest] = _parsed(parse, rest)
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
            plies.append(max(0, int(count) * scale - shift) + (scale == 2 and side == second))
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


def _tidied(source: Source, notation: Notation, number: int, line: bytes) -> re.Match[bytes] | None:
    """Return the match of a line with spaces that are too many, None for one without a
    position (blank, a comment, the heading of columns, a bad one)."""
    line = b" ".join(line.split())
    if not line or line[:1] in b"#;" or (number == 1 and _HEADING.match(line)):
        return None
    found = notation.line.fullmatch(line)
    if found is None:
        source.bad(number, f"{notation.wrong(line)}: {quoted(line, 60)}")
    return found


_HEADING = re.compile(rb"\W*(?:s?fen|position)\b\W+[A-Za-z]", re.IGNORECASE)

_RESULT = rb"1-0|0-1|1/2-1/2|0\.5-0\.5|1/2|\*|[-+]?[0-9]*\.?[0-9]+"
_SCORE = rb"[-+#M0-9.]+|[A-Za-z]+"
_BRACKETED = re.compile(
    rb'[ ;]*(?:\[ ?(%b) ?\]|"(%b)"|(%b))(?:[ ;,]+(%b))?[ ;]*' % (_RESULT, _RESULT, _RESULT, _SCORE)
)
_BARRED = re.compile(rb" *\| *([^| ]*) *\| *([^| ]*) *")
_COMMA = re.compile(rb' *"? *, *([^, ]*) *, *([^, ]*) *')


def _bracketed(rest: bytes) -> Tail:
    found = _BRACKETED.fullmatch(rest)
    if found is None:
        shown = quoted(rest.strip())
        raise ValueError(f"a result such as [0.5] or 1-0 is expected, not {shown}")
    bracketed, in_quotes, bare, score = found.groups()
    result = result_of(bracketed or in_quotes or bare)
    return Tail(result, NAN if score is None else score_of(score))


def _barred(rest: bytes) -> Tail:
    found = _BARRED.fullmatch(rest)
    if found is None:
        raise ValueError(
            f"expected | score | result behind the position, not {quoted(rest.strip())}"
        )
    return Tail(result_of(found[2]), score_of(found[1]))


def _comma(rest: bytes) -> Tail:
    found = _COMMA.fullmatch(rest)
    if found is None:
        raise ValueError(f"expected ,score,result behind the position, not {quoted(rest.strip())}")
    result = found[2]
    if b"." in result or b"-" in result or result == b"*":
        return Tail(result_of(result), score_of(found[1]))
    if result not in (b"0", b"1", b"2"):
        raise ValueError(f"the result is {quoted(result)}, not 0, 1 or 2 half points")
    return Tail(int(result) / 2, score_of(found[1]))


#: An opcode and its operands, in which a quoted string may hold semicolons.
_OPERATION = re.compile(rb' *([A-Za-z][A-Za-z0-9_]*)(?=[ ;"=]|$)=?((?:[^;"]|"[^"]*")*)(?:;|$)')
_COMMENTS = frozenset(b"c%d" % i for i in range(10))
_RESULT_CODES = frozenset((b"result", b"res", b"wdl", b"outcome", b"game_result"))
_LOOKS_LIKE_RESULT = re.compile(rb"1-0|0-1|1/2-1/2|1/2|\*|[01]\.[0-9]+")


def _operations(rest: bytes) -> Tail:
    if (simple := _SIMPLE.get(rest)) is not None:
        return simple
    result = teacher = NAN
    game, clock, move = 0, b"0", b""
    at = 0
    unfinished = False
    while rest[at:].strip(b" ;"):
        found = _OPERATION.match(rest, at)
        if found is None:
            raise ValueError(
                f'{quoted(rest[at:].strip())} is not an EPD operation such as c9 "1-0";'
            )
        code, operand = found[1].lower(), found[2].strip().strip(b'"').strip()
        at = found.end()
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
        elif code == b"fmvn" and operand.isdigit():
            move = operand
    if unfinished:
        raise Unfinished
    if result != result and teacher != teacher:
        raise ValueError('there is neither a result (c9 "1-0";) nor a score (ce 35;)')
    return Tail(result, teacher, game, clock + b" " + move if move else b"")


_SIMPLE = {
    b' c9 "1-0";': Tail(1.0),
    b' c9 "0-1";': Tail(0.0),
    b' c9 "1/2-1/2";': Tail(0.5),
}
