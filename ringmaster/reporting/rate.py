"""How fast games end, and how long the rest will take."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

#: Seconds of the past that a rate is taken over …
WINDOW = 60.0
#: … and the number of games it is taken over at least, however long they took.
LEAST_GAMES = 10
# Samples closer together than this would only cost memory.
_SPACING = 0.25


@dataclass(frozen=True)
class Estimate:
    """Games a second, and seconds until the last one; None when unknown."""

    rate: float | None = None
    left: float | None = None


class RateMeter:
    """The recent rate of a counter.

    The rate is that of the last WINDOW seconds, or of the last LEAST_GAMES when
    those took longer: a game of two hours must not count as none a minute.
    """

    def __init__(self, started: float) -> None:
        self._samples: deque[tuple[float, int]] = deque([(started, 0)])

    def sample(self, now: float, count: int) -> None:
        """Note that `count` games have ended by `now` (seconds)."""
        samples = self._samples
        last_time, last_count = samples[-1]
        if count != last_count and now - last_time >= _SPACING:
            samples.append((now, count))
        while len(samples) > 2:
            time, earlier = samples[1]
            if now - time < WINDOW or count - earlier < LEAST_GAMES:
                break
            samples.popleft()

    def estimate(self, now: float, count: int, remaining: int | None) -> Estimate:
        """Return the rate up to `now`, and the time that `remaining` games
        (None: no limit) take at it."""
        time, earlier = self._samples[0]
        if remaining is not None and remaining <= 0:
            left: float | None = 0.0
        else:
            left = None
        if now <= time or count <= earlier:
            return Estimate(None, left)
        rate = (count - earlier) / (now - time)
        if remaining is not None and left is None:
            left = remaining / rate
        return Estimate(rate, left)


def format_rate(rate: float | None, label: str = "games") -> str:
    """Return a rate in the unit that gives a number above 1: "12.3 games/s",
    "4.5 games/min", "2.1 games/h"; "–" when it is unknown."""
    if rate is None:
        return "–"
    for unit, seconds in (("s", 1), ("min", 60), ("h", 3600)):
        value = rate * seconds
        if value >= 0.95 or unit == "h":
            break
    return f"{value:.0f} {label}/{unit}" if value >= 99.5 else f"{value:.1f} {label}/{unit}"


def format_duration(seconds: float | None) -> str:
    """Return a duration in its two leading units: "45 s", "3 min 05 s",
    "2 h 07 min", "3 d 04 h"; "–" when it is unknown."""
    if seconds is None:
        return "–"
    # 1000 years: more is the quotient of two accidents
    whole = min(int(max(seconds, 0.0) + 0.5), 1000 * 365 * 86400)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"
