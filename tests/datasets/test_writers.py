"""Labelled positions are read back as they were written."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
from rsshogi.core import Board

from ringmaster.datasets.ingest import checked_batches
from ringmaster.datasets.position_settings import PositionSettings
from ringmaster.formats.registry import FORMATS, WRITTEN, format_of
from ringmaster.formats.source import Record, Source
from ringmaster.games.shogi import ShogiGame
from ringmaster.model.players import GameName
from tests.requirements import package

CHESS = [
    Record(b"4k3/8/8/8/8/8/4P3/4K3 w - - 3 10", 1.0, 35.0, 18, 0, "0_1", 60, "e2e4"),
    Record(b"4k3/8/8/8/4P3/8/8/4K3 b - - 0 10", 1.0, 250.0, 19, 0, "0_1", 60, "e8d7"),
    Record(b"4k3/8/8/8/4P3/8/8/4K3 b - - 7 30", 0.5, 0.0, 59, 0, "0_2", 80, "e8d7"),
    Record(b"4k3/8/8/8/4P3/8/8/4K3 b - - 9 30", 0.0, -10000.0, 59, 0, "0_3", 80, "e8d7"),
]


def shogi_positions(seed: int, count: int) -> list[Record]:
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
            text = board.to_sfen().encode()
            rows.append(Record(text, result, score, ply, 0, "0_1", 150, move.to_usi()))
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


@pytest.mark.parametrize("name", [name for name, games in WRITTEN.items() if "chess" in games])
def test_chess_is_read_back(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{name}"
    path.write_bytes(written(name, CHESS))
    assert read(path, "chess") == [(p.text.decode(), p.result, p.teacher) for p in CHESS]


def written(name: str, positions: list[Record]) -> bytes:
    """Return positions in a format; the game is that of the first one."""
    game: GameName = "chess" if positions[0].text.count(b"/") == 7 else "shogi"
    return b"".join(FORMATS[name].write(position, game) for position in positions)


@pytest.mark.parametrize("name", [name for name, games in WRITTEN.items() if "shogi" in games])
def test_shogi_is_read_back(name: str, tmp_path: Path) -> None:
    positions = shogi_positions(1, 600)
    path = tmp_path / f"a.{name}"
    path.write_bytes(written(name, positions))
    rows = read(path, "shogi")
    assert [tuple(labels) for _, *labels in rows] == [(p.result, p.teacher) for p in positions]
    # packed records have no move number, or another
    assert [text.split()[:3] for text, *_ in rows] == [
        p.text.decode().split()[:3] for p in positions
    ]


@pytest.mark.parametrize("name", ["epd", "sfen"])
def test_a_missing_score_is_left_out(name: str, tmp_path: Path) -> None:
    chess = name == "epd"
    base = CHESS[0] if chess else shogi_positions(1, 1)[0]
    unscored = base._replace(result=1.0, teacher=math.nan)
    path = tmp_path / f"a.{name}"
    path.write_bytes(written(name, [unscored, unscored]))
    for _, result, score in read(path, "chess" if chess else "shogi"):
        assert result == 1.0
        assert math.isnan(score)


def test_a_game_id_in_epd_cannot_end_its_quotes() -> None:
    base = CHESS[0]
    hostile = base._replace(game='a"; c9 "0-1')
    line = written("epd", [hostile]).decode()
    assert line.count('"') == 4
    assert line.count("\n") == 1


@pytest.mark.optional
def test_packed_records_agree_with_cshogi() -> None:
    cshogi = package("cshogi")
    positions = shogi_positions(2, 2000)
    psv = np.frombuffer(written("psv", positions), cshogi.PackedSfenValue)
    hcpe = np.frombuffer(written("hcpe", positions), cshogi.HuffmanCodedPosAndEval)
    assert len(psv) == len(hcpe) == len(positions)
    board = cshogi.Board()
    for p, a, b in zip(positions, psv, hcpe, strict=True):
        expected = p.text.decode().split()[:3]
        board.set_psfen(a["sfen"])
        assert board.sfen().split()[:3] == expected
        assert cshogi.move_to_usi(cshogi.move16_from_psv(int(a["move"]))) == p.move
        sign = 1 if p.text.split()[1] == b"b" else -1
        result = sign * (2 * p.result - 1)
        assert (a["score"], a["gamePly"], a["game_result"]) == (sign * p.teacher, p.ply, result)
        board.set_hcp(b["hcp"])
        assert board.sfen().split()[:3] == expected
        assert cshogi.move_to_usi(int(b["bestMove16"]) & 0xFFFF) == p.move
        winner = {0.5: 0, 1.0: 1, 0.0: 2}[p.result]
        assert (b["eval"], b["gameResult"]) == (sign * p.teacher, winner)
