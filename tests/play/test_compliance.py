"""The check of an engine: for each test an engine that fails it, and one that passes all."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chess
import psutil
import pytest

from ringmaster.engines.engine import Engine
from ringmaster.engines.process import Surroundings
from ringmaster.model.jobs import CheckJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, Finding
from ringmaster.model.time_control import TimeControl
from ringmaster.play.compliance import check_gtp
from ringmaster.play.compliance.engine_check import EngineCheck, Patience, Search, TranscriptTail
from ringmaster.play.compliance.examination import UCI_TESTS, examine, run_test, suggest
from ringmaster.play.compliance.positions import CHESS
from ringmaster.play.engine_pool import make_engine

ENGINES = Path(__file__).parent.parent / "engines"
#: Short waits for what never comes; long enough for a machine that is busy.
PATIENCE = Patience(search=0.6, stop=0.4, quiet=0.1, idle=0.1, quit=1.0)
#: For engines that never answer by themselves, however long the wait is.
IMPATIENCE = dataclasses.replace(PATIENCE, search=0.1, stop=5.0, quit=0.1)
CLOCK = TimeControl.parse("10+0.1")

Try = Callable[..., list[Finding]]


def careful(*flags: str, **settings: Any) -> Player:
    command = (sys.executable, str(ENGINES / "careful_uci.py"), *flags)
    return Player("x", command, protocol="uci", **settings)


def filler(*flags: str, **settings: Any) -> Player:
    command = (sys.executable, "-I", "-S", str(ENGINES / "fault_gtp.py"), *flags)
    return Player("x", command, **settings)


def maker(player: Player) -> Callable[[], Engine]:
    return lambda: make_engine(player, Surroundings({}))


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    left = psutil.Process().children(recursive=True)
    assert [p for p in left if "tests/engines" in " ".join(p.cmdline())] == []


def engine_check(player: Player, patience: Patience = PATIENCE) -> EngineCheck:
    settings = GameSettings(game="chess", hang_timeout=5)
    check = EngineCheck(player, settings, maker(player), patience=patience)
    # the load of the machine excuses lateness; it has a test of its own
    check.load = 0.0
    return check


@pytest.fixture
def tried() -> Iterator[Try]:
    """Give a player's findings in single tests of UCI."""
    checks: list[EngineCheck] = []

    def run(player: Player, *names: str, patience: Patience = PATIENCE) -> list[Finding]:
        check = engine_check(player, patience)
        checks.append(check)
        check.quick = "go nodes 100"
        check.engine()
        for name, test in UCI_TESTS:
            if name in names:
                run_test(check, (name, test))
        return check.findings

    yield run
    for check in checks:
        check.drop()


def details(findings: list[Finding], status: str) -> list[str]:
    return [f"{f.name}: {f.detail}" for f in findings if f.status == status]


def examined(player: Player, patience: Patience = PATIENCE) -> CheckResult:
    settings = GameSettings(game="chess")
    return examine(player, settings, maker(player), patience=patience)


@pytest.mark.slow
def test_engine_that_obeys_the_protocol_passes_everything() -> None:
    result = examined(careful(nodes=100, options={"Threads": 1, "Hash": 2}))
    assert result.name == "Careful"
    assert [f for f in result.findings if f.status != "pass"] == []
    assert result.problems == result.suggestions == ()
    names = {f.name for f in result.findings}
    assert {"handshake", "options", "nodes", "moves", "scores", "stop", "quit"} <= names


@pytest.mark.parametrize("position", CHESS, ids=lambda position: str(position.name))
def test_position_is_legal_and_unfinished(position: Any) -> None:
    start, _, moves = position.arguments.partition(" moves ")
    board = chess.Board(start.partition(" ")[2] or chess.STARTING_FEN)
    for move in moves.split():
        board.push_uci(move)
    assert board.is_valid()
    assert board.outcome(claim_draw=False) is None
    game = position.game(GameSettings(game="chess"))
    assert game.ending() is None
    assert game.to_move == (0 if board.turn else 1)


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--illegal-move", "3"], "the start position"),
        (["--bestmove", "(none)"], "not a move in UCI notation"),
        (["--castle"], "castling"),
        (["--crash-on", "go"], "it exited with status 1"),
    ],
)
def test_illegal_moves_and_crashes_are_reported_with_the_position(
    tried: Try, flags: list[str], why: str
) -> None:
    failures = [f for f in tried(careful(*flags, nodes=1), "moves") if f.status == "fail"]
    assert any(why in f.detail for f in failures)
    if "--crash-on" not in flags:
        assert any(line.startswith("> position ") for line in failures[0].exchange)
        assert any(line.startswith("< bestmove ") for line in failures[0].exchange)


