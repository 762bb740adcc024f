"""The test of moves after a tune, with a simulated engine."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import chess
import pytest

from ringmaster.errors import SettingError
from ringmaster.model.jobs import EvaluationJob
from ringmaster.model.results import EvaluationResult
from ringmaster.reporting.tables import render_report
from tests.competitions.settings_of import Refused, call
from tests.competitions.texel.simulated import (
    CODES,
    Runs,
    engine,
    folder_fixture,  # noqa: F401 - a fixture
    parameter,
    texel,
)

COUNT = 600
TEST = "test.plain"


def positions() -> list[tuple[str, str]]:
    """Return positions of random games with the played moves; none is in check."""
    rng, found = random.Random(5), {}
    while len(found) < COUNT:
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 40:
            move = rng.choice(list(board.legal_moves))
            if not board.is_check():
                found.setdefault(board.fen(), move.uci())
            board.push(move)
    return list(found.items())[:COUNT]


POSITIONS = positions()
PLACES = {fen: i for i, (fen, _) in enumerate(POSITIONS)}


def plain(rows: list[tuple[str, str]]) -> str:
    return "".join(
        f"fen {fen}\nmove {move}\nscore 10\nply {i}\nresult 0\ne\n"
        for i, (fen, move) in enumerate(rows)
    )


def tune(folder: Path, *, test: Any = None, **overrides: Any) -> Any:
    settings = {"move_accuracy": test or call("MoveAccuracy", str(folder / TEST), nodes=50)}
    return texel(folder, most_passes=12, **{**settings, **overrides})


def other(fen: str, move: str) -> str:
    return next(m.uci() for m in chess.Board(fen).legal_moves if m.uci() != move)


def player(job: EvaluationJob) -> EvaluationResult:
    """Return the result of an engine that finds more of the teacher's moves when it is tuned."""
    if not job.texts:
        return engine(job)
    is_start = all(int(job.player.options[code]) == 100 for code in CODES)
    answers = []
    for text in job.texts:
        place = PLACES[text]
        # of ten positions: 4 at the start; when tuned 5, of which 3 are the same
        found = place % 10 < 4 if is_start else 1 <= place % 10 < 6
        best = POSITIONS[place][1] if found else other(*POSITIONS[place])
        answers.append(f"info depth 1 score cp 3 pv {best}\nbestmove {best} ponder a1a2\n")
    return EvaluationResult(job.id, job.attempt, "evaluated", answers=tuple(answers))


@pytest.fixture(name="tested")
def tested_fixture(folder: Path) -> Path:
    (folder / TEST).write_text(plain(POSITIONS))
    return folder


def count_of(event: Any) -> int:
    """Return the number of positions in the test set of a prepared event."""
    shards = len(event.tuning.state.moves.hits) // 2
    return sum(len(event._moves.shard(number)) for number in range(shards))


def data(runs: Runs) -> Any:
    return runs.event.summary().data()["move_accuracy"]


def test_moves_of_start_and_tuned_values_are_compared_with_the_teachers(tested: Path) -> None:
    runs = Runs(lambda: tune(tested), answer=player, workers=3)
    runs.run()
    assert runs.event.finished()
    found = data(runs)
    assert found["positions"] == COUNT
    assert found["matches"]["start"] == 240
    assert found["matches"]["best"] == 300
    assert (found["gained"], found["lost"]) == (120, 60)
    assert found["start"]["low"] < 0.4 < found["start"]["high"]
    assert found["difference"]["low"] < 0.1 < found["difference"]["high"]
    report = render_report(runs.event.summary().report, heading="texel", description=None)
    assert "move accuracy over 600 positions, nodes=50" in report
    assert "gain 120 positions and lose 60: +10.00 %" in report
    assert any(line.startswith("move accuracy: start 40 %") for line in runs.history)


def test_killed_test_resumes_with_the_same_numbers(tested: Path) -> None:
    runs = Runs(lambda: tune(tested), answer=player, workers=2, seed=1)
    while not runs.event.summary().progress.phase.startswith("move accuracy: 2/"):
        runs.step()
    for _ in range(3):
        runs.begin()
        if runs.running:
            runs.step()
    runs.run()
    assert (data(runs)["gained"], data(runs)["lost"]) == (120, 60)
    assert runs.event.finished()


def test_closing_match_waits_for_the_test(tested: Path) -> None:
    overrides = {"verify": call("Verify", games=2, nodes=1)}
    runs = Runs(lambda: tune(tested, **overrides), answer=player)
    while not any("closing" in line or "e:tuned" in line for line in runs.history):
        runs.step()
    assert data(runs) is not None


def test_only_the_test_is_repeated_after_an_edit_of_it(tested: Path) -> None:
    nodes = [50]
    runs = Runs(
        lambda: tune(tested, test=call("MoveAccuracy", str(tested / TEST), nodes=nodes[0])),
        answer=player,
    )
    runs.run()
    shards = runs.event.summary().data()["shards"]["completed"]
    nodes[0] = 60
    runs.begin()
    assert data(runs) is None
    runs.run()
    assert data(runs)["gained"] == 120
    assert runs.event.summary().data()["shards"]["completed"] == shards


