"""Matchings of least cost, against trying everything."""

from __future__ import annotations

import random

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.matching import cheapest_pairs


def least(cost: list[list[int]]) -> int:
    """The least cost of all pairs, by trying every matching of every subset."""
    size = len(cost)
    of_subset = {0: 0}
    for subset in range(1, 1 << size):
        if subset.bit_count() % 2:
            continue
        i = subset.bit_length() - 1
        rest = subset ^ 1 << i
        of_subset[subset] = min(
            cost[i][j] + of_subset[rest ^ 1 << j] for j in range(i) if rest >> j & 1
        )
    return of_subset[(1 << size) - 1]


def symmetric(size: int, draw: list[int]) -> list[list[int]]:
    cost = [[0] * size for _ in range(size)]
    values = iter(draw)
    for i in range(size):
        for j in range(i):
            cost[i][j] = cost[j][i] = next(values)
    return cost


def total(cost: list[list[int]], pairs: list[tuple[int, int]]) -> int:
    assert sorted(v for pair in pairs for v in pair) == list(range(len(cost)))
    assert all(u < v for u, v in pairs)
    return sum(cost[u][v] for u, v in pairs)


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    size = draw(st.sampled_from([2, 4, 6, 8, 10]))
    # few values make many ties and nested blossoms
    top = draw(st.sampled_from([1, 2, 5, 1000, 10**30]))
    count = size * (size - 1) // 2
    return symmetric(size, draw(st.lists(st.integers(-top, top), min_size=count, max_size=count)))


@hypothesis.settings(max_examples=300, deadline=None)
@given(graphs())
def test_pairs_cost_no_more_than_any_others(cost: list[list[int]]) -> None:
    assert total(cost, cheapest_pairs(cost)) == least(cost)


@pytest.mark.parametrize("top", [1, 2, 3, 20])
def test_pairs_of_random_graphs_are_the_cheapest(top: int) -> None:
    rng = random.Random(top)
    for _ in range(150):
        size = rng.choice([8, 10, 12])
        cost = symmetric(size, [rng.randint(0, top) for _ in range(size * size)])
        assert total(cost, cheapest_pairs(cost)) == least(cost)


def test_two_triangles_are_left_by_the_one_edge_between_them() -> None:
    # inside a triangle everything is free, but three cannot be paired
    cost = [[9] * 6 for _ in range(6)]
    for triangle in ((0, 1, 2), (3, 4, 5)):
        for i in triangle:
            for j in triangle:
                cost[i][j] = 0
    cost[2][5] = cost[5][2] = 4
    assert cheapest_pairs(cost) == [(0, 1), (2, 5), (3, 4)]


def test_hundred_vertices_take_no_time_worth_mentioning() -> None:
    # counted, not timed: an algorithm of another order would look up far more
    looked_up = 0

    class Row(list[int]):
        def __getitem__(self, key: object) -> int:
            nonlocal looked_up
            looked_up += 1
            return super().__getitem__(key)  # type: ignore[call-overload,no-any-return]

    rng = random.Random(0)
    cost = symmetric(100, [rng.randint(0, 50) for _ in range(4950)])
    pairs = cheapest_pairs([Row(row) for row in cost])
    assert total(cost, pairs) <= total(cost, [(i, i + 1) for i in range(0, 100, 2)])
    assert looked_up < 100**3


def test_nobody_to_pair_is_no_pairs() -> None:
    assert cheapest_pairs([]) == []


def test_odd_number_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="3 vertices cannot be paired"):
        cheapest_pairs([[0] * 3] * 3)
