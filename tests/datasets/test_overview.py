"""What is told of a labelled set."""

from __future__ import annotations

import numpy as np
import pytest

from ringmaster.datasets.overview import Overview
from ringmaster.datasets.settings import PositionSettings
from ringmaster.datasets.survey import survey
from ringmaster.errors import UsageError
from ringmaster.model.report import Table
from ringmaster.reporting.tables import render_report

NAN = float("nan")


def overview(rows: list[tuple[str, float, float, int]], game: str = "chess") -> Overview:
    found = Overview(game)  # type: ignore[arg-type]  # a name of a game
    found.add(
        [text.encode() for text, *_ in rows],
        np.array([result for _, result, _, _ in rows], np.float32),
        np.array([score for _, _, score, _ in rows], np.float32),
        np.array([ply for *_, ply in rows], np.int32),
    )
    return found


def rows(found: Overview, header: str) -> dict[str, tuple[object, ...]]:
    tables = [b for b in found.report().blocks if isinstance(b, Table) and b.headers[0] == header]
    return {str(row[0]): row[1:] for row in tables[0].rows}


W, B = "4k3/8/8/8/8/8/4P3/4K3 w - - 3 10", "4k3/8/8/8/4P3/8/8/4K3 b - - 0 10"


def test_balance_counts_sides_results_and_duplicates_without_counters() -> None:
    found = overview(
        [(W, 1, 50, 8), (W.replace("3 10", "0 1"), 0.5, NAN, 8), (B, 0, -10000, 9), (B, NAN, 0, 9)]
    )
    balance = rows(found, "")
    assert balance["positions"] == (4, "")
    assert balance["White to move"] == (2, "50.0%")
    assert balance["won by White"] == (1, "25.0%")
    assert balance["drawn"] == (1, "25.0%")
    assert balance["won by Black"] == (1, "25.0%")
    assert balance["without a result"] == (1, "25.0%")
    assert balance["without a score"] == (1, "25.0%")
    assert balance["mate scores"] == (1, "25.0%")
    assert balance["duplicates"] == (2, "50.0%")


def test_results_by_score_are_told_for_each_side_to_move() -> None:
    found = overview([(W, 1, 200, 8), (B, 0.5, 200, 9), (B, 0, -200, 9)])
    by_score = rows(found, "score (White's, cp)")
    assert by_score["+150 to +300"] == (2, "75.0%", "100.0%", "50.0%")
    assert by_score["-300 to -150"] == (1, "0.0%", "-", "0.0%")
    assert len(by_score) == 2


def test_plies_are_counted_by_twenty_and_beyond() -> None:
    found = rows(
        overview([(W, 1, 0, 0), (W, 0, 0, 19), (W, 0, 0, 20), (W, 0, 0, 999), (W, 0, 0, -1)]),
        "plies",
    )
    assert {name: row[0] for name, row in found.items()} == {
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
    found = []
    for i in range(400):
        score = float(rng.integers(-400, 400))
        result = float(rng.random() < 1 / (1 + np.exp(-score / 170)))
        text = (W, B)[i % 2]
        found.append((text, result, score * sign[text], i % 50))
    return render_report(overview(found).report())


def test_scores_of_the_wrong_side_are_seen() -> None:
    assert "WARNING" not in told_from({W: 1, B: 1})
    assert "WARNING: in the positions with Black to move the scores run" in told_from({W: 1, B: -1})
    assert "WARNING: in the positions the scores run" in told_from({W: -1, B: -1})


def test_equal_results_are_warned_of() -> None:
    assert overview([(W, 1, 3, 1), (B, 1, 3, 2)]).warnings() == [
        "all results are equal: nothing can be learnt from them"
    ]


def test_an_empty_set_is_told_as_such() -> None:
    assert render_report(Overview("chess").report()) == "no positions\n"


def test_a_survey_finds_game_and_format_by_the_file(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("sets")
    epd, sfen = folder / "a.txt", folder / "b.txt"
    epd.write_text(f'{W[:-5]} c9 "1-0"; ce 30;\n{B[:-5]} c9 "0-1"; ce 90;\n')
    start = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"
    sfen.write_text(f"# made by hand\n{start} b - 1 [1.0] 30\n{start} w - 2 [0.0] -30\n")
    found = survey(PositionSettings((str(epd),)))
    assert found.files == [(str(epd), "epd")]
    assert "won by White" in render_report(found.report())
    found = survey(PositionSettings((str(sfen),)))
    assert found.files == [(str(sfen), "sfen")]
    assert found.overview.positions == 2
    with pytest.raises(UsageError, match="of more than one game"):
        survey(PositionSettings((str(epd), str(sfen))))
