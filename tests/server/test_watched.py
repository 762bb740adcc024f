"""A competition as the server sees it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.server import watched
from ringmaster.server.watched import Watched, changed
from tests.recorded import CHESS, add, open_store, recorded, ticket, won, write


def test_parts_change_with_results_and_not_without(tmp_path: Path) -> None:
    control = write(tmp_path)
    competition = Watched(control)
    seen: dict[str, str] = {}
    assert competition.parts()["facts"][0] == ["games", "0"]
    changed(competition.parts(), seen)
    stamp = competition.stamp()
    assert changed(competition.parts(), seen) == {}
    recorded(control, [(ticket(number=0), won("0_0"))])
    assert competition.stamp() != stamp
    fresh = changed(competition.parts(), seen)
    assert fresh["games_total"] == 1
    assert "verdict" in fresh
    assert "description" not in fresh


def test_broken_edit_is_told_beside_the_last_parts(tmp_path: Path) -> None:
    control = write(tmp_path)
    competition = Watched(control)
    assert competition.parts()["error"] == ""
    control.write_text("competition_type = 'playoff'\n(")
    parts = competition.parts()
    assert list(parts) == ["error"]
    assert "event.ctl:2" in parts["error"]
    write(tmp_path)
    assert competition.parts()["error"] == ""


def test_charts_wait_until_they_have_paid_for_the_last_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 1.0  # each look at the clock, a second: charts take one
        return now

    monkeypatch.setattr(watched.time, "monotonic", clock)
    control = write(tmp_path)
    recorded(control, [(ticket(number=n), won(f"0_{n}", winner=n % 2)) for n in range(6)])
    competition = Watched(control)
    first = competition.page()
    assert first.groups
    recorded(control, [(ticket(number=9), won("0_9"))])
    second = competition.page()
    assert second.games_total > first.games_total
    assert second.groups is first.groups
    now += 100
    assert competition.is_chart_due()
    third = competition.page()
    assert third.groups is not first.groups
    assert not competition.is_chart_due()


def test_games_in_progress_are_boards_and_damaged_files_are_not(tmp_path: Path) -> None:
    competition = Watched(write(tmp_path))
    assert competition.games_in_progress() == []
    live = tmp_path / "event.live"
    live.mkdir()
    text = '[White "a"]\n\n1. e4 e5 *\n'
    (live / "0_1.json").write_text(json.dumps({"players": ["a", "b"], "record": text}))
    (live / "0_2.json").write_text("{")
    (live / "0_3.json~").write_text("half")
    (board,) = competition.games_in_progress()
    assert (board.id, board.players, board.moves, board.in_progress) == (
        "0_1",
        ("a", "b"),
        "e4 e5",
        True,
    )
    stamp = competition.live_stamp()
    (live / "0_1.json").unlink()
    assert competition.live_stamp() != stamp


def test_boards_stay_while_the_control_file_is_broken(tmp_path: Path) -> None:
    control = write(tmp_path)
    competition = Watched(control)
    assert competition.parts()["error"] == ""
    live = tmp_path / "event.live"
    live.mkdir()
    (live / "0_1.json").write_text(json.dumps({"players": ["a", "b"], "record": "1. e4 *"}))
    control.write_text("(")
    assert [board.id for board in competition.games_in_progress()] == ["0_1"]
    # a server that starts now knows no game
    assert Watched(control).games_in_progress() == []


SWISS = """competition_type = "swiss"
game = "chess"
players = {code: Player(code, nodes=1) for code in "abcd"}
competitors = ["a", "b", "c", "d"]
rounds = 2
"""
RECORD = '[White "a"]\n\n1. e4 e5 *\n'


def test_game_of_a_swiss_has_a_board_though_results_made_its_pairing(tmp_path: Path) -> None:
    control = write(tmp_path, SWISS)
    competition = LoadedCompetition(control).competition
    store = open_store(control)
    (tmp_path / "event.games").mkdir()
    while (job := competition.next_job()) is not None:
        competition.record_result(job.ticket, won(job.id))
        add(store, [(job.ticket, won(job.id))])
        (tmp_path / "event.games" / f"{job.id}.pgn").write_text(RECORD)
    store.close()
    for number in range(1, competition.summary().progress.completed + 1):
        board = Watched(control).game(number)
        assert board is not None
        assert board.moves == "e4 e5"


def test_game_of_a_matchup_that_was_removed_has_a_board(tmp_path: Path) -> None:
    control = recorded(write(tmp_path), [(ticket(number=0), won("0_0"))])
    (tmp_path / "event.games").mkdir()
    (tmp_path / "event.games" / "0_0.pgn").write_text(RECORD)
    write(tmp_path, CHESS.replace('    Matchup("a", "b", number_of_games=10),\n', ""))
    board = Watched(control).game(1)
    assert board is not None
    assert (board.players, board.moves) == (("a", "b"), "e4 e5")


def test_progress_in_an_index_names_another_unit_than_games(tmp_path: Path) -> None:
    control = write(tmp_path)
    assert Watched(control).index_row().progress == "0"
    tune = Path(__file__).parents[2] / "controlfiles" / "texel_chess.ctl"
    for name in ("texel_chess.ctl", "texel_positions.epd"):
        shutil.copy(tune.with_name(name), tmp_path)
    assert Watched(tmp_path / "texel_chess.ctl").index_row().progress == "0 shards"
