"""Figures of a report beyond the results: searches, phases, extreme openings."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringmaster.cli import run
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.report import Table
from ringmaster.results import figures as module
from ringmaster.results.figures import figures
from tests.recorded import CHESS, SHOGI, TUNE, recorded, ticket, won, write

#: White is shown to win from the fourth move on, and Black sees it with its next move.
PGN = """[Event "event"]
[GameId "{id}"]
{tags}[White "a"]
[Black "b"]
[Result "1-0"]

1. e4 {{book}} e5 {{+0.10/10 0.010s, n=1000}} 2. Qh5 {{+0.20/12 0.020s, n=6000}}
Ke7 {{{black}}} 3. Qxe5# {{+M1/30 0.040s, n=6000}} {{White mates}} 1-0
"""
#: Without queens, and one with a rook more.
ENDGAME = '[SetUp "1"]\n[FEN "4k3/8/8/8/8/8/R7/4K3 w - - 0 1"]\n'
MATE = "1. Ra7 {+9.00/10 0.010s, n=1} Kd8 {-9.00/10 0.010s, n=1} {B resigns} 1-0"


def tables(control: Path) -> dict[str, Table]:
    """Return the tables of a report by the first word of their titles."""
    loaded = LoadedCompetition(control)
    with loaded.restored() as store:
        return {table.title.split()[0]: table for table in figures(loaded, store)}


def played(folder: Path, records: list[str]) -> Path:
    """Record games of a and b that a wins; it is White in even ones."""
    control = write(folder, CHESS)
    games = [won(f"0_{i}", i % 2) for i in range(len(records))]
    recorded(control, [(ticket(number=i, pair=i // 2), game) for i, game in enumerate(games)])
    (folder / "event.games").mkdir()
    for i, text in enumerate(records):
        (folder / "event.games" / f"0_{i}.pgn").write_text(text.replace("ID", f"0_{i}"))
    return control


def rows(table: Table) -> dict[str, dict[str, object]]:
    return {str(row[0]): dict(zip(table.headers, row, strict=True)) for row in table.rows}


def game(black: str = "-0.30/8 0.030s, n=3000", tags: str = "") -> str:
    return PGN.format(id="ID", black=black, tags=tags)


def test_searches_are_counted_by_player_and_without_the_book(tmp_path: Path) -> None:
    of = rows(tables(played(tmp_path, [game()]))["searches"])
    assert of["a"] == {
        **{"": "a", "ms a move": "30", "depth": "21.0", "nodes a move": "6,000"},
        **{"nodes/s": "200,000", "opening": "100.0% of 1"},
    }
    assert (of["b"]["ms a move"], of["b"]["nodes/s"]) == ("20", "100,000")
    assert of["b"]["opening"] == "0.0% of 1"


def test_game_counts_in_the_phase_in_which_it_was_decided(tmp_path: Path) -> None:
    endgame = game(tags=ENDGAME).partition("1. e4")[0] + MATE
    drawn_out = game().partition("1. e4")[0] + "1. e4 e5 {B resigns} 1-0"
    table = tables(played(tmp_path, [endgame, game(), drawn_out]))["searches"]
    assert rows(table)["a"]["endgame"] == "100.0% of 1"
    assert rows(table)["a"]["opening"] == "100.0% of 2"
    assert "2 pawns or more" in table.notes[0]


def test_only_the_last_games_are_read_and_damaged_records_are_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_GAMES", 3)
    damaged = ["", "1. e4 {+", game(tags='[SetUp "1"]\n[FEN "x"]\n')]
    control = played(tmp_path, [game(), game(), *damaged])
    table = tables(control)["searches"]
    assert table.title == "searches (records of the last 2 games)"
    assert rows(table)["a"]["opening"] == "100.0% of 1"


def test_openings_with_the_extreme_scores_are_listed(tmp_path: Path) -> None:
    control = write(tmp_path, CHESS)
    results = []
    for opening in range(9):
        for i in range(4):
            id = f"0_{4 * opening + i}"
            results.append((ticket(number=opening, pair=None), won(id, int(i < opening // 2))))
    recorded(control, results)
    table = tables(control)["White's"]
    assert [row[0] for row in table.rows] == [f"book.epd:{i}" for i in (1, 2, 3, 7, 8, 9)]
    assert [row[1] for row in table.rows][-1] == "0.0 % of 4 games"


@pytest.mark.parametrize("source", [SHOGI, TUNE])
def test_report_without_records_or_matchups_has_no_figures(source: str, tmp_path: Path) -> None:
    assert tables(write(tmp_path, source)) == {}


def test_report_and_page_have_the_figures(tmp_path: Path) -> None:
    control = played(tmp_path, [game()])
    assert run(["report", str(control)]) == 0
    for suffix in (".report", ".html"):
        text = control.with_suffix(suffix).read_text(encoding="utf-8")
        assert "searches (records of the last 1 game)" in text
