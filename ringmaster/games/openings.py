"""Opening files, and the order in which a competition goes through them.

A chess opening file is text with one position a line, EPD or FEN.  Every line
is checked when the file is loaded, so that no game fails on it later.  Which
players get an opening, with which colours, is left to the competition.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator
from typing import Literal

from ringmaster.errors import OpeningsError
from ringmaster.games.text import shown
from ringmaster.model.jobs import Opening
from ringmaster.model.randomness import OPENINGS_STREAM, words

Order = Literal["sequential", "random"]

_QUOTED = 60
#: Bytes in a line: keeps a wrong file (a disk image, /dev/zero) out of memory.
_LONGEST = 1 << 16
_COUNTER = re.compile("[0-9]{1,6}")


def load_openings(path: str, game: str) -> tuple[Opening, ...]:
    """Return the openings of the file `path`, in order, duplicates included.

    A line is a FEN, or an EPD (four fields, then operations, of which `hmvc`
    and `fmvn` are honoured); lines that are blank or begin with # or ; are
    skipped.  Raises OpeningsError, with the line number, for a line that is no
    legal position or one in which the game is over, and for a file that cannot
    be read, is not UTF-8 text, or has no opening in it.
    """
    if game != "chess":
        raise OpeningsError(path, None, f"openings are for chess so far, not for {game}")
    from ringmaster.games.chess import new_chess_game

    openings = []
    name = os.path.basename(path)
    for number, line in _lines(path):
        try:
            position = new_chess_game(_fen_of(line))
            ending = position.ending()
            if ending is not None:
                raise ValueError(f"the game is over in this position ({ending.reason})")
        except ValueError as error:
            raise OpeningsError(path, number, f"{error}: {shown(line, _QUOTED)}") from None
        openings.append(Opening(fen=position.fen(), source=f"{name}:{number}"))
    if not openings:
        raise OpeningsError(path, None, "there is no opening in this file")
    return tuple(openings)


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, stripped line) for the lines that hold something."""
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(iter(lambda: file.readline(_LONGEST), b""), 1):
                if number == 1:
                    raw = raw.removeprefix(codecs.BOM_UTF8)
                if len(raw) == _LONGEST:
                    raise OpeningsError(path, number, "the line is too long for a text file")
                if b"\0" in raw:
                    raise OpeningsError(path, number, "this is not a text file (it has a NUL)")
                try:
                    line = raw.decode().strip()
                except UnicodeDecodeError:
                    line = raw.decode(errors="backslashreplace").strip()
                    raise OpeningsError(
                        path, number, f"this is not UTF-8 text: {shown(line, _QUOTED)}"
                    ) from None
                if line and line[0] not in "#;":
                    yield number, line
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OpeningsError(path, None, f"cannot read the opening file: {reason}") from None


def _fen_of(line: str) -> str:
    """Return the six fields of a FEN or EPD line.

    Raises ValueError when they are not there; the board is not looked at.
    """
    fields = line.split(None, 6)
    if len(fields) == 6 and fields[4].isdigit() and fields[5].isdigit():
        return " ".join(fields)
    if len(fields) < 4:
        raise ValueError(f"an EPD has at least 4 fields, this has {len(fields)}")
    counters = {"hmvc": "0", "fmvn": "1"}
    if len(fields) > 4:
        rest = line.split(None, 4)[4]
        if fields[4][0].isdigit():
            if len(fields) == 5:
                raise ValueError("a FEN has 6 fields, this has 5")
            counters = {"hmvc": fields[4], "fmvn": fields[5]}
            rest = fields[6] if len(fields) > 6 else ""
        for opcode, operand in _operations(rest):
            if opcode in counters:
                if not _COUNTER.fullmatch(operand):
                    raise ValueError(f"{opcode} is {shown(operand)}, not a number")
                counters[opcode] = operand
    return f"{' '.join(fields[:4])} {counters['hmvc']} {counters['fmvn']}"


#: An opcode and its operands, in which a quoted string may hold semicolons.
_OPERATION = re.compile(r'\s*([A-Za-z][A-Za-z0-9_]*)((?:[^;"]|"[^"]*")*)(?:;|$)')


def _operations(text: str) -> Iterator[tuple[str, str]]:
    """Yield (opcode, operands) of EPD operations; the last ; may be missing."""
    at = 0
    while text[at:].strip():
        match = _OPERATION.match(text, at)
        if match is None:
            raise ValueError(f'{shown(text[at:].strip())} is not an EPD operation such as id "x";')
        yield match[1], match[2].strip()
        at = match.end()


class OpeningOrder:
    """Which of `count` openings a colour-swapped pair of games begins with.

    "sequential" goes through the book again and again.  "random" does too, in
    another order each time: pass k over the book is a permutation made from
    (seed, k) alone, the same on every machine, so any pair's opening can be
    found without those before it.
    """

    def __init__(
        self, count: int, order: Order = "sequential", seed: int = 0, start: int = 1
    ) -> None:
        """Begin at place `start` of the order, counted from 1 and beyond the
        first pass if it is larger than `count`.

        Raises ValueError when `count` or `start` is less than 1 or `order` is
        unknown.
        """
        if count < 1:
            raise ValueError("there must be at least one opening")
        if start < 1:
            raise ValueError(f"the start is {start}, but openings are counted from 1")
        if order not in ("sequential", "random"):
            raise ValueError(f"the order is {shown(order)}, not 'sequential' or 'random'")
        self._count = count
        self._random = order == "random"
        self._seed = seed
        self._skipped = start - 1
        #: Permutations by pass.  Two, since games of two passes are in progress
        #: together where one pass ends and the next begins.
        self._passes: dict[int, list[int]] = {}

    def index(self, pair_number: int) -> int:
        """Return the index of the opening of pair `pair_number` (from 0)."""
        passed, place = divmod(self._skipped + pair_number, self._count)
        if not self._random:
            return place
        order = self._passes.get(passed)
        if order is None:
            if len(self._passes) >= 2:
                del self._passes[max(self._passes, key=lambda k: abs(k - passed))]
            order = self._passes[passed] = _permutation(self._count, self._seed, passed)
        return order[place]


def _permutation(count: int, seed: int, number: int) -> list[int]:
    """Return pass `number` over range(count): Fisher and Yates's shuffle.

    A 64-bit word times i, upper half, chooses one of i with a bias below
    i / 2**64.
    """
    order = list(range(count))
    drawn = words(seed, OPENINGS_STREAM, number, count - 1)
    for i, word in zip(range(count, 1, -1), drawn, strict=True):
        j = word * i >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    return order
