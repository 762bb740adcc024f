"""The game loop with scripted engines: endings, faults, clocks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ringmaster.engines.engine import Limits, Thought
from ringmaster.errors import (
    EngineCrashed,
    EngineProtocolError,
    EngineTimeout,
    JobAbandoned,
)
from ringmaster.model.jobs import Opening
from ringmaster.model.players import Player
from ringmaster.model.results import GameResult
from ringmaster.model.time_control import TimeControl
from ringmaster.play.game_runner import GameRunner
from tests.play.scripted import MS, Act, Scripted, chess_player, job

WHITE, BLACK = chess_player("w"), chess_player("b")


def chess(
    white: list[Act], black: list[Act], players: tuple[Player, Player] = (WHITE, BLACK), **s: Any
) -> tuple[GameResult, Scripted, Scripted]:
    engines = Scripted(players[0], white), Scripted(players[1], black)
    return GameRunner(job(*players, **s), engines).play(), *engines


def test_mate_wins() -> None:
    result, white, black = chess(["f2f3", "g2g4"], ["e7e5", "d8h4"])
    assert (result.outcome, result.winner, result.reason, result.score) == ("win", 1, "mate", "0-1")
    assert (result.forfeit, result.plies) == (False, 4)
    assert white.observed == [
        (0, "f2f3", True),
        (1, "e7e5", False),
        (0, "g2g4", True),
        (1, "d8h4", False),
    ]
    assert [(colour, move) for colour, move, _ in black.observed] == [
        (colour, move) for colour, move, _ in white.observed
    ]
    assert result.record is not None
    assert "Qh4#" in result.record


def test_games_have_one_fingerprint_if_players_start_and_moves_are_the_same() -> None:
    def fingerprint(white: list[Act], black: list[Act], *codes: str, **settings: Any) -> int | None:
        first, second = (chess_player(code) for code in codes or "wb")
        return chess(white, black, (first, second), move_limit=2, **settings)[0].fingerprint

    same = fingerprint(["e2e4"], ["e7e5"])
    assert same is not None
    assert fingerprint(["e2e4"], ["e7e5"]) == same
    others = [
        fingerprint(["e2e4"], ["d7d5"]),
        fingerprint(["e2e4"], ["e7e5"], "b", "w"),
        fingerprint(["e2e4"], ["e7e5"], "w", "w#2"),
        fingerprint(["e2e4"], [EngineCrashed("it exited", "b")], failures="loss"),
    ]
    assert len({same, *others}) == 5
    assert fingerprint(["e2e4"], [EngineCrashed("it exited", "b")]) is None, "a void game"
    # both selves of a player are one engine
    assert fingerprint(["e2e4"], ["e7e5"], "w", "w#2") == fingerprint(
        ["e2e4"], ["e7e5"], "w#2", "w"
    )


def test_fingerprint_differs_by_opening_and_series() -> None:
    def fingerprint(**changes: Any) -> int | None:
        engines = Scripted(WHITE, ["e2e4"]), Scripted(BLACK, ["e7e5"])
        one = msgspec.structs.replace(job(WHITE, BLACK, move_limit=2), **changes)
        return GameRunner(one, engines).play().fingerprint

    start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1"
    match = [fingerprint(), fingerprint(series="1"), fingerprint(opening=Opening(fen=start))]
    assert len(set(match)) == 3


@pytest.mark.parametrize("move", ["e2e5", "(none)", "0000", "", "e7e8k", "e2e4 "])
def test_illegal_move_forfeits_and_is_quoted(move: str) -> None:
    result, _, _ = chess([move], [])
    assert (result.winner, result.reason, result.forfeit, result.faulty) == (
        1,
        "illegal move",
        True,
        0,
    )
    assert repr(move) in result.detail
    assert "rnbqkbnr/pppppppp" in result.detail


class Paused(Scripted):
    """Thinks while the referee does not run for 5 s."""

    def think(self, colour: int, limits: Limits) -> Thought:
        self.stand_in.stood_still = 5000 * MS
        return super().think(colour, limits)


def paused(act: Act, **limits: Any) -> GameResult:
    player = chess_player("b", **limits)
    engines = Scripted(WHITE, ["e2e4"]), Paused(player, [act])
    return GameRunner(job(WHITE, player, move_limit=2), engines).play()


@pytest.mark.parametrize("act", ["e7e5", "resign", EngineTimeout("no answer", "b")])
@pytest.mark.parametrize(
    "limits", [{"time_control": TimeControl.parse("10+0.1")}, {"move_time": 1.0}]
)
def test_game_is_void_if_the_referee_stood_still_during_a_timed_move(
    act: Act, limits: dict[str, Any]
) -> None:
    result = paused(act, **limits)
    assert (result.outcome, result.reason, result.faulty) == ("void", "standstill", None)
    assert result.detail == (
        "the computer or the worker stood still for at least 5.0 s while b was thinking: "
        "its clock is wrong"
    )
    assert result.fingerprint is None


@pytest.mark.parametrize("limits", [{}, {"time_control": TimeControl.parse("500+1")}])
def test_game_without_a_clock_or_with_a_long_one_goes_on_after_a_pause(
    limits: dict[str, Any],
) -> None:
    result = paused("e7e5", **limits)
    assert (result.outcome, result.reason, result.usage[1].thinking) == (
        "draw",
        "move limit",
        0.001,
    )
    assert result.stderr[0] == (
        "ringmaster",
        "the computer or the worker stood still for at least 5.0 s while b was thinking; "
        "this time is not charged",
    )


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (EngineCrashed("it exited with status 1", "b"), "crash"),
        (EngineTimeout("no answer", "b"), "hang"),
        (EngineProtocolError("a line too long", "b"), "protocol"),
    ],
)
def test_software_failure_makes_the_game_void_or_loses_it_with_reason_and_last_words(
    error: Exception, reason: str
) -> None:
    result, _, _ = chess(["e2e4"], [error])
    assert (result.outcome, result.winner, result.reason) == ("void", None, reason)
    assert (result.faulty, result.score) == (1, "*")
    assert str(error) in result.detail
    assert "last words" in result.detail
    assert result.record is not None
    # the same where the settings count failures
    result, _, _ = chess(["e2e4"], [error], failures="loss")
    assert (result.outcome, result.winner, result.reason) == ("win", 0, reason)
    assert (result.forfeit, result.faulty, result.score) == (True, 1, "1-0")
    assert str(error) in result.detail


def test_an_abandoned_job_has_no_result() -> None:
    with pytest.raises(JobAbandoned):
        chess([JobAbandoned("stop")], [])


def timed(code: str, text: str = "10+1") -> Player:
    return chess_player(code, nodes=None, time_control=TimeControl.parse(text))


def test_clocks_of_both_sides_are_sent_and_run() -> None:
    players = timed("w"), timed("b", "40/20")
    _, white, black = chess([("f2f3", 3000), ("g2g4", 1)], [("e7e5", 500), ("d8h4", 1)], players)
    assert [(a.clock_ms, a.increment_ms, a.moves_to_go) for a in white.requests] == [
        ((10000, 20000), (1000, 0), 0),
        ((8000, 19500), (1000, 0), 0),
    ]
    assert [(a.clock_ms, a.moves_to_go) for a in black.requests] == [
        ((8000, 20000), 40),
        ((8999, 19500), 39),
    ]
    assert [a.seconds for a in white.requests] == [pytest.approx(10.05), pytest.approx(8.05)]


def test_late_move_loses_on_time_even_if_it_mates() -> None:
    players = timed("w"), timed("b")
    result, _, _ = chess(["f2f3", "g2g4"], ["e7e5", ("d8h4", 11100)], players)
    assert (result.winner, result.reason, result.forfeit) == (0, "time", True)
    assert "b used 11.100 s with 10.999 s left" in result.detail
    assert result.usage[1].slowest == pytest.approx(11.1)


def test_silence_after_stop_is_a_stall() -> None:
    players = timed("w"), timed("b")
    engines = Scripted(players[0], ["e2e4"]), Scripted(players[1], [EngineTimeout("none", "b")])
    engines[1].stops_in = None
    result = GameRunner(job(*players), engines).play()
    assert (result.outcome, result.winner, result.reason, result.forfeit) == (
        "win",
        0,
        "stall",
        True,
    )
    assert "b: none, and none to 'stop' in 1 s more" in result.detail
    assert result.record is not None
    assert "stalling" in result.record


@pytest.mark.parametrize(
    ("white", "black", "outcomes"),
    [
        (["f2f3", "g2g4"], ["e7e5", "d8h4"], ("lose", "win")),
        (["g1f3", "f3g1"] * 2, ["g8f6", "f6g8"] * 2, ("draw", "draw")),
        (["e2e4"], ["resign"], ("win", "lose")),
        (["e2e4"], ["e7e6", EngineCrashed("gone", "b")], ()),
    ],
)
def test_both_engines_learn_the_outcome_unless_the_game_is_void(
    white: list[Act], black: list[Act], outcomes: tuple[str, ...]
) -> None:
    if not outcomes:
        white = [*white, "d2d4"]
    _, one, other = chess(white, black)
    assert (*one.told_outcomes, *other.told_outcomes) == outcomes


def test_silence_within_a_move_time_is_a_loss_on_time() -> None:
    players = WHITE, chess_player("b", nodes=None, move_time=0.1)
    result, _, _ = chess(["e2e4"], [EngineTimeout("no answer", "b")], players)
    assert (result.winner, result.reason) == (0, "time")


def test_black_moves_first_from_a_position_where_it_is_to_move() -> None:
    opening = Opening("rnbqkbnr/pppppppp/8/8/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq - 0 1")
    result, white, _ = chess(["a2a3"], ["e7e5", "d8h4"], opening=opening)
    assert (result.winner, result.reason) == (1, "mate")
    assert white.observed[0] == (1, "e7e5", False)


def test_standard_error_comes_back_with_the_players_code() -> None:
    result, _, _ = chess(["f2f3", "g2g4"], ["e7e5", "d8h4"])
    assert result.stderr == (("w", "a line of standard error"), ("b", "a line of standard error"))
