"""Charts of matchups: scores and Elo, their course, sequential tests, pairs of games."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from ringmaster.competitions.competition import MatchupInfo
from ringmaster.competitions.matchup_sprt import Trial
from ringmaster.competitions.result_lines import unique_names
from ringmaster.competitions.tally import Tally, added_up
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
from ringmaster.stats.elo import FEWEST, elo_of_score, score_of_elo, wilson

T = TypeVar("T")

#: Most points of a course, and of all walks of tests together: a ratio takes a millisecond.
MOST_POINTS, MOST_RATIOS = 400, 600
#: Most matchups with their own charts.
MOST_COURSES = 24
#: Most matchups in one comparison beside ratings.
MOST_ROWS = 40
#: Points of pairs.
PAIR_POINTS = ("0", "½", "1", "1½", "2")


def thinned(points: Sequence[T], most: int = MOST_POINTS) -> list[T]:
    """Return at most `most` points, evenly spaced, the last one included."""
    stride = max(1, math.ceil(len(points) / most))
    return list(points[::-stride])[::-1]


class MatchupCourses:
    """Results of matchups in the course of their games."""

    def __init__(self, infos: Iterable[MatchupInfo]) -> None:
        self._infos = {info.id: info for info in infos}
        self._names = unique_names({id: info.name for id, info in self._infos.items()})
        drawn = self._infos.values() if len(self._infos) <= MOST_COURSES else ()
        self._courses = {info.id: Course(info.tally) for info in drawn}

    def record_result(
        self, id: str, first_mover: str, pair: int | None, result: GameResult
    ) -> None:
        """Count a result; ignore void games, and matchups without a course."""
        course = self._courses.get(id)
        if course is not None and result.outcome != "void":
            course.record_result(result, first_mover, pair)

    def charts(self, title: str, *, rated: bool = False) -> list[ChartGroup]:
        """Return charts of all matchups, and of the course of a few.

        rated  whether a chart of ratings summarises many matchups
        """
        # games of a ladder have other handicaps
        infos = {id: info for id, info in self._infos.items() if not info.tally.levels}
        played = {id: info.tally for id, info in infos.items() if info.tally.known}
        groups = []
        if played and not (rated and len(played) > MOST_ROWS):
            groups.append(self._compared(title, played))
        if 0 < len(played) <= MOST_COURSES:
            # two games of each pairing have no course
            groups += self._few(title, {id: c for id, c in played.items() if c.known >= FEWEST})
        return [group for group in groups if group.charts]

    def _few(self, title: str, played: dict[str, Tally]) -> Iterator[ChartGroup]:
        courses = tuple(filter(None, map(self._course_chart, played)))
        text = "The estimate from the games so far, with its 95 % interval."
        yield ChartGroup(f"{title}: in the course of the games", courses, text, "course")
        tests = [id for id in played if self._infos[id].sprt is not None]
        walks = tuple(filter(None, (self._walk(id, MOST_RATIOS // len(tests)) for id in tests)))
        text = (
            "The log-likelihood ratio of the sequential test: the test ends where the line "
            "reaches a bound."
        )
        yield ChartGroup("Sequential tests", walks, text, "llr")
        pairs = tuple(
            _pairs_chart(self._names[id], tally.pairs.counts)
            for id, tally in played.items()
            if sum(tally.pairs.counts)
        )
        text = (
            "Pairs of games with one opening and both colours, by the points of the first player."
        )
        yield ChartGroup("Pairs of games", pairs, text, "pairs")

    def _compared(self, title: str, played: dict[str, Tally]) -> ChartGroup:
        rates = []
        differences = []
        for id, tally in played.items():
            name = self._names[id]
            rate, low, high = _score(tally)
            score = f"{tally.points(0):g}-{tally.points(1):g}"
            text = f"{rate:.1f} %, {score} in {counted(tally.completed, 'game')}"
            rates.append(Compared(name, rate, low, high, text))
            if self._infos[id].even:
                differences.append(_difference(name, tally))
        charts: list[AnyChart] = []
        if differences:
            label = "Elo of the first player over the second"
            charts.append(Comparison("Elo", tuple(differences), label, mark=0.0))
        label = "score of the first player, %"
        charts.append(Comparison("Score", tuple(rates), label, mark=50.0))
        text = "Error bars are 95 % intervals, by Wilson's method where results are few."
        if len(differences) < len(rates):
            text += "  Elo needs alternating colours."
        return ChartGroup(title, tuple(charts), text, "elo")

    def _course_chart(self, id: str) -> Chart | None:
        """Return the course of the Elo, or of the score where there is no Elo."""
        points = [(tally, tally.estimate()) for tally in self._courses[id].points() if tally.known]
        # intervals of the first tenth of the games would dwarf the rest
        last = points[-1][0].completed if points else 0
        points = [point for point in points if 10 * point[0].completed >= last]
        name = self._names[id]
        known = [(t, e) for t, e in points if math.isfinite(e.low) and math.isfinite(e.high)]
        if len(known) > 1 and self._infos[id].even:
            rows = [(t.completed, e.elo, e.low, e.high) for t, e in known]
            return Chart(name, _pieces("Elo", 0.0, rows), "games", "Elo", str(known[-1][1]))
        if len(points) < 2:
            return None
        rows = [(tally.completed, *_score(tally)) for tally, _ in points]
        note = "{:.1f} % (95 %: {:.0f} to {:.0f})".format(*rows[-1][1:])
        pieces = _pieces("score", 50.0, rows)
        return Chart(name, pieces, "games", "score, %", note, (0.0, 100.0))

    def _walk(self, id: str, most: int) -> Chart | None:
        """Return the course of a test's ratio, with at most about `most` points."""
        report = self._infos[id].sprt
        assert report is not None
        progress = Trial(report.test, report.players[0], len(report.counts) == 5)
        walk = [(0.0, 0.0)]
        for point in thinned(self._courses[id].points(), most):
            walk.append((point.completed, report.test.llr(point.counts_for(progress))))
        if len(walk) < 3:
            return None
        low, high = report.bounds
        test = report.test
        return Chart(
            self._names[id],
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
    """Tallies at equally spaced numbers of games, up to the last one."""

    def __init__(self, last: Tally) -> None:
        self.tally = Tally(last.players)
        self._games = 0
        self._stride = max(1, math.ceil(last.completed / MOST_POINTS))
        self._points: list[Tally] = []

    def record_result(self, result: GameResult, first_mover: str, pair: int | None) -> None:
        """Count a game that is not void."""
        # this runs for every game
        self.tally.record_result(result, self.tally.players.index(first_mover), pair)
        self._games += 1
        if self._games % self._stride == 0:
            self._points.append(added_up(self.tally.players, [self.tally]))

    def points(self) -> list[Tally]:
        """Return the recorded points, the present one last."""
        return [*(p for p in self._points if p.completed < self._games), self.tally]


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


def _ends(tally: Tally) -> tuple[float, float]:
    """Return Wilson's interval of the score, by pairs where possible."""
    if tally.in_pairs:
        # a pair in progress is no observation
        halves = sum(i * count for i, count in enumerate(tally.pairs.counts))
        return wilson(halves / 4, sum(tally.pairs.counts))
    return wilson(tally.points(0), tally.known)


def _score(tally: Tally) -> tuple[float, float, float]:
    """Return the first player's score in per cent with its 95 % interval.

    The interval is the Elo's if there is one, else Wilson's.
    """
    estimate = tally.estimate()
    low, high = _ends(tally)
    if estimate.known:
        # the expected scores of Elo differences
        low, high = map(score_of_elo, (estimate.low, estimate.high))
    return 100 * tally.points(0) / tally.known, 100 * low, 100 * high


def _difference(name: str, tally: Tally) -> Compared:
    """Return a matchup's Elo difference.

    Without an interval it has Wilson's; the value of a score of 0 or 100 % is the middle of
    Wilson's interval.
    """
    estimate, ends = tally.estimate(), _ends(tally)
    if not estimate.known:
        low, high = map(elo_of_score, ends)
        estimate = msgspec.structs.replace(estimate, low=low, high=high)
    value = estimate.elo if math.isfinite(estimate.elo) else elo_of_score(sum(ends) / 2)
    text = f"{estimate.interval()}, {counted(tally.completed, 'game')}"
    return Compared(name, value, estimate.low, estimate.high, text)


def _pairs_chart(name: str, counts: Sequence[int]) -> Bars:
    lost, won = sum(counts[:2]), sum(counts[3:])
    ratio = elo.pairs_ratio(counts)
    note = f"{won} won, {lost} lost" + ("" if ratio is None else f" (ratio {ratio:.2f})")
    series = BarSeries("pairs", tuple(map(float, counts)))
    return Bars(name, PAIR_POINTS, (series,), "points of the first player", "pairs", note)
