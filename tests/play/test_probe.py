"""The probe of scripted engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from ringmaster.model.jobs import Apply, GameSettings, Probe, ScoreKind
from ringmaster.model.results import EvaluationResult
from ringmaster.play import probe as probe_module
from ringmaster.play.probe import difference
from ringmaster.play.worker import Worker
from tests.play.test_evaluation import COUNT, job, player, positions, worker

__all__ = ["positions", "worker"]

DEPTH = ScoreKind("depth", 1)


def probe(worker: Worker, positions: Path, *flags: str, **changes: Any) -> dict[str, Any]:
    options = changes.pop("options", [{"Weight": 200}, {"Idle": 5}])
    changed = tuple(player(*flags, options=each) for each in options)
    # a busy machine must not make an honest engine late
    changes.setdefault("settings", GameSettings(game="chess", hang_timeout=20.0))
    fixed = {k: changes.pop(k) for k in ("apply", "in_flight") if k in changes}
    file = job(
        positions, *flags, probe=Probe(changed, most_in_flight=8, **fixed), in_flight=1, **changes
    )
    result = worker.run(file)
    assert result.outcome == "evaluated", result.detail  # type: ignore[union-attr]
    return result.facts  # type: ignore[union-attr, no-any-return]


def test_probe_returns_the_scores_of_its_positions(worker: Worker, positions: Path) -> None:
    changed = (player(options={"Weight": 200}),)
    result = worker.run(job(positions, probe=Probe(changed)))
    assert isinstance(result, EvaluationResult)
    assert len(np.frombuffer(result.scores or b"", dtype="<f4")) == COUNT


def test_correct_engine_passes_the_probe(worker: Worker, positions: Path) -> None:
    facts = probe(worker, positions)
    rate = facts.pop("rate")
    assert rate > 0
    assert facts == {
        "apply": "live",
        "in_flight": 8,
        "repeatable": True,
        "moved": [True, False],
        "largest": [500.0, 0.0],
        "none": 0.0,
        "name": "scored",
        "problem": "",
    } | {"largest": facts["largest"]}
    assert 400 < facts["largest"][0] <= 500


@pytest.mark.parametrize("flag", ["--stalls-ahead", "--dies-ahead", "--swaps-ahead"])
def test_engine_that_fails_with_requests_in_flight_gets_one_at_a_time(
    worker: Worker, positions: Path, flag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if flag == "--stalls-ahead":
        monkeypatch.setattr(probe_module, "_LATE", 0.2)
    facts = probe(worker, positions, flag)
    assert (facts["in_flight"], facts["apply"], facts["problem"]) == (1, "live", "")
    assert facts["moved"] == [True, False]


@pytest.mark.slow
def test_searches_get_a_new_process_for_each_shard_unless_the_control_file_says_otherwise(
    worker: Worker, positions: Path
) -> None:
    facts = probe(worker, positions, score=DEPTH)
    assert (facts["in_flight"], facts["problem"]) == (1, "")
    assert (facts["apply"], facts["repeatable"], facts["moved"]) == ("restart", True, [True, False])
    assert probe(worker, positions, score=DEPTH, apply="newgame")["apply"] == "newgame"
    assert probe(worker, positions, score=DEPTH, options=[])["apply"] == "restart"


def test_search_that_a_new_process_does_not_repeat_is_not_called_repeatable(
    worker: Worker, positions: Path
) -> None:
    facts = probe(worker, positions, "--unsteady", score=DEPTH)
    assert not facts["repeatable"]


def test_requested_number_in_flight_is_verified(worker: Worker, positions: Path) -> None:
    assert probe(worker, positions, in_flight=4)["in_flight"] == 4
    facts = probe(worker, positions, "--swaps-ahead", in_flight=4)
    assert "with 4 requests in flight its answers are different" in facts["problem"]


@pytest.mark.parametrize(
    ("flags", "apply"),
    [
        ((), "live"),
        (("--applies", "newgame"), "newgame"),
        (("--stale",), "newgame"),
        (("--applies", "start"), "restart"),
    ],
)
def test_weakest_sufficient_apply_mode_is_found(
    worker: Worker, positions: Path, flags: tuple[str, ...], apply: Apply
) -> None:
    facts = probe(worker, positions, *flags)
    assert (facts["apply"], facts["moved"], facts["problem"]) == (apply, [True, False], "")


@pytest.mark.slow
def test_insufficient_apply_mode_is_refused(worker: Worker, positions: Path) -> None:
    facts = probe(worker, positions, "--applies", "newgame", apply="live")
    assert 'apply = "newgame"' in facts["problem"]
    assert probe(worker, positions, apply="restart")["apply"] == "restart"


def test_values_on_the_command_line_need_a_new_process(worker: Worker, positions: Path) -> None:
    file = job(positions, in_flight=1)
    changed = (player("--same"), player(options={"Weight": 200}))
    result = worker.run(msgspec.structs.replace(file, probe=Probe(changed)))
    facts = result.facts  # type: ignore[union-attr]
    assert (facts["apply"], facts["moved"]) == ("restart", [True, True])


def test_engine_without_an_effective_parameter_is_refused(worker: Worker, positions: Path) -> None:
    facts = probe(worker, positions, options=[{"Idle": 5}])
    assert facts["moved"] == [False]
    assert "no parameter changes any score" in facts["problem"]


def test_engine_that_remembers_earlier_games_is_restarted(worker: Worker, positions: Path) -> None:
    facts = probe(worker, positions, "--drifts", "--never-clears", score=DEPTH)
    assert (facts["apply"], facts["repeatable"], facts["moved"]) == ("restart", True, [True, False])


def test_share_of_positions_without_a_score_is_reported(worker: Worker, positions: Path) -> None:
    facts = probe(worker, positions, "--none-at", "5", score=DEPTH, options=[{"Weight": 0}])
    assert facts["none"] == pytest.approx(1 / COUNT, abs=0.02)


@pytest.mark.parametrize(
    ("flags", "score", "message"),
    [
        (("--same",), ScoreKind(), "the same score, 7, for all of 60 positions"),
        (("--form", "own"), ScoreKind(), 'Score(command="eval"'),
        (("--form", "own"), ScoreKind(pattern=r"Toto: (\S+)"), "Toto"),
        (("--die-at", "3"), DEPTH, "exited with status 3"),
        (("--endless", "nodes"), ScoreKind("nodes", 1), 'score = "depth 1"'),
        (("--endless", "nodes", "--deaf"), ScoreKind("nodes", 1), "did not obey 'stop'"),
        (("--endless", "depth"), ScoreKind("quiescence"), "no quiescence search"),
        (("--depth-0", "1"), ScoreKind("quiescence"), "it searches to depth 1"),
    ],
)
@pytest.mark.slow
def test_unusable_engine_is_refused_with_a_reason(
    worker: Worker, positions: Path, flags: tuple[str, ...], score: ScoreKind, message: str
) -> None:
    # a search without end is stopped when it has hung
    settings = GameSettings(game="chess", hang_timeout=0.5 if "--endless" in flags else 20.0)
    facts = probe(worker, positions, *flags, score=score, settings=settings)
    assert message in facts["problem"]


def test_refused_option_value_is_named(worker: Worker, positions: Path) -> None:
    facts = probe(worker, positions, options=[{"Weight": 5000}])
    assert "with Weight = 5000" in facts["problem"]


@pytest.mark.slow
def test_answers_for_a_function_are_compared_as_texts(worker: Worker, positions: Path) -> None:
    facts = probe(worker, positions, "--form", "own", answers=True)
    assert (facts["in_flight"], facts["apply"], facts["moved"]) == (8, "live", [True, False])
    assert facts["largest"] == [0.0, 0.0]


def test_difference_counts_missing_scores() -> None:
    nan = float("nan")

    def gap(*pairs: tuple[float, float]) -> float:
        one, other = np.array(pairs, dtype=np.float32).T
        return difference(one, other)

    assert gap((1, 1), (nan, nan)) == 0
    assert gap((1, 4), (2, 0)) == 3
    assert gap((nan, 1)) == float("inf")
    assert gap((nan, nan)) == 0
