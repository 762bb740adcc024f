"""Checks of labels, which do not depend on the given scales, and gains by a change of unit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ringmaster.errors import SettingError
from ringmaster.model.jobs import EvaluationJob
from ringmaster.model.results import EvaluationResult
from ringmaster.positions import PositionFile
from ringmaster.reporting.tables import render_report
from tests.competitions.settings_of import call
from tests.competitions.texel.simulated import (
    CODES,
    TRUE,
    Runs,
    engine,
    folder_fixture,  # noqa: F401 - a fixture
    parameter,
    probed,
    texel,
    write_positions,
)

SCALES = pytest.mark.parametrize("scale", ["fit", 200])
BLEND = {"target": call("Elmo", 0.5)}


def random_labels(seed: int = 5) -> dict[str, np.ndarray]:
    """Return labels as in a psv file of random numbers."""
    rng = np.random.default_rng(seed)
    results, teacher = rng.choice([0.0, 0.5, 1.0], 480), np.rint(rng.normal(0, 400, 480))
    return {"result": results, "teacher": teacher}


def permuted(folder: Path, name: str) -> dict[str, np.ndarray]:
    """Return a column of the position file in another order."""
    column = getattr(PositionFile(folder / "event.positions"), name)
    return {name: np.random.default_rng(1).permutation(np.array(column))}


def refused(folder: Path, labels: dict[str, Any], **settings: Any) -> str:
    write_positions(folder / "event.positions", **labels)
    with pytest.raises(SettingError) as caught:
        Runs(lambda: texel(folder, **settings)).run()
    assert caught.value.path == ("positions",)
    return str(caught.value)


@SCALES
def test_results_of_other_positions_are_refused(folder: Path, scale: Any) -> None:
    message = refused(folder, permuted(folder, "result"), win_rate_scale=scale)
    assert "the scores do not correlate with the results" in message


@SCALES
@pytest.mark.parametrize("result", [0.0, 0.5, 1.0])
def test_equal_results_are_refused(folder: Path, scale: Any, result: float) -> None:
    message = refused(folder, {"result": np.full(480, result)}, win_rate_scale=scale)
    assert f"all results are {result:g}" in message


@SCALES
@pytest.mark.parametrize("target", ["Texel", "Elmo", "GaussianLambda"])
def test_random_results_and_scores_are_refused(folder: Path, scale: Any, target: str) -> None:
    settings = {"win_rate_scale": scale, "teacher_scale": scale, "target": call(target)}
    assert "do not correlate with the results" in refused(folder, random_labels(), **settings)


@SCALES
def test_teacher_s_scores_of_other_positions_are_refused(folder: Path, scale: Any) -> None:
    labels = permuted(folder, "teacher")
    message = refused(folder, labels, win_rate_scale=200, teacher_scale=scale, **BLEND)
    assert "the teacher's scores do not correlate with the results" in message


@SCALES
def test_teacher_alone_is_checked_by_the_engine_s_scores(folder: Path, scale: Any) -> None:
    labels = {**permuted(folder, "teacher"), "result": np.full(480, np.nan)}
    settings = {"target": call("Elmo", 1.0), "teacher_scale": 200, "win_rate_scale": scale}
    assert "the scores do not correlate" in refused(folder, labels, **settings)


@SCALES
def test_results_that_the_target_does_not_use_are_not_checked(folder: Path, scale: Any) -> None:
    write_positions(folder / "event.positions", result=np.zeros(480))
    settings = {"target": call("Elmo", 1.0), "teacher_scale": 200, "win_rate_scale": scale}
    runs = Runs(lambda: texel(folder, **settings))
    runs.run()
    assert runs.event.finished()


def test_equal_results_and_a_teacher_s_wrong_side_are_refused_before_the_engine_starts(
    folder: Path,
) -> None:
    write_positions(folder / "event.positions", result=np.ones(480))
    with pytest.raises(SettingError, match="all results are 1"):
        texel(folder, target=call("Texel")).prepare()
    right = PositionFile(folder / "event.positions").teacher
    write_positions(folder / "event.positions", teacher=-np.array(right))
    with pytest.raises(SettingError, match="the teacher's scores contradict the results"):
        texel(folder, **BLEND).prepare()


def test_wrong_side_of_the_engine_s_scores_is_told_by_the_probe(folder: Path) -> None:
    def turned(job: EvaluationJob) -> EvaluationResult:
        result = engine(msgspec.structs.replace(job, probe=None))
        scores = -np.frombuffer(result.scores or b"", dtype="<f4")
        facts = probed(job).facts if job.probe is not None else {}
        return msgspec.structs.replace(result, scores=scores.tobytes(), facts=facts)

    runs = Runs(lambda: texel(folder), answer=turned)
    runs.run()
    assert "the scores contradict the results" in runs.halted
    assert runs.done == 1


def test_scores_in_another_unit_are_told_by_the_probe(folder: Path) -> None:
    def in_pawns(job: EvaluationJob) -> EvaluationResult:
        result = engine(msgspec.structs.replace(job, probe=None))
        scores = np.frombuffer(result.scores or b"", dtype="<f4") / 100
        facts = probed(job).facts if job.probe is not None else {}
        return msgspec.structs.replace(result, scores=scores.tobytes(), facts=facts)

    runs = Runs(lambda: texel(folder), answer=in_pawns)
    runs.step()
    assert any("at an end of its range" in line for line in runs.history)


def test_start_on_a_bound_is_named_before_the_first_pass(folder: Path) -> None:
    event = texel(folder, parameters=[parameter("A", start=0), parameter("B"), parameter("C")])
    event.prepare()
    assert "A starts at its lower bound, 0" in event.setup().notices


def test_equal_scores_of_the_start_values_cannot_check_labels(folder: Path) -> None:
    from_zero = [parameter(code, start=0) for code in CODES]
    runs = Runs(lambda: texel(folder, win_rate_scale=200, parameters=from_zero))
    runs.run()
    assert any("the labels are not checked" in line for line in runs.event.summary().warnings)
    values = {row["code"]: row["value"] for row in runs.event.summary().data()["parameters"]}
    assert values["A"] > values["B"] > 0


def report(runs: Runs) -> str:
    text = render_report(runs.event.summary().report, heading="texel", description=None)
    return " ".join(text.split())


def test_fitted_scale_is_shown_beside_a_given_one(folder: Path) -> None:
    fitting = Runs(lambda: texel(folder))
    fitting.run()
    fitted = fitting.event.summary().data()["win_rate_scale"]
    runs = Runs(lambda: texel(folder, win_rate_scale=600))
    runs.run()
    data = runs.event.summary().data()
    assert data["win_rate_scale"] == 600
    assert data["fitted_scales"] == {"win_rate_scale": fitted}
    assert f"C 600 centipawns, K 0.2895 (given; a fit gives {fitted:.5g})" in report(runs)


def rescaled(folder: Path, *, starts: dict[str, int], scale: Any) -> Runs:
    parameters = [parameter(code, start=starts[code], max=400) for code in CODES]
    runs = Runs(lambda: texel(folder, parameters=parameters, win_rate_scale=scale))
    runs.run()
    return runs


def test_gain_by_a_change_of_unit_alone_is_named_so(folder: Path) -> None:
    write_positions(folder / "event.positions", games=300)
    runs = rescaled(folder, starts=TRUE, scale=400)
    data = runs.event.summary().data()
    # the tune doubles all values
    assert [row["value"] / row["start"] for row in data["parameters"]] == pytest.approx(
        [2.0] * 3, rel=0.2
    )
    words = "by a change of unit alone: the start values' scores times"
    assert words in runs.event.summary().result
    assert words in report(runs)
    assert data["improvement"]["factor"] == pytest.approx(2, rel=0.1)
    assert words not in rescaled(folder, starts=TRUE, scale="fit").event.summary().result


def test_gain_beyond_a_change_of_unit_is_stated_apart(folder: Path) -> None:
    write_positions(folder / "event.positions", games=300)
    runs = rescaled(folder, starts={"A": 60, "B": 140, "C": 100}, scale=400)
    gain = runs.event.summary().data()["improvement"]
    assert 0 < gain["beyond"]["low"] < gain["value"]
    assert f"{gain['beyond']['value']:.3g} (95 %: " in runs.event.summary().result
    assert "beyond a change of unit" in runs.event.summary().result
    assert "of it beyond a change of unit" in report(runs)


def test_gain_of_a_tune_that_cannot_change_the_unit_is_no_change_of_unit(folder: Path) -> None:
    write_positions(folder / "event.positions", games=300)
    parameters = [
        parameter("A", start=60, max=140),
        parameter("B", start=140, max=140),
        parameter("C", start=100, frozen=True),
    ]
    runs = Runs(lambda: texel(folder, parameters=parameters, win_rate_scale=400))
    runs.run()
    assert runs.event.summary().data()["improvement"]["low"] > 0
    assert "unit" not in runs.event.summary().result
