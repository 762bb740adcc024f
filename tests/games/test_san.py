"""Moves in algebraic notation are written and read as python-chess does."""

from __future__ import annotations

import contextlib
import random

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.errors import DataFileError
from ringmaster.formats.pgn import pgn_games
from ringmaster.formats.source import Source
from ringmaster.games.chess import ReferenceChessGame, chess_rules, start_fen
from ringmaster.games.san import move_of, reference_san_moves, san_moves


def read(text: str, fen: str | None = None, variant: str = "standard") -> list[str]:
    """Return the moves of a game of a PGN file."""
    tags = [] if fen is None else [f'[FEN "{fen}"]', ""]
    data = "\n".join([*tags, f"{text} *"]).encode()
    source = Source("a.pgn", "chess", variant, data=data)
    games = list(pgn_games(source))
    source.finish()
    # a result alone is no game
    return games[0].moves if games else []


#: Castling, pieces of a kind in rows, files and pairs, pawns about to promote or to be taken
#: in passing.
POSITIONS = (
    "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R w KQkq - 4 8",
    "8/8/8/7k/Q3Q3/8/8/Q3K3 w - - 0 40",
    "4k3/N3N3/8/8/N3N3/8/8/4K3 b - - 12 33",
    "R6R/8/3k4/8/8/8/1K6/R6R w - - 0 1",
    "8/P1P4P/8/3k4/8/3K4/p2p3p/8 w - - 0 1",
    "4k3/1p1p1p1p/8/P1P1P1P1/p1p1p1p1/8/1P1P1P1P/4K3 w - - 0 1",
)


@given(
    st.integers(0, 1 << 32),
    st.sampled_from((chess.STARTING_FEN, *POSITIONS)) | st.integers(0, 959).map(start_fen),
)
@settings(deadline=None)
def test_random_games_are_written_as_python_chess_writes_them_and_read_back(
    seed: int, fen: str
) -> None:
    variant = "standard" if fen in (chess.STARTING_FEN, *POSITIONS) else "chess960"
    rng = random.Random(seed)
    board = chess.Board(fen, chess960=variant == "chess960")
    played, written = [], []
    for _ in range(60):
        legal = list(board.legal_moves)
        if not legal:
            break
        rare = [m for m in legal if m.promotion or board.is_castling(m) or board.is_en_passant(m)]
        move = rng.choice(rare if rare and rng.random() < 0.5 else legal)
        played.append(board.uci(move))
        written.append(board.san(move))
        board.push(move)
    assert read(" ".join(written), fen, variant) == played
    assert san_moves(variant, fen, played) == written
    assert san_moves(variant, fen, [*played, "a1a1"]) == written


@pytest.mark.parametrize("bad", ["e1e3", "e4e5", "0000", "a7a8q", "xy", "e1h1", "", "P@e4"])
def test_moves_are_written_up_to_the_first_illegal_one(bad: str) -> None:
    assert san_moves("standard", None, ["e2e4", "e7e5", bad, "g1f3"]) == ["e4", "e5"]


def test_python_chess_writes_and_reads_moves_without_cozy_chess() -> None:
    fen = "r3k2r/P7/8/8/8/8/8/R3K2R w KQkq - 0 1"
    sans, moves = ["axb8=N", "O-O", "Rb1"], ["a7b8n", "e8g8", "a1b1"]
    fen = fen.replace("r3k2r", "rn2k2r")
    assert reference_san_moves(ReferenceChessGame(fen), [*moves, "a1a9"]) == sans
    game = ReferenceChessGame(fen)
    for san, move in zip(sans, moves, strict=True):
        assert move_of(game, san) == move
        game.play(move)
    assert move_of(game, "Rf7") == "f8f7"
    with pytest.raises(ValueError, match="fields"):
        san_moves("standard", "not a position", ["e2e4"])


@pytest.mark.parametrize(
    ("fen", "san", "move"),
    [
        (None, "Nf3", "g1f3"),
        (None, "e2e4", "e2e4"),
        ("r3k3/1P6/8/8/8/8/8/R3K2R w KQ - 0 1", "0-0-0", "e1c1"),
        ("r3k3/1P6/8/8/8/8/8/R3K2R w KQ - 0 1", "O-O", "e1g1"),
        ("r3k3/1P6/8/8/8/8/8/R3K2R w KQ - 0 1", "b8Q+", "b7b8q"),
        ("r3k3/1P6/8/8/8/8/8/R3K2R w KQ - 0 1", "bxa8=N++!?", "b7a8n"),
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "exd6 e.p.", "e5d6"),
    ],
)
def test_a_move_is_read(fen: str | None, san: str, move: str) -> None:
    assert read(san, fen) == [move]


@pytest.mark.parametrize(
    ("fen", "san", "message"),
    [
        (None, "Nf6", "'Nf6' is not legal here"),
        (None, "e5", "'e5' is not legal here"),
        (None, "exd3", "'exd3' is not legal here"),
        (None, "xyz", "'xyz' is not a move"),
        (None, "Sf3", "'Sf3' is not a move"),
        (None, "é4", "'é4' is not a move"),
        (None, "--", "null move"),
        ("4k3/8/8/8/8/8/8/R3K2R w - - 0 1", "O-O", "not legal"),
        ("4k3/8/8/8/8/8/4K3/R6R w - - 0 1", "Rd1", "is ambiguous"),
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a8", "not legal"),
    ],
)
def test_an_unplayable_move_is_refused_with_a_reason(
    fen: str | None, san: str, message: str
) -> None:
    with pytest.raises(DataFileError, match=message):
        read(san, fen)


@given(st.text(max_size=8) | st.from_regex("[NBRQK]?[a-i]?[0-9]?x?[a-i][0-9](=[A-Z])?[+#]?"))
@settings(deadline=None)
def test_any_text_gives_legal_moves_or_an_error(text: str) -> None:
    moves: list[str] = []
    with contextlib.suppress(DataFileError):
        moves = read(" ".join(text.split()))
    game = chess_rules()()
    for move in moves:
        game.play(move)
