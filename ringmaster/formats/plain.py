"""Read and write positions in blocks of lines: Stockfish's .plain, and YaneuraOu's counterpart.

A block has lines with `fen` (in shogi `sfen`), `move`, `score`, `ply` and `result`, and ends with
`e`.  Score and result are the mover's; a result is 1, 0 or -1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from ringmaster.formats.source import NAN, SIZE, Batch, Record, Source, batch_of, quoted
from ringmaster.formats.text_formats import Notation, notation_of, score_of

#: The usual block.
_BLOCK = rb"s?fen %b\n(?:move ([^\n]*)\n)?score (-?[0-9]{1,5})\nply ([0-9]{1,5})\nresult (-1|0|1)"
_OUTCOMES = {b"1": 1.0, b"0": 0.5, b"-1": 0.0}
#: Stockfish's VALUE_NONE.
_NO_SCORE = b"32002"
#: Limit of lines in a block, above any program's.
_LINES = 32


def read_plain(source: Source) -> Iterator[Batch]:
    """Yield the positions of a file.  Raises DataFileError."""
    notation = notation_of(source.game, source.variant)
    match = re.compile(_BLOCK % notation.place).fullmatch
    columns: tuple[list[Any], ...] = ([], [], [], [], [])
    texts, results, scores, plies, places = columns
    moves: list[str] = []
    for first, block in _blocks(source):
        usual = match(block)
        if usual is None:
            fields = _fields(source, notation, first, block)
            if fields is None:
                continue
            text, result, score, ply, move = fields
        else:
            text, _, number, move, value, count, outcome = usual.groups()
            if number is None:
                text += notation.counters
            result, ply = _OUTCOMES[outcome], int(count)
            score = float(value) if len(value) < 5 else _plain_score(value)
        texts.append(text)
        results.append(result)
        scores.append(score)
        plies.append(ply)
        places.append(first)
        if source.moves:
            moves.append((move or b"").decode(errors="replace"))
        if len(texts) == SIZE:
            yield batch_of(columns, moves)
            for column in (*columns, moves):
                column.clear()
    yield batch_of(columns, moves)


def _blocks(source: Source) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, block without its e).  Raises DataFileError."""
    rest, first = b"", source.first
    for _, chunk in source.chunks():
        blocks = (rest + b"\n" + chunk if rest else chunk).split(b"\ne\n")
        rest = blocks.pop()
        if rest.endswith(b"\ne"):
            blocks.append(rest.removesuffix(b"\ne"))
            rest = b""
        if rest.count(b"\n") > _LINES:
            raise source.error(first, "a block of lines is not closed by e")
        for block in blocks:
            yield first, block
            first += block.count(b"\n") + 2
    if rest.strip():
        source.bad(first, "the last block of lines is not closed by e")


def _fields(
    source: Source, notation: Notation, first: int, block: bytes
) -> tuple[bytes, float, float, int, bytes] | None:
    """Return (text, result, score, ply, move) of an unusual block, None for a bad one."""
    text, result, score, ply, move = b"", NAN, NAN, -1, b""
    for number, row in enumerate(block.split(b"\n"), first):
        word, _, value = row.strip().partition(b" ")
        value = value.strip()
        try:
            if word in (b"fen", b"sfen"):
                match = notation.match(value)
                if match[4]:
                    raise ValueError(f"{quoted(match[4])} follows the position")
                text = match[1] + (b"" if match[3] else notation.counters)
            elif word == b"score":
                score = _plain_score(value)
            elif word == b"ply":
                if not re.fullmatch(rb"[0-9]{1,5}", value):
                    raise ValueError(f"the ply is {quoted(value)}, not a number")
                ply = int(value)
            elif word == b"result":
                if value not in _OUTCOMES:
                    raise ValueError(f"the result is {quoted(value)}, not 1, 0 or -1")
                result = _OUTCOMES[value]
            elif word == b"move":
                move = value
            elif word not in (b"", b"e"):
                raise ValueError("this is not one of fen, sfen, move, score, ply, result, e")
        except ValueError as error:
            source.bad(number, f"{error}: {quoted(row.strip(), 100)}")
            return None
    if not block.strip():
        return None
    if not text:
        source.bad(first, "a block of lines has no position (fen or sfen)")
    elif math.isnan(result) and math.isnan(score):
        source.bad(first, "a block of lines has neither a result nor a score")
    else:
        return text, result, score, ply, move
    return None


def _plain_score(value: bytes) -> float:
    return NAN if value == _NO_SCORE else score_of(value)


def write_plain(record: Record) -> bytes:
    """Return a block of Stockfish's .plain, or of its counterpart of shogi."""
    kind = "fen" if record.text.count(b"/") == 7 else "sfen"
    return (
        f"{kind} {record.text.decode()}\nmove {record.move}\nscore {round(record.teacher)}\n"
        f"ply {record.ply}\nresult {round(2 * record.result) - 1}\ne\n"
    ).encode()