@pytest.mark.slow
def test_test_is_added_to_a_finished_tune_and_repeated_after_a_further_one(tested: Path) -> None:
    overrides: dict[str, Any] = {"move_accuracy": None}
    runs = Runs(lambda: tune(tested, **overrides), answer=player)
    runs.run()
    assert runs.event.finished()
    del overrides["move_accuracy"]
    runs.begin()
    assert not runs.event.finished()
    runs.run()
    assert data(runs)["gained"] == 120
    overrides["loss"] = "cross_entropy"
    runs.begin()
    assert data(runs) is None
    runs.run()
    assert data(runs)["gained"] == 120


def test_removed_test_is_played_anew_when_it_is_added_again(tested: Path) -> None:
    overrides: dict[str, Any] = {}
    runs = Runs(lambda: tune(tested, **overrides), answer=player)
    runs.run()
    overrides["move_accuracy"] = None
    runs.begin()
    assert data(runs) is None
    del overrides["move_accuracy"]
    runs.begin()
    runs.run()
    assert data(runs)["gained"] == 120


@pytest.mark.parametrize(
    "best", ["e1e8", "0000", "(none)", ""], ids=["illegal", "null", "none", "nothing"]
)
def test_answer_without_a_legal_move_is_void_with_the_position(tested: Path, best: str) -> None:
    def wrong(job: EvaluationJob) -> EvaluationResult:
        result = player(job)
        if not job.texts:
            return result
        answers = (f"bestmove {best}\n", *(result.answers or ())[1:])
        return EvaluationResult(job.id, job.attempt, "evaluated", answers=answers)

    runs = Runs(lambda: tune(tested), answer=wrong)
    runs.run()
    assert runs.halted
    assert "in position" in runs.halted
    assert "not legal" in runs.halted


def refusal(folder: Path, text: str, name: str = TEST, **settings: Any) -> str:
    (folder / name).write_text(text)
    test = call("MoveAccuracy", call("Positions", str(folder / name), **settings))
    with pytest.raises(SettingError) as raised:
        tune(folder, test=test).prepare()
    assert raised.value.path == ("move_accuracy",)
    return str(raised.value)


def test_format_without_moves_is_refused(folder: Path) -> None:
    message = refusal(folder, "".join(f'{fen} c9 "1-0";\n' for fen, _ in POSITIONS[:50]), "a.epd")
    assert "the format 'epd' has no moves" in message
    assert ".plain" in message


def test_illegal_moves_are_refused_together_with_their_lines(folder: Path) -> None:
    rows = [*POSITIONS[:20], (POSITIONS[20][0], "a1a8"), (POSITIONS[21][0], "a1a8")]
    message = refusal(folder, plain(rows))
    assert f"{TEST}:121" in message
    assert f"{TEST}:127" in message
    assert "a1a8" in message


def test_skipped_illegal_moves_are_counted(folder: Path) -> None:
    (folder / TEST).write_text(plain([*POSITIONS[:20], (POSITIONS[20][0], "a1a8")]))
    set_ = call("Positions", str(folder / TEST), skip_bad=True)
    event = tune(folder, test=call("MoveAccuracy", set_))
    said: list[str] = []
    event.say = said.append
    event.prepare()
    assert "move accuracy: left out: 1 bad line" in said
    assert count_of(event) == 20


def test_filters_and_the_sample_apply_to_the_test_set(folder: Path) -> None:
    in_check = "4k3/8/8/8/8/8/8/4K2r w - - 0 1"
    (folder / TEST).write_text(plain([*POSITIONS, (in_check, "e1d2")]))

    def count(**settings: Any) -> int:
        set_ = call("Positions", str(folder / TEST), **settings)
        event = tune(folder, test=call("MoveAccuracy", set_))
        event.prepare()
        return count_of(event)

    assert count() == COUNT
    assert count(in_check=True) == COUNT + 1
    assert count(first_ply=100) == COUNT - 100
    assert count(most=70) == 70


def test_test_set_is_read_again_only_if_its_file_or_settings_change(
    tested: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tune(tested).prepare()
    monkeypatch.setattr("ringmaster.formats.registry.Format.read", None)
    event = tune(tested)
    event.prepare()
    assert count_of(event) == COUNT
    (tested / TEST).write_text(plain(POSITIONS[:9]))
    with pytest.raises(TypeError):
        tune(tested).prepare()


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (call("MoveAccuracy", call("Positions", "a.epd", quiet=50)), "no quiet filter"),
        (call("MoveAccuracy", call("Positions", "a.epd", most=10_001)), "at most 10,000"),
        (call("MoveAccuracy", "a.epd", nodes=1, depth=1), "exclude each other"),
        (call("MoveAccuracy", "a.epd", nodes=0), "nodes"),
        ("a.epd", "MoveAccuracy"),
    ],
)
def test_wrong_settings_of_the_test_are_refused(tmp_path: Path, test: Any, message: str) -> None:
    with pytest.raises(Refused, match=message):
        texel(tmp_path, move_accuracy=test, parameters=[parameter("A")])
