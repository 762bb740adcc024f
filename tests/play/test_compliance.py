"""The pre-flight check: for each test an engine that fails it, and one that passes all."""

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
from ringmaster.engines.uci_messages import LONG_MATE
from ringmaster.model.jobs import CheckJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, Finding
from ringmaster.model.time_control import TimeControl
from ringmaster.play.compliance import check_gtp
from ringmaster.play.compliance.check_uci import NONSENSE
from ringmaster.play.compliance.engine_check import EngineCheck, Info, Patience, TranscriptTail
from ringmaster.play.compliance.examination import examine, list_tests, run_test, suggest
from ringmaster.play.compliance.positions import CHESS, UCI
from ringmaster.play.engine_pool import make_engine
from tests.play.test_faults import worker  # noqa: F401  a fixture

ENGINES = Path(__file__).parent.parent / "engines"
#: Short waits for what never comes; long enough for a machine that is busy.
PATIENCE = Patience(search=0.6, stop=0.4, quiet=0.03, idle=0.1, quit=1.0)
#: For engines that never answer by themselves, however long the wait is.
IMPATIENCE = dataclasses.replace(PATIENCE, search=0.1, stop=5.0, quit=0.1)
#: A search that takes no time, in the place of "go movetime 60".
AT_ONCE = {"nodes": "go nodes 100"}
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
    check = EngineCheck(player, settings, maker(player), TranscriptTail(), patience, UCI)
    # what a busy machine is forgiven is tested by itself
    check.load = 0.0
    return check


@pytest.fixture
def tried() -> Iterator[Try]:
    """Give a player's findings in single tests of UCI."""
    checks: list[EngineCheck] = []

    def run(
        player: Player, *names: str, patience: Patience = PATIENCE, **usable: str
    ) -> list[Finding]:
        check = engine_check(player, patience)
        checks.append(check)
        check.usable |= usable
        check.engine()
        tests = {test.name: test for test in list_tests(player, ())}
        for name in names:
            run_test(check, tests[name])
        return check.findings

    yield run
    for check in checks:
        check.drop()


def details(findings: list[Finding], status: str) -> list[str]:
    return [f"{f.name}: {f.detail}" for f in findings if f.status == status]


@pytest.mark.slow
def test_engine_that_obeys_the_protocol_passes_everything() -> None:
    player = careful(nodes=100, options={"Threads": 1, "Hash": 2})
    examined = examine(player, GameSettings(game="chess"), maker(player), patience=PATIENCE)
    assert examined.name == "Careful"
    assert [f for f in examined.findings if f.status != "pass"] == []
    assert examined.problems == ()
    assert examined.suggestions == ()
    assert examined.seconds < 30
    names = {f.name for f in examined.findings}
    assert {"moves", "mates", "scores", "nodes", "short clock", "stop", "quit"} <= names


@pytest.mark.parametrize("probe", [*CHESS, UCI.long_game], ids=lambda p: str(p.name))
def test_position_is_legal_and_unfinished(probe: Any) -> None:
    start, _, moves = probe.arguments.partition(" moves ")
    board = chess.Board(start.partition(" ")[2] or chess.STARTING_FEN)
    for move in moves.split():
        board.push_uci(move)
    assert board.is_valid()
    assert board.outcome(claim_draw=False) is None
    assert not board.is_repetition(3)
    game = probe.game(GameSettings(game="chess"))
    assert game.ending() is None
    assert game.to_move == (0 if board.turn else 1)


@pytest.mark.parametrize(
    ("flags", "name", "why"),
    [
        (["--illegal-move", "3"], "moves", "a middlegame"),
        (["--bestmove", "(none)"], "moves", "not a move in UCI notation"),
        (["--bestmove", "0000"], "moves", "null move"),
        (["--castle"], "moves", "castling"),
        (["--crash-on", "go"], "moves", "it exited with status 1"),
    ],
)
def test_illegal_moves_and_crashes_are_reported_with_the_position(
    tried: Try, flags: list[str], name: str, why: str
) -> None:
    findings = tried(careful(*flags, nodes=1), "moves", **AT_ONCE)
    failures = [f for f in findings if f.status == "fail"]
    assert {f.name for f in failures} == {name}
    assert any(why in f.detail for f in failures)
    if "--crash-on" not in flags:
        assert any(line.startswith("> position ") for line in failures[0].exchange)
        assert any(line.startswith("< bestmove ") for line in failures[0].exchange)


