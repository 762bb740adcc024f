"""Opening books: files of start positions and lines, and the order of their use.

A text file (EPD, FEN, lists of moves, SFEN, PGN) is a list of openings.  All of its openings
are checked at loading.  A Polyglot book is a tree with weights, and its lines are drawn one by
one.
"""

from ringmaster.formats.openings.loading import (
    FORMATS,
    Format,
    OpeningOrder,
    Order,
    format_of,
    load_openings,
)
from ringmaster.formats.openings.polyglot import PolyglotBook

__all__ = [
    "FORMATS",
    "Format",
    "OpeningOrder",
    "Order",
    "PolyglotBook",
    "format_of",
    "load_openings",
]
