"""Tunes with edits of the control file between runs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringmaster.errors import StateRefused
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
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


def test_unedited_control_file_reports_nothing() -> None:
    runs, lines = edited(spsa(), spsa())
    assert lines == []
    assert runs.tune.tuner.iterations == 30


def test_more_games_are_a_longer_schedule_at_the_present_iteration() -> None:
    before = spsa()
    _, lines = edited(before, spsa(number_of_games=400))
    assert lines[:2] == ["number_of_games 200 → 400", "the tune has 200 iterations, not 100"]
    c, r = (f(31)[0] for f in (before.schedule.gains.c, before.schedule.gains.R))
    later = spsa(number_of_games=400).schedule.gains
    assert lines[2] == (
        f"A: c {c:.4g} → {later.c(31)[0]:.4g}, R {r:.4g} → {later.R(31)[0]:.4g} in iteration 31"
    )


def test_number_of_games_below_the_played_games_completes_the_tune_and_loses_nothing() -> None:
    runs, lines = edited(spsa(), spsa(number_of_games=20))
    assert "the tune has 10 iterations, not 100: it is complete, with 30" in lines
    assert runs.tune.finished()
    assert runs.tune.next_job() is None
    assert runs.tune.tuner.iterations == 30
    progress = runs.tune.progress()
    assert (progress.completed, progress.total) == (60, 60)
    runs.begin(spsa())
    runs.play(1000)
    assert runs.tune.tuner.iterations == 100


def test_change_of_the_derived_number_of_games_is_reported() -> None:
    wide = {"number_of_games": None, "method": "constant", "elo_per_parameter": 200}
    one = parameter(c_end=None, r_end=None)
    before = spsa(one, **wide, precision=20)
    _, lines = edited(before, spsa(one, **wide, precision=10), games=20)
    assert lines[0] == "after iteration 10: precision 20.0 → 10.0"
    assert lines[1].startswith("after iteration 10: the tune has ")


def test_value_outside_narrower_bounds_is_clipped_and_its_averages_restart() -> None:
    before = spsa()
    runs, lines = edited(before, spsa(parameter("A", max=55, c_end=5), parameter("B")))
    was = theta(before)
    assert was["A"] > 55
    assert lines[0] == f"A: max 100 → 55; θ {was['A']:.6g} → 55, its averages restart"
    assert theta(runs.tune) == {"A": 55, "B": was["B"]}
    assert runs.tune.tuner.averages.mean()[0] == 55
    assert runs.tune.tuner.averages.mean()[1] == before.tuner.averages.mean()[1]
    assert runs.tune.tuner.regression.games == 60
    runs.play(40)
    assert theta(runs.tune)["A"] <= 55


def test_wider_bounds_change_no_value() -> None:
    before = spsa()
    runs, lines = edited(before, spsa(parameter("A", max=400, c_end=5), parameter("B")))
    assert lines == [f"A: max 100 → 400; θ stays at {theta(before)['A']:.6g}"]
    assert theta(runs.tune) == theta(before)


def test_edited_steps_apply_from_the_next_iteration_and_open_iterations_keep_their_values() -> None:
    before = spsa()
    runs, lines = edited(
        before, spsa(parameter("A", c_end=10), parameter("B")), in_flight=4, keep=1
    )
    assert runs.issued
    played = {game_id: job.parameters for game_id, job in runs.issued.items()}
    runs.begin(spsa(parameter("A", c_end=10), parameter("B")))
    assert {game_id: job.parameters for game_id, job in runs.issued.items()} == played
    assert "A: c_end 5 → 10; θ stays at" in "\n".join(lines)
    assert any("in progress keep" in line for line in lines)
    job = runs.issue()
    while job.ticket["k"] <= 32:
        job = runs.tune.next_job()
    first, second = (values["A"] for values in job.parameters)
    assert abs(first - second) == pytest.approx(
        2 * runs.tune.schedule.gains.c(job.ticket["k"])[0], rel=1e-2
    )


def test_frozen_parameter_stays_at_its_estimate_on_both_sides() -> None:
    before = spsa()
    runs, lines = edited(before, spsa(parameter("A"), parameter("B", frozen=True)))
    estimate = before.tuner.estimate()[1]
    line = next(line for line in lines if line.startswith("B:"))
    assert line.startswith(f"B: frozen at {estimate:.6g}, its estimate (θ was ")
    values = delivered(runs.issue())
    assert values[0]["B"] == values[1]["B"] == pytest.approx(estimate, abs=1e-4)
    assert runs.tune.estimated()["B"] == values[0]["B"]
    runs.play(40)
    assert runs.tune.estimated()["B"] == values[0]["B"]


def test_parameter_frozen_before_the_first_game_stays_at_its_start() -> None:
    runs = Runs()
    runs.begin(spsa(parameter("A"), parameter("B", frozen=True)))
    assert delivered(runs.issue())[0]["B"] == 0
    runs.play(60)
    lines = runs.begin(spsa(parameter("A"), parameter("B", start=7, frozen=True)))
    assert lines == ["after iteration 30: B: start 0 → 7; its value 0 → 7"]
    runs.play(1)
    lines = runs.begin(spsa(parameter("A"), parameter("B", start=7)))
    assert "after iteration 31: B: tuned from now on, from 7" in lines
    assert theta(runs.tune)["B"] == 7


def test_thawed_parameter_continues_from_its_value_with_its_results() -> None:
    before = spsa()
    runs, _ = edited(before, spsa(parameter("A"), parameter("B", frozen=True)))
    left = runs.tune.estimated()["B"]
    runs.play(40)
    lines = runs.begin(spsa())
    assert f"after iteration 50: B: tuned from now on, from {left:.6g}" in lines
    assert theta(runs.tune)["B"] == pytest.approx(left)
    assert runs.tune.tuner.regression.column(1) == before.tuner.regression.column(1)
    assert runs.tune.tuner.averages.mean()[1] == pytest.approx(left)


def test_new_parameter_begins_at_its_start_with_the_present_gains() -> None:
    before = spsa()
    runs, lines = edited(before, spsa(parameter("A"), parameter("B"), parameter("C")))
    gains = runs.tune.schedule.gains
    assert lines == [
        "C: is new, at its start 1500",
        f"C: c {gains.c(31)[2]:.4g}, R {gains.R(31)[2]:.4g} in iteration 31",
    ]
    assert theta(runs.tune) == {**theta(before), "C": 1500}
    job = runs.tune.next_job()
    assert set(delivered(job)[0]) == {"A", "B", "C"}


def test_open_iteration_plays_a_new_parameter_at_its_start_and_teaches_it_nothing() -> None:
    before = spsa()
    runs, lines = edited(
        before, spsa(parameter("C"), parameter("A"), parameter("B")), in_flight=3, keep=2
    )
    assert len(runs.issued) == 2 or runs.issued
    assert any("in progress" in line for line in lines)
    for job in runs.issued.values():
        assert [values["C"] for values in delivered(job)] == [1500, 1500]
    completed, column = runs.tune.tuner.iterations, runs.tune.tuner.regression.column(0)
    for _ in range(2 * len(runs.issued) + 2):
        if not runs.issued:
            break
        runs.play(1, in_flight=0)
    assert runs.tune.tuner.iterations >= completed
    assert runs.tune.tuner.regression.column(0) == column


def test_removed_parameter_is_not_sent_to_engines() -> None:
    before = spsa()
    runs, lines = edited(before, spsa(parameter("A")))
    estimate = before.tuner.estimate()[1]
    assert lines == [f"B: removed at {estimate:.6g}, its estimate; engines no longer receive it"]
    assert runs.tune.summary()["removed"] == {"B": pytest.approx(estimate)}
    assert set(delivered(runs.issue())[0]) == {"A"}
    assert theta(runs.tune) == {"A": theta(before)["A"]}
    runs.play(40)
    lines = runs.begin(spsa())
    assert (
        f"after iteration 50: B: restored at {estimate:.6g}, its last value, with its "
        "earlier results" in lines
    )
    assert theta(runs.tune)["B"] == pytest.approx(estimate, abs=1e-4)


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


def test_edited_start_changes_reports_only() -> None:
    before = spsa(method="adaptive")
    runs, lines = edited(before, spsa(parameter("A", start=70), parameter("B"), method="adaptive"))
    assert lines == [
        f"A: start 50 → 70; θ stays at {theta(before)['A']:.6g}; only reports "
        "compare with the start"
    ]
    assert theta(runs.tune) == theta(before)
    assert runs.tune.start_values["A"] == 70
    runs.play(40)
    whole = Runs()
    whole.begin(spsa(method="adaptive"))
    whole.play(100)
    assert theta(runs.tune) == theta(whole.tune)


def test_adaptive_method_uses_the_results_of_the_method_before() -> None:
    before = spsa()
    runs, lines = edited(before, spsa(method="adaptive"))
    assert lines[0] == ("method 'classic' → 'adaptive'; θ follows from all results so far")
    assert runs.tune.tuner.memory["totals"].tolist() == [
        30,
        60,
        before.tuner.regression.squares,
    ]
    lines = runs.begin(spsa(alpha=0.7))
    # there was no result in between
    assert theta(runs.tune) == theta(before)
    assert "after iteration 30: alpha not set → 0.7" in lines


def test_iterations_of_more_games_begin_with_the_next_one() -> None:
    runs, lines = edited(spsa(), spsa(games_per_iteration=4), games=61)
    assert lines[:2] == [
        "after iteration 31: games_per_iteration 2 → 4",
        "after iteration 31: the tune has 65 iterations, not 100",
    ]
    job = runs.tune.next_job()
    assert (job.ticket["k"], job.ticket["g"]) == (31, 1)
    sizes: dict[int, int] = {}
    openings = []
    while (job := runs.tune.next_job()) is not None:
        sizes[job.ticket["k"]] = sizes.get(job.ticket["k"], 0) + 1
        openings.append(runs.tune._opening(job.ticket))
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


def test_edit_reverted_at_once_leaves_no_trace() -> None:
    runs = Runs()
    runs.begin(spsa())
    runs.play(60)
    before = runs.snapshot
    lines = runs.begin(spsa(parameter("A", max=51, c_end=5), parameter("B", frozen=True)))
    assert any("θ" in line for line in lines)
    lines = runs.begin(spsa())
    assert any(line.startswith("after iteration 30: A: max 51 → 100; θ 51 → ") for line in lines)
    assert runs.snapshot == before


def test_reverted_edit_restores_the_value_after_an_issued_but_unplayed_game() -> None:
    runs, _ = edited(spsa(), spsa(parameter("A", max=51, c_end=5), parameter("B")))
    was = theta(spsa())
    first = runs.begin(spsa(parameter("A", max=51, c_end=5), parameter("B")))
    assert first == []
    job = runs.tune.next_job()
    runs.issued[job.id] = job
    runs.begin(spsa())
    assert theta(runs.tune)["A"] > 51
    assert was.keys() == theta(runs.tune).keys()
    # the issued game keeps its values
    assert runs.issued[job.id].parameters == job.parameters


def test_closing_match_of_a_shortened_tune_waits_for_open_iterations() -> None:
    verify = call("Verify", games=20)
    runs = Runs()
    runs.begin(spsa(verify=verify))
    # the newest game comes back first: iterations 1 and 2 are late
    runs.play(41, in_flight=4)
    assert sorted(runs.issued) == ["001a", "001b", "002a"]
    runs.begin(spsa(number_of_games=36, verify=verify))
    assert runs.tune._state.iterations > runs.tune.iterations
    assert runs.tune.next_job() is None
    assert not runs.tune.finished()
    runs.play(3)
    assert runs.tune.is_tuned
    runs.play(100)
    assert runs.tune.finished()
    assert [match.iteration for match in runs.tune.closing.matches] == [runs.tune._state.iterations]


def test_refused_state_of_an_older_version_says_how_to_continue() -> None:
    old = {
        "codes": ["A", "B"],
        "theta": [60.0, 3.0],
        "iterations": 100,
        "told": 4,
        "next": 8,
        "open": {},
        "results": [4, 2, 2],
        "void": 0,
        "void_in_a_row": 0,
        "matches": [],
    }
    with pytest.raises(StateRefused, match="write method = 'classic' to continue it"):
        spsa(method="adaptive").restore(old)
    with pytest.raises(StateRefused, match="restore them for one run"):
        spsa(parameter("A")).restore(old)
    tune = spsa(number_of_games=400)
    tune.restore(old)
    lines = tune.apply_edits([])
    assert "after iteration 4: number_of_games 200 → 400" in lines
    assert theta(tune) == {"A": 60, "B": 3}


def test_results_before_a_kill_count_under_the_settings_of_their_time() -> None:
    stored, killed = Runs(), Runs(saved=lambda: False)
    for runs in (stored, killed):
        runs.begin(spsa())
        runs.play(60)
        runs.begin(spsa(parameter("A", r_end=0.5, max=70), parameter("C")))
    assert killed.state() == stored.state()
    assert killed.lines == stored.lines


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
        trajectory = runs.tune.trajectory(runs.history)
        assert not trajectory.note
        assert [
            dict(zip(codes, values, strict=True)) for _, codes, values in trajectory.points
        ] == runs.thetas
    assert len({number for number, _, _ in trajectory.points}) == len(trajectory.points)


def test_trajectory_of_a_tune_edited_by_an_earlier_version_comes_from_its_state() -> None:
    runs, _ = edited(spsa(), spsa(parameter("A", r_end=0.2), parameter("B")))
    runs.play(20)
    state = runs.state()
    del state["edits"]
    tune = spsa(parameter("A", r_end=0.2), parameter("B"))
    tune.restore(state)
    trajectory = tune.trajectory(runs.history)
    assert trajectory.note.startswith("the control file was edited under an earlier version")
    assert [list(values) for _, _, values in trajectory.points] == [
        pytest.approx([was["A"], was["B"]], rel=1e-6) for was in runs.thetas
    ]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    games=st.integers(0, 40),
    edits=st.lists(st.integers(0, len(EDITS) - 1), min_size=2, max_size=4),
)
def test_several_edits_without_a_game_in_between_equal_the_last_one(
    games: int, edits: list[int]
) -> None:
    direct, roundabout = Runs(), Runs()
    for runs in (direct, roundabout):
        runs.begin(EDITS[0]())
        runs.play(games, in_flight=3)
    for edit in edits:
        roundabout.begin(EDITS[edit]())
    direct.begin(EDITS[edits[-1]]())
    assert roundabout.state() == direct.state()
    for runs in (direct, roundabout):
        runs.play(30)
    assert roundabout.state() == direct.state()
