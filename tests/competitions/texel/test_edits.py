"""Texel events whose control file is edited between runs."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringmaster.competitions.texel.state import score_key
from ringmaster.errors import StateRefused
from tests.competitions.settings_of import call, uci
from tests.competitions.texel.simulated import (
    CODES,
    Runs,
    engine,
    features,
    folder_fixture,  # noqa: F401 - a fixture
    parameter,
    probed,
    texel,
    write_positions,
)
from tests.recorded import scored_passes


class Edited:
    """An event whose settings change from run to run."""

    def __init__(self, folder: Path, **overrides: Any) -> None:
        self.folder = folder
        self.overrides = overrides
        self.runs = Runs(lambda: texel(self.folder, **self.overrides))

    def edit(self, **overrides: Any) -> list[str]:
        self.overrides = {**self.overrides, **overrides}
        return self.runs.begin()


def test_edit_without_effect_on_errors_continues_the_tune(folder: Path) -> None:
    event = Edited(folder)
    for _ in range(12):
        event.runs.step()
    response = event.runs.event.summary().data()["passes"]
    assert response
    lines = event.edit(
        verify=call("Verify", games=2), most_passes=50, patience=7, description="other"
    )
    assert lines == []
    assert event.runs.event.summary().data()["passes"] == response


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        ({"target": call("Elmo")}, "target changed"),
        ({"loss": "cross_entropy"}, "loss changed"),
        ({"regularisation": call("Ridge")}, "regularisation changed"),
        ({"optimiser": "local_search"}, "optimiser changed"),
        ({"score": "depth 1"}, "score changed"),
        ({"positions": call("Positions", "set.epd", quiet=300)}, "positions changed"),
        (
            {"parameters": [parameter("A", max=150), parameter("B"), parameter("C")]},
            "A: max 200 → 150",
        ),
        (
            {"parameters": [parameter("A"), parameter("B", frozen=True), parameter("C")]},
            "B: frozen",
        ),
        ({"anchor": "C"}, "C: frozen"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_edit_restarts_from_the_best_values_exactly_once(
    folder: Path, overrides: dict[str, Any], why: str
) -> None:
    event = Edited(folder)
    event.runs.run()
    before = event.runs.event.summary().data()
    best = {row["code"]: row["value"] for row in before["parameters"]}
    lines = event.edit(**overrides)
    passes = before["passes"]
    assert lines[0] == f"after {passes} passes: {why}"
    assert "restarts from the best values so far" in lines[1]
    values = {row["code"]: row["value"] for row in event.runs.event.summary().data()["parameters"]}
    assert values == {**best, "A": min(best["A"], 150 if "max" in why else 200)}
    # a second start finds nothing to do
    assert event.edit() == []
    event.runs.run()
    assert event.runs.event.finished()
    after = event.runs.event.summary().data()
    assert after["passes"] > passes
    # nothing is kept of scores from before
    assert event.runs.store.scores(0, 0) is None


def test_kill_before_an_edit_is_stored_repeats_the_edit(folder: Path) -> None:
    event = Edited(folder)
    for _ in range(9):
        event.runs.step()
    event.overrides["target"] = call("Elmo")
    fresh = texel(folder, **event.overrides)
    fresh.prepare()
    fresh.scores = event.runs.store.scores
    snapshot = event.runs.store.snapshot()
    assert snapshot is not None
    fresh.restore(snapshot[1])
    first = fresh.apply_edits([])
    assert event.edit() == first


def test_win_rate_scale_stays_unless_scores_or_labels_change(folder: Path) -> None:
    event = Edited(folder)
    event.runs.run()
    scale = event.runs.event.summary().data()["win_rate_scale"]
    event.edit(target=call("Elmo"))
    event.runs.run()
    assert event.runs.event.summary().data()["win_rate_scale"] == scale
    event.edit(win_rate_scale=150)
    event.runs.run()
    assert event.runs.event.summary().data()["win_rate_scale"] == 150


def test_touched_positions_continue_the_tune_and_changed_ones_restart_it(folder: Path) -> None:
    event = Edited(folder)
    for _ in range(9):
        event.runs.step()
    write_positions(folder / "event.positions", key="touched")
    assert event.edit() == []
    write_positions(folder / "event.positions", key="another", games=80)
    lines = event.edit()
    assert lines[0].endswith("the positions changed")
    event.runs.run()
    assert event.runs.event.finished()


def test_raised_limit_continues_a_finished_tune(folder: Path) -> None:
    event = Edited(folder, most_passes=5)
    event.runs.run()
    assert event.runs.event.finished()
    passes = event.runs.event.summary().data()["passes"]
    assert event.edit(most_passes=40)[0].endswith("most_passes changed")
    event.runs.run()
    assert event.runs.event.summary().data()["passes"] > passes


@pytest.mark.parametrize("stage", ["last check", "sweep"])
def test_raised_limit_continues_a_tune_that_reached_the_old_one(folder: Path, stage: str) -> None:
    """The end of the tune is under way: its last check, or the sweep after it."""
    event = Edited(
        folder,
        optimiser="local_search",
        most_passes=5,
        target=call("GaussianLambda", 0.5),
        teacher_scale=200,
        sweep=call("Sweep", [0.0, 1.0], [300.0]),
    )
    while not (optimiser := event.runs.event.tuning.optimiser).state()["over"]:
        event.runs.step()
    while stage == "sweep" and not optimiser.finished():
        event.runs.step()
    assert not event.runs.event.finished()
    passes = event.runs.event.summary().data()["passes"]
    assert event.edit(most_passes=40)[0].endswith("most_passes changed")
    event.runs.run()
    assert event.runs.event.finished()
    data = event.runs.event.summary().data()
    assert data["passes"] > passes + 10
    assert len(data["sweep"]) == 2


def test_all_names_of_the_running_python_are_one_engine(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/here/bin/python3.11")
    event = Edited(folder, players={"e": uci("/here/bin/python3.11")})
    for _ in range(3):
        event.runs.step()
    monkeypatch.setattr(sys, "executable", "/there/bin/python")
    assert event.edit(players={"e": uci("/there/bin/python")}) == []


def test_another_engine_is_refused_once_there_are_scores(folder: Path) -> None:
    event = Edited(folder)
    for _ in range(3):
        event.runs.step()
    with pytest.raises(StateRefused, match="another engine"):
        event.edit(players={"e": uci("other")})
    with pytest.raises(StateRefused, match="other settings of it"):
        event.edit(players={"e": uci(options={"Hash": 1})})
    # limits of moves have no part in scores
    assert event.edit(players={"e": uci(nodes=500)}) == []


def test_engine_with_a_failed_probe_may_be_changed(folder: Path) -> None:
    event = Edited(folder)
    runs = event.runs
    runs.answer = lambda job: probed(job, problem="its scores have an unknown form")
    runs.step()
    assert runs.halted == "its scores have an unknown form"
    runs.answer = engine
    assert event.edit(players={"e": uci("other")}) == []
    runs.run()
    assert runs.event.finished()


def test_outdated_probe_is_repeated(folder: Path) -> None:
    # the program was ended while the engine was being probed
    event = Edited(folder)
    assert [job.id for job in event.runs.running] == ["probe1"]
    event.edit(loss="cross_entropy")
    assert [job.id for job in event.runs.running] == ["probe2"]
    event.runs.run()
    assert event.runs.event.finished()


@pytest.mark.parametrize(
    "overrides",
    [{"score": "depth 1"}, {"apply": "restart"}, {"in_flight": 2, "loss": "cross_entropy"}],
)
def test_change_of_scores_repeats_the_probe(folder: Path, overrides: dict[str, Any]) -> None:
    event = Edited(folder)
    event.runs.run()
    event.edit(**overrides)
    (job,) = event.runs.running
    assert job.probe is not None
    assert job.probe.apply == ("restart" if "apply" in overrides else None)
    event.runs.answer = lambda job: (
        probed(job, apply="restart", in_flight=1) if job.probe is not None else engine(job)
    )
    event.runs.step()
    (job,) = event.runs.running
    assert (job.apply, job.in_flight) == ("restart", 1)
    event.runs.run()
    assert event.runs.event.finished()


EDITS: list[dict[str, Any]] = [
    {"target": call("Elmo")},
    {"optimiser": "local_search"},
    {"positions": call("Positions", "set.epd", quiet=300)},
    {"parameters": [parameter("C"), parameter("A", max=150), parameter("B", frozen=True)]},
    {"optimiser": call("Genetic", generations=3)},
    {"most_passes": 9},
    {},
]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_tune_with_edits_at_any_instant_ends(folder: Path, workers: int) -> None:
    # after the probe, in the passes of the filter, in pass 0, in and between later ones
    for edits in range(1, 40, 5):
        event = Edited(folder, most_passes=12)
        event.runs.workers = workers
        rng = random.Random(edits)
        for _ in range(4):
            for _ in range(rng.randrange(edits)):
                if event.runs.running:
                    event.runs.step()
            event.edit(**rng.choice(EDITS))
            assert event.edit() == []
        event.runs.run()
        assert event.runs.event.finished()
        assert not event.runs.halted
        # the scores of all else are gone
        state = event.runs.event.tuning.state
        best = event.runs.event.tuning.optimiser.best_pass or 0
        wanted = {score_key(state.beginning, number) for number in (0, best)}
        filters = {score_key(state.beginning, int(number)) for number in state.filters}
        kept = scored_passes(event.runs.store)
        assert wanted <= kept <= wanted | filters


def score(answer: str, position: str) -> float:
    """Return the score of the side to move from an answer of the simulated engine."""
    return float(answer.split()[1])


def features_of_answer(answer: str, position: str) -> dict[str, float]:
    return features_of_position(position)


def features_of_position(position: str) -> dict[str, float]:
    return dict(zip(CODES, features(480)[int(position.split()[0])].tolist(), strict=True))


def linear(function: Callable[..., Any]) -> Any:
    return call("Linear", features=function, check=False)


FUNCTIONS: list[Any] = [
    ({"score": score}, {"score": lambda a, p: float(a[6:])}, {"score": lambda a, p: 0.5}, "score"),
    (
        {"target": call("Blend", lambda score, ply, progress: 0.5)},
        {"target": call("Blend", lambda score, ply, progress: 1 / 2)},
        {"target": call("Blend", lambda score, ply, progress: progress)},
        "target",
    ),
    (
        {"optimiser": linear(features_of_answer)},
        {"optimiser": linear(lambda answer, position: features_of_position(position))},
        {"optimiser": linear(lambda answer, position: dict.fromkeys(CODES, 1.0))},
        "optimiser",
    ),
    (
        {"optimiser": linear(features_of_position)},
        {"optimiser": linear(lambda position: features_of_position(position))},
        {"optimiser": linear(lambda position: dict.fromkeys(CODES, float(len(position))))},
        "optimiser",
    ),
]


@pytest.mark.parametrize(("first", "equal", "other", "setting"), FUNCTIONS)
def test_function_with_other_results_restarts_the_tune_and_an_equal_one_does_not(
    folder: Path, first: Any, equal: Any, other: Any, setting: str
) -> None:
    event = Edited(folder, **first)
    # the extra pass of features comes first
    for _ in range(5):
        event.runs.step()
    assert event.edit(**equal) == []
    event.runs.step()
    lines = event.edit(**other)
    assert lines[0].endswith(f": {setting} changed")
    assert event.edit(**other) == []


def test_function_that_fails_is_refused_by_its_error(folder: Path) -> None:
    event = Edited(folder, score=score)
    for _ in range(9):
        event.runs.step()
    with pytest.raises(StateRefused, match="ZeroDivisionError"):
        event.edit(score=lambda answer, position: 1 / 0)


def test_other_player_of_make_candidate_is_refused_once_there_are_scores(folder: Path) -> None:
    def maker(hash_size: int) -> Any:
        return lambda **values: uci(options={**values, "Hash": hash_size})

    event = Edited(folder, make_candidate=maker(1))
    assert event.edit(make_candidate=maker(2)) == []
    for _ in range(9):
        event.runs.step()
    assert event.edit(make_candidate=maker(2)) == []
    with pytest.raises(StateRefused, match=r"gives .*'Hash': 3.* now; put it back"):
        event.edit(make_candidate=maker(3))
