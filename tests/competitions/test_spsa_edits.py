"""Tunes with edits of the control file between runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from tests.competitions.golden import check_golden
from tests.competitions.settings_of import call, drawn, make, uci, won

RANGES = {"A": (0, 50, 100), "B": (-10, 0, 30), "C": (1000, 1500, 3000), "D": (0, 10, 20)}


def parameter(code: str = "A", **arguments: Any) -> Any:
    low, start, high = RANGES[code]
    width = high - low
    defaults = {"start": start, "min": low, "max": high, "c_end": width / 20, "r_end": 0.05}
    return call("Parameter", code, **{**defaults, **arguments})


def spsa(*parameters: Any, **arguments: Any) -> Any:
    return make(
        "spsa",
        **{
            "game": "chess",
            "players": {"e": uci()},
            "player": "e",
            "method": "classic",
            "parameters": list(parameters or (parameter("A"), parameter("B"))),
            "number_of_games": 200,
            **arguments,
        },
    )


def timed(time_controls: dict[str, float], *parameters: Any, **arguments: Any) -> Any:
    players = {"e": uci(nodes=None)}
    return spsa(*parameters, players=players, time_controls=time_controls, **arguments)


def outcome(job: GameJob) -> GameResult:
    """Return a result as a function of the played values and the game's id."""
    best = {"A": 90, "B": 25, "C": 2800, "D": 3}
    loss = [
        sum(
            ((values[code] - best[code]) / (RANGES[code][2] - RANGES[code][0])) ** 2
            for code in values
        )
        for values in job.parameters
    ]
    luck = random.Random(job.id).gauss(loss[1] - loss[0], 0.2)
    if abs(luck) < 0.05:
        return drawn(job)
    return won(job, job.players[0 if luck > 0 else 1].code)


class Runs:
    """A stored tune, run under one control file after another.

    saved   whether the state is stored with a result
    lines   reported effects of edits
    """

    def __init__(self, *, saved: Callable[[], bool] = lambda: True) -> None:
        self.saved = saved
        self.lines: list[str] = []
        self.snapshot: bytes | None = None
        self.since: list[tuple[Any, GameResult]] = []
        self.history: list[tuple[Any, GameResult]] = []
        #: θ after each iteration, as it was then.
        self.thetas: list[dict[str, float]] = []
        self.issued: dict[str, GameJob] = {}

    def begin(self, tune: Any, *, killed: bool = False) -> list[str]:
        """Start a run; return the lines on edits.

        killed  before the run stores its state
        """
        if self.snapshot is not None:
            tune.restore(msgspec.json.decode(self.snapshot))
        for ticket, result in self.since:
            tune.record_result(ticket, result)
        lines: list[str] = tune.apply_edits([_stored(job.ticket) for job in self.issued.values()])
        self.tune = tune
        if killed:
            return lines
        self.lines += lines
        if lines or self.snapshot is None:
            self.save()
        for game_id, job in self.issued.items():
            if tune.resume(_stored(job.ticket)):
                self.issued[game_id] = tune.make_job(game_id, 0, _stored(job.ticket))
        return lines

    def save(self) -> None:
        self.snapshot = msgspec.json.encode(self.tune.state())
        self.since = []

    def issue(self) -> GameJob:
        """Issue a game."""
        job: GameJob = self.tune.next_job()
        self.issued[job.id] = job
        return job

    def state(self) -> Any:
        """Return the state in its stored form."""
        return _stored(self.tune.state())

    def play(self, games: int, *, in_flight: int = 1, keep: int = 0) -> None:
        """Play games, the newest first; `keep` games stay in progress."""
        for _ in range(games):
            while len(self.issued) < in_flight and (job := self.tune.next_job()) is not None:
                assert job.id not in self.issued
                self.issued[job.id] = job
            if len(self.issued) <= keep:
                return
            job = self.issued.pop(list(self.issued)[-1])
            result = outcome(job)
            self.since.append((_stored(job.ticket), result))
            self.history.append(self.since[-1])
            completed = self.tune.tuner.iterations
            self.tune.record_result(_stored(job.ticket), result)
            if self.tune.tuner.iterations > completed:
                self.thetas.append(theta(self.tune))
            if self.saved():
                self.save()


