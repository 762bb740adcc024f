"""A tune of the shipped engines that is killed in its test of moves, and resumed."""

from __future__ import annotations

import random
import re
import sys
from functools import partial
from pathlib import Path

import chess
import numpy as np
import pytest
from rsshogi.core import Board

from ringmaster.formats.packed import PSV
from tests.processes import await_that
from tests.program import ringmaster, shown, start

pytestmark = [pytest.mark.process, pytest.mark.kill, pytest.mark.slow]

CONTROL = """
competition_type = "texel"
game = {game!r}
engine = [{python!r}, "-m", "ringmaster.demo", {game!r}]
players = {{"demo": Player(engine, options={{"Noise": 0}})}}
player = "demo"
parameters = [Parameter({weight!r}, start=200, min=50, max=500, integer=True)]
positions = Positions({name!r})
validation = 0
target = Elmo(1.0)
teacher_scale = 400
move_accuracy = MoveAccuracy({name!r}, nodes=60)
skip_player_checks = True
"""
GAMES, PLIES = 13, 50
RANKS = "abcdefghi"


def plain(path: Path) -> str:
    """Write positions of random games with the played moves; the score is the material."""
    rng, blocks = random.Random(2), []
    values = {chess.PAWN: 100, chess.KNIGHT: 320, chess.BISHOP: 330, chess.ROOK: 500}
    for _ in range(GAMES):
        board = chess.Board()
        for ply in range(PLIES):
            move = rng.choice(list(board.legal_moves))
            score = sum(
                values.get(piece.piece_type, 900) * (1 if piece.color == board.turn else -1)
                for piece in board.piece_map().values()
            )
            blocks.append(
                f"fen {board.fen()}\nmove {move}\nscore {score}\nply {ply}\nresult 0\ne\n"
            )
            board.push(move)
            if board.is_game_over():
                break
    path.write_text("".join(blocks))
    return "KnightValue"


def psv(path: Path) -> str:
    """Write the same of shogi in YaneuraOu's format."""
    rng, records = random.Random(2), []
    values = dict(zip("PLNSGBR", (100, 300, 300, 450, 500, 800, 900), strict=True))
    for _ in range(GAMES):
        board = Board()
        for ply in range(PLIES):
            usi = rng.choice([str(move) for move in board.legal_moves()])
            squares, side, hands, _ = board.to_sfen().split()
            lead = 0
            for number, piece in re.findall(r"(\d*)([A-Za-z])", f"{squares} {hands}"):
                held = int(number or 1) if f"{number}{piece}" in hands else 1
                lead += values.get(piece.upper(), 0) * held * (1 if piece.isupper() else -1)
            target = (int(usi[2]) - 1) * 9 + RANKS.index(usi[3])
            if usi[1] == "*":
                code = 1 << 14 | ("PLNSBRG".index(usi[0]) + 1) << 7 | target
            else:
                code = ((int(usi[0]) - 1) * 9 + RANKS.index(usi[1])) << 7 | target
            code |= 0x8000 if usi.endswith("+") else 0
            packed = np.frombuffer(bytes(board.to_packed_sfen()), np.uint8)
            records.append((packed, lead if side == "b" else -lead, code, ply, 0, 0))
            board.apply_usi(usi)
    np.array(records, dtype=PSV).tofile(path)
    return "PawnValue"


def says(log: Path, words: str) -> bool:
    return log.exists() and words in log.read_text()


@pytest.mark.parametrize("game", ["chess", "shogi"])
def test_killed_test_of_moves_resumes_with_the_numbers_of_one_run(
    tmp_path: Path, game: str
) -> None:
    name = "test.plain" if game == "chess" else "test.psv"
    found = []
    for folder, kills in (("once", 0), ("killed", 2)):
        control = tmp_path / folder / "event.ctl"
        control.parent.mkdir()
        weight = (plain if game == "chess" else psv)(control.parent / name)
        control.write_text(
            CONTROL.format(game=game, python=sys.executable, weight=weight, name=name)
        )
        for number in range(kills):
            run = start(control, "run", "-j", "2")
            log = control.with_suffix(".log")
            wanted = f"a0_000{number + 1}: "
            await_that(partial(says, log, wanted), run)
            run.kill()
            run.wait()
        done = ringmaster(control, "run", "-j", "2")
        assert done.returncode == 0, done.stderr
        found.append(shown(control)["move_accuracy"])
    once, killed = found
    assert once["positions"] > 500
    assert once["start"]["value"] > 0
    assert killed == once
