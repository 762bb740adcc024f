"""Texel events whose control file is edited between runs."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from ringmaster.competitions.texel.state import score_key
from ringmaster.errors import StateRefused
from tests.competitions.settings_of import call, uci
from tests.competitions.texel.simulated import (
    Runs,
    engine,
    folder_fixture,  # noqa: F401 - a fixture
    parameter,
    probed,
    texel,
    write_positions,
)


class Edited:
    """An event whose settings change from run to run."""

    def __init__(self, folder: Path, **given: Any) -> None:
        self.folder = folder
        self.given = given
        self.runs = Runs(lambda: texel(self.folder, **self.given))

    def edit(self, **given: Any) -> list[str]:
        self.given = {**self.given, **given}
        return self.runs.begin()


def test_edit_that_changes_nothing_of_the_errors_goes_on(folder: Path) -> None:
    event = Edited(folder)
    for _ in range(12):
        event.runs.step()
    told = event.runs.event.summary()["passes"]
    assert told
    lines = event.edit(
        verify=call("Verify", games=2), most_passes=50, patience=7, description="other"
    )
    assert lines == []
    assert event.runs.event.summary()["passes"] == told


@pytest.mark.parametrize(
    ("given", "why"),
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
def test_other_edit_begins_anew_from_the_best_values_exactly_once(
    folder: Path, given: dict[str, Any], why: str
) -> None:
    event = Edited(folder)
    event.runs.run()
    before = event.runs.event.summary()
    best = {row["code"]: row["value"] for row in before["parameters"]}
    lines = event.edit(**given)
    passes = before["passes"]
    assert lines[0] == f"after {passes} passes: {why}"
    assert "begins anew from the best values so far" in lines[1]
    values = {row["code"]: row["value"] for row in event.runs.event.summary()["parameters"]}
    assert values == {**best, "A": min(best["A"], 150 if "max" in why else 200)}
    # a second start finds nothing to do
    assert event.edit() == []
    event.runs.run()
    assert event.runs.event.finished()
    after = event.runs.event.summary()
    assert after["passes"] > passes
    assert [chapter["why"] for chapter in after["earlier"]] == [why]
    # nothing is kept of scores from before
    assert event.runs.store.scores(0, 0) is None


def test_kill_before_an_edit_is_stored_leaves_it_to_be_done(folder: Path) -> None:
    event = Edited(folder)
    for _ in range(9):
        event.runs.step()
    event.given["target"] = call("Elmo")
    fresh = texel(folder, **event.given)
    fresh.prepare()
    fresh.attach(event.runs.store.scores)
    snapshot = event.runs.store.snapshot()
    assert snapshot is not None
    fresh.restore(snapshot[1])
    first = fresh.adopt([])
    assert event.edit() == first


def test_win_rate_scale_stays_unless_scores_or_labels_are_others(folder: Path) -> None:
    event = Edited(folder)
    event.runs.run()
    scale = event.runs.event.summary()["win_rate_scale"]
    event.edit(target=call("Elmo"))
    event.runs.run()
    assert event.runs.event.summary()["win_rate_scale"] == scale
    event.edit(win_rate_scale=150)
    event.runs.run()
    assert event.runs.event.summary()["win_rate_scale"] == 150


def test_touched_positions_go_on_and_other_ones_do_not(folder: Path) -> None:
    event = Edited(folder)
    for _ in range(9):
        event.runs.step()
    write_positions(folder / "event.positions", key="touched")
    assert event.edit() == []
    write_positions(folder / "event.positions", key="another", games=80)
    lines = event.edit()
    assert lines[0].endswith("the positions are others")
    event.runs.run()
    assert event.runs.event.finished()


def test_limits_that_ended_a_tune_can_be_raised(folder: Path) -> None:
    event = Edited(folder, most_passes=5)
    event.runs.run()
    assert event.runs.event.finished()
    passes = event.runs.event.summary()["passes"]
    assert event.edit(most_passes=40)[0].endswith("most_passes changed")
    event.runs.run()
    assert event.runs.event.summary()["passes"] > passes


def test_python_that_runs_ringmaster_is_one_engine_by_all_its_names(
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
    with pytest.raises(StateRefused, match="set up otherwise"):
        event.edit(players={"e": uci(options={"Hash": 1})})
    # limits of moves have no part in scores
    assert event.edit(players={"e": uci(nodes=500)}) == []


def test_engine_that_failed_its_probe_may_be_changed(folder: Path) -> None:
    event = Edited(folder)
    runs = event.runs
    runs.answer = lambda job: probed(job, problem="its scores have an unknown form")
    runs.step()
    assert runs.halted == "its scores have an unknown form"
    runs.answer = engine
    assert event.edit(players={"e": uci("other")}) == []
    runs.run()
    assert runs.event.finished()


def test_engine_that_no_parameter_changes_ends_the_run(folder: Path) -> None:
    event = Edited(folder)
    event.runs.answer = lambda job: probed(job, moved=[False] * 3)
    event.runs.step()
    assert "do not change with any parameter (A, B, C)" in event.runs.halted


def test_probe_that_an_edit_overtook_is_made_anew(folder: Path) -> None:
    # the program was ended while the engine was being probed
    event = Edited(folder)
    assert [job.id for job in event.runs.running] == ["probe1"]
    event.edit(loss="cross_entropy")
    assert [job.id for job in event.runs.running] == ["probe2"]
    event.runs.run()
    assert event.runs.event.finished()


@pytest.mark.parametrize(
    "given", [{"score": "depth 1"}, {"apply": "restart"}, {"in_flight": 2, "loss": "cross_entropy"}]
)
def test_what_was_found_of_other_scores_is_found_out_again(
    folder: Path, given: dict[str, Any]
) -> None:
    event = Edited(folder)
    event.runs.run()
    event.edit(**given)
    (job,) = event.runs.running
    assert job.probe is not None
    assert job.probe.apply == ("restart" if "apply" in given else None)
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


@pytest.mark.parametrize("workers", [1, 3])
def test_edits_at_any_instant_leave_a_tune_that_ends(folder: Path, workers: int) -> None:
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
        kept = {number for number, _ in event.runs.store._scores}
        assert wanted <= kept <= wanted | filters