def _stored(data: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(data))


def edited(before: Any, after: Any, games: int = 60, **play: Any) -> tuple[Runs, list[str]]:
    """Play under one control file, then begin a run under another."""
    runs = Runs()
    runs.begin(before)
    runs.play(games, **play)
    lines = runs.begin(after)
    return runs, [line.removeprefix("after iteration 30: ") for line in lines]


def theta(tune: Any) -> dict[str, float]:
    return dict(zip([p.code for p in tune.tuned], tune.tuner.theta.tolist(), strict=True))


def delivered(job: GameJob) -> list[dict[str, Any]]:
    return [dict(player.options) for player in job.players]


#: Control files in succession; 20 games are played under each.
SUCCESSION: list[Callable[[], Any]] = [
    lambda: spsa(),
    lambda: spsa(),
    lambda: spsa(number_of_games=400, alpha=0.7),
    lambda: spsa(parameter("A", max=51), parameter("B")),
    lambda: spsa(parameter("A", max=400, c_end=5, start=40), parameter("B"), parameter("C")),
    lambda: spsa(parameter("C"), parameter("A", frozen=True), parameter("B")),
    lambda: spsa(parameter("C", max=4000), parameter("A")),
    lambda: spsa(method="adaptive", number_of_games=300),
    lambda: spsa(parameter("A", min=60, start=60), parameter("D", frozen=True), method="adaptive"),
    lambda: spsa(games_per_iteration=4, number_of_games=100),
]


def test_effects_of_edits_are_told_before_the_run() -> None:
    runs = Runs()
    for tune in SUCCESSION:
        runs.begin(tune())
        runs.play(21, in_flight=2)
    check_golden("spsa_edits", "\n".join(runs.lines))


def test_edits_go_on_from_theta_and_forget_the_results_of_parameters_that_leave() -> None:
    before = spsa()
    runs, _ = edited(before, spsa(parameter("A", frozen=True), parameter("B"), parameter("C")))
    left = before.tuner.estimate()[0]
    assert theta(runs.tune) == {"B": theta(before)["B"], "C": 1500}
    assert runs.tune.tuner.regression.column(0) == before.tuner.regression.column(1)
    for values in delivered(runs.issue()):
        assert values["A"] == pytest.approx(left, abs=1e-4)
    runs.play(40)
    assert runs.tune.estimated()["A"] == pytest.approx(left, abs=1e-4)
    runs.begin(spsa(parameter("B")))
    assert {name for values in delivered(runs.issue()) for name in values} == {"B"}
    assert set(runs.tune.summary().data()["removed"]) == {"A", "C"}
    runs.begin(spsa())
    # an edit that is taken back leaves its trace
    assert theta(runs.tune)["A"] == pytest.approx(left, abs=1e-4)
    assert runs.tune.tuner.regression.column(0)[1:] == [0] * 5
    assert not runs.tune.tuner.fits()[0].signal


def test_value_outside_narrower_bounds_is_clipped_for_good() -> None:
    before = spsa()
    runs, _ = edited(before, spsa(parameter("A", max=55, c_end=5), parameter("B")))
    assert theta(before)["A"] > 55
    assert theta(runs.tune) == {"A": 55, "B": theta(before)["B"]}
    assert runs.tune.tuner.averages.mean().tolist() == [55, theta(before)["B"]]
    assert runs.tune.tuner.regression.games == 60
    runs.begin(spsa())
    assert theta(runs.tune)["A"] == 55


@pytest.mark.parametrize(
    ("method", "arguments"),
    [("classic", {"max": 400}), ("classic", {"start": 70}), ("adaptive", {"start": 70})],
)
def test_wider_bounds_and_another_start_keep_theta(
    method: str, arguments: dict[str, float]
) -> None:
    before = spsa(method=method)
    one = parameter("A", c_end=5, **arguments)
    runs, _ = edited(before, spsa(one, parameter("B"), method=method))
    assert theta(runs.tune) == theta(before)


