"""Each flag of fault_gtp.py does what it says, and its Go is legal."""

from __future__ import annotations

import signal
import time

import pytest
from sgfmill import boards, common

from tests.engines_selftest.driver import Driver, milliseconds

PROGRAM = "fault_gtp.py"


def ask(engine: Driver, command: str) -> str:
    return engine.ask(command, until=b"\n\n")


def begin(engine: Driver, size: int, komi: float = 0.0) -> None:
    for command in (f"boardsize {size}", "clear_board", f"komi {komi}"):
        assert ask(engine, command) == "= "


@pytest.mark.parametrize(("size", "score"), [(2, "0"), (5, "B+5"), (9, "B+9"), (19, "B+19")])
def test_a_game_against_itself_is_legal_and_has_a_score(size: int, score: str) -> None:
    with Driver(PROGRAM) as black, Driver(PROGRAM) as white:
        begin(black, size)
        begin(white, size)
        board = boards.Board(size)
        passes, turn = 0, 0
        while passes < 2:
            mover, other, colour = ((black, white, "b"), (white, black, "w"))[turn % 2]
            move = ask(mover, f"genmove {colour}").removeprefix("= ")
            assert ask(other, f"play {colour} {move}") == "= "
            passes = passes + 1 if move == "pass" else 0
            if move != "pass":
                row, column = common.move_from_vertex(move, size)
                board.play(row, column, colour)
            turn += 1
        assert ask(black, "final_score") == ask(white, "final_score") == f"= {score}"
        assert board.area_score() == int(score.removeprefix("B+"))
        ask(black, "komi 100.5")
        assert ask(black, "final_score").startswith("= W+")


def test_it_follows_the_rules_of_go() -> None:
    with Driver(PROGRAM) as engine:
        begin(engine, 5)
        for move in ("b A2", "b B1", "w B2", "w C1"):
            assert ask(engine, f"play {move}") == "= "
        assert ask(engine, "play w C1") == "? illegal move: occupied"
        # White captures B1 and is not dead in the corner
        assert ask(engine, "play w A1") == "= "
        assert ask(engine, "play w A3") == "= "
        assert ask(engine, "play w E5") == "= "
        for move in ("b D5", "b E4", "b D4"):
            assert ask(engine, f"play {move}") == "= "
        assert ask(engine, "play w E5") == "? illegal move: suicide"
        assert ask(engine, "play b F1").startswith("? invalid vertex")
        assert ask(engine, "play b I1").startswith("? ")


def test_a_ko_is_not_taken_back_at_once() -> None:
    with Driver(PROGRAM) as engine:
        begin(engine, 5)
        for move in ("b B1", "b A2", "b B3", "w C1", "w D2", "w C3", "b C2", "w B2"):
            assert ask(engine, f"play {move}") == "= "
        assert ask(engine, "play b C2") == "? illegal move: ko"
        assert ask(engine, "play b E5") == "= "
        assert ask(engine, "play w E4") == "= "
        assert ask(engine, "play b C2") == "= "


def test_handicap_stones_are_where_gtp_has_them() -> None:
    with Driver(PROGRAM) as engine:
        begin(engine, 19)
        assert ask(engine, "fixed_handicap 5") == "= D4 Q16 D16 Q4 K10"
        assert ask(engine, "fixed_handicap 2") == "? board not empty"
        begin(engine, 9)
        assert ask(engine, "fixed_handicap 10") == "? invalid number of stones"
        assert ask(engine, "set_free_handicap C3 G7") == "= "
        assert len(ask(engine, "place_free_handicap 3").split()) == 4


def test_commands_are_listed_unless_they_are_left_out() -> None:
    with Driver(PROGRAM, "--no-command", "komi", "--no-command=name") as engine:
        listed = ask(engine, "list_commands").split()
        assert "genmove" in listed
        assert "komi" not in listed
        assert ask(engine, "komi 7.5") == "? unknown command"
        assert ask(engine, "known_command name") == "= false"
        assert ask(engine, "known_command play") == "= true"


def test_ids_are_given_back() -> None:
    with Driver(PROGRAM) as engine:
        assert ask(engine, "17 name # with a comment") == "=17 Filler"
        assert ask(engine, "18 nonsense") == "?18 unknown command"


def test_a_command_fails_with_its_message() -> None:
    with Driver(PROGRAM, "--fail", "komi", "--fail", "genmove:no idea: none") as engine:
        assert ask(engine, "komi 7.5") == "? cannot do that"
        assert ask(engine, "genmove b") == "? no idea: none"
        assert ask(engine, "genmove b") == "? no idea: none"


def test_the_score_is_given_word_for_word() -> None:
    with Driver(PROGRAM, "--final-score", "W+12.5 or so") as engine:
        assert ask(engine, "final_score") == "= W+12.5 or so"


def test_a_win_is_claimed_only_where_it_may_be() -> None:
    with Driver(PROGRAM, "--claim") as engine:
        assert ask(engine, "genmove b") == "= B1"
        assert ask(engine, "gomill-genmove_ex b") == "= C1"
        assert ask(engine, "gomill-genmove_ex b claim") == "= claim"
    with Driver(PROGRAM, "--claim", "2") as engine:
        assert ask(engine, "gomill-genmove_ex b claim") == "= B1"
        assert ask(engine, "gomill-genmove_ex b claim") == "= claim"


