"""A sweep over blended targets behind a tune, on an engine that is a formula."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringmaster.model.jobs import EvaluationJob
from ringmaster.model.results import EvaluationResult
from tests.competitions.settings_of import Refused, call
from tests.competitions.texel.simulated import (
    CODES,
    Runs,
    engine,
    features,
    folder_fixture,  # noqa: F401 - a fixture
    texel,
)

LAMBDAS, SIGMAS = (0.0, 0.5, 1.0), (100.0, 1000.0)
PAIRS = [(share, sigma) for share in LAMBDAS for sigma in SIGMAS]


def swept(folder: Path, **overrides: Any) -> Any:
    settings = {
        "target": call("GaussianLambda", 0.5),
        "teacher_scale": 200,
        "sweep": call("Sweep", list(LAMBDAS), list(SIGMAS)),
        **overrides,
    }
    return texel(folder, **settings)


def rows_of(runs: Runs) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = runs.event.summary().data()["sweep"]
    return rows


def pairs_of(runs: Runs) -> list[tuple[float, float]]:
    return [(row["lambda_"], row["sigma"]) for row in rows_of(runs)]


def shards_of(runs: Runs) -> int:
    actual: int = runs.event.summary().data()["shards"]["completed"]
    return actual


def test_sweep_gives_values_and_errors_for_each_pair(folder: Path) -> None:
    runs = Runs(lambda: swept(folder))
    runs.run()
    assert runs.event.finished()
    assert pairs_of(runs) == PAIRS
    for row in rows_of(runs):
        assert row["relative"] == row["sigma"] / 200
        assert None not in (row["own"], row["result"], row["teacher"])
    # the wider the bell and the larger the share, the nearer the values are to the teacher's
    errors = {(row["lambda_"], row["sigma"]): row["teacher"] for row in rows_of(runs)}
    assert errors[1.0, 1000.0] < errors[0.5, 1000.0] < errors[0.0, 1000.0]
    # lambda 0 is the result alone, whatever the width
    assert rows_of(runs)[0]["theta"] == rows_of(runs)[1]["theta"]


def test_errors_of_a_pair_are_those_of_the_engine_with_its_values(folder: Path) -> None:
    runs = Runs(lambda: swept(folder, sweep=call("Sweep", [0.3], [300.0]), win_rate_scale=200))
    runs.run()
    (row,) = rows_of(runs)
    file = runs.event.tuning.positions.file
    held = slice(file.train, None)
    index = [int(text.split()[0]) for text in file.texts(file.train, len(file))]
    scores = np.rint(features(480)[index] @ [row["theta"][code] for code in CODES])
    expected = np.mean(np.square(file.result[held] - 1 / (1 + np.exp(-scores / 200))))
    assert row["result"] == pytest.approx(float(expected), rel=1e-5)


def test_scores_are_computed_once_for_all_pairs(folder: Path) -> None:
    jobs: list[EvaluationJob] = []

    def answer(job: EvaluationJob) -> EvaluationResult:
        jobs.append(job)
        return engine(job)

    alone = Runs(lambda: swept(folder, sweep=None))
    alone.run()
    runs = Runs(lambda: swept(folder), answer=answer)
    runs.run()
    shards = runs.event.tuning.shards
    more = shards_of(runs) - shards_of(alone)
    # derivatives, then at most one pass of validation a pair; equal values are not scored again
    assert more <= len(CODES) * shards.total + (len(PAIRS) - 1) * shards.of_validation
    before, after = alone.event.summary().data(), runs.event.summary().data()
    for name in ("errors", "improvement", "parameters"):
        assert after[name] == before[name]


@pytest.mark.parametrize("optimiser", ["gauss_newton", "local_search", "spsa_batches", "genetic"])
def test_sweep_follows_any_optimiser(folder: Path, optimiser: str) -> None:
    runs = Runs(lambda: swept(folder, optimiser=optimiser, most_passes=20))
    runs.run()
    assert runs.event.finished()
    assert pairs_of(runs) == PAIRS


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_interrupted_sweep_ends_with_the_same_table(folder: Path, seed: int) -> None:
    def fresh() -> Any:
        return swept(folder, regularisation=call("Ridge"))

    whole, broken = Runs(fresh), Runs(fresh, workers=3, seed=seed)
    whole.run()
    while not broken.event.finished():
        for _ in range(broken.rng.randrange(1, 6)):
            if broken.running:
                broken.step()
        assert broken.begin() == []
    assert rows_of(broken) == rows_of(whole)
    assert broken.final() == whole.final()


def test_pairs_added_to_a_finished_sweep_keep_the_other_rows(folder: Path) -> None:
    sweep = [call("Sweep", [0.5], [300.0])]
    runs = Runs(lambda: swept(folder, sweep=sweep[0]))
    runs.run()
    (first,) = rows_of(runs)
    passes = runs.event.summary().data()["passes"]
    sweep[0] = call("Sweep", [0.2, 0.5], [300.0])
    assert runs.begin() == []
    assert not runs.event.finished()
    runs.run()
    assert pairs_of(runs) == [(0.2, 300.0), (0.5, 300.0)]
    assert rows_of(runs)[1] == first
    assert runs.event.summary().data()["passes"] <= passes + len(CODES) + 1


def test_sweep_without_a_teacher_is_refused(folder: Path) -> None:
    with pytest.raises(Refused, match="a sweep needs a target that blends in a teacher's scores"):
        swept(folder, target=call("Texel"))
