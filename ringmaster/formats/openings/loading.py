"""Load an opening file of any format, and order its openings for a competition."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Literal

from ringmaster.errors import DataFileError
from ringmaster.formats.openings.readers import (
    QUOTED,
    cannot_read,
    numbered_lines,
    read_epd,
    read_pgn,
    read_sfen,
    read_variant_epd,
)
from ringmaster.games.clean_text import shown
from ringmaster.games.game import Begin, beginning
from ringmaster.model.jobs import Opening
from ringmaster.model.players import GameName
from ringmaster.model.randomness import OPENINGS_STREAM, words

Format = Literal["epd", "pgn", "polyglot", "sfen"]

_SUFFIXES: dict[str, Format] = {
    ".epd": "epd",
    ".fen": "epd",
    ".pgn": "pgn",
    ".bin": "polyglot",
    ".sfen": "sfen",
}
#: Formats of each game; the first is the default.
FORMATS: dict[GameName, tuple[Format, ...]] = {
    "chess": ("epd", "pgn", "polyglot"),
    "shogi": ("sfen",),
}
#: Bytes that are read to guess a format.
_LOOK = 4096


def format_of(
    path: str, game: GameName, *, variant: str = "standard", format: Format | None = None
) -> Format:
    """Return the format of a file by `format`, its suffix, or its first bytes.

    Raises DataFileError for a format that the game does not have.
    """
    if game not in FORMATS:
        raise DataFileError(path, None, f"openings are for chess and shogi so far, not for {game}")
    name = format or _SUFFIXES.get(os.path.splitext(path)[1].lower()) or _guess(path, game)
    if name not in FORMATS[game]:
        expected = " or ".join(map(repr, FORMATS[game]))
        message = f"openings in the format {name!r} are not for {game}; expected {expected}"
        raise DataFileError(path, None, message)
    if name == "polyglot" and variant != "standard":
        raise DataFileError(path, None, f"Polyglot books are for standard chess, not for {variant}")
    return name


def _guess(path: str, game: GameName) -> Format:
    if game == "shogi":
        return "sfen"
    try:
        with open(path, "rb") as file:
            start = file.read(_LOOK)
    except OSError as error:
        raise cannot_read(path, error) from None
    if b"\0" in start:
        return "polyglot"
    first = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    return "pgn" if first.startswith((b"[", b"1.", b"1 ", b"%", b"{")) else "epd"


def load_openings(
    path: str,
    game: GameName,
    *,
    variant: str = "standard",
    format: Format | None = None,
    plies: int | None = None,
) -> tuple[Opening, ...]:
    """Return the openings of the file `path`, in order, duplicates included.

    plies  number of moves used of each line, None for all

    Blank lines and lines with # or ; at the start are skipped in lists of positions.

    Raises DataFileError, with the line number, for an illegal position or line of moves,
    and for an opening that ends the game.  Raises it without a number for an unreadable
    file, text that is not UTF-8, a Polyglot book, and a file without openings.
    """
    format = format_of(path, game, variant=variant, format=format)
    begin = beginning(game, variant=variant)
    name = os.path.basename(path)
    if format == "polyglot":
        raise DataFileError(path, None, "a Polyglot book is not a list of openings")
    if format == "pgn":
        openings = tuple(read_pgn(path, name, variant, plies))
    else:
        openings = tuple(_one_a_line(path, name, begin, format, variant, plies))
    if not openings:
        raise DataFileError(path, None, "there is no opening in this file")
    if variant == "chess960":
        openings = tuple(_with_fen(opening, begin) for opening in openings)
    return openings


def _one_a_line(
    path: str, name: str, begin: Begin, format: Format, variant: str, plies: int | None
) -> Iterator[Opening]:
    if format == "sfen":
        read = read_sfen
    else:
        read = read_epd if variant in ("standard", "chess960") else read_variant_epd
    with closing(numbered_lines(path)) as lines:
        for number, line in lines:
            if line[0] in "#;":
                continue
            try:
                yield read(line, begin, plies, f"{name}:{number}")
            except ValueError as error:
                raise DataFileError(path, number, f"{error}: {shown(line, QUOTED)}") from None


def _with_fen(opening: Opening, begin: Begin) -> Opening:
    """Return an opening of Chess960 with an explicit start position."""
    if opening.fen is not None:
        return opening
    return Opening(begin(None).position(), opening.moves, opening.source, opening.name)


Order = Literal["sequential", "random"]


class OpeningOrder:
    """Order in which colour-swapped pairs use the `count` openings of a book.

    "sequential" repeats the book's order.  "random" uses a new permutation in each pass.
    Pass k depends on (seed, k) only, so that any pair's opening can be computed alone.
    """

    def __init__(
        self, count: int, order: Order = "sequential", seed: int = 0, start: int = 1
    ) -> None:
        """Begin at place `start` of the order, from 1; it may exceed `count`.

        Raises ValueError for a `count` or `start` below 1, or an unknown `order`.
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
        #: Permutations by pass: two, since games of two passes can be in progress.
        self._passes: dict[int, list[int]] = {}

    def index(self, pair_number: int) -> int:
        """Return the opening's index for pair `pair_number`, both from 0."""
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
    """Return pass `number` over range(count) by Fisher and Yates's shuffle.

    The upper half of a 64-bit word times i selects one of i, with a bias below i / 2**64.
    """
    order = list(range(count))
    drawn = words(seed, OPENINGS_STREAM, number, count - 1)
    for i, word in zip(range(count, 1, -1), drawn, strict=True):
        j = word * i >> 64
        order[i - 1], order[j] = order[j], order[i - 1]
    return order
