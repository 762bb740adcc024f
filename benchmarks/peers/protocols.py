"""ringmaster over USI and GTP beside ringmaster over UCI, with engines that answer at once."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

import instant
from rounds import Row, alternate

from peers import ourselves
from peers.matches import Game, Match, cost

TARGET = ">= 0.75"


class Work(NamedTuple):
    """What is played over a protocol.

    result   how every game ends, None where that is not known
    games    of the longer and of the shorter match
    restart  of the players, None: as it is by default
    """

    name: str
    script: str
    result: str | None
    games: tuple[int, int]
    restart: str | None = None
    target: str = TARGET


#: Over GTP an engine is started anew for each game unless the control file says otherwise;
#: a ply is what the target is about.  The game of shogi has no end of its own: a limit of
#: moves makes it a draw.
UCI = Work("instant UCI engines, chess", "chess", "0-1", (600, 200))
WORKS = (
    Work("instant USI engines, shogi", "shogi", "1/2-1/2", (600, 200)),
    Work("instant GTP engines, 9x9, kept", "go9", None, (600, 200), "off"),
    Work("instant GTP engines, 9x9, started anew", "go9", None, (600, 200), target=""),
    Work("instant GTP engines, 19x19, kept", "go19", None, (600, 200), "off"),
    Work("instant GTP engines, 19x19, started anew", "go19", None, (600, 200), target=""),
)


def rows(*, rounds: int, short: bool) -> list[Row]:
    """Return the plies a second of each protocol beside those over UCI, two games at a
    time, with records."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine = instant.build("instant", folder)
        measures = {}
        for work in (UCI, *WORKS):
            of = instant.script(work.script, folder)
            games, fewer = (12, 4) if short else work.games
            match = Match(
                work.script.rstrip("0123456789"),
                of.protocol,
                instant.command(engine, of),
                games,
                2,
                1,
                expected=None if work.result is None else Game(work.result, of.plies),
                board_size=of.board_size,
            )
            ours = ourselves.manager(restart=work.restart)
            measures[work.name] = partial(cost, ours, match, fewer)
        figures = alternate(measures, rounds)
    base = figures[UCI.name]["plies"]
    return [
        Row(work.name, "plies/s", "our UCI", base, figures[work.name]["plies"], work.target)
        for work in WORKS
    ]
