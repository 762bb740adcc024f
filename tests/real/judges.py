"""Games that were played are judged again by rules and readers that are not
ringmaster's: python-chess for chess, sgfmill for Go."""

from __future__ import annotations

import io

import chess
import chess.pgn
from sgfmill import boards, sgf, sgf_moves

from ringmaster.results.games import Game


def judge_chess(game: Game, record: str) -> None:
    """Assert that a PGN agrees with the result, and that both are right."""
    stream = io.StringIO(record)
    pgn = chess.pgn.read_game(stream)
    assert pgn is not None
    assert pgn.errors == []
    assert chess.pgn.read_game(stream) is None
    assert pgn.headers["Result"] == game.score
    assert (pgn.headers["White"], pgn.headers["Black"]) == game.players
    board = pgn.board()
    moves = list(pgn.mainline_moves())
    first = len(moves) - game.plies
    assert first >= 0
    for ply, move in enumerate(moves):
        assert ply < first or not _chess_is_over(board), f"{game.id} went on at ply {ply}"
        assert move in board.legal_moves
        board.push(move)
    reason = game.reason
    if reason == "mate":
        assert board.is_checkmate()
        assert game.score == ("0-1" if board.turn else "1-0")
    elif reason == "stalemate":
        assert board.is_stalemate()
    elif reason == "material":
        assert board.is_insufficient_material()
    elif reason == "repetition":
        assert board.is_repetition(3)
    elif reason == "50 moves":
        assert board.halfmove_clock >= 100
    else:
        assert not _chess_is_over(board), f"{game.id}: {reason}"
    if reason in ("stalemate", "material", "repetition", "50 moves", "move limit"):
        assert game.score == "1/2-1/2"


def _chess_is_over(board: chess.Board) -> bool:
    return (
        not any(board.legal_moves)
        or board.is_insufficient_material()
        or board.is_repetition(3)
        or board.halfmove_clock >= 100
    )


def judge_go(game: Game, record: str, *, area: bool) -> None:
    """Assert the same of an SGF; `area`: that its score is that of the stones
    on the board."""
    read = sgf.Sgf_game.from_string(record)
    board, plays = sgf_moves.get_setup_and_moves(read)
    assert read.root.get("RE") == game.score
    assert len(plays) == game.plies
    for colour, move in plays:
        if move is not None:
            assert board.get(*move) is None
            board.play(*move, colour)
    if area and game.reason == "score":
        assert [move for _, move in plays[-2:]] == [None, None]
        assert game.score == _area_score(board, read.get_komi())


def _area_score(board: boards.Board, komi: float) -> str:
    margin = board.area_score() - komi
    return "0" if margin == 0 else f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"
