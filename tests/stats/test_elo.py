"""Elo estimates against values worked out by hand and by simulation."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv

from ringmaster.stats import elo
from ringmaster.stats.elo import (
    Z95,
    elo_of_score,
    from_counts,
    from_games,
    holm,
    normalized,
    pairs_ratio,
    probability,
    share_ends,
    share_interval,
    short_probability,
    wilson,
)


def test_even_score_is_no_difference() -> None:
    assert elo_of_score(0.5) == 0
    assert elo_of_score(10 / 11) == pytest.approx(400)


def test_games_of_a_known_match() -> None:
    # 60 wins, 20 draws, 20 losses: score 0.7, variance of one game 0.16
    estimate = from_games(60, 20, 20)
    assert estimate.elo == pytest.approx(147.19, abs=0.01)
    deviation = 0.04
    assert estimate.low == pytest.approx(elo_of_score(0.7 - 1.959964 * deviation), abs=1e-3)
    assert estimate.high == pytest.approx(elo_of_score(0.7 + 1.959964 * deviation), abs=1e-3)


def test_clean_sweep_has_one_bound() -> None:
    estimate = from_games(12, 0, 0)
    assert math.isinf(estimate.elo)
    assert str(estimate) == "at least +178 Elo (95 %), LOS above 99.9 %"
    assert str(from_games(0, 0, 12)) == "at most -178 Elo (95 %), LOS below 0.1 %"
    # Clopper and Pearson: with a score of this end, 12 wins have a probability of 2.5 %
    assert (1 / (1 + 10 ** (-estimate.low / 400))) ** 12 == pytest.approx(0.025)


@given(st.integers(4, 60), st.integers(0, 60), st.integers(0, 3), st.integers(0, 60))
def test_no_result_shows_more_than_a_clean_sweep(a: int, b: int, c: int, d: int) -> None:
    result, sweep = from_games(a, b, c), from_games(a + b + c, 0, 0)
    rounding = 1e-6
    assert result.low <= sweep.low + rounding
    assert result.los <= sweep.los + rounding
    sweep = from_counts([0, 0, 0, 0, a + b + c + d])
    assert from_counts([c, 0, d, b, a]).low <= sweep.low + rounding


def test_interval_of_a_few_wins_that_includes_0_is_not_told() -> None:
    assert str(from_counts([0, 0, 0, 0, 5])) == "Elo not known (too few games, or all alike)"
    assert str(from_counts([0, 0, 0, 0, 6])) == "at least +28 Elo (95 %), LOS 98 %"


def test_few_games_and_draws_alone_have_no_bounds() -> None:
    for few in (from_games(3, 0, 0), from_games(0, 20, 0), from_counts([0, 0, 20, 0, 0])):
        assert not few.known
        assert few.los == 0.5
        assert str(few) == "Elo not known (too few games, or all alike)"


@pytest.mark.parametrize(
    ("share", "text", "short"),
    [
        (0.0, "below 0.1 %", "<1%"),
        (0.0004, "below 0.1 %", "<1%"),
        (0.0051, "0.5 %", "1%"),
        (0.016, "2 %", "2%"),
        (0.621, "62 %", "62%"),
        (0.9944, "99.4 %", "99%"),
        (0.9951, "99.5 %", ">99%"),
        (0.9994, "99.9 %", ">99%"),
        (0.9996, "above 99.9 %", ">99%"),
        (1.0, "above 99.9 %", ">99%"),
    ],
)
def test_probability_is_never_0_or_100_percent(share: float, text: str, short: str) -> None:
    assert (probability(share), short_probability(share)) == (text, short)


@pytest.mark.parametrize(
    ("points", "games", "text"),
    [
        (128, 210, "61 % ± 7 (95 %)"),
        (20, 20, "100 % (95 %: 83 to 100)"),
        (6100, 10_000, "61.0 % ± 1.0 (95 %)"),
    ],
)
def test_share_of_points_has_its_interval(points: float, games: int, text: str) -> None:
    assert share_interval(points, games) == text


@given(st.lists(st.integers(0, 50), min_size=5, max_size=5))
def test_exchanging_the_players_negates_the_estimate(counts: list[int]) -> None:
    one, other = from_counts(counts), from_counts(counts[::-1])
    assert one.elo == pytest.approx(-other.elo)
    assert one.los == pytest.approx(1 - other.los)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_interval_holds_the_estimate(wins: int, draws: int, losses: int) -> None:
    estimate = from_games(wins, draws, losses)
    assert estimate.low <= estimate.elo <= estimate.high


def test_normalised_elo_of_equal_players_without_draws_is_elo() -> None:
    """Near equality (s − ½)/σ = 2(s − ½), and Elo is 1600/ln 10·(s − ½)."""
    games = (5010, 0, 4990)
    assert normalized(games[::-1]).nelo == pytest.approx(from_games(*games).elo, rel=1e-3)
    assert normalized(games[::-1]).error == pytest.approx(from_games(*games).error, rel=1e-3)


def test_draws_make_normalised_elo_larger_than_elo() -> None:
    # score 0.55, variance of a game 0.0725
    estimate = normalized((10, 70, 20))
    assert estimate.nelo == pytest.approx(0.05 / math.sqrt(0.0725) * 800 / math.log(10))


def test_independent_games_give_the_same_normalised_elo_in_pairs() -> None:
    w, d, l = 0.3, 0.5, 0.2  # noqa: E741
    n = 100_000
    pairs = [round(n * p) for p in (l * l, 2 * l * d, 2 * l * w + d * d, 2 * d * w, w * w)]
    one = normalized(pairs)
    other = normalized((round(2 * n * l), round(2 * n * d), round(2 * n * w)))
    assert one.nelo == pytest.approx(other.nelo, rel=1e-6)
    # the variance of t itself differs a little: pairs are nearer to a normal distribution
    assert one.error == pytest.approx(other.error, rel=0.01)


def test_error_of_normalised_elo_agrees_with_repeated_matches() -> None:
    rng = np.random.default_rng(4)
    chances = [0.02, 0.08, 0.3, 0.4, 0.2]
    estimate = [normalized(rng.multinomial(400, chances).tolist()) for _ in range(4000)]
    deviation = float(np.std([f.nelo for f in estimate]))
    assert np.mean([f.error for f in estimate]) / 1.96 == pytest.approx(deviation, rel=0.03)


def openings_model(elo: float, biases: list[float]) -> tuple[list[float], list[float], float]:
    """Return the chances of a game and of a pair, and the variance of a pair's
    points, where an opening favours White by one of `biases` and each side has its
    turn with it; a player draws as in BayesElo's model."""

    def game(x: float) -> list[float]:
        win = 1 / (1 + 10 ** ((150 - x) / 400))
        loss = 1 / (1 + 10 ** ((150 + x) / 400))
        return [loss, 1 - win - loss, win]

    games, pairs, variance, means = [0.0] * 3, [0.0] * 5, 0.0, []
    for bias in biases:
        two = game(elo + bias), game(elo - bias)
        for i, p in enumerate(two[0]):
            games[i] += p / 2 / len(biases)
            games[i] += two[1][i] / 2 / len(biases)
            for j, q in enumerate(two[1]):
                pairs[i + j] += p * q / len(biases)
        of_two = [sum(p * i / 2 for i, p in enumerate(g)) for g in two]
        means.append(sum(of_two))
        squares = [sum(p * (i / 2) ** 2 for i, p in enumerate(g)) for g in two]
        variance += sum(s - m * m for s, m in zip(squares, of_two, strict=True)) / len(biases)
    mean = sum(means) / len(means)
    # within an opening the games are independent; between openings the means differ
    variance += sum((m - mean) ** 2 for m in means) / len(means)
    return games, pairs, variance


