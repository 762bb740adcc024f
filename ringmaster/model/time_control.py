"""Time controls as data, in seconds."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal

import msgspec

from ringmaster.errors import cut

_TIME = r"(?:(?P<{0}_minutes>\d+):)?(?P<{0}_seconds>\d+(?:\.\d+)?)"
_CONTROL = re.compile(
    rf"""(?:(?P<moves>\d+)/)?
         {_TIME.format("base")}
         (?:\+{_TIME.format("increment")}(?=\+))?
         (?:\+(?:(?P<periods>\d+)x|(?P<stones>\d+)/)?
             {_TIME.format("tail")}(?P<byo>byo)?)?""",
    re.VERBOSE | re.ASCII,
)

#: Seconds; longer than any game.
LONGEST = 1e6
#: Moves to a time control, stones in an overtime period, periods.
MOST = 10_000

Overtime = Literal["", "japanese", "canadian"]


class TimeControl(msgspec.Struct, frozen=True):
    """A clock: base time with an increment, with overtime, or with both.

    base     seconds
    increment  seconds after each move
    moves    moves that renew the base time, 0 for the whole game
    period   seconds of an overtime period, 0 without overtime
    periods  Japanese byo-yomi: number of periods; a move within a period renews it, a
             longer move loses it.  With an increment there is one period
    stones   Canadian byo-yomi: number of moves in a period, which then is renewed
    """

    base: float
    increment: float = 0.0
    moves: int = 0
    period: float = 0.0
    periods: int = 0
    stones: int = 0

    @classmethod
    def parse(cls, text: str) -> TimeControl:
        """Return the time control written as "10+0.1", "40/60", "40/1:00+0.6",
        "600+5x30" or "600+30byo" (Japanese), "600+25/300" (Canadian), "600+10+5byo"
        (increment and byo-yomi).

        Raises ValueError with the correct forms.
        """
        match = _CONTROL.fullmatch(text.strip())
        if (
            match is None
            or (match["byo"] and (match["periods"] or match["stones"]))
            or (match["increment_seconds"] and not match["byo"])
        ):
            shown = cut(text, 40)
            raise ValueError(
                f"{shown!r} is not a time control; write seconds as '10+0.1' "
                "(base+increment), '40/60' (moves/seconds), '600+5x30' (byo-yomi: base, "
                "periods of 30 s), '600+30byo' (one period) or '600+25/300' (Canadian: "
                "base, moves/seconds) or '600+10+5byo' (increment and byo-yomi)"
            )
        base, tail = _seconds(match, "base"), _seconds(match, "tail")
        increment = _seconds(match, "increment")
        moves, stones = _count(match["moves"]), _count(match["stones"])
        periods = 1 if match["byo"] else _count(match["periods"])
        if max(base, increment, tail) > LONGEST or max(moves, stones, periods) > MOST:
            raise ValueError(f"a time control of {text[:40]!r} is too long")
        if (match["moves"] and not moves) or (match["stones"] and not stones):
            raise ValueError(f"{text!r}: the number of moves must be at least 1")
        if match["periods"] and not periods:
            raise ValueError(f"{text!r}: the number of periods must be at least 1")
        if periods or stones:
            if moves:
                raise ValueError(f"{text!r}: a time control has either moves/seconds or byo-yomi")
            if tail <= 0:
                raise ValueError(f"{text!r}: a period must be more than 0 seconds")
            return cls(base=base, increment=increment, period=tail, periods=periods, stones=stones)
        if base <= 0:
            raise ValueError(f"{text!r}: the base time must be more than 0 seconds")
        return cls(base=base, increment=tail, moves=moves)

    @property
    def overtime(self) -> Overtime:
        """The kind of overtime, "" for none."""
        return "japanese" if self.periods else "canadian" if self.stones else ""

    def scaled(self, factor: float) -> TimeControl:
        """Return `factor` times the time, in whole milliseconds."""
        return msgspec.structs.replace(
            self,
            base=round(self.base * factor, 3),
            increment=round(self.increment * factor, 3),
            period=round(self.period * factor, 3),
        )

    def canonical(self) -> str:
        """Return its text, for the comparison of two runs."""
        return str(self)

    def __str__(self) -> str:
        moves = f"{self.moves}/" if self.moves else ""
        return f"{moves}{number(self.base)}{self._tail()}"

    def _tail(self) -> str:
        if self.stones:
            return f"+{self.stones}/{number(self.period)}"
        increment = f"+{number(self.increment)}" if self.increment else ""
        if self.periods == 1:
            return f"{increment}+{number(self.period)}byo"
        if self.periods:
            return f"+{self.periods}x{number(self.period)}"
        return increment


def number(value: float) -> str:
    """Return a number exactly, without an exponent, a needless ".0" or a sign of zero."""
    text = f"{Decimal(repr(value + 0)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _seconds(match: re.Match[str], part: str) -> float:
    minutes = float(match[f"{part}_minutes"] or 0)
    return 60.0 * minutes + float(match[f"{part}_seconds"] or 0)


def _count(digits: str | None) -> int:
    # int() refuses thousands of digits
    return MOST + 1 if digits is not None and len(digits) > 9 else int(digits or 0)
