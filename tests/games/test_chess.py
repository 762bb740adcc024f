from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Sequence

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.errors import IllegalMove
from ringmaster.games import chess as module
from ringmaster.games.chess import ChessGame, ReferenceChessGame
from ringmaster.games.clean_text import cut
from ringmaster.games.game import Ending, Game
from tests.contracts.game_contract import GameContract
from tests.processes import LONG

AnyChess = ChessGame | ReferenceChessGame
Make = Callable[..., AnyChess]

both = pytest.mark.parametrize("make", [ChessGame, ReferenceChessGame])
quick = settings(deadline=None)
seeds = st.integers(0, 1 << 32)

#: Positions from which random play soon castles, promotes, takes en passant,
#: runs out of material or repeats.
STARTS = (
    chess.STARTING_FEN,
    "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 7 1",
    "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1",
    "3k4/2pppp2/8/8/8/8/2PPPP2/3RK3 w - - 90 60",
    "8/PPPk4/8/8/8/8/4Kppp/8 w - - 0 1",
    "8/8/4k3/8/2B5/8/4K1n1/7b b - - 80 90",
    "8/8/1k6/8/8/6b1/1B2K3/2B5 w - - 97 200",
    "5k2/8/8/3pP3/8/8/8/4K2R w K d6 0 40",
)

ROOK_FORM = ("e1h1", "e1a1", "e8h8", "e8a8")
KING_FORM = ("e1g1", "e1c1", "e8g8", "e8c8")


def play_all(game: AnyChess, moves: str) -> AnyChess:
    for move in moves.split():
        game.play(move)
    return game


def oracle_ending(board: chess.Board) -> Ending | None:
    """Return the ending by python-chess's tests of single conditions."""
    if board.is_checkmate():
        return Ending(1 if board.turn else 0, "mate")
    if board.is_stalemate():
        return Ending(None, "stalemate")
    if board.is_insufficient_material():
        return Ending(None, "material")
    if board.is_repetition(3):
        return Ending(None, "repetition")
    if board.halfmove_clock >= 100:
        return Ending(None, "50 moves")
    return None


class ChessContract(GameContract):
    make: Make

    def new_game(self) -> Game:
        return self.make()

    def moves_to_try(self, game: Game, rng: random.Random) -> Sequence[str]:
        legal = [move.uci() for move in chess.Board(game.position()).legal_moves]
        wrong = [a + b for a in ("e2", "e1", "a7", "d5") for b in ("e4", "g1", "a8", "d6")]
        tries = [*rng.sample(legal, min(3, len(legal))), *rng.sample(wrong, 3), *ROOK_FORM]
        rng.shuffle(tries)
        return tries


class TestFastChessFulfilsTheContract(ChessContract):
    make = ChessGame


class TestReferenceChessFulfilsTheContract(ChessContract):
    make = ReferenceChessGame


@given(seeds)
@settings(deadline=None)
def test_random_games_agree_with_python_chess_at_every_ply(seed: int) -> None:
    rng = random.Random(seed)
    fen = rng.choice(STARTS)
    board = chess.Board(fen)
    game = ChessGame(fen)
    # Some players shuffle back and forth, so that positions repeat.
    shuffling = rng.random() < 0.4
    for _ in range(rng.choice((20, 80, 250))):
        assert game.position() == board.fen()
        assert game.to_move == (0 if board.turn else 1)
        ending = oracle_ending(board)
        assert game.ending() == ending
        legal = [move.uci() for move in board.legal_moves]
        if ending is not None or not legal:
            break
        move = rng.choice(legal)
        if shuffling and len(board.move_stack) >= 2:
            last = board.move_stack[-2].uci()
            back = last[2:4] + last[:2]
            if back in legal and rng.random() < 0.8:
                move = back
        game.play(move)
        board.push_uci(move)


@given(seeds)
@settings(deadline=None)
def test_exactly_the_legal_moves_are_accepted(seed: int) -> None:
    rng = random.Random(seed)
    board = chess.Board(rng.choice(STARTS))
    for _ in range(rng.randrange(40)):
        legal = list(board.legal_moves)
        if not legal:
            break
        board.push(rng.choice(legal))
    fen = board.fen()
    legal_now = {move.uci() for move in board.legal_moves}
    candidates = {*legal_now, *ROOK_FORM, *KING_FORM, *rng.sample(sorted(module._STEPS), 100)}
    for move in candidates:
        game = ChessGame(fen)
        try:
            game.play(move)
        except IllegalMove:
            assert move not in legal_now
        else:
            assert move in legal_now
            after = board.copy()
            after.push_uci(move)
            assert game.position() == after.fen()


