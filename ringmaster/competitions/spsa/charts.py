"""Charts of a tune: the course of each parameter, what the results say of it, and
whether the games themselves look right.

θ, its averages and the regression are the tuner's.  How far apart the sides played, and
the results by where they played, are taken from the recorded games, whatever the
method was: nothing is computed from schedules that may have been changed since.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ringmaster.competitions.competition import Played
from ringmaster.model.charts import (
    Band,
    Chart,
    ChartGroup,
    Interval,
    Level,
    Piece,
    Series,
    Whiskers,
)
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.results import GameResult
from ringmaster.stats.elo import NELO as C
from ringmaster.stats.elo import Z95
from ringmaster.tuners.spsa import Array, Spsa
from ringmaster.tuners.spsa import Interval as Known
from ringmaster.tuners.spsa.regression import Fit

T = TypeVar("T")

#: Points of a course, at most.
MOST_POINTS = 400
#: Into how many parts the way that a parameter has gone is divided, and how many of
#: them are shown, with about as much weight each.
FINE, SHOWN = 240, 12
#: Games that are added up at a time.
CHUNK = 4096


class TuneCharts:
    """What the games of a tune were, added up for pictures.

    parameters  those that are tuned, in the order of the tuner's arrays
    player      code of the player that is tuned; its two sides bear "+" and "-"
    games       how many games are to come, more or less
    games_after  how many games so many iterations were
    """

    def __init__(
        self,
        parameters: Sequence[TunedParameter],
        tuner: Spsa,
        player: str,
        games: int,
        games_after: Callable[[int], int],
    ) -> None:
        self._parameters = tuple(parameters)
        self._codes = [p.code for p in self._parameters]
        self._tuner = tuner
        self._player = player
        #: θ after so many games.
        self._course = thinned(
            [(float(games_after(told)), theta) for told, theta in tuner.trajectory.points()]
        )
        self._window = max(1, math.ceil(games / MOST_POINTS))
        self._rows: list[tuple[list[float], list[float], float]] = []
        self.games = 0
        n = len(self._codes)
        self._apart: list[tuple[float, Array]] = []
        self._open = np.zeros((2, n))
        self._results: list[tuple[float, float, float]] = []
        self._sum, self._squares = 0.0, 0.0
        self._references: list[str] = []
        path = np.array([theta for _, theta in self._course]).reshape(-1, n)
        space = tuner.space
        low = path.min(axis=0) if len(path) else space.start
        high = path.max(axis=0) if len(path) else space.start
        self._low = low - 1e-9 * space.width
        self._part = np.maximum(high - low, 2e-9 * space.width) / FINE * (1 + 1e-9)
        #: Σd², Σd²m, Σd·s by part of the way, (3, n, FINE).
        self._sums = np.zeros((3, n, FINE))

    def take(self, played: Played, result: GameResult) -> None:
        """Add a game of the tune; any other is passed over."""
        sides = [f"{self._player}{sign}" for sign in "+-"]
        seats = [played.players.index(side) for side in sides if side in played.players]
        if not seats or result.outcome == "void":
            return
        score = 2 * result.points(seats[0]) - 1
        self.games += 1
        self._sum += score
        self._squares += score * score
        other = {}
        if len(seats) == 2:
            other = played.parameters[seats[1]]
        else:
            reference = played.players[1 - seats[0]]
            if reference not in self._references:
                self._references.append(reference)
        self._rows.append((self._values(played.parameters[seats[0]]), self._values(other), score))
        if self.games % self._window == 0:
            self._results.append((float(self.games), self._sum, math.sqrt(self._squares)))
        if len(self._rows) >= CHUNK:
            self._add()

    def _values(self, parameters: dict[str, Any]) -> list[float]:
        # a parameter may have come in later
        return [float(parameters.get(code, math.nan)) for code in self._codes]

    def _add(self) -> None:
        """Add up the games that wait."""
        if not self._rows:
            return
        first, n = self.games - len(self._rows), len(self._codes)
        high = np.array([row[0] for row in self._rows])
        if self._references:
            # about where θ was when the game was recorded
            m = self._theta_at(np.arange(first, self.games))
            d = high - m
        else:
            low = np.array([row[1] for row in self._rows])
            d, m = (high - low) / 2, (high + low) / 2
        scores = np.array([row[2] for row in self._rows])
        self._rows.clear()
        known = np.isfinite(d)
        d, m = np.where(known, d, 0.0), np.where(known, m, 0.0)
        part = np.clip((m - self._low) / self._part, 0, FINE - 1).astype(np.int64)
        place = (part + FINE * np.arange(n)).ravel()
        dd = d * d
        for sums, values in zip(self._sums, (dd, dd * m, d * scores[:, np.newaxis]), strict=True):
            sums += np.bincount(place, values.ravel(), n * FINE).reshape(n, FINE)
        done = 0
        while done < len(d):
            end = min(len(d), done + self._window - (first + done) % self._window)
            self._open += [dd[done:end].sum(axis=0), known[done:end].sum(axis=0)]
            done = end
            if (first + done) % self._window == 0:
                self._close(first + done)

    def _close(self, games: int) -> None:
        """End a window of games, `games` have been played."""
        middle = games - ((games - 1) % self._window + 1) / 2
        self._apart.append((middle, np.sqrt(self._open[0] / np.maximum(self._open[1], 1))))
        self._open = np.zeros_like(self._open)

    def _theta_at(self, games: npt.NDArray[np.int64]) -> Array:
        """Return θ after some numbers of games, (games, n)."""
        x = [0.0, *(games for games, _ in self._course)]
        y = np.array([self._tuner.space.start.tolist(), *(theta for _, theta in self._course)])
        return np.stack([np.interp(games, x, y[:, i]) for i in range(y.shape[1])], axis=1)

    def charts(self) -> list[ChartGroup]:
        """Return the charts; none before the first iteration is complete."""
        self._add()
        if self.games % self._window:
            self._close(self.games)
        if not self._course:
            return []
        fits = self._tuner.fits()
        known: Sequence[Fit | Known] = self._tuner.intervals() or fits
        estimate = self._tuner.estimate().tolist()
        mean = self._tuner.averages.mean().tolist()
        courses = [
            self._parameter(i, p, said, estimate[i], mean[i])
            for i, (p, said) in enumerate(zip(self._parameters, known, strict=True))
        ]
        groups = [
            ChartGroup(
                "Parameters",
                tuple(courses),
                "What was played lies in the band about θ; at the right the estimate, with "
                "the 95 % interval of the optimum where the results show one.",
            )
        ]
        regressions = [
            chart
            for i, (p, fit) in enumerate(zip(self._parameters, fits, strict=True))
            if (chart := self._regression(i, p, fit, known[i])) is not None
        ]
        if regressions:
            groups.append(
                ChartGroup(
                    "What the results say",
                    tuple(regressions),
                    "Elo gained by a higher value, by where the games were played (95 % "
                    "intervals). The optimum is where the line crosses zero.",
                )
            )
        if self._results:
            groups.append(self._balance())
        return groups

    def _parameter(
        self, i: int, parameter: TunedParameter, said: Fit | Known, estimate: float, mean: float
    ) -> Chart:
        start = parameter.start
        line = [(0.0, start), *((games, theta[i]) for games, theta in self._course)]
        last = line[-1][0]
        pieces: list[Piece] = []
        if self._apart:
            x = [games for games, _ in self._apart]
            centre = np.interp(x, [p[0] for p in line], [p[1] for p in line])
            apart = np.array([spread[i] for _, spread in self._apart])
            low = np.maximum(centre - apart, parameter.minimum)
            high = np.minimum(centre + apart, parameter.maximum)
            band = tuple(zip(x, low.tolist(), high.tolist(), strict=True))
            pieces.append(Band("perturbation", band))
        pieces.append(Level("start", start))
        pieces.append(Series("θ", tuple(line)))
        pieces.append(Level("mean of the last half", mean, "average", last / 2, last))
        pieces.append(Interval("estimate", estimate, said.low, said.high))
        note = (
            f"{_number(start)} → {_number(parameter.engine_value(estimate))}, "
            f"range {_number(parameter.minimum)} … {_number(parameter.maximum)}"
        )
        if not said.signal:
            note += ", no signal yet"
        bounds = (parameter.minimum, parameter.maximum)
        return Chart(parameter.code, tuple(pieces), "games", "", note, bounds)

    def _regression(
        self, i: int, parameter: TunedParameter, fit: Fit, said: Fit | Known
    ) -> Chart | None:
        """Return the gain in Elo a unit by where it was measured.

        In games of m ± d the expected W − L is 2d·slope/C, of m + d against a
        reference half of that and what does not depend on d.
        """
        scale = C if self._references else C / 2
        # a game's variance; in iterations, since the games of a pair are not independent
        regression = self._tuner.regression
        variance = self._squares / max(self.games, 1)
        if regression.games and not self._references:
            variance = regression.squares / regression.games
        points = []
        for dd, ddm, ds in _merged(self._sums[:, i]):
            error = scale * Z95 * math.sqrt(variance / dd)
            gain = scale * ds / dd
            points.append((ddm / dd, gain, gain - error, gain + error))
        if not points:
            return None
        pieces: list[Piece] = [Level("no gain", 0.0)]
        left, right = points[0][0], points[-1][0]
        if fit.optimum is not None and fit.curvature is not None:
            within = parameter.minimum <= fit.optimum <= parameter.maximum
            pieces.append(Interval("fitted optimum", fit.optimum, fit.low, fit.high, along="x"))
            if within:
                left, right = min(left, fit.optimum), max(right, fit.optimum)
            ends = [(x, -2 * fit.curvature * (x - fit.optimum)) for x in (left, right)]
        else:
            ends = [(left, fit.slope), (right, fit.slope)]
        pieces.append(Whiskers("results", tuple(points)))
        if right > left:
            pieces.append(Series("fit", tuple(ends), "average"))
        return Chart(parameter.code, tuple(pieces), "value", "Elo a unit", _said(fit, said))

    def _balance(self) -> ChartGroup:
        course = thinned([*self._results, (float(self.games), self._sum, math.sqrt(self._squares))])
        line = ((0.0, 0.0), *((games, balance) for games, balance, _ in course))
        note = f"{self._sum:+g} after {self.games} games"
        if self._references:
            what = f"W − L against {' and '.join(self._references)}"
            text = "Rises while the values are the stronger, and falls while they are not."
            pieces: tuple[Piece, ...] = (Level("even", 0.0), Series("W − L", line))
        else:
            what = "W − L of θ⁺ against θ⁻"
            text = (
                "Both sides are drawn alike, so this should look like chance: outside of the "
                "band (95 %) something favours one of them."
            )
            chance = tuple((games, -Z95 * root, Z95 * root) for games, _, root in course)
            band = Band("by chance", ((0.0, 0.0, 0.0), *chance), "aside")
            pieces = (band, Level("even", 0.0), Series("W − L", line))
        chart = Chart(what, pieces, "games", "games", note)
        return ChartGroup("Balance", (chart,), text)


def thinned(points: Sequence[T]) -> list[T]:
    """Return about MOST_POINTS of some points, evenly spaced, the last one included."""
    stride = max(1, math.ceil(len(points) / MOST_POINTS))
    kept = list(points[::-stride])
    return kept[::-1]


def _merged(sums: Array) -> list[tuple[float, float, float]]:
    """Return (Σd², Σd²m, Σd·s) of at most about SHOWN neighbouring parts, (3, FINE),
    that weigh alike; parts without games are left out."""
    whole = float(sums[0].sum())
    found: list[tuple[float, float, float]] = []
    if whole <= 0:
        return found
    group = np.zeros(3)
    for part in sums.T:
        group = group + part
        if group[0] >= whole / SHOWN:
            found.append((float(group[0]), float(group[1]), float(group[2])))
            group = np.zeros(3)
    if group[0] > 0:
        if found and group[0] < whole / SHOWN / 3:
            before = found.pop()
            group = group + before
        found.append((float(group[0]), float(group[1]), float(group[2])))
    return found


def _said(fit: Fit, said: Fit | Known) -> str:
    """Return the line in words; where the method has more to say than it, only that."""
    if not said.signal:
        return "no signal yet"
    if fit.optimum is None:
        text = f"{fit.slope:+.3g} ± {Z95 * fit.slope_error:.2g} Elo a unit (95 %)"
    else:
        text = f"optimum {_number(fit.optimum)}"
        if fit.low is not None and fit.high is not None:
            text += f" ({_number(fit.low)} … {_number(fit.high)})"
    if said.elo_at_stake is not None:
        text += f", {said.elo_at_stake:+z.1f} Elo"
    return text


def _number(value: float) -> str:
    text = f"{value:.4g}" if abs(value) < 1000 else f"{value:.6g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e15 else text
