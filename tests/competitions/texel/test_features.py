"""A texel competition with the linear optimiser, on an engine that is a formula."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringmaster.errors import SettingError
from ringmaster.model.jobs import EvaluationJob
from ringmaster.model.results import EvaluationResult
from ringmaster.positions import PositionFile
from tests.competitions.settings_of import Refused, call
from tests.competitions.texel.simulated import (
    CODES,
    Runs,
    engine,
    features,
    folder_fixture,  # noqa: F401 - a fixture
    parameter,
    texel,
)

COUNTS = features(480)


def counts(position: str) -> Any:
    return dict(zip(CODES, COUNTS[int(position.split()[0])], strict=True))


def turned(position: str) -> Any:
    return {code: -value for code, value in counts(position).items()}


def run(folder: Path, **arguments: Any) -> Runs:
    runs = Runs(lambda: texel(folder, optimiser=call("Linear", **arguments)))
    runs.run()
    return runs


def test_linear_optimiser_needs_three_passes_of_the_engine(folder: Path) -> None:
    runs = run(folder, features=counts)
    assert runs.event.finished()
    state = runs.event.summary().data()
    assert len(runs.event.tuning.optimiser.course) == 3
    assert state["errors"]["best"]["validation"] < state["errors"]["start"]["validation"]
    assert any("the scores change as the features say" in line for line in runs.history)
    assert (folder / "event.features").exists()


def test_interrupted_linear_tune_equals_an_uninterrupted_one(folder: Path) -> None:
    whole = run(folder, features=counts)
    halting = Runs(lambda: texel(folder, optimiser=call("Linear", features=counts)))
    while halting.running:
        for _ in range(min(7, len(halting.running) * 7)):
            if halting.running:
                halting.step()
        halting.begin()
    assert halting.final() == whole.final()


def test_counts_that_do_not_fit_the_engine_halt_the_run(folder: Path) -> None:
    runs = run(folder, features=turned)
    assert "all signs are reversed; counts must be White's" in runs.halted


def test_npz_file_with_frozen_parameters_is_used(folder: Path) -> None:
    path = folder / "counts.npz"
    fens = np.array([f"{row} w" for row in range(480)])
    np.savez(path, fen=fens, names=np.array(CODES), features=COUNTS)
    parameters = [parameter("A"), parameter("B"), parameter("C", frozen=True)]
    linear = call("Linear", features=str(path))
    runs = Runs(lambda: texel(folder, optimiser=linear, parameters=parameters))
    runs.run()
    assert runs.event.finished()
    assert runs.event.summary().data()["errors"]["best"]["validation"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "'features' is missing"),
        ({"features": lambda position: {"D": 1.0}, "unnamed": "refuse"}, "no parameter is the"),
        ({"features": lambda position: [1.0]}, "there are 1 numbers, but 3 are expected"),
    ],
)
def test_wrong_features_are_refused_before_the_first_pass(
    folder: Path, arguments: Any, words: str
) -> None:
    with pytest.raises((SettingError, Refused), match=words):
        run(folder, **arguments)


def of_answer(answer: str, position: str) -> Any:
    assert answer == f"features of {position}"
    return counts(position)


def answering(job: EvaluationJob) -> EvaluationResult:
    """The engine that is a formula prints features, too."""
    if not job.answers:
        return engine(job)
    assert job.score.command == "features"
    texts = PositionFile(Path(job.positions)).texts(job.first, job.stop, job.step)
    answers = tuple(f"features of {text.decode()}" for text in texts)
    return EvaluationResult(
        job.id, job.attempt, "evaluated", score_key=job.score_key, shard=job.shard, answers=answers
    )


def test_features_from_answers_need_a_pass_of_their_own(folder: Path) -> None:
    whole = run(folder, features=counts)
    (folder / "event.features").unlink()

    def fresh() -> Any:
        return texel(folder, optimiser=call("Linear", features=of_answer))

    runs = Runs(fresh, workers=2, seed=1, answer=answering)
    while runs.running:
        for _ in range(7):
            if runs.running:
                runs.step()
        runs.begin()
    assert runs.event.finished()
    actual, expected = runs.event.summary().data(), whole.event.summary().data()
    assert actual["parameters"] == expected["parameters"]
    assert actual["errors"] == expected["errors"]
    assert not (folder / "event.features.pieces").exists()
