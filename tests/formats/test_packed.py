"""Packed positions of shogi are read as cshogi packed them."""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringmaster.formats.packed import HCPE, PSV, read_hcpe, read_psv
from ringmaster.formats.source import Source
from tests.datasets.sets import make, refusal
from tests.requirements import package

cshogi = package("cshogi")
DTYPES = {"psv": PSV, "hcpe": HCPE}
VALUES = (0, 1, 3, 4, 5, 8, 10, 6, 0, 4, 5, 6, 6, 10, 12)


@functools.cache
def written(format: str, games: int = 20) -> tuple[Any, tuple[str, ...]]:
    """Return records of random games as cshogi packs them, and their SFEN."""
    rng = random.Random(3)
    theirs = cshogi.PackedSfenValue if format == "psv" else cshogi.HuffmanCodedPosAndEval
    records, texts = [], []
    for _ in range(games):
        board, rows = cshogi.Board(), []
        for ply in range(1, rng.randrange(60, 200)):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(rng.choice(moves))
            record = np.zeros(1, dtype=theirs)
            if format == "psv":
                board.to_psfen(record["sfen"])
            else:
                board.to_hcp(record["hcp"])
            rows.append((record, ahead(board), board.turn, ply))
            texts.append(board.sfen())
        black = rows[-1][1] > 0
        for record, score, white, ply in rows:
            own = -score if white else score
            if format == "psv":
                record["score"], record["gamePly"] = own * 50, ply
                record["game_result"] = 1 if black != bool(white) else -1
            else:
                record["eval"], record["gameResult"] = own * 50, 1 if black else 2
            records.append(record)
    return np.concatenate(records), tuple(texts)


def ahead(board: Any) -> int:
    """Return Black's lead in material."""
    on_board = sum(VALUES[p & 15] * (1 if p < 16 else -1) for p in board.pieces if p)
    hands = [
        sum(n * v for n, v in zip(hand, (1, 3, 4, 5, 6, 8, 10), strict=True))
        for hand in board.pieces_in_hand
    ]
    return int(on_board + hands[0] - hands[1])


@pytest.mark.parametrize("format", DTYPES)
def test_positions_are_unpacked_as_cshogi_packed_them(tmp_path: Path, format: str) -> None:
    records, texts = written(format)
    assert len(texts) > 2000
    path = tmp_path / f"set.{format}"
    path.write_bytes(records.tobytes())
    read = read_psv if format == "psv" else read_hcpe
    batches = list(read(Source(str(path), "shogi")))
    unpacked = [text.decode() for batch in batches for text in batch.texts]
    if format == "psv":
        assert unpacked == list(texts)
    else:
        # hcpe holds no move numbers
        assert unpacked == [text.rsplit(" ", 1)[0] + " 1" for text in texts]


@pytest.mark.parametrize("format", DTYPES)
def test_labels_are_converted_to_black(tmp_path: Path, format: str) -> None:
    records, texts = written(format)
    name = "set.bin"  # the format is guessed
    read = make(
        tmp_path,
        records.tobytes(),
        name,
        game="shogi",
        in_check=True,
        duplicates="keep",
        validation=0,
    )
    assert len(read) == len(texts)
    board = cshogi.Board()
    for i in range(0, len(texts), 37):
        board.set_sfen(texts[i])
        assert read.teacher[i] == ahead(board) * 50
        assert read.text(i).decode().rsplit(" ", 1)[0] == texts[i].rsplit(" ", 1)[0]
    assert set(read.result.tolist()) == {0.0, 1.0}
    assert f"of {20} games" in read.notes[-1]
    if format == "psv":
        assert read.ply.tolist()[:3] == [1, 2, 3]


@pytest.mark.parametrize("format", DTYPES)
def test_an_incomplete_last_record_is_refused(tmp_path: Path, format: str) -> None:
    records, _ = written(format)
    data = records[:10].tobytes()[:-3]
    size = DTYPES[format].itemsize
    assert refusal(tmp_path, data, f"set.{format}", game="shogi").startswith(
        f"set.{format}, record 10: the file ends within a record: {size - 3} bytes of {size}"
    )


@pytest.mark.parametrize("format", DTYPES)
def test_records_of_the_other_format_are_refused_by_number(tmp_path: Path, format: str) -> None:
    records, _ = written("hcpe" if format == "psv" else "psv")
    message = refusal(tmp_path, records.tobytes(), f"set.{format}", game="shogi")
    assert message.startswith(f"set.{format}, record ")
    assert "format" in message or "result" in message


@pytest.mark.parametrize("format", DTYPES)
def test_a_wrong_result_is_refused_by_record_number(tmp_path: Path, format: str) -> None:
    records = np.frombuffer(written(format)[0].tobytes(), dtype=DTYPES[format]).copy()
    records["result"][41] = 3
    message = refusal(tmp_path, records.tobytes(), f"set.{format}", game="shogi")
    assert message.startswith(f"set.{format}, record 42: the result is neither")


@pytest.mark.parametrize("format", DTYPES)
def test_bad_records_are_skipped_and_counted_on_request(tmp_path: Path, format: str) -> None:
    records = np.frombuffer(written(format)[0].tobytes(), dtype=DTYPES[format]).copy()
    records["result"][41] = 3
    records["position"][7] = 255
    data = records.tobytes() + b"\0" * 5
    read = make(tmp_path, data, f"set.{format}", game="shogi", skip_bad=True, in_check=True)
    assert "left out: 3 bad records" in read.notes
    assert int(read.weight.sum()) == len(records) - 2
