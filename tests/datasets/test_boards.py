"""Legality of positions agrees with the rules; arrays of boards have keys and material."""

from __future__ import annotations

import random
from collections.abc import Callable

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rsshogi.core import Board

from ringmaster.datasets.boards import Boards, chess_boards, shogi_boards
from ringmaster.games.chess import chess_rules
from ringmaster.games.game import Game
from ringmaster.games.legality import legality_check
from ringmaster.games.sfen import normalise_sfen
from ringmaster.games.shogi import ShogiGame
from tests.datasets.sets import material

SEEDS = st.integers(0, 2**32)


def chess_positions(seed: int, plies: int = 90) -> list[chess.Board]:
    """Return the positions of a random game, with many checks."""
    rng, board, positions = random.Random(seed), chess.Board(), []
    for _ in range(plies):
        moves = list(board.legal_moves)
        if not moves:
            break
        checks = [move for move in moves if board.gives_check(move)]
        board.push(rng.choice(checks if checks and rng.random() < 0.5 else moves))
        positions.append(board.copy(stack=False))
    return positions


def shogi_positions(seed: int, plies: int = 120) -> list[Board]:
    """Return the positions of a random game of shogi."""
    rng, board, positions = random.Random(seed), Board(), []
    for _ in range(plies):
        moves = board.legal_moves()
        if not moves:
            break
        board.apply_move(moves[rng.randrange(len(moves))])
        positions.append(Board(board.to_sfen()))
    return positions


def refusals(check: Callable[[str], object], texts: list[str]) -> list[str]:
    """Return the error of a check for each text, "" for none."""
    errors = []
    for text in texts:
        try:
            check(text)
        except ValueError as error:
            errors.append(str(error))
        else:
            errors.append("")
    return errors


def of_chess(texts: list[str]) -> Boards:
    boards = chess_boards([text.encode() for text in texts])
    assert boards is not None
    return boards


def of_shogi(texts: list[str]) -> Boards:
    boards = shogi_boards([text.encode() for text in texts])
    assert boards is not None
    return boards


@pytest.mark.parametrize("verify", [True, False])
@given(SEEDS)
def test_checks_of_chess_agree_with_python_chess(verify: bool, seed: int) -> None:
    check = legality_check("chess", "standard", verify_checks=verify)
    for board in chess_positions(seed):
        assert check(board.fen(en_passant="fen")) == board.is_check()


@given(SEEDS)
def test_checks_of_shogi_agree_with_rsshogi(seed: int) -> None:
    check = legality_check("shogi", "standard", verify_checks=True)
    for board in shogi_positions(seed):
        assert check(board.to_sfen()) == board.is_in_check()


def compare(variant: str, begin: Callable[[str], Game], fens: list[str]) -> None:
    """Compare the refusals of a legality check with those of the full rules."""
    expected = refusals(begin, fens)
    assert refusals(legality_check("chess", variant, verify_checks=True), fens) == expected
    check = legality_check("chess", variant, verify_checks=False)
    for fen, error, quick in zip(fens, expected, refusals(check, fens), strict=True):
        # without complete verification, only positions in check may be illegal
        assert quick == error or check(fen), fen


@pytest.mark.slow
@given(SEEDS, st.data())
def test_every_illegal_position_of_chess_is_refused(seed: int, data: st.DataObject) -> None:
    """Change a piece, the side to move, rights or the en-passant square at random."""
    fens = []
    rng = random.Random(seed)
    for board in chess_positions(seed, 60):
        how = data.draw(st.integers(0, 3))
        if how == 0:
            square = rng.randrange(64)
            piece = chess.Piece(rng.randrange(1, 7), rng.random() < 0.5)
            board.set_piece_at(square, None if rng.random() < 0.4 else piece)
        elif how == 1:
            board.turn = not board.turn
        fields = board.fen(en_passant="fen").split()
        if how == 2:
            fields[2] = rng.choice(["KQkq", "K", "q", "Qk"])
        elif how == 3:
            fields[3] = rng.choice("abcdefgh") + rng.choice("36")
        fens.append(" ".join(fields))
    compare("standard", chess_rules(), fens)


@given(SEEDS, st.integers(0, 959), st.booleans())
def test_every_wrong_right_to_castle_of_chess960_is_refused(
    seed: int, start: int, shredder: bool
) -> None:
    rng, board, fens = random.Random(seed), chess.Board.from_chess960_pos(start), []
    for _ in range(30):
        moves = list(board.legal_moves)
        if not moves:
            break
        board.push(rng.choice(moves))
        fields = (board.shredder_fen() if shredder else board.fen()).split()
        if rng.random() < 0.5:
            letters = "HAFB" if shredder else "KQ"
            fields[2] = "".join(c for c in letters + letters.lower() if rng.random() < 0.5) or "-"
        fens.append(" ".join(fields))
    compare("chess960", chess_rules(chess960=True), fens)


@given(SEEDS)
def test_every_illegal_position_of_shogi_is_refused(seed: int) -> None:
    rng = random.Random(seed)
    texts = []
    for board in shogi_positions(seed, 60):
        text = list(board.to_sfen())
        spoilt = text.copy()
        places = [i for i, c in enumerate(text[: text.index(" ")]) if c.isalpha()]
        spoilt[rng.choice(places)] = rng.choice("PLNSGBRKplnsgbrk")
        if rng.random() < 0.3:
            at = spoilt.index(" ") + 1
            spoilt[at] = "w" if spoilt[at] == "b" else "b"
        texts.append("".join(spoilt).replace("+G", "G").replace("+K", "K").replace("+g", "g"))
    texts = [text.replace("+k", "k") for text in texts]
    check = legality_check("shogi", "standard", verify_checks=False)
    assert refusals(check, texts) == refusals(normalise_sfen, texts)


@pytest.mark.slow
@given(st.lists(SEEDS, min_size=1, max_size=4))
def test_equal_positions_of_chess_have_equal_keys(seeds: list[int]) -> None:
    """En passant matters only where a pawn can capture pseudo-legally."""
    games = [board for seed in [*seeds, seeds[0]] for board in chess_positions(seed, 40)]
    keys = of_chess([board.fen(en_passant="fen") for board in games]).keys().tolist()
    for board in games:
        board.halfmove_clock, board.fullmove_number = 0, 1
    names = [board.fen(en_passant="xfen") for board in games]
    assert len(set(keys)) == len(set(names)) == len(set(zip(keys, names, strict=True)))


@given(st.lists(SEEDS, min_size=1, max_size=4))
def test_equal_positions_of_shogi_have_equal_keys(seeds: list[int]) -> None:
    games = [board for seed in [*seeds, seeds[0]] for board in shogi_positions(seed, 60)]
    texts = [board.to_sfen() for board in games]
    keys = of_shogi(texts).keys().tolist()
    names = [text.rsplit(" ", 1)[0] for text in texts]
    assert len(set(keys)) == len(set(names)) == len(set(zip(keys, names, strict=True)))


@given(SEEDS)
def test_material_is_the_lead_of_the_first_player(seed: int) -> None:
    games = chess_positions(seed, 80)
    expected = [material(board) for board in games]
    assert of_chess([board.fen() for board in games]).material().tolist() == expected


@pytest.mark.parametrize(
    "text",
    [
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSN b - 1",
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSG+KGSNL b - 1",
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1+/LNSGKGSNL b - 1",
        "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1 b - 1",
    ],
)
def test_an_invalid_board_gives_none(text: str) -> None:
    good = ShogiGame().position()
    assert shogi_boards([good.encode(), text.encode(), good.encode()]) is None