def test_no_more_positions_are_tried_after_three_breakdowns(tried: Try, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    player = careful("--crash-on", "go", "--pid-file", str(pids), nodes=1)
    assert len(details(tried(player, "moves"), "fail")) == 3
    assert len(pids.read_text().split()) == 3


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("--white-scores", "scores: they seem to be White's (score_pov='white' corrects them)"),
        ("--wrong-scores", "scores: White a queen up: wrong sign"),
    ],
)
def test_scores_of_the_wrong_side_are_a_warning(tried: Try, flag: str, text: str) -> None:
    findings = tried(careful(flag, nodes=1), "moves")
    assert details(findings, "warn") == [text]
    assert details(findings, "fail") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "settings", "text"),
    [
        (["--ignore", "movetime"], {"move_time": 1.0}, "it had to be stopped after"),
        (["--late", "200"], {"move_time": 1.0}, "after its time of 400 ms had run out"),
        (["--ignore", "clock"], {"time_control": CLOCK}, "it had to be stopped after"),
        (["--late", "150"], {"time_control": CLOCK}, "after its time of 400 ms had run out"),
        (["--swap-clocks"], {"time_control": CLOCK}, "with clock 400 it "),
        (["--late", "150"], {"time_control": TimeControl.parse("40/60")}, "had run out"),
    ],
)
def test_overstepped_time_fails_a_player(
    tried: Try, flags: list[str], settings: dict[str, Any], text: str
) -> None:
    patience = IMPATIENCE if "--ignore" in flags else PATIENCE
    failures = details(tried(careful(*flags, **settings), "limits", patience=patience), "fail")
    assert len(failures) == 1
    assert text in failures[0]


@pytest.mark.parametrize(
    ("flags", "settings", "status", "text"),
    [
        (["--ignore", "nodes", "--nodes", "9999"], {"nodes": 9}, "fail", "searched 9,999 nodes"),
        (["--nodes", "7"], {"nodes": 5000}, "fail", "nodes 50,000 it searched 7 nodes"),
        (["--nodes", "30000"], {"nodes": 5000}, "warn", "searched 30,000 nodes"),
        (["--ignore", "depth", "--depth", "9"], {"depth": 9}, "fail", "searched to depth 9"),
        (["--depth", "6"], {"depth": 4}, "warn", "twice with depth 4 it searched to depth 6"),
        (["--lazy"], {"move_time": 1.0}, "warn", "with movetime 400 it used"),
        (["--ignore", "nodes", "--nodes", "80"], {"nodes": 800}, "skip", "too slow to test"),
    ],
)
def test_limit_that_is_not_obeyed_is_reported_as_far_as_it_spoils_games(
    tried: Try, flags: list[str], settings: dict[str, Any], status: str, text: str
) -> None:
    patience = IMPATIENCE if "--ignore" in flags else PATIENCE
    findings = tried(careful(*flags, **settings), "limits", patience=patience)
    assert any(text in line for line in details(findings, status)), findings
    assert {f.status for f in findings} == {status}


def test_busy_machine_is_blamed_before_the_engine() -> None:
    check = engine_check(careful(time_control=CLOCK))
    check.load, check.processors = 9.0, 2
    check.judge("answered 60 ms late", name="clock", matters=True, is_late=True)
    (finding,) = check.findings
    assert finding.status == "skip"
    assert "the machine is busy: a load of 9.0 on 2" in finding.detail


@pytest.mark.parametrize(
    ("test", "flags", "text"),
    [
        ("stop", ["--early"], "go infinite: bestmove before `stop`"),
        ("stop", ["--deaf"], "stop: no bestmove in 0.4 s after `stop`"),
        ("stop", ["--deaf-ready"], "isready during a search: no readyok in 0.4 s"),
        ("silence after bestmove", ["--chatter"], "'info string that was a good move'"),
        ("quit", ["--crash-on", "quit"], "quit: the engine exits with status 1"),
        ("quit", ["--ignore-quit"], "quit: the engine has not exited after 0.1 s"),
        ("handshake", ["--no-author"], "handshake: no id author"),
    ],
)
def test_misconduct_is_a_warning(tried: Try, test: str, flags: list[str], text: str) -> None:
    patience = IMPATIENCE if "--ignore-quit" in flags else PATIENCE
    findings = tried(careful(*flags, nodes=1), test, patience=patience)
    assert any(text in line for line in details(findings, "warn")), findings
    assert details(findings, "fail") == []


