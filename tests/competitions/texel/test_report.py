"""The report of a texel competition, before, during and after its passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ringmaster.model.jobs import EvaluationJob
from ringmaster.model.report import Whiskers
from ringmaster.model.results import EvaluationResult
from ringmaster.positions import PositionFile
from ringmaster.reporting.tables import render_report
from ringmaster.stats.elo import wilson
from tests.competitions.settings_of import call, uci
from tests.competitions.texel.simulated import (
    CODES,
    TRUE,
    Runs,
    engine,
    features,
    folder_fixture,  # noqa: F401 - a fixture
    probed,
    texel,
)


def report(event: object) -> str:
    return render_report(event.summary().report, heading="texel: event", description=None)  # type: ignore[attr-defined]  # an event


def test_report_needs_no_positions_and_no_complete_pass(folder: Path) -> None:
    runs = Runs(lambda: texel(folder, target=call("GaussianLambda")))
    for _ in range(15):
        runs.step()
    reader = texel(folder / "elsewhere", target=call("GaussianLambda"))
    snapshot = runs.store.snapshot()
    assert snapshot is not None
    reader.scores = runs.store.scores
    reader.restore(snapshot[1])
    for actual in runs.store.results(snapshot[0]):
        reader.record_result(actual.ticket, actual.result)
    reader.apply_edits([issue.ticket for issue in runs.store.issues()])
    assert report(reader) == report(runs.event)
    assert reader.summary().data() == runs.event.summary().data()


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"apply": "restart"}, "positions/s, repeatable"),
        ({"apply": "newgame"}, 'apply = "restart" prevents it'),
        ({"repeatable": False}, "a search needs one thread"),
    ],
)
def test_repeatability_of_search_scores_is_reported(
    folder: Path, facts: dict[str, Any], said: str
) -> None:
    def answer(job: EvaluationJob) -> EvaluationResult:
        return engine(job) if job.probe is None else probed(job, **facts)

    runs = Runs(lambda: texel(folder, score="depth 2"), answer=answer)
    runs.step()
    assert said in report(runs.event)
    assert said in "\n".join(runs.history)
    assert ("repeatable" in report(runs.event)) == said.endswith("repeatable")


def test_search_of_the_quiet_filter_gets_a_new_process(folder: Path) -> None:
    jobs: list[EvaluationJob] = []

    def answer(job: EvaluationJob) -> EvaluationResult:
        jobs.append(job)
        return engine(job)

    positions = call("Positions", "set.epd", quiet=100)
    Runs(lambda: texel(folder, positions=positions, most_passes=3), answer=answer).run()
    applied = {(job.score.kind, job.apply) for job in jobs if job.probe is None}
    assert applied == {("depth", "restart"), ("eval", "live")}


def test_charts_are_of_errors_parameters_ridge_and_calibration(folder: Path) -> None:
    runs = Runs(lambda: texel(folder, regularisation=call("Ridge")))
    assert runs.event.charts([]) == []
    runs.run()
    groups = {group.key: group for group in runs.event.charts([])}
    assert list(groups)[:3] == ["errors", "trajectory", "ridge"]
    assert list(groups)[-1] == "calibration"
    assert all(group.charts for group in groups.values())
    (errors,) = groups["errors"].charts
    assert errors.y_label == "mean squared error"
    summary = runs.event.summary().data()["errors"]
    first = {piece.name: piece.points[0][1] for piece in errors.pieces if piece.name != "not taken"}
    assert first == summary["start"]
    assert f"{summary['best']['validation']:.6g}" in errors.note


def test_calibration_shows_results_by_score_with_intervals_of_games(folder: Path) -> None:
    runs = Runs(lambda: texel(folder))
    runs.run()
    before, after = runs.event.charts([])[-1].charts
    assert [before.title, after.title] == ["Start values", "Best values"]
    file = PositionFile(folder / "event.positions")
    rows = [int(text.split()[0]) for text in file.texts(0, len(file), 1)]
    scores = np.rint(features(len(file))[rows] @ np.full(len(CODES), 100.0))
    scale = runs.event.summary().data()["win_rate_scale"]
    place = np.minimum((20 / (1 + np.exp(-scores / scale))).astype(int), 19)
    (marks,) = [p.points for p in before.pieces if isinstance(p, Whiskers)]
    bins = sorted(set(place.tolist()))
    assert len(marks) == len(bins)
    for mark, one in zip(marks, bins, strict=True):
        members = place == one
        mean, games = (
            file.result[members].astype(float).mean(),
            len(set(file.group[members].tolist())),
        )
        low, high = wilson(mean * games, games)
        assert mark == pytest.approx((scores[members].mean(), 100 * mean, 100 * low, 100 * high))
    line = dict(before.pieces[0].points)
    for score, points in line.items():
        assert points == pytest.approx(100 / (1 + np.exp(-score / scale)))


def test_too_small_book_for_the_closing_match_is_a_warning(folder: Path) -> None:
    (folder / "book.epd").write_text("4k3/8/8/8/8/8/4P3/4K3 w - -\n")
    openings = call("Openings", str(folder / "book.epd"))
    event = texel(folder, openings=openings, verify=call("Verify", games=8))
    event.prepare()
    assert any("its book has 1: they will repeat" in line for line in event.setup().notices)


def test_reference_engine_is_scored_once_and_compared_with_start_and_best(folder: Path) -> None:
    jobs: list[EvaluationJob] = []

    def answer(job: EvaluationJob) -> EvaluationResult:
        jobs.append(job)
        return engine(job)

    runs = Runs(lambda: with_reference(folder, options=dict(TRUE)), answer=answer)
    runs.run()
    assert runs.event.finished()
    summary = runs.event.summary().data()
    actual = summary["reference"]
    assert actual["player"] == "ref"
    # it has the values that the positions were labelled by
    assert actual["reference"]["validation"] < summary["errors"]["start"]["validation"]
    assert actual["start"]["train"] == pytest.approx(summary["errors"]["start"]["training"])
    assert actual["best"]["train"] == pytest.approx(summary["errors"]["best"]["training"])
    assert sum(job.player.code == "ref" for job in jobs) == 3


def test_positions_without_a_reference_score_are_left_out_of_the_comparison(
    folder: Path,
) -> None:
    def answer(job: EvaluationJob) -> EvaluationResult:
        result = engine(job)
        if job.player.code != "ref" or job.probe is not None:
            return result
        scores = np.frombuffer(result.scores or b"", "<f4").copy()
        scores[::10] = np.nan
        return msgspec.structs.replace(result, scores=scores.tobytes())

    runs = Runs(
        lambda: with_reference(folder, options=dict.fromkeys(CODES, 100), win_rate_scale=200),
        answer=answer,
    )
    runs.run()
    actual = runs.event.summary().data()["reference"]
    assert actual["missing"] == 48
    assert actual["reference"] == pytest.approx(actual["start"])


def test_reference_added_to_a_finished_tune_or_replaced_costs_its_own_pass_only(
    folder: Path,
) -> None:
    overrides: dict[str, Any] = {}
    runs = Runs(lambda: with_reference(folder, **overrides) if overrides else texel(folder))
    runs.run()
    passes = runs.event.summary().data()["passes"]
    errors = []
    for options in (dict(TRUE), dict.fromkeys(CODES, 100)):
        overrides["options"] = options
        assert runs.begin() == []
        assert not runs.event.finished()
        done = runs.done
        runs.run()
        assert runs.done - done == 3
        assert runs.event.finished()
        errors.append(runs.event.summary().data()["reference"]["reference"]["train"])
    assert errors[0] < errors[1]
    assert runs.event.summary().data()["passes"] == passes


def test_reference_that_plays_the_closing_match_too_has_two_checks(
    folder: Path,
) -> None:
    verify = call("Verify", games=8, against="ref")
    checks = with_reference(folder, TRUE, verify=verify).setup().checks
    assert [job.player.code for job in checks].count("ref") == 2
    assert len({job.id for job in checks}) == len(checks)


def with_reference(folder: Path, options: dict[str, int], **overrides: Any) -> Any:
    """Return an event with the reference engine `ref`, which has other options."""
    players = {"e": uci(), "ref": uci(options=options)}
    return texel(folder, players=players, reference="ref", **overrides)