@given(seeds)
@settings(deadline=None)
def test_a_position_is_accepted_exactly_when_python_chess_calls_it_valid(seed: int) -> None:
    rng = random.Random(seed)
    board = chess.Board(rng.choice(STARTS))
    for _ in range(rng.randrange(30)):
        legal = list(board.legal_moves)
        if not legal:
            break
        board.push(rng.choice(legal))
    for _ in range(rng.randrange(5)):
        square = rng.randrange(64)
        piece = chess.Piece(rng.choice((1, 1, 2, 3, 4, 5, 6)), rng.random() < 0.5)
        board.set_piece_at(square, piece if rng.random() < 0.6 else None)
    fields = board.fen(en_passant="fen").split()
    if rng.random() < 0.2:
        fields[1] = rng.choice("wb")
    if rng.random() < 0.3:
        fields[2] = rng.choice(("-", "KQkq", "K", "q", "Kq", "HAha", "QK", "KK", "qK", "Ee"))
    if rng.random() < 0.3:
        fields[3] = rng.choice("abcdefgh") + rng.choice("36")
    if rng.random() < 0.3:
        fields[4:] = rng.choice(("100", "101", "9999", "007")), rng.choice(("0", "1", "70000"))
    fen = " ".join(fields)
    # python-chess wants castling rights in their order
    fields[2] = "".join(sorted(fields[2]))
    try:
        oracle = chess.Board(" ".join(fields))
        valid = oracle.is_valid()
    except ValueError:
        valid = False
    if not valid:
        with pytest.raises(ValueError, match=r"\w"):
            ChessGame(fen)
    else:
        assert ChessGame(fen).position() == oracle.fen()
        assert ChessGame(fen).ending() == oracle_ending(oracle)