@pytest.mark.parametrize("biases", [[0.0], [0.0, 200.0], [-300.0, 50.0, 400.0]])
def test_variance_by_pairs_is_that_of_the_openings_model(biases: list[float]) -> None:
    n = 10**7
    games, pairs, variance = openings_model(20, biases)
    estimate = from_counts([round(n * p) for p in pairs])
    mean = sum(i / 4 * p for i, p in enumerate(pairs))
    # a pair's mean score has a quarter of its points' variance
    deviation = math.sqrt(variance / 4 / n)
    assert estimate.high == pytest.approx(elo_of_score(mean + 1.959964 * deviation), abs=1e-4)
    assert estimate.low == pytest.approx(elo_of_score(mean - 1.959964 * deviation), abs=1e-4)
    singly = from_games(*(round(2 * n * p) for p in reversed(games)))
    # lopsided openings make games look more scattered than pairs are
    assert (estimate.error < 0.97 * singly.error) is any(biases)


def test_ratio_of_pairs_ignores_even_pairs() -> None:
    assert pairs_ratio([1, 3, 50, 4, 2]) == 1.5
    assert pairs_ratio([0, 0, 50, 4, 2]) is None


def test_equal_results_have_no_normalised_elo() -> None:
    for estimate in (normalized((0, 90, 0)), normalized([0, 0, 0, 0, 9])):
        assert math.isinf(estimate.error)
        assert str(estimate) == "nElo not known"


