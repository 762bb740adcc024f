"""Pair a round of a Swiss tournament, and rank its competitors.

A pairing is the best one by these rules, in this order:

1.  No competitor has a second bye while another has none.
2.  Rematches are as few as possible: the least sum of squared numbers of meetings.
3.  Opponents have equal points: the least sum of squared differences.  A bye counts as an
    opponent with the points of the last group.
4.  Where one side of a pair moves first once more: first moves are balanced, by the least
    sum of squared balances after the round.
5.  In a group of equal points, the upper half meets the lower half in order, as in the
    Dutch system (FIDE Handbook C.04.3).  A competitor that floats is the last of its group
    and meets the first of the next group.  The last competitor has the bye.
6.  Several competitors that float meet their opponents in order.

Each rule is a sum over pairs.  The best pairing is thus a matching of least cost in a
complete graph, where no sum of a later rule outweighs a unit of an earlier one.

Ties in the table are broken by Buchholz cut 1 (the sum of the opponents' points without
the least), Sonneborn-Berger (the sum over opponents of the points won from each times its
total) and the direct encounter (FIDE Handbook C.07, "Tie-Break Regulations").  A bye counts
as an opponent with the competitor's own points, a missed round as one without points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec


class Entrant(msgspec.Struct, frozen=True):
    """A competitor before a round is paired.

    points   in half points
    met      number of rounds against each other competitor
    byes     number of byes
    balance  rounds with one more first move than the opponent, less rounds with one fewer
    """

    code: str
    points: int = 0
    met: Mapping[str, int] = msgspec.field(default_factory=dict)
    byes: int = 0
    balance: int = 0


class Pairing(msgspec.Struct, frozen=True):
    """The pairs of a round, from the top board down.

    pairs  codes; the first of a pair moves first in its first game
    bye    None for an even number of entrants
    """

    pairs: tuple[tuple[str, str], ...]
    bye: str | None = None


class _Place(msgspec.Struct, frozen=True):
    """An entrant's place, from 0, in its group of equal points."""

    group: int
    place: int
    size: int


#: Costs by the six rules, of a pair of places in the ranking.
_Costs = dict[tuple[int, int], tuple[int, ...]]


def pair_round(entrants: Sequence[Entrant], *, one_more_first: bool) -> Pairing:
    """Return the best pairing.

    entrants        at least two, in the order of their seeds
    one_more_first  whether a pair has an odd number of games
    """
    ranked = sorted(entrants, key=lambda entrant: -entrant.points)
    count = len(ranked)
    pairs: list[tuple[str, str]] = []
    bye = None
    for i, j in _cheapest_pairs(_costs(ranked, one_more_first)):
        if j == count:
            bye = ranked[i].code
            continue
        upper, lower, level = ranked[i], ranked[j], ranked[i].balance == ranked[j].balance
        # the one with fewer first moves; ties alternate by board
        is_swapped = len(pairs) % 2 == 1 if level else lower.balance < upper.balance
        both = (upper.code, lower.code)
        pairs.append(both[::-1] if one_more_first and is_swapped else both)
    return Pairing(tuple(pairs), bye)


def _cheapest_pairs(costs: _Costs) -> list[tuple[int, int]]:
    """Return pairs of all places, sorted, with the least sum of costs."""
    import networkx  # 0.1 s, for swiss alone

    # a unit of each rule exceeds the next rule's largest sum over all pairs
    pairs = (max(j for _, j in costs) + 1) // 2
    units = [1]
    for rule in range(5, 0, -1):
        most = max(cost[rule] for cost in costs.values())
        units.insert(0, units[0] * (pairs * most + 1))
    graph = networkx.Graph()
    for (i, j), cost in costs.items():
        # integers of any size: networkx calculates exactly with them
        graph.add_edge(i, j, weight=-sum(u * c for u, c in zip(units, cost, strict=True)))
    matching = networkx.max_weight_matching(graph, maxcardinality=True)
    return sorted((min(pair), max(pair)) for pair in matching)


