"""The shogi engines that Debian has, over USI: gpsusi and Fairy-Stockfish."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ringmaster.engines.engine import Limits, start_timeout
from ringmaster.engines.process import Surroundings
from ringmaster.engines.uci import UsiEngine
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import Player
from tests.requirements import engine

pytestmark = pytest.mark.real

SHOGI = GameSettings("shogi")
BYOYOMI = Limits(30.0, clock_ms=(0, 0), byoyomi_ms=1000)
LANCE_DOWN = "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


@contextmanager
def launched(name: str, **settings: Any) -> Iterator[UsiEngine]:
    player = Player(name, (engine(name),), protocol="usi", **{"nodes": 500, **settings})
    launched_engine = UsiEngine(player, Surroundings({}))
    launched_engine.launch(timeout=start_timeout(SHOGI, player))
    try:
        yield launched_engine
    finally:
        launched_engine.end(patience=0.5)


def test_gpsusi_plays_by_the_clock_and_lives_on_from_game_to_game() -> None:
    # Its only limit is a clock; it accepts undeclared options.
    options = {"LimitDepth": 4, "Thread": 1, "USI_Hash": 16}
    with launched("gpsusi", options=options, nodes=None) as launched_engine:
        assert launched_engine.name.startswith("gpsshogi")
        for opening, colour in ((Opening(), 0), (Opening(LANCE_DOWN, ("3c3d",)), 0)):
            launched_engine.start_game(SHOGI, opening, colour)
            thought = launched_engine.think(colour, BYOYOMI)
            assert thought.kind == "move"
            assert len(thought.move) in (4, 5)
            launched_engine.end_game("win")
            assert launched_engine.is_usable()


def test_fairy_stockfish_speaks_usi_on_request() -> None:
    options: dict[str, Any] = {"Hash": 4, "UCI_Variant": "shogi"}
    with launched("fairy-stockfish", options=options, ponder=True) as launched_engine:
        assert "Fairy" in launched_engine.name
        assert launched_engine.check(SHOGI) == []
        launched_engine.start_game(SHOGI, Opening(), 0)
        limits = Limits(10.0, nodes=3000)
        first = launched_engine.think(0, limits)
        assert first.score_and_mate()[0] is not None
        assert first.number("nodes") is not None
        assert first.pv[0] == first.move
        launched_engine.observe(0, first.move, own=True)
        assert launched_engine.ponder(0, BYOYOMI) is not None
        launched_engine.observe(1, first.ponder, own=False)
        assert len(launched_engine.think(0, BYOYOMI).move) in (4, 5)
        launched_engine.end_game("draw")
        launched_engine.start_game(SHOGI, Opening(LANCE_DOWN), 1)
        assert launched_engine.think(1, limits).kind == "move"
