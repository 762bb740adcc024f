"""How several players stand against each other: the grid of an all-play-all
tournament, and ratings."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ringmaster.competitions.anchor import Anchor
from ringmaster.competitions.tally import Tally
from ringmaster.model.report import LEFT, RIGHT, Cell, Table
from ringmaster.stats.ratings import Ratings, bradley_terry


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

    def grid(self) -> Table:
        """Return a row for each player: points against each of the others, as
        "wins-losses", a draw being half of each."""
        count = len(self.codes)
        wide = len(letters(count - 1))
        rows: list[tuple[Cell, ...]] = []
        for i, code in enumerate(self.codes):
            points, games = self.total(i)
            cells = [
                "" if i == j else "{:g}-{:g}".format(*self.against(i, j)) for j in range(count)
            ]
            rows.append((f"{letters(i):{wide}} {code}", f"{points:g}", games, *cells))
        return Table(
            headers=("", "points", "games", *map(letters, range(count))),
            rows=tuple(rows),
            align=(LEFT, *[RIGHT] * (count + 2)),
        )

    def tables(self) -> list[Table]:
        """Return the grid, and what there is of ratings."""
        return [t for t in (self.grid(), self.rating_table(), self.los_table()) if t is not None]

    @functools.cached_property
    def _ratings(self) -> Ratings | None:
        anchor = self.anchor
        return bradley_terry(
            len(self.codes),
            self._scores,
            self._pairs,
            anchor=None if anchor is None else (self.codes.index(anchor.code), anchor.elo),
        )

    def ratings(self) -> Ratings | None:
        """Return the players' ratings, None when there are no finite ones."""
        return self._ratings

    def los_table(self) -> Table | None:
        """Return how likely each player is stronger than each other, from the
        highest rating down; None for two players, and while errors are unknown."""
        ratings = self.ratings()
        if ratings is None or ratings.covariance is None or len(self.codes) < 3:
            return None
        order = sorted(range(len(ratings)), key=lambda i: -ratings[i].elo)
        wide = len(letters(len(order) - 1))
        rows: list[tuple[Cell, ...]] = [
            (
                f"{letters(i):{wide}} {self.codes[i]}",
                *("" if i == j else f"{ratings.los(i, j):.0%}" for j in order),
            )
            for i in order
        ]
        return Table(
            headers=("LOS", *map(letters, order)),
            rows=tuple(rows),
            align=(LEFT, *[RIGHT] * len(order)),
        )

    def rating_table(self) -> Table | None:
        """Return the ratings from the highest down; a table of notes alone while
        there are none; None before the first result."""
        if not any(map(sum, self._scores.values())):
            return None
        ratings = self.ratings()
        if ratings is None:
            return Table(
                (),
                (),
                notes=(
                    "no ratings yet: some have not met the others, even through third "
                    "players, or have won or lost all points against them",
                ),
            )
        order = sorted(range(len(ratings)), key=lambda i: -ratings[i].elo)
        anchor = self.anchor
        elo = "{:+.1f}" if anchor is None else "{:.1f}"
        above = "above the average of all" if anchor is None else f"where {anchor.code} has"
        above += "" if anchor is None else f" {anchor.elo:g}"
        rows: list[tuple[Cell, ...]] = [
            (
                self.codes[i],
                elo.format(ratings[i].elo),
                f"{ratings[i].error:.1f}" if math.isfinite(ratings[i].error) else "",
                "{:g}/{}".format(*self.total(i)),
            )
            for i in order
        ]
        return Table(
            headers=("player", "Elo", "± 95%", "points"),
            rows=tuple(rows),
            align=(LEFT, RIGHT, RIGHT, RIGHT),
            notes=(f"Elo {above}, by maximum likelihood (Bradley-Terry)",),
        )

    def summary(self) -> dict[str, Any]:
        """Return the keys of `show --json`: "grid" has points[i][j], what player i
        took from player j (None on the diagonal); "ratings" may be None, "covariance"
        (of ratings above the average, Elo²) and "los" (that i is stronger than j) too."""
        count = range(len(self.codes))
        ratings = self.ratings()
        return {
            "grid": {
                "competitors": list(self.codes),
                "letters": [letters(i) for i in count],
                "points": [
                    [None if i == j else self.against(i, j)[0] for j in count] for i in count
                ],
            },
            "ratings": None
            if ratings is None
            else [
                {
                    "code": code,
                    "elo": rating.elo,
                    "error": rating.error if math.isfinite(rating.error) else None,
                }
                for code, rating in zip(self.codes, ratings, strict=True)
            ],
            "covariance": None
            if ratings is None or ratings.covariance is None
            else [list(row) for row in ratings.covariance],
            "los": None
            if ratings is None or ratings.covariance is None
            else [[None if i == j else ratings.los(i, j) for j in count] for i in count],
            "anchor": None if self.anchor is None else msgspec.structs.asdict(self.anchor),
        }