def _costs(ranked: Sequence[Entrant], one_more_first: bool) -> _Costs:
    """Return the costs of each pair; the bye is the last place where there is one."""
    count = len(ranked)
    places = _places(ranked)
    costs: _Costs = {}
    for i in range(count):
        for j in range(i + 1, count):
            costs[i, j] = _pair_costs(ranked[i], ranked[j], places[i], places[j], one_more_first)
        if count % 2:
            costs[i, count] = _bye_costs(ranked, i)
    return costs


def _places(ranked: Sequence[Entrant]) -> list[_Place]:
    groups: dict[int, list[int]] = {}
    for i, entrant in enumerate(ranked):
        groups.setdefault(entrant.points, []).append(i)
    return [
        _Place(group, place, len(members))
        for group, members in enumerate(groups.values())
        for place in range(len(members))
    ]


def _pair_costs(
    upper: Entrant, lower: Entrant, above: _Place, below: _Place, one_more_first: bool
) -> tuple[int, ...]:
    met = upper.met.get(lower.code, 0)
    difference = upper.points - lower.points
    low, high = sorted((upper.balance, lower.balance))
    imbalance = (low + 1) ** 2 + (high - 1) ** 2 if one_more_first else 0
    if above.group == below.group:
        # least where every pair is half a group apart
        order, across = (below.place - above.place - above.size // 2) ** 2, 0
    else:
        order = (above.size - 1 - above.place) ** 2 + below.place**2
        across = (above.place - below.place) ** 2
    return 0, met * met, difference * difference, imbalance, order, across


def _bye_costs(ranked: Sequence[Entrant], i: int) -> tuple[int, ...]:
    entrant, last = ranked[i], ranked[-1]
    difference = entrant.points - last.points
    repeated = entrant.byes - min(other.byes for other in ranked)
    behind = len(ranked) - 1 - i
    return repeated, 0, difference * difference, entrant.balance**2, behind * behind, 0


class RoundScore(msgspec.Struct, frozen=True):
    """A competitor's points in one round.

    opponent  None for a bye
    points    won, including games that a withdrawn opponent did not play
    lost      points of the opponent
    """

    opponent: str | None
    points: float
    lost: float = 0.0


class Score(msgspec.Struct, frozen=True):
    """A competitor's row in the table.

    place   from 1; equal for competitors that no tie-break separates
    direct_encounter  points against the competitors that are level in all other respects;
            None where there are none, or some have not met
    """

    code: str
    place: int
    points: float
    buchholz_cut_1: float
    sonneborn_berger: float
    direct_encounter: float | None = None


#: One round, by competitor.
RoundScores = Mapping[str, RoundScore]


def ranking(codes: Sequence[str], rounds: Sequence[RoundScores]) -> list[Score]:
    """Return the table from the top down.

    codes   all competitors in the order of their seeds; equal places keep this order
    rounds  all rounds, in any order
    """
    points = {code: sum((r[code].points for r in rounds if code in r), 0.0) for code in codes}
    level: dict[tuple[float, float, float], list[str]] = {}
    for code in codes:
        level.setdefault(_tie_breaks(code, points, rounds), []).append(code)
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
    code: str, points: Mapping[str, float], rounds: Sequence[RoundScores]
) -> tuple[float, float, float]:
    """Return points, Buchholz cut 1 and Sonneborn-Berger."""
    opponents_points, sonneborn_berger = [], 0.0
    for scores in rounds:
        score = scores.get(code)
        if score is None:
            opponents_points.append(0.0)
            continue
        total = points[code if score.opponent is None else score.opponent]
        opponents_points.append(total)
        sonneborn_berger += score.points * total
    return points[code], sum(sorted(opponents_points)[1:], 0.0), sonneborn_berger


def _direct_encounter(codes: Sequence[str], rounds: Sequence[RoundScores]) -> dict[str, float]:
    """Return each competitor's points against the others, {} when some have not met."""
    points = dict.fromkeys(codes, 0.0)
    met: set[tuple[str, str]] = set()
    for scores in rounds:
        for code in codes:
            score = scores.get(code)
            if score is not None and score.opponent in points:
                points[code] += score.points
                met.add((code, score.opponent))
    alone = len(codes) == 1
    return {} if alone or len(met) < len(codes) * (len(codes) - 1) else points
