"""What is the same wherever PGN is read: its tags, and moves among numbers and marks."""

from __future__ import annotations

import re
from typing import Final

#: A tag, alone on its line: its name and its value.
TAG: Final = re.compile(r'\[\s*([A-Za-z0-9_]+)\s+"(.*)"\s*\]')
#: What programs write for a move that is none.
NULL_MOVES: Final = frozenset(("--", "Z0", "0000", "@@@@", "null"))

_NUMBER: Final = re.compile(r"\d+\.+|\d+$|\.+")


def san_of(word: str) -> str:
    """Return a word without the move number before it and the marks after it, "" where
    nothing is left."""
    if word[0] in "0123456789.":
        match = _NUMBER.match(word)
        if match is not None:
            word = word[match.end() :]
    return "" if word in ("e.p.", "ep") else word.rstrip("!?")
