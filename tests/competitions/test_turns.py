"""Tests of whose turn it is among matchups."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.turns import Turns


def plain(given_out: list[int], limits: list[int]) -> int | None:
    """Look at all of them."""
    wanting = [i for i, limit in enumerate(limits) if given_out[i] < limit]
    return min(wanting, key=given_out.__getitem__) if wanting else None


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8)), max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=60),
)
def test_the_one_with_the_fewest_games_is_first_whoever_else_was_given_some_or_has_ended(
    matchups: list[tuple[int, int]], steps: list[tuple[int, int]]
) -> None:
    given_out = [begun for begun, _ in matchups]
    limits = [limit for _, limit in matchups]
    turns = Turns(range(len(matchups)), given_out.__getitem__, lambda i: given_out[i] < limits[i])
    for other, more in steps:
        found = turns.first()
        assert found == plain(given_out, limits)
        assert turns.first() == found
        if found is not None:
            given_out[found] += 1
        if other < len(matchups):
            # numbers that an earlier run has given out become known, or a test ends it
            given_out[other] += more
            limits[other] -= more == 3
    while (found := turns.first()) is not None:
        assert found == plain(given_out, limits)
        given_out[found] += 1
    assert plain(given_out, limits) is None
