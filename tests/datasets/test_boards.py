"""What is worked out for thousands of boards at once is what the rules say of each."""

from __future__ import annotations

import random
from collections.abc import Callable

import chess
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rsshogi.core import Board

from ringmaster.datasets.boards import Boards, chess_boards, shogi_boards
from ringmaster.datasets.sfen_text import sfens
from ringmaster.games.chess import new_chess_game
from ringmaster.games.chess960 import new_chess960_game
from ringmaster.games.sfen import normalise_sfen
from ringmaster.games.shogi import new_shogi_game

SEEDS = st.integers(0, 2**32)


def chess_positions(seed: int, plies: int = 90) -> list[chess.Board]:
    """Return the positions of a random game, with many checks."""
    rng, board, found = random.Random(seed), chess.Board(), []
    for _ in range(plies):
        moves = list(board.legal_moves)
        if not moves:
            break
        checks = [move for move in moves if board.gives_check(move)]
        board.push(rng.choice(checks if checks and rng.random() < 0.5 else moves))
        found.append(board.copy(stack=False))
    return found


def shogi_positions(seed: int, plies: int = 120) -> list[Board]:
    """Return the positions of a random game of shogi."""
    rng, board, found = random.Random(seed), Board(), []
    for _ in range(plies):
        moves = board.legal_moves()
        if not moves:
            break
        board.apply_move(moves[rng.randrange(len(moves))])
        found.append(Board(board.to_sfen()))
    return found


#: Checks that no last move can have given do an engine no harm.
TOLERATED = (
    "",
    "the king is in check from more than two pieces",
    "no last move could have given this check",
)


def refusals(judge: Callable[[str], object], texts: list[str]) -> list[str]:
    """Return what a judge has against each text, "" for nothing."""
    found = []
    for text in texts:
        try:
            judge(text)
        except ValueError as error:
            found.append(str(error))
        else:
            found.append("")
    return found


def of_chess(texts: list[str]) -> Boards:
    boards = chess_boards([text.encode() for text in texts])
    assert boards is not None
    return boards


def of_shogi(texts: list[str]) -> Boards:
    boards = shogi_boards([text.encode() for text in texts])
    assert boards is not None
    return boards


@settings(max_examples=8)
@given(SEEDS)
def test_checks_of_chess_are_those_of_python_chess(seed: int) -> None:
    games = chess_positions(seed)
    boards = of_chess([board.fen(en_passant="fen") for board in games])
    assert boards.in_check(boards.side).tolist() == [board.is_check() for board in games]
    assert not boards.suspects().any()


@settings(max_examples=8)
@given(SEEDS)
def test_checks_of_shogi_are_those_of_rsshogi(seed: int) -> None:
    games = shogi_positions(seed)
    boards = of_shogi([board.to_sfen() for board in games])
    assert boards.in_check(boards.side).tolist() == [board.is_in_check() for board in games]
    assert not boards.suspects().any()


@settings(max_examples=12)
@given(SEEDS, st.data())
def test_every_illegal_position_of_chess_is_suspected(seed: int, data: st.DataObject) -> None:
    """Positions that are spoilt by a piece, a side, rights or an en-passant square."""
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
    refused = refusals(new_chess_game, fens)
    missed = [
        (fen, why)
        for fen, why, suspect in zip(fens, refused, of_chess(fens).suspects(), strict=True)
        if why not in TOLERATED and not suspect
    ]
    assert missed == []
    assert any(refused)


@settings(max_examples=12)
@given(SEEDS, st.integers(0, 959), st.booleans())
def test_every_wrong_right_to_castle_of_chess960_is_suspected(
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
            found = "".join(c for c in letters + letters.lower() if rng.random() < 0.5)
            fields[2] = found or "-"
        fens.append(" ".join(fields))
    boards = chess_boards([fen.encode() for fen in fens], chess960=True)
    assert boards is not None
    refused = refusals(new_chess960_game, fens)
    suspects = boards.suspects().tolist()
    legal = sum(not why for why in refused)
    for fen, why, suspect in zip(fens, refused, suspects, strict=True):
        assert why in TOLERATED or suspect, (fen, why)
    assert sum(suspects) <= len(fens) - legal / 2


@settings(max_examples=12)
@given(SEEDS)
def test_every_illegal_position_of_shogi_is_suspected(seed: int) -> None:
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
    refused = refusals(normalise_sfen, texts)
    suspects = of_shogi(texts).suspects()
    assert [t for t, why, s in zip(texts, refused, suspects, strict=True) if why and not s] == []
    assert any(refused)


@settings(max_examples=8)
@given(st.lists(SEEDS, min_size=1, max_size=4))
def test_keys_of_chess_are_equal_where_positions_are(seeds: list[int]) -> None:
    """Positions are told apart by where pieces may go: en passant only where a pawn stands
    ready, in python-chess's words a pseudo-legal one."""
    games = [board for seed in [*seeds, seeds[0]] for board in chess_positions(seed, 40)]
    keys = of_chess([board.fen(en_passant="fen") for board in games]).keys().tolist()
    for board in games:
        board.halfmove_clock, board.fullmove_number = 0, 1
    names = [board.fen(en_passant="xfen") for board in games]
    assert len(set(keys)) == len(set(names)) == len(set(zip(keys, names, strict=True)))


@settings(max_examples=8)
@given(st.lists(SEEDS, min_size=1, max_size=4))
def test_keys_of_shogi_are_equal_where_positions_are(seeds: list[int]) -> None:
    games = [board for seed in [*seeds, seeds[0]] for board in shogi_positions(seed, 60)]
    texts = [board.to_sfen() for board in games]
    keys = of_shogi(texts).keys().tolist()
    names = [text.rsplit(" ", 1)[0] for text in texts]
    assert len(set(keys)) == len(set(names)) == len(set(zip(keys, names, strict=True)))


@settings(max_examples=8)
@given(SEEDS)
def test_sfen_of_boards_is_what_they_were_made_of(seed: int) -> None:
    texts = [board.to_sfen() for board in shogi_positions(seed)]
    ply = np.array([int(text.rsplit(" ", 1)[1]) - 1 for text in texts])
    assert [text.decode() for text in sfens(of_shogi(texts), ply)] == texts


@given(SEEDS)
@settings(max_examples=4)
def test_material_is_counted_from_the_first_player(seed: int) -> None:
    values = {1: 1, 2: 3, 3: 3, 4: 5, 5: 9, 6: 0}
    games = chess_positions(seed, 80)
    expected = [
        sum(v * (len(b.pieces(p, True)) - len(b.pieces(p, False))) for p, v in values.items())
        for b in games
    ]
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
def test_board_that_cannot_be_read_is_none(text: str) -> None:
    good = new_shogi_game().position()
    assert shogi_boards([good.encode(), text.encode(), good.encode()]) is None
