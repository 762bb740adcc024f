"""The shogi engines that Debian has, over USI: gpsusi and Fairy-Stockfish."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ringmaster.engines.engine import Limits, start_timeout
from ringmaster.engines.process import Surroundings
from ringmaster.engines.usi import UsiEngine
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import Player
from tests.real.engines import engine

pytestmark = pytest.mark.real

SHOGI = GameSettings("shogi")
BYOYOMI = Limits(30.0, clock_ms=(0, 0), byoyomi_ms=1000)
LANCE_DOWN = "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"


@contextmanager
def launched(name: str, **settings: Any) -> Iterator[UsiEngine]:
    player = Player(name, (engine(name),), protocol="usi", **{"nodes": 500, **settings})
    made = UsiEngine(player, Surroundings({}))
    made.launch(timeout=start_timeout(SHOGI, player))
    try:
        yield made
    finally:
        made.end(patience=0.5)


def test_gpsusi_plays_by_the_clock_and_lives_on_from_game_to_game() -> None:
    # it has no other limit than a clock, and takes what it does not declare
    options = {"LimitDepth": 4, "Thread": 1, "USI_Hash": 16}
    with launched("gpsusi", options=options, nodes=None) as made:
        assert made.name.startswith("gpsshogi")
        for opening, colour in ((Opening(), 0), (Opening(LANCE_DOWN, ("3c3d",)), 0)):
            made.start_game(SHOGI, opening, colour)
            thought = made.think(colour, BYOYOMI)
            assert thought.kind == "move"
            assert len(thought.move) in (4, 5)
            made.end_game("win")
            assert made.is_alive()


def test_fairy_stockfish_speaks_usi_when_it_is_told_to() -> None:
    options: dict[str, Any] = {"Hash": 4, "UCI_Variant": "shogi"}
    with launched("fairy-stockfish", options=options, ponder=True) as made:
        assert "Fairy" in made.name
        assert made.check(SHOGI) == []
        made.start_game(SHOGI, Opening(), 0)
        limits = Limits(10.0, nodes=3000)
        first = made.think(0, limits)
        assert first.score is not None
        assert first.nodes is not None
        assert first.pv[0] == first.move
        made.observe(0, first.move, own=True)
        assert made.ponder(0, BYOYOMI) is not None
        made.observe(1, first.ponder, own=False)
        assert len(made.think(0, BYOYOMI).move) in (4, 5)
        made.end_game("draw")
        made.start_game(SHOGI, Opening(LANCE_DOWN), 1)
        assert made.think(1, limits).kind == "move"
