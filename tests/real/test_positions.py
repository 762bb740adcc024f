"""Labelled sets of real games: the scores that engines give agree with the results."""

from __future__ import annotations

from pathlib import Path

import chess
import pytest

from ringmaster.datasets.picking import is_quiet
from tests.program import ringmaster
from tests.requirements import engine

pytestmark = pytest.mark.real

BOOK = Path(__file__).parent.parent.parent / "controlfiles" / "openings.epd"
GAMES = 16

MATCH = """
competition_type = "playoff"
game = "{game}"
players = {{
    "a": Player("{engine}", {limit}, options={{{options}}}),
    "b": Player("{engine}", {limit}, options={{{options}}}),
}}
openings = Openings("{book}", order="random")
matchups = [Matchup("a", "b", number_of_games={games})]
"""


def correlations(out: str) -> list[float]:
    """Return the correlations of score and result for each side to move."""
    (line,) = [line for line in out.splitlines() if line.startswith("correlation")]
    return [float(word) for word in line.split() if word[0] in "+-"]


def test_scores_of_glaurung_foretell_the_results_of_its_games(tmp_path: Path) -> None:
    control = tmp_path / "event.ctl"
    control.write_text(
        MATCH.format(
            game="chess",
            engine=engine("glaurung"),
            limit="depth=2",
            options='"Threads": 1, "OwnBook": False, "Hash": 4',
            book=BOOK,
            games=GAMES,
        )
    )
    done = ringmaster(control, "-j", "2")
    assert (done.returncode, done.stderr) == (0, "")
    completed = ringmaster(control, "positions", "--resolve", "-o", str(tmp_path / "a.epd"))
    assert completed.returncode == 0, completed.stderr
    assert min(correlations(completed.stdout)) > 0.2
    assert "WARNING" not in completed.stdout
    lines = (tmp_path / "a.epd").read_text().splitlines()
    assert len(lines) > 5 * GAMES
    for line in lines[::10]:
        board, _ = chess.Board.from_epd(line)
        assert board.is_valid()
        assert not board.is_check()
        assert is_quiet(board.fen(), "chess")


def test_scores_of_fairy_stockfish_foretell_the_results_of_its_shogi_games(tmp_path: Path) -> None:
    control = tmp_path / "event.ctl"
    control.write_text(
        MATCH.format(
            game="shogi",
            engine=engine("fairy-stockfish"),
            limit="nodes=400",
            options='"Hash": 4',
            book=BOOK.with_suffix(".sfen"),
            games=GAMES,
        )
    )
    done = ringmaster(control, "-j", "2")
    assert (done.returncode, done.stderr) == (0, "")
    completed = ringmaster(control, "positions", "--per-game", "20", "-o", str(tmp_path / "a.hcpe"))
    assert completed.returncode == 0, completed.stderr
    assert min(correlations(completed.stdout)) > 0.0
    assert (tmp_path / "a.hcpe").stat().st_size % 38 == 0
