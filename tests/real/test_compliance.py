"""The thorough check of real engines: good ones pass, known faults are findings."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ringmaster.engines.engine import Engine
from ringmaster.engines.process import Surroundings
from ringmaster.model.jobs import CheckJob, GameSettings
from ringmaster.model.players import Player
from ringmaster.model.results import Finding
from ringmaster.model.time_control import TimeControl
from ringmaster.play.compliance.engine_check import FIRST_GAME, EngineCheck
from ringmaster.play.compliance.protocol_tests import run_check
from ringmaster.play.engine_pool import make_engine
from tests.requirements import engine

pytestmark = pytest.mark.real

#: Tests that depend on how busy the machine is.
TIMED = {"clock", "stop", "isready during a search"}


def findings(game: Any, protocol: Any, *command: str, **limits: Any) -> list[Finding]:
    """Return the faults of a thorough check."""
    player = Player("x", (engine(command[0]), *command[1:]), protocol=protocol, **limits)
    job = CheckJob("c", player, GameSettings(game, board_size=9, komi=6.5), thorough=True)

    def make(player: Player) -> Engine:
        return make_engine(player, Surroundings({}))

    result = run_check(EngineCheck(job, lambda: make(player), make))
    return [f for f in result.findings if f.status in ("warn", "fail")]


def faults(game: Any, protocol: Any, *command: str, **limits: Any) -> list[tuple[str, str]]:
    found = findings(game, protocol, *command, **limits)
    return [(f.status, f.name) for f in found if f.name not in TIMED]


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
    assert faults(game, protocol, *command, **limits) == []


def test_limit_that_toga_ignores_fails_only_a_player_that_has_it() -> None:
    assert faults("chess", "uci", "toga2", nodes=1000) == [("fail", "nodes")]
    assert faults("chess", "uci", "toga2", depth=3) == []


def first_tests(*command: str, load: float | None = None, **limits: Any) -> list[str]:
    """Return faults seen before a first game, had it time for all searches.

    load  of the machine, which excuses lateness; by default the present one
    """
    player = Player("x", (engine(command[0]), *command[1:]), protocol="uci", **limits)
    job = CheckJob("c", player, GameSettings("chess"), limits=True)
    patience = dataclasses.replace(FIRST_GAME, limits=60.0)
    make = make_engine(player, Surroundings({}))
    check = EngineCheck(job, lambda: make, lambda _: make, patience=patience)
    check.load = check.load if load is None else load
    result = run_check(check)
    assert result.problems == ()
    return [f.detail for f in result.findings if f.status in ("warn", "fail")]


def test_first_tests_find_that_ethereal_ignores_nodes() -> None:
    assert first_tests("ethereal-chess", nodes=5000) == [
        "with nodes 5,000 it searched 7 nodes; with nodes 50,000 it searched 7 nodes"
    ]
    assert first_tests("ethereal-chess", depth=6) == []


@pytest.mark.parametrize("command", [["toga2"], ["gnuchess", "--uci"]], ids=["toga2", "gnuchess"])
def test_first_tests_find_engines_that_do_not_stop_at_their_nodes(command: list[str]) -> None:
    (detail,) = first_tests(*command, load=0.0, nodes=1000)
    assert "it had to be stopped after" in detail


@pytest.mark.parametrize("name", ["stockfish", "fairy-stockfish", "glaurung"])
@pytest.mark.parametrize("nodes", [1, 1_000_000])
def test_first_tests_do_not_accuse_engines_that_obey_nodes(name: str, nodes: int) -> None:
    assert first_tests(name, nodes=nodes) == []


def test_gpsshogi_dies_of_an_increment_beside_byo_yomi() -> None:
    control = TimeControl.parse("600+1+60byo")
    command = ("gpsusi", "--memory-use-percent", "2")
    (finding, *_) = findings("shogi", "usi", *command, time_control=control)
    assert (finding.status, finding.name) == ("fail", "limits")
    assert any("byoyomi 200 binc 100" in line for line in finding.exchange)