def test_frozen_parameter_that_was_never_tuned_has_its_start() -> None:
    runs = Runs()
    runs.begin(spsa(parameter("A"), parameter("B", frozen=True)))
    assert delivered(runs.issue())[0]["B"] == 0
    runs.play(60)
    runs.begin(spsa(parameter("A"), parameter("B", start=7, frozen=True)))
    assert delivered(runs.issue())[0]["B"] == 7
    runs.play(1)
    runs.begin(spsa(parameter("A"), parameter("B", start=7)))
    assert theta(runs.tune)["B"] == 7


def test_adaptive_method_uses_the_results_of_the_method_before() -> None:
    before = spsa()
    runs, _ = edited(before, spsa(method="adaptive"))
    squares = before.tuner.regression.squares
    assert runs.tune.tuner.memory["totals"].tolist() == [30, 60, squares]


def test_number_of_games_below_the_played_games_completes_the_tune_and_loses_nothing() -> None:
    runs, _ = edited(spsa(), spsa(number_of_games=20))
    assert runs.tune.finished()
    assert runs.tune.next_job() is None
    assert runs.tune.tuner.iterations == 30
    progress = runs.tune.summary().progress
    assert (progress.completed, progress.total) == (60, 60)
    runs.begin(spsa())
    runs.play(1000)
    assert runs.tune.tuner.iterations == 100


def test_edited_steps_apply_from_the_next_iteration_and_open_iterations_keep_their_values() -> None:
    before = spsa()
    runs, _ = edited(before, spsa(parameter("A", c_end=10), parameter("B")), in_flight=4, keep=1)
    assert runs.issued
    played = {game_id: job.parameters for game_id, job in runs.issued.items()}
    runs.begin(spsa(parameter("A", c_end=10), parameter("B")))
    assert {game_id: job.parameters for game_id, job in runs.issued.items()} == played
    job = runs.issue()
    while job.ticket["k"] <= 32:
        job = runs.tune.next_job()
    first, second = (values["A"] for values in job.parameters)
    assert abs(first - second) == pytest.approx(
        2 * runs.tune.schedule.gains.c(job.ticket["k"])[0], rel=1e-2
    )


def test_open_iteration_plays_a_new_parameter_at_its_start_and_teaches_it_nothing() -> None:
    before = spsa()
    runs, _ = edited(
        before, spsa(parameter("C"), parameter("A"), parameter("B")), in_flight=3, keep=2
    )
    assert len(runs.issued) == 2 or runs.issued
    for job in runs.issued.values():
        assert [values["C"] for values in delivered(job)] == [1500, 1500]
    completed, column = runs.tune.tuner.iterations, runs.tune.tuner.regression.column(0)
    for _ in range(2 * len(runs.issued) + 2):
        if not runs.issued:
            break
        runs.play(1, in_flight=0)
    assert runs.tune.tuner.iterations >= completed
    assert runs.tune.tuner.regression.column(0) == column


def test_game_is_described_by_the_parameters_of_its_time() -> None:
    before = spsa()
    job = before.next_job()
    ticket = _stored(job.ticket)
    runs, _ = edited(spsa(), spsa(parameter("A"), parameter("C"), parameter("D", frozen=True)))
    assert runs.tune.describe(ticket).parameters == job.parameters
    later = runs.issue()
    assert set(later.parameters[0]) == {"A", "C", "D"}
    runs.play(2)
    runs.begin(spsa())
    assert runs.tune.describe(later.ticket).parameters == later.parameters


def test_order_of_parameters_changes_nothing() -> None:
    turned = spsa(parameter("B"), parameter("A"))
    runs, lines = edited(spsa(), turned)
    assert lines == []
    runs.play(140)
    whole = Runs()
    whole.begin(spsa())
    whole.play(200)
    assert theta(runs.tune) == theta(whole.tune)
    assert runs.tune.finished()


def test_iterations_of_more_games_begin_with_the_next_one() -> None:
    runs, _ = edited(spsa(), spsa(games_per_iteration=4), games=61)
    job = runs.tune.next_job()
    assert (job.ticket["k"], job.ticket["g"]) == (31, 1)
    sizes: dict[int, int] = {}
    openings: list[int] = []
    while (job := runs.tune.next_job()) is not None:
        sizes[job.ticket["k"]] = sizes.get(job.ticket["k"], 0) + 1
        openings.append(job.round - 1)
    assert list(sizes) == list(range(32, 66))
    assert set(sizes.values()) == {4}
    # 31 iterations of two games came before
    assert openings[0] == 31
    assert openings == sorted(openings)


