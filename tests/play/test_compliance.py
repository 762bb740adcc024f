"""The check of an engine: for each test an engine that fails it, and one that passes all."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chess
import msgspec
import pytest

from ringmaster.engines.engine import Thought
from ringmaster.engines.process import Surroundings
from ringmaster.model.jobs import CheckJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, Finding
from ringmaster.model.time_control import TimeControl
from ringmaster.play.compliance.engine_check import EngineCheck, Patience, Search
from ringmaster.play.compliance.limits import GTP_SECONDS
from ringmaster.play.compliance.positions import CHESS
from ringmaster.play.compliance.protocol_tests import TESTS, run_check, run_test
from ringmaster.play.engine_pool import make_engine
from tests.play.test_faults import gtp, uci
from tests.processes import under

ENGINES = Path(__file__).parent.parent / "engines"
#: Short waits for what never comes; long enough for a machine that is busy.
PATIENCE = Patience(search=0.6, stop=0.4, quiet=0.1, idle=0.1, quit=1.0)
#: For engines that never answer by themselves, however long the wait is.
IMPATIENCE = dataclasses.replace(PATIENCE, search=0.1, stop=5.0, quit=0.1)
CLOCK = TimeControl.parse("10+0.1")
CHESS_GAME = GameSettings("chess", hang_timeout=5)
GO_GAME = GameSettings("go", board_size=7, komi=0.5, hang_timeout=1.0)
SHOGI_GAME = GameSettings("shogi", hang_timeout=5)

Try = Callable[..., list[Finding]]


def careful(*flags: str, **settings: Any) -> Player:
    command = (sys.executable, str(ENGINES / "careful_uci.py"), *flags)
    return Player("x", command, protocol="uci", **settings)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert under("tests/engines") == []


def engine_check(player: Player, patience: Patience = PATIENCE) -> EngineCheck:
    settings = {"gtp": GO_GAME, "uci": CHESS_GAME, "usi": SHOGI_GAME}[player.protocol]
    job = CheckJob("c", player, settings, thorough=True)

    def make(player: Player) -> Any:
        return make_engine(player, Surroundings({}))

    check = EngineCheck(job, lambda: make(player), make, patience=patience)
    # the load of the machine excuses lateness; it has a test of its own
    check.load = 0.0
    return check


@pytest.fixture
def tried() -> Iterator[Try]:
    """Give a player's findings in some tests."""
    checks: list[EngineCheck] = []

    def run(
        player: Player, *names: str, patience: Patience = PATIENCE, load: float = 0.0
    ) -> list[Finding]:
        check = engine_check(player, patience)
        check.load = load
        checks.append(check)
        if player.protocol == "uci":
            check.quick = dataclasses.replace(check.quick, move_time_ms=None, nodes=100)
        for test in TESTS:
            if test.name in names:
                run_test(check, test)
        return check.findings

    yield run
    for check in checks:
        check.drop()


def details(findings: list[Finding], status: str) -> list[str]:
    return [f"{f.name}: {f.detail}" for f in findings if f.status == status]


def examined(player: Player, patience: Patience = PATIENCE) -> CheckResult:
    return run_check(engine_check(player, patience))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("player", "name", "tests"),
    [
        (careful(nodes=100, options={"Threads": 1, "Hash": 2}), "Careful", {"options", "nodes"}),
        (gtp("x"), "Filler:1.0", set()),
    ],
    ids=["uci", "gtp"],
)
def test_engine_that_obeys_the_protocol_passes_everything(
    player: Player, name: str, tests: set[str]
) -> None:
    result = examined(player)
    assert result.name == name
    assert [f for f in result.findings if f.status != "pass"] == []
    assert result.problems == ()
    assert {"handshake", "moves", "quit"} | tests <= {f.name for f in result.findings}


@pytest.mark.parametrize("position", CHESS, ids=lambda position: str(position.name))
def test_position_is_legal_and_unfinished(position: Any) -> None:
    board = chess.Board(position.opening.fen or chess.STARTING_FEN)
    for move in position.opening.moves:
        board.push_uci(move)
    assert board.is_valid()
    assert board.outcome(claim_draw=False) is None
    game = position.game(CHESS_GAME)
    assert game.ending() is None
    assert game.to_move == (0 if board.turn else 1)


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--illegal-move", "3"], "an opening, move 11"),
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
        (["--depth", "6"], {"depth": 4}, "warn", "with depth 4 it searched to depth 6"),
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