def test_no_more_positions_are_tried_after_three_breakdowns(tried: Try, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    player = careful("--crash-on", "go", "--pid-file", str(pids), nodes=1)
    findings = tried(player, "moves")
    assert len(details(findings, "fail")) == 3
    # each of them twice
    assert len(pids.read_text().split()) == 6


@pytest.mark.slow
def test_crash_only_after_other_games_suggests_restarts(tmp_path: Path) -> None:
    for keeps, status in ((True, "fail"), (False, "warn")):
        player = careful("--crash-on", "go:9", nodes=1, restart="auto" if keeps else "on")
        check = engine_check(player)
        run_test(check, next(test for test in list_tests(player, ()) if test.name == "moves"))
        check.drop()
        (first, *_) = [f for f in check.findings if f.name == "moves"]
        assert first.status == status
        assert first.detail.endswith("a new process has an answer")
        assert any('restart="on"' in line for line in suggest(check)) == keeps


@pytest.mark.parametrize(
    ("flag", "status", "text"),
    [
        ("--bad-pv", "warn", "lines of play: the start position: 'a1a1' is illegal"),
        ("--bad-ponder", "warn", "ponder moves: the start position: 'a1a1' is illegal"),
        ("--white-scores", "warn", "scores: they seem to be White's; UCI requires the mover's"),
        ("--white-scores", "warn", "(score_pov='white' corrects them)"),
        ("--wrong-scores", "warn", "scores: White a queen up: cp -900, wrong sign"),
        ("--cp-mates", "warn", "mates: White mates in one: a mate is reported as cp 30000"),
        ("--ply-mates", "warn", "mate 3: the engine counts plies, UCI counts moves"),
        ("--bad-score", "warn", "scores: no score in any position"),
        ("--no-info", "warn", "scores: no score in any position"),
    ],
)
def test_answers_of_searches_are_judged(tried: Try, flag: str, status: str, text: str) -> None:
    findings = tried(careful(flag, nodes=1), "moves", **AT_ONCE)
    assert any(text in line for line in details(findings, status)), details(findings, status)
    assert details(findings, "fail") == []


def test_illegal_ponder_moves_matter_to_a_player_that_ponders(tried: Try) -> None:
    findings = tried(careful("--bad-ponder", nodes=1, ponder=True), "moves", **AT_ONCE)
    assert any("ponder moves" in line for line in details(findings, "fail"))


def assert_fails_or_warns(
    tried: Try, test: str, flags: list[str], settings: dict[str, Any], text: str
) -> None:
    """Fail a player whose games have the limit, and warn another."""
    patience = IMPATIENCE if "--ignore" in flags else PATIENCE
    failures = details(tried(careful(*flags, **settings), test, patience=patience), "fail")
    assert any(text in line for line in failures), failures
    findings = tried(careful(*flags), test, patience=patience)
    assert details(findings, "fail") == []
    assert any(text in line for line in details(findings, "warn"))


@pytest.mark.parametrize(
    ("test", "flags", "settings", "text"),
    [
        (
            "nodes",
            ["--ignore", "nodes", "--nodes", "9999"],
            {"nodes": 9},
            "go nodes 5000 did not end",
        ),
        ("nodes", ["--nodes", "7"], {"nodes": 9}, "searched 7 nodes, limit 5000"),
        ("depth", ["--ignore", "depth", "--depth", "9"], {"depth": 9}, "go depth 4 did"),
    ],
)
def test_ignored_count_fails_a_player_with_this_limit_and_warns_others(
    tried: Try, test: str, flags: list[str], settings: dict[str, Any], text: str
) -> None:
    assert_fails_or_warns(tried, test, flags, settings, text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "flags", "settings", "text"),
    [
        ("movetime", ["--ignore", "movetime"], {"move_time": 1.0}, "go movetime 100 did"),
        ("movetime", ["--late", "200"], {"move_time": 1.0}, "after its time of 100 ms"),
        ("clock", ["--ignore", "clock"], {"time_control": CLOCK}, "did not end within"),
        ("clock", ["--late", "150"], {"time_control": CLOCK}, "had run out"),
        pytest.param(
            *("clock", ["--swap-clocks"], {"time_control": CLOCK}, "the other side's clock"),
            # told by the time that it takes: for a machine without other tests
            marks=pytest.mark.perf,
        ),
        ("clock with an increment", ["--late", "150"], {"time_control": CLOCK}, "time of 200 ms"),
        (
            "last move of a time control",
            ["--late", "150"],
            {"time_control": TimeControl.parse("40/60")},
            "time of 400 ms had run out",
        ),
    ],
)
def test_overstepped_time_fails_a_player_with_this_limit_and_warns_others(
    tried: Try, test: str, flags: list[str], settings: dict[str, Any], text: str
) -> None:
    assert_fails_or_warns(tried, test, flags, settings, text)


