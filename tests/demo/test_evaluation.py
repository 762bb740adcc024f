"""Evaluations of the shipped engines for positions without a move."""

from __future__ import annotations

import random
from collections.abc import Iterator

import chess
import pytest
from rsshogi.core import Board

from ringmaster.demo.chess_engine import ChessEngine
from ringmaster.demo.shogi_engine import ShogiEngine
from ringmaster.demo.universal import UniversalEngine
from ringmaster.engines.score_streams import recognise
from ringmaster.games.sfen import START_SFEN
from tests.demo.scripted import QuietConsole

GAMES = 3


def chess_positions() -> Iterator[str]:
    rng = random.Random(4)
    for _ in range(GAMES):
        board = chess.Board()
        for _ in range(60):
            moves = list(board.legal_moves)
            if not moves:
                break
            board.push(rng.choice(moves))
            yield board.fen()


def shogi_positions() -> Iterator[str]:
    rng = random.Random(4)
    for _ in range(GAMES):
        board = Board()
        board.set_sfen(START_SFEN)
        for _ in range(60):
            moves = sorted(board.legal_moves(), key=lambda move: move.to_usi())
            if not moves:
                break
            board.apply_move(rng.choice(moves))
            yield board.to_sfen()


CASES = [("fen", ChessEngine, chess_positions), ("sfen", ShogiEngine, shogi_positions)]


def new_engine(kind: type[UniversalEngine], **options: int) -> UniversalEngine:
    engine = kind(QuietConsole())  # type: ignore[call-arg]  # both take just a console
    for name, value in {"Noise": 0, **options}.items():
        engine.handle(f"setoption name {name} value {value}")
    return engine


def evaluation(engine: UniversalEngine) -> int | None:
    (line,) = engine.handle("eval")
    form = recognise(line.encode() + b"\n")
    (text,) = form.pattern.findall(b"\n" + line.encode())
    return None if text == b"none" else round(float(text) * form.unit)


def features(engine: UniversalEngine) -> dict[str, float]:
    (line,) = engine.handle("features")
    word, *rest = line.split()
    assert word == "features"
    return dict(zip(rest[::2], map(float, rest[1::2]), strict=True))


@pytest.mark.parametrize(("notation", "kind", "positions"), CASES)
def test_features_foretell_the_evaluation_with_other_weights(
    notation: str, kind: type[UniversalEngine], positions: type[Iterator[str]]
) -> None:
    step = 20
    engine = new_engine(kind)
    pieces = [option for option in engine.weights if option.name.endswith("Value")]
    changed = {option.name: option.default + step for option in (*pieces, engine.weights[-2])}
    other = new_engine(kind, **changed)
    for position in positions():
        for each in (engine, other):
            assert each.handle(f"position {notation} {position}") == []
        before, after = evaluation(engine), evaluation(other)
        counts = features(engine)
        assert list(counts) == ["constant", *(option.name for option in engine.weights)]
        if before is not None and after is not None:
            assert abs(before + step * sum(counts[name] for name in changed) - after) <= 2


def test_chess_position_with_its_colours_swapped_has_the_opposite_evaluation() -> None:
    engine = new_engine(ChessEngine)
    for fen in chess_positions():
        engine.handle(f"position fen {fen}")
        score = evaluation(engine)
        engine.handle(f"position fen {chess.Board(fen).mirror().fen()}")
        assert evaluation(engine) == (None if score is None else -score)


@pytest.mark.parametrize(("notation", "kind", "positions"), CASES)
def test_depth_0_is_a_score_and_a_move(
    notation: str, kind: type[UniversalEngine], positions: type[Iterator[str]]
) -> None:
    engine = new_engine(kind)
    for position in positions():
        engine.handle(f"position {notation} {position}")
        info, move = engine.handle("go depth 0")
        assert info.startswith("info depth 0 score ")
        assert move.startswith("bestmove ")


def test_quiescence_search_sees_that_a_queen_is_lost() -> None:
    engine = new_engine(ChessEngine)
    engine.handle("position fen 4k3/8/2p5/3q4/8/2N5/8/4K3 w - - 0 1")
    static = evaluation(engine)
    info, _ = engine.handle("go depth 0")
    assert static is not None
    assert static < -400
    assert int(info.split()[5]) > static + 700


def test_mated_side_has_no_move_and_no_score() -> None:
    engine = new_engine(ChessEngine)
    engine.handle("position startpos moves f2f3 e7e5 g2g4 d8h4")
    assert evaluation(engine) is None
    info, move = engine.handle("go depth 0")
    assert " score mate 0 " in info
    assert move == "bestmove (none)"
