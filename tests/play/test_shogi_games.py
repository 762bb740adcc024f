"""The game loop and the referee of shogi with scripted engines."""

from __future__ import annotations

from typing import Any

import pytest
from rsshogi.record import Record

from ringmaster.model.jobs import Opening
from ringmaster.model.players import Player
from ringmaster.model.results import GameResult
from ringmaster.model.time_control import TimeControl
from ringmaster.play.game_runner import GameRunner
from tests.games.test_shogi import CHECKING, SHUFFLE, entered, flipped
from tests.play.scripted import Act, Scripted, chess_player, job

BLACK, WHITE = chess_player("b"), chess_player("w")
TWO_PIECES = "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


def shogi(
    black: list[Act], white: list[Act], fen: str | None = None, **settings: Any
) -> tuple[GameResult, Scripted, Scripted]:
    engines = Scripted(BLACK, black), Scripted(WHITE, white)
    settings.setdefault("opening", Opening(fen))
    return GameRunner(job(BLACK, WHITE, game="shogi", **settings), engines).play(), *engines


def read(result: GameResult) -> Record:
    assert result.record is not None
    return Record.from_csa_str(result.record)


def test_mate_wins_for_sente_as_1_0() -> None:
    result, black, white = shogi(["G*1b"], [], "8k/9/8P/9/9/9/9/9/4K4 b G 1")
    assert (result.outcome, result.winner, result.reason, result.score) == ("win", 0, "mate", "1-0")
    assert (result.forfeit, result.plies, result.record_suffix) == (False, 1, "csa")
    assert black.observed == [(0, "G*1b", True)]
    assert white.observed == [(0, "G*1b", False)]
    assert read(result).result.is_black_win()


def test_in_a_handicap_game_the_first_player_is_black_and_white_moves_first() -> None:
    result, black, white = shogi(["7g7f", "resign"], ["5a4b", "4b3b"], TWO_PIECES)
    assert (result.winner, result.reason, result.score) == (1, "resignation", "0-1")
    assert (result.forfeit, result.plies) == (False, 3)
    assert [move for _, move, _ in white.observed] == ["5a4b", "7g7f", "4b3b"]
    assert [(colour, own) for colour, _, own in black.observed] == [
        (1, False),
        (0, True),
        (1, False),
    ]
    record = read(result)
    assert [move.move.to_usi() for move in record.moves] == ["5a4b", "7g7f", "4b3b"]
    assert record.metadata.black_player == "b"
    assert record.result.is_white_win()


@pytest.mark.parametrize(
    ("rule", "outcome", "reason", "score"),
    [("27", "win", "declaration", "1-0"), ("24", "draw", "impasse", "1/2-1/2")],
)
def test_a_declaration_that_holds_settles_the_game(
    rule: Any, outcome: str, reason: str, score: str
) -> None:
    result, _, _ = shogi(["claim"], [], entered("RB4P"), entering_king=rule)
    assert (result.outcome, result.reason, result.score) == (outcome, reason, score)
    assert (result.forfeit, result.faulty) == (False, None)


def test_white_declares_in_its_turn() -> None:
    result, _, _ = shogi([], ["claim"], flipped(entered("RB3P")))
    assert (result.winner, result.reason, result.score) == (1, "declaration", "0-1")


@pytest.mark.parametrize(
    ("rule", "fen", "why"),
    [
        ("27", entered("RB3P"), "Black has 27 points, not 28"),
        ("24", entered("R4P"), "Black has 23 points, not 24"),
        ("27", None, "Black's king is not in the enemy's camp"),
        ("none", entered("RB9P"), "there is no declaration under the rules of this game"),
        ("trial", entered("RB9P"), "there is no declaration under the rules of this game"),
    ],
)
def test_a_wrong_declaration_loses(rule: Any, fen: str | None, why: str) -> None:
    result, _, _ = shogi(["claim"], [], fen, entering_king=rule)
    assert (result.outcome, result.winner, result.score) == ("win", 1, "0-1")
    assert (result.reason, result.forfeit, result.faulty) == ("illegal declaration", True, 0)
    first, second = result.detail.splitlines()
    assert first == f"b declares, but {why}"
    assert second.startswith("in ")
    assert "%ILLEGAL_MOVE" in (result.record or "")


def test_a_trial_ends_the_game_by_the_move_itself() -> None:
    result, _, _ = shogi(["5b5a"], [], "9/4K4/9/9/9/9/9/9/k8 b - 1", entering_king="trial")
    assert (result.winner, result.reason, result.score) == (0, "trial", "1-0")


def test_fourfold_repetition_draws() -> None:
    result, _, _ = shogi(["2h3h", "3h2h"] * 3, ["8b7b", "7b8b"] * 3)
    assert (result.outcome, result.reason, result.score) == ("draw", "repetition", "1/2-1/2")
    assert result.plies == 12


def test_perpetual_check_loses() -> None:
    moves = CHECKING.split() * 3
    result, _, _ = shogi(list(moves[1::2]), list(moves[::2]), SHUFFLE)
    assert (result.outcome, result.winner, result.reason) == ("win", 1, "perpetual check")
    assert read(result).result.is_white_win()


@pytest.mark.parametrize("move", ["P*5e", "7g7e", "p*5e", "(none)", "2b3a", ""])
def test_an_illegal_move_forfeits_and_is_quoted(move: str) -> None:
    result, _, _ = shogi([move], [])
    assert (result.winner, result.reason, result.forfeit) == (1, "illegal move", True)
    assert repr(move) in result.detail


def test_moves_of_the_opening_are_played_first_and_recorded() -> None:
    opening = Opening(None, ("7g7f", "3c3d", "8h2b+"), "book:1")
    result, _, white = shogi(["resign"], ["3a2b"], opening=opening)
    assert len(white.requests) == 1
    assert result.plies == 1
    moves = [move.move.to_usi() for move in read(result).moves]
    assert moves == ["7g7f", "3c3d", "8h2b+", "3a2b"]
    assert (result.record or "").count("'*book") == 3


def test_a_record_in_kif_is_a_kifu_file() -> None:
    result, _, _ = shogi(["7g7f", "resign"], ["3c3d"], record_format="kif")
    assert result.record_suffix == "kifu"
    assert result.record is not None
    assert Record.from_kif_str(result.record).result.is_white_win()


def clocked(code: str, text: str) -> Player:
    return Player(code, ("x",), protocol="usi", time_control=TimeControl.parse(text))


def test_increment_goes_to_players_with_one_and_not_with_byo_yomi_alone() -> None:
    players = clocked("b", "10+1+5byo"), clocked("w", "20+3byo")
    engines = Scripted(players[0], ["7g7f", "resign"]), Scripted(players[1], ["3c3d"])
    GameRunner(job(*players, game="shogi"), engines).play()
    clocks = [[(a.clock_ms, a.increment_ms, a.byoyomi_ms) for a in e.requests] for e in engines]
    assert clocks == [
        [((10000, 20000), (1000, 0), 5000), ((10999, 19999), (1000, 0), 5000)],
        [((10999, 20000), (0, 0), 3000)],
    ]
