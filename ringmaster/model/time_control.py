"""Time controls and per-move limits, as data.

Units: a `TimeControl` holds seconds as the user wrote them; `Limits` holds
milliseconds where a protocol wants milliseconds.
"""

from __future__ import annotations

import re

import msgspec

_PERIOD = re.compile(
    r"""(?:(?P<moves>\d+)/)?
        (?:(?P<minutes>\d+):)?(?P<seconds>\d+(?:\.\d+)?)
        (?:\+(?P<increment>\d+(?:\.\d+)?))?$""",
    re.VERBOSE,
)

#: Seconds; more than any game takes.
LONGEST = 1e6


class TimeControl(msgspec.Struct, frozen=True):
    """A chess clock: `base` seconds, for every `moves` moves (0: the whole
    game), plus `increment` seconds after each move."""

    base: float
    increment: float = 0.0
    moves: int = 0

    @classmethod
    def parse(cls, text: str) -> TimeControl:
        """Return the time control written as "10+0.1", "40/60", "40/1:00+0.6".

        Raises ValueError with a message that says what would be right.
        """
        match = _PERIOD.match(text.strip())
        if match is None:
            raise ValueError(
                f"{text!r} is not a time control; write seconds as '10+0.1' "
                "(base+increment), '40/60' (moves/seconds) or '40/1:00+0.6'"
            )
        base = float(match["seconds"]) + 60.0 * int(match["minutes"] or 0)
        moves = int(match["moves"] or 0)
        increment = float(match["increment"] or 0)
        if match["moves"] is not None and moves == 0:
            raise ValueError(f"{text!r}: the number of moves must be at least 1")
        if max(base, increment) > LONGEST or moves > 10_000:
            raise ValueError(f"a time control of {text[:40]!r} is too long")
        if base <= 0:
            raise ValueError(f"{text!r}: the base time must be more than 0 seconds")
        return cls(base=base, increment=increment, moves=moves)

    def canonical(self) -> str:
        """Return it as it is written, for the comparison of two runs."""
        return str(self)

    def __str__(self) -> str:
        moves = f"{self.moves}/" if self.moves else ""
        increment = f"+{self.increment:g}" if self.increment else ""
        return f"{moves}{self.base:g}{increment}"
