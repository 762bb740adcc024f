"""Readers give the moves of positions, on request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ringmaster.formats.registry import format_of
from ringmaster.formats.shogi_records import write_csa, write_kif
from ringmaster.formats.source import Source
from ringmaster.model.players import GameName
from tests.datasets.test_writers import CHESS, shogi_positions, written
from tests.formats.shogi_records import random_record


def moves_of(data: bytes, name: str, game: GameName, *, moves: bool = True) -> list[str]:
    """Return the moves of all positions of a file."""
    source = Source(name, game, data=data, moves=moves)
    batches = list(format_of(source, name.rpartition(".")[2]).read(source))
    assert all(len(batch.moves) in (0, len(batch)) for batch in batches)
    return [move for batch in batches for move in batch.moves]


def test_plain_has_moves_on_request() -> None:
    data = written("plain", CHESS)
    assert moves_of(data, "a.plain", "chess") == [p.move for p in CHESS]
    assert moves_of(data, "a.plain", "chess", moves=False) == []


def test_a_block_of_plain_in_another_order_has_its_move() -> None:
    data = b"ply 3\nmove e2e4\nfen 4k3/8/8/8/8/8/4P3/4K3 w - - 3 10\nscore 1\nresult 0\ne\n"
    assert moves_of(data, "a.plain", "chess") == ["e2e4"]


@pytest.mark.parametrize("name", ["psv", "hcpe"])
def test_packed_records_have_moves_with_drops_and_promotions(name: str) -> None:
    positions = shogi_positions(1, 600)
    expected = [p.move for p in positions]
    assert any("*" in move for move in expected)
    assert any(move.endswith("+") for move in expected)
    data = written(name, positions)
    assert moves_of(data, f"a.{name}", "shogi") == expected
    assert moves_of(data, f"a.{name}", "shogi", moves=False) == []


@pytest.mark.parametrize("name", ["psv", "hcpe"])
def test_a_packed_record_without_a_move_has_none(name: str) -> None:
    data = bytearray(written(name, shogi_positions(1, 1)))
    data[34:36] = b"\0\0"
    assert moves_of(bytes(data), f"a.{name}", "shogi") == [""]


@pytest.mark.parametrize(("name", "write"), [("csa", write_csa), ("kif", write_kif)])
def test_records_of_games_have_the_played_moves(name: str, write: Callable[..., str]) -> None:
    record = random_record(1)
    data = write(record).encode()
    assert moves_of(data, f"a.{name}", "shogi") == [move.move for move in record.moves]


def test_pgn_has_the_played_moves() -> None:
    data = b'[Result "1-0"]\n\n1. e4 e5 2. Nf3 1-0\n'
    assert moves_of(data, "a.pgn", "chess") == ["e2e4", "e7e5", "g1f3"]


def test_a_format_without_moves_has_none() -> None:
    assert moves_of(b"4k3/8/8/8/8/8/4P3/4K3 w - - 3 10 [1.0]\n", "a.fen", "chess") == []
