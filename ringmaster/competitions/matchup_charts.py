"""Charts of matchups: how much stronger one player is than another, and how that
came about in the course of the games."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ringmaster.competitions.competition import MatchupInfo, Played
from ringmaster.competitions.standings import Standings
from ringmaster.competitions.tally import Tally
from ringmaster.model.charts import (
    Band,
    Chart,
    ChartGroup,
    Compared,
    Comparison,
    Level,
    Piece,
    Series,
)
from ringmaster.model.results import GameResult
from ringmaster.stats.elo import EloEstimate

#: Points of a course, at most about this many.
MOST_POINTS = 400
#: Matchups that get a picture of their own, at most.
MOST_COURSES = 24


class MatchupCourses:
    """The results of matchups, counted as they come, with what was known of the Elo
    on the way; matchups whose score does not say who is stronger are left out."""

    def __init__(self, infos: Iterable[MatchupInfo]) -> None:
        self._infos = {info.id: info for info in infos if _is_even(info)}
        self._tallies = {id: Tally(info.players) for id, info in self._infos.items()}
        self._courses: dict[str, _Course] = {id: _Course() for id in self._infos}

    def take(self, played: Played, result: GameResult) -> None:
        """Count a result; those of other matchups are passed over."""
        tally = self._tallies.get(played.matchup)
        if tally is None or result.outcome == "void" or played.players[0] not in tally.players:
            return
        tally.take(result, tally.players.index(played.players[0]), played.pair)
        course = self._courses[played.matchup]
        if course.wants(tally.completed):
            course.take(tally.completed, tally.estimate())

    def charts(self, title: str, most: int | None = None) -> list[ChartGroup]:
        """Return the Elo of all matchups of which something is known, nothing where
        these are more than `most`; and its course in each if they are few."""
        played = [id for id, tally in self._tallies.items() if tally.known]
        rows = []
        for id in played:
            estimate = self._tallies[id].estimate()
            if math.isfinite(estimate.low) or math.isfinite(estimate.high):
                rows.append(_compared(self._name(id), estimate))
        if most is not None and len(rows) > most:
            return []
        groups = []
        if rows:
            label = "Elo of the first player over the second"
            compared = Comparison("", tuple(rows), label, mark=0.0)
            groups.append(ChartGroup(title, (compared,), "Error bars, and ±, are 95 % intervals."))
        charts = [chart for id in played if (chart := self._chart(id)) is not None]
        if charts and len(charts) <= MOST_COURSES:
            text = "What the games up to then said, with its 95 % interval."
            groups.append(ChartGroup(f"{title}: in the course of the games", tuple(charts), text))
        return groups

    def _name(self, id: str) -> str:
        name = self._infos[id].name
        same = [info for info in self._infos.values() if info.name == name]
        return name if len(same) == 1 else f"{name} [{id}]"

    def _chart(self, id: str) -> Chart | None:
        course = self._courses[id].points(self._tallies[id])
        if len(course) < 2:
            return None
        pieces: tuple[Piece, ...] = (
            Band("95 % interval", tuple((games, e.low, e.high) for games, e in course)),
            Level("equal", 0.0),
            Series("Elo", tuple((games, e.elo) for games, e in course)),
        )
        return Chart(self._name(id), pieces, "games", "Elo", str(self._tallies[id].estimate()))


class _Course:
    """Estimates after some numbers of games, equally spaced by a power of two."""

    def __init__(self) -> None:
        self._stride = 1
        self._points: list[tuple[int, EloEstimate]] = []

    def wants(self, games: int) -> bool:
        return games % self._stride == 0

    def take(self, games: int, estimate: EloEstimate) -> None:
        self._points.append((games, estimate))
        if len(self._points) > MOST_POINTS:
            self._stride *= 2
            self._points = [p for p in self._points if p[0] % self._stride == 0]

    def points(self, tally: Tally) -> list[tuple[int, EloEstimate]]:
        """Return the points that have an interval, the present one last; the first
        games are left out, whose interval would dwarf the rest."""
        points = list(self._points)
        if points and points[-1][0] != tally.completed:
            points.append((tally.completed, tally.estimate()))
        return [
            (games, estimate)
            for games, estimate in points
            if 10 * games >= tally.completed
            and math.isfinite(estimate.low)
            and math.isfinite(estimate.high)
        ]


def _is_even(info: MatchupInfo) -> bool:
    settings = info.settings
    return info.alternating is not False and (settings is None or settings.handicap is None)


def _compared(name: str, estimate: EloEstimate) -> Compared:
    known = math.isfinite(estimate.low) and math.isfinite(estimate.high)
    error = f" ± {estimate.error:.1f}" if known else ""
    text = f"{estimate.elo:+.1f}{error}, {estimate.games} games"
    return Compared(name, estimate.elo, estimate.low, estimate.high, text)


def rating_charts(standings: Standings | None) -> list[ChartGroup]:
    """Return the players' ratings, the highest first; nothing while there are none."""
    if standings is None or not standings.ratings():
        return []
    rows = []
    for code, rating in standings.ratings().items():
        elo, error = rating.elo, rating.error
        sign = "+" if standings.anchor is None else ""
        known = f" ± {error:.1f}" if math.isfinite(error) else ""
        text = f"{elo:{sign}.1f}{known}"
        rows.append(Compared(code, elo, elo - error, elo + error, text))
    anchor = standings.anchor
    mark = 0.0 if anchor is None else anchor.elo
    above = "above the average" if anchor is None else f"where {anchor.code} has {anchor.elo:g}"
    compared = Comparison("", tuple(rows), f"Elo {above}", mark=mark)
    prior = standings.prior_note()
    text = "Error bars, and ±, are 95 % intervals." + (f"  Elo {prior}." if prior else "")
    return [ChartGroup("Ratings", (compared,), text)]
