"""The choice of engines for players, and the end of the others."""

from __future__ import annotations

from typing import Any

import pytest

from ringmaster.engines.engine import Engine
from ringmaster.engines.process import Surroundings
from ringmaster.model.players import Player
from ringmaster.play.engine_pool import EnginePool
from tests.play.scripted import Scripted

NOWHERE = Surroundings({})


def uci(code: str, command: str = "x", **settings: Any) -> Player:
    return Player(code, (command,), protocol="uci", nodes=1, **settings)


class Pool:
    def __init__(self) -> None:
        self.new_engines: list[Scripted] = []
        self.pool = EnginePool(self._make)

    def _make(self, player: Player, surroundings: Surroundings) -> Engine:
        self.new_engines.append(Scripted(player, []))
        return self.new_engines[-1]

    def game(self, *players: Player, healthy: bool = True) -> tuple[Engine, Engine]:
        first, second = self.pool.take(players, NOWHERE)
        engines = first, second
        for engine in engines:
            if not engine.is_usable():
                engine.launch()
        self.pool.give_back(engines, healthy)
        return engines


def test_uci_engines_stay_with_their_players_when_colours_swap() -> None:
    pool = Pool()
    a, b = pool.game(uci("a"), uci("b"))
    assert pool.game(uci("b"), uci("a")) == (b, a)
    assert [engine.launches for engine in pool.new_engines] == [1, 1]


def test_player_with_other_options_is_served_by_the_same_process() -> None:
    pool = Pool()
    first = pool.game(uci("a", options={"X": 1}), uci("b"))
    second = pool.game(uci("a", options={"X": 2}), uci("b"))
    assert first == second
    assert second[0].player.options == {"X": 2}


@pytest.mark.parametrize(
    "settings",
    [{"max_memory": 1}, {"max_cpu": 1.0}, {"max_processes": 1}, {"sandbox": True}],
    ids=str,
)
def test_player_with_other_limits_gets_another_process(settings: dict[str, Any]) -> None:
    pool = Pool()
    first = pool.game(uci("a"), uci("b"))
    second = pool.game(uci("a", **settings), uci("b"))
    assert second[0] is not first[0]
    assert second[1] is first[1]


def test_one_process_never_serves_both_players() -> None:
    pool = Pool()
    a, b = pool.game(uci("a"), uci("a"))
    assert a is not b


@pytest.mark.parametrize("a", [Player("a", ("x",)), uci("a", restart="on")], ids=["gtp", "on"])
def test_gtp_engines_are_new_for_each_game_unless_kept_on_request(a: Player) -> None:
    pool, reused = Pool(), Player("k", ("y",), restart="off")
    first, second = pool.game(a, reused), pool.game(a, reused)
    assert first[0] is not second[0]
    assert first[1] is second[1]


def test_unhealthy_engines_are_ended() -> None:
    pool = Pool()
    pool.game(uci("a"), uci("b"), healthy=False)
    assert [engine.is_usable() for engine in pool.new_engines] == [False, False]


def test_dead_engine_is_not_reused() -> None:
    pool = Pool()
    a, _ = pool.game(uci("a"), uci("b"))
    a.end()
    assert pool.game(uci("a"), uci("b"))[0] is not a


def test_engines_that_the_next_game_does_not_need_are_ended() -> None:
    pool = Pool()
    a, b = pool.game(uci("a"), uci("b"))
    pool.game(uci("c", "z"), uci("b"))
    assert (a.is_usable(), b.is_usable()) == (False, True)


def test_close_ends_all() -> None:
    pool = Pool()
    pool.game(uci("a"), uci("b"))
    pool.pool.close()
    assert not any(engine.is_usable() for engine in pool.new_engines)


def gtp(code: str, *commands: str, **settings: Any) -> Player:
    words = tuple(tuple(command.split()) for command in commands)
    return Player(code, ("x",), restart="off", startup_gtp_commands=words, **settings)


def test_gtp_engine_serves_another_player_that_sends_it_the_same_commands() -> None:
    pool = Pool()
    b = gtp("b", "set B 1")
    first = pool.game(gtp("a1", "set A 1"), b)
    assert pool.game(gtp("a2", "set A 2"), b)[0] is first[0]


def test_gtp_engine_does_not_carry_the_commands_of_one_player_to_another() -> None:
    pool = Pool()
    b = gtp("b", "set B 1")
    first = pool.game(gtp("a1", "set A 1"), b)
    assert pool.game(gtp("a2"), b)[0] is not first[0]
    assert pool.game(gtp("a3", "quiet"), b)[0] is not pool.game(gtp("a4", "loud"), b)[0]


def test_gtp_engine_does_not_carry_its_clock_to_a_player_with_another_or_none() -> None:
    pool = Pool()
    b = gtp("b", "set B 1")
    first = pool.game(gtp("a", move_time=5.0), b)
    assert pool.game(gtp("a2", move_time=5.0), b)[0] is first[0]
    second = pool.game(gtp("a", move_time=0.5), b)
    assert second[0] is not first[0]
    assert pool.game(gtp("a"), b)[0] is not second[0]
