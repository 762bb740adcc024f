"""Statistics of a labelled set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ringmaster.datasets.ingest import Smallest, examined
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.datasets.survey import Overview, survey
from ringmaster.errors import UsageError
from ringmaster.formats import source
from ringmaster.formats.source import batch_of
from ringmaster.model.report import Table
from ringmaster.reporting.tables import render_report

NAN = float("nan")


def overview(rows: list[tuple[str, float, float, int]], game: str = "chess") -> Overview:
    statistics = Overview(game)  # type: ignore[arg-type]  # a name of a game
    batch = batch_of([[text.encode() for text, *_ in rows], *list(zip(*rows, strict=True))[1:]])
    statistics.add(examined(batch, game))  # type: ignore[arg-type]  # a name of a game
    return statistics


def rows(statistics: Overview, header: str) -> dict[str, tuple[object, ...]]:
    tables = [
        b for b in statistics.report().blocks if isinstance(b, Table) and b.headers[0] == header
    ]
    return {str(row[0]): row[1:] for row in tables[0].rows}


W, B = "4k3/8/8/8/8/8/4P3/4K3 w - - 3 10", "4k3/8/8/8/4P3/8/8/4K3 b - - 0 10"


def test_balance_counts_sides_results_and_duplicates_without_counters() -> None:
    statistics = overview(
        [(W, 1, 50, 8), (W.replace("3 10", "0 1"), 0.5, NAN, 8), (B, 0, -10000, 9), (B, NAN, 0, 9)]
    )
    balance = rows(statistics, "")
    assert balance["positions"] == (4, "")
    assert balance["White to move"] == (2, "50.0%")
    assert balance["won by White"] == (1, "25.0%")
    assert balance["drawn"] == (1, "25.0%")
    assert balance["won by Black"] == (1, "25.0%")
    assert balance["without a result"] == (1, "25.0%")
    assert balance["without a score"] == (1, "25.0%")
    assert balance["mate scores"] == (1, "25.0%")
    assert balance["duplicates"] == (2, "50.0%")


def test_results_by_score_are_shown_for_each_side_to_move() -> None:
    statistics = overview([(W, 1, 200, 8), (B, 0.5, 200, 9), (B, 0, -200, 9)])
    by_score = rows(statistics, "score (White's, cp)")
    assert by_score["+150 to +300"] == (2, "75.0%", "100.0%", "50.0%")
    assert by_score["-300 to -150"] == (1, "0.0%", "-", "0.0%")
    assert len(by_score) == 2


def test_plies_are_counted_by_twenty_and_beyond() -> None:
    statistics = rows(
        overview([(W, 1, 0, 0), (W, 0, 0, 19), (W, 0, 0, 20), (W, 0, 0, 999), (W, 0, 0, -1)]),
        "plies",
    )
    assert {name: row[0] for name, row in statistics.items()} == {
        "0-19": 2,
        "20-39": 1,
        "220 or more": 1,
        "unknown": 1,
    }


def test_black_moves_first_in_shogi() -> None:
    sfen = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 2"
    balance = rows(overview([(sfen, 1, 10, 1), (sfen.replace("2", "4"), 1, 10, 1)], "shogi"), "")
    assert balance["White to move"] == (2, "100.0%")
    assert balance["won by Black"] == (2, "100.0%")
    assert balance["duplicates"] == (1, "50.0%")


def told_from(sign: dict[str, int]) -> str:
    rng = np.random.Generator(np.random.Philox(1))
    statistics = []
    for i in range(400):
        score = float(rng.integers(-400, 400))
        result = float(rng.random() < 1 / (1 + np.exp(-score / 170)))
        text = (W, B)[i % 2]
        statistics.append((text, result, score * sign[text], i % 50))
    return render_report(overview(statistics).report())


def test_scores_of_the_wrong_side_give_a_warning() -> None:
    assert "WARNING" not in told_from({W: 1, B: 1})
    one = told_from({W: 1, B: -1}).partition("WARNING: ")[2]
    assert "scores of positions with Black to move contradict the results" in one
    assert "scores" in told_from({W: -1, B: -1}).partition("WARNING: ")[2]


def test_a_survey_guesses_game_and_format(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("sets")
    epd, sfen = folder / "a.txt", folder / "b.txt"
    epd.write_text(f'{W[:-5]} c9 "1-0"; ce 30;\n{B[:-5]} c9 "0-1"; ce 90;\n')
    start = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"
    sfen.write_text(f"# made by hand\n{start} b - 1 [1.0] 30\n{start} w - 2 [0.0] -30\n")
    files, balance, *_ = survey(PositionSettings((str(epd),))).blocks
    assert isinstance(files, Table)
    assert isinstance(balance, Table)
    assert files.rows == ((str(epd), "epd"),)
    assert "won by White" in [row[0] for row in balance.rows]
    files, balance, *_ = survey(PositionSettings((str(sfen),))).blocks
    assert isinstance(files, Table)
    assert isinstance(balance, Table)
    assert files.rows == ((str(sfen), "sfen"),)
    assert balance.rows[0] == ("positions", 2, "")
    with pytest.raises(UsageError, match="of more than one game"):
        survey(PositionSettings((str(epd), str(sfen))))


def test_a_survey_tells_of_progress_and_of_another_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_FIRST_SECONDS", 0)
    path = tmp_path / "a.pgn"
    path.write_bytes('[Event "Lüneburg"]\n\n1. e4 e5 1-0\n'.encode("latin-1"))
    lines: list[str] = []
    files = survey(PositionSettings((str(path),)), say=lines.append).blocks[0]
    assert lines == [f"{path}: 2 positions read, 0 s so far"]
    assert isinstance(files, Table)
    assert files.notes == (f"{path}:1 is not UTF-8; it is read as ISO 8859-1",)


def test_scores_in_pawns_give_a_warning() -> None:
    statistics = []
    for i in range(400):
        text = (W, W.replace("4P3", "QQ2P3"))[i % 2]
        statistics.append((text, 0.5, (i % 2 * 18 + i % 7) * 100.0, -1))
    assert "pawns?" not in render_report(overview(statistics).report())
    in_pawns = [(text, result, score / 100, ply) for text, result, score, ply in statistics]
    assert "WARNING: the scores rise" in render_report(overview(in_pawns).report())


def test_many_different_keys_are_counted_by_the_smallest_ones() -> None:
    keys = np.random.Generator(np.random.Philox(1)).integers(0, 2**64, 100_000, dtype=np.uint64)
    exact, many = Smallest(4096), Smallest(4096)
    exact.add(np.repeat(keys[:2000], 2))
    for part in np.split(np.repeat(keys, 2), 20):
        many.add(part)
    assert exact.count() == (2000, True)
    count, is_exact = many.count()
    assert not is_exact
    # three standard errors
    assert abs(count / 100_000 - 1) < 3 / 4096**0.5
