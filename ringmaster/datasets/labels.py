"""Results and scores as text: what counts as one, and what is too strange to be one."""

from __future__ import annotations

import re

from ringmaster.games.text import shown

#: Results that are written with the points of both sides, as the share of the first.
_POINTS = {b"1-0": 1.0, b"0-1": 0.0, b"1/2-1/2": 0.5, b"1/2": 0.5, b"0.5-0.5": 0.5}
#: What stands for a game without a result.
UNFINISHED = b"*"
#: A score beyond this is no number of centipawns, and no engine's code for a mate.
ABSURD = 100_000.0
#: Scores from here on are mates, and become this: engines write a mate as 30,000 to 32,767
#: less the plies, and win a game from far less.
MATE = 10_000.0

_NUMBER = re.compile(rb"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_MATE = re.compile(rb"[-+]?[#M][-+]?[0-9]+")


class Unfinished(Exception):
    """The game of a position has no result: no error, it is passed over."""


def result_of(text: bytes) -> float:
    """Return a result as a share from 0 to 1.  Raises ValueError, Unfinished."""
    value = _POINTS.get(text)
    if value is not None:
        return value
    if text == UNFINISHED:
        raise Unfinished
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"the result is {quoted(text)}, not 1-0, 0-1, 1/2-1/2 or 0 to 1")
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError(f"the result is {quoted(text)}, not from 0 to 1")
    return value


def score_of(text: bytes) -> float:
    """Return a score in centipawns, a mate as ±`MATE`.  Raises ValueError."""
    if not _NUMBER.fullmatch(text):
        if _MATE.fullmatch(text):
            return -MATE if b"-" in text else MATE
        raise ValueError(f"the score is {quoted(text)}, not a number of centipawns")
    return checked_score(float(text))


def checked_score(value: float) -> float:
    """Return a score within ±`MATE`.  Raises ValueError for an absurd one."""
    if not -ABSURD <= value <= ABSURD:
        raise ValueError(f"the score {value:g} is beyond ±{ABSURD:,.0f} centipawns")
    return min(max(value, -MATE), MATE)


def quoted(text: bytes, limit: int = 40) -> str:
    """Return bytes of a file for an error message."""
    return shown(text.decode(errors="backslashreplace"), limit)
