"""The thorough check of real engines: good ones pass, known faults are findings."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ringmaster.engines.process import Surroundings
from ringmaster.model.jobs import GameSettings
from ringmaster.model.players import Player
from ringmaster.model.time_control import TimeControl
from ringmaster.play.compliance import examination
from ringmaster.play.compliance.check_uci import try_limits
from ringmaster.play.compliance.engine_check import EngineCheck
from ringmaster.play.compliance.examination import examine, run_first_tests, run_test
from ringmaster.play.engine_pool import make_engine
from tests.requirements import engine

pytestmark = pytest.mark.real

#: Tests that depend on how busy the machine is.
TIMED = {"clock", "stop", "isready during a search"}


def examined(game: Any, protocol: Any, *command: str, **limits: Any) -> list[tuple[str, str]]:
    """Return the status and name of each fault."""
    player = Player("x", (engine(command[0]), *command[1:]), protocol=protocol, **limits)
    settings = GameSettings(game=game, board_size=9, komi=6.5)
    result = examine(player, settings, lambda: make_engine(player, Surroundings({})))
    faults = [(f.status, f.name) for f in result.findings if f.status in ("warn", "fail")]
    return [(status, name) for status, name in faults if name not in TIMED]


@pytest.mark.parametrize(
    ("game", "protocol", "command", "limits"),
    [
        ("chess", "uci", ["stockfish"], {"nodes": 1000}),
        ("chess", "uci", ["glaurung"], {"time_control": TimeControl.parse("10+0.1")}),
        ("shogi", "usi", ["fairy-stockfish"], {"nodes": 1000}),
        ("go", "gtp", ["gnugo", "--mode", "gtp", "--level", "1"], {}),
    ],
    ids=["stockfish", "glaurung", "fairy-stockfish", "gnugo"],
)
def test_engine_obeys_its_protocol(
    game: str, protocol: str, command: list[str], limits: dict[str, Any]
) -> None:
    assert examined(game, protocol, *command, **limits) == []


def test_limit_that_toga_ignores_fails_only_a_player_that_has_it() -> None:
    assert examined("chess", "uci", "toga2", nodes=1000) == [("fail", "nodes")]
    assert examined("chess", "uci", "toga2", depth=3) == []


def first_tests(monkeypatch: pytest.MonkeyPatch, *command: str, **limits: Any) -> list[str]:
    """Return what a run would warn of before its first game, had it time for all searches."""
    patience = dataclasses.replace(examination.TRIAL, limits=60.0)
    monkeypatch.setattr(examination, "TRIAL", patience)
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
@pytest.mark.parametrize("nodes", [1, 1_000_000])
def test_first_tests_do_not_accuse_engines_that_obey_nodes(
    monkeypatch: pytest.MonkeyPatch, name: str, nodes: int
) -> None:
    assert first_tests(monkeypatch, name, nodes=nodes) == []


def test_gpsshogi_dies_of_an_increment_beside_byo_yomi() -> None:
    control = TimeControl.parse("600+1+60byo")
    command = (engine("gpsusi"), "--memory-use-percent", "2")
    player = Player("x", command, protocol="usi", time_control=control)
    settings = GameSettings(game="shogi")
    check = EngineCheck(player, settings, lambda: make_engine(player, Surroundings({})))
    try:
        run_test(check, ("limits", try_limits))
    finally:
        check.drop()
    (finding,) = check.findings
    assert finding.status == "fail"
    assert any("byoyomi 200 binc 100" in line for line in finding.exchange)
