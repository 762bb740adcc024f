"""Books of Polyglot and YaneuraOu: positions with weighted moves.

An opening is a random walk through the book from the usual position.  The probability of a
move is proportional to its weight.  The seed and the walk's number determine the walk.
"""

from __future__ import annotations

import bisect
import itertools
import os
import re
from array import array
from collections.abc import Iterator
from tempfile import NamedTemporaryFile
from typing import Final

import numpy as np

from ringmaster.errors import IllegalMove
from ringmaster.formats.registry import Format
from ringmaster.formats.source import LONGEST, Source, quoted
from ringmaster.games.game import Begin, Game
from ringmaster.model.jobs import Opening
from ringmaster.model.randomness import BOOK_STREAM, words

DEFAULT_PLIES: Final = 16


class Walks:
    """The lines of a book, drawn by number."""

    def __init__(
        self, source: Source, format: Format, begin: Begin, plies: int | None = None, seed: int = 0
    ) -> None:
        """Open a book for walks of at most `plies` moves.

        Raises DataFileError for a file that is not such a book, or has no move for the usual
        position.
        """
        self._begin = begin
        self._name = os.path.basename(source.path)
        self._plies = DEFAULT_PLIES if plies is None else plies
        self._seed = seed
        self._book = format.function(source)
        if not self._choices([]):
            raise source.error(None, "this book has no move for the usual start position")

    def opening(self, number: int) -> Opening:
        """Return walk `number`, from 0."""
        moves: list[str] = []
        for word in words(self._seed, BOOK_STREAM, number, self._plies):
            choices = self._choices(moves)
            if not choices:
                break
            sums = list(itertools.accumulate(weight for _, weight in choices))
            # the upper half of a 64-bit word's product has a bias below 2**-40
            moves.append(choices[bisect.bisect_right(sums, word * sums[-1] >> 64)][0])
        return Opening(moves=tuple(moves), source=f"{self._name}#{number + 1}")

    def _choices(self, moves: list[str]) -> list[tuple[str, int]]:
        """Return the moves after some moves with their weights.

        Moves without weight, moves that end the game, and illegal moves (of a position with
        the same key) are left out.
        """
        choices = []
        for move, weight in self._book.choices(self._after(moves)):
            try:
                goes_on = self._after([*moves, move]).ending() is None
            except IllegalMove:
                continue
            if goes_on and weight:
                choices.append((move, weight))
        return choices

    def _after(self, moves: list[str]) -> Game:
        game = self._begin(None)
        for move in moves:
            game.play(move)
        return game


class Polyglot:
    """A Polyglot book: big-endian entries of 16 bytes, sorted by key."""

    def __init__(self, source: Source) -> None:
        """Read a book.  Raises DataFileError."""
        import chess.polyglot

        data = b"".join(source.pieces())
        if not data:
            raise source.error(None, "there is no opening in this file")
        fault = "this is not a Polyglot book: "
        if len(data) % 16:
            raise source.error(None, f"{fault}its {len(data)} bytes are not entries of 16")
        keys = np.frombuffer(data, dtype=">u8")[::2]
        descents = np.flatnonzero(keys[1:] < keys[:-1])
        if len(descents):
            raise source.error(None, f"{fault}entry {int(descents[0]) + 2} is out of order")
        # the reader maps a file that is not compressed
        with NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            self._entries = chess.polyglot.open_reader(file.name)

    def choices(self, game: Game) -> Iterator[tuple[str, int]]:
        """Yield the moves of a position with their weights."""
        import chess

        board = chess.Board()
        for played in game.moves:
            board.push_uci(played)
        for entry in self._entries.find_all(board):
            yield entry.move.uci(), entry.weight


class Yaneuraou:
    """A book of YaneuraOu: lines `sfen …`, each with lines `move reply score depth count`.

    Move numbers of positions do not count, and the order of positions is free.
    """

    _POSITION: Final = re.compile(rb"^sfen (\S+ \S+ \S+)[^\n]*$", re.MULTILINE)

    def __init__(self, source: Source) -> None:
        """Index a book by the hashes of its positions.  Raises DataFileError."""
        self._source = source
        self._data = b"\n".join(chunk for _, chunk in source.chunks(LONGEST))
        hashes, places = array("q"), array("q")
        for match in self._POSITION.finditer(self._data):
            hashes.append(hash(match[1]))
            places.append(match.start())
        if not hashes:
            raise source.error(None, "this is not a book of YaneuraOu: no line begins with sfen")
        order = np.argsort(np.asarray(hashes), kind="stable")
        self._hashes, self._places = np.asarray(hashes)[order], np.asarray(places)[order]

    def choices(self, game: Game) -> Iterator[tuple[str, int]]:
        """Yield the moves of a position with their counts, equal where there is no count.

        Raises DataFileError for a count that is no number.
        """
        position = game.position().rpartition(" ")[0].encode()
        key = np.int64(hash(position))
        first, last = (int(self._hashes.searchsorted(key, side)) for side in ("left", "right"))
        for place in self._places[first:last].tolist():
            heading = self._POSITION.match(self._data, place)
            if heading is not None and heading[1] == position:
                moves = list(self._moves(heading.end() + 1))
                is_counted = any(count for _, count in moves)
                yield from ((move, count if is_counted else 1) for move, count in moves)

    def _moves(self, place: int) -> Iterator[tuple[str, int]]:
        """Yield the moves of the position whose lines begin at `place`, with their counts."""
        while place < len(self._data):
            end = self._data.find(b"\n", place)
            line = self._data[place : end if end >= 0 else None]
            if line.startswith(b"sfen "):
                return
            fields = line.split()
            if fields and not line.startswith((b"#", b"//")):
                count = fields[4] if len(fields) > 4 else b"0"
                if not count.isdigit():
                    number = self._data.count(b"\n", 0, place) + 1
                    raise self._source.error(number, f"the count is {quoted(count)}, not a number")
                yield fields[0].decode(errors="replace"), int(count)
            place += len(line) + 1
