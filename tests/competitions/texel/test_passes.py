"""A texel competition from the first to the last pass, with a simulated engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ringmaster.errors import SettingError
from ringmaster.positions import PositionFile
from tests.competitions.settings_of import call, uci
from tests.competitions.texel.simulated import (
    CODES,
    TRUE,
    Runs,
    engine,
    features,
    folder_fixture,  # noqa: F401 - a fixture
    parameter,
    texel,
    write_positions,
)


def tuned(runs: Runs) -> dict[str, Any]:
    runs.run()
    assert runs.event.finished()
    return {row["code"]: row["value"] for row in runs.event.summary().data()["parameters"]}


NAMES = ["gauss_newton", "local_search", "spsa_batches", "genetic"]
OPTIMISERS = [*NAMES[:3], call("Genetic", generations=12)]


def passes_of(runs: Runs) -> list[str]:
    """Return the sorted history; concurrent passes may end in any order."""
    return sorted(runs.history)


@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=NAMES)
def test_every_optimiser_lowers_the_errors_with_an_interval(folder: Path, optimiser: Any) -> None:
    runs = Runs(lambda: texel(folder, optimiser=optimiser, most_passes=60))
    values = tuned(runs)
    state = runs.event.summary().data()
    assert state["errors"]["best"]["validation"] < state["errors"]["start"]["validation"]
    assert state["improvement"]["value"] > 0
    assert values["A"] > 100 > values["B"]
    assert {"start", "best"} == set(state["entropies"])


@pytest.mark.slow
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=NAMES)
def test_order_of_results_makes_no_difference(folder: Path, optimiser: Any) -> None:
    def fresh() -> Any:
        return texel(folder, target=call("Elmo"), optimiser=optimiser, most_passes=40)

    one = Runs(fresh)
    one.run()
    for workers in (2, 4, 7):
        other = Runs(fresh, workers=workers, seed=workers)
        other.run()
        assert other.final() == one.final()
        assert passes_of(other) == passes_of(one)


@pytest.mark.slow
@settings(
    deadline=None,
    max_examples=10,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    optimiser=st.sampled_from(NAMES),
    seed=st.integers(min_value=0, max_value=10**6),
    workers=st.integers(min_value=1, max_value=3),
)
def test_fifty_interruptions_change_nothing(
    folder: Path, optimiser: str, seed: int, workers: int
) -> None:
    def fresh() -> Any:
        return texel(
            folder,
            optimiser=optimiser,
            most_passes=12,
            positions=call("Positions", "set.epd", quiet=100),
            players={"e": uci(), "ref": uci(options=TRUE)},
            reference="ref",
        )

    whole = Runs(fresh, workers=1)
    whole.run()
    broken = Runs(fresh, workers=workers, seed=seed)
    rng = random.Random(seed)
    for _ in range(50):
        for _ in range(rng.randrange(8)):
            if broken.running:
                broken.step()
        # jobs under way are lost
        assert broken.begin() == []
    broken.run()
    assert broken.event.finished()
    assert broken.final() == whole.final()
    assert passes_of(broken) == passes_of(whole)
    if workers == 1:
        assert broken.history == whole.history


def test_obsolete_scores_are_forgotten(folder: Path) -> None:
    runs = Runs(lambda: texel(folder))
    tuned(runs)
    kept = {number for number in range(200) if runs.store.scores(number, 0) is not None}
    optimiser = runs.event.tuning.optimiser
    assert kept == {0, optimiser.best_pass}


def test_quiet_filter_leaves_out_positions_with_another_search_score(folder: Path) -> None:
    runs = Runs(lambda: texel(folder, positions=call("Positions", "set.epd", quiet=200)))
    tuned(runs)
    assert runs.event.summary().data()["positions"]["left_out"] == {"not quiet": 48}


def test_position_that_loses_its_score_ends_the_run_and_is_named(folder: Path) -> None:
    def blind(job: Any) -> Any:
        result = engine(job)
        if job.probe is None and job.score_key == 1 and job.shard == 1:
            scores = np.frombuffer(result.scores, "<f4").copy()
            scores[2] = np.nan
            return msgspec.structs.replace(result, scores=scores.tobytes())
        return result

    runs = Runs(lambda: texel(folder), answer=blind)
    runs.run()
    assert "11 of the last 20 evaluations ended by faults" in runs.halted
    assert runs.halted.endswith(" w")
    runs.answer = engine
    runs.begin()
    assert tuned(runs)["A"] > 100


def test_frozen_parameters_and_the_anchor_keep_their_values(folder: Path) -> None:
    parameters = [parameter("A"), parameter("B", frozen=True), parameter("C", start=120)]
    runs = Runs(lambda: texel(folder, parameters=parameters, anchor="C"))
    values = tuned(runs)
    assert (values["B"], values["C"]) == (100, 120)
    assert values["A"] != 100


def test_scores_by_a_function_equal_the_engine_s(folder: Path) -> None:
    def read(answer: str, position: str) -> float:
        assert position.endswith(" w")
        return float(answer.removeprefix("score "))

    by_function = tuned(Runs(lambda: texel(folder, score=read)))
    assert by_function == tuned(Runs(lambda: texel(folder)))


def test_closing_match_is_of_the_tuned_against_the_start_values(folder: Path) -> None:
    runs = Runs(lambda: texel(folder, verify=call("Verify", games=4)))
    values = tuned(runs)
    (match,) = runs.event.summary().data()["matchups"]
    assert match["games"] == 4
    assert match["parameters"] == [values, dict.fromkeys(CODES, 100)]
    assert values != TRUE


def test_linear_tune_asks_the_engine_for_features_and_survives_a_kill(folder: Path) -> None:
    def counts(answer: str, position: str) -> dict[str, float]:
        return {code: float(word) for code, word in zip(CODES, answer.split(), strict=True)}

    def printing(job: Any) -> Any:
        result = engine(job)
        if job.score.command != "features":
            return result
        file = PositionFile(Path(job.positions))
        rows = [int(text.split()[0]) for text in file.texts(job.first, job.stop, job.step)]
        table = features(len(file))[rows].tolist()
        return msgspec.structs.replace(
            result, scores=None, answers=tuple(" ".join(map(str, row)) for row in table)
        )

    def fresh() -> Any:
        parameters = [parameter("A"), parameter("B"), parameter("C", frozen=True)]
        return texel(folder, optimiser=call("Linear", features=counts), parameters=parameters)

    runs = Runs(fresh, answer=printing)
    for _ in range(3):
        runs.step()
    runs.begin()
    values = tuned(runs)
    assert values["A"] > values["C"] == 100 > values["B"]
    assert runs.event.summary().data()["passes"] == 3
    # a further event has the features already
    again = Runs(fresh, answer=engine)
    assert tuned(again) == values


@pytest.mark.parametrize("scale", ["fit", 200])
@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (SystemExit(5), "SystemExit: 5"),
        (2, "returns 2 for score"),
        (None, "TypeError"),
    ],
    ids=str,
)
def test_function_of_the_target_that_fails_is_an_error_of_the_control_file(
    folder: Path, scale: Any, outcome: Any, words: str
) -> None:
    def blended(score: float, ply: int, progress: float) -> Any:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    overrides = {"target": call("Blend", blended), "win_rate_scale": scale, "teacher_scale": 200}
    runs = Runs(lambda: texel(folder, **overrides))
    with pytest.raises(SettingError) as caught:
        runs.run()
    assert caught.value.path == ("target",)
    assert words in str(caught.value)


def test_score_cap_without_a_teacher_applies_to_the_engine_s_start_scores(
    folder: Path,
) -> None:
    write_positions(folder / "event.positions", teacher=False, key="results only")
    capped = call("Positions", "set.epd", score_cap=150)
    runs = Runs(lambda: texel(folder, positions=capped))
    tuned(runs)
    whole = np.abs(np.rint(features(480) @ np.array([100, 100, 100])))
    beyond = int((whole > 150).sum())
    actual = runs.event.summary().data()["positions"]["left_out"]
    assert actual == {"own score beyond the cap": beyond}
    assert sum(runs.event.tuning.state.labelling.weights) == 480 - beyond


def test_score_cap_of_teacher_s_scores_belongs_to_the_reader(folder: Path) -> None:
    capped = call("Positions", "set.epd", score_cap=150)
    runs = Runs(lambda: texel(folder, positions=capped))
    tuned(runs)
    assert runs.event.summary().data()["positions"]["left_out"] == {}
