"""Evaluations of the shipped engines for positions without a move."""

from __future__ import annotations

import chess
import pytest

from ringmaster.demo.chess_engine import ChessEngine
from ringmaster.demo.shogi_engine import ShogiEngine
from ringmaster.demo.universal import UniversalEngine
from ringmaster.engines.score_streams import recognise
from ringmaster.games.sfen import START_SFEN
from tests.demo.scripted import QuietConsole, with_options

#: Positions with all that the evaluations count.
FENS = (
    chess.STARTING_FEN,
    "r1bq1rk1/pp2ppbp/2np1np1/8/3NP3/2N1BP2/PPPQ2PP/R3KB1R w KQ - 3 9",
    "2r3k1/1p3pp1/p3P2p/2P5/8/1B4P1/P4P1P/3R2K1 b - - 25 31",
    "8/5k2/1p4p1/8/2P5/8/1BB3K1/8 w - - 0 50",
    "6k1/8/8/8/8/8/8/KQ6 w - - 0 1",
    "4k3/8/8/8/8/8/4q3/4K3 w - - 0 1",
)
SFENS = (
    START_SFEN,
    "ln1g3nl/1r2k1g2/p1pppp1pp/1p5P1/3P2p2/P1P6/1P2PPP1P/2+bS1K1R1/LN1G1G1NL b BS2s 1",
    "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
    "4+B1k2/4+R4/9/9/9/9/9/2+r1+n1+l2/4K4 b 2G2P 1",
)
CASES = [("fen", ChessEngine, FENS), ("sfen", ShogiEngine, SFENS)]


def new_engine(kind: type[UniversalEngine], **options: int) -> UniversalEngine:
    engine = kind(QuietConsole())  # type: ignore[call-arg]  # both take just a console
    return with_options(engine, {"Noise": 0, **options})


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
    notation: str, kind: type[UniversalEngine], positions: tuple[str, ...]
) -> None:
    step = 20
    engine = new_engine(kind)
    # HandBonus multiplies other weights
    changed = {o.name: o.default + step for o in engine.weights if o.name != "HandBonus"}
    other = new_engine(kind, **changed)
    for position in positions:
        for each in (engine, other):
            assert each.handle(f"position {notation} {position}") == []
        before, after = evaluation(engine), evaluation(other)
        counts = features(engine)
        assert list(counts) == ["constant", *(option.name for option in engine.weights)]
        if before is not None and after is not None:
            assert abs(before + step * sum(counts[name] for name in changed) - after) <= 2


def test_chess_position_with_its_colours_swapped_has_the_opposite_evaluation() -> None:
    engine = new_engine(ChessEngine)
    for fen in FENS:
        engine.handle(f"position fen {fen}")
        score = evaluation(engine)
        engine.handle(f"position fen {chess.Board(fen).mirror().fen()}")
        assert evaluation(engine) == (None if score is None else -score)


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
