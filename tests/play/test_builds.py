"""Starts of engines whose files are others than those of the run's builds."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import msgspec
import pytest

from ringmaster.model.builds import files_of, sum_of
from ringmaster.model.jobs import CheckJob, EvaluationJob, GameJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import REBUILT, CheckResult, EvaluationResult, GameResult
from tests.play.test_evaluation import FENS, write
from tests.play.workers import one_worker
from tests.program import ENGINES

SETTINGS = GameSettings("chess")


@pytest.fixture
def player(tmp_path: Path) -> Player:
    """A player whose script may be rebuilt."""
    for path in ENGINES.glob("*.py"):
        shutil.copy(path, tmp_path)
    return Player("a", (sys.executable, "-I", "-S", f"{tmp_path}/instant_uci.py"), "uci", nodes=1)


def rebuild(player: Player) -> None:
    with Path(player.command[-1]).open("a") as script:
        script.write("# another build\n")


def test_game_and_record_name_the_builds_and_a_rebuilt_engine_plays_no_game(
    player: Player,
) -> None:
    other = msgspec.structs.replace(player, code="b", command=(*player.command, "--depth", "1"))
    sums = {path: sum_of(path) for path in files_of(player).values()}
    (known,) = sums.values()
    with one_worker("instant_uci", builds=msgspec.to_builtins(sums)) as worker:
        played = worker.run(GameJob("0", (player, player), SETTINGS, round=1))
        assert isinstance(played, GameResult)
        assert played.record is not None
        assert f'[WhiteBuild "{known.sha256[:12]}"]' in played.record
        rebuild(player)
        # a process that has started goes on
        assert worker.run(GameJob("1", (player, player), SETTINGS)).reason != REBUILT
        result = worker.run(GameJob("2", (player, other), SETTINGS))
    assert isinstance(result, GameResult)
    assert (result.outcome, result.reason, result.faulty) == ("void", REBUILT, 1)
    assert f"b: {player.command[-1]} was rebuilt during the run: SHA-256 " in result.detail
    assert f"before {known.sha256[:12]}" in result.detail


def test_rebuilt_engine_evaluates_nothing_and_fails_its_check(
    player: Player, tmp_path: Path
) -> None:
    sums = {path: sum_of(path) for path in files_of(player).values()}
    rebuild(player)
    with one_worker("instant_uci", builds=msgspec.to_builtins(sums)) as worker:
        check = worker.run(CheckJob("c", player, SETTINGS))
        assert isinstance(check, CheckResult)
        (problem,) = check.problems
        assert "was rebuilt during the run" in problem.reason
        positions = write(tmp_path / "positions", FENS)
        shard = EvaluationJob("p", player, SETTINGS, str(positions), 0, len(FENS))
        result = worker.run(shard)
    assert isinstance(result, EvaluationResult)
    assert (result.outcome, result.reason) == ("void", REBUILT)
