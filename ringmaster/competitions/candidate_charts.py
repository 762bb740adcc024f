"""Charts of a tuner that plays candidates against an opponent: which values it has
tried in the course of the games, and how they fared."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ringmaster.competitions.competition import Played
from ringmaster.model.charts import Chart, ChartGroup, Level, Piece, Series, Whiskers
from ringmaster.model.results import GameResult
from ringmaster.stats.proportion import wilson

#: Games that are shown, at most; windows that means are taken of.
MOST_POINTS, WINDOWS = 1000, 24


class CandidateCharts:
    """What was played, thinned as it comes in; games are equally spaced by a power
    of two, and results are added up by as many windows as will do.

    codes     of the parameters; one whose values are no numbers is not shown
    opponent  the opponent's code
    """

    def __init__(self, codes: Sequence[str], opponent: str) -> None:
        self._codes = tuple(codes)
        self._opponent = opponent
        self._stride = 1
        self._points: list[tuple[int, dict[str, float]]] = []
        self._window = 1
        self._windows: list[_Window] = []
        self.games = 0

    def take(self, played: Played, result: GameResult) -> None:
        """Add a game; void ones are passed over."""
        if result.outcome == "void":
            return
        seat = 1 if played.players[0] == self._opponent else 0
        values = {
            code: float(value)
            for code, value in played.parameters[seat].items()
            if isinstance(value, int | float) and math.isfinite(value)
        }
        if self.games % self._window == 0:
            if len(self._windows) == 2 * WINDOWS:
                pairs = zip(self._windows[::2], self._windows[1::2], strict=True)
                self._windows = [a.joined(b) for a, b in pairs]
                self._window *= 2
            self._windows.append(_Window())
        self._windows[-1].take(result.points(seat), values)
        self.games += 1
        if self.games % self._stride == 0:
            self._points.append((self.games, values))
            if len(self._points) > MOST_POINTS:
                self._stride *= 2
                self._points = [p for p in self._points if p[0] % self._stride == 0]

    def charts(self) -> list[ChartGroup]:
        """Return the charts; none before the first result."""
        if not self.games:
            return []
        shown = [chart for code in self._codes if (chart := self._parameter(code)) is not None]
        groups = []
        if shown:
            text = "Each dot is a game's value; the line is their mean over some games."
            groups.append(ChartGroup("Values tried", tuple(shown), text))
        whiskers = []
        start = 0
        for window in self._windows:
            low, high = wilson(window.points, window.games)
            mean = 100 * window.points / window.games
            whiskers.append((start + window.games / 2, mean, 100 * low, 100 * high))
            start += window.games
        pieces: tuple[Piece, ...] = (Level("even", 50.0), Whiskers("points", tuple(whiskers)))
        total = sum(window.points for window in self._windows)
        note = f"{total:g} of {self.games} ({total / self.games:.1%})"
        title = f"Points against {self._opponent}"
        chart = Chart(title, pieces, "games", "%", note, (0.0, 100.0))
        text = "What the candidates won at that time, with 95 % intervals."
        return [*groups, ChartGroup("Results", (chart,), text)]

    def _parameter(self, code: str) -> Chart | None:
        dots = tuple((float(n), values[code]) for n, values in self._points if code in values)
        line = []
        start = 0
        for window in self._windows:
            total, count = window.values.get(code, (0.0, 0))
            if count:
                line.append((start + window.games / 2, total / count))
            start += window.games
        if not dots or not line:
            return None
        pieces: tuple[Piece, ...] = (
            Series("a game's value", dots, joined=False),
            Series("mean", tuple(line), "average"),
        )
        return Chart(code, pieces, "games", "", f"lately {line[-1][1]:.4g}")


class _Window:
    """Games in succession, added up."""

    def __init__(self) -> None:
        self.games = 0
        self.points = 0.0
        self.values: dict[str, tuple[float, int]] = {}

    def take(self, points: float, values: dict[str, float]) -> None:
        self.games += 1
        self.points += points
        for code, value in values.items():
            total, count = self.values.get(code, (0.0, 0))
            self.values[code] = total + value, count + 1

    def joined(self, other: _Window) -> _Window:
        """Return both as one."""
        both = _Window()
        both.games = self.games + other.games
        both.points = self.points + other.points
        for code in self.values | other.values:
            first, second = (w.values.get(code, (0.0, 0)) for w in (self, other))
            both.values[code] = first[0] + second[0], first[1] + second[1]
        return both