def test_iteration_under_way_keeps_its_number_of_games() -> None:
    runs = Runs()
    runs.begin(spsa(games_per_iteration=4))
    runs.play(2)
    runs.begin(spsa())
    runs.play(2)
    assert runs.tune.tuner.iterations == 1
    runs.play(2)
    assert runs.tune.tuner.iterations == 2


def test_closing_match_of_a_shortened_tune_waits_for_open_iterations() -> None:
    verify = call("Verify", games=20)
    runs = Runs()
    runs.begin(spsa(verify=verify))
    # the newest game comes back first: iterations 1 and 2 are late
    runs.play(41, in_flight=4)
    assert sorted(runs.issued) == ["001a", "001b", "002a"]
    runs.begin(spsa(number_of_games=36, verify=verify))
    assert runs.tune.tuner.iterations > runs.tune.iterations
    assert runs.tune.next_job() is None
    assert not runs.tune.finished()
    runs.play(3)
    assert runs.tune.is_tuned
    runs.play(100)
    assert runs.tune.finished()
    assert [match.iteration for match in runs.tune.closing.matches] == [runs.tune.tuner.iterations]


# a property: whatever is edited and killed, results are taken by the settings under which
# they were recorded, and the state is that of runs that stored every one of them

EDITS: list[Callable[[], Any]] = [
    lambda: spsa(),
    lambda: spsa(method="adaptive"),
    lambda: spsa(number_of_games=120),
    lambda: spsa(parameter("A", max=55, c_end=3), parameter("B", r_end=0.2)),
    lambda: spsa(parameter("B"), parameter("A", frozen=True)),
    lambda: spsa(parameter("B"), parameter("C"), parameter("A", integer=True)),
    lambda: spsa(parameter("C", min=1400, start=1450), alpha=0.9, gamma=0.2),
    lambda: spsa(parameter("D"), parameter("A", start=20), games_per_iteration=4),
    lambda: spsa(parameter("D", frozen=True), parameter("B"), method="blog", update="nominal"),
    lambda: timed({"8+0.08": 0.7, "40+0.4": 0.3}),
    lambda: timed({"10+0.1": 1, "40+0.4": 1}, method="adaptive"),
]
STEPS = st.lists(
    st.tuples(
        st.integers(0, len(EDITS) - 1),
        st.integers(0, 12),
        st.integers(1, 4),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, data=st.data())
def test_edits_and_kills_at_any_time_equal_a_run_that_saved_every_result(
    steps: list[tuple[int, int, int, int]], data: st.DataObject
) -> None:
    exact, killed = Runs(), Runs(saved=lambda: data.draw(st.booleans()))
    for edit, games, in_flight, keep in steps:
        for runs in (exact, killed):
            if runs is killed and data.draw(st.booleans()):
                # a kill before the edit was stored changes nothing
                runs.begin(EDITS[edit](), killed=True)
            runs.begin(EDITS[edit]())
            if runs is killed and data.draw(st.booleans()):
                assert runs.begin(EDITS[edit]()) == []
            runs.play(games, in_flight=in_flight, keep=keep)
        assert killed.state() == exact.state()
        assert killed.issued.keys() == exact.issued.keys()
    assert killed.lines == exact.lines


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_trajectory_repeats_theta_across_edits(
    steps: list[tuple[int, int, int, int]],
) -> None:
    runs = Runs()
    for edit, games, in_flight, keep in steps:
        runs.begin(EDITS[edit]())
        runs.play(games, in_flight=in_flight, keep=keep)
        read = runs.tune.summary().trajectory
        assert read is not None
        trajectory = read(runs.history)
        assert [
            dict(zip(codes, values, strict=True)) for _, codes, values in trajectory.points
        ] == runs.thetas
    assert len({number for number, _, _ in trajectory.points}) == len(trajectory.points)
