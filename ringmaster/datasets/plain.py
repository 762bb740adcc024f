"""Stockfish's .plain, and its twin of YaneuraOu: a block of lines a position, `fen` (in
shogi `sfen`), `move`, `score`, `ply` and `result`, closed by `e`.  Score and result are of
the side to move; a result is 1, 0 or -1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ringmaster.datasets.batch import NAN, SIZE, Batch, make_batch
from ringmaster.datasets.labels import quoted, score_of
from ringmaster.datasets.notation import notation_of
from ringmaster.datasets.source import Source

#: The usual block, whole.
_BLOCK = rb"s?fen %b\n(?:move [^\n]*\n)?score (-?[0-9]{1,5})\nply ([0-9]{1,5})\nresult (-?[01])"
_RESULTS = {b"1": 1.0, b"0": 0.5, b"-1": 0.0}
#: What Stockfish's tools write where there is no score (VALUE_NONE).
_NO_SCORE = b"32002"
#: Lines that a block may have; more than it has in any program.
_LINES = 32


def read_plain(source: Source) -> Iterator[Batch]:
    """Yield the positions of a file of blocks.  Raises DatasetError."""
    notation = notation_of(source)
    match = re.compile(_BLOCK % notation.place).fullmatch
    rest, first = b"", 1
    texts: list[bytes] = []
    results: list[float] = []
    scores: list[float] = []
    plies: list[int] = []
    places: list[int] = []
    for _, chunk in source.chunks():
        blocks = (rest + b"\n" + chunk if rest else chunk).split(b"\ne\n")
        rest = blocks.pop()
        if rest.endswith(b"\ne"):
            blocks.append(rest.removesuffix(b"\ne"))
            rest = b""
        if rest.count(b"\n") > _LINES:
            raise source.error(first, "a block of lines is not closed by e")
        for block in blocks:
            found = match(block)
            if found is None:
                text, result, score, ply = _block(source, first, block)
                lines = block.count(b"\n") + 2
            else:
                text, _, number, value, count, outcome = found.groups()
                if number is None:
                    text += notation.counters
                lines = block.count(b"\n") + 2
                result, ply = _RESULTS[outcome], int(count)
                score = float(value) if len(value) < 5 else _long_score(value)
            if text:
                texts.append(text)
                results.append(result)
                scores.append(score)
                plies.append(ply)
                places.append(first)
            first += lines
            if len(texts) == SIZE:
                yield make_batch(texts, results, scores, plies, [0] * SIZE, places)
                texts, results, scores, plies, places = [], [], [], [], []
    if rest.strip():
        source.bad(first, "the last block of lines is not closed by e")
    yield make_batch(texts, results, scores, plies, [0] * len(texts), places)


def _long_score(value: bytes) -> float:
    return NAN if value == _NO_SCORE else score_of(value)


def _block(source: Source, first: int, block: bytes) -> tuple[bytes, float, float, int]:
    """Return (text, result, score, ply) of a block that is not of the usual form; no text
    where nothing can be read of it."""
    notation = notation_of(source)
    text, result, score, ply = b"", NAN, NAN, -1
    rows = block.split(b"\n")
    for number, row in enumerate(rows, first):
        word, _, value = row.strip().partition(b" ")
        value = value.strip()
        try:
            if word in (b"fen", b"sfen"):
                line = b" ".join(value.split())
                found = notation.line.fullmatch(line)
                if found is None or found[4]:
                    raise ValueError(f"{notation.wrong(line)}: {quoted(line, 60)}")
                text = found[1] + (b"" if found[3] else notation.counters)
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
            elif word not in (b"move", b"", b"e"):
                raise ValueError(
                    f"{quoted(row)} is not one of fen, sfen, move, score, ply, result, e"
                )
        except ValueError as error:
            source.bad(number, str(error))
            return b"", NAN, NAN, -1
    if not text and block.strip():
        source.bad(first, "a block of lines has no position (fen or sfen)")
    if text and result != result and score != score:
        source.bad(first, "a block of lines has neither a result nor a score")
        text = b""
    return text, result, score, ply
