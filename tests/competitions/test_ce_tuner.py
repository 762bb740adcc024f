"""ce_tuner: generations, elites, results, edits."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from ringmaster.errors import StoreError
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from tests.competitions.settings_of import (
    AGAINST_OPPONENT,
    Refused,
    again,
    call,
    drawn,
    make,
    void,
    void_often,
)
from tests.competitions.settings_of import candidate_result as result


def parameter(code: str = "x", **settings: Any) -> Any:
    return call("Parameter", code, **{"initial_mean": 1.0, "initial_variance": 4.0, **settings})


def tuner(**changed: Any) -> Any:
    usual = {
        **AGAINST_OPPONENT,
        "parameters": [parameter()],
        "number_of_generations": 2,
        "samples_per_generation": 4,
        "batch_size": 2,
        "elite_proportion": 0.5,
        "step_size": 0.75,
    }
    return make("ce_tuner", **{**usual, **changed})


def value(job: GameJob) -> float:
    return float(job.parameters[job.ticket["s"]]["x"])


def play(tune: Any, games: int, wins: Any = lambda job: True) -> list[Any]:
    verdicts = []
    for _ in range(games):
        job = tune.next_job()
        verdicts.append(tune.record_result(job.ticket, result(job, wins(job))))
    return verdicts


def test_candidates_play_in_turn_each_its_batch() -> None:
    tune = tuner()
    ids = [tune.next_job().id for _ in range(8)]
    assert ids == [f"g0#{c}r{r}" for r in (0, 1) for c in range(4)]
    assert tune.next_job() is None, "the next generation needs all results of this one"
    assert not tune.finished()


def test_candidate_plays_with_the_same_values_in_all_its_games() -> None:
    tune = tuner()
    jobs = [tune.next_job() for _ in range(8)]
    assert [value(j) for j in jobs[:4]] == [value(j) for j in jobs[4:]]
    assert len({value(j) for j in jobs}) == 4


def test_distribution_moves_towards_the_elite() -> None:
    tune = tuner()
    jobs = [tune.next_job() for _ in range(8)]
    ordered = sorted(value(j) for j in jobs[:4])
    for job in jobs:
        tune.record_result(job.ticket, result(job, value(job) >= ordered[2]))
    elite = ordered[2:]
    mean = sum(elite) / 2
    variance = sum((x - mean) ** 2 for x in elite) / 2
    (moved,) = tune.summary().data()["parameters"]
    assert moved["mean"] == pytest.approx(0.75 * mean + 0.25 * 1.0)
    assert moved["variance"] == pytest.approx(0.75 * variance + 0.25 * 4.0)


def test_history_reports_a_generation_with_its_elites_marked() -> None:
    tune = tuner(parameters=[parameter(format="X: %.2f")])
    best = max(value(tuner().next_job()) for _ in range(1))
    verdicts = play(tune, 8, lambda job: value(job) == best)
    notes = verdicts[-1].notes
    assert not any(v.notes for v in verdicts[:-1])
    assert notes[0] == "generation 0"
    assert notes[1] == "  X: 1.00"
    assert notes[2] == "  mean~variance: x 1.00~4.00"
    assert notes[3] == f"g0#0* X: {best:.2f} 2"
    assert [line.split()[0] for line in notes[3:]] == ["g0#0*", "g0#1*", "g0#2", "g0#3"]


def test_draw_and_unknown_result_count_half() -> None:
    tune = tuner(samples_per_generation=1, batch_size=3)
    job = tune.next_job()
    tune.record_result(job.ticket, drawn(job))
    job = tune.next_job()
    tune.record_result(
        job.ticket, GameResult(job.id, 0, "unknown", reason="score", detail="no score")
    )
    (only,) = tune.summary().data()["candidates"]
    assert (only["points"], only["games"]) == (1.0, 2)


def test_transform_makes_engine_parameters_of_optimiser_parameters() -> None:
    tune = tuner(parameters=[parameter(transform=lambda f: round(10**f), format="X: %d")])
    job = tune.next_job()
    assert job.players[1].command == ("engine", str(round(10 ** job.ticket["p"][0])))


def test_void_games_are_replayed_until_too_many_end_the_run() -> None:
    tune = tuner()
    play(tune, 1)
    *reactions, last = void_often(tune, tune.next_job(), 11)
    assert all(reaction.replay and not reaction.halt for reaction in reactions)
    assert "11 of the last 20 games ended by faults" in last.halt


def test_startup_checks_are_of_the_opponent_the_mean_and_a_candidate() -> None:
    opponent, mean, first = tuner().setup().checks
    assert opponent.player.code == "opp"
    assert mean.player.command == ("engine", "1.0")
    assert first.player.command[1] not in ("1.0", "")
    assert first.player.code.startswith("candidate x: ")


def test_all_candidates_are_one_contestant() -> None:
    summary = tuner().summary()
    job = tuner().next_job()
    assert [summary.contestant_of(player.code) for player in job.players] == ["opp", "candidate"]
    assert [each.player.code for each in summary.contestants] == ["candidate", "opp"]


def test_game_that_is_void_again_and_again_ends_the_run_whatever_the_others_do() -> None:
    tune = tuner(batch_size=30)
    play(tune, 1)
    job = tune.next_job()
    for attempt in range(12):
        failed = msgspec.structs.replace(void(job), attempt=attempt)
        halt = tune.record_result(job.ticket, failed).halt
        assert bool(halt) == (attempt == 11)
        play(tune, 2)
    assert halt.startswith(f"{job.id} was void 12 times")


def test_tune_continues_when_generations_are_added_after_the_end() -> None:
    tune = tuner(number_of_generations=1)
    play(tune, 8)
    assert tune.finished()
    assert tune.next_job() is None
    more = again(tune, tuner(number_of_generations=2))
    assert not more.finished()
    assert more.next_job().id == "g1#0r0"
    assert more.summary().data()["parameters"] == tune.summary().data()["parameters"]


def test_raised_batch_size_gives_the_present_generation_more_games() -> None:
    tune = tuner(batch_size=1)
    play(tune, 3)
    more = again(tune, tuner(batch_size=2))
    assert [more.next_job().id for _ in range(5)] == [
        "g0#3r0",
        "g0#0r1",
        "g0#1r1",
        "g0#2r1",
        "g0#3r1",
    ]


def test_batch_size_is_not_below_the_games_of_a_candidate() -> None:
    tune = tuner(batch_size=3)
    play(tune, 5)
    assert len(again(tune, tuner(batch_size=2)).state()["games"]) == 4
    with pytest.raises(StoreError, match="a candidate of this generation has 2 games; lower"):
        again(tune, tuner(batch_size=1))
    # no game would end the generation
    play(tune, 3)
    with pytest.raises(StoreError, match="a candidate of this generation has 2 games; lower"):
        again(tune, tuner(batch_size=2))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"parameters": [parameter("z")]}, "the tune is of x, the control file has z now"),
        ({"samples_per_generation": 5}, "generations have 4 candidates, not 5"),
    ],
)
def test_state_of_other_settings_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(StoreError, match=message):
        again(tuner(), tuner(**changed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"elite_proportion": 0}, "elite_proportion: 0 is out of range"),
        (
            {"parameters": [parameter(initial_variance=-1)]},
            "parameters.0.initial_variance: -1 is out of range",
        ),
    ],
)
def test_wrong_settings_are_refused_where_they_stand(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        tuner(**changed)
    assert message in str(refused.value)


def test_tune_converges_on_simulated_players() -> None:
    tune = tuner(
        parameters=[parameter(initial_mean=0, initial_variance=9)],
        number_of_generations=12,
        samples_per_generation=40,
        batch_size=10,
        elite_proportion=0.2,
        step_size=0.7,
    )
    rng = random.Random(5)
    while not tune.finished():
        job = tune.next_job()
        rate = 0.9 - 0.1 * (value(job) - 2) ** 2
        tune.record_result(job.ticket, result(job, rng.random() < rate))
    assert tune.summary().data()["parameters"][0]["mean"] == pytest.approx(2, abs=0.5)
