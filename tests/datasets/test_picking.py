"""Picking positions of a game, and quiet positions."""

from __future__ import annotations

import math
import random

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.datasets.picking import Picker, Rules, is_quiet
from ringmaster.formats.recorded_game import RecordedGame, Replay, replay
from ringmaster.formats.source import Record
from ringmaster.games.game import beginning


def played(moves: list[str], start: str | None = None, game: str = "chess") -> Replay:
    """Return a game with the first player's scores of 10 times the plies."""
    scores = [10.0 * ply for ply in range(len(moves))]
    record = RecordedGame(1, 1, "g", start, moves, scores, result=1.0)
    return replay(record, game, beginning(game))  # type: ignore[arg-type]  # a name of a game


def random_game(seed: int, plies: int) -> list[str]:
    rng, board = random.Random(seed), chess.Board()
    while len(board.move_stack) < plies and any(board.legal_moves):
        board.push(rng.choice(list(board.legal_moves)))
    return [move.uci() for move in board.move_stack]


def pick(
    game: Replay, id: str = "g", sides: tuple[int, ...] = (0, 1), **rules: object
) -> list[Record]:
    picker = Picker(Rules(**rules), "chess")  # type: ignore[arg-type]
    return [record for record, _ in picker.pick(game, id, 1.0, sides)]


GAME = played(random_game(1, 120))


@pytest.mark.parametrize(
    "fen",
    [
        chess.STARTING_FEN,
        # a defended pawn is no gain for a queen
        "4k3/8/2p5/3p4/8/8/8/3QK3 w - - 0 1",
        # the new queen would be lost, and with it the pawn
        "1r6/3k2P1/8/8/8/8/8/4K3 w - - 0 1",
    ],
)
def test_a_position_without_winning_captures_is_quiet(fen: str) -> None:
    assert is_quiet(fen, "chess")


@pytest.mark.parametrize(
    "fen",
    [
        "4k3/8/8/3p4/8/8/8/3QK3 w - - 0 1",
        # en passant
        "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1",
        # a promotion
        "8/P3k3/8/8/8/8/8/4K3 w - - 0 1",
        # the defender is pinned
        "4k3/5p2/4n3/8/3p4/8/8/3RQ2K w - - 0 1",
        # a king takes what nobody defends
        "4k3/8/8/8/8/8/3p4/4K3 w - - 0 1",
    ],
)
def test_a_position_with_a_winning_capture_is_not_quiet(fen: str) -> None:
    assert not is_quiet(fen, "chess")


@pytest.mark.parametrize(
    ("sfen", "quiet"),
    [
        ("lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", True),
        # bishops face each other: an even exchange
        ("lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3", True),
        # the bishop that may be taken is not defended any more
        ("lnsgkg1nl/7b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3", False),
        # a pawn promotes where nobody can take it
        ("4k4/9/9/P8/9/9/9/9/4K4 b - 1", False),
        ("4k4/9/9/9/P8/9/9/9/4K4 b - 1", True),
        # a pawn in front of a rook that is free to take it
        ("4k4/9/9/4p4/9/9/9/4R4/4K4 b - 1", False),
    ],
)
def test_exchanges_of_shogi(sfen: str, quiet: bool) -> None:
    assert is_quiet(sfen, "shogi") == quiet


def material_after_best_capture(board: chess.Board, square: int) -> int:
    """Return the mover's gain on a square by a search of all captures there."""
    values = {1: 100, 2: 320, 3: 330, 4: 500, 5: 950, 6: 10000}
    best = 0
    for move in list(board.legal_moves):
        if move.to_square != square or not board.is_capture(move) or move.promotion:
            continue
        victim = board.piece_type_at(square) or chess.PAWN
        board.push(move)
        best = max(best, values[victim] - material_after_best_capture(board, square))
        board.pop()
    return best


@settings(deadline=None)
@given(seed=st.integers(0, 2**32), plies=st.integers(4, 60))
def test_exchange_gains_agree_with_a_search(seed: int, plies: int) -> None:
    board = chess.Board()
    for move in random_game(seed, plies):
        board.push_uci(move)
    white, black = board.pieces_mask(1, True), board.pieces_mask(1, False)
    # the search leaves out promotions
    if board.is_check() or white & chess.BB_RANK_7 or black & chess.BB_RANK_2:
        return
    gains = any(material_after_best_capture(board, square) > 0 for square in range(64))
    assert is_quiet(board.fen(), "chess") == (not gains)


