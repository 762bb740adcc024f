"""The contents of a live display, and its progress: rate, time left, share of this run."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ringmaster.model.report import Progress, Report
from ringmaster.reporting.text import sanitise

#: Seconds before now that a rate covers.
WINDOW = 60.0
#: The least number of games that a rate covers, however long they took.
LEAST_GAMES = 10
# Seconds between two samples.
_SPACING = 0.25


@dataclass(frozen=True)
class RateEstimate:
    """Games a second, and seconds until the last game; None when unknown."""

    rate: float | None = None
    left: float | None = None


class RateMeter:
    """Measure games a second over the last WINDOW seconds.

    Where LEAST_GAMES games took longer, measure over their time: long games have a rate, too.
    The time of a pause does not count.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()
        self._last = 0.0

    def measure(self, view: DisplayView, now: float) -> RateEstimate:
        """Record the progress of a view and return the estimate for it."""
        count = view.completed_this_run
        if not self._samples:
            self._samples.append((view.started, 0))
        elif view.state:
            self._samples = deque((time + now - self._last, n) for time, n in self._samples)
        self._last = now
        samples = self._samples
        last_time, last_count = samples[-1]
        if count != last_count and now - last_time >= _SPACING:
            samples.append((now, count))
        while len(samples) > 2:
            time, earlier = samples[1]
            if now - time < WINDOW or count - earlier < LEAST_GAMES:
                break
            samples.popleft()
        time, earlier = samples[0]
        done, total = view.span
        rate = (count - earlier) / (now - time) if now > time and count > earlier else None
        if total is not None and done >= total:
            return RateEstimate(rate, 0.0)
        return RateEstimate(rate, None if rate is None or total is None else (total - done) / rate)


def format_rate(rate: float | None, label: str = "games") -> str:
    """Return a rate such as "12.3 games/s", "4.5 games/min", "2.1 games/h"; "–" when unknown.

    The unit is the first one that gives a number above 1.
    """
    if rate is None:
        return "–"
    for unit, seconds in (("s", 1), ("min", 60), ("h", 3600)):
        value = rate * seconds
        if value >= 0.95 or unit == "h":
            break
    return f"{value:.0f} {label}/{unit}" if value >= 99.5 else f"{value:.1f} {label}/{unit}"


def format_duration(seconds: float | None) -> str:
    """Return a duration: "45 s", "3 min 05 s", "2 h 07 min", "3 d 04 h"; "–" when unknown."""
    if seconds is None:
        return "–"
    # at most 1000 years: a rate near zero gives any number
    whole = min(int(max(seconds, 0.0) + 0.5), 1000 * 365 * 86400)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"


@dataclass(frozen=True)
class DisplayView:
    """The contents of a display.

    started             the start of this run, on the display's clock
    completed_this_run  games, or other units of `progress`, since then
    limit               games of this run, None without a limit
    running             players of games in progress in move order, by id, oldest first
    results             the latest result lines, newest last
    parallel            games at a time
    state               "paused; p to go on", …; "" while games start
    hint                keys to press, e.g. "? keys  q stop"
    help                lines about the keys, shown in place of everything but verdict and
                        progress; () for none
    verdict             the result so far in one sentence, "" for none
    page                address of the live page, "" without
    """

    heading: str
    progress: Progress
    started: float
    completed_this_run: int = 0
    limit: int | None = None
    description: str = ""
    report: Report = field(default_factory=Report)
    running: Mapping[str, Sequence[str]] = field(default_factory=dict)
    results: Sequence[str] = ()
    warnings: Sequence[str] = ()
    parallel: int = 1
    state: str = ""
    hint: str = ""
    help: Sequence[str] = ()
    verdict: str = ""
    page: str = ""

    @property
    def is_limited(self) -> bool:
        """Return whether this run ends before the competition."""
        total = self.progress.total
        if self.limit is None or total is None:
            return self.limit is not None
        return self.limit - self.completed_this_run < total - self.progress.completed

    @property
    def span(self) -> tuple[int, int | None]:
        """Games played and their number at the end: of this run if it is limited, else in all."""
        if self.is_limited:
            return self.completed_this_run, self.limit
        return self.progress.completed, self.progress.total

    @property
    def share(self) -> float | None:
        """The part of these games that has been played (0 to 1); None without an end."""
        done, total = self.span
        if total is None:
            return None
        return min(1.0, done / total) if total else 1.0


def describe_progress(view: DisplayView, estimate: RateEstimate, *, is_short: bool = False) -> str:
    """Return "120/4000 games  3%  12.3 games/s  5 min 15 s left".

    is_short  whether to leave out the rate, the phase and the games of all runs

    With a limit for this run: "37 of 50 games of this run  74%  …  (137/4000 in all)".
    """
    progress = view.progress
    label = sanitise(progress.label)
    in_all = f"{progress.completed}"
    if progress.total is not None:
        in_all += f"/{progress.total}"
    parts = [f"{in_all} {label}"]
    done, total = view.span
    if view.is_limited:
        parts = [f"{done} of {total} {label}{'' if is_short else ' of this run'}"]
    if total:
        # rounded down: 100 % only after the last game
        parts.append(f"{100 * min(done, total) // total}%")
    if view.state:
        parts.append(sanitise(view.state))
    else:
        if not is_short:
            parts.append(format_rate(estimate.rate, label))
        if total is not None:
            parts.append(f"{format_duration(estimate.left)} left")
    if view.is_limited and not is_short:
        parts.append(f"({in_all} in all)")
    # most verdicts name the phase
    if not is_short and progress.phase.casefold() not in view.verdict.casefold():
        parts.append(sanitise(progress.phase))
    return "  ".join(parts)
