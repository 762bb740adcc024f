"""The contents of a competition's page: games, boards, key figures, texts for the clipboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringmaster import page_data
from ringmaster.cli import run
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.page_data import make_page
from ringmaster.reporting.page import Page, render_page
from ringmaster.storage.store import Store
from tests.recorded import CHESS, NOW, TUNE, add, open_store, recorded, ticket, won, write

PGN = """[Event "event"]
[Round "1"]
[GameId "{id}"]
[White "a"]
[Black "b"]
[Result "1-0"]

1. e4 e5 2. Qh5 Ke7 3. Qxe5# 1-0
"""


def page_of(control: Path, **options: bool) -> Page:
    loaded = LoadedCompetition(control)
    store = Store.open_readonly(loaded.paths.status)
    try:
        loaded.restore(store, loaded.compare(store))
        return make_page(loaded, store, **options)
    finally:
        store.close()


def played(tmp_path: Path, source: str = CHESS, games: int = 10) -> Path:
    control = write(tmp_path, source)
    results = [won(f"0_{i}", i % 3 % 2) for i in range(games)]
    recorded(control, [(ticket(number=i, pair=i // 2), r) for i, r in enumerate(results)])
    return control


def test_report_writes_text_and_page(tmp_path: Path) -> None:
    control = played(tmp_path)
    assert run([str(control), "report"]) == 0
    verdict = control.with_suffix(".report").read_text(encoding="utf-8")
    page = control.with_suffix(".html").read_text(encoding="utf-8")
    assert "a v b (10/10 games)" in verdict
    assert "a v b (10/10 games)" in page
    assert len(page) < 500_000


def test_page_has_the_newest_games_and_says_where_the_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_data, "MOST_FAULTS", 2)
    control = write(tmp_path, CHESS)
    results = [won(f"0_{i}", i % 2, forfeit=i < 3, faulty=1) for i in range(10)]
    recorded(control, [(ticket(number=i, pair=i // 2), r) for i, r in enumerate(results)])
    loaded = LoadedCompetition(control)
    store = Store.open_readonly(loaded.paths.status)
    loaded.restore(store, loaded.compare(store))
    page = make_page(loaded, store, most_games=4)
    store.close()
    # and the last older ones with faults
    assert [game.number for game in page.games] == [10, 9, 8, 7, 3, 2]
    assert [game.fault for game in page.games] == [False] * 4 + [True] * 2
    assert page.games_total == 10
    assert page.games_note == (
        "The newest 4 of 10 games, and the last 2 older ones with a fault; "
        "all are in event.games.pgn."
    )


def test_gaps_in_the_numbers_of_games_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = played(tmp_path)
    assert page_of(control).games_note == ""
    monkeypatch.setattr(type(LoadedCompetition(control).competition), "unit", "jobs")
    assert page_of(control).games_note == "Numbers count evaluations, too."


def test_boards_keep_to_their_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    control = played(tmp_path, games=10)
    folder = control.with_suffix(".games")
    folder.mkdir()
    for i in range(10):
        (folder / f"0_{i}.pgn").write_text(PGN.format(id=f"0_{i}"))
    boards = [game.board for game in page_of(control).games]
    assert boards[0].moves == "e4 e5 Qh5 Ke7 Qxe5#"
    assert None not in boards
    assert all(game.board is None for game in page_of(control, boards=False).games)
    monkeypatch.setattr(page_data, "MOST_BYTES", 800)
    boards = [game.board for game in page_of(control).games]
    assert boards[0] is not None
    assert boards[-1] is None


def test_boards_are_read_from_a_collected_file(tmp_path: Path) -> None:
    control = played(tmp_path, CHESS + 'record_files = "collected"\n', games=4)
    records = "\n".join(PGN.format(id=f"0_{i}") for i in range(4))
    control.with_suffix(".games.pgn").write_text(records)
    boards = [game.board for game in page_of(control).games]
    assert [board.moves for board in boards] == ["e4 e5 Qh5 Ke7 Qxe5#"] * 4


def test_page_of_matches_copies_result_blocks(tmp_path: Path) -> None:
    page = page_of(played(tmp_path))
    assert [copy.name for copy in page.copies] == ["fastchess", "openbench"]
    assert "Results of a vs b" in page.copies[0].text
    assert page.copies[0].command == "show --format fastchess"
    assert page_of(played(tmp_path), charts=False).copies == ()


def test_all_of_a_page_is_of_the_moment_at_which_its_store_was_opened(tmp_path: Path) -> None:
    control = write(tmp_path)
    writer = open_store(control)
    add(writer, [(ticket(number=n), won(f"0_{n}")) for n in range(4)])
    loaded = LoadedCompetition(control)
    store = Store.open_readonly(loaded.paths.status)
    loaded.restore(store, loaded.check_changes(store))
    add(writer, [(ticket(number=9), won("0_9"))])
    page = make_page(loaded, store)
    assert page.games_total == len(page.games) == 4
    assert "Games: 4," in page.copies[0].text
    store.close()
    writer.close()


def test_page_of_a_tune_copies_its_values_in_every_format(tmp_path: Path) -> None:
    control = write(tmp_path, TUNE)
    recorded(control, [])
    names = [copy.name for copy in page_of(control).copies]
    assert {"table", "control-file", "setoption", "fishtest"} <= set(names)


def test_page_before_the_first_game_has_no_games(tmp_path: Path) -> None:
    loaded = LoadedCompetition(write(tmp_path))
    page = make_page(loaded, None)
    assert page.state == "not started"
    assert page.facts[0] == ("games", "0")
    assert not page.games
    assert "a v b" in render_page(page)


def test_key_figures_are_of_the_newest_games(tmp_path: Path) -> None:
    facts = dict(page_of(played(tmp_path)).facts)
    assert facts["games"] == "10"
    assert facts["plies a game"] == "31"
    assert facts["last game"] == "2023-11-14 22:13 UTC"


def test_page_of_a_run_has_the_time_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "\n".join(line for line in CHESS.splitlines() if 'id="ca"' not in line)
    control = played(tmp_path, source, games=4)
    assert "time left" not in dict(page_of(control).facts)
    store = Store.open(LoadedCompetition(control).paths.status, now=lambda: NOW + 120)
    add(store, [(ticket(number=i, pair=2), won(f"0_{i}")) for i in (4, 5)])
    store.close()
    monkeypatch.setattr(page_data, "is_locked", lambda path: True)
    # five games after the first in 120 s, four of ten to go
    assert dict(page_of(control).facts)["time left"] == "about 1 min 36 s"
