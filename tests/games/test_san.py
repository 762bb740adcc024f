"""Reading and writing algebraic notation, with python-chess as the oracle."""

from __future__ import annotations

import contextlib
import random

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.games.chess import ReferenceChessGame, new_chess_game
from ringmaster.games.chess960 import start_fen
from ringmaster.games.san import read_san, san_moves
from ringmaster.games.start import beginning


@given(st.integers(0, 1 << 32), st.sampled_from(("standard", "chess960")))
@settings(max_examples=60, deadline=None)
def test_every_legal_move_is_read_back_from_what_python_chess_calls_it(
    seed: int, variant: str
) -> None:
    rng = random.Random(seed)
    fen = chess.STARTING_FEN if variant == "standard" else start_fen(rng.randrange(960))
    board = chess.Board(fen, chess960=variant == "chess960")
    game = beginning("chess", variant=variant)(fen)
    played, written = [], []
    for _ in range(60):
        legal = list(board.legal_moves)
        if not legal:
            break
        for move in rng.sample(legal, min(8, len(legal))):
            assert read_san(game, board.san(move)) == board.uci(move)
        move = rng.choice(legal)
        played.append(board.uci(move))
        written.append(board.san(move))
        game.play(played[-1])
        board.push(move)
    assert san_moves(variant, fen, played) == written
    assert san_moves(variant, fen, [*played, "a1a1"]) == written


@pytest.mark.parametrize("begin", [new_chess_game, ReferenceChessGame])
@pytest.mark.parametrize(
    ("fen", "san", "move"),
    [
        (None, "Nf3", "g1f3"),
        (None, "Ng1f3", "g1f3"),
        (None, "e2e4", "e2e4"),
        (None, "Nf3+", "g1f3"),
        ("r3k3/1P6/8/8/8/8/8/R3K2R w KQ - 0 1", "0-0-0", "e1c1"),
        ("r3k3/1P6/8/8/8/8/8/R3K2R w KQ - 0 1", "O-O", "e1g1"),
        ("r3k3/1P6/8/8/8/8/8/R3K2R w KQ - 0 1", "b8Q+", "b7b8q"),
        ("r3k3/1P6/8/8/8/8/8/R3K2R w KQ - 0 1", "bxa8=N", "b7a8n"),
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "exd6", "e5d6"),
    ],
)
def test_a_move_is_read(begin: type, fen: str | None, san: str, move: str) -> None:
    assert read_san(begin(fen), san) == move


@pytest.mark.parametrize("begin", [new_chess_game, ReferenceChessGame])
@pytest.mark.parametrize(
    ("fen", "san", "message"),
    [
        (None, "Nf6", "it is not legal here"),
        (None, "e5", "it is not legal here"),
        (None, "exd3", "it is not legal here"),
        (None, "xyz", "it is not a move"),
        (None, "é4", "it is not a move"),
        (None, "--", "null move"),
        ("4k3/8/8/8/8/8/8/R3K2R w - - 0 1", "O-O", "may not castle|not legal"),
        ("4k3/8/8/8/8/8/4K3/R6R w - - 0 1", "Rd1", "it is ambiguous"),
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a8", "not legal"),
    ],
)
def test_what_cannot_be_played_is_refused_with_a_reason(
    begin: type, fen: str | None, san: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read_san(begin(fen), san)


@given(st.text(max_size=8) | st.from_regex("[NBRQK]?[a-i]?[0-9]?x?[a-i][0-9](=[A-Z])?[+#]?"))
@settings(max_examples=200, deadline=None)
def test_no_text_raises_anything_but_a_value_error(text: str) -> None:
    game = new_chess_game()
    move = None
    with contextlib.suppress(ValueError):
        move = read_san(game, text)
    if move is not None:
        game.play(move)
