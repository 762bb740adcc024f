"""Variants on pyffish, with python-chess as the oracle of those that it knows."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from typing import Any

import chess.pgn
import chess.variant
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.errors import IllegalMove
from ringmaster.formats.pgn_writer import write_pgn
from ringmaster.games import variants
from ringmaster.games.chess import start_fen
from ringmaster.games.game import Ending, Game
from ringmaster.games.variants import VariantGame, check_variant
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.results import GameRecord, MoveRecord
from tests.contracts.game_contract import GameContract
from tests.requirements import package

package("pyffish")
pytestmark = pytest.mark.optional

KNOWN = ("crazyhouse", "atomic", "3check", "kingofthehill", "antichess", "horde", "racingkings")


@pytest.mark.slow
class TestVariantsFulfilTheContract(GameContract):
    def new_game(self) -> Game:
        # its random games come to an end, with few pieces within the time of a test
        return VariantGame("antichess", "8/pp6/8/8/8/8/1P1P4/8 w - - 0 1")

    def moves_to_try(self, game: Game, rng: random.Random) -> Sequence[str]:
        assert isinstance(game, VariantGame)
        legal = list(game._legal)
        tries = [*rng.sample(legal, min(2, len(legal))), "e1g1", "a2a5", "P@e4"]
        rng.shuffle(tries)
        return tries


def oracle(variant: str) -> Any:
    return chess.variant.find_variant(variant)()


@pytest.mark.slow
@given(st.integers(0, 1 << 32), st.sampled_from(KNOWN))
# four games of each variant: the oracle takes half a second a game
@settings(deadline=None, max_examples=28)
def test_random_games_agree_with_python_chess_at_every_ply(seed: int, variant: str) -> None:
    rng = random.Random(seed)
    board, game = oracle(variant), VariantGame(variant)
    played = []
    for _ in range(40):
        legal = sorted(move.uci() for move in board.legal_moves)
        ending = game.ending()
        over = board.is_variant_end() or not legal or board.is_repetition(3)
        assert (ending is not None) == over, (variant, played)
        if ending is not None:
            expected = board.outcome(claim_draw=True)
            assert expected is not None
            winner = None if expected.winner is None else 0 if expected.winner else 1
            assert ending.winner == winner
            break
        assert sorted(game._legal) == legal
        move = rng.choice(legal)
        assert game.from_san(board.san(chess.Move.from_uci(move))) == move
        game.play(move)
        board.push_uci(move)
        played.append(move)


@pytest.mark.parametrize(
    ("variant", "fen", "moves", "ending"),
    [
        ("kingofthehill", "4k3/8/8/8/8/4K3/8/8 w - - 0 1", "e3e4", Ending(0, "variant rules")),
        (
            "crazyhouse",
            "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR[] w KQkq - 4 4",
            "h5f7",
            Ending(0, "mate"),
        ),
        ("crazyhouse", None, "g1f3 g8f6 f3g1 f6g8 " * 2, Ending(None, "repetition")),
        ("kingofthehill", "4k3/8/8/8/8/8/8/4K2R w - - 99 80", "h1h2", Ending(None, "move rule")),
    ],
)
def test_a_game_ends_by_the_rules_of_its_variant(
    variant: str, fen: str | None, moves: str, ending: Ending | None
) -> None:
    game = VariantGame(variant, fen)
    for move in moves.split():
        assert game.ending() is None
        game.play(move)
    assert game.ending() == ending


@pytest.mark.slow
def test_optional_endings_are_found_without_a_call_at_every_ply() -> None:
    import pyffish

    rng = random.Random(4)
    for variant in ("xiangqi", "crazyhouse"):
        game = VariantGame(variant)
        for _ in range(60):
            over, _ = pyffish.is_optional_game_end(variant, game._start_fen, game.moves)
            assert over == (game.ending() is not None and game.ending().reason != "mate")
            if game.ending() is not None:
                break
            moves = list(game._legal)
            back = game.moves[-2][2:4] + game.moves[-2][:2] if len(game.moves) > 1 else ""
            game.play(back if back in moves and rng.random() < 0.7 else rng.choice(moves))


def test_an_illegal_move_is_refused_with_the_variant() -> None:
    game = VariantGame("crazyhouse")
    with pytest.raises(IllegalMove, match="the rules of crazyhouse do not allow it"):
        game.play("P@e4")
    with pytest.raises(IllegalMove, match="not a move in the notation of crazyhouse engines"):
        game.play("e2 e4")


@pytest.mark.parametrize(
    ("variant", "fen", "message"),
    [
        ("crazyhouse", "x", "invalid piece character: 'x'"),
        ("crazyhouse", "8/8/8/8/8/8/8/8 w - - 0 1", "invalid number of white kings"),
    ],
)
def test_an_invalid_position_of_a_variant_is_refused_silently(
    variant: str, fen: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=message):
        VariantGame(variant, fen)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("xiangki", "there is no variant 'xiangki'; the nearest are xiangqi, "),
        ("", "there is no variant ''; there are standard, chess960, "),
        ("chess", "variant 'chess' is called 'standard' here"),
        ("bughouse", "cannot be played by two engines on one board"),
    ],
)
def test_an_unknown_variant_is_refused_with_the_nearest(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_variant(name)


def test_without_pyffish_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyffish", None)
    check_variant("chess960")
    with pytest.raises(ValueError, match=r"pip install 'ringmaster-engines\[variants\]'"):
        check_variant("xiangqi")


def record(variant: str, opening: Opening, moves: Sequence[str]) -> str:
    return write_pgn(
        GameRecord(
            game_id="0_1",
            event="t",
            date="2026-05-04",
            codes=("a", "b"),
            names=("a", "b"),
            settings=GameSettings(game="chess", variant=variant),
            opening=opening,
            moves=tuple(MoveRecord(move, i % 2) for i, move in enumerate(moves)),
            score="*",
            reason="crash",
        )
    )


@pytest.mark.parametrize("variant", ["crazyhouse", "antichess", "chess960"])
def test_a_record_of_a_variant_is_read_by_python_chess(variant: str) -> None:
    rng = random.Random(7)
    opening = Opening(fen=start_fen(1) if variant == "chess960" else None)
    if variant == "chess960":
        board: Any = chess.Board(opening.fen, chess960=True)
    else:
        board = oracle(variant)
    moves = []
    while len(moves) < 15 and not board.is_game_over():
        moves.append(rng.choice([move.uci() for move in board.legal_moves]))
        board.push_uci(moves[-1])
    game = chess.pgn.read_game(io.StringIO(record(variant, opening, moves)))
    assert game is not None
    assert game.errors == []
    assert [move.uci() for move in game.mainline_moves()] == moves
    assert game.end().board().fen() == board.fen()
    assert type(game.board()) is type(board)


def test_a_record_ends_at_an_illegal_move_of_a_variant() -> None:
    text = record("xiangqi", Opening(), ["h3e3", "h10g8", "zzz", "a4a5"])
    assert "1. Che3 Hg8 {The move 'zzz' is not legal here}" in text


def test_variant_names_are_pyffishs_and_our_own() -> None:
    names = variants.variant_names()
    assert names[:2] == ("standard", "chess960")
    assert {"xiangqi", "crazyhouse", "atomic", "makruk", "janggi"} < set(names)
    assert not {"chess", "bughouse", "fischerandom"} & set(names)