def test_slow_engine_is_not_accused_of_ignoring_limits(tried: Try) -> None:
    flags = ["--ignore", "nodes", "--nodes", "80", "--ignore", "depth", "--depth", "2"]
    player = careful(*flags, nodes=800, depth=9)
    findings = tried(player, "nodes", "depth", patience=IMPATIENCE)
    assert [f.status for f in findings] == ["skip", "skip"]


@pytest.mark.parametrize(
    ("test", "flags", "text"),
    [
        ("nodes", ["--nodes", "30000"], "searched 30,000 nodes, limit 5000"),
        ("depth", ["--depth", "6"], "searched to depth 6, limit 4"),
        ("movetime", ["--lazy"], "of its move time only"),
    ],
)
def test_limit_that_is_obeyed_badly_is_a_warning(
    tried: Try, test: str, flags: list[str], text: str
) -> None:
    player = careful(*flags, nodes=1, depth=1, move_time=1.0)
    (finding,) = tried(player, test)
    assert finding.status == "warn"
    assert text in finding.detail


@pytest.mark.slow
def test_clock_of_the_second_side_needs_a_position_with_it_to_move(
    tried: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = CHESS[0]
    monkeypatch.setattr(
        "tests.play.test_compliance.UCI", dataclasses.replace(UCI, middlegame=start, reply=start)
    )
    findings = tried(careful("--swap-clocks", time_control=CLOCK), "clock")
    assert [f.name for f in findings if f.status == "skip"] == ["clock of the second side"]
    assert "clock of the first side" in [f.name for f in findings if f.status == "fail"]


@pytest.mark.slow
def test_swapped_clocks_do_no_harm_with_byoyomi_alone(tried: Try) -> None:
    control = TimeControl.parse("0+1byo")
    findings = tried(careful("--swap-clocks", time_control=control), "clock")
    status = {f.name: f.status for f in findings}
    assert status["clock of the first side"] == status["clock of the second side"] == "warn"


def test_busy_machine_is_blamed_before_the_engine() -> None:
    check = engine_check(careful(time_control=CLOCK))
    check.load, check.processors = 9.0, 2
    check.judge("answered 60 ms late", name="clock", matters=True, is_late=True)
    (finding,) = check.findings
    assert finding.status == "warn"
    assert "the machine is busy: a load of 9.0 on 2" in finding.detail


@pytest.mark.parametrize(
    ("test", "flags", "text"),
    [
        ("stop", ["--early"], "go infinite: bestmove before `stop`"),
        ("stop", ["--deaf"], "stop: no bestmove in 0.4 s after `stop`"),
        ("stop", ["--drop-stop"], "stop at once: no bestmove in 0.4 s"),
        ("stop", ["--deaf-ready"], "isready during a search: no readyok in 0.4 s"),
        (
            "stop without a search",
            ["--idle-stop"],
            "the engine answers with a move",
        ),
        ("silence after bestmove", ["--chatter"], "'info string that was a good move'"),
        ("the same search again", ["--dice"], "not deterministic with 'go nodes 100'"),
        ("new games", ["--leak", "12"], "new games: memory grew from"),
        ("quit", ["--crash-on", "quit"], "quit: the engine exits with status 1"),
        ("handshake", ["--no-author"], "handshake: no id author"),
    ],
)
def test_misconduct_is_a_warning(tried: Try, test: str, flags: list[str], text: str) -> None:
    findings = tried(careful(*flags, nodes=1), test, **AT_ONCE)
    assert any(text in line for line in details(findings, "warn")), findings
    assert details(findings, "fail") == []


def test_engine_that_goes_on_after_quit_has_a_warning(tried: Try) -> None:
    findings = tried(careful("--ignore-quit", nodes=1), "quit", patience=IMPATIENCE)
    assert "quit: the engine has not exited after 0.1 s" in details(findings, "warn")
    assert details(findings, "fail") == []


@pytest.mark.slow
def test_stop_matters_to_a_player_that_ponders(tried: Try) -> None:
    findings = tried(careful("--deaf", nodes=1, ponder=True), "stop")
    assert any(line.startswith("stop: no bestmove") for line in details(findings, "fail"))


def test_ponderhit_and_stop_end_pondering(tried: Try) -> None:
    findings = tried(careful(nodes=1, ponder=True), "ponder")
    assert [(f.status, f.name) for f in findings] == [
        ("pass", "ponder"),
        ("pass", "stop while pondering"),
    ]
    findings = tried(careful("--early", nodes=1, ponder=True), "ponder")
    assert details(findings, "warn") == ["ponder: bestmove before ponderhit"]
    assert tried(careful(nodes=1), "ponder") == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            "name A type spin default 9 min 1 max 5",
            "default of option 'A' cannot be '9'; it takes an integer from 1 to 5",
        ),
        (
            "name A type spin default x min 1 max 5",
            "default of option 'A' cannot be 'x'; it takes an integer from 1 to 5",
        ),
        ("name A type spin default 1", "option 'A' has no min or no max"),
        ("name A type spin default 3 min 5 max 1", "a min of 5 above its max of 1"),
        ("name A type check default maybe", "the default 'maybe', not true or false"),
        ("name A type combo default x var y", "the default 'x', not y"),
        ("name A type combo default x", "option 'A' has no var to choose"),
        ("name A type slider default 1", "cannot be read"),
        ("name hash type spin default 1 min 1 max 2", "option 'hash' is declared twice"),
    ],
)
def test_wrong_option_declaration_is_reported(tried: Try, line: str, fault: str) -> None:
    findings = tried(careful("--option", line, nodes=1), "options")
    assert any(fault in text for text in details(findings, "warn")), findings


