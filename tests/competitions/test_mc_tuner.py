"""mc_tuner: candidates, choices, results, reports."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

from ringmaster.control.changes import Comparison, allow_all, canonical_settings, find_changes
from ringmaster.errors import SettingError, StoreError
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from ringmaster.reporting.tables import render_report
from tests.competitions.settings_of import (
    AGAINST_OPPONENT,
    Refused,
    again,
    call,
    candidate,
    drawn,
    make,
    uci,
    void,
    void_often,
)
from tests.competitions.settings_of import candidate_result as result


def parameter(code: str = "x", **settings: Any) -> Any:
    arguments = {"scale": call("LINEAR", 0.0, 8.0), "split": 2, **settings}
    return call("Parameter", code, **arguments)


def tuner(**changed: Any) -> Any:
    usual = {
        **AGAINST_OPPONENT,
        "parameters": [parameter("x"), parameter("y", split=3)],
        "exploration_coefficient": 0.45,
        "initial_visits": 10,
        "initial_wins": 5,
    }
    return make("mc_tuner", **{**usual, **changed})


def chess(**changed: Any) -> Any:
    usual = {
        "game": "chess",
        "players": {"opp": uci(), "e": uci(options={"Hash": 4})},
        "make_candidate": None,
        "player": "e",
        "board_size": None,
        "komi": None,
        "parameters": [parameter("Contempt", scale=call("LINEAR", -10, 10, integer=True))],
    }
    return tuner(**{**usual, **changed})


def unknown(job: GameJob) -> GameResult:
    return GameResult(job.id, job.attempt, "unknown", reason="move limit", detail="hit move limit")


def test_candidate_is_made_from_the_engine_parameters_in_order() -> None:
    job = tuner().next_job()
    player = job.players[1]
    x, y = job.parameters[1]["x"], job.parameters[1]["y"]
    assert player.command == ("engine", str(x), str(y))
    assert x in (2.0, 6.0)
    assert any(abs(y - sample) < 1e-9 for sample in (8 / 6, 4.0, 40 / 6))
    assert job.parameters[0] == {}


def test_records_show_parameters_through_their_formats() -> None:
    job = tuner(parameters=[parameter("x", format="X %.2f"), parameter("y")]).next_job()
    x, y = job.parameters[1]["x"], job.parameters[1]["y"]
    assert job.shown_parameters == ("", f"X {x:.2f}; y: {y}")
    assert job.round == 1


@pytest.mark.parametrize(
    ("game", "colour", "seats"),
    [
        ("go", "b", [0, 0, 0, 0]),
        ("go", "w", [1, 1, 1, 1]),
        ("go", "alternating", [0, 1, 0, 1]),
        ("chess", "w", [0, 0, 0, 0]),
        ("chess", "b", [1, 1, 1, 1]),
    ],
)
def test_candidate_colour_goes_by_the_game(game: str, colour: str, seats: list[int]) -> None:
    tune = (tuner if game == "go" else chess)(candidate_colour=colour)
    jobs = [tune.next_job() for _ in seats]
    assert [[p.code for p in j.players].index("opp") for j in jobs] == [1 - s for s in seats]


def test_random_colour_is_a_function_of_seed_and_game() -> None:
    def seats(seed: int) -> list[int]:
        tune = tuner(candidate_colour="random", seed=seed)
        return [tune.next_job().ticket["s"] for _ in range(40)]

    assert seats(1) == seats(1) != seats(2)
    assert 8 <= sum(seats(1)) <= 32


def test_options_of_a_player_can_be_the_parameters() -> None:
    job = chess(candidate_colour="w").next_job()
    options = job.players[0].options
    assert options["Hash"] == 4
    assert options["Contempt"] in (-5, 5)
    assert type(options["Contempt"]) is int


def test_win_loss_draw_and_unknown_result_count_one_nothing_half_and_nothing() -> None:
    tune = tuner(parameters=[parameter(split=1)], komi=7)
    for make_result in (
        lambda job: result(job, True),
        lambda job: result(job, False),
        drawn,
        unknown,
    ):
        job = tune.next_job()
        tune.record_result(job.ticket, make_result(job))
    (only,) = tune.summary().data()["candidates"]
    assert (only["games"], only["points"]) == (4, 1.5)
    assert only["value"] == (5 + 1.5) / 14
    assert only["win_rate"] == 1.5 / 4


def test_line_names_the_game_and_the_best_candidate() -> None:
    tune = tuner(parameters=[parameter(split=1, format="X: %.1f")])
    job = tune.next_job()
    verdict = tune.record_result(job.ticket, result(job, True))
    assert verdict.line == "game 0: X: 4.0 [(0)] beat opp B+3.5; best X: 4.0 [(0)] 0.545"


def test_void_game_uses_up_its_number_and_is_not_replayed() -> None:
    tune = tuner(number_of_games=3)
    first = tune.next_job()
    tune.record_result(first.ticket, result(first, True))
    second = tune.next_job()
    verdict = tune.record_result(second.ticket, void(second))
    assert not verdict.replay
    assert not verdict.halt
    third = tune.next_job()
    assert third.id == "2"
    tune.record_result(third.ticket, result(third, True))
    assert tune.next_job() is None
    assert tune.finished()
    assert tune.summary().progress.completed == 3


def test_run_ends_when_no_result_of_the_first_five_counts() -> None:
    tune = tuner()
    halts = [void_often(tune, tune.next_job(), 1)[0].halt for _ in range(5)]
    assert [bool(halt) for halt in halts] == [False] * 4 + [True]
    assert "the first 5 games all ended by faults" in halts[-1]


def test_tree_is_logged_after_every_period() -> None:
    tune = tuner(log_tree_to_history_period=2, max_depth=2)
    verdicts = []
    for _ in range(12):
        job = tune.next_job()
        verdicts.append(tune.record_result(job.ticket, result(job, True)))
    assert [bool(v.notes) for v in verdicts] == [False, True] * 6
    assert [bool(v.snapshot) for v in verdicts] == [False, True] * 6
    snapshot = json.loads(verdicts[-1].snapshot)
    assert snapshot["games"] == 12
    assert snapshot["points"] == 12
    first = [node for node in snapshot["nodes"] if len(node["path"]) == 1]
    assert len(first) == 6
    assert sum(node["games"] for node in first) == 12
    for node in snapshot["nodes"]:
        assert set(node["parameters"]) == {"x", "y"}
        assert node["visits"] == node["games"] + 10
        assert node["value"] == pytest.approx(node["wins"] / node["visits"])
        assert node["exploration"] > 0


def text(tune: Any, live: bool = False) -> str:
    return render_report(
        tune.summary(live=True).report if live else tune.summary().report,
        heading="",
        description="",
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"handicap": 9, "board_size": 5}, "handicap: fixed handicap 9 is too large for size 5"),
        ({"make_candidate": None}, "make_candidate: 'make_candidate' is missing"),
        (
            {"parameters": [parameter(), parameter()]},
            "parameters.1.code: parameter 'x' is declared",
        ),
        ({"parameters": [parameter(format="X")]}, "parameters.0.format: 'X' cannot show 2.0"),
        (
            {"parameters": [parameter(scale=call("LOG", 0, 10))]},
            "parameters.0.scale.lower_bound: a logarithmic scale cannot contain 0",
        ),
        (
            {"parameters": [parameter(scale=lambda f: 1 / 0)]},
            "parameters.0.scale: parameter 'x': called with (0.25), it raised ZeroDivisionError",
        ),
        (
            {"parameters": [parameter(split=1000), parameter("y", split=1000)]},
            "parameters: the splits make 1,000,000 candidates",
        ),
        ({"make_candidate": lambda x, y: 3}, "make_candidate: called with"),
        ({"make_candidate": lambda x: candidate(x)}, "make_candidate: called with"),
    ],
)
def test_wrong_settings_are_refused_where_they_stand(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        tuner(**changed)
    assert message in str(refused.value)


@pytest.mark.parametrize("split", range(1, 60))
def test_played_values_are_the_probed_values(split: int) -> None:
    """The middle of a tile must not fall to the other side of a half by a
    rounding error."""
    tune = tuner(parameters=[parameter(scale=call("LINEAR", 0, split, integer=True), split=split)])
    values = [c["parameters"]["x"] for c in tune.summary().data()["candidates"]]
    assert values == list(range(1, split + 1))
    whole = [tune.parameters[0].transform(tune.tree.centre((i,))[0]) for i in range(split)]
    assert whole == values


def test_scale_that_does_not_depend_on_its_argument_alone_is_refused() -> None:
    count = itertools.count()
    with pytest.raises(Refused, match=r"scale: called twice with .* it returned different values"):
        tuner(parameters=[parameter(scale=lambda f: next(count))])


def test_numbers_of_array_libraries_become_plain_ones() -> None:
    scale = call("EXPLICIT", [np.int64(3), np.float32(0.5), np.bool_(True)])
    tune = chess(parameters=[parameter(scale=scale, split=3)])
    values = [c["parameters"]["x"] for c in tune.summary().data()["candidates"]]
    assert values == [3, 0.5, True]
    assert [type(v) for v in values] == [int, float, bool]
    assert type(tune.next_job().players[0].options["x"]) in (int, float, bool)


def test_candidate_that_fails_later_gives_no_game_out() -> None:
    fail = []

    def make_candidate(x: float) -> Any:
        if fail:
            raise RuntimeError("told to")
        return candidate(x)

    tune = tuner(parameters=[parameter(split=8)], make_candidate=make_candidate)
    before = tune.state()
    fail.append(True)
    with pytest.raises(SettingError, match="told to"):
        tune.next_job()
    assert tune.state() == before
    fail.clear()
    assert tune.next_job().id == "0"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"parameters": [parameter("x"), parameter("z", split=3)]}, "x/2, y/3, .* x/2, z/3"),
        ({"parameters": [parameter("x", split=3), parameter("y", split=2)]}, "x/3, y/2"),
    ],
)
def test_state_of_other_parameters_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(StoreError, match=message):
        again(tuner(), tuner(**changed))


def test_tune_continues_after_number_of_games_was_raised() -> None:
    tune = tuner(number_of_games=2)
    for _ in range(2):
        job = tune.next_job()
        tune.record_result(job.ticket, result(job, True))
    assert tune.finished()
    more = again(tune, tuner(number_of_games=3))
    assert not more.finished()
    assert more.next_job().id == "2"
    assert more.next_job() is None


def test_game_beyond_a_lowered_number_of_games_is_not_wanted_but_kept() -> None:
    tune = tuner(number_of_games=10)
    jobs = [tune.next_job() for _ in range(3)]
    for job in jobs[:2]:
        tune.record_result(job.ticket, result(job, True))
    fewer = again(tune, tuner(number_of_games=2))
    assert not fewer.resume(jobs[2].ticket)
    assert fewer.finished()
    more = again(fewer, tuner(number_of_games=10))
    assert more.resume(jobs[2].ticket)
    assert more.next_job().id == "3"


def test_change_of_initial_visits_is_said_to_apply_to_new_candidates_only() -> None:
    tune, edited = tuner(), tuner(initial_visits=4, initial_wins=3)
    before, now = (canonical_settings(t.table, t.values) for t in (tune, edited))
    changes = find_changes(tune.table, before, now, lambda path: str(path[0]))
    assert [*Comparison(played=True, completed=30, changes=tuple(changes)).texts()] == [
        "initial_visits 10 → 4, applies to new candidates only: never with max_depth = 1",
        "initial_wins 5 → 3, applies to new candidates only: never with max_depth = 1",
    ]
    assert {change.change for change in allow_all(changes)} == {"free"}


def test_changed_initial_wins_apply_to_new_generations_only() -> None:
    tune = tuner(parameters=[parameter()], max_depth=2, exploration_coefficient=0)
    for _ in range(2):
        job = tune.next_job()
        tune.record_result(job.ticket, result(job, False))
    other = again(
        tune,
        tuner(
            parameters=[parameter()],
            max_depth=2,
            exploration_coefficient=0,
            initial_visits=4,
            initial_wins=3,
        ),
    )
    for _ in range(2):
        job = other.next_job()
        other.record_result(job.ticket, result(job, False))
    rates = {c["candidate"]: (c["games"], c["value"]) for c in other.summary().data()["candidates"]}
    assert rates["candidate(0)"][1] == 5 / (10 + rates["candidate(0)"][0])
    deep = [c for c in other.summary().data()["candidates"] if c["candidate"].count("(") == 2]
    assert deep
    assert any(c["value"] == 3 / 4 for c in deep)


def test_checks_are_of_the_opponent_and_of_the_first_and_last_candidate() -> None:
    jobs = tuner().setup().checks
    assert [j.player.command for j in jobs] == [
        ("opponent",),
        ("engine", "2.0", "1.3333333333333333"),
        ("engine", "6.0", "6.666666666666667"),
    ]


@pytest.mark.parametrize(
    ("changed", "warning"),
    [
        ({"number_of_games": 3}, "too few games (3) to try each of 6 candidates once"),
        ({"initial_wins": 11}, "initial_wins is more than initial_visits"),
        ({"summary_spec": [3, 4]}, "summary_spec has more entries"),
        (
            {"parameters": [parameter(scale=call("EXPLICIT", [1, 2, 3]), split=4)]},
            "split 4 does not give each of the 3 values of EXPLICIT an equal share",
        ),
        (
            {"parameters": [parameter(scale=call("LINEAR", 0, 2, integer=True), split=8)]},
            "some of its samples are the same",
        ),
    ],
)
def test_doubtful_settings_have_a_warning(changed: dict[str, Any], warning: str) -> None:
    assert any(warning in line for line in tuner(**changed).summary().warnings)
