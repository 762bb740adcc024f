"""clop_tuner: samples, opponents, colours, results, reports, bad settings."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from ringmaster.errors import StateRefused
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from tests.competitions.settings_of import (
    Refused,
    again,
    call,
    candidate_result,
    drawn,
    make,
    uci,
    void_often,
)


def parameter(code: str = "x", **settings: Any) -> Any:
    return call("Parameter", code, **{"min": 0, "max": 100, **settings})


def tuner(*parameters: Any, **changed: Any) -> Any:
    usual = {
        "game": "chess",
        "players": {"e": uci(), "o": uci("other"), "third": uci("third")},
        "player": "e",
        "opponent": "o",
        "parameters": list(parameters) or [parameter()],
    }
    return make("clop_tuner", **{**usual, **changed})


def values(job: GameJob) -> dict[str, Any]:
    return job.parameters[job.ticket["s"]]


def play(tune: Any, games: int, seed: int = 1, best: float = 70.0) -> list[GameJob]:
    """Play games whose candidates win more often near `best`."""
    rng = random.Random(seed)
    jobs = []
    for _ in range(games):
        job = tune.next_job()
        distance = (float(values(job)["x"]) - best) / 100
        won = rng.random() < 1 / (1 + math.exp(8 * distance**2 - 1))
        tune.record_result(job.ticket, candidate_result(job, won))
        jobs.append(job)
    return jobs


# samples and games


def test_first_samples_cover_the_range() -> None:
    tune = tuner()
    drawn_values = [values(tune.next_job())["x"] for _ in range(64)]
    assert min(drawn_values) < 10
    assert max(drawn_values) > 90


def test_samples_depend_on_the_seed_alone() -> None:
    one, same, other = tuner(seed=1), tuner(seed=1), tuner(seed=2)
    first = [values(t.next_job())["x"] for t in (one, same, other)]
    assert first[0] == first[1] != first[2]


def test_later_samples_gather_where_candidates_win() -> None:
    jobs = play(tuner(), 2000)
    late = [values(job)["x"] for job in jobs[-300:]]
    assert sum(45 < x < 95 for x in late) > 200


def test_integers_include_both_bounds_and_nothing_else() -> None:
    tune = tuner(parameter(integer=True, min=1, max=3))
    assert {values(tune.next_job())["x"] for _ in range(60)} == {1, 2, 3}


def test_gamma_parameters_are_drawn_by_their_logarithm() -> None:
    tune = tuner(parameter(scale="log", min=0.01, max=100))
    drawn_values = [values(tune.next_job())["x"] for _ in range(200)]
    assert 60 < sum(x < 1 for x in drawn_values) < 140


def test_candidate_has_the_values_as_options() -> None:
    tune = tuner(parameter(option="Mobility Weight"))
    job = tune.next_job()
    candidate = job.players[job.ticket["s"]]
    assert candidate.options == {"Mobility Weight": values(job)["x"]}
    assert candidate.code == "e:candidate"


def test_make_candidate_takes_values_by_position_as_in_gomill() -> None:
    tune = tuner(
        parameter(),
        player=None,
        make_candidate=lambda anything: uci(f"engine-{anything:.0f}"),
    )
    job = tune.next_job()
    assert job.players[job.ticket["s"]].command == (f"engine-{values(job)['x']:.0f}",)


def test_player_may_be_its_own_opponent() -> None:
    tune = tuner(opponent="e")
    for _ in range(2):
        job = tune.next_job()
        assert {player.code for player in job.players} == {"e", "e:candidate"}
        assert [len(player.options) for player in job.players].count(0) == 1
        tune.record_result(job.ticket, candidate_result(job, True))
    # with either colour
    (against,) = tune.summary().data()["opponents"]
    assert (against["wins"], against["losses"]) == (2, 0)


def test_sample_plays_every_opponent_with_both_colours() -> None:
    tune = tuner(opponent={"o": 1, "third": 2}, replications=2)
    jobs = [tune.next_job() for _ in range(12)]
    assert len({values(job)["x"] for job in jobs[:6]}) == 1
    assert values(jobs[6])["x"] != values(jobs[0])["x"]
    assert [(j.ticket["r"], j.ticket["s"]) for j in jobs[:6]] == [
        ("o", 0),
        ("o", 1),
        *[("third", 0), ("third", 1)] * 2,
    ]


def test_colours_alternate_against_each_opponent() -> None:
    tune = tuner(opponent=["o", "third"])
    jobs = [tune.next_job() for _ in range(8)]
    for code in ("o", "third"):
        assert [j.ticket["s"] for j in jobs if j.ticket["r"] == code] == [0, 1, 0, 1]


def test_void_games_are_replayed_until_too_many_end_the_run() -> None:
    tune = tuner()
    play(tune, 5)
    *reactions, last = void_often(tune, tune.next_job(), 11, "o")
    assert all(reaction.replay and not reaction.halt for reaction in reactions)
    assert "11 of the last 20 games ended by faults" in last.halt
    assert tune.summary().void_kinds == {"o": {"crash": 11}}
    assert len(tune.tuner) == 5


# estimates and reports


@pytest.mark.slow
def test_estimate_approaches_the_optimum() -> None:
    tune = tuner()
    play(tune, 4000)
    (row,) = tune.summary().data()["parameters"]
    assert row["estimate"] == pytest.approx(70, abs=8)
    assert row["low"] < 70 < row["high"]
    assert row["signal"]


def test_parameter_without_effect_has_no_signal() -> None:
    tune = tuner(parameter(), parameter("idle"))
    play(tune, 1500)
    assert [row["signal"] for row in tune.summary().data()["parameters"]] == [True, False]


@pytest.mark.parametrize("won", [True, False])
def test_opponent_that_tells_nothing_gives_no_signal(won: bool) -> None:
    tune = tuner()
    for _ in range(30):
        job = tune.next_job()
        tune.record_result(job.ticket, candidate_result(job, won))
    (row,) = tune.summary().data()["parameters"]
    assert row["estimate"] == pytest.approx(50, abs=20)
    assert not row["signal"]


def test_closing_match_is_against_the_first_opponent() -> None:
    tune = tuner(opponent=["o", "third"], number_of_games=50, verify=call("Verify", 4))
    play(tune, 50)
    job = tune.next_job()
    assert [player.code for player in job.players] == ["e:tuned", "o"]
    (row,) = tune.summary().data()["parameters"]
    assert job.parameters[0]["x"] == pytest.approx(row["estimate"], rel=1e-3)
    tune.record_result(job.ticket, drawn(job))
    assert tune.summary().progress.total == 54


def test_verify_without_settings_plays_the_opponent() -> None:
    tune = tuner(number_of_games=100)
    play(tune, 40)
    later = tuner(number_of_games=100)
    later.verify(2)
    later.restore(tune.state())
    assert [player.code for player in later.next_job().players] == ["e:tuned", "o"]


# state


def test_state_of_other_parameters_is_refused() -> None:
    tune = tuner()
    play(tune, 3)
    with pytest.raises(StateRefused, match="the tune is of x, the control file has z"):
        again(tune, tuner(parameter("z")))


def test_damaged_state_is_refused() -> None:
    tune = tuner()
    play(tune, 3)
    state = tune.state()
    with pytest.raises(ValueError, match="shorter than"):
        tuner().restore({**state, "tuner": {**state["tuner"], "results": "01"}})


# bad settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scale": "log", "min": 0, "max": 5}, "a logarithmic scale cannot contain 0"),
        ({"scale": "log", "integer": True, "min": 1, "max": 2}, "fewer than three values"),
    ],
)
def test_wrong_parameter_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        tuner(parameter(**settings))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"player": None}, "'make_candidate' is missing"),
        ({"make_candidate": lambda x: uci()}, "player and make_candidate exclude each other"),
        ({"verify": call("Verify", 4, against="nobody")}, "nobody"),
    ],
)
def test_wrong_setting_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused, match=message):
        tuner(**settings)


def test_opponent_with_the_code_of_the_candidates_is_refused() -> None:
    with pytest.raises(Refused, match="'candidate' is the code of the candidates"):
        tuner(
            players={"candidate": uci()},
            opponent="candidate",
            player=None,
            make_candidate=lambda x: uci(),
        )


def test_unknown_results_and_draws_count_half() -> None:
    tune = tuner()
    for outcome in ("draw", "unknown"):
        job = tune.next_job()
        tune.record_result(job.ticket, GameResult(job.id, 0, outcome))
    (against,) = tune.summary().data()["opponents"]
    assert against == {"code": "o", "weight": 1, "wins": 0, "draws": 2, "losses": 0}
    assert tune.summary().data()["local"]["share"] == 0.5
