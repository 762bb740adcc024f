"""A competition as the server sees it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.report import Chart, Series
from ringmaster.reporting.page import Page
from ringmaster.server import watched
from ringmaster.server.watched import Watched
from tests.recorded import CHESS, add, open_store, recorded, ticket, won, write


def test_parts_change_with_results_and_not_without(tmp_path: Path) -> None:
    control = write(tmp_path)
    competition = Watched(control)
    before = competition.parts()
    assert before["facts"][0] == ["games", "0"]
    stamp = competition.stamp()
    assert competition.parts() == before
    recorded(control, [(ticket(number=0), won("0_0"))])
    assert competition.stamp() != stamp
    competition.hurry()
    after = competition.parts()
    assert after["games_total"] == 1
    assert after["verdict"] != before["verdict"]
    assert after["conditions"] == before["conditions"]


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


def test_page_waits_until_it_has_paid_for_the_last_one_and_is_of_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    spent = iter(range(1000))
    monkeypatch.setattr(watched.time, "monotonic", lambda: now)
    # each page takes a second
    monkeypatch.setattr(watched.time, "thread_time", lambda: next(spent))
    control = write(tmp_path)
    recorded(control, [(ticket(number=n), won(f"0_{n}", winner=n % 2)) for n in range(5)])
    competition = Watched(control)
    assert competition.page().games_total == 5
    recorded(control, [(ticket(number=8), won("0_8", winner=1))])
    # the first page does not count
    first = competition.page()
    assert drawn_games(first) == first.games_total == 6
    assert "after 6 of" in first.verdict
    recorded(control, [(ticket(number=9), won("0_9"))])
    assert competition.page() is first
    assert not competition.is_due()
    now += watched.REST
    assert competition.is_due()
    second = competition.page()
    assert drawn_games(second) == second.games_total == 7
    assert "after 7 games" in second.verdict
    assert not competition.is_due()
    recorded(control, [(ticket(number=10), won("0_10"))])
    assert competition.page() is second
    competition.hurry()
    assert competition.page().games_total == 8


def drawn_games(page: Page) -> float:
    """Return the number of games at the end of the course of the first matchup."""
    charts = [chart for group in page.groups for chart in group.charts if isinstance(chart, Chart)]
    return max(x for chart in charts if chart.x_label == "games" for x, *_ in points(chart))


def points(chart: Chart) -> list[tuple[float, ...]]:
    """Return the points of the lines of a chart."""
    series = [piece for piece in chart.pieces if isinstance(piece, Series)]
    return [point for one in series for point in one.points]


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


def test_game_has_a_board_from_a_collected_file(tmp_path: Path) -> None:
    control = recorded(write(tmp_path), [(ticket(number=0), won("0_0"))])
    collected = tmp_path / "event.games.pgn"
    collected.write_text('[Event "event"]\n[GameId "0_0"]\n\n1. e4 e5 *\n')
    board = Watched(control).game(1)
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
