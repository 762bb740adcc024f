"""SPSA competitions over several time controls, one drawn for each iteration."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.competitions.spsa.state import draw_time_control
from ringmaster.model.jobs import GameJob
from ringmaster.reporting.tables import render_report
from tests.competitions import test_spsa
from tests.competitions.settings_of import Refused, again, call, make, uci, void, won
from tests.competitions.test_closing_match import match_of, play
from tests.competitions.test_spsa import outcome, parameter
from tests.competitions.test_spsa_edits import Runs, edited, theta, timed
from tests.competitions.test_spsa_edits import spsa as spsa_without

CONTROLS = {"8+0.08": 0.7, "40+0.4": 0.3}
UNLIMITED = {"e": uci(nodes=None), "ref": uci(nodes=None)}
REFERENCE = {"pairing": "reference", "opponent": "ref"}


def spsa(**settings: Any) -> Any:
    return test_spsa.spsa(**{"players": UNLIMITED, "time_controls": CONTROLS, **settings})


def controls_of(job: GameJob) -> set[str]:
    return {str(player.time_control) for player in job.players}


def text(tune: Any) -> str:
    return render_report(tune.summary().report, heading="x", description=None)


# drawing


def draw(weights: dict[str, float], seed: int, k: int) -> str:
    return draw_time_control({"seed": seed, "time_controls": weights}, k)


@given(
    st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=5),
    st.integers(-(2**70), 2**70),
    st.integers(1, 10**9),
)
def test_time_control_is_drawn_by_seed_and_iteration_alone(
    weights: list[float], seed: int, k: int
) -> None:
    of = {str(i + 1): weight for i, weight in enumerate(weights)}
    drawn = draw(of, seed, k)
    assert drawn in of
    assert draw(dict(of), seed, k) == drawn


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 2**64))
def test_time_controls_are_drawn_as_often_as_their_weights_say(
    weights: list[int], seed: int
) -> None:
    of = {str(i + 1): float(weight) for i, weight in enumerate(weights)}
    draws = 1000
    counts = Counter(draw(of, seed, k) for k in range(1, draws + 1))
    for control, weight in of.items():
        share = weight / sum(weights)
        # six standard deviations
        assert abs(counts[control] - draws * share) <= 6 * math.sqrt(draws * share * (1 - share))


def test_seeds_and_iterations_draw_differently() -> None:
    def series(seed: int) -> list[str]:
        return [draw(CONTROLS, seed, k) for k in range(1, 40)]

    assert series(1) == series(1) != series(2)
    assert set(series(1)) == set(CONTROLS)


# games


@pytest.mark.parametrize("pairing", [{}, REFERENCE])
def test_all_games_of_an_iteration_and_both_sides_have_its_time_control(
    pairing: dict[str, Any],
) -> None:
    tune = spsa(number_of_games=80, games_per_iteration=4, **pairing)
    by_iteration: dict[int, set[str]] = {}
    while (job := tune.next_job()) is not None:
        by_iteration.setdefault(job.ticket["k"], set()).update(controls_of(job))
        assert all((p.nodes, p.depth, p.move_time) == (None,) * 3 for p in job.players)
    assert all(len(controls) == 1 for controls in by_iteration.values())
    assert set.union(*by_iteration.values()) == set(CONTROLS)


def test_values_and_openings_are_those_of_a_tune_at_one_time_control() -> None:
    mixed, one = spsa(), spsa(time_controls={"8+0.08": 1})
    for _ in range(20):
        jobs = [tune.next_job() for tune in (mixed, one)]
        assert jobs[0].parameters == jobs[1].parameters
        assert jobs[0].opening == jobs[1].opening
        for tune, job in zip((mixed, one), jobs, strict=True):
            tune.record_result(job.ticket, outcome(job))


def test_order_and_form_of_the_time_controls_change_no_game() -> None:
    tunes = spsa(), spsa(time_controls={"0:40+0.4": 0.3, "8+0.08": 0.7})
    assert all(tunes[0].next_job() == tunes[1].next_job() for _ in range(20))


def test_tuned_player_and_opponents_are_checked_at_each_time_control() -> None:
    checked = {
        (j.player.code, str(j.player.time_control)) for j in spsa(**REFERENCE).setup().checks
    }
    assert checked == {(code, control) for code in ("e", "ref") for control in CONTROLS}


def test_time_controls_of_go_may_have_byo_yomi() -> None:
    tune = make(
        "spsa",
        board_size=9,
        komi=7.5,
        players={"e": call("Player", "engine")},
        player="e",
        parameters=[parameter(gtp="set_x %s")],
        number_of_games=40,
        time_controls={"60+5x10": 1, "60+25/30": 1},
    )
    jobs = [tune.next_job() for _ in range(40)]
    assert set.union(*map(controls_of, jobs)) == {"60+5x10", "60+25/30"}


# counts


def test_report_counts_the_games_of_each_time_control() -> None:
    tune = spsa(number_of_games=40)
    expected = {control: Counter[str]() for control in CONTROLS}
    while (job := tune.next_job()) is not None:
        (control,) = controls_of(job)
        wins = control == "8+0.08"
        tune.record_result(job.ticket, void(job))
        tune.record_result(job.ticket, won(job, "e+" if wins else "e-"))
        expected[control]["wins" if wins else "losses"] += 1
    rows = tune.summary().data()["time_controls"]
    assert rows == [
        {
            "time_control": control,
            "weight": weight,
            "wins": expected[control]["wins"],
            "draws": 0,
            "losses": expected[control]["losses"],
        }
        for control, weight in CONTROLS.items()
    ]
    wins, losses = rows[0]["wins"], rows[1]["losses"]
    assert wins + losses == tune.summary().games == 40
    report = text(tune)
    assert f"wins {wins}, draws 0, losses {losses} of θ+ against θ-" in report
    assert f"wins {wins}, draws 0, losses 0 of θ+ at 8+0.08 (weight 0.7)" in report
    assert f"wins 0, draws 0, losses {losses} of θ+ at 40+0.4 (weight 0.3)" in report


def test_reports_name_all_clocks_of_the_player() -> None:
    (contestant,) = spsa().summary().contestants
    assert contestant.clock == "8+0.08 or 40+0.4"


# edits


def test_edit_is_told_keeps_theta_and_applies_from_the_next_iteration() -> None:
    before = timed(CONTROLS)
    runs, lines = edited(before, timed({"10+0.1": 2}), games=59, in_flight=4, keep=1)
    assert lines[0].endswith("time_controls {'8+0.08': 0.7, '40+0.4': 0.3} → {'10+0.1': 2.0}")
    assert theta(runs.tune) == theta(before)
    issued = before.tuner.iterations + len({job.ticket["k"] for job in runs.issued.values()})
    for job in runs.issued.values():
        assert controls_of(job) <= set(CONTROLS)
    while (job := runs.tune.next_job()) is not None:
        assert (controls_of(job) == {"10+0.1"}) == (job.ticket["k"] > issued)


def test_time_controls_do_not_change_what_a_tune_learns() -> None:
    runs, whole = Runs(), Runs()
    whole.begin(timed({"8+0.08": 1}, method="adaptive"))
    whole.play(60)
    for weights in CONTROLS, {"10+0.1": 1.0}, {"10+0.1": 1, "3+1": 2}:
        runs.begin(timed(weights, method="adaptive"))
        runs.play(20)
    assert runs.tune.tuner.state() == whole.tune.tuner.state()


def test_counts_stay_right_across_edits() -> None:
    runs = Runs()
    for tune in spsa_without(), timed({"8+0.08": 1, "40+0.4": 1}), timed({"40+0.4": 1}):
        runs.begin(tune)
        runs.play(40)
    rows = {r["time_control"]: r for r in runs.tune.summary().data()["time_controls"]}
    played = Counter(ticket.get("tc", "") for ticket, _ in runs.history)
    assert played.keys() == rows.keys() == {"", "8+0.08", "40+0.4"}
    for control, row in rows.items():
        assert row["wins"] + row["draws"] + row["losses"] == played[control]
    assert (rows[""]["weight"], rows["8+0.08"]["weight"]) == (0, 0)
    assert "of θ+ at other limits (weight 0)" in text(runs.tune)
    runs.begin(spsa_without())
    assert "time_controls" in runs.tune.summary().data()


# the closing match


def to_verify(games: int, *, weights: dict[str, float] = CONTROLS, **arguments: Any) -> Any:
    steep = [parameter(r_end=0.5), parameter("Space", r_end=0.5)]
    verify = call("Verify", games, **arguments)
    return spsa(parameters=steep, number_of_games=4, verify=verify, time_controls=weights)


def closing(games: int, **arguments: Any) -> Any:
    """Return a complete tune before its closing match."""
    tune = to_verify(games, **arguments)
    for _ in range(4):
        job = tune.next_job()
        tune.record_result(job.ticket, won(job, "e+"))
    return tune


@pytest.mark.parametrize(("games", "shares"), [(40, [28, 12]), (400, [280, 120]), (4, [2, 2])])
def test_closing_match_is_split_by_weight_into_pairs(games: int, shares: list[int]) -> None:
    jobs = play(closing(games), 1000, lambda job: won(job, "e:tuned"))
    assert all(controls_of(a) == controls_of(b) for a, b in zip(jobs[::2], jobs[1::2], strict=True))
    counts = Counter(control for job in jobs for control in controls_of(job))
    assert [counts[control] for control in CONTROLS] == shares


def test_closing_match_has_a_pair_for_each_time_control() -> None:
    tune = closing(2)
    assert len(play(tune, 9, lambda job: won(job, "e:tuned"))) == 4
    tune = closing(100)
    tune.verify(2)
    assert len(play(tune, 9, lambda job: won(job, "e:tuned"))) == 4


def test_closing_match_is_shown_by_time_control_and_in_all() -> None:
    tune = closing(40)
    play(tune, 40, lambda job: won(job, "e:tuned" if "8+0.08" in controls_of(job) else "e:start"))
    match = match_of(tune)
    assert match["wins"] == [28, 12]
    assert match["time_controls"] == [
        {"time_control": "8+0.08", "wins": 28, "draws": 0, "losses": 0},
        {"time_control": "40+0.4", "wins": 0, "draws": 0, "losses": 12},
    ]
    report = text(tune)
    assert "limits: 8+0.08 (weight 0.7), 40+0.4 (weight 0.3)" in report
    assert "\nat 8+0.08: wins 28, draws 0, losses 0; " in report
    assert "\nat 40+0.4: wins 0, draws 0, losses 12; " in report
    # no single limit describes the match
    assert [side.time_control for side in tune.summary().matchups[0].sides] == [None, None]


def test_limits_of_verify_replace_the_time_controls() -> None:
    tune = closing(4, time_control="1+1")
    jobs = play(tune, 9, lambda job: won(job, "e:tuned"))
    assert [controls_of(job) for job in jobs] == [{"1+1"}] * 4
    assert match_of(tune)["time_controls"] == []


def test_other_weights_make_another_closing_match() -> None:
    tune = closing(8)
    play(tune, 3, lambda job: won(job, "e:tuned"))
    outstanding = tune.next_job().ticket
    same, other = again(tune, to_verify(8)), again(tune, to_verify(8, weights={"10+0.1": 1}))
    assert (same.resume(outstanding), other.resume(outstanding)) == (True, False)
    assert controls_of(same.make_job("x", 0, outstanding)) == {outstanding["tc"]}
    assert len(play(other, 99, lambda job: won(job, "e:tuned"))) == 8
    first, second = other.summary().data()["matchups"]
    assert [part["wins"] for part in first["time_controls"]] == [2, 1]
    assert second["time_controls"] == [
        {"time_control": "10+0.1", "wins": 8, "draws": 0, "losses": 0}
    ]


# wrong settings


@pytest.mark.parametrize(
    ("time_controls", "message"),
    [
        ({}, "time_controls: it is empty"),
        ({"8+0.08": 0, "40+0.4": 0}, "time_controls.40+0.4: 0 is out of range"),
        ({"8+0.08": -1}, "time_controls.8+0.08: -1 is out of range"),
        ({"8+0.08": math.inf}, "time_controls.8+0.08: inf is out of range"),
        ({"8+0.08": math.nan}, "time_controls.8+0.08: nan is out of range"),
        ({"fast": 1}, "time_controls.fast: 'fast' is not a time control"),
        ({"60": 1, "1:00": 2}, "time_controls.1:00: the key '60' is repeated"),
        ({"8": 1, "60+5byo": 2}, "time_controls.60+5byo: UCI has no byo-yomi such as 60+5byo"),
        ("8+0.08", "time_controls: '8+0.08' is not a dictionary"),
    ],
)
def test_wrong_time_controls_are_refused(time_controls: Any, message: str) -> None:
    with pytest.raises(Refused) as refused:
        spsa(time_controls=time_controls)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"nodes": 100}, "nodes: nodes"),
        ({"time_control": "10+0.1"}, "time_control: time_control"),
        ({"players": {"e": uci()}}, "players.e.nodes: nodes"),
        ({**REFERENCE, "players": {**UNLIMITED, "ref": uci()}}, "players.ref.nodes: nodes"),
        (
            {
                "players": {**UNLIMITED, "ref": uci(nodes=None, move_time=1)},
                "verify": call("Verify", 8, against="ref"),
            },
            "players.ref.move_time: move_time",
        ),
        (
            {"make_candidate": lambda Mobility, Space: uci(depth=3, nodes=None)},
            "make_candidate: it returned a Player with a wrong depth: depth",
        ),
    ],
)
def test_other_limits_beside_time_controls_are_refused(
    settings: dict[str, Any], place: str
) -> None:
    with pytest.raises(Refused) as refused:
        spsa(**settings)
    assert f"{place} contradicts time_controls, which set the clocks" in str(refused.value)
