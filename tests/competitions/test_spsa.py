"""SPSA competitions: pairs, candidates, tickets, refused settings."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from ringmaster.errors import SettingError
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from ringmaster.tuners.spsa import course
from tests.competitions.settings_of import (
    Refused,
    again,
    call,
    drawn,
    make,
    uci,
    void,
    void_often,
    won,
)


def parameter(code: str = "Mobility", **settings: Any) -> Any:
    defaults = {"start": 50, "min": 0, "max": 100, "c_end": 4, "r_end": 0.02, "integer": True}
    return call("Parameter", code, **{**defaults, **settings})


FROZEN = parameter("Contempt", start=7, frozen=True)


def spsa(**settings: Any) -> Any:
    return make(
        "spsa",
        **{
            "game": "chess",
            "players": {"e": uci(options={"Hash": 4})},
            "player": "e",
            "parameters": [parameter(), parameter("Space", integer=False)],
            "number_of_games": 20,
            "method": "classic",
            **settings,
        },
    )


def options(job: GameJob) -> list[dict[str, Any]]:
    return [dict(player.options) for player in job.players]


def test_iteration_is_one_pair_with_colours_swapped() -> None:
    tune = spsa()
    one, two = tune.next_job(), tune.next_job()
    assert [p.code for p in one.players] == ["e+", "e-"]
    assert [p.code for p in two.players] == ["e-", "e+"]
    assert options(one) == options(two)[::-1]
    assert (one.id, two.id) == ("01a", "01b")
    assert one.opening == two.opening


def test_parameters_are_set_beside_the_players_own_options() -> None:
    first, second = options(spsa().next_job())
    assert first["Hash"] == second["Hash"] == 4
    assert first["Mobility"] != second["Mobility"]
    assert isinstance(first["Mobility"], int)
    assert first["Space"] - 50 == pytest.approx(50 - second["Space"])


def test_make_candidate_of_the_control_file_makes_the_players() -> None:
    def make_candidate(mob: int) -> Any:
        return call("Player", ["engine", f"--mob={mob}"], depth=1)

    job = spsa(parameters=[parameter("mob")], make_candidate=make_candidate).next_job()
    commands = [player.command for player in job.players]
    assert commands == [("engine", f"--mob={p['mob']}") for p in job.parameters]


def test_winner_pulls_the_parameters_to_its_side() -> None:
    tune = spsa()
    jobs = [tune.next_job(), tune.next_job()]
    start = list(tune.tuner.theta)
    for job in jobs:
        verdict = tune.record_result(job.ticket, won(job, "e+"))
    for before, now, plus, minus in zip(
        start, tune.tuner.theta, *(p.values() for p in jobs[0].parameters), strict=True
    ):
        assert (now - before) * (plus - minus) > 0
    assert verdict.notes[0].startswith("iteration 1: W-L +2;")


def test_theta_moves_only_after_both_games() -> None:
    tune = spsa()
    job = tune.next_job()
    tune.record_result(job.ticket, won(job, "e+"))
    assert tune.tuner.theta.tolist() == [50, 50]


def outcome(job: GameJob) -> GameResult:
    """Return a result as a function of the job, like deterministic engines."""
    codes = [*(p.code for p in job.players), None]
    code = random.Random(f"{job.id} {job.parameters}").choice(codes)
    return drawn(job) if code is None else won(job, code)


def play_out(tune: Any, most: int | None = None) -> int:
    """Play one game at a time; returns how many."""
    played = 0
    while (most is None or played < most) and (job := tune.next_job()) is not None:
        tune.record_result(job.ticket, outcome(job))
        played += 1
    return played


#: Settings of every kind of tune.
KINDS: dict[str, dict[str, Any]] = {
    "classic": {},
    "nominal": {"update": "nominal", "k_counts": "pairs", "rounding": "nearest"},
    "adaptive": {"method": "adaptive", "number_of_games": 60, "seed": 2},
    "constant": {"method": "constant"},
    "blog": {
        "method": "blog",
        "annealing": call("Annealing", s=2, epsilon=10, games=10),
        "epsilon": 0.5,
    },
    "weather_factory": {"method": "weather_factory", "a": 1000},
    "four games": {"games_per_iteration": 4},
    "reference": {"pairing": "reference", "opponent": "ref"},
    "reference, six games": {
        "pairing": "reference",
        "opponent": "ref",
        "games_per_iteration": 6,
        "number_of_games": 24,
    },
    "several references": {"pairing": "reference", "opponent": {"ref": 2, "other": 1}},
    "time controls": {
        "players": {"e": uci(nodes=None), "ref": uci(nodes=None)},
        "games_per_iteration": 4,
        "pairing": "reference",
        "opponent": "ref",
        "time_controls": {"8+0.08": 0.7, "40+0.4": 0.3},
    },
}


def tune_of(kind: str, **settings: Any) -> Any:
    return spsa(
        **{
            "players": {
                "e": uci(options={"Hash": 4}),
                "ref": uci("reference"),
                "other": uci("other"),
            },
            "parameters": [parameter(), parameter("Space", integer=False), FROZEN],
            **KINDS[kind],
            **settings,
        }
    )


@pytest.mark.parametrize("kind", KINDS)
def test_ticket_alone_rebuilds_the_job(kind: str) -> None:
    tune, other = tune_of(kind), tune_of(kind)
    for _ in range(12):
        job = tune.next_job()
        assert (
            other.make_job(job.id, 0, msgspec.json.decode(msgspec.json.encode(job.ticket))) == job
        )
        played = other.describe(job.ticket)
        assert played.parameters == job.parameters
        assert played.players == tuple(p.code for p in job.players)
        tune.record_result(job.ticket, outcome(job))


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [
        ("classic", {("e+", "e-")}),
        ("several references", {("e+", "ref"), ("e+", "other"), ("e-", "ref"), ("e-", "other")}),
    ],
)
def test_results_have_one_tally_for_each_pair_of_players(
    kind: str, pairs: set[tuple[str, str]]
) -> None:
    tune = tune_of(kind)
    points: dict[tuple[str, str], float] = {}
    for _ in range(16):
        job = tune.next_job()
        result = outcome(job)
        tune.record_result(job.ticket, result)
        codes = tuple(player.code for player in job.players)
        pair = codes if codes in pairs else codes[::-1]
        points[pair] = points.get(pair, 0) + result.points(codes.index(pair[0]))
    tallies = tune.state()["tallies"].values()
    assert {tuple(tally["players"]) for tally in tallies} == pairs
    for tally in tallies:
        wins, _, draws, _ = (sum(column) for column in zip(*tally["by_colour"], strict=True))
        assert wins + draws / 2 == points[tuple(tally["players"])]


def test_void_game_is_replayed_and_does_not_count() -> None:
    tune = spsa()
    one, two = tune.next_job(), tune.next_job()
    tune.record_result(one.ticket, won(one, "e+"))
    verdict = tune.record_result(two.ticket, void(two))
    assert verdict.replay
    assert tune.summary().progress.completed == 1
    tune.record_result(two.ticket, won(two, "e+"))
    assert tune.tuner.iterations == 1


def test_state_does_not_grow_with_the_number_of_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "MOST_POINTS", 50)
    monkeypatch.setattr(course, "FEWEST_POINTS", 50)
    sizes = []
    for games in (400, 2000):
        tune = spsa(number_of_games=2000)
        play_out(tune, games)
        sizes.append(len(msgspec.json.encode(tune.state())))
    assert sizes[1] < 1.2 * sizes[0]


def test_whole_range_of_each_parameter_is_checked_before_the_first_game() -> None:
    values = [job.player.options["Mobility"] for job in spsa().setup().checks]
    assert values[:3] == [50, 0, 100]


def test_check_before_the_first_game_tries_fractions_of_non_integer_parameters() -> None:
    for method in ("classic", "adaptive"):
        jobs = spsa(parameters=[parameter(integer=False)], method=method).setup().checks
        values = [job.player.options["Mobility"] for job in jobs]
        assert any(value != int(value) for value in values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": 101}, "parameters.0.start: parameter 'Mobility': start 101 is outside"),
        ({"min": 200}, "parameters.0.min: parameter 'Mobility': min 200 is more than max 100"),
        ({"min": 50, "max": 50}, "min and max are both 50"),
        ({"min": 0.5}, "parameters.0.min: parameter 'Mobility': 0.5 is not an integer"),
        ({"c_end": 60}, "parameters.0.c_end: parameter 'Mobility': c_end 60 is more than half"),
    ],
)
def test_wrong_parameter_is_refused_at_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        spsa(parameters=[parameter(**change)])
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": [parameter(), parameter()]}, "parameters.1.code: parameter 'Mobility'"),
        ({"alpha": 1e4}, "alpha: 10000.0 is out of range"),
        (
            {
                "parameters": [parameter(min=-1e20, max=1e20, c_end=1e15, integer=False)],
                "gamma": 10,
                "number_of_games": 10**9,
            },
            "parameters.0: its gain sequences overflow",
        ),
        (
            {"parameters": [parameter(min=-1e200, max=1e200, c_end=1e150, integer=False)]},
            "parameters.0.min: parameter 'Mobility': a range of 2e+200 is out of numerical bounds",
        ),
        ({"make_candidate": lambda **v: 3}, "make_candidate: called with"),
        ({"make_candidate": lambda x: 3}, "raised TypeError"),
        ({"make_candidate": lambda **v: call("Player", "x")}, "nothing limits the moves"),
    ],
)
def test_wrong_setting_is_refused_at_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(Refused) as refused:
        spsa(**change)
    assert message in str(refused.value)


def test_perturbation_hidden_by_rounding_gives_a_warning() -> None:
    assert any(
        "raised to 0.5" in w for w in spsa(parameters=[parameter(c_end=0.1)]).summary().warnings
    )


def test_failing_make_candidate_issues_no_game() -> None:
    fail = False

    def make_candidate(mob: int) -> Any:
        assert not fail
        return uci()

    tune = spsa(parameters=[parameter("mob")], make_candidate=make_candidate)
    tune.next_job()
    tune.next_job()
    before = tune.state()
    fail = True
    with pytest.raises(SettingError, match="AssertionError"):
        tune.next_job()
    assert tune.state() == before


def test_next_run_gives_a_broken_engine_another_chance() -> None:
    tune = spsa()
    one, two = tune.next_job(), tune.next_job()
    tune.record_result(one.ticket, won(one, "e+"))
    assert not any(reaction.halt for reaction in void_often(tune, two, 10))
    later = again(tune, spsa())
    assert not later.record_result(two.ticket, void(two)).halt
    assert later.summary().void_kinds == {"": {"crash": 11}}


def test_tune_whose_games_end_by_faults_stops_and_its_verdict_says_so() -> None:
    tune = spsa()
    fault = {"winner": 1, "reason": "illegal move", "forfeit": True, "faulty": 0}
    jobs = [tune.next_job() for _ in range(5)]
    *halts, halt = [
        tune.record_result(job.ticket, GameResult(job.id, 0, "win", **fault)).halt for job in jobs
    ]
    assert not any(halts)
    assert halt.startswith("the first 5 games all ended by faults (illegal move): repair")
    summary = tune.summary()
    assert summary.doubts[0].sentence == "e lost 5 of 5 games by faults (5 illegal moves)"
    assert summary.verdict.endswith(f"; doubtful: {summary.doubts[0].sentence}")