def test_engine_that_does_not_start_has_a_problem_and_no_findings() -> None:
    player = careful("--crash-on", "uci", nodes=1)
    examined = examine(player, GameSettings(game="chess"), maker(player), patience=PATIENCE)
    (problem,) = examined.problems
    assert "it exited with status 1" in str(problem)
    assert examined.findings == ()


def test_engine_with_a_wrong_option_is_not_examined() -> None:
    player = careful(nodes=1, options={"Hush": 1})
    examined = examine(player, GameSettings(game="chess"), maker(player), patience=PATIENCE)
    (problem,) = examined.problems
    assert (problem.kind, problem.subject) == ("option", "Hush")
    assert "'Hash'" in str(problem)
    assert examined.findings == ()


@pytest.mark.slow
def test_crash_in_a_test_costs_that_test_alone() -> None:
    """An unknown command is nothing that a game has, so games are not in danger."""
    flags = ["--crash-on", NONSENSE, "--flood-stderr", "1"]
    player = careful(*flags, nodes=1)
    examined = examine(player, GameSettings(game="chess"), maker(player), patience=PATIENCE)
    assert examined.problems == ()
    (warning,) = [f for f in examined.findings if f.status == "warn"]
    assert warning.name == "unknown command and empty line"
    assert "it exited with status 1" in warning.detail
    assert "! complaint 0" in warning.exchange
    assert "quit" in [f.name for f in examined.findings if f.status == "pass"]