@pytest.mark.parametrize(
    ("fen", "message"),
    [
        ("4k3/8/8/8/8/8/8/4K3 w -", "6 fields, or 4 without counters; this has 3"),
        ("4k3/8/8/8/8/8/4K3 w - - 0 1", "expected 8 rows in position part"),
        ("4k3/8/8/8/8/8/8/4K2 w - - 0 1", "expected 8 columns per row"),
        ("4k3/8/8/8/8/8/8/4X3 w - - 0 1", "invalid character in position part"),
        ("4k3/8/8/8/8/8/8/4K3 w K - 0 1", "castling rights do not fit"),
        ("4k3/8/8/8/8/8/8/4K3 w - e6 0 1", "no pawn has just moved past"),
        ("4k3/8/8/8/8/8/8/4K3 w - - ٣ 1", "the half-move clock"),
        ("4k3/8/8/8/8/8/8/3KK3 w - - 0 1", "more than one king"),
        ("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "not to move is in check"),
        ("P3k3/8/8/8/8/8/8/4K3 w - - 0 1", "pawn on the first or the last rank"),
        ("r3k3/8/8/8/r7/8/8/r3K2r w - - 0 1", "no last move"),
        ("4k3/8/8/8/4r3/3n4/8/r3K3 w - - 0 1", "more than two pieces"),
    ],
)
@both
def test_an_impossible_position_is_refused_with_the_reason(
    make: Make, fen: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(fen)


@both
def test_castling_is_written_as_the_kings_move(make: Make) -> None:
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    assert make(fen).position() == fen
    assert play_all(make(fen), "e1g1 e8c8").position() == "2kr3r/8/8/8/8/8/8/R4RK1 w - - 2 2"
    assert play_all(make(fen), "e1c1 e8g8").position() == "r4rk1/8/8/8/8/8/8/2KR3R w - - 2 2"
    for move in ("e1h1", "e1a1"):
        with pytest.raises(IllegalMove, match=r"castling is written e1[gc]1"):
            make(fen).play(move)


@both
def test_the_castling_squares_are_open_to_other_pieces(make: Make) -> None:
    game = make("4q2k/8/8/8/8/8/8/K3Q3 w - - 0 1")
    play_all(game, "e1g1 e8g8")
    assert game.moves == ["e1g1", "e8g8"]
    play_all(make("4r2k/8/8/8/8/8/8/K3R3 w - - 0 1"), "e1c1 e8c8 c1e1 c8e8")
    taking = make("4r2k/8/8/8/8/8/8/K3Q2r w - - 0 1")
    taking.play("e1h1")
    assert taking.position() == "4r2k/8/8/8/8/8/8/K6Q b - - 0 1"


@both
@pytest.mark.parametrize(
    ("fen", "move", "reason"),
    [
        (None, "0000", "null move"),
        (None, "e4", "not a move in UCI notation"),
        (None, "e3e4", "no piece on e3"),
        (None, "e7e5", "the piece on e7 is Black's"),
        (None, "e2e5", "the pawn on e2 cannot do that"),
        (None, "e1g1", "the king on e1 cannot do that"),
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8", "does not say what the pawn promotes to"),
        ("3rk3/8/8/8/8/8/3P4/3K4 w - - 0 1", "d1e1", ""),
        ("4k3/8/8/8/8/4r3/4N3/4K3 w - - 0 1", "e2c3", "leaves the king in check"),
        ("4k3/8/8/8/8/4r3/8/4K3 w - - 0 1", "e1e2", "leaves the king in check"),
    ],
)
def test_an_illegal_move_is_refused_with_the_reason_and_the_position(
    make: Make, fen: str | None, move: str, reason: str
) -> None:
    game = make(fen)
    if not reason:
        game.play(move)
        return
    with pytest.raises(IllegalMove) as caught:
        game.play(move)
    assert caught.value.move == move
    assert caught.value.position == game.position() == (fen or chess.STARTING_FEN)
    assert reason in caught.value.reason


@both
def test_a_position_with_other_castling_rights_is_another_position(make: Make) -> None:
    game = make("4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1")
    play_all(game, "h1h2 h8h7 h2h1 h7h8 h1h2 h8h7 h2h1 h7h8")
    assert game.ending() is None
    game.play("h1h2")
    assert game.ending() is None
    game.play("h8h7")
    assert game.ending() == Ending(None, "repetition")


@both
def test_an_en_passant_capture_that_a_pin_forbids_does_not_make_a_position_new(
    make: Make,
) -> None:
    game = make("3k4/8/8/8/3p4/8/4P3/3RK3 w - - 0 1")
    play_all(game, "e2e4 d8c8 d1d2 c8d8 d2d1 d8c8 d1d2 c8d8")
    assert game.ending() is None
    game.play("d2d1")
    assert game.ending() == Ending(None, "repetition")


@both
def test_an_en_passant_capture_that_is_legal_makes_a_position_new(make: Make) -> None:
    game = make("4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1")
    play_all(game, "e2e4 e8d8 e1d1 d8e8 d1e1 e8d8 e1d1 d8e8 d1e1")
    assert game.ending() is None
    play_all(game, "e8d8")
    assert game.ending() == Ending(None, "repetition")


@both
def test_fifty_moves_without_progress_are_a_draw_unless_the_last_one_mates(make: Make) -> None:
    game = make("7k/8/8/8/8/8/R7/1R4K1 w - - 98 80")
    game.play("a2a7")
    assert game.ending() is None
    game.play("h8g8")
    assert game.ending() == Ending(None, "50 moves")
    mated = make("7k/R7/8/8/8/8/8/1R4K1 w - - 99 80")
    mated.play("b1b8")
    assert mated.ending() == Ending(0, "mate")
    stalemated = make("7k/8/5KQ1/8/8/8/8/8 w - - 99 80")
    stalemated.play("g6f7")
    assert stalemated.ending() == Ending(None, "stalemate")
    assert make("7k/8/8/8/8/8/R7/1R4K1 w - - 100 80").ending() == Ending(None, "50 moves")


@both
def test_counters_exceed_255(make: Make) -> None:
    game = make("7k/8/8/8/8/8/R7/1R4K1 w - - 254 65535")
    play_all(game, "a2a3 h8g8 a3a2 g8h8")
    assert game.position() == "7k/8/8/8/8/8/R7/1R4K1 w - - 258 65537"
    long = make()
    for _ in range(80):
        play_all(long, "g1f3 g8f6 f3g1 f6g8")
    assert long.position().endswith(" w KQkq - 320 161")


@both
@pytest.mark.parametrize(
    ("pieces", "dead"),
    [
        ("8/8/4k3/8/8/3K4/8/8", True),
        ("8/8/4k3/8/8/3K4/8/5N2", True),
        ("8/8/4kb2/8/8/3K4/8/2B5", True),
        ("8/8/4k3/8/BB6/3K4/8/8", False),
        ("8/8/4k3/2B5/8/B2K4/8/2B5", True),
        ("8/8/4kb2/8/8/3KB3/8/8", True),
        ("8/8/4k1b1/8/8/3KB3/8/8", False),
        ("8/8/4kn2/8/8/3K4/8/2B5", False),
        ("8/8/4k3/8/8/3K4/8/2NN4", False),
        ("8/8/4k3/8/8/3K4/8/7q", False),
    ],
)
def test_insufficient_material_is_a_draw(make: Make, pieces: str, dead: bool) -> None:
    fen = f"{pieces} w - - 0 1"
    assert chess.Board(fen).is_insufficient_material() == dead
    assert make(fen).ending() == (Ending(None, "material") if dead else None)


def test_the_rules_load_where_cozy_chess_cannot_be_imported() -> None:
    script = (
        "import sys; sys.modules['cozy_chess'] = None\n"
        "from ringmaster.games.chess import chess_rules\n"
        "game = chess_rules()(); game.play('e2e4'); print(game.position())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LONG
    )
    assert done.stdout == "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n"


def test_a_huge_move_is_cut_in_the_error() -> None:
    with pytest.raises(IllegalMove) as caught:
        ChessGame().play("e2e4" * 1_000_000)
    assert caught.value.move == cut("e2e4" * 11, 40)
