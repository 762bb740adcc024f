"""Charts of matchups: scores and Elo, their course, sequential tests, pairs of games."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from ringmaster.competitions.competition import MatchupInfo, Played
from ringmaster.errors import counted
from ringmaster.model.report import (
    AnyChart,
    Band,
    Bars,
    BarSeries,
    Chart,
    ChartGroup,
    Compared,
    Comparison,
    Level,
    Piece,
    Series,
)
from ringmaster.model.results import GameResult
from ringmaster.stats import elo
from ringmaster.stats.elo import FEWEST, EloEstimate, elo_of_score, wilson

#: Most points of a course, and of all walks of tests together: a ratio takes a millisecond.
MOST_POINTS, MOST_RATIOS = 400, 600
#: Most matchups with their own charts.
MOST_COURSES = 24
#: Most matchups in one comparison beside ratings.
MOST_ROWS = 40
#: Points of pairs.
PAIR_POINTS = ("0", "½", "1", "1½", "2")


class _Counts(NamedTuple):
    """A matchup's results so far, from the first player's view.

    unknown  games without a result
    single   games outside pairs
    pairs    by points: 0, ½, 1, 1½, 2
    """

    wins: int
    losses: int
    draws: int
    unknown: int
    single: int
    pairs: tuple[int, ...]

    @property
    def games(self) -> int:
        return self.wins + self.losses + self.draws + self.unknown

    @property
    def known(self) -> int:
        return self.games - self.unknown

    @property
    def points(self) -> float:
        return self.wins + self.draws / 2

    @property
    def text(self) -> str:
        """The score as "7.5-4.5"."""
        return f"{self.points:g}-{self.known - self.points:g}"

    @property
    def is_paired(self) -> bool:
        """Return whether pairs are the observations, not games."""
        return not self.unknown and not self.single and any(self.pairs)

    def estimate(self) -> EloEstimate:
        """Return the Elo difference as `Tally.estimate` does."""
        if self.is_paired:
            return elo.from_pairs(self.pairs)
        return elo.from_games(self.wins, self.draws, self.losses)

    def wilson(self) -> tuple[float, float]:
        """Return Wilson's interval of the score, from the observations of `estimate`."""
        if self.is_paired:
            halves = sum(i * count for i, count in enumerate(self.pairs))
            return wilson(halves / 4, sum(self.pairs))
        return wilson(self.points, self.known)

    def score(self) -> tuple[float, float, float]:
        """Return the score in per cent with its 95 % interval.

        The interval is the Elo's if there is one, else Wilson's.
        """
        estimate = self.estimate()
        low, high = self.wilson()
        if estimate.known:
            low, high = (_expected(end) for end in (estimate.low, estimate.high))
        return 100 * self.points / self.known, 100 * low, 100 * high


