"""Who meets whom in a round of a Swiss tournament: a function of the entrants'
results so far, the best of all pairings and never merely a good one.

What is better is decided in this order:

1.  nobody has a second bye while somebody has none;
2.  nobody meets the same opponent again (the sum of the squares of how often
    two have met is the least);
3.  opponents have equal points (the sum of the squares of the differences is
    the least; the bye counts as an opponent with the points of the last group);
4.  where a round gives one side the first move once more than the other: each
    has had it as often as not (the sum of the squares of the differences);
5.  in a group of equal points the upper half meets the lower half in order, as
    in the Dutch system (FIDE Handbook C.04.3); who has to go to another group is
    the last of the upper one, and meets the first of the lower one; the last of
    all has the bye;
6.  several that go to another group meet its members in order.

All six are sums over pairs, so that the best pairing is a matching of least
cost, with costs so far apart that no sum of a later kind outweighs an earlier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ringmaster.competitions.matching import cheapest_pairs


class Entrant(msgspec.Struct, frozen=True):
    """A competitor as the pairing of a round sees it.

    points   in half points
    met      how many rounds it has had against each other competitor
    byes     how many it has had
    balance  rounds in which it had the first move once more than its opponent,
             less those in which it was the other way round
    """

    code: str
    points: int = 0
    met: Mapping[str, int] = msgspec.field(default_factory=dict)
    byes: int = 0
    balance: int = 0


class Pairing(msgspec.Struct, frozen=True):
    """Pairs of codes, from the top board down, the one that moves first in the
    first game comes first; bye is None where the number of entrants is even."""

    pairs: tuple[tuple[str, str], ...]
    bye: str | None = None


class _Place(msgspec.Struct, frozen=True):
    """Where an entrant stands: in a group of equal points, at a place from 0."""

    group: int
    place: int
    size: int


def pair_round(entrants: Sequence[Entrant], *, one_more_first: bool) -> Pairing:
    """Return the best pairing.

    entrants        at least two, in the order of their seeds
    one_more_first  whether a pair has an odd number of games
    """
    ranked = sorted(entrants, key=lambda entrant: -entrant.points)
    count = len(ranked)
    cost = _costs(ranked, one_more_first)
    pairs: list[tuple[str, str]] = []
    bye = None
    for i, j in cheapest_pairs(cost):
        if j == count:
            bye = ranked[i].code
        elif one_more_first and _swapped(ranked[i], ranked[j], len(pairs)):
            pairs.append((ranked[j].code, ranked[i].code))
        else:
            pairs.append((ranked[i].code, ranked[j].code))
    return Pairing(tuple(pairs), bye)


def _swapped(upper: Entrant, lower: Entrant, board: int) -> bool:
    """Whether the lower ranked has the first move: it has had it less often, or
    as often, and it is its turn on this board."""
    return lower.balance < upper.balance or (lower.balance == upper.balance and board % 2 == 1)


def _costs(ranked: Sequence[Entrant], one_more_first: bool) -> list[list[int]]:
    """Return the cost of each pair, the bye being the last where there is one."""
    count = len(ranked)
    places = _places(ranked)
    kinds: dict[tuple[int, int], tuple[int, ...]] = {}
    for i in range(count):
        for j in range(i + 1, count):
            kinds[i, j] = _pair_costs(ranked[i], ranked[j], places[i], places[j], one_more_first)
        if count % 2:
            kinds[i, count] = _bye_costs(ranked, i)
    # a unit of each kind is more than any pairing can sum up to of the next
    pairs = (count + 1) // 2
    unit = [1]
    for kind in range(5, 0, -1):
        most = max(costs[kind] for costs in kinds.values())
        unit.insert(0, unit[0] * (pairs * most + 1))
    size = count + count % 2
    table = [[0] * size for _ in range(size)]
    for (i, j), costs in kinds.items():
        table[i][j] = table[j][i] = sum(u * c for u, c in zip(unit, costs, strict=True))
    return table


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
        # all at this distance is the upper half against the lower half, in order
        order, across = (below.place - above.place - above.size // 2) ** 2, 0
    else:
        order = (above.size - 1 - above.place) ** 2 + below.place**2
        across = (above.place - below.place) ** 2
    return 0, met * met, difference * difference, imbalance, order, across


def _bye_costs(ranked: Sequence[Entrant], i: int) -> tuple[int, ...]:
    entrant, last = ranked[i], ranked[-1]
    difference = entrant.points - last.points
    again = entrant.byes - min(other.byes for other in ranked)
    behind = len(ranked) - 1 - i
    return again, 0, difference * difference, entrant.balance**2, behind * behind, 0
