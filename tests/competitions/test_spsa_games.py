"""The games of an iteration: played values, tickets, opponents, openings and colours."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.spsa.state import IterationGames, Pairing, ValueGrid
from ringmaster.competitions.tuning.opponents import weighted_cycle
from ringmaster.model.parameters import TunedParameter
from tests.competitions.settings_of import drawn, won
from tests.competitions.test_spsa import parameter, spsa, tune_of


@st.composite
def ranges(draw: Any) -> tuple[TunedParameter, float]:
    """A parameter and its smallest perturbation."""
    width = draw(st.floats(1e-6, 1e9))
    low = draw(st.floats(-1e6, 1e6)) * width
    integer = draw(st.booleans())
    if integer:
        low, width = float(int(low)), float(int(width) + 1)
    c = draw(st.floats(1e-3, 0.5)) * width
    tuned = TunedParameter("x", low, low, low + width, integer=integer)
    return tuned, max(c, 0.5) if integer else c


@given(st.lists(ranges(), min_size=1, max_size=5), st.data())
def test_played_values_lie_within_the_bounds_and_survive_json(
    several: list[tuple[TunedParameter, float]], data: st.DataObject
) -> None:
    parameters = [p for p, _ in several]
    grid = ValueGrid(parameters, [c for _, c in several])
    values = grid.round([data.draw(st.floats(p.minimum, p.maximum)) for p in parameters])
    assert msgspec.json.decode(msgspec.json.encode(values)) == values
    assert grid.round(values) == values
    for p, value in zip(parameters, values, strict=True):
        assert p.minimum <= value <= p.maximum
        assert isinstance(value, int) == p.integer


@given(ranges())
def test_checks_before_the_first_game_include_a_fraction(
    parameter_and_c: tuple[TunedParameter, float],
) -> None:
    p, c = parameter_and_c
    grid = ValueGrid([p], [c])
    (value,) = grid.sample()
    assert p.minimum <= value <= p.maximum
    fractions = any(place != int(place) for place in grid.round([value + 0.3 * c]))
    if fractions and abs(p.minimum) + abs(p.maximum) < 1e9:
        assert value != int(value)
    assert grid.round([value]) == [value]


@given(ranges(), st.data())
def test_played_value_is_within_a_hundredth_of_the_perturbation(
    parameter_and_c: tuple[TunedParameter, float], data: st.DataObject
) -> None:
    p, c = parameter_and_c
    value = data.draw(st.floats(p.minimum, p.maximum))
    (played,) = ValueGrid([p], [c]).round([value])
    most = 0.5 if p.integer else c / 100
    # doubles have a relative error of 1e-15
    assert abs(played - value) <= most + 1e-15 * max(abs(p.minimum), abs(p.maximum))


def test_format_limits_the_decimal_places_of_played_values() -> None:
    tuned = parameter(integer=False, format="%.2f", c_end=10)
    job = spsa(parameters=[tuned]).next_job()
    for player, values in zip(job.players, job.parameters, strict=True):
        value = values["Mobility"]
        assert round(value, 2) == value
        assert player.options["Mobility"] == f"{value:.2f}"


def games(pairing: Pairing, size: int, iterations: int) -> list[tuple[int, str]]:
    """Return (opening, sides) of all games in a row."""
    rules = IterationGames(pairing, size)
    return [
        (rules.opening((k - 1) * size + game), "".join(rules.sides(k, game)))
        for k in range(1, iterations + 1)
        for game in range(size)
    ]


@pytest.mark.parametrize("pairing", ["self_play", "reference"])
@given(half=st.integers(1, 8), iterations=st.integers(1, 9))
def test_openings_are_used_in_turn_and_counted(
    pairing: Pairing, half: int, iterations: int
) -> None:
    used = [opening for opening, _ in games(pairing, 2 * half, iterations)]
    assert used == sorted(used)
    assert set(used) == set(
        range(IterationGames(pairing, 2 * half).opening(2 * half * iterations - 1) + 1)
    )


@pytest.mark.parametrize("pairing", ["self_play", "reference"])
@pytest.mark.parametrize("half", [1, 2, 3, 8])
@pytest.mark.parametrize("points", [0.0, 0.5, 1.0])
def test_first_move_advantage_cancels(pairing: Pairing, half: int, points: float) -> None:
    """When the one that moves first always has the same points, W − L is 0."""
    size = {"games_per_iteration": 2 * half, "number_of_games": 2 * half}
    tune = tune_of("reference", **size) if pairing == "reference" else spsa(**size)
    while (job := tune.next_job()) is not None:
        first, second = (player.code for player in job.players)
        winner = {1.0: first, 0.0: second}.get(points)
        result = drawn(job) if winner is None else won(job, winner)
        reaction = tune.record_result(job.ticket, result)
    (note,) = reaction.notes
    assert note.startswith("iteration 1: W-L +0;")


@given(size=st.integers(1, 60).map(lambda half: 2 * half), iterations=st.integers(1, 300))
def test_ids_sort_in_order_of_issue(size: int, iterations: int) -> None:
    rules = IterationGames("self_play", size)
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
        tune.record_result(job.ticket, won(job, winner) if winner in codes else drawn(job))
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


# several references


def opponents(jobs: list[Any]) -> list[str]:
    return [next(p.code for p in job.players if p.code[-1] not in "+-") for job in jobs]


def test_each_opponent_plays_its_share_of_the_openings_with_both_sides_and_colours() -> None:
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
def test_weighted_cycle_spreads_opponents_evenly_by_weight(weights: dict[str, int]) -> None:
    order = weighted_cycle(weights)
    total = sum(weights.values())
    assert len(order) == total
    for code, weight in weights.items():
        for end in range(total + 1):
            assert abs(order[:end].count(code) - weight * end / total) < len(weights)
        assert order.count(code) == weight


def test_several_references_are_all_checked_and_counted() -> None:
    tune = tune_of("several references", number_of_games=24)
    assert {"ref", "other"} <= {job.player.code for job in tune.setup().checks}
    play(tune, 6, "e+")
    assert tune.summary().data()["opponents"] == [
        {"code": "ref", "weight": 2, "wins": 2, "draws": 2, "losses": 0},
        {"code": "other", "weight": 1, "wins": 1, "draws": 1, "losses": 0},
    ]


def test_list_of_opponents_has_equal_weights() -> None:
    tune = tune_of("several references", opponent=["other", "ref"], number_of_games=24)
    assert opponents(play(tune, 24, None))[::4] == ["other", "ref"] * 3
