"""How several players stand against each other: the grid of an all-play-all
tournament, and ratings."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.anchor import Anchor
from ringmaster.competitions.tally import Tally
from ringmaster.model.report import LEFT, RIGHT, Cell, Table
from ringmaster.stats.ratings import Rating, Ratings, bradley_terry


def letters(index: int) -> str:
    """Return the letters of a competitor, numbered from 0: A … Z, AA, AB, …"""
    text = ""
    index += 1
    while index:
        index, digit = divmod(index - 1, 26)
        text = chr(ord("A") + digit) + text
    return text


class Standings:
    """Results of every player against every other; games without a result are
    left out.

    codes    the players, in the order of the grid
    tallies  results of any pairs among them, several of one pair are added up
    anchor   a player of known Elo; it may be none of them
    """

    def __init__(
        self, codes: Sequence[str], tallies: Iterable[Tally], anchor: Anchor | None = None
    ) -> None:
        self.codes = tuple(codes)
        self.anchor = None if anchor is None or anchor.code not in self.codes else anchor
        place = {code: i for i, code in enumerate(self.codes)}
        #: Wins, draws and losses of the player with the lower number.
        self._scores: dict[tuple[int, int], tuple[int, int, int]] = {}
        #: Its results by pairs of games, where all games were played in pairs.
        self._pairs: dict[tuple[int, int], list[int]] = {}
        singles: set[tuple[int, int]] = set()
        for tally in tallies:
            i, j = (place[code] for code in tally.players)
            wins, losses, draws = (tally.total(column) for column in range(3))
            pairs = tally.pairs.counts
            if i > j:
                i, j, wins, losses, pairs = j, i, losses, wins, pairs[::-1]
            if tally.in_pairs:
                earlier = self._pairs.get((i, j), [0] * 5)
                self._pairs[i, j] = [a + b for a, b in zip(earlier, pairs, strict=True)]
            elif tally.known:
                singles.add((i, j))
            before = self._scores.get((i, j), (0, 0, 0))
            self._scores[i, j] = (before[0] + wins, before[1] + draws, before[2] + losses)
        for both in singles:
            self._pairs.pop(both, None)

    def against(self, i: int, j: int) -> tuple[float, float]:
        """Return the points of player i and of player j in their games."""
        wins, draws, losses = self._scores.get((min(i, j), max(i, j)), (0, 0, 0))
        if i > j:
            wins, losses = losses, wins
        return wins + draws / 2, losses + draws / 2

    def total(self, i: int) -> tuple[float, int]:
        """Return the points of a player in all games, and how many they are."""
        pairs = [self.against(i, j) for j in range(len(self.codes)) if j != i]
        return sum(won for won, _ in pairs), round(sum(won + lost for won, lost in pairs))

    def ranking(self) -> list[tuple[int, int]]:
        """Return each player with its rank, the best first: see `ranked`."""
        return ranked([self.total(i) for i in range(len(self.codes))])

    def grid(self, notes: Sequence[str] = ()) -> Table:
        """Return a row for each player, the best first: points against each of the
        others, as "wins-losses", a draw being half of each."""
        count = len(self.codes)
        wide = len(letters(count - 1))
        rows: list[tuple[Cell, ...]] = []
        order = [i for _, i in self.ranking()]
        for rank, i in self.ranking():
            points, games = self.total(i)
            cells = ["" if i == j else "{:g}-{:g}".format(*self.against(i, j)) for j in order]
            score = f"{points / games:.1%}" if games else ""
            name = f"{letters(i):{wide}} {self.codes[i]}"
            rows.append((rank, name, f"{points:g}", games, score, *cells))
        return Table(
            headers=("rank", "", "points", "games", "score", *map(letters, order)),
            rows=tuple(rows),
            align=(RIGHT, LEFT, *[RIGHT] * (count + 3)),
            notes=tuple(notes),
        )

    def tables(self, notes: Sequence[str] = ()) -> list[Table]:
        """Return the grid, with notes on it, and what there is of ratings."""
        return [self.grid(notes), *self.rating_tables()]

    def rating_tables(self) -> list[Table]:
        """Return what there is of ratings."""
        return [t for t in (self.rating_table(), self.los_table()) if t is not None]

    @functools.cached_property
    def _rated(self) -> list[int]:
        """The players with a result, in the order of `ratings`."""
        return [i for i in range(len(self.codes)) if self.total(i)[1]]

    @functools.cached_property
    def _ratings(self) -> Ratings | None:
        place = {i: rating for rating, i in enumerate(self._rated)}
        results = {(place[i], place[j]): s for (i, j), s in self._scores.items() if any(s)}
        pairs = {(place[i], place[j]): p for (i, j), p in self._pairs.items() if any(p)}
        anchor = None
        if self.anchor is not None:
            anchored = self.codes.index(self.anchor.code)
            if anchored not in place:
                return None
            anchor = place[anchored], self.anchor.elo
        return bradley_terry(len(self._rated), results, pairs, anchor=anchor)

    def ratings(self) -> dict[str, Rating]:
        """Return the ratings by player code, the highest first; {} when there are none.
        Players without a result have none."""
        if self._ratings is None:
            return {}
        found = {self.codes[i]: r for i, r in zip(self._rated, self._ratings, strict=True)}
        return dict(sorted(found.items(), key=lambda item: -item[1].elo))

    def prior_note(self) -> str:
        """Return why the ratings have a prior, and which; "" without one."""
        if self._ratings is None or not self._ratings.prior:
            return ""
        totals = {self.codes[i]: self.total(i) for i in self._rated}
        extreme = [code for code, (points, games) in totals.items() if points in (0, games)]
        who = ", ".join(extreme) or "some players"
        return (
            f"with a weak prior, one drawn game of each player against an average one: {who} won "
            "or lost all points, which no finite rating fits"
        )

    def los_table(self) -> Table | None:
        """Return how likely each player is stronger than each other, from the
        highest rating down; None for two players, and while errors are unknown."""
        ratings = self._ratings
        if ratings is None or ratings.covariance is None or len(ratings) < 3:
            return None
        order = sorted(range(len(ratings)), key=lambda i: -ratings[i].elo)
        names = [letters(i) for i in self._rated]
        wide = max(map(len, names))
        rows: list[tuple[Cell, ...]] = [
            (
                f"{names[i]:{wide}} {self.codes[self._rated[i]]}",
                *("" if i == j else f"{ratings.los(i, j):.0%}" for j in order),
            )
            for i in order
        ]
        return Table(
            headers=("LOS", *(names[i] for i in order)),
            rows=tuple(rows),
            align=(LEFT, *[RIGHT] * len(order)),
        )

    def rating_table(self) -> Table | None:
        """Return the ratings from the highest down; a table of notes alone while
        there are none; None before the first result."""
        if not self._rated:
            return None
        ratings = self.ratings()
        anchor = self.anchor
        if not ratings:
            why = "some have not met the others, even through third players"
            if anchor is not None and not self.total(self.codes.index(anchor.code))[1]:
                why = f"{anchor.code}, the anchor, has no result"
            return Table((), (), notes=(f"no ratings yet: {why}",))
        elo = "{:+.1f}" if anchor is None else "{:.1f}"
        above = "above the average of all" if anchor is None else f"where {anchor.code} has"
        above += "" if anchor is None else f" {anchor.elo:g}"
        rows: list[tuple[Cell, ...]] = [
            (
                code,
                elo.format(rating.elo),
                f"{rating.error:.1f}" if math.isfinite(rating.error) else "",
                "{:g}/{}".format(*self.total(self.codes.index(code))),
            )
            for code, rating in ratings.items()
        ]
        prior = self.prior_note()
        return Table(
            headers=("player", "Elo", "± 95%", "points"),
            rows=tuple(rows),
            align=(LEFT, RIGHT, RIGHT, RIGHT),
            notes=(
                f"Elo {above}, by maximum likelihood (Bradley-Terry)",
                *([prior] if prior else []),
            ),
        )

    def ranking_data(self) -> list[dict[str, Any]]:
        """Return the rows of the grid as `show --json` has them, the best first."""
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
        """Return the keys of `show --json`: "grid" has points[i][j], what player i
        took from player j (None on the diagonal); "ratings" may be None, "covariance"
        (of ratings above the average, Elo²) and "los" (that i is stronger than j) too.
        Players without a result have null there.  "ratings_prior" is None where the
        results alone have a best fit."""
        count = range(len(self.codes))
        found = self._ratings
        place = {i: rating for rating, i in enumerate(self._rated)}

        def spread(value: Callable[[Ratings, int, int], float | None]) -> Any:
            if found is None or found.covariance is None:
                return None
            return [
                [
                    value(found, place[i], place[j]) if {i, j} <= place.keys() else None
                    for j in count
                ]
                for i in count
            ]

        rated = self.ratings()
        return {
            "grid": {
                "competitors": list(self.codes),
                "letters": [letters(i) for i in count],
                "points": [
                    [None if i == j else self.against(i, j)[0] for j in count] for i in count
                ],
            },
            "ratings": [_rating_data(code, rated.get(code)) for code in self.codes]
            if rated
            else None,
            "ratings_prior": {"drawn_games": found.prior, "note": self.prior_note()}
            if found is not None and found.prior
            else None,
            "covariance": spread(lambda r, i, j: r.covariance[i][j] if r.covariance else None),
            "los": spread(lambda r, i, j: None if i == j else r.los(i, j)),
            "anchor": None if self.anchor is None else msgspec.structs.asdict(self.anchor),
        }


def ranked(scores: Sequence[tuple[float, int]]) -> list[tuple[int, int]]:
    """Return (rank, number) of each player, the best first: by the share of the points
    that it took, players without a game last.  Equal shares have one rank.

    scores  points and games of each player
    """
    shares = [points / games if games else -1.0 for points, games in scores]
    order = sorted(range(len(scores)), key=lambda i: -shares[i])
    return [(1 + sum(share > shares[i] for share in shares), i) for i in order]


def _rating_data(code: str, rating: Rating | None) -> dict[str, Any]:
    known = rating is not None and math.isfinite(rating.error)
    return {
        "code": code,
        "elo": None if rating is None else rating.elo,
        "error": rating.error if rating is not None and known else None,
    }
