"""The rule of a handicap ladder: its interval, its levels and its end, in simulated ladders."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.stats.ladder import FEWEST, HandicapLadder
from ringmaster.stats.stopping import UNKNOWN

LADDER = HandicapLadder(reach=9)
CODES = ("weak", "strong")


class Ladder(NamedTuple):
    """The end of a simulated ladder."""

    games: int
    level: float
    low: float
    high: float
    accepted: str


def simulate(ladder: HandicapLadder, even: float, slope: float, seed: int) -> Ladder:
    """Play a ladder of players who are even with an advantage in stones."""
    rng = random.Random(seed)
    counts = [0, 0, 0] * (2 * ladder.reach + 1)
    games, accepted = 0, ""
    while not accepted:
        place = ladder.next_level(counts, seed, games)
        level = place - ladder.reach
        # half a stone less than the level's number: without komi, Black is ahead by half a move
        advantage = level - 0.5 * ((level > 0) - (level < 0))
        win = 1 / (1 + 10 ** ((even - advantage) * slope / 400))
        result = 2 if rng.random() < win else 0
        counts[3 * place + result] += 1
        games += 1
        accepted = ladder.accepted_at(ladder.measure(counts))
    level, low, high, _ = ladder.estimate(counts)
    return Ladder(games, level, low, high, accepted)


def check(even: float, slope: float, ladders: int, mean_games: float) -> None:
    """Check coverage, bias and length of some ladders."""
    ends = [simulate(LADDER, even, slope, seed) for seed in range(ladders)]
    covered = sum(end.low <= even <= end.high for end in ends) / ladders
    assert covered >= 0.92
    error = sum(end.level - even for end in ends) / ladders
    assert abs(error) < 0.1
    games = sum(end.games for end in ends) / ladders
    assert games == pytest.approx(mean_games, rel=0.2)


@pytest.mark.parametrize(("even", "slope", "games"), [(-5.0, 300, 59), (3.5, 500, 39)])
def test_interval_has_the_even_level_and_no_bias(even: float, slope: float, games: float) -> None:
    check(even, slope, 60, games)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("even", "slope", "games"),
    [
        (0.0, 100, 276),
        (3.2, 100, 272),
        (3.5, 300, 58),
        (-5.0, 60, 711),
        (1.0, 500, 39),
        (8.2, 150, 213),
    ],
)
def test_many_intervals_have_the_even_level_and_no_bias(
    even: float, slope: float, games: float
) -> None:
    check(even, slope, 150, games)


def test_even_level_beyond_the_ladder_ends_it_soon() -> None:
    for even, end in ((14.0, "weak Black, 9 stones"), (-14.0, "strong Black, 9 stones")):
        ladder = simulate(LADDER, even, 150, 1)
        assert ladder.accepted == "beyond"
        assert ladder.games < 60
        played = {end: [20, 0, 0] if even > 0 else [0, 0, 20]}
        text = LADDER.report(played, CODES)["text"]
        assert text == f"weak and strong are not even on the ladder, which ends at {end}"


def test_few_games_end_no_ladder() -> None:
    counts = LADDER.counts({"weak Black, 3 stones": [FEWEST - 1, 0, 0]}, CODES)
    assert LADDER.measure(counts) == UNKNOWN


def test_jigo_counts_half_a_win() -> None:
    halves = LADDER.counts({"even, komi 0": [0, 20, 0]}, CODES)
    both = LADDER.counts({"even, komi 0": [10, 0, 10]}, CODES)
    assert LADDER.estimate(halves) == pytest.approx(LADDER.estimate(both))


def test_games_are_played_on_both_sides_of_the_even_level() -> None:
    played = {"weak Black, 2 stones": [90, 0, 30], "weak Black, 4 stones": [30, 0, 90]}
    counts = LADDER.counts(played, CODES)
    places = {LADDER.next_level(counts, 5, number) - LADDER.reach for number in range(60)}
    assert places == {2, 3, 4}


def test_levels_are_even_games_then_komi_then_stones() -> None:
    levels = HandicapLadder(komi=7.5, reach=3).levels(CODES)
    assert levels == {
        "strong Black, 3 stones": ("strong", 3, 0.5),
        "strong Black, 2 stones": ("strong", 2, 0.5),
        "strong Black, komi 0.5": ("strong", None, 0.5),
        "even, komi 7.5": ("", None, 7.5),
        "weak Black, komi 0.5": ("weak", None, 0.5),
        "weak Black, 2 stones": ("weak", 2, 0.5),
        "weak Black, 3 stones": ("weak", 3, 0.5),
    }


def test_levels_by_komi_have_the_first_player_black() -> None:
    levels = HandicapLadder(2.0, komi=6.5, reach=2).levels(CODES)
    assert list(levels) == [f"weak Black, komi {k:g}" for k in (10.5, 8.5, 6.5, 4.5, 2.5)]
    report = HandicapLadder(2.0, komi=6.5).report({"weak Black, komi 2.5": [30, 0, 30]}, CODES)
    even, low, high = report["even"]
    assert low < 2.5 < high
    assert report["text"].startswith(f"weak and strong are even at komi {even:.1f} with weak Black")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 18), st.integers(0, 2)), max_size=60), st.randoms())
def test_any_order_of_results_gives_the_same_posterior(
    results: list[tuple[int, int]], rng: random.Random
) -> None:
    def estimate(order: list[tuple[int, int]]) -> tuple[float, ...]:
        names, played = [*LADDER.levels(CODES)], dict[str, list[int]]()
        for place, result in order:
            played.setdefault(names[place], [0, 0, 0])[result] += 1
        counts = LADDER.counts(played, CODES)
        return (*LADDER.estimate(counts), LADDER.next_level(counts, 1, len(order)))

    shuffled = rng.sample(results, len(results))
    assert estimate(shuffled) == estimate(results)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=57, max_size=57))
def test_exchange_of_the_players_turns_the_levels(counts: list[int]) -> None:
    turned = [counts[3 * place + result] for place in range(18, -1, -1) for result in (2, 1, 0)]
    level, low, high, slope = LADDER.estimate(counts)
    assert LADDER.estimate(turned) == pytest.approx((-level, -high, -low, slope), abs=1e-6)
