"""optuna_tuner: trials, conditional parameters, early ends, edits, reports."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from ringmaster.competitions.optuna_tuner import settings as optuna_settings
from ringmaster.errors import SettingError
from ringmaster.model.jobs import GameJob, is_of_closing_match
from tests.competitions.settings_of import Refused, again, call, make, uci, won
from tests.requirements import package

package("optuna")
pytestmark = pytest.mark.optional


def parameter(code: str, **settings: Any) -> Any:
    return call("Parameter", code, **settings)


MOBILITY = parameter("Mobility", start=50, min=0, max=100, integer=True)
STYLE = parameter("Style", start="solid", choices=["solid", "wild", "mad"])
RISK = parameter("Risk", start=3, min=1, max=9, integer=True, only_if={"Style": ["wild", "mad"]})
X = parameter("X", start=1, min=0, max=10)


def tuner(**settings: Any) -> Any:
    return make(
        "optuna_tuner",
        **{
            "game": "chess",
            "players": {"e": uci(options={"Hash": 4}), "o": uci("other"), "p": uci("third")},
            "player": "e",
            "parameters": [MOBILITY, STYLE, RISK],
            "sampler": "random",
            "number_of_trials": 6,
            "games_per_trial": 4,
            "end_hopeless": None,
            **settings,
        },
    )


def own_seat(job: GameJob) -> int:
    """Return the seat of the candidate, or of the tuned side."""
    return next(i for i, p in enumerate(job.players) if p.code.endswith((":trial", ":tuned")))


def win(job: GameJob, wins: bool = True) -> Any:
    """Return a win of the candidate, or its loss."""
    seat = own_seat(job)
    return won(job, job.players[seat if wins else 1 - seat].code)


def own_options(job: GameJob) -> dict[str, Any]:
    return dict(job.players[own_seat(job)].options)


def play(tune: Any, wins: Callable[[GameJob], bool], most: int = 10**6) -> list[GameJob]:
    """Play games one at a time."""
    jobs: list[GameJob] = []
    while len(jobs) < most and (job := tune.next_job()) is not None:
        tune.record_result(job.ticket, win(job, wins(job)))
        jobs.append(job)
    return jobs


def mobile(job: GameJob) -> bool:
    """Return whether the candidate wins: with high mobility, by chance."""
    chance = random.Random(job.id).random()
    return chance < 0.6 - abs(own_options(job)["Mobility"] - 80) / 200


# games


def test_pair_has_one_opening_and_both_colours() -> None:
    one, two = play(tuner(), mobile, 2)
    assert [p.code for p in one.players] == ["e:trial", "e:start"]
    assert [p.code for p in two.players] == ["e:start", "e:trial"]
    assert own_options(one) == own_options(two)
    assert (one.id, two.id, one.round, two.round) == ("1_0", "1_1", 1, 1)
    assert (one.ticket["n"], two.ticket["n"]) == (0, 0)


def test_each_pair_of_the_tune_has_its_own_opening() -> None:
    jobs = play(tuner(), mobile)
    assert [job.ticket["n"] for job in jobs] == [i // 2 for i in range(20)]


def test_start_values_are_the_first_trial_against_an_opponent() -> None:
    tune = tuner(opponent="o")
    first = tune.next_job()
    assert [p.code for p in first.players] == ["e:trial", "o"]
    assert own_options(first) == {"Hash": 4, "Mobility": 50, "Style": "solid"}


def test_opponents_alternate_by_weight_within_each_trial() -> None:
    tune = tuner(opponent={"o": 2, "p": 1}, games_per_trial=6, number_of_trials=2)
    jobs = play(tune, mobile)
    others = [job.players[1 - own_seat(job)].code for job in jobs]
    assert others[:6] == others[6:]
    assert others[:6].count("o") == 4


def test_parameter_is_set_only_beside_its_choice() -> None:
    jobs = play(tuner(number_of_trials=30), mobile)
    styles = {(o["Style"], "Risk" in o) for o in map(own_options, jobs)}
    assert styles == {("solid", False), ("wild", True), ("mad", True)}


def test_make_candidate_gets_none_for_a_parameter_that_does_not_exist() -> None:
    seen: list[Any] = []

    def make_candidate(Mobility: int, Style: str, Risk: int | None) -> Any:
        seen.append((Style, Risk))
        return uci(f"engine-{Mobility}")

    play(tuner(make_candidate=make_candidate, number_of_trials=30), lambda job: True)
    assert {style for style, risk in seen if risk is None} == {"solid"}
    assert {style for style, risk in seen if risk is not None} == {"wild", "mad"}


def test_numbers_are_on_their_steps_and_short() -> None:
    rate = parameter("Rate", start=1, min=0.1, max=10, scale="log")
    share = parameter("Share", start=0.3, min=0.1, max=0.9, step=0.1)
    jobs = play(tuner(parameters=[rate, share]), lambda job: True)
    for options in map(own_options, jobs):
        assert options["Share"] in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        assert len(str(options["Rate"])) <= 8


# ends of trials


def test_hopeless_candidate_is_ended_after_a_complete_pair() -> None:
    tune = tuner(end_hopeless=0.05, games_per_trial=100)
    notes: list[str] = []
    while not notes:
        job = tune.next_job()
        reaction = tune.record_result(job.ticket, win(job, False))
        notes = list(reaction.notes)
    assert notes[0] == "trial 1 is hopeless: 0.000 of 0.500"
    assert notes[1].startswith("trial 1: 0.000 in 14 games")
    assert reaction.save
    assert tune.next_job().ticket["t"] == 2


def test_open_pair_of_a_hopeless_candidate_is_completed() -> None:
    tune = tuner(end_hopeless=0.05, games_per_trial=100)
    jobs = [tune.next_job() for _ in range(15)]
    for job in jobs[:14]:
        tune.record_result(job.ticket, win(job, False))
    following = tune.next_job()
    assert (following.ticket["t"], following.ticket["g"]) == (1, 15)
    assert tune.next_job().ticket["t"] == 2


def test_candidate_with_all_games_issued_is_not_called_hopeless() -> None:
    tune = tuner(end_hopeless=0.05, games_per_trial=14)
    play(tune, lambda job: False)
    assert tune.summary().data()["trials"]["ended_early"] == 0


def test_reference_of_a_trial_is_the_best_estimate_at_its_beginning() -> None:
    tune = tuner(end_hopeless=0.05, number_of_trials=20, games_per_trial=20)
    jobs = play(tune, lambda job: own_options(job)["Mobility"] > 50)
    references = {job.ticket["t"]: job.ticket["b"] for job in jobs}
    assert references[1] == pytest.approx(0.5, abs=0.001)
    assert references[19] > 0.6


# the best


def test_best_candidate_is_not_the_luckiest() -> None:
    tune = tuner(
        parameters=[MOBILITY], number_of_trials=60, games_per_trial=10, sampler="random", seed=3
    )
    play(tune, mobile)
    summary = tune.summary().data()
    luckiest = max(summary["candidates"], key=lambda row: row["score"])
    best = summary["candidates"][0]
    assert best["trial"] == summary["best"]
    assert best["estimate"] < luckiest["score"] - 0.1
    assert abs(best["parameters"]["Mobility"] - 80) < 20
    assert summary["gain"]["score"] > 0


def test_closing_match_plays_the_best_against_the_start_values() -> None:
    tune = tuner(verify=call("Verify", 4), number_of_trials=12)
    jobs = play(tune, lambda job: own_options(job)["Style"] != "solid")
    closing = [job for job in jobs if is_of_closing_match(job.ticket)]
    assert len(closing) == 4
    assert {p.code for job in closing for p in job.players} == {"e:tuned", "e:start"}
    tuned = own_options(closing[0])
    assert tuned["Style"] in ("wild", "mad")
    assert closing[0].parameters[own_seat(closing[0])]["Style"] == tuned["Style"]
    assert tune.finished()


def charted(tune: Any) -> dict[str, Any]:
    """Return the charts by the keys of their groups."""
    groups = tune.charts([])
    assert all(group.charts and group.text for group in groups)
    return {group.key: group.charts for group in groups}


def test_charts_show_trials_parameters_and_importance() -> None:
    tune = tuner(number_of_trials=15, end_hopeless=0.5)
    assert tune.charts([]) == []
    play(tune, lambda job: own_options(job)["Mobility"] > 50)
    charts = charted(tune)
    assert list(charts) == ["best", "samples", "surface", "importance"]
    best = tune.summary().data()["candidates"][0]
    course = next(p for p in charts["best"][0].pieces if p.name == "best estimate so far")
    assert course.points[-1] == (14.0, pytest.approx(best["estimate"]))
    assert f"trial {best['trial']}" in charts["best"][0].note


def test_importance_of_a_parameter_that_hardly_varied_is_unknown() -> None:
    narrow = parameter("Narrow", start=5, min=0, max=1000, integer=True)
    tune = tuner(
        number_of_trials=40,
        parameters=[MOBILITY, narrow],
        constraint=lambda **values: values["Narrow"] < 90,
    )
    play(tune, lambda job: own_options(job)["Mobility"] > 50)
    (bars,) = charted(tune)["importance"]
    assert bars.names == ("Mobility", "Narrow")
    assert bars.series[0].values[0] > 90
    assert bars.series[0].values[1] is None
    assert "Narrow" in bars.note


# edits


def test_more_trials_continue_the_tune() -> None:
    tune = tuner()
    play(tune, mobile)
    longer = again(tune, tuner(number_of_trials=8))
    assert not longer.finished()
    assert {job.ticket["t"] for job in play(longer, mobile)} == {6, 7}


def test_new_sampler_proposes_the_next_trial() -> None:
    tune = tuner()
    play(tune, mobile, 6)
    fresh = tuner(sampler="tpe")
    fresh.restore(tune.state())
    assert fresh.apply_edits([]) == [
        "from trial 3 on, 'tpe' proposes candidates instead of 'random'"
    ]
    samplers = {job.ticket["t"]: job.ticket["s"] for job in play(fresh, mobile)}
    assert samplers == {2: "random", 3: "tpe", 4: "tpe", 5: "tpe"}


def test_fewer_games_end_a_trial_that_has_played_them() -> None:
    tune = tuner(games_per_trial=10)
    play(tune, mobile, 6)
    fresh = tuner(games_per_trial=4)
    fresh.restore(tune.state())
    (line,) = fresh.apply_edits([])
    assert line.startswith("trial 1: ")
    assert fresh.next_job().ticket["t"] == 2


def test_start_values_that_the_constraint_refuses_are_an_error() -> None:
    with pytest.raises(Refused, match="it refuses the start values"):
        tuner(constraint=lambda Mobility, Style, Risk: Mobility > 50)


def test_constraint_sees_names_of_choices_and_none() -> None:
    seen: list[Any] = []

    def constraint(**values: Any) -> bool:
        seen.append(values)
        return True

    play(tuner(constraint=constraint), mobile)
    assert seen[0] == {"Mobility": 50, "Style": "solid", "Risk": None}


@pytest.mark.slow
def test_constraint_that_refuses_everything_but_the_start_ends_the_run() -> None:
    tune = tuner(parameters=[X], constraint=lambda X: X == 1)
    tune.prepare()
    with pytest.raises(SettingError, match="it refused 100 candidates of the sampler in a row"):
        play(tune, mobile)


def test_constraint_that_raises_is_an_error_of_the_setting() -> None:
    with pytest.raises(Refused, match=r"constraint: called with .* raised KeyError"):
        tuner(constraint=lambda **values: values["mobility"])


# wrong settings


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {
                "parameters": [
                    STYLE,
                    parameter("R", start=1, min=0, max=2, only_if={"Stile": "mad"}),
                ]
            },
            "parameters.1.only_if.Stile: parameter 'R' depends on 'Stile', which is not a "
            "parameter with choices above it; expected 'Style'",
        ),
        (
            {"parameters": [RISK, STYLE]},
            "which is not a parameter with choices above it; expected such",
        ),
        (
            {
                "parameters": [
                    STYLE,
                    parameter("R", start=1, min=0, max=2, only_if={"Style": "bad"}),
                ]
            },
            "which never is 'bad'; expected one of 'solid', 'wild', 'mad'",
        ),
        (
            {"parameters": [parameter("X", start=1, min=0, max=9, scale="log")]},
            "a logarithmic scale cannot contain 0; expected a number above 0",
        ),
        (
            {"parameters": [parameter("X", start=0, min=0, max=10, step=4)]},
            "max 10 is not a whole number of steps of 4 above min 0; expected 8 or 12",
        ),
        ({"parameters": [parameter("X", start=0)]}, "'min' is missing; expected a number; or"),
        (
            {"parameters": [parameter("X", start="a", choices=["b", "c"])]},
            "start 'a' is not among its choices; expected one of 'b', 'c'",
        ),
        ({"sampler": "cmaes"}, "'cmaes' needs two or more numbers"),
    ],
)
def test_wrong_setting_is_refused_with_its_remedy(settings: Any, message: str) -> None:
    with pytest.raises(Refused) as refused:
        tuner(**settings)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("sampler", "missing", "command"),
    [
        ("tpe", "optuna", "pip install 'ringmaster-engines[tuners]'"),
        ("tpe", "sklearn", "pip install 'ringmaster-engines[tuners]'"),
        ("cmaes", "cmaes", "pip install 'ringmaster-engines[tuners]'"),
        ("gp", "torch", "pip install torch"),
    ],
)
def test_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, sampler: str, missing: str, command: str
) -> None:
    monkeypatch.setattr(
        optuna_settings.importlib.util, "find_spec", lambda name: None if name == missing else 1
    )
    tune = tuner(sampler=sampler, parameters=[MOBILITY, X])
    with pytest.raises(SettingError, match=f"needs {missing}, which is not installed") as raised:
        tune.prepare()
    assert str(raised.value).endswith(command)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"sampler": "cmaes", "parameters": [MOBILITY, X, STYLE]},
            "sampler 'cmaes' draws Style at random",
        ),
        ({"sampler": "nsga2"}, "sampler 'nsga2' draws Risk at random"),
        (
            {"opponent": ["o", "p"], "games_per_trial": 6},
            "games_per_trial 6 is not a multiple of 4",
        ),
    ],
)
def test_doubtful_setting_is_warned_of(settings: Any, message: str) -> None:
    assert any(line.startswith(message) for line in tuner(**settings).summary().warnings)


def test_every_choice_is_checked_before_the_first_game() -> None:
    checked = [job.player.options for job in tuner().setup().checks]
    assert {options["Style"] for options in checked} == {"solid", "wild", "mad"}
    assert {options["Mobility"] for options in checked} == {0, 50, 100}


def test_options_of_the_startup_test_leave_out_conditional_parameters() -> None:
    tuned = tuner().setup().options
    assert tuned is not None
    assert [change.code for change in tuned.changes] == ["Mobility", "Style"]