def test_it_resigns_at_the_move_it_is_told() -> None:
    with Driver(PROGRAM, "--resign-at", "2") as engine:
        assert [ask(engine, "genmove b") for _ in range(3)] == ["= B1", "= resign", "= C1"]


def test_a_response_without_its_blank_line_is_not_ended() -> None:
    with Driver(PROGRAM, "--missing-blank-line") as engine:
        assert engine.ask("name") == "= Filler"
        assert engine.is_silent()


def test_extra_output_comes_before_a_response() -> None:
    with Driver(PROGRAM, "--extra-output") as engine:
        assert ask(engine, "name") == "Thinking about it ...\n= Filler"


def test_ids_do_not_match() -> None:
    with Driver(PROGRAM, "--id-mismatch") as engine:
        assert ask(engine, "name") == "=7 Filler"
        assert ask(engine, "17 name") == "=18 Filler"


def test_tabs_and_control_characters_stand_in_responses() -> None:
    with Driver(PROGRAM, "--tabs") as engine:
        assert ask(engine, "genmove b") == "=\tB1\t\x07"


def test_illegal_moves_are_illegal() -> None:
    with Driver(PROGRAM, "--illegal-move", "1") as engine:
        assert ask(engine, "genmove b") == "= Z99"
    with Driver(PROGRAM, "--illegal-move", "2") as engine:
        first = ask(engine, "genmove b")
        assert ask(engine, "genmove w") == first


def test_a_move_is_given_word_for_word() -> None:
    with Driver(PROGRAM, "--bestmove", "D4 or E5?") as engine:
        assert ask(engine, "genmove b") == "= D4 or E5?"


def test_extensions_answer() -> None:
    with Driver(PROGRAM, "--cpu-time", "12.5") as engine:
        assert ask(engine, "gomill-cpu_time") == "= 12.5"
        assert ask(engine, "gomill-genmove_ex") == "= claim"
        assert ask(engine, "gomill-describe_engine").startswith("= Filler\n")
        assert ask(engine, "gomill-explain_last_move") == "= move 0 of a fixed order"
    with Driver(PROGRAM) as engine:
        assert ask(engine, "gomill-cpu_time") == "? unknown command"


def test_overstep_answers_after_the_time_left() -> None:
    with Driver(PROGRAM, "--overstep", "100") as engine:
        assert ask(engine, "time_left w 0.1 0") == "= "
        started = time.monotonic()
        assert ask(engine, "genmove w").startswith("= ")
        assert milliseconds(started) >= 200


def test_common_faults_strike_here_too() -> None:
    with Driver(PROGRAM, "--crash-on", "genmove:2") as engine:
        assert ask(engine, "genmove b") == "= B1"
        engine.send("genmove w")
        assert engine.rest() == b""
        assert engine.status() == 1
    with Driver(PROGRAM, "--garbage-on", "boardsize") as engine:
        assert b"\x00" in engine.ask("boardsize 9", until=b"D4\n").encode()
    with Driver(PROGRAM, "--flood-on", "genmove") as engine:
        engine.send("genmove b")
        assert engine.chunk().startswith(b"still here")
    with Driver(PROGRAM, "--close-stdout") as engine:
        ask(engine, "name")
        engine.send("genmove b")
        assert engine.rest() == b""
        assert engine.is_alive()
    with Driver(PROGRAM, "--no-newline") as engine:
        engine.send("genmove b")
        engine.read(b"= B1")
        assert engine.is_silent()
    with Driver(PROGRAM, "--windows-newlines") as engine:
        assert engine.ask("genmove b\r", until=b"\r\n\r\n") == "= B1"
    with Driver(PROGRAM, "--long-line", "70000") as engine:
        assert len(ask(engine, "genmove b").splitlines()[1]) == 70000
    with Driver(PROGRAM, "--bad-utf8") as engine:
        engine.send("name")
        assert b"\xff" in engine.read(b"\n\n")


def test_quit_is_answered_before_it_ends() -> None:
    with Driver(PROGRAM) as engine:
        engine.send("quit", "name")
        assert engine.rest() == b"= \n\n"
        assert engine.status() == 0
    with Driver(PROGRAM, "--ignore-quit") as engine:
        assert ask(engine, "quit") == "= "
        assert ask(engine, "name") == "= Filler"
        engine.process.terminate()
        assert engine.status() == -signal.SIGTERM


def test_further_commands_are_known_and_answered() -> None:
    with Driver(PROGRAM, "--also", "level", "--also", "mood:fine: thanks") as engine:
        assert ask(engine, "known_command level") == "= true"
        assert ask(engine, "level 3") == "= "
        assert ask(engine, "mood") == "= fine: thanks"


def test_clearing_the_board_is_moving_on_in_the_same_order() -> None:
    with Driver(PROGRAM) as engine:
        begin(engine, 5)
        assert ask(engine, "genmove b") == "= B1"
        assert ask(engine, "kgs-genmove_cleanup b") == "= C1"
        assert ask(engine, "kgs-time_settings byoyomi 60 30 5") == "= "