@pytest.mark.slow
def test_busy_machine_is_blamed_before_the_engine(tried: Try) -> None:
    player = careful("--ignore", "movetime", move_time=1.0)
    ((skipped,)) = details(tried(player, "limits", patience=IMPATIENCE, load=1e6), "skip")
    assert "the machine is busy: a load of 1000000.0 on " in skipped


@pytest.mark.parametrize(
    ("test", "flags", "text"),
    [
        ("stop", ["--early"], "stop: bestmove before `stop`"),
        ("stop", ["--deaf"], "stop: no answer to 'stop' in 0.4 s"),
        ("stop", ["--deaf-ready"], "isready during a search: no answer to 'isready' in 0.4 s"),
        ("silence after a move", ["--chatter"], "'info string that was a good move'"),
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
    assert any(line.startswith("stop: no answer") for line in details(findings, "fail"))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (
            "name A type spin default 9 min 1 max 5",
            "default of option 'A' cannot be '9'; it takes an integer from 1 to 5",
        ),
        ("name A type slider default 1", "cannot be read"),
        ("name hash type spin default 1 min 1 max 2", "option 'hash' is declared twice"),
    ],
)
def test_wrong_option_declaration_is_reported(tried: Try, line: str, fault: str) -> None:
    findings = tried(careful("--option", line, nodes=1), "options")
    assert any(fault in text for text in details(findings, "warn")), findings


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


# --- GTP


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--illegal-move", "3"], "after 4 plies: illegal move"),
        (["--crash-on", "genmove:2"], "after 2 plies: x: it exited with status 1"),
        (["--hang-on", "genmove:2"], "after 2 plies: x: no answer to 'genmove b'"),
        (["--fail", "genmove:out of memory"], "after 0 plies: x failed to move: out of memory"),
    ],
)
def test_go_engine_that_spoils_games_fails(tried: Try, flags: list[str], text: str) -> None:
    (failure,) = details(tried(gtp("x", *flags), "game"), "fail")
    assert failure.startswith(f"game: {text}")
    (failure, *_) = details(tried(gtp("x", "--illegal-move", "1"), "moves", "game"), "fail")
    assert failure.startswith("moves: the start position, move 1: ")


def test_go_engine_that_ignores_quit_is_warned_of(tried: Try) -> None:
    (warning,) = details(tried(gtp("x", "--ignore-quit"), "quit", patience=IMPATIENCE), "warn")
    assert "the engine has not exited" in warning


