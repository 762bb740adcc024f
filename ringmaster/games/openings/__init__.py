"""Opening books: files of start positions and lines, and the order of their use.

A text file (EPD, FEN, lists of moves, SFEN, PGN) is a list of openings, every one
of which is checked when the file is loaded, so that no game fails on it later.  A
Polyglot book is a tree with weights: its lines are drawn when they are wanted.
"""

from ringmaster.games.openings.load import (
    FORMATS,
    Format,
    format_of,
    load_openings,
)
from ringmaster.games.openings.order import OpeningOrder, Order
from ringmaster.games.openings.polyglot import PolyglotBook

__all__ = [
    "FORMATS",
    "Format",
    "OpeningOrder",
    "Order",
    "PolyglotBook",
    "format_of",
    "load_openings",
]