@given(st.lists(st.integers(0, 1000), min_size=5, max_size=5))
def test_exchanging_the_players_negates_normalised_elo(counts: list[int]) -> None:
    one, other = normalized(counts), normalized(counts[::-1])
    assert one.nelo == pytest.approx(-other.nelo, abs=1e-9)
    assert one.error == pytest.approx(other.error)
    assert math.isfinite(one.nelo)


def test_interval_is_newcombe_s_example() -> None:
    """81 of 263: 0.2553 to 0.3662 (Newcombe, 1998, table I, method 3)."""
    low, high = wilson(81, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_ends_are_where_the_rate_is_z_deviations_away(games: int, share: float) -> None:
    points = round(share * games)
    low, high = wilson(points, games)
    assert 0 <= low <= points / games + 1e-12
    assert points / games - 1e-12 <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            deviation = math.sqrt(end * (1 - end) / games)
            assert abs(points / games - end) == pytest.approx(Z95 * deviation, rel=1e-6)


def test_interval_is_one_error_only_where_its_sides_are_alike() -> None:
    assert str(from_games(520, 0, 480)) == "+13.9 ± 21.6 Elo (95 %), LOS 90 %"
    assert str(from_games(60, 20, 20)) == "+147.2 Elo (95 %: 86.2 to 218.3), LOS above 99.9 %"
    assert from_games(20, 20, 60).interval() == "-147.2 (95 %: -218.3 to -86.2)"


def chance_to_decide(number: int, shares: list[float]) -> float:
    """Return the share of simulated matches of equal players with a decision at 95 %.

    shares  of the results of a game or pair, worst to best
    """
    draws = np.random.default_rng(1).multinomial(number, shares, size=1000)
    counts: Counter[tuple[int, ...]] = Counter(map(tuple, draws.tolist()))
    return (
        sum(
            times
            for few, times in counts.items()
            if (from_counts(few) if len(few) == 5 else from_games(few[2], few[1], few[0])).sign
        )
        / 1000
    )


@pytest.mark.parametrize("number", [4, 6, 8, 12, 20, 40])
@pytest.mark.parametrize(
    "shares",
    [
        [0.5, 0.0, 0.5],
        [0.3, 0.4, 0.3],
        [0.05, 0.9, 0.05],
        [0.25, 0.0, 0.5, 0.0, 0.25],
        [0.1, 0.2, 0.4, 0.2, 0.1],
    ],
)
def test_few_games_of_equal_players_decide_in_5_percent_of_matches(
    number: int, shares: list[float]
) -> None:
    # three standard errors of the simulation
    assert chance_to_decide(number, shares) <= 0.05 + 0.02


def test_fixed_colours_decide_few_games_of_equal_players_rarely() -> None:
    for games in (4, 6, 10, 20):
        outside = [
            math.comb(games, won) / 2**games
            for won in range(games + 1)
            if not share_ends(won, games)[0] <= 0.5 <= share_ends(won, games)[1]
        ]
        assert sum(outside) <= 0.05


def test_holm_rejects_the_least_p_values_step_by_step() -> None:
    assert holm([]) == []
    assert holm([0.04]) == [True]
    assert holm([0.04, 0.01, 0.02]) == [True, True, True]
    assert holm([0.04, 0.03, 0.001]) == [False, False, True]


@given(st.floats(0.5, 200), st.floats(0.5, 200), st.sampled_from([0.025, 0.05, 0.5, 0.975]))
def test_ends_of_exact_intervals_are_those_of_scipy(a: float, b: float, share: float) -> None:
    assert elo._beta_quantile(a, b, share) == pytest.approx(betaincinv(a, b, share), abs=1e-9)


def test_a_draw_beside_many_wins_shows_no_more_than_wins_alone() -> None:
    assert from_games(49, 1, 0).low <= from_games(50, 0, 0).low
    assert from_games(0, 1, 49).high >= from_games(0, 0, 50).high
