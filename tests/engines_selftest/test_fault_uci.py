"""Each flag of fault_uci.py does what it says."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.engines_selftest.driver import DEADLINE, Driver, milliseconds

PROGRAM = "fault_uci.py"
START = "position startpos"


def test_without_flags_it_is_honest() -> None:
    with Driver(PROGRAM) as engine:
        assert engine.ask("uci", until=b"uciok\n").startswith("id name Instant")
        assert engine.ask("isready") == "readyok"
        assert engine.ask("ucinewgame", START, "go") == "bestmove e2e4"
        engine.send("unheard-of", "stop", "ponderhit")
        assert engine.ask("isready") == "readyok"
        engine.send("quit")
        assert engine.rest() == b""
        assert engine.status() == 0


@pytest.mark.parametrize("command", ["uci", "isready", "ucinewgame", "position", "go"])
def test_crash_on_a_command_exits_without_an_answer(command: str) -> None:
    with Driver(PROGRAM, "--crash-on", command, "--exit-code", "7") as engine:
        engine.send(command)
        assert engine.rest() == b""
        assert engine.status() == 7


def test_crash_on_the_third_command_answers_two() -> None:
    with Driver(PROGRAM, "--crash-on=go:3", "--exit-code", "-11") as engine:
        assert engine.ask(START, "go") == "bestmove e2e4"
        assert engine.ask("go") == "bestmove e2e4"
        engine.send("go")
        assert engine.rest() == b""
        assert engine.status() == -signal.SIGSEGV


def test_a_fault_that_strikes_once_spares_the_next_process(tmp_path: Path) -> None:
    flags = ["--crash-on", "go", "--once", str(tmp_path / "struck")]
    with Driver(PROGRAM, *flags) as engine:
        engine.send("go")
        assert engine.status() == 1
    with Driver(PROGRAM, *flags) as engine:
        assert engine.ask("go") == "bestmove e2e4"


def test_hang_on_a_command_answers_nothing_more_until_killed() -> None:
    with Driver(PROGRAM, "--hang-on", "isready") as engine:
        engine.send("isready", "quit")
        engine.close_input()
        assert engine.is_silent()
        assert engine.is_alive()
        engine.process.terminate()
        assert engine.status() == -signal.SIGTERM


def test_ignore_stop_thinks_on() -> None:
    with Driver(PROGRAM, "--slow", "1000", "--ignore-stop") as engine:
        engine.send("go")
        assert engine.ask("stop", "isready") == "readyok"
        assert engine.is_silent()


def test_slow_thinks_until_stopped() -> None:
    with Driver(PROGRAM, "--slow", "1000") as engine:
        assert engine.ask("go", "stop") == "bestmove e2e4"
    with Driver(PROGRAM, "--slow", "1000") as engine:
        engine.send("go", "quit")
        assert engine.status() == 0


def test_slow_takes_its_time() -> None:
    with Driver(PROGRAM, "--slow", "0.2") as engine:
        engine.ask("isready")
        started = time.monotonic()
        assert engine.ask("go") == "bestmove e2e4"
        assert milliseconds(started) >= 200


@pytest.mark.parametrize("end", ["quit", "end of input"])
def test_ignore_quit_goes_on(end: str) -> None:
    with Driver(PROGRAM, "--ignore-quit") as engine:
        if end == "quit":
            assert engine.ask("quit", "isready") == "readyok"
        else:
            engine.close_input()
            assert engine.is_silent()
            assert engine.is_alive()
        engine.process.terminate()
        assert engine.status() == -signal.SIGTERM


def test_ignore_sigterm_leaves_only_sigkill() -> None:
    with Driver(PROGRAM, "--ignore-sigterm") as engine:
        engine.ask("isready")
        engine.process.terminate()
        assert engine.ask("isready") == "readyok"
        engine.process.kill()
        assert engine.status() == -signal.SIGKILL


def test_the_second_move_is_illegal() -> None:
    with Driver(PROGRAM, "--illegal-move", "2") as engine:
        answers = [engine.ask(START, "go") for _ in range(3)]
        assert answers == ["bestmove e2e4", "bestmove a1b4", "bestmove e2e4"]


def test_garbage_is_no_answer() -> None:
    with Driver(PROGRAM, "--garbage-on", "go") as engine:
        engine.send("go", "isready")
        text = engine.read(b"\nreadyok\n")
        assert b"\x00" in text
        assert not any(line.startswith(b"bestmove ") for line in text.splitlines())
        assert engine.ask("go") == "bestmove e2e4"


def test_a_flood_does_not_end() -> None:
    with Driver(PROGRAM, "--flood-on", "go") as engine:
        engine.send("go")
        total = 0
        while total < 3_000_000:
            chunk = engine.chunk()
            assert chunk
            assert b"bestmove" not in chunk
            total += len(chunk)


def test_a_flood_on_standard_error_comes_before_the_move() -> None:
    with Driver(PROGRAM, "--flood-stderr", "500") as engine:
        assert engine.ask("go") == "bestmove e2e4"
        assert engine.read(b"complaint 499\n", errors=True).count(b"\n") == 500


def test_a_long_line_is_as_long_as_asked_for() -> None:
    with Driver(PROGRAM, "--long-line", "70000") as engine:
        engine.send("go")
        line, move = engine.read(b"bestmove e2e4\n").splitlines()
        assert len(line) == 70000
        assert move == b"bestmove e2e4"


def test_no_newline_leaves_the_line_open() -> None:
    with Driver(PROGRAM, "--no-newline") as engine:
        engine.send("go")
        engine.read(b"bestmove e2e4")
        assert engine.is_silent()
        assert engine.is_alive()


@pytest.mark.parametrize(
    ("go", "position", "milliseconds_allowed"),
    [
        ("go wtime 150 btime 90000", START, 150),
        ("go wtime 90000 btime 150", START + " moves e2e4", 150),
        ("go wtime 90000 btime 150", "position fen 8/8/8/8/8/8/k6p/7K b - - 0 1", 150),
        ("go movetime 150", START, 150),
        ("go nodes 1", START, 0),
    ],
)
def test_overstep_answers_after_the_clock(
    go: str, position: str, milliseconds_allowed: int
) -> None:
    with Driver(PROGRAM, "--overstep", "100") as engine:
        engine.ask("isready")
        started = time.monotonic()
        assert engine.ask(position, go, "stop").startswith("bestmove ")
        assert milliseconds_allowed + 100 <= milliseconds(started) < 10_000


@pytest.mark.parametrize("flag", ["--spawn-child", "--daemon-child"])
def test_children_outlive_the_engine(flag: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with Driver(PROGRAM, flag, "--pid-file", str(pids)) as engine:
        engine.ask("isready")
        parent = psutil.Process(engine.process.pid)
        (child,) = parent.children()
        engine.send("quit")
        assert engine.status() == 0
        try:
            assert child.is_running()
            assert os.getsid(child.pid) == (child.pid if flag == "--daemon-child" else parent.pid)
            # only the one that shares its pipes keeps the output open
            if flag == "--daemon-child":
                assert engine.rest() == b""
            else:
                assert engine.is_silent()
        finally:
            child.kill()
            psutil.wait_procs([child], timeout=DEADLINE)
        assert str(engine.process.pid) in pids.read_text().split()


def test_no_uciok_never_ends_the_handshake() -> None:
    with Driver(PROGRAM, "--no-uciok") as engine:
        text = engine.ask("uci", "isready", until=b"readyok\n")
        assert "option name Hash" in text
        assert "uciok" not in text


def test_bad_utf8_is_in_its_name_and_before_its_moves() -> None:
    with Driver(PROGRAM, "--bad-utf8") as engine:
        engine.send("uci")
        with pytest.raises(UnicodeDecodeError):
            engine.read(b"uciok\n").decode()
        engine.send("go")
        with pytest.raises(UnicodeDecodeError):
            engine.read(b"bestmove e2e4\n").decode()


@pytest.mark.parametrize("flags", [["--close-stdout"], ["--close-stdout", "go"]])
def test_a_closed_output_ends_nothing_else(flags: list[str]) -> None:
    with Driver(PROGRAM, *flags) as engine:
        engine.ask("isready")
        engine.send("go", "isready")
        assert engine.rest() == b""
        assert engine.is_alive()
        engine.send("quit")
        assert engine.status() == 0


@pytest.mark.parametrize("text", ["(none)", "0000", "e7e8k", ""])
def test_a_move_is_given_word_for_word(text: str) -> None:
    with Driver(PROGRAM, f"--bestmove={text}") as engine:
        assert engine.ask("go") == f"bestmove {text}"


def test_the_output_ends_in_the_middle_of_a_line() -> None:
    with Driver(PROGRAM, "--eof-mid-line", "--exit-code", "0") as engine:
        engine.send("go")
        assert engine.rest() == b"bestmov"
        assert engine.status() == 0


def test_windows_newlines_are_understood_and_given() -> None:
    with Driver(PROGRAM, "--windows-newlines") as engine:
        assert engine.ask("isready\r", until=b"\r\n") == "readyok"
        assert engine.ask(START + "\r", "go\r", until=b"\r\n") == "bestmove e2e4"


def test_unknown_commands_are_complained_about() -> None:
    with Driver(PROGRAM, "--echo-unknown") as engine:
        answer = engine.ask("xyzzy")
        assert answer == "Unknown command: 'xyzzy'. Type help for more information."


def test_flags_combine() -> None:
    with Driver(
        PROGRAM, "--outcome", "draw", "--info", "2", "--illegal-move", "3", "--crash-on", "go:4"
    ) as engine:
        assert engine.ask(START, "go", until=b"bestmove a2a3\n").count("info depth") == 2
        engine.ask(START + " moves a2a3", "go", until=b"bestmove g8f6\n")
        engine.ask("go", until=b"bestmove a1b4\n")
        engine.send("go")
        assert engine.status() == 1


def test_nothing_lives_longer_than_its_lifetime() -> None:
    with Driver(
        PROGRAM, "--ignore-quit", "--ignore-sigterm", "--spawn-child", "--lifetime", "1"
    ) as engine:
        engine.send("quit")
        engine.close_input()
        assert engine.status() == -signal.SIGALRM
        assert engine.rest() == b""
