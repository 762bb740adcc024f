"""Standings of several players: cross table, ranking and ratings."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.result_lines import finite
from ringmaster.competitions.setting_types import optional
from ringmaster.competitions.tally import Tally, added_up
from ringmaster.model.report import (
    LEFT,
    RIGHT,
    Cell,
    ChartGroup,
    Compared,
    Comparison,
    HeatMap,
    Table,
)
from ringmaster.model.settings import Call, CallOf, Context, Float, Identifier, Setting, SettingPath
from ringmaster.stats.elo import EloEstimate, short_probability
from ringmaster.stats.ratings import Rating, Ratings, bradley_terry

#: Most players in a table of each against each: nobody reads a wider one.
MOST_CROSSED = 100


class Anchor(msgspec.Struct, frozen=True):
    """A player with a fixed Elo, which sets the scale of all ratings."""

    code: str
    elo: float


class _AnchorType(CallOf):
    """Anchor(code, elo), or a tuple of both."""

    def describe(self) -> str:
        return 'a player and its Elo: ("code", 2800)'

    def interpret(self, value: Any, path: SettingPath, context: Context) -> Any:
        if isinstance(value, tuple | list) and len(value) == 2:
            value = Call(self.kind, tuple(value), {})
        return super().interpret(value, path, context)


ANCHOR_SETTING = optional(
    "anchor",
    _AnchorType(
        "Anchor",
        (
            Setting("code", Identifier(), "Code of the player."),
            Setting("elo", Float(minimum=-10_000, maximum=10_000), "Its Elo.", 0.0),
        ),
        lambda values, context: Anchor(**values),
        positional=("code", "elo"),
    ),
    "Player with a known Elo, and this Elo; without it, ratings are relative to the average.",
    change="report",
)


def letters(index: int) -> str:
    """Return the letters of a competitor, numbered from 0: A … Z, AA, AB, …"""
    text = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        text = chr(ord("A") + digit) + text
    return text


class Standings:
    """Results of every player against every other, without unknown results.

    codes    the players, in the order of the grid
    tallies  results of pairs of them; several tallies of one pair are added
    anchor   a player with known Elo; ignored when it is not one of them
    challengers  of a gauntlet, whose opponents do not meet each other
    """

    def __init__(
        self,
        codes: Sequence[str],
        tallies: Iterable[Tally],
        anchor: Anchor | None = None,
        challengers: Sequence[str] = (),
    ) -> None:
        self.codes = tuple(codes)
        self.challengers = frozenset(challengers)
        self.anchor = None if anchor is None or anchor.code not in self.codes else anchor
        self._place = place = {code: i for i, code in enumerate(self.codes)}
        series: dict[tuple[int, int], list[Tally]] = {}
        for tally in tallies:
            i, j = (place[code] for code in tally.players)
            series.setdefault((min(i, j), max(i, j)), []).append(tally)
        #: Results by the numbers of both players, the lower one first.
        self._tallies = {
            (i, j): added_up((self.codes[i], self.codes[j]), each)
            for (i, j), each in series.items()
        }
        #: Points of the first of two players against the second, in both orders.
        self._points: dict[tuple[int, int], float] = {}
        #: Points and games of each player.
        self._totals = [(0.0, 0)] * len(self.codes)
        for (i, j), tally in self._tallies.items():
            for one, other, player in ((i, j, 0), (j, i, 1)):
                won = self._points[one, other] = tally.points(player)
                points, games = self._totals[one]
                self._totals[one] = points + won, games + tally.known

    def against(self, i: int, j: int) -> tuple[float, float]:
        return self._points.get((i, j), 0.0), self._points.get((j, i), 0.0)

    def total(self, i: int) -> tuple[float, int]:
        return self._totals[i]

    def ranking(self) -> list[tuple[int, int]]:
        """Return rank and number of each player, the best first: see `ranked`."""
        return ranked(self._totals)

    def grid(self, notes: Sequence[str] = ()) -> Table:
        """Return a cross table, the best player first, with points as "won-lost".

        Of many players it has the totals only.
        """
        count = len(self.codes)
        wide = len(letters(count - 1))
        rows: list[tuple[Cell, ...]] = []
        order = [i for _, i in self.ranking()]
        columns = order if count <= MOST_CROSSED else []
        for rank, i in self.ranking():
            points, games = self.total(i)
            cells = ["" if i == j else "{:g}-{:g}".format(*self.against(i, j)) for j in columns]
            score = f"{points / games:.1%}" if games else ""
            name = f"{letters(i):{wide}} {self.codes[i]}"
            rows.append((rank, name, f"{points:g}", games, score, *cells))
        return Table(
            headers=("rank", "", "points", "games", "score", *map(letters, columns)),
            rows=tuple(rows),
            align=(RIGHT, LEFT, *[RIGHT] * (len(columns) + 3)),
            notes=tuple(notes),
        )

    def rating_tables(self) -> list[Table]:
        return [t for t in (self.rating_table(), self.los_table()) if t is not None]

    @functools.cached_property
    def _rated(self) -> list[int]:
        """Numbers of the players with a result, in the order of `_ratings`."""
        return [i for i in range(len(self.codes)) if self.total(i)[1]]

    @functools.cached_property
    def _ratings(self) -> Ratings | None:
        place = {i: rating for rating, i in enumerate(self._rated)}
        known = {(place[i], place[j]): t for (i, j), t in self._tallies.items() if t.known}
        results = {both: (t.total(0), t.total(2), t.total(1)) for both, t in known.items()}
        pairs = {both: t.pairs.counts for both, t in known.items() if t.in_pairs}
        anchor = None
        if self.origin is not None:
            anchor = place[self._place[self.origin.code]], self.origin.elo
        return bradley_terry(len(self._rated), results, pairs, anchor=anchor)

    @property
    def origin(self) -> Anchor | None:
        """The anchor if it has a result."""
        anchor = self.anchor
        has_result = anchor is not None and self.total(self._place[anchor.code])[1]
        return anchor if has_result else None

    def lead(self, one: str, other: str) -> EloEstimate | None:
        """Return the rating of one player over another, None where one has no result."""
        i, j = self._place[one], self._place[other]
        if self._ratings is None or not {i, j} <= set(self._rated):
            return None
        games = self.total(i)[1] + self.total(j)[1]
        i, j = self._rated.index(i), self._rated.index(j)
        rating, los = self._ratings.difference(i, j), self._ratings.los(i, j)
        ends = rating.elo - rating.error, rating.elo + rating.error
        return EloEstimate(rating.elo, *ends, los, games)

    @property
    def has_prior(self) -> bool:
        return self._ratings is not None and self._ratings.prior > 0

    def ratings(self) -> dict[str, Rating]:
        """Return the ratings of players with a result by code, the highest first."""
        if self._ratings is None:
            return {}
        ratings = {self.codes[i]: r for i, r in zip(self._rated, self._ratings, strict=True)}
        return dict(sorted(ratings.items(), key=lambda item: -item[1].elo))

    def prior_note(self) -> str:
        """Return the reason for a prior of the ratings, "" without one."""
        if not self.has_prior:
            return ""
        totals = {self.codes[i]: self.total(i) for i in self._rated}
        extreme = [code for code, (points, games) in totals.items() if points in (0, games)]
        reason = (
            f"{', '.join(extreme)} won or lost all points"
            if extreme
            else "the results do not connect all players in both directions"
        )
        return (
            "with a weak prior, one drawn game of each player against an average one: "
            f"{reason}, and no finite rating fits that"
        )

    def los_table(self) -> Table | None:
        """Return the likelihood of superiority of each player over each other.

        None for two players and for many, and without errors of the ratings.
        """
        ratings = self._ratings
        if ratings is None or ratings.covariance is None or not 3 <= len(ratings) <= MOST_CROSSED:
            return None
        order = sorted(range(len(ratings)), key=lambda i: -ratings[i].elo)
        names = [letters(i) for i in self._rated]
        wide = max(map(len, names))
        rows: list[tuple[Cell, ...]] = [
            (
                f"{names[i]:{wide}} {self.codes[self._rated[i]]}",
                *("" if i == j else short_probability(ratings.los(i, j)) for j in order),
            )
            for i in order
        ]
        return Table(
            headers=("LOS", *(names[i] for i in order)),
            rows=tuple(rows),
            align=(LEFT, *[RIGHT] * len(order)),
        )

    def rating_table(self) -> Table | None:
        """Return the ratings; None without a result."""
        ratings = self.ratings()
        if not ratings:
            return None
        anchor = self.origin
        elo = "{:+z.1f}" if anchor is None else "{:z.1f}"
        above = "above the average of all" if anchor is None else f"where {anchor.code} has"
        above += "" if anchor is None else f" {anchor.elo:g}"
        rows: list[tuple[Cell, ...]] = [
            (
                code,
                elo.format(rating.elo),
                f"{rating.error:.1f}" if math.isfinite(rating.error) else "",
                "{:g}/{}".format(*self.total(self._place[code])),
            )
            for code, rating in ratings.items()
        ]
        notes = [f"Elo {above}, by maximum likelihood (Bradley-Terry)"]
        if self.anchor is not None and anchor is None:
            notes.append(f"{self.anchor.code}, the anchor, has no result")
        return Table(
            headers=("player", "Elo", "± (95 %)", "points"),
            rows=tuple(rows),
            align=(LEFT, RIGHT, RIGHT, RIGHT),
            notes=(*notes, *filter(None, [self.prior_note()])),
        )

    def ranking_data(self) -> list[dict[str, Any]]:
        """Return the rows of the grid for `show --json`, the best first."""
        rows = []
        for rank, i in self.ranking():
            points, games = self.total(i)
            score = points / games if games else None
            rows.append(
                {"rank": rank, "code": self.codes[i], "points": points, "games": games}
                | {"score": score}
            )
        return rows

    def summary(self) -> dict[str, Any]:
        """Return the keys of `show --json`.

        grid           points[i][j] of player i against player j, None on the diagonal
        ratings        may be None; None for players without a result
        ratings_prior  None where the results alone have a best fit
        covariance     of ratings above the average (Elo²), may be None
        los            likelihood that player i is stronger than player j, may be None
        """
        count = range(len(self.codes))
        ratings, rated = self._ratings, self.ratings()
        covariance = None if ratings is None else ratings.covariance
        place = {i: rating for rating, i in enumerate(self._rated)}
        places = [place.get(i) for i in count]

        def matrix(value: Callable[[int, int], float | None]) -> Any:
            if covariance is None:
                return None
            return [
                [None if i is None or j is None else value(i, j) for j in places] for i in places
            ]

        return {
            "grid": {
                "competitors": list(self.codes),
                "letters": [letters(i) for i in count],
                "points": [
                    [None if i == j else self.against(i, j)[0] for j in count] for i in count
                ],
            },
            "ratings": [_rating_data(c, rated.get(c)) for c in self.codes] if rated else None,
            "ratings_prior": {"drawn_games": ratings.prior, "note": self.prior_note()}
            if ratings is not None and ratings.prior
            else None,
            "covariance": matrix(lambda i, j: covariance[i][j] if covariance else None),
            "los": matrix(lambda i, j: None if ratings is None or i == j else ratings.los(i, j)),
            "anchor": None if self.anchor is None else msgspec.structs.asdict(self.anchor),
            "ranking": self.ranking_data(),
        }


def ranked(scores: Sequence[tuple[float, int]]) -> list[tuple[int, int]]:
    """Return (rank, number) of each player by its share of points, the best first.

    Equal shares have one rank; players without a game come last.
    """
    shares = [points / games if games else -1.0 for points, games in scores]
    order = sorted(range(len(scores)), key=lambda i: -shares[i])
    first: dict[float, int] = {}
    return [(first.setdefault(shares[i], place), i) for place, i in enumerate(order, 1)]


def _rating_data(code: str, rating: Rating | None) -> dict[str, Any]:
    elo, error = (None, None) if rating is None else (rating.elo, finite(rating.error))
    return {"code": code, "elo": elo, "error": error}


def standing_charts(standings: Standings | None) -> list[ChartGroup]:
    """Return a chart of the ratings, the highest first, and a cross table; [] without results."""
    if standings is None:
        return []
    return [*_rating_chart(standings), *_crosstable(standings)]


def _rating_chart(standings: Standings) -> Iterator[ChartGroup]:
    if not standings.ratings():
        return
    rows = []
    for code, rating in standings.ratings().items():
        elo, error = rating.elo, rating.error
        sign = "+" if standings.origin is None else ""
        known = f" ± {error:.1f} (95 %)" if math.isfinite(error) else ""
        text = f"{elo:{sign}z.1f}{known}"
        rows.append(Compared(code, elo, elo - error, elo + error, text))
    anchor = standings.origin
    mark = 0.0 if anchor is None else anchor.elo
    above = "above the average" if anchor is None else f"where {anchor.code} has {anchor.elo:g}"
    compared = Comparison("", tuple(rows), f"Elo {above}", mark=mark)
    prior = standings.prior_note()
    text = "Error bars are 95 % intervals." + (f"  Elo {prior}." if prior else "")
    yield ChartGroup("Ratings", (compared,), text, "ratings")


def _crosstable(standings: Standings) -> Iterator[ChartGroup]:
    order = [i for _, i in standings.ranking() if standings.total(i)[1]]
    if not 3 <= len(order) <= MOST_CROSSED:
        return
    codes = standings.codes
    text = "Points of each player (row) against each other (column), the best on top."
    # the first row is the lowest one
    rows, columns = order[::-1], order
    y_names, x_names = [f"{letters(i)} {codes[i]}" for i in rows], list(map(letters, columns))
    if standings.challengers:
        text = "Points of each challenger (column) against each opponent (row)."
        columns = [i for i in order if codes[i] in standings.challengers]
        rows = [i for i in order if codes[i] not in standings.challengers]
        y_names, x_names = [codes[i] for i in rows], [codes[i] for i in columns]

    cells = [[standings.against(i, j) for j in columns] for i in rows]
    if standings.challengers:
        cells = [[scores[::-1] for scores in row] for row in cells]
    heat = HeatMap(
        "",
        tuple(x_names),
        tuple(y_names),
        tuple(
            tuple(100 * won / (won + lost) if won + lost else None for won, lost in row)
            for row in cells
        ),
        "score, %",
        texts=tuple(
            tuple(f"{won:g}-{lost:g}" if won + lost else "" for won, lost in row) for row in cells
        ),
    )
    yield ChartGroup("Cross table", (heat,), text, "crosstable")