@pytest.mark.slow
def test_go_engine_that_takes_one_command_at_a_time_is_tested_with_a_warning(
    tried: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringmaster.engines.gtp._AHEAD_PATIENCE", 0.05)
    (warning,) = tried(gtp("x", "--one-at-a-time"), "handshake", "moves")[:1]
    assert (warning.status, "takes one command at a time" in warning.detail) == ("warn", True)


@pytest.mark.slow
def test_go_engine_that_oversteps_its_clock_fails(tried: Try) -> None:
    player = gtp("x", "--overstep", "200", time_control=TimeControl.parse("60"))
    (failure,) = details(tried(player, "limits"), "fail")
    assert f"after its time of {GTP_SECONDS}000 ms had run out" in failure


# --- a short game


def usi(*flags: str, **limits: Any) -> Player:
    command = (sys.executable, "-I", "-S", str(ENGINES / "fault_usi.py"), *flags)
    return Player("x", command, protocol="usi", **limits)


def game_finding(tried: Try, player: Player, **settings: Any) -> Finding:
    (finding,) = tried(player, "game", **settings)
    return finding


@pytest.mark.parametrize(
    ("player", "detail"),
    [
        (uci("x"), "20 plies with nodes 1"),
        (uci("x", time_control=CLOCK), "20 plies with 10+0.1"),
        (usi("--plies", "40", move_time=0.1), "20 plies with 0.1 s a move"),
        (usi("--plies", "40", depth=3), "20 plies with depth 3"),
        (gtp("x"), "20 plies"),
        (gtp("x", time_control=TimeControl.parse("60")), "20 plies with 60"),
    ],
    ids=["uci", "uci with a clock", "usi", "usi with depth", "gtp", "gtp with a clock"],
)
def test_short_game_has_a_few_moves_under_the_players_own_limits(
    tried: Try, player: Player, detail: str
) -> None:
    finding = game_finding(tried, player)
    assert (finding.status, finding.detail) == ("pass", detail)


@pytest.mark.parametrize(
    ("player", "fault", "line"),
    [
        (uci("x", "--illegal-move", "3"), "after 4 plies with nodes 1: illegal move", "bestmove a"),
        (
            uci("x", "--crash-on", "go:2"),
            "after 2 plies with nodes 1: x: it exited",
            "> go nodes 1",
        ),
        (
            usi("--bestmove", "9i9a", depth=2),
            "after 0 plies with depth 2: illegal",
            "bestmove 9i9a",
        ),
        (gtp("x", "--illegal-move", "2"), "after 2 plies: illegal move", "< = "),
    ],
    ids=["uci", "uci crash", "usi", "gtp"],
)
def test_fault_in_the_short_game_is_a_failure_with_its_move_and_exchange(
    tried: Try, player: Player, fault: str, line: str
) -> None:
    finding = game_finding(tried, player)
    assert (finding.status, finding.detail[: len(fault)]) == ("fail", fault)
    assert line in "\n".join(finding.exchange)


@pytest.mark.slow
@pytest.mark.parametrize(
    "player",
    [
        uci("x", "--overstep", "200", time_control=TimeControl.parse("0.1")),
        usi("--overstep", "200", time_control=TimeControl.parse("0.1")),
        gtp("x", "--overstep", "200", time_control=TimeControl.parse("1")),
    ],
    ids=["uci", "usi", "gtp"],
)
def test_loss_on_time_in_the_short_game_is_a_failure_unless_the_machine_is_busy(
    tried: Try, player: Player
) -> None:
    finding = game_finding(tried, player)
    assert finding.status == "fail"
    assert finding.detail.startswith(f"after 0 plies with {player.time_control}: x: no answer to")
    assert game_finding(tried, player, load=1000.0).status == "skip"


def test_short_game_of_a_slow_player_ends_after_a_move_of_each_side(
    tried: Try, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringmaster.play.compliance.protocol_tests.GAME_SECONDS", 0.0)
    assert game_finding(tried, uci("x")).detail == "2 plies with nodes 1"


def test_short_game_is_not_played_without_limits_or_after_a_failure(tried: Try) -> None:
    finding = game_finding(tried, careful())
    assert (finding.status, finding.detail) == ("skip", "the player has no limits")
    *_, finding = tried(gtp("x", "--illegal-move", "1"), "moves", "game")
    assert (finding.status, finding.detail) == ("skip", "it fails another test")


def test_analysis_without_a_winrate_is_warned_of(tried: Try) -> None:
    for flags, status in (((), "pass"), (("--analysis-line", "info move D4 pv D4"), "warn")):
        command = (sys.executable, "-I", "-S", str(ENGINES / "katago.py"), *flags)
        (finding,) = tried(Player("x", command, analysis="kata"), "analysis")
        assert finding.status == status
    assert finding.detail == "kata-genmove_analyze gives no winrate"


def test_second_process_that_does_not_start_is_no_fault_of_the_player(tmp_path: Path) -> None:
    def status(absent: str) -> str:
        check, missing = engine_check(uci("x")), str(tmp_path / "none")
        check.make_other = lambda player: make_engine(
            msgspec.structs.replace(player, command=(missing,))
            if player.code == absent
            else player,
            Surroundings({}),
        )
        (game,) = (test for test in TESTS if test.name == "game")
        run_test(check, game)
        (finding,) = check.findings
        assert missing in finding.detail
        return finding.status

    assert status("x#2") == "skip"
    assert status("x") == "fail"


@pytest.mark.slow
def test_player_whose_engine_is_tested_as_another_plays_the_game_only() -> None:
    check = engine_check(uci("x", "--illegal-move", "2"))
    check.job = msgspec.structs.replace(check.job, tested_as="y")
    result = run_check(check)
    assert [(f.status, f.name) for f in result.findings] == [("fail", "game")]
    assert [str(problem)[:6] for problem in result.problems] == ["game: "]
    assert result.tested_as == "y"


# --- info lines, evidence


def test_highest_count_of_a_searchs_info_lines_counts() -> None:
    lines = b"info depth 3 nodes 70 pv e2e4\ninfo string nodes 99\ninfo score mate 0 nodes 60\n"
    search = Search(Thought("move", "a2a3", 0, info_lines=lines), 1.0)
    assert (search.most("nodes"), search.most("depth"), search.most("seldepth")) == (70, 3, None)
