"""The order of a Swiss tournament: points, then the tie-breaks.

Buchholz cut 1 is the sum of the opponents' points but for the least of them;
Sonneborn-Berger is the sum over the opponents of the points taken from one times
its points (FIDE Handbook C.07, "Tie-Break Regulations").  A bye counts as an
opponent with as many points as one has oneself, a round that a competitor was
not in as an opponent with none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec


class Outcome(msgspec.Struct, frozen=True):
    """What a round gave to one competitor.

    opponent  None for a bye
    points    taken, those of games that its opponent did not turn up for included
    lost      points that the opponent took
    """

    opponent: str | None
    points: float
    lost: float = 0.0


class Score(msgspec.Struct, frozen=True):
    """A competitor in the table.

    place   from 1; those that no tie-break tells apart have the same
    direct  points taken from those that are level in everything before it; None
            unless there are such, and all of them have met each other
    """

    code: str
    place: int
    points: float
    buchholz: float
    sonneborn_berger: float
    direct: float | None = None


#: By competitor, for those that a round was played with.
Outcomes = Mapping[str, Outcome]


def ranking(codes: Sequence[str], rounds: Sequence[Outcomes]) -> list[Score]:
    """Return the table from the top down.

    codes   all competitors, in the order of their seeds, which those of the same
            place keep
    rounds  all rounds, in any order
    """
    points = {code: sum((r[code].points for r in rounds if code in r), 0.0) for code in codes}
    keys = {code: _tie_breaks(code, points, rounds) for code in codes}
    level: dict[tuple[float, float, float], list[str]] = {}
    for code in codes:
        level.setdefault(keys[code], []).append(code)
    table: list[Score] = []
    for key in sorted(level, reverse=True):
        direct = _direct_encounter(level[key], rounds)
        first, before = len(table), None
        for place, code in enumerate(sorted(level[key], key=lambda c: -direct.get(c, 0.0))):
            if place and direct.get(code) != before:
                first = len(table)
            before = direct.get(code)
            table.append(Score(code, first + 1, *key, before))
    return table


def _tie_breaks(
    code: str, points: Mapping[str, float], rounds: Sequence[Outcomes]
) -> tuple[float, float, float]:
    met, sonneborn_berger = [], 0.0
    for outcomes in rounds:
        outcome = outcomes.get(code)
        if outcome is None:
            met.append(0.0)
            continue
        of_opponent = points[code if outcome.opponent is None else outcome.opponent]
        met.append(of_opponent)
        sonneborn_berger += outcome.points * of_opponent
    return points[code], sum(sorted(met)[1:], 0.0), sonneborn_berger


def _direct_encounter(codes: Sequence[str], rounds: Sequence[Outcomes]) -> dict[str, float]:
    """Return the points that each took from the others, {} when some have not met."""
    taken = dict.fromkeys(codes, 0.0)
    met: set[tuple[str, str]] = set()
    for outcomes in rounds:
        for code in codes:
            outcome = outcomes.get(code)
            if outcome is not None and outcome.opponent in taken:
                taken[code] += outcome.points
                met.add((code, outcome.opponent))
    alone = len(codes) == 1
    return {} if alone or len(met) < len(codes) * (len(codes) - 1) else taken