def test_each_games_sample_depends_on_its_own_random_words() -> None:
    first, second = pick(GAME), pick(GAME)
    assert first == second
    assert len(first) == 10
    assert [p.ply for p in first] == sorted({p.ply for p in first})
    assert [p.ply for p in pick(GAME, "h")] != [p.ply for p in first]
    assert [p.ply for p in pick(GAME, seed=1)] != [p.ply for p in first]


def test_a_larger_sample_includes_the_smaller_one() -> None:
    few = {p.ply for p in pick(GAME, per_game=3)}
    assert few < {p.ply for p in pick(GAME, per_game=9)}
    assert len(pick(GAME, per_game=None, noise="all", first_ply=0)) == len(GAME) - sum(
        GAME.checks[:-1]
    )


def test_labels_are_the_first_players() -> None:
    for position in pick(GAME, noise="all"):
        board = chess.Board(position.text.decode())
        assert board.is_legal(chess.Move.from_uci(position.move))
        assert (position.result, position.teacher) == (1.0, 10.0 * position.ply)
        assert (board.ply(), len(GAME)) == (position.ply, position.length)


def test_quiet_positions_are_not_beside_captures() -> None:
    for position in pick(GAME, per_game=None):
        ply = position.ply
        board = chess.Board(GAME.texts[ply - 1])
        assert not board.is_capture(chess.Move.from_uci(GAME.game.moves[ply - 1]))
        board = chess.Board(position.text.decode())
        assert not board.is_check()
        move = chess.Move.from_uci(position.move)
        assert not board.is_capture(move)
        assert not move.promotion


def test_resolved_positions_are_quiet_and_follow_captures_only() -> None:
    # the position after 1. e4 d5 2. exd5 is resolved by Qxd5, which leads to a quiet one
    game = played(["e2e4", "d7d5", "e4d5", "d8d5", "b1c3", "d5a5", "d2d4", "g8f6"])
    plies = {p.ply for p in pick(game, per_game=None, first_ply=2, noise="resolved")}
    # 2: exd5 is an even exchange; 3: the pawn hangs, 4 is where taking it leads; 5: the
    # queen hangs to nothing that Black can take
    assert plies == {2, 4, 5, 6, 7}
    picker = Picker(Rules(per_game=None, first_ply=0, noise="resolved"), "chess")
    hanging = played(["e2e4", "d7d5", "d1h5", "a7a6", "b1c3", "g8f6", "a2a3", "f6h5"])
    # White leaves its queen to be taken, and Black does not see it before the last move
    assert 7 not in {p.ply for p, _ in picker.pick(hanging, "g", 1.0)}
    assert picker.left_out["amid an exchange that was not played out"] > 0


def test_rules_limit_the_picked_positions() -> None:
    assert min(p.ply for p in pick(GAME, per_game=None, first_ply=30)) >= 30
    assert max(p.ply for p in pick(GAME, per_game=None, last_plies=50)) < 70
    assert max(abs(p.teacher) for p in pick(GAME, per_game=None, score_cap=400)) <= 400
    assert {p.text.split()[1] for p in pick(GAME, sides=(1,))} == {b"b"}


def test_plies_are_counted_from_the_move_number_of_the_start() -> None:
    game = played(["e8d7", "e2e4", "d7d6"], "4k3/8/8/8/8/8/4P3/4K3 b - - 3 10")
    assert [p.ply for p in pick(game, per_game=None)] == [19, 20, 21]


def test_positions_without_a_score_are_counted_or_kept() -> None:
    game = played(["e2e4", "e7e5", "g1f3"])
    game.game.scores[1] = math.nan
    picker = Picker(Rules(first_ply=0), "chess")
    assert [p.ply for p, _ in picker.pick(game, "g", 0.5)] == [0, 2]
    assert picker.left_out == {"without a score": 1}
    unscored = Picker(Rules(first_ply=0), "chess", scored=False).pick(game, "g", 0.5)
    assert [math.isnan(p.teacher) for p, _ in unscored] == [False, True, False]


def test_opening_moves_are_never_picked() -> None:
    game = played(["e2e4", "e7e5", "g1f3"])
    game.game.book = 2
    assert [p.ply for p in pick(game, first_ply=0)] == [2]
