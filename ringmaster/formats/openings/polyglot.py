"""Polyglot opening books: positions with weighted moves.

An opening is a random walk through the book from the usual position.  The probability of a
move is proportional to its weight.  The seed and the walk's number determine the walk.

Format: big-endian entries of 16 bytes, sorted by key (key 8, move 2, weight 2, learning 4).
"""

from __future__ import annotations

import bisect
import itertools
import os
from typing import Any

from ringmaster.errors import DataFileError
from ringmaster.formats.openings.readers import cannot_read
from ringmaster.model.jobs import Opening
from ringmaster.model.randomness import BOOK_STREAM, words

DEFAULT_PLIES = 16
_ENTRY = 16


class PolyglotBook:
    """The lines of a book, drawn by number."""

    def __init__(self, path: str, plies: int | None = None, seed: int = 0) -> None:
        """Open a book for walks of at most `plies` moves.

        Raises DataFileError for a file that is not a Polyglot book, or has no move for the
        usual position.
        """
        import chess.polyglot

        self._path = path
        self._name = os.path.basename(path)
        self._plies = DEFAULT_PLIES if plies is None else plies
        self._seed = seed
        _check(path)
        try:
            self._reader: Any = chess.polyglot.open_reader(path)
        except OSError as error:
            raise cannot_read(path, error) from None
        if not self._choices(chess.Board()):
            raise DataFileError(path, None, "this book has no move for the usual start position")

    def opening(self, number: int) -> Opening:
        """Return walk `number`, from 0."""
        import chess

        board = chess.Board()
        moves = []
        for word in words(self._seed, BOOK_STREAM, number, self._plies):
            choices = self._choices(board)
            if not choices:
                break
            sums = list(itertools.accumulate(weight for _, weight in choices))
            # the upper half of a 64-bit word's product has a bias below 2**-40
            move = choices[bisect.bisect_right(sums, word * sums[-1] >> 64)][0]
            moves.append(board.uci(move))
            board.push(move)
        return Opening(moves=tuple(moves), source=f"{self._name}#{number + 1}")

    def _choices(self, board: Any) -> list[tuple[Any, int]]:
        """Return the moves of a position with their weights.

        Moves without weight, moves that end the game, and illegal moves (of a position with
        the same key) are left out.
        """
        choices = []
        for entry in self._reader.find_all(board):
            if board.is_legal(entry.move):
                board.push(entry.move)
                over = board.is_game_over() or board.is_repetition(3)
                board.pop()
                if not over:
                    choices.append((entry.move, entry.weight))
        return choices


def _check(path: str) -> None:
    """Raise DataFileError for a file that cannot be a Polyglot book."""
    import numpy as np

    try:
        size = os.stat(path).st_size
        if size == 0:
            raise DataFileError(path, None, "there is no opening in this file")
        if size % _ENTRY:
            raise DataFileError(
                path, None, f"this is not a Polyglot book: its {size} bytes are not entries of 16"
            )
        keys = np.memmap(path, dtype=">u8", mode="r")[::2]
    except OSError as error:
        raise cannot_read(path, error) from None
    descents = np.flatnonzero(keys[1:] < keys[:-1])
    if len(descents):
        raise DataFileError(
            path,
            None,
            f"this is not a Polyglot book: entry {int(descents[0]) + 2} is out of order",
        )
