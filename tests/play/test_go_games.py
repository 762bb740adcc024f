"""Games of Go with scripted engines: clocks, rules, scoring, failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sgfmill import sgf

from ringmaster.errors import EngineCrashed, EngineRefused, EngineTimeout
from ringmaster.model.go_rules import Rules
from ringmaster.model.players import Player
from ringmaster.model.results import GameResult
from ringmaster.model.time_control import TimeControl
from ringmaster.play.game_runner import GameRunner
from tests.play.scripted import Act, ScriptedGo, job

Answers = Mapping[str, str | Exception]


def player(code: str, time_control: str | None = None, **more: Any) -> Player:
    control = None if time_control is None else TimeControl.parse(time_control)
    return Player(code, ("x",), time_control=control, **more)


X, Y = player("x"), player("y")
TERRITORY = Rules(scoring="territory", compensation="no")


def go(
    black: list[Act],
    white: list[Act],
    answers: tuple[Answers, Answers] = ({}, {}),
    players: tuple[Player, Player] = (X, Y),
    **rules: Any,
) -> tuple[GameResult, ScriptedGo, ScriptedGo]:
    engines = ScriptedGo(players[0], black, answers[0]), ScriptedGo(players[1], white, answers[1])
    return GameRunner(job(*players, game="go", **rules), engines).play(), *engines


def record(result: GameResult) -> sgf.Sgf_game:
    assert result.record is not None
    return sgf.Sgf_game.from_bytes(result.record.encode())


def root_comment(result: GameResult) -> str:
    return str(record(result).get_root().get("C"))


# clocks


def test_both_clocks_are_sent_to_the_mover_before_each_move() -> None:
    players = player("x", "10+5x30"), player("y", "20+3/60")
    result, black, white = go(
        [("E5", 9_500), ("F5", 31_000), "pass"],
        [("E6", 20_001), ("F6", 59_000), "pass"],
        players=players,
    )
    assert [limits.time_left for limits in black.sent_times] == [
        ((10, 0), (20, 0)),
        # Overtime replaces half a second of base time.
        ((30, 5), (59.999, 2)),
        ((30, 4), (0.999, 1)),
    ]
    assert [limits.time_left for limits in white.sent_times] == [
        ((30, 5), (20, 0)),
        ((30, 4), (59.999, 2)),
        ((30, 4), (0.999, 1)),
    ]
    assert black.requests[0].seconds == pytest.approx(160.05)
    nodes = record(result).get_main_sequence()
    assert [(n.get("BL"), n.has_property("OB")) for n in nodes[1::2]] == [
        (0.5, False),
        (30, True),
        (30, True),
    ]
    assert [(n.get("WL"), n.get("OW")) for n in nodes[2::2]] == [
        (59.999, 2),
        (0.999, 1),
        (60, 3),
    ]
    assert "Black time control: 10+5x30" in root_comment(result)
    # two clocks of different kinds have no place in TM and OT
    assert not record(result).get_root().has_property("TM")


@pytest.mark.parametrize(
    ("text", "spent"), [("10", 10_051), ("0+5x30", 150_051), ("10+25/300", 310_051)]
)
def test_time_used_up_loses_the_game(text: str, spent: int) -> None:
    result, _, _ = go(["E5"], [("E6", spent)], players=(X, player("y", text)))
    assert (result.winner, result.reason, result.score) == (0, "time", "B+T")
    assert result.forfeit
    assert f"y used {spent / 1000:.3f} s with {(spent - 51) / 1000:.3f} s left" in result.detail
    result, _, _ = go(["E5", "pass"], [("E6", spent - 1), "pass"], players=(X, player("y", text)))
    assert result.reason == "score"


def test_silence_on_a_clock_is_a_loss_on_time_and_without_one_void() -> None:
    silence = EngineTimeout("no answer to 'genmove w'", "y")
    result, _, white = go(["E5"], [silence], players=(X, player("y", "0+5x30")))
    assert (result.score, result.reason) == ("B+T", "time")
    assert white.requests[0].seconds == pytest.approx(150.05)
    result, _, _ = go(["E5"], [silence], players=(player("x", "10"), Y))
    assert (result.outcome, result.reason, result.faulty) == ("void", "hang", 1)


def test_move_time_is_sent_and_enforced_over_gtp() -> None:
    quick = player("y", move_time=2.0)
    result, _, white = go(["E5"], [("E6", 2_051)], players=(X, quick))
    assert (result.score, result.reason) == ("B+T", "time")
    assert white.sent_times[0].time_left == (None, (2, 1))


def test_side_without_a_clock_is_none() -> None:
    _, black, white = go(["pass"], ["pass"], players=(X, player("y", "10")))
    assert black.sent_times[0].time_left == (None, (10, 0))
    assert white.sent_times[0].time_left == (None, (10, 0))
    _, black, _ = go(["pass"], ["pass"])
    assert black.sent_times == []


# superko and self-capture


@pytest.mark.parametrize(("rule", "plies"), [("simple", 8), ("positional", 3), ("situational", 5)])
def test_superko_is_enforced_by_the_referee(rule: Any, plies: int) -> None:
    # White captures a stone of its own twice, which leaves the board as it was: the second time
    # with the same side to move
    black: list[Act] = ["A2", "B1", "pass", "pass"]
    white: list[Act] = ["E5", "A1", "A1", "pass"]
    result, _, _ = go(black, white, rules=Rules(ko=rule), scorer="internal")
    assert result.plies == plies
    if rule == "simple":
        assert result.reason == "score"
    else:
        assert (result.reason, result.score) == ("illegal move", "B+F")
        assert f"{rule} superko" in result.detail


def test_self_capture_is_allowed_unless_forbidden() -> None:
    black: list[Act] = ["A2", "B1", "pass"]
    white: list[Act] = ["E5", "A1", "pass"]
    assert go(black, white)[0].reason == "score"
    result, _, _ = go(black, white, rules=Rules(suicide=False))
    assert (result.reason, result.score) == ("illegal move", "B+F")
    assert "self-capture" in result.detail


# scoring


def test_ringmaster_scores_by_territory() -> None:
    black: list[Act] = ["A2", "B1", "C3", "pass"]
    white: list[Act] = ["A1", "pass", "pass"]
    result, _, _ = go(black, white, scorer="internal", rules=TERRITORY, komi=0.5)
    # 81 - 3 points, and a prisoner
    assert result.score == "B+78.5"
    assert go(black, white, scorer="internal", komi=0.5)[0].score == "B+80.5"


@pytest.mark.parametrize("size", [2, 7, 25])
@pytest.mark.parametrize("scorer", ["internal", "players"])
def test_all_board_sizes_are_played_and_scored(size: int, scorer: str) -> None:
    last = "ABCDEFGHJKLMNOPQRSTUVWXYZ"[size - 1] + str(size)
    gtp_answers = f"B+{size * size - 0.5}"
    result, _, white = go(
        [last, "pass"],
        ["pass"],
        ({"final_score": gtp_answers}, {"final_score": gtp_answers}),
        board_size=size,
        komi=0.5,
        scorer=scorer,
    )
    assert result.score == gtp_answers
    assert white.observed[0] == (0, last, False)
    assert record(result).get_main_sequence()[1].get_move() == ("b", (size - 1, size - 1))


@pytest.mark.parametrize(
    ("black", "white", "score", "noted"),
    [
        ("B+3.5", "B+3.5", "B+3.5", False),
        ("b+3.5", "B+3.50", "B+3.5", False),
        ("B+3.5", None, "B+3.5", False),
        (None, None, "?", False),
        ("0", "Jigo", "0", False),
        ("B+3.5", "B+5.5", "B+", True),
        ("B+3.5", "W+5.5", "?", True),
        ("W+Resign", None, "W+", True),
        ("W+", "W+7", "W+", True),
        ("no idea", "W+7", "W+7", True),
        (EngineTimeout("no answer to 'final_score' in 60 s", "x"), "W+7", "W+7", True),
        (EngineCrashed("it exited", "x"), "0", "0", True),
        ("B+1e5", None, "B+", True),
        ("", None, "?", True),
    ],
)
def test_answers_of_the_scorers_are_noted_when_they_say_more_than_the_result(
    black: str | Exception | None, white: str | None, score: str, noted: bool
) -> None:
    answers: tuple[Answers, Answers] = (
        {} if black is None else {"final_score": black},
        {} if white is None else {"final_score": white},
    )
    result, _, _ = go(["pass"], ["pass"], answers)
    assert result.score == score
    comment = root_comment(result)
    assert ("x final_score" in comment or "x could not score" in comment) == noted
    assert ("y final_score" in comment) == (noted and white is not None)


@given(st.text(max_size=12) | st.from_regex(r"[BWbw]\+[0-9.]{0,6}", fullmatch=True))
@settings(deadline=None, max_examples=30)
def test_no_answer_to_final_score_breaks_a_game(text: str) -> None:
    result, _, _ = go(["pass"], ["pass"], ({"final_score": text}, {}))
    assert result.outcome in ("win", "draw", "unknown")
    record(result)


# After the result

GONE = EngineCrashed("it exited", "x")


def test_engine_that_fails_at_its_comment_on_the_last_pass_does_not_void_the_game() -> None:
    gtp_answers: Answers = {"gomill-explain_last_move": GONE}
    result, _, _ = go(["pass"], ["pass"], ({}, {**gtp_answers, "final_score": "B+1"}))
    assert (result.outcome, result.score) == ("win", "B+1")
    result, _, _ = go(["pass"], ["pass"], (gtp_answers, {"final_score": "B+1"}))
    assert (result.outcome, result.reason) == ("void", "crash")


def test_engine_that_fails_after_the_last_move_does_not_void_a_game_at_its_limit() -> None:
    engines = ScriptedGo(X, ["E5", "E6"]), ScriptedGo(Y, ["D5"])
    engines[1].answers["gomill-explain_last_move"] = "fine"
    playing = GameRunner(job(X, Y, game="go", move_limit=2), engines)
    engines[0].observe_error = GONE
    result = playing.play()
    assert (result.outcome, result.reason, result.score) == ("unknown", "move limit", "Void")


def test_dead_engine_gets_no_request_for_the_score() -> None:
    class Leaver(ScriptedGo):
        def think(self, *arguments: Any) -> Any:
            self.alive = False
            return super().think(*arguments)

    engines = (
        ScriptedGo(X, ["pass"], {"final_score": "B+2"}),
        Leaver(Y, ["pass"], {"final_score": "W+9"}),
    )
    result = GameRunner(job(X, Y, game="go"), engines).play()
    assert result.score == "B+2"
    assert ("final_score",) not in engines[1].commands
    assert "y could not score" in root_comment(result)


@pytest.mark.parametrize(
    ("black", "noted"),
    [
        (["resign"], True),
        (["claim"], True),
        (["D4 or E5?"], True),
        ([EngineRefused("out of memory", "x")], True),
        ([("E5", 99_000)], False),
    ],
)
def test_last_words_of_the_engine_that_ended_the_game_are_in_the_record(
    black: list[Act], noted: bool
) -> None:
    gtp_answers: Answers = {"gomill-explain_last_move": "I see nothing\nfür mich"}
    result, _, _ = go(black, [], (gtp_answers, {}), (player("x", "10"), Y))
    assert ("final message from x: I see nothing\nfür mich" in root_comment(result)) == noted


@pytest.mark.parametrize("answer", ["D4 or E5?", "", "nothing", "Z99"])
def test_answer_that_is_no_move_forfeits(answer: str) -> None:
    result, _, _ = go([answer], [])
    assert (result.winner, result.reason, result.forfeit) == (1, "illegal move", True)


# usage


def test_cpu_time_is_a_difference_of_one_counter() -> None:
    engines = ScriptedGo(X, ["pass"]), ScriptedGo(Y, ["pass"])
    for engine in engines:
        engine.alive, engine.launches = True, 1
    engines[0].cpu_times = [100.0, 102.5]
    # a counter that is set back with the board
    engines[1].cpu_times = [100.0, 1.5]
    result = GameRunner(job(X, Y, game="go"), engines).play()
    assert [used.cpu_time for used in result.usage] == [2.5, 1.5]


def test_own_and_system_cpu_time_are_never_mixed() -> None:
    engines = ScriptedGo(X, ["resign"]), ScriptedGo(Y, [])
    engines[0].alive, engines[0].launches = True, 1
    # It reports its CPU time before the game only.
    engines[0].cpu_times = [0.25]
    result = GameRunner(job(X, Y, game="go"), engines).play()
    assert result.usage[0].cpu_time == 0
    assert result.usage[1].cpu_time == 1.5


def test_all_cpu_time_of_a_new_process_belongs_to_the_game() -> None:
    engines = ScriptedGo(X, ["resign"]), ScriptedGo(Y, [])
    engines[0].cpu_times = [7.5]
    result = GameRunner(job(X, Y, game="go"), engines).play()
    assert [used.cpu_time for used in result.usage] == [7.5, 1.5]


# handicap and endings


def test_unreliable_scorer_gets_no_request() -> None:
    players = X, Player("y", ("y",), is_reliable_scorer=False)
    result, _, white = go(
        ["pass"], ["pass"], ({"final_score": "B+1"}, {"final_score": "W+1"}), players
    )
    assert result.score == "B+1"
    assert ("final_score",) not in white.commands


@pytest.mark.parametrize(("rule", "score"), [("no", "B+75"), ("full", "B+73"), ("short", "B+74")])
def test_handicap_is_compensated(rule: str, score: str) -> None:
    stones = {"fixed_handicap": "C3 G7"}
    result, _, _ = go(
        ["pass"], ["pass"], (stones, stones), handicap=2, komi=6, scorer="internal",
        rules=Rules(compensation=rule),
    )  # fmt: skip
    assert result.score == score
    assert result.record is not None
    assert "HA[2]" in result.record


def test_white_moves_first_in_a_handicap_game() -> None:
    stones = {"fixed_handicap": "C3 G7"}
    _, black, white = go(["pass"], ["pass"], (stones, stones), handicap=2)
    assert black.observed[0] == (1, "pass", False)
    assert white.observed[0] == (1, "pass", True)


def test_black_chooses_free_handicap_and_white_learns_it() -> None:
    _, _, white = go(
        ["pass"], ["pass"], ({"place_free_handicap": "D4 E5"}, {"set_free_handicap": ""}),
        handicap=2, handicap_style="free",
    )  # fmt: skip
    assert ("set_free_handicap", "D4", "E5") in white.commands


@pytest.mark.parametrize("stones", ["D4 E5", "D4 E5 E5", "D4 E5 F6 G7"])
def test_another_number_of_free_handicap_stones_makes_the_game_void(stones: str) -> None:
    placed = {"place_free_handicap": stones}, {"set_free_handicap": ""}
    result, _, _ = go([], [], placed, handicap=3, handicap_style="free")
    assert (result.outcome, result.reason, result.faulty) == ("void", "protocol", 0)
    assert f"asked for 3 handicap stones, it placed '{stones}'" in result.detail


def test_handicap_on_other_points_makes_the_game_void() -> None:
    result, _, _ = go(
        ["pass"], ["pass"], ({"fixed_handicap": "C3 G7"}, {"fixed_handicap": "A1 A2"}), handicap=2
    )
    assert (result.outcome, result.reason, result.faulty) == ("void", "protocol", 1)


def test_resignation_is_no_forfeit() -> None:
    result, _, _ = go(["resign"], [])
    assert (result.winner, result.score, result.forfeit) == (1, "W+R", False)


def test_occupied_point_forfeits() -> None:
    result, _, _ = go(["E5"], ["E5"])
    assert (result.winner, result.score, result.reason) == (0, "B+F", "illegal move")


@pytest.mark.parametrize(
    ("error", "winner", "reason"), [("illegal move", 1, "illegal move"), ("busy", 0, "refused")]
)
def test_opponent_is_believed_when_it_calls_a_move_illegal(
    error: str, winner: int, reason: str
) -> None:
    engines = ScriptedGo(X, ["E5"]), ScriptedGo(Y, [])
    engines[1].observe_error = EngineRefused(error, "y")
    result = GameRunner(job(X, Y, game="go"), engines).play()
    assert (result.winner, result.reason, result.forfeit) == (winner, reason, True)


def test_claim_wins() -> None:
    result, _, _ = go(["claim"], [])
    assert (result.winner, result.reason, result.score) == (0, "claim", "B+")
