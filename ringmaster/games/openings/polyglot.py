"""Polyglot opening books: positions with weighted moves, not a list of openings.

An opening is a walk through the book from the usual position: at each position a
move is drawn with a probability in proportion to its weight.  The draws are a
function of the seed and the walk's number, so that an opening can be found again
at any time.  Format: entries of 16 bytes, big-endian, in the order of their keys
(key 8, move 2, weight 2, learning 4), with the keys of python-chess.
"""

from __future__ import annotations

import bisect
import itertools
import os
from typing import Any

from ringmaster.errors import OpeningsError
from ringmaster.games.openings.text import cannot_read
from ringmaster.model.jobs import Opening
from ringmaster.model.randomness import BOOK_STREAM, words

DEFAULT_PLIES = 16
_ENTRY = 16


class PolyglotBook:
    """The lines of a book, drawn by number."""

    def __init__(self, path: str, plies: int | None = None, seed: int = 0) -> None:
        """Open the book; its walks are of `plies` moves, fewer where it knows no
        more.

        Raises OpeningsError for a file that is no Polyglot book, or has no move for
        the usual position.
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
            raise OpeningsError(path, None, "this book has no move for the usual start position")

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
        """Return the moves of a position with their weights: none without weight,
        which is never played, none that ends the game, and none that another
        position with the same key must have left there."""
        found = []
        for entry in self._reader.find_all(board):
            if board.is_legal(entry.move):
                board.push(entry.move)
                over = board.is_game_over() or board.is_repetition(3)
                board.pop()
                if not over:
                    found.append((entry.move, entry.weight))
        return found


def _check(path: str) -> None:
    """Raises OpeningsError for a file that cannot be a Polyglot book."""
    import numpy as np

    try:
        size = os.stat(path).st_size
        if size == 0:
            raise OpeningsError(path, None, "there is no opening in this file")
        if size % _ENTRY:
            raise OpeningsError(
                path, None, f"this is no Polyglot book: its {size} bytes are not entries of 16"
            )
        keys = np.memmap(path, dtype=">u8", mode="r")[::2]
    except OSError as error:
        raise cannot_read(path, error) from None
    descents = np.flatnonzero(keys[1:] < keys[:-1])
    if len(descents):
        raise OpeningsError(
            path,
            None,
            f"this is no Polyglot book: entry {int(descents[0]) + 2} is out of order",
        )
