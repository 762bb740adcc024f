"""Misbehaving engine processes in a whole worker: result, duration, nothing left behind."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from ringmaster.model.jobs import CheckJob, GameJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import CheckResult, GameResult
from ringmaster.model.time_control import TimeControl
from ringmaster.play.worker import Worker
from tests.processes import under

ENGINES = Path(__file__).parent.parent / "engines"


def command(name: str, *flags: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(ENGINES / f"{name}.py"), *flags)


def uci(code: str, *flags: str, **limits: Any) -> Player:
    limits = limits or {"nodes": 1}
    return Player(code, command("fault_uci", "--plies", "40", *flags), protocol="uci", **limits)


def gtp(code: str, *flags: str, **settings: Any) -> Player:
    return Player(code, command("fault_gtp", *flags), **settings)


def play(
    worker: Worker,
    *players: Player,
    game: Any = "chess",
    id: str = "g",
    log: Path | None = None,
    of_faults: bool = False,
    **settings: Any,
) -> GameResult:
    if game == "go":
        settings = {"board_size": 5, "komi": 0.5, **settings}
    job = GameJob(
        id,
        (players[0], players[1]),
        GameSettings(game=game, **{"hang_timeout": 60, **settings}),
        transcript=None if log is None else str(log),
        transcript_of_faults=of_faults,
    )
    result = worker.run(job)
    assert isinstance(result, GameResult)
    return result


def sent_lines(log: Path, code: str) -> list[str]:
    """Return the commands of a transcript that went to a player."""
    words = [line.split() for line in log.read_text().splitlines()]
    return [" ".join(line[3:]) for line in words if line[1:3] == [code, ">"]]


@pytest.mark.parametrize(
    ("flags", "last_line"),
    [
        (["--hang-on", "go:3"], "its last line: bestmove"),
        (["--flood-on", "go:3"], "its last line: info string still here"),
    ],
)
@pytest.mark.slow
def test_engine_that_does_not_stop_when_its_clock_has_run_out_has_stalled(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, flags: list[str], last_line: str
) -> None:
    monkeypatch.setattr("ringmaster.play.game_runner.STOP_GRACE", 0.2)
    clock = TimeControl.parse("0.4")
    result = play(worker, uci("good"), uci("bad", *flags, time_control=clock))
    assert (result.outcome, result.winner, result.reason) == ("win", 0, "stall")
    assert result.forfeit
    assert "and none to 'stop' in 0.2 s more" in result.detail
    assert last_line in result.detail
    assert result.usage[1].slowest > 0.3


def test_engine_that_obeys_stop_after_its_deadline_loses_on_time_and_is_reused(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a busy machine takes its time
    monkeypatch.setattr("ringmaster.play.game_runner.STOP_GRACE", 20.0)
    pids = tmp_path / "pids"
    clock = TimeControl.parse("0.1")
    slow = uci("slow", "--slow", "1000", "--pid-file", str(pids), time_control=clock)
    for _ in range(2):
        result = play(worker, uci("good"), slow)
        assert (result.winner, result.reason, result.forfeit) == (0, "time", True)
        assert "slow: no answer to 'go" in result.detail
        assert re.search(r"; it answered \d+\.\d+ s later", result.detail)
    assert len(pids.read_text().split()) == 1


def test_engine_that_dies_when_its_time_is_up_loses_on_time(worker: Worker) -> None:
    clock = TimeControl.parse("0.1")
    bad = uci("bad", "--slow", "1000", "--crash-on-stop", time_control=clock)
    result = play(worker, uci("good"), bad)
    assert (result.winner, result.reason) == (0, "time")
    assert "it is gone now" in result.detail


@pytest.mark.parametrize(
    ("flags", "outcome", "reason"),
    [
        (["--crash-on", "go:3"], "win", "crash"),
        (["--crash-on", "uci"], "void", "start"),
        (["--crash-on", "ucinewgame"], "void", "crash"),
    ],
)
@pytest.mark.slow
def test_failures_lose_where_that_is_wanted_but_not_before_play_begins(
    worker: Worker, flags: list[str], outcome: str, reason: str
) -> None:
    result = play(worker, uci("good"), uci("bad", *flags), failures="loss")
    assert (result.outcome, result.reason, result.faulty) == (outcome, reason, 1)
    assert (result.winner, result.forfeit) == ((0, True) if outcome == "win" else (None, False))
    # neither engine plays another game
    assert under(str(ENGINES)) == []


def test_crash_on_a_clock_is_no_loss_on_time(worker: Worker) -> None:
    bad = uci("bad", "--spawn-child", "--crash-on", "go:2", time_control=TimeControl.parse("60"))
    assert play(worker, uci("good"), bad).reason == "crash"


@pytest.mark.slow
def test_hung_go_engine_gets_no_further_request(worker: Worker, tmp_path: Path) -> None:
    log = tmp_path / "log"
    bad = gtp("bad", "--hang-on", "genmove:2", "--cpu-time", "1")
    assert play(worker, gtp("good"), bad, game="go", hang_timeout=2, log=log).reason == "hang"
    requests = [line.split()[3] for line in log.read_text().splitlines() if " bad > " in line]
    assert requests.count("genmove") == 2
    assert requests[-1] == "genmove"


def test_enormous_timeout_is_no_fault(worker: Worker) -> None:
    assert play(worker, uci("a"), uci("b"), hang_timeout=1e9).reason == "mate"


def test_protocol_fault_names_the_engine_and_its_last_words(worker: Worker) -> None:
    bad = gtp("bad", "--garbage-on", "genmove:2", "--flood-stderr", "1")
    result = play(worker, gtp("good"), bad, game="go")
    assert (result.reason, result.faulty) == ("protocol", 1)
    assert result.detail.startswith("bad: ")
    assert "its last words" in result.detail


def test_long_refusal_is_cut(worker: Worker) -> None:
    result = play(worker, gtp("a"), gtp("b", "--fail", "genmove:" + "x" * 90_000), game="go")
    assert result.reason == "refused"
    assert len(result.detail) < 5000


def usi(code: str, *flags: str, **settings: Any) -> Player:
    return Player(code, command("fault_usi", *flags), protocol="usi", nodes=1, **settings)


@pytest.mark.parametrize("restart", ["auto", "on"])
@pytest.mark.parametrize(
    ("player", "game", "other_move"), [(uci, "chess", "h2h4"), (usi, "shogi", "1g1f")]
)
@pytest.mark.parametrize("flags", [("--late",), ()], ids=["late", "at once"])
@pytest.mark.parametrize("is_legal", [True, False])
def test_second_answer_to_a_search_does_not_answer_another_one(
    worker: Worker,
    player: Any,
    game: str,
    other_move: str,
    is_legal: bool,
    flags: Any,
    restart: str,
) -> None:
    move = other_move if is_legal else "a1b4"
    twice = player("twice", "--second-move", move, *flags, restart=restart)
    opponent = player("b")
    honest = play(worker, player("twice"), opponent, game=game, move_limit=12)
    games = [play(worker, twice, opponent, game=game, move_limit=12) for _ in range(3)]
    # Only the first late answer may go unnoticed.
    expected = games[1:] if flags else games
    assert [(each.reason, each.fingerprint) for each in expected] == [
        (honest.reason, honest.fingerprint)
    ] * len(expected)
    assert is_legal or not flags or games[0].reason == "illegal move"
    for result in games:
        assert result.usage[0].extra_moves > 0
        assert result.usage[1].extra_moves == 0
        ((code, note),) = [line for line in result.stderr if "without a search" in line[1]]
        assert code == "ringmaster"
        assert note.startswith("twice sent ")


def test_engine_that_is_slow_within_its_clock_does_not_lose(worker: Worker) -> None:
    clock = TimeControl.parse("10+0.1")
    result = play(worker, uci("slow", "--slow", "0.001", time_control=clock), uci("good"))
    assert result.reason == "mate"
    assert result.usage[0].thinking >= 0.02


@pytest.mark.parametrize(
    "flags",
    [
        ["--windows-newlines"],
        ["--echo-unknown"],
        ["--info", "50"],
        ["--daemon-child", "--lifetime", "30"],
    ],
)
def test_odd_habits_do_no_harm(worker: Worker, flags: list[str]) -> None:
    result = play(worker, uci("good"), uci("odd", *flags))
    assert (result.outcome, result.reason, result.plies) == ("win", "mate", 40)
    assert len(result.stderr) <= 2100


@pytest.mark.parametrize(
    ("clock", "together"), [(TimeControl.parse("0+25/1"), True), (None, False)]
)
@pytest.mark.parametrize(
    ("flags", "outcome", "reason", "message"),
    [
        (["--crash-on", "play:2", "--exit-code", "9"], "void", "crash", "after 'play b "),
        (["--hang-on", "play:2"], "void", "hang", "no answer to 'play b "),
        (["--garbage-on", "play:2"], "void", "protocol", "answer to 'play' is no GTP"),
        (["--twice", "play"], "void", "protocol", "unasked"),
        (["--fail", "play:cannot do that"], "win", "refused", "bad refused B1: cannot do that"),
        (["--fail", "play:illegal move"], "win", "illegal move", "bad calls B1 illegal"),
        (["--bestmove", " "], "win", "illegal move", "illegal move ''"),
        (["--twice", "genmove"], "void", "protocol", "unasked"),
    ],
)
@pytest.mark.slow
def test_fault_over_the_opponents_move_is_not_one_over_the_own(
    worker: Worker,
    flags: list[str],
    outcome: str,
    reason: str,
    message: str,
    clock: TimeControl | None,
    together: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not together:
        monkeypatch.setattr("ringmaster.engines.gtp._AHEAD_PATIENCE", 0.05)
        flags = [*flags, "--one-at-a-time"]
    bad = gtp("bad", *flags, time_control=clock)
    patience = 0.5 if reason == "hang" else 60
    settings: dict[str, Any] = {"scorer": "internal", "hang_timeout": patience}
    result = play(worker, gtp("good"), bad, game="go", **settings)
    assert (result.outcome, result.reason) == (outcome, reason)
    assert message in result.detail
    assert result.faulty == (0 if reason == "illegal move" and "--fail" in flags else 1)


@pytest.mark.parametrize("flags", [["--crash-on", "play"], ["--fail", "play:illegal move"]])
def test_engine_gets_no_move_when_its_opponent_resigns(worker: Worker, flags: list[str]) -> None:
    result = play(worker, gtp("bad", *flags), gtp("good", "--resign-at", "1"), game="go")
    assert (result.outcome, result.winner, result.reason) == ("win", 0, "resignation")


def test_engine_that_has_refused_a_move_stays_in_step(worker: Worker, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    bad = gtp("bad", "--fail", "play:illegal move", "--pid-file", str(pids), restart="off")
    results = [play(worker, gtp("good"), bad, game="go") for _ in range(3)]
    assert [result.detail for result in results] == ["bad calls B1 illegal"] * 3
    assert len(pids.read_text().split()) == 1


@pytest.mark.slow
def test_engine_that_thinks_on_after_it_has_refused_a_move_is_replaced(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringmaster.engines.gtp._REMAINDER", 0.05)
    pids = tmp_path / "pids"
    flags = ("--fail", "play:illegal move", "--slow", "100", "--pid-file", str(pids))
    bad = gtp("bad", *flags, restart="off")
    results = [play(worker, gtp("good"), bad, game="go") for _ in range(2)]
    assert [result.detail for result in results] == ["bad calls B1 illegal"] * 2
    assert len(pids.read_text().split()) == 2


def check(worker: Worker, player: Player, game: Any = "chess") -> CheckResult:
    settings = GameSettings(game=game, board_size=9, hang_timeout=0.5)
    result = worker.run(CheckJob("c", player, settings, show_stderr=True))
    assert isinstance(result, CheckResult)
    return result


def test_check_of_an_engine_without_a_handshake_ends_at_its_deadline(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringmaster.engines.engine.START_TIMEOUT", 0.3)
    result = check(worker, uci("mute", "--no-uciok"))
    assert tuple(map(str, result.problems)) == ("no answer to 'uci' in 0.5 s",)
