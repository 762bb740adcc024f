"""Games that were played are judged again by rules and readers that are not
ringmaster's: python-chess for chess, cshogi for shogi, sgfmill for Go."""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

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
    assert (pgn.headers["White"], pgn.headers["Black"]) == (game.white, game.black)
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


def judge_shogi(game: Game, record: str) -> None:
    """Assert the same of a CSA record."""
    import cshogi
    import cshogi.CSA

    parsed: Any = cshogi.CSA.Parser.parse_str(record)
    (read,) = parsed if isinstance(parsed, list) else [parsed]
    board = cshogi.Board(read.sfen)
    assert read.names == [game.black, game.white]
    seen: Counter[str] = Counter([_without_number(board)])
    moves = list(read.moves)
    first = len(moves) - game.plies
    assert first >= 0
    for ply, move in enumerate(moves):
        legal = list(board.legal_moves)
        assert ply < first or legal, f"{game.id} went on at ply {ply}, after mate"
        assert move in legal
        board.push(move)
        seen[_without_number(board)] += 1
        assert seen[_without_number(board)] < 4 or ply == len(moves) - 1
    reason = game.reason
    mated = not list(board.legal_moves)
    if reason == "mate":
        assert mated
        assert game.score == ("0-1" if board.turn == cshogi.BLACK else "1-0")
    else:
        assert not mated, f"{game.id}: {reason}"
    if reason in ("repetition", "perpetual check"):
        assert seen[_without_number(board)] == 4
    else:
        assert seen[_without_number(board)] < 4
    if reason == "declaration":
        assert board.is_nyugyoku()
        assert game.score == ("1-0" if board.turn == cshogi.BLACK else "0-1")


def _without_number(board: Any) -> str:
    return str(board.sfen()).rsplit(" ", 1)[0]


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