@pytest.mark.slow
def test_stop_matters_to_a_player_that_ponders(tried: Try) -> None:
    findings = tried(careful("--deaf", nodes=1, ponder=True), "stop")
    assert any(line.startswith("stop: no bestmove") for line in details(findings, "fail"))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            "name A type spin default 9 min 1 max 5",
            "default of option 'A' cannot be '9'; it takes an integer from 1 to 5",
        ),
        ("name A type check default maybe", "option 'A' cannot be 'maybe'"),
        ("name A type combo default x var y", "option 'A' cannot be 'x'"),
        ("name A type slider default 1", "cannot be read"),
        ("name hash type spin default 1 min 1 max 2", "option 'hash' is declared twice"),
    ],
)
def test_wrong_option_declaration_is_reported(tried: Try, line: str, fault: str) -> None:
    findings = tried(careful("--option", line, nodes=1), "options")
    assert any(fault in text for text in details(findings, "warn")), findings


@pytest.mark.parametrize(
    ("player", "text"),
    [
        (careful("--crash-on", "uci", nodes=1), "it exited with status 1"),
        (careful(nodes=1, options={"Hush": 1}), "it has no option 'Hush'"),
    ],
    ids=["crash", "option"],
)
def test_engine_that_cannot_be_set_up_has_a_problem_and_no_findings(
    player: Player, text: str
) -> None:
    result = examined(player)
    (problem,) = result.problems
    assert text in str(problem)
    assert result.findings == ()


@pytest.mark.slow
def test_crash_in_a_harmless_test_costs_that_test_alone() -> None:
    result = examined(careful("--crash-on", "stop", "--flood-stderr", "1", nodes=1))
    assert result.problems == ()
    (warning,) = [f for f in result.findings if f.status == "warn"]
    assert warning.name == "stop"
    assert "it exited with status 1" in warning.detail
    assert "! complaint 0" in warning.exchange
    assert "quit" in [f.name for f in result.findings if f.status == "pass"]


@pytest.mark.slow
def test_hang_is_a_fault_with_its_duration(tried: Try) -> None:
    faults = details(tried(careful("--hang-on", "go:4", nodes=1), "moves"), "fail")
    assert "no bestmove after 'go nodes 100' in 0.6 s, nor after 'stop' in 0.4 s" in faults[0]


@pytest.mark.slow
def test_flood_is_bounded_in_time_and_evidence(tried: Try) -> None:
    findings = tried(careful("--flood-on", "go:2", nodes=1), "moves")
    assert details(findings, "fail")
    for finding in findings:
        assert len(finding.detail) <= 300
        assert len(finding.exchange) <= 20
        assert all(len(line) <= 170 for line in finding.exchange)


def test_no_test_begins_after_the_time_limit() -> None:
    last = examined(careful(nodes=1), dataclasses.replace(PATIENCE, whole=0.0)).findings[-1]
    assert last.status == "skip"
    assert "not reached in 0 s" in last.detail


# --- suggestions


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"over_ms": 63.0}, "margin=0.09: it answered 63 ms after its time"),
        ({"setup_seconds": 24.0}, "ready_timeout=96: it took 24.0 s to start"),
        ({"move_seconds": 2.5}, "hang_timeout=25: it took 2.5 s for a move"),
    ],
)
def test_settings_are_suggested(change: dict[str, Any], line: str) -> None:
    check = engine_check(careful(nodes=1))
    assert list(suggest(check)) == []
    for name, value in change.items():
        setattr(check, name, value)
    assert list(suggest(check)) == [line]


def test_own_book_is_mentioned_unless_it_is_set(tried: Try) -> None:
    check = engine_check(careful("--option", "name OwnBook type check default true", nodes=1))
    run_test(check, UCI_TESTS[1])
    check.drop()
    assert list(suggest(check)) == ["options={'OwnBook': False}: it plays from its own book"]


# --- GTP


