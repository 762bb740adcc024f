"""How several players stand against each other: the grid of an all-play-all
tournament, and ratings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from ringmaster.competitions.tally import Tally
from ringmaster.model.report import LEFT, RIGHT, Cell, Table
from ringmaster.stats.ratings import Rating, bradley_terry


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
    """

    def __init__(self, codes: Sequence[str], tallies: Iterable[Tally]) -> None:
        self.codes = tuple(codes)
        place = {code: i for i, code in enumerate(self.codes)}
        #: Wins, draws and losses of the player with the lower number.
        self._scores: dict[tuple[int, int], tuple[int, int, int]] = {}
        for tally in tallies:
            i, j = (place[code] for code in tally.players)
            wins, losses, draws = (tally.total(column) for column in range(3))
            if i > j:
                i, j, wins, losses = j, i, losses, wins
            before = self._scores.get((i, j), (0, 0, 0))
            self._scores[i, j] = (before[0] + wins, before[1] + draws, before[2] + losses)

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

    def ratings(self) -> list[Rating] | None:
        """Return the players' ratings, None when there are no finite ones."""
        return bradley_terry(len(self.codes), self._scores)

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
        rows: list[tuple[Cell, ...]] = [
            (
                self.codes[i],
                f"{ratings[i].elo:+.1f}",
                f"{ratings[i].error:.1f}" if math.isfinite(ratings[i].error) else "",
                "{:g}/{}".format(*self.total(i)),
            )
            for i in order
        ]
        return Table(
            headers=("player", "Elo", "± 95%", "points"),
            rows=tuple(rows),
            align=(LEFT, RIGHT, RIGHT, RIGHT),
            notes=("Elo above the average of all, by maximum likelihood (Bradley-Terry)",),
        )

    def summary(self) -> dict[str, Any]:
        """Return the keys of `show --json`: "grid" has points[i][j], what player i
        took from player j (None on the diagonal); "ratings" may be None."""
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
        }
