"""gauntlet: each challenger meets each opponent, and nobody else meets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ringmaster.competitions.anchor import ANCHOR_SETTING
from ringmaster.competitions.common import COMMON_SETTINGS
from ringmaster.competitions.competitors import (
    EVEN_GAME_SETTINGS,
    ROUNDS_SETTING,
    WITHDRAWN_SETTING,
    roster,
)
from ringmaster.competitions.pairs import Pairs
from ringmaster.competitions.roster_tournament import RosterTournament
from ringmaster.competitions.sequential import SPRT_SETTING
from ringmaster.competitions.standings import Standings, letters, ranked
from ringmaster.competitions.tally import Tally
from ringmaster.model.report import LEFT, RIGHT, Cell, Report, Table
from ringmaster.model.settings import Setting

#: What the field is called where a challenger's results against it are shown.
FIELD = "the field"


def added_up(code: str, tallies: Sequence[Tally]) -> Tally:
    """Return a player's results against several others as if they were one.

    tallies  of matchups that it takes part in
    """
    whole = Tally((code, FIELD))
    for number, tally in enumerate(tallies):
        one = tally if tally.players[0] == code else tally.turned()
        whole.by_colour = [
            [have + more for have, more in zip(*rows, strict=True)]
            for rows in zip(whole.by_colour, one.by_colour, strict=True)
        ]
        half = {f"{number}:{pair}": points for pair, points in one.pairs.half.items()}
        whole.pairs = Pairs(
            [have + more for have, more in zip(whole.pairs.counts, one.pairs.counts, strict=True)],
            {**whole.pairs.half, **half},
        )
    return whole


class Gauntlet(RosterTournament):
    """A matchup for every challenger and every opponent, the challenger to move
    first in games with even numbers.  Its id has the challenger's letters and the
    opponent's number: Av1, Av2, Bv1."""

    type_name: ClassVar[str] = "gauntlet"
    rosters = ("challengers", "opponents")
    table: ClassVar[tuple[Setting, ...]] = (
        *COMMON_SETTINGS,
        *EVEN_GAME_SETTINGS,
        roster("challengers", "Codes of the players that are put to the test"),
        roster("opponents", "Codes of the players that each of them meets"),
        ROUNDS_SETTING,
        SPRT_SETTING,
        WITHDRAWN_SETTING,
        ANCHOR_SETTING,
    )

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        super().__init__(code, values)
        self._check_players(challengers=values["challengers"], opponents=values["opponents"])
        self._pair_all()

    @property
    def challengers(self) -> tuple[str, ...]:
        """All challengers that have ever taken part."""
        return self._field.entered["challengers"]

    @property
    def opponents(self) -> tuple[str, ...]:
        """All opponents that have ever taken part."""
        return self._field.entered["opponents"]

    def _pair_all(self) -> None:
        for i, challenger in enumerate(self.challengers):
            for j, opponent in enumerate(self.opponents, 1):
                id = f"{letters(i)}v{j}"
                self._add_even(id, challenger, opponent)
                if id in self.matchups and (
                    challenger not in self.values["challengers"]
                    or opponent not in self.values["opponents"]
                ):
                    self.matchups[id].closed = True

    def _standings(self) -> Standings:
        # a player may have been in both lists, in different runs
        codes = tuple(dict.fromkeys((*self.challengers, *self.opponents)))
        return Standings(codes, self.tallies.values(), self.values["anchor"])

    def _against(self, i: int, j: int) -> Tally:
        """Return the results of challenger i against opponent j, as it sees them."""
        codes = self.challengers[i], self.opponents[j]
        # those that took part in different runs have not met
        tally = self.tallies.get(f"{letters(i)}v{j + 1}", Tally(codes))
        return tally if tally.players[0] == codes[0] else tally.turned()

    def _whole(self, i: int) -> Tally:
        """Return the results of challenger i against the field."""
        tallies = [self._against(i, j) for j in range(len(self.opponents))]
        return added_up(self.challengers[i], tallies)

    def _grid(self) -> Table:
        """Return a row for each opponent, with each challenger's points against
        it, as "points-points lost", and a row of all; the best of both come first."""
        wholes = [self._whole(i) for i in range(len(self.challengers))]
        columns = [i for _, i in ranked([(whole.points(0), whole.known) for whole in wholes])]
        wide = len(str(len(self.opponents)))
        rows: list[tuple[Cell, ...]] = []
        for rank, j in self._ranked_opponents():
            cells = [_score(self._against(i, j)) for i in columns]
            rows.append((rank, f"{j + 1:<{wide}} {self.opponents[j]}", *cells))
        wholes = [wholes[i] for i in columns]
        rows.append(("", FIELD, *map(_score, wholes)))
        if any(whole.known for whole in wholes):
            shares = [f"{w.points(0) / w.known:.1%}" if w.known else "" for w in wholes]
            rows.append(("", "", *shares))
        estimates = [f"{w.players[0]} over {FIELD}: {w.estimate()}" for w in wholes if w.known]
        return Table(
            headers=("rank", "", *(f"{letters(i)} {self.challengers[i]}" for i in columns)),
            rows=tuple(rows),
            align=(RIGHT, LEFT, *[RIGHT] * len(columns)),
            notes=(*estimates, *self._notes()),
        )

    def _ranked_opponents(self) -> list[tuple[int, int]]:
        """Return each opponent's rank and number, by its score against the challengers."""
        scores = []
        for j in range(len(self.opponents)):
            tallies = [self._against(i, j) for i in range(len(self.challengers))]
            scores.append((sum(t.points(1) for t in tallies), sum(t.known for t in tallies)))
        return ranked(scores)

    def live_report(self) -> Report:
        return Report((self._grid(), *self._test_tables()))

    def report(self) -> Report:
        return Report(
            (
                self._grid(),
                *self._standings().rating_tables(),
                *self._tables(unplayed=False),
                *self._deleted_tables(),
            )
        )

    def summary(self) -> dict[str, Any]:
        challengers = []
        for i, code in enumerate(self.challengers):
            whole = self._whole(i)
            estimate = whole.estimate()
            found = {"elo": estimate.elo, "low": estimate.low, "high": estimate.high}
            challengers.append(
                {
                    "code": code,
                    "letters": letters(i),
                    "points": whole.points(0),
                    "games": whole.known,
                    **{name: x if math.isfinite(x) else None for name, x in found.items()},
                    "los": estimate.los,
                }
            )
        return {
            **super().summary(),
            **self._standings().summary(),
            "ranking": self._standings().ranking_data(),
            "challengers": challengers,
            "opponents": list(self.opponents),
        }


def _score(tally: Tally) -> str:
    return f"{tally.points(0):g}-{tally.points(1):g}"