@pytest.mark.slow
def test_hang_is_a_problem_with_its_duration() -> None:
    player = careful("--hang-on", "go:4", nodes=1)
    examined = examine(player, GameSettings(game="chess"), maker(player), patience=PATIENCE)
    assert any(
        "no bestmove after 'go nodes" in p and "nor after 'stop' in 0.4 s" in p
        for p in map(str, examined.problems)
    )


@pytest.mark.slow
def test_flood_is_bounded_in_time_and_evidence() -> None:
    player = careful("--flood-on", "go:2", nodes=1)
    examined = examine(player, GameSettings(game="chess"), maker(player), patience=PATIENCE)
    assert examined.problems
    for finding in examined.findings:
        assert len(finding.detail) <= 300
        assert len(finding.exchange) <= 20
        assert all(len(line) <= 170 for line in finding.exchange)


def test_no_test_begins_after_the_time_limit() -> None:
    player = careful(nodes=1)
    patience = Patience(search=0.6, whole=0.0)
    examined = examine(player, GameSettings(game="chess"), maker(player), patience=patience)
    assert examined.findings[-1].status == "skip"
    assert "not reached in 0 s" in examined.findings[-1].detail


def test_limits_of_the_games_are_tested_before_unused_limits() -> None:
    names = [test.name for test in list_tests(careful(depth=3), ())]
    assert names.index("depth") < names.index("moves") < names.index("nodes")
    by_name = {test.name: test for test in list_tests(careful(depth=3), ())}
    assert by_name["depth"].matters
    assert not by_name["nodes"].matters


@pytest.mark.slow
def test_tests_that_may_crash_a_slow_starter_are_left_out_after_some_starts() -> None:
    player = careful("--crash-on", "go:3", nodes=1)
    patience = Patience(search=0.6, stop=0.4, quiet=0.03, idle=0.1, quit=1.0, starts=0.0)
    examined = examine(player, GameSettings(game="chess"), maker(player), patience=patience)
    skipped = [f.name for f in examined.findings if f.status == "skip"]
    assert {"depth", "movetime", "clock"} <= set(skipped)


# --- suggestions


def test_suggested_margin_follows_the_measured_lateness() -> None:
    check = engine_check(careful(time_control=CLOCK))
    assert list(suggest(check)) == []
    check.over = 63
    (line,) = suggest(check)
    assert line == "margin=0.09: it answered 63 ms after its time"


@pytest.mark.slow
def test_lateness_under_a_limit_that_the_games_lack_suggests_no_margin() -> None:
    check = engine_check(careful("--late", "200", time_control=CLOCK))
    run_test(check, next(test for test in list_tests(check.player, ()) if test.name == "movetime"))
    check.drop()
    assert [f.status for f in check.findings] == ["warn"]
    assert list(suggest(check)) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"setup_seconds": 24.0}, "ready_timeout=96: it took 24.0 s to start"),
        ({"move_seconds": 2.5}, "hang_timeout=25: it took 2.5 s for a move"),
        ({"grows": True}, 'restart="on": its memory grows from game to game'),
    ],
)
def test_settings_are_suggested(change: dict[str, Any], line: str) -> None:
    check = engine_check(careful(nodes=1))
    for name, value in change.items():
        setattr(check, name, value)
    assert list(suggest(check)) == [line]


def test_important_options_are_suggested_unless_set(tried: Try) -> None:
    check = engine_check(careful("--option", "name OwnBook type check default true", nodes=1))
    options = next(test for test in list_tests(check.player, ()) if test.name == "options")
    run_test(check, options)
    check.drop()
    assert list(suggest(check)) == [
        "options={'Hash': …}: not set, its default is 16 MB",
        "options={'OwnBook': False}: it plays from its own book",
    ]


