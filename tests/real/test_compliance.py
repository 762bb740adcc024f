"""The thorough check of real engines: good ones pass, known faults are findings."""

from __future__ import annotations

from typing import Any

import pytest

from ringmaster.engines.process import Surroundings
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import Finding
from ringmaster.model.time_control import TimeControl
from ringmaster.play.compliance.engine_check import EngineCheck, Patience, TranscriptTail
from ringmaster.play.compliance.examination import examine, list_tests, run_test
from ringmaster.play.compliance.first_tests import run_first_tests
from ringmaster.play.compliance.positions import dialect_of
from ringmaster.play.engine_pool import make_engine
from tests.requirements import engine

pytestmark = pytest.mark.real

#: What depends on how busy the machine is.
TIMED = {"movetime", "clock of the first side", "clock of the second side", "short clock"}
TIMED |= {"clock with an increment", "last move of a time control", "byo-yomi", "stop"}


def examined(game: Any, protocol: Any, *command: str, **limits: Any) -> list[Finding]:
    player = Player("x", (engine(command[0]), *command[1:]), protocol=protocol, **limits)
    settings = GameSettings(game=game, board_size=9, komi=6.5)
    result = examine(player, settings, lambda: make_engine(player, Surroundings({})))
    return [f for f in result.findings if f.status in ("warn", "fail") and f.name not in TIMED]


@pytest.mark.parametrize("name", ["stockfish", "fairy-stockfish"])
def test_chess_engine_obeys_uci(name: str) -> None:
    assert examined("chess", "uci", name, nodes=1000) == []


def test_gnugo_obeys_gtp() -> None:
    assert examined("go", "gtp", "gnugo", "--mode", "gtp") == []


def test_toga_ignores_nodes() -> None:
    (finding,) = examined("chess", "uci", "toga2", nodes=1000)
    assert (finding.status, finding.name) == ("fail", "nodes")
    (finding,) = examined("chess", "uci", "toga2", depth=3)
    assert (finding.status, finding.name) == ("warn", "nodes")


def test_ethereal_ignores_nodes() -> None:
    findings = examined("chess", "uci", "ethereal-chess", depth=3)
    assert "nodes" in {f.name for f in findings}
    assert all(f.status == "warn" for f in findings)


def test_fairy_stockfish_obeys_usi_except_for_its_clock() -> None:
    assert examined("shogi", "usi", "fairy-stockfish", nodes=1000) == []


def first_tests(monkeypatch: pytest.MonkeyPatch, *command: str, **limits: Any) -> list[str]:
    """Return what a run would warn of before its first game, had it time for all searches."""
    monkeypatch.setattr("ringmaster.play.compliance.first_tests.WHOLE", 60.0)
    player = Player("x", (engine(command[0]), *command[1:]), protocol="uci", **limits)
    settings = GameSettings("chess")
    process = make_engine(player, Surroundings({}))
    try:
        process.launch()
        assert process.check(settings) == []
        findings = run_first_tests(process, player, settings, (), own_limits=True)
    finally:
        process.end()
    return [finding.detail for finding in findings if finding.status == "warn"]


def test_first_tests_find_that_ethereal_ignores_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert first_tests(monkeypatch, "ethereal-chess", nodes=5000) == [
        "with nodes 5,000 it searched 7 nodes; with nodes 50,000 it searched 7 nodes"
    ]
    assert first_tests(monkeypatch, "ethereal-chess", depth=6) == []


@pytest.mark.parametrize("command", [["toga2"], ["gnuchess", "--uci"]], ids=["toga2", "gnuchess"])
def test_first_tests_find_engines_that_do_not_stop_at_their_nodes(
    monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    (detail,) = first_tests(monkeypatch, *command, nodes=1000)
    assert "it had to be stopped after" in detail


@pytest.mark.parametrize("name", ["stockfish", "fairy-stockfish", "glaurung"])
@pytest.mark.parametrize("nodes", [1, 500, 5000, 1_000_000])
def test_first_tests_do_not_accuse_engines_that_obey_nodes(
    monkeypatch: pytest.MonkeyPatch, name: str, nodes: int
) -> None:
    assert first_tests(monkeypatch, name, nodes=nodes) == []


def test_gpsshogi_ignores_an_increment_beside_byo_yomi() -> None:
    control = TimeControl.parse("600+1+60byo")
    command = ("gpsusi", "--memory-use-percent", "2")
    player = Player("x", (engine(command[0]), *command[1:]), protocol="usi", time_control=control)
    settings = GameSettings(game="shogi")
    check = EngineCheck(
        player,
        settings,
        lambda: make_engine(player, Surroundings({})),
        TranscriptTail(),
        Patience(),
        dialect_of(player, settings),
    )
    name = "clock with an increment"
    try:
        run_test(check, next(test for test in list_tests(player, ()) if test.name == name))
    finally:
        check.drop()
    finding = next(f for f in check.findings if f.name == name)
    assert finding.status == "fail"
    assert any("byoyomi 100" in line for line in finding.exchange)
