"""Who plays whom in an iteration of a tune, with which opening and colours."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.spsa.pairing import Games, Pairing, rota
from ringmaster.reporting.tables import render_report
from tests.competitions.settings_of import drawn, won
from tests.competitions.test_spsa import tune_of


def games(pairing: Pairing, size: int, iterations: int) -> list[tuple[int, str]]:
    """Return (opening, sides) of all games in a row."""
    rules = Games(pairing, size)
    return [
        (rules.opening((k - 1) * size + game), "".join(rules.sides(k, game)))
        for k in range(1, iterations + 1)
        for game in range(size)
    ]


def test_pair_of_self_play_has_one_opening_and_both_colours() -> None:
    assert games("self_play", 4, 2) == [
        (0, "+-"),
        (0, "-+"),
        (1, "+-"),
        (1, "-+"),
        (2, "+-"),
        (2, "-+"),
        (3, "+-"),
        (3, "-+"),
    ]


def test_two_games_against_a_reference_have_the_same_colour_which_then_changes() -> None:
    assert games("reference", 2, 3) == [
        (0, "+="),
        (0, "-="),
        (0, "=+"),
        (0, "=-"),
        (1, "+="),
        (1, "-="),
    ]


@pytest.mark.parametrize("pairing", ["self_play", "reference"])
@given(half=st.integers(1, 8), iterations=st.integers(1, 9))
def test_openings_are_used_in_turn_and_as_many_as_are_said(
    pairing: Pairing, half: int, iterations: int
) -> None:
    used = [opening for opening, _ in games(pairing, 2 * half, iterations)]
    assert used == sorted(used)
    assert set(used) == set(range(Games(pairing, 2 * half).openings(2 * half * iterations)))


@pytest.mark.parametrize("pairing", ["self_play", "reference"])
@given(half=st.integers(1, 8), points=st.sampled_from([0.0, 0.5, 1.0]))
def test_colour_alone_moves_nothing(pairing: Pairing, half: int, points: float) -> None:
    """When the one that moves first always has the same points, W − L is 0."""
    rules = Games(pairing, 2 * half)
    gains = [rules.gain(rules.sides(1, game), points) for game in range(2 * half)]
    assert sum(gains) == 0


def test_gain_is_that_of_the_winner() -> None:
    self_play, reference = Games("self_play", 2), Games("reference", 2)
    assert self_play.gain(("+", "-"), 1.0) == self_play.gain(("-", "+"), 0.0) == 1
    assert reference.gain(("+", "="), 1.0) == reference.gain(("=", "+"), 0.0) == 1
    assert reference.gain(("-", "="), 1.0) == reference.gain(("=", "-"), 0.0) == -1
    assert reference.gain(("=", "-"), 0.5) == 0


@given(size=st.integers(1, 60).map(lambda half: 2 * half), iterations=st.integers(1, 300))
def test_ids_sort_as_games_are_given_out(size: int, iterations: int) -> None:
    rules = Games("self_play", size)
    ids = [
        rules.game_id(k, game, iterations)
        for k in {1, 2, iterations - 1, iterations} - {0}
        for game in range(size)
    ]
    assert sorted(ids) == [*dict.fromkeys(sorted(ids))]
    assert len(set(ids)) == len(ids)
    assert sorted(ids) == [
        rules.game_id(k, game, iterations)
        for k in sorted({1, 2, iterations - 1, iterations} - {0})
        if k <= max(iterations, 2)
        for game in range(size)
    ]


def play(tune: Any, games_wanted: int, winner: str | None) -> list[Any]:
    jobs = []
    for _ in range(games_wanted):
        job = tune.next_job()
        codes = [p.code for p in job.players]
        tune.take(job.ticket, won(job, winner) if winner in codes else drawn(job))
        jobs.append(job)
    return jobs


def test_both_sides_play_the_reference_with_one_opening_and_colour() -> None:
    tune = tune_of("reference")
    jobs = play(tune, 4, None)
    assert [[p.code for p in job.players] for job in jobs] == [
        ["e+", "ref"],
        ["e-", "ref"],
        ["ref", "e+"],
        ["ref", "e-"],
    ]
    assert jobs[0].parameters[1] == jobs[2].parameters[0] == {}
    assert jobs[0].players[1].command == ("reference",)
    assert tune._state.results == [0, 2, 0]
    assert tune._state.results_minus == [0, 2, 0]


def test_win_of_one_side_against_the_reference_pulls_towards_it() -> None:
    tune = tune_of("reference")
    start = tune.tuner.theta
    jobs = play(tune, 2, "e+")
    plus, minus = (list(job.parameters[0].values())[:2] for job in jobs)
    for before, now, high, low in zip(start, tune.tuner.theta, plus, minus, strict=True):
        assert (now - before) * (high - low) > 0
    assert tune.tuner.regression.games == 1


def test_iteration_of_four_games_moves_by_the_sum_of_its_results() -> None:
    two, four = tune_of("classic", number_of_games=40), tune_of("four games", number_of_games=80)
    start = two.tuner.theta
    play(two, 2, "e+")
    jobs = play(four, 3, "e+")
    assert four.tuner.theta.tolist() == start.tolist()
    jobs += play(four, 1, "e+")
    assert len({str(sorted(j.parameters[0].items())) for j in jobs}) == 2
    assert four.tuner.theta - start == pytest.approx(2 * (two.tuner.theta - start))
    assert four.tuner.regression.games == 4


def test_opponent_is_checked_before_the_first_game() -> None:
    assert "ref" in [job.player.code for job in tune_of("reference").check_jobs()]


# several references


def opponents(jobs: list[Any]) -> list[str]:
    return [next(p.code for p in job.players if p.code[-1] not in "+-") for job in jobs]


def test_each_opponent_has_its_weight_of_the_openings_with_both_sides_and_colours() -> None:
    tune = tune_of("several references", number_of_games=24)
    jobs = play(tune, 24, None)
    four = [[opponents(jobs[i : i + 4]), jobs[i].players[1].command] for i in range(0, 24, 4)]
    order = ["ref", "other", "ref", "ref", "other", "ref"]
    commands = {"ref": ("reference",), "other": ("other",)}
    assert four == [[[code] * 4, commands[code]] for code in order]
    assert [p.code for p in jobs[4].players] == ["e+", "other"]
    assert [p.code for p in jobs[7].players] == ["other", "e-"]
    assert [tune.describe(job.ticket).players for job in jobs] == [
        tuple(p.code for p in job.players) for job in jobs
    ]


@given(st.dictionaries(st.text("abcdef", min_size=1), st.integers(1, 30), min_size=1, max_size=6))
def test_rota_has_everybody_by_weight_and_nobody_long_in_a_row(weights: dict[str, int]) -> None:
    order = rota(weights)
    total = sum(weights.values())
    assert len(order) == total
    for code, weight in weights.items():
        for end in range(total + 1):
            assert abs(order[:end].count(code) - weight * end / total) < len(weights)
        assert order.count(code) == weight


def test_several_references_are_all_checked_and_are_in_the_report() -> None:
    tune = tune_of("several references", number_of_games=24)
    assert {"ref", "other"} <= {job.player.code for job in tune.check_jobs()}
    play(tune, 6, "e+")
    text = render_report(tune.report(), heading="", description=None)
    assert "wins 3, draws 0, losses 0 of θ+ against the opponents" in text
    assert "wins 2, draws 2, losses 0 of both against ref (weight 2)" in text
    assert "wins 1, draws 1, losses 0 of both against other (weight 1)" in text
    assert tune.summary()["opponents"] == [
        {"code": "ref", "weight": 2, "wins": 2, "draws": 2, "losses": 0},
        {"code": "other", "weight": 1, "wins": 1, "draws": 1, "losses": 0},
    ]


def test_a_list_of_references_has_them_all_alike() -> None:
    tune = tune_of("several references", opponent=["other", "ref"], number_of_games=24)
    assert opponents(play(tune, 24, None))[::4] == ["other", "ref"] * 3


def test_state_of_one_reference_is_as_it_was() -> None:
    tune = tune_of("reference")
    jobs = play(tune, 4, "e+")
    assert not any("r" in job.ticket for job in jobs)
    state = tune.state()
    assert state.pop("against") == {}
    restored = tune_of("reference")
    restored.restore(state)
    assert restored.state() == tune.state()