# --- GTP


def examine_go(
    player: Player, patience: Patience = PATIENCE
) -> tuple[tuple[str, ...], list[Finding]]:
    rules = GameSettings(game="go", board_size=7, komi=0.5, hang_timeout=1.0)
    examined = examine(player, rules, maker(player), patience=patience)
    return tuple(map(str, examined.problems)), list(examined.findings)


def test_go_engine_that_obeys_the_protocol_passes_everything() -> None:
    problems, findings = examine_go(filler())
    assert problems == ()
    assert [f for f in findings if f.status != "pass"] == []


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--illegal-move", "3"], "moves: move 3, "),
        (["--bestmove", "Z99"], "moves: move 1, "),
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
        (["--also", NONSENSE], "unknown command: it answers '= "),
        (["--fail", "list_commands"], "commands: it has no list_commands"),
        (["--no-command", "version"], "commands: list_commands lacks version"),
        (["--no-command", "final_score"], "final_score: it has none"),
        (["--also", "play"], "illegal moves are refused: it takes a stone"),
        (["--ignore-quit"], "quit: the engine has not exited"),
        (["--crash-on", "time_settings"], "clock: it exited with status 1"),
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
    warnings = details(findings, "warn")
    assert warnings[0].startswith("commands together: it takes one command at a time")


def test_accepted_impossible_board_size_is_a_warning() -> None:
    player = filler("--also", "boardsize")
    # it plays on the size that it began with
    rules = GameSettings(game="go", board_size=19, komi=0.5, hang_timeout=1.0)
    examined = examine(player, rules, maker(player), patience=PATIENCE)
    assert examined.problems == ()
    assert details(list(examined.findings), "warn") == ["board size 1000: accepted"]


@pytest.mark.slow
def test_go_engine_that_oversteps_its_clock_fails() -> None:
    check = EngineCheck(
        filler("--overstep", "200", time_control=TimeControl.parse("60")),
        GameSettings(game="go", board_size=7, hang_timeout=1.0),
        lambda: make_engine(check.player, Surroundings({})),
        TranscriptTail(),
        PATIENCE,
    )
    check.load = 0.0
    check_gtp.try_clock(check)
    (finding,) = check.findings
    assert finding.status == "fail"
    assert "after its clock of 2 s had run out" in finding.detail


# --- info lines, evidence


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"info depth 3 score cp -7 pv e2e4 e7e5", (-7, None, -1, "")),
        (b"info score mate 2 nodes 5", (None, 2, 1, "")),
        (b"info score mate -3 upperbound depth 4", (None, -3, -1, "")),
        (b"info score mate 0", (None, 0, -1, "")),
        (b"info score mate + pv x", (None, LONG_MATE, 1, "")),
        (b"info score mate -", (None, -LONG_MATE, -1, "")),
        (b"info string score cp 5", (None, None, 0, "")),
        (b"info score wdl 1", (None, None, 0, "score 'wdl 1' is neither cp nor mate")),
        (b"info depth x", (None, None, 0, "depth 'x' is no number")),
    ],
)
def test_info_line_is_read(line: bytes, expected: tuple[Any, ...]) -> None:
    info = Info(line)
    assert (info.score, info.mate, info.sign, info.problem) == expected


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
def test_only_a_thorough_check_has_findings(worker: Any) -> None:  # noqa: F811
    settings = GameSettings(game="go", board_size=7, hang_timeout=1.0)
    quick = worker.run(CheckJob("c", filler(), settings))
    assert isinstance(quick, CheckResult)
    assert (quick.problems, quick.findings) == ((), ())
    thorough = worker.run(CheckJob("c", filler(), settings, thorough=True))
    assert thorough.problems == ()
    assert thorough.name == "Filler:1.0"
    assert len(thorough.findings) > 8