class MatchupCourses:
    """Results of matchups in the course of their games."""

    def __init__(self, infos: Iterable[MatchupInfo]) -> None:
        self._infos = {info.id: info for info in infos}
        most = MOST_POINTS if len(self._infos) <= MOST_COURSES else 0
        self._courses = {id: Course(info.players, most) for id, info in self._infos.items()}

    def record_result(self, played: Played, result: GameResult) -> None:
        """Count a result; ignore void games and other matchups."""
        course = self._courses.get(played.matchup)
        if course is None or result.outcome == "void":
            return
        if played.players[0] in course.players:
            course.record_result(result, played.players[0], played.pair)

    def course(self, id: str) -> Course:
        """Return the course of a matchup."""
        return self._courses[id]

    def charts(self, title: str, *, rated: bool = False) -> list[ChartGroup]:
        """Return charts of all matchups, and of the course of a few.

        rated  whether a chart of ratings summarises many matchups
        """
        played = {id: c.counts for id, c in self._courses.items() if c.counts.known}
        groups = []
        if played and not (rated and len(played) > MOST_ROWS):
            groups.append(self._compared(title, played))
        if 0 < len(played) <= MOST_COURSES:
            # two games of each pairing have no course
            groups += self._few(title, {id: c for id, c in played.items() if c.known >= FEWEST})
        return groups

    def _few(self, title: str, played: dict[str, _Counts]) -> Iterator[ChartGroup]:
        courses = tuple(chart for id in played if (chart := self._course_chart(id)) is not None)
        if courses:
            text = "The estimate from the games so far, with its 95 % interval."
            yield ChartGroup(f"{title}: in the course of the games", courses, text, "course")
        tests = [id for id in played if self._infos[id].sprt is not None]
        walks = tuple(
            chart
            for id in tests
            if (chart := self._walk(id, MOST_RATIOS // len(tests))) is not None
        )
        if walks:
            text = (
                "The log-likelihood ratio of the sequential test: the test ends where the line "
                "reaches a bound."
            )
            yield ChartGroup("Sequential tests", walks, text, "llr")
        pairs = tuple(_pairs_chart(self._name(id), c) for id, c in played.items() if sum(c.pairs))
        if pairs:
            text = (
                "Pairs of games with one opening and both colours, by the points of the first "
                "player."
            )
            yield ChartGroup("Pairs of games", pairs, text, "pairs")

    def _compared(self, title: str, played: dict[str, _Counts]) -> ChartGroup:
        rates = []
        differences = []
        for id, counts in played.items():
            name = self._name(id)
            rate, low, high = counts.score()
            text = f"{rate:.1f} %, {counts.text} in {counted(counts.games, 'game')}"
            rates.append(Compared(name, rate, low, high, text))
            if self._infos[id].even:
                differences.append(_difference(name, counts))
        charts: list[AnyChart] = []
        if differences:
            label = "Elo of the first player over the second"
            charts.append(Comparison("Elo", tuple(differences), label, mark=0.0))
        label = "score of the first player, %"
        charts.append(Comparison("Score", tuple(rates), label, mark=50.0))
        text = "Error bars are 95 % intervals, by Wilson's method where results are few."
        if len(differences) < len(rates):
            text += "  Elo needs even games: alternating colours, no handicap."
        return ChartGroup(title, tuple(charts), text, "elo")

    def _name(self, id: str) -> str:
        name = self._infos[id].name
        same = [info for info in self._infos.values() if info.name == name]
        return name if len(same) == 1 else f"{name} [{id}]"

    def _course_chart(self, id: str) -> Chart | None:
        """Return the course of the Elo, or of the score where there is no Elo."""
        points = [
            (counts, counts.estimate()) for counts in self._courses[id].points() if counts.known
        ]
        # intervals of the first tenth of the games would dwarf the rest
        last = points[-1][0].games if points else 0
        points = [point for point in points if 10 * point[0].games >= last]
        name = self._name(id)
        known = [(c, e) for c, e in points if math.isfinite(e.low) and math.isfinite(e.high)]
        if len(known) > 1 and self._infos[id].even:
            rows = [(c.games, e.elo, e.low, e.high) for c, e in known]
            return Chart(name, _pieces("Elo", 0.0, rows), "games", "Elo", str(known[-1][1]))
        if len(points) < 2:
            return None
        rows = [(counts.games, *counts.score()) for counts, _ in points]
        note = "{:.1f} % (95 %: {:.0f} to {:.0f})".format(*rows[-1][1:])
        pieces = _pieces("score", 50.0, rows)
        return Chart(name, pieces, "games", "score, %", note, (0.0, 100.0))

    def _walk(self, id: str, most: int) -> Chart | None:
        """Return the course of a test's ratio, with at most about `most` points."""
        report, players = self._infos[id].sprt, self._infos[id].players
        assert report is not None
        points = self._courses[id].points()
        step = max(1, math.ceil(len(points) / most))
        # backwards: the last point is always one of them
        points = points[::-step][::-1]
        walk = [(0.0, 0.0)]
        for point in points:
            counts = [point.losses, point.draws + point.unknown, point.wins]
            if len(report.counts) == 5:
                counts = list(point.pairs)
            if report.players[0] != players[0]:
                counts.reverse()
            walk.append((point.games, report.test.llr(counts)))
        if len(walk) < 3:
            return None
        low, high = report.bounds
        test = report.test
        return Chart(
            self._name(id),
            (
                Level(f"H1: {test.elo1:g} {test.unit}", high, "good"),
                Level(f"H0: {test.elo0:g} {test.unit}", low, "bad"),
                Series("LLR", tuple(walk)),
            ),
            "games",
            "LLR",
            report.status,
        )


class Course:
    """Results at equally spaced numbers of games; the spacing is a power of two.

    players  the first and the second
    most     points; 0: only the present results
    """

    def __init__(self, players: tuple[str, str], most: int) -> None:
        self.players = players
        self._most = most
        self._columns = [0, 0, 0, 0]
        self._pairs = [0, 0, 0, 0, 0]
        #: Doubled points of open pairs, by their number.
        self._half: dict[int, int] = {}
        self._single = 0
        self._games = 0
        self._stride = 1
        #: Number of games of the next point.
        self._next = 1 if most else 0
        self._points: list[_Counts] = []

    def record_result(self, result: GameResult, first_mover: str, pair: int | None) -> None:
        """Count a game that is not void."""
        # this runs for every game
        outcome = result.outcome
        if outcome == "win":
            column = 0 if (result.winner == 0) is (first_mover == self.players[0]) else 1
            doubled = 2 - 2 * column
        else:
            column = 2 if outcome == "draw" else 3
            doubled = 1
        self._columns[column] += 1
        if pair is None:
            self._single += 1
        else:
            before = self._half.pop(pair, None)
            if before is None:
                self._half[pair] = doubled
            else:
                self._pairs[before + doubled] += 1
        self._games += 1
        if self._games == self._next:
            self._points.append(self.counts)
            if len(self._points) > self._most:
                self._stride *= 2
                self._points = self._points[1::2]
            self._next += self._stride - self._next % self._stride

    @property
    def counts(self) -> _Counts:
        """The present results."""
        wins, losses, draws, unknown = self._columns
        return _Counts(wins, losses, draws, unknown, self._single, (*self._pairs,))

    def points(self) -> list[_Counts]:
        """Return the recorded points, the present one last."""
        points = [p for p in self._points if p.games < self._games]
        return [*points, self.counts] if self._most and self._games else points


def _pieces(
    name: str, equal: float, rows: Sequence[tuple[int, float, float, float]]
) -> tuple[Piece, ...]:
    """Return a course with its 95 % interval.

    equal  value of equal players
    rows   games, value and ends of the interval
    """
    return (
        Band("95 % interval", tuple((games, low, high) for games, _, low, high in rows)),
        Level("equal", equal),
        Series(name, tuple((games, value) for games, value, _, _ in rows)),
    )


def _expected(difference: float) -> float:
    """Return the expected score of an Elo difference."""
    return 1 / (1 + 10 ** (-difference / 400))


def _difference(name: str, counts: _Counts) -> Compared:
    """Return a matchup's Elo difference.

    Without an interval it has Wilson's; the value of a score of 0 or 100 % is the middle of
    Wilson's interval.
    """
    estimate, ends = counts.estimate(), counts.wilson()
    if not estimate.known:
        low, high = map(elo_of_score, ends)
        estimate = msgspec.structs.replace(estimate, low=low, high=high)
    value = estimate.elo if math.isfinite(estimate.elo) else elo_of_score(sum(ends) / 2)
    text = f"{estimate.interval()}, {counted(counts.games, 'game')}"
    return Compared(name, value, estimate.low, estimate.high, text)


def _pairs_chart(name: str, counts: _Counts) -> Bars:
    lost, won = sum(counts.pairs[:2]), sum(counts.pairs[3:])
    ratio = elo.pairs_ratio(counts.pairs)
    note = f"{won} won, {lost} lost" + ("" if ratio is None else f" (ratio {ratio:.2f})")
    series = BarSeries("pairs", tuple(map(float, counts.pairs)))
    return Bars(name, PAIR_POINTS, (series,), "points of the first player", "pairs", note)