def examine_go(
    player: Player, patience: Patience = PATIENCE
) -> tuple[tuple[str, ...], list[Finding]]:
    rules = GameSettings(game="go", board_size=7, komi=0.5, scorer="players", hang_timeout=1.0)
    result = examine(player, rules, maker(player), patience=patience)
    return tuple(map(str, result.problems)), list(result.findings)


def test_go_engine_that_obeys_the_protocol_passes_everything() -> None:
    problems, findings = examine_go(filler())
    assert problems == ()
    assert [f for f in findings if f.status != "pass"] == []


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--illegal-move", "3"], "moves: move 3, "),
        (["--final-score", "black wins"], "final_score: 'black wins' is no score"),
        (["--crash-on", "genmove:2"], "moves: it exited with status 1"),
        (["--hang-on", "genmove:2"], "moves: no answer to 'genmove w'"),
        (["--fail", "genmove:out of memory"], "moves: out of memory"),
    ],
)
def test_go_engine_that_spoils_games_has_problems(flags: list[str], text: str) -> None:
    problems, _ = examine_go(filler(*flags))
    assert any(line.startswith(text) for line in problems), problems


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--no-command", "final_score"], "final_score: it has none"),
        (["--ignore-quit"], "quit: the engine has not exited"),
    ],
)
def test_harmless_faults_of_a_go_engine_are_warnings(flags: list[str], text: str) -> None:
    patience = IMPATIENCE if "--ignore-quit" in flags else PATIENCE
    problems, findings = examine_go(filler(*flags), patience)
    assert problems == ()
    assert any(text in line for line in details(findings, "warn")), findings


@pytest.mark.slow
def test_go_engine_that_takes_one_command_at_a_time_is_tested_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ringmaster.engines.gtp._AHEAD_PATIENCE", 0.05)
    problems, findings = examine_go(filler("--one-at-a-time"))
    assert problems == ()
    assert "takes one command at a time" in details(findings, "warn")[0]


@pytest.mark.slow
def test_go_engine_that_oversteps_its_clock_fails() -> None:
    player = filler("--overstep", "200", time_control=TimeControl.parse("60"))
    rules = GameSettings(game="go", board_size=7, hang_timeout=1.0)
    check = EngineCheck(player, rules, maker(player), patience=PATIENCE)
    check.load = 0.0
    check_gtp.try_clock(check)
    (finding,) = check.findings
    assert finding.status == "fail"
    assert "after its clock of 2 s had run out" in finding.detail


# --- info lines, evidence


def test_search_keeps_the_numbers_and_the_last_score_of_its_info_lines() -> None:
    search = Search(CHESS[0], "go nodes 5")
    search.take(b"info depth 3 nodes 70 score cp -7 pv e2e4\ninfo string score cp 5 nodes 99\n")
    assert (search.most("nodes"), search.most("depth"), search.score()) == (70, 3, -7)
    search.take(b"info score mate 0 nodes 60\nbestmove a2a3 ponder b7b6\n")
    assert (search.most("nodes"), search.score()) == (70, -1)
    assert (search.bestmove, search.ponder) == ("a2a3", "b7b6")


def test_transcript_tail_keeps_two_turns_without_control_characters() -> None:
    tail = TranscriptTail()
    tail.note("x", ">", b"first")
    tail.note("x", ">", b"position startpos\ngo infinite")
    tail.note("x", "<", b"\n".join(b"info %d" % i for i in range(100)))
    tail.note("x", ">", b"stop")
    tail.note("x", "<", b"bestmove \x1b[31me2e4" + b"x" * 10_000)
    lines = tail.evidence()
    assert lines[:2] == ("> position startpos", "> go infinite")
    assert lines[5] == "< info 99"
    assert lines[6] == "> stop"
    assert "\x1b" not in lines[7]
    assert len(lines[7]) <= 170


# --- through a worker


@pytest.mark.slow
def test_only_a_thorough_check_has_findings(worker: Any) -> None:
    settings = GameSettings(game="go", board_size=7, hang_timeout=1.0)
    quick = worker.run(CheckJob("c", filler(), settings))
    assert isinstance(quick, CheckResult)
    assert (quick.problems, quick.findings) == ((), ())
    thorough = worker.run(CheckJob("c", filler(), settings, thorough=True))
    assert thorough.problems == ()
    assert thorough.name == "Filler:1.0"
    assert len(thorough.findings) > 4
