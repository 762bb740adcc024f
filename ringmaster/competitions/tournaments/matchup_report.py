"""Tables, JSON data and charts of matchups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ringmaster.competitions.competition import MatchupInfo, Played
from ringmaster.competitions.matchup_sprt import SprtReport
from ringmaster.competitions.result_lines import repeats_line, void_line
from ringmaster.competitions.tournaments.matchup import Tally
from ringmaster.errors import counted
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import GameName
from ringmaster.model.report import (
    LEFT,
    RIGHT,
    Band,
    Cell,
    Chart,
    ChartGroup,
    Compared,
    Comparison,
    Level,
    Piece,
    Series,
    Table,
)
from ringmaster.model.results import GameResult
from ringmaster.stats.elo import EloEstimate, pairs_ratio


def matchup_table(
    tally: Tally,
    game: GameName,
    *,
    name: str,
    limit: int | None = None,
    details: str = "",
    even: bool = True,
    sprt: SprtReport | None = None,
) -> Table:
    """Return a matchup's results.

    limit    games to play, None for no limit
    details  text about the settings
    even     whether the score measures strength
    sprt     state of its test
    """
    completed = tally.completed
    count = f"{completed}" if limit is None else f"{completed}/{limit}"
    title = f"{name} ({count} games{', switched off' if limit == 0 else ''})"
    first, second = ("white", "black") if game == "chess" else ("black", "white")
    played = [sum(tally.by_colour[c]) for c in (0, 1)]
    alternated = all(played)
    rows: list[tuple[Cell, ...]] = []
    for player in (0, 1):
        row: list[Cell] = [tally.players[player], *_score(tally.points(player), completed)]
        if alternated:
            # player i moved first in colouring i
            row += _score(_points(tally, player, player), played[player])
            row += _score(_points(tally, player, 1 - player), played[1 - player])
        else:
            moved_first = (player == 0) == (played[1] == 0)
            row.append(f"({first if moved_first else second})")
        timed = tally.timed[player]
        rows.append((*row, f"{tally.cpu[player] / timed:.2f}" if timed else ""))
    if alternated:
        moving_first = _points(tally, 0, 0) + _points(tally, 1, 1)
        moving_second = _points(tally, 0, 1) + _points(tally, 1, 0)
        rows.append(
            ("", "", "", *_score(moving_first, completed), *_score(moving_second, completed), "")
        )
    headers = ["", "wins" if game == "go" else "points", ""]
    headers += [first, "", second, ""] if alternated else [""]
    return Table(
        headers=(*headers, "avg cpu s"),
        rows=tuple(rows),
        title="\n".join(filter(None, (title, details, *(sprt.lines() if sprt else ())))),
        notes=tuple(_notes(tally, game, even)),
        align=(LEFT, *([RIGHT] * len(headers))),
    )


def describe_settings(settings: GameSettings) -> str:
    """Return the settings of a Go game as text, "" for other games."""
    if settings.game != "go":
        return ""
    text = f"board size: {settings.board_size}   komi: {settings.komi:g}"
    if settings.handicap:
        text += f"   handicap: {settings.handicap} ({settings.handicap_style})"
    return text


def _points(tally: Tally, player: int, colouring: int) -> float:
    counts = tally.by_colour[colouring]
    return counts[player] + counts[2] / 2


def _score(points: float, games: int) -> tuple[str, str]:
    return f"{points:g}", f"{points / games:.2%}" if games else ""


def _notes(tally: Tally, game: GameName, even: bool) -> Iterator[str]:
    first, second = tally.players
    completed, draws, unknown = tally.completed, tally.total(2), tally.total(3)
    if game != "go" and completed:
        share = f" ({draws / completed:.1%})" if draws else ""
        won, lost = counted(tally.total(0), "win"), counted(tally.total(1), "loss")
        yield f"{first}: {won}, {counted(draws, 'draw')}{share}, {lost}"
    elif draws:
        yield f"jigos: {draws}"
    if unknown:
        yield f"unknown results: {unknown} {unknown / completed:.2%}{_kinds(tally.unknown_kinds)}"
    for player in (0, 1):
        if tally.forfeits[player]:
            kinds = _kinds(tally.forfeit_kinds[player])
            yield f"{tally.players[player]} forfeited: {tally.forfeits[player]}{kinds}"
    if tally.void:
        yield void_line(tally.void_kinds, tally.void)
    if tally.repeats:
        yield repeats_line(tally.repeats, completed)
    if tally.endings:
        yield f"ended by:{_kinds(tally.endings, brackets=False)}"
    if tally.known and even:
        yield f"{first} over {second}: {tally.estimate()}"
        spread = _spread(tally)
        if spread:
            yield spread


def _spread(tally: Tally) -> str:
    """Return normalised Elo, and counts of pairs."""
    parts = []
    normalized = tally.normalized()
    if math.isfinite(normalized.error):
        parts.append(str(normalized))
    if tally.in_pairs:
        counts = tally.pairs.counts
        kinds = zip(("LL", "LD", "DD/WL", "WD", "WW"), counts, strict=True)
        text = "pairs: " + ", ".join(f"{count} {kind}" for kind, count in kinds)
        ratio = pairs_ratio(counts)
        parts.append(text if ratio is None else f"{text} (won/lost {ratio:.2f})")
    return ", ".join(parts)


def matchup_data(
    tally: Tally, *, id: str, name: str, even: bool = True, sprt: SprtReport | None = None
) -> dict[str, Any]:
    """Return a matchup for `show --json`; arguments as in `matchup_table`."""
    return {
        "id": id,
        "name": name,
        "players": list(tally.players),
        "games": tally.completed,
        "wins": [tally.total(0), tally.total(1)],
        "draws": tally.total(2),
        "unknown": tally.total(3),
        "unknown_by_kind": dict(tally.unknown_kinds),
        "forfeits": list(tally.forfeits),
        "forfeits_by_kind": [dict(kinds) for kinds in tally.forfeit_kinds],
        "void": tally.void,
        "repeats": tally.repeats,
        "void_by_kind": tally.void_kinds,
        "endings": dict(tally.endings),
        **statistics(tally, even=even),
        "sprt": None if sprt is None else sprt.summary(),
    }


def statistics(tally: Tally, *, even: bool = True) -> dict[str, Any]:
    """Return the first player's strength for `show --json`; None for infinite and unknown
    values."""
    estimate, normalized = tally.estimate(), tally.normalized()
    is_known = tally.known > 0 and even
    has_error = is_known and math.isfinite(normalized.error)
    return {
        "elo": _finite(estimate.elo) if is_known else None,
        "elo_low": _finite(estimate.low) if is_known else None,
        "elo_high": _finite(estimate.high) if is_known else None,
        "los": estimate.los if is_known else None,
        "nelo": normalized.nelo if has_error else None,
        "nelo_error": normalized.error if has_error else None,
        "draw_ratio": tally.total(2) / tally.known if tally.known else None,
        "pentanomial": list(tally.pairs.counts) if sum(tally.pairs.counts) else None,
        "pairs_ratio": pairs_ratio(tally.pairs.counts),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _kinds(kinds: Mapping[str, int], *, brackets: bool = True) -> str:
    """Return " (2 time, 1 illegal move)", the most frequent kind first."""
    order = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    # "3 50 moves" would read as one number
    words = {"50 moves": "fifty-move rule"}
    text = ", ".join(f"{count} {words.get(kind, kind)}" for kind, count in order)
    return "" if not order else f" ({text})" if brackets else f" {text}"


#: Most points of a course.
MOST_POINTS = 400
#: Most matchups with their own charts.
MOST_COURSES = 24


class MatchupCourses:
    """Elo estimates of matchups in the course of their games, for even matchups only."""

    def __init__(self, infos: Iterable[MatchupInfo]) -> None:
        self._infos = {info.id: info for info in infos if _is_even(info)}
        self._courses = {id: _Course(info.players) for id, info in self._infos.items()}

    def record_result(self, played: Played, result: GameResult) -> None:
        """Count a result; ignore void games and other matchups."""
        course = self._courses.get(played.matchup)
        if course is None or result.outcome == "void":
            return
        if played.players[0] in course.tally.players:
            course.record_result(result, played)

    def charts(self, title: str, most: int | None = None) -> list[ChartGroup]:
        """Return a chart of all matchups' Elo, and of its course in each of a few matchups.

        most  number of matchups above which there are no charts
        """
        courses = {id: course for id, course in self._courses.items() if course.tally.known}
        rows = []
        for id, course in courses.items():
            estimate = course.tally.estimate()
            if math.isfinite(estimate.low) or math.isfinite(estimate.high):
                rows.append(_compared(self._name(id), estimate))
        if most is not None and len(rows) > most:
            return []
        groups = []
        if rows:
            label = "Elo of the first player over the second"
            compared = Comparison("", tuple(rows), label, mark=0.0)
            groups.append(ChartGroup(title, (compared,), "Error bars are 95 % intervals."))
        charts = [chart for id in courses if (chart := self._chart(id)) is not None]
        if charts and len(charts) <= MOST_COURSES:
            text = "The estimate from the games so far, with its 95 % interval."
            groups.append(ChartGroup(f"{title}: in the course of the games", tuple(charts), text))
        return groups

    def _name(self, id: str) -> str:
        name = self._infos[id].name
        same = [info for info in self._infos.values() if info.name == name]
        return name if len(same) == 1 else f"{name} [{id}]"

    def _chart(self, id: str) -> Chart | None:
        course = self._courses[id]
        points = course.points()
        if len(points) < 2:
            return None
        pieces: tuple[Piece, ...] = (
            Band("95 % interval", tuple((games, e.low, e.high) for games, e in points)),
            Level("equal", 0.0),
            Series("Elo", tuple((games, e.elo) for games, e in points)),
        )
        return Chart(
            self._name(id), pieces, "games", "Elo", str(self._courses[id].tally.estimate())
        )


class _Course:
    """Estimates at equally spaced numbers of games; the spacing is a power of two."""

    def __init__(self, players: tuple[str, str]) -> None:
        self.tally = Tally(players)
        self._stride = 1
        self._points: list[tuple[int, EloEstimate]] = []

    def record_result(self, result: GameResult, played: Played) -> None:
        self.tally.record_result(result, self.tally.players.index(played.players[0]), played.pair)
        games = self.tally.completed
        if games % self._stride == 0:
            self._points.append((games, self.tally.estimate()))
        if len(self._points) > MOST_POINTS:
            self._stride *= 2
            self._points = [p for p in self._points if p[0] % self._stride == 0]

    def points(self) -> list[tuple[int, EloEstimate]]:
        """Return the points with an interval, the present one last.

        The first tenth of the games is omitted: its intervals would dwarf the rest.
        """
        games = self.tally.completed
        points = [p for p in self._points if p[0] < games]
        return [
            (number, estimate)
            for number, estimate in (*points, (games, self.tally.estimate()))
            if 10 * number >= games and math.isfinite(estimate.low) and math.isfinite(estimate.high)
        ]


def _is_even(info: MatchupInfo) -> bool:
    settings = info.settings
    return info.alternating is not False and (settings is None or settings.handicap is None)


def _compared(name: str, estimate: EloEstimate) -> Compared:
    known = math.isfinite(estimate.low) and math.isfinite(estimate.high)
    elo = estimate.interval() if known else f"{estimate.elo:+.1f}"
    text = f"{elo}, {estimate.games} games"
    return Compared(name, estimate.elo, estimate.low, estimate.high, text)
