"""Labelled positions are read back as they were written."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
from rsshogi.core import Board

from ringmaster.datasets.ingest import checked_batches
from ringmaster.datasets.picking import Labelled
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.datasets.writers import FORMS
from ringmaster.formats.registry import format_of
from ringmaster.formats.source import Source
from ringmaster.games.shogi import ShogiGame
from tests.requirements import package

CHESS = [
    Labelled("4k3/8/8/8/8/8/4P3/4K3 w - - 3 10", "e2e4", 0, 1.0, 35.0, 18, 60, "0_1", 1),
    Labelled("4k3/8/8/8/4P3/8/8/4K3 b - - 0 10", "e8d7", 1, 0.0, -250.0, 19, 60, "0_1", 2),
    Labelled("4k3/8/8/8/4P3/8/8/4K3 b - - 7 30", "e8d7", 1, 0.5, 0.0, 59, 80, "0_2", 3),
    Labelled("4k3/8/8/8/4P3/8/8/4K3 b - - 9 30", "e8d7", 1, 1.0, 10000.0, 59, 80, "0_3", 4),
]


def shogi_positions(seed: int, count: int) -> list[Labelled]:
    """Return positions of random games, with random labels."""
    rng, rows = random.Random(seed), []
    while len(rows) < count:
        game = ShogiGame()
        board = Board(game.position())
        for ply in range(150):
            legal = board.legal_moves()
            if not legal:
                break
            move = rng.choice(legal)
            score = float(rng.randrange(-3000, 3000))
            result = rng.choice((0.0, 0.5, 1.0))
            text = board.to_sfen()
            rows.append(Labelled(text, move.to_usi(), ply % 2, result, score, ply, 150, "0_1", 1))
            board.apply_move(move)
    return rows[:count]


def read(path: Path, game: str) -> list[tuple[str, float, float]]:
    source = Source(str(path), game)  # type: ignore[arg-type]  # a name of a game
    settings = PositionSettings((str(path),), in_check=True)
    rows = []
    for (batch, *_), _ in checked_batches(source, format_of(source), settings):
        columns = (batch.result.tolist(), batch.teacher.tolist())
        rows += list(zip([t.decode() for t in batch.texts], *columns, strict=True))
    return rows


def first(position: Labelled) -> tuple[float, float]:
    if position.side:
        return 1 - position.result, -position.score
    return position.result, position.score


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if "chess" in form.games])
def test_chess_is_read_back(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{name}"
    path.write_bytes(b"".join(map(FORMS[name].write, CHESS)))
    assert read(path, "chess") == [(p.text, *first(p)) for p in CHESS]


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if "shogi" in form.games])
def test_shogi_is_read_back(name: str, tmp_path: Path) -> None:
    positions = shogi_positions(1, 600)
    path = tmp_path / f"a.{name}"
    path.write_bytes(b"".join(map(FORMS[name].write, positions)))
    rows = read(path, "shogi")
    assert [labels for _, *labels in rows] == [list(first(p)) for p in positions]
    # packed records have no move number, or another
    assert [text.split()[:3] for text, *_ in rows] == [p.text.split()[:3] for p in positions]


@pytest.mark.parametrize("name", ["epd", "sfen"])
def test_a_missing_score_is_left_out(name: str, tmp_path: Path) -> None:
    chess = name == "epd"
    base = CHESS[0] if chess else shogi_positions(1, 1)[0]
    unscored = Labelled(base.text, base.move, 0, 1.0, math.nan, 0, 9, "g", 0)
    path = tmp_path / f"a.{name}"
    path.write_bytes(FORMS[name].write(unscored) * 2)
    for _, result, score in read(path, "chess" if chess else "shogi"):
        assert result == 1.0
        assert math.isnan(score)


def test_a_game_id_in_epd_cannot_end_its_quotes() -> None:
    base = CHESS[0]
    hostile = Labelled(base.text, base.move, 0, 1.0, 3.0, 0, 9, 'a"; c9 "0-1', 0)
    line = FORMS["epd"].write(hostile).decode()
    assert line.count('"') == 4
    assert line.count("\n") == 1


@pytest.mark.optional
def test_packed_records_agree_with_cshogi() -> None:
    cshogi = package("cshogi")
    positions = shogi_positions(2, 2000)
    psv = np.frombuffer(b"".join(map(FORMS["psv"].write, positions)), cshogi.PackedSfenValue)
    hcpe = np.frombuffer(
        b"".join(map(FORMS["hcpe"].write, positions)), cshogi.HuffmanCodedPosAndEval
    )
    assert len(psv) == len(hcpe) == len(positions)
    board = cshogi.Board()
    for p, a, b in zip(positions, psv, hcpe, strict=True):
        expected = p.text.split()[:3]
        board.set_psfen(a["sfen"])
        assert board.sfen().split()[:3] == expected
        assert cshogi.move_to_usi(cshogi.move16_from_psv(int(a["move"]))) == p.move
        assert (a["score"], a["gamePly"], a["game_result"]) == (p.score, p.ply, 2 * p.result - 1)
        board.set_hcp(b["hcp"])
        assert board.sfen().split()[:3] == expected
        assert cshogi.move_to_usi(int(b["bestMove16"]) & 0xFFFF) == p.move
        winner = {0.5: 0, 1.0: 1, 0.0: 2}[first(p)[0]]
        assert (b["eval"], b["gameResult"]) == (p.score, winner)
