"""ringmaster over USI and GTP beside ringmaster over UCI, with engines that answer at once."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import instant
from rounds import Row, alternate

from peers import ourselves
from peers.matches import Game, Match, cost

TARGET = ">= 0.75"
#: What is played over each protocol, how it ends, and the games of the longer and the
#: shorter match.  The game of shogi has
#: no end of its own: a limit of moves makes it a draw.
SCRIPTS = {
    "chess": ("instant UCI engines, chess", "0-1", (80, 20)),
    "shogi": ("instant USI engines, shogi", "1/2-1/2", (80, 20)),
    "go9": ("instant GTP engines, 9x9", None, (80, 20)),
    "go19": ("instant GTP engines, 19x19", None, (40, 10)),
}


def rows(*, rounds: int, short: bool) -> list[Row]:
    """Return the plies a second of each protocol beside those over UCI, two games at a
    time, with records."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine = instant.build("instant", folder)
        measures = {}
        for key, (_, result, lengths) in SCRIPTS.items():
            of = instant.script(key, folder)
            games, fewer = (12, 4) if short else lengths
            match = Match(
                key.rstrip("0123456789"),
                of.protocol,
                instant.command(engine, of),
                games,
                2,
                1,
                expected=None if result is None else Game(result, of.plies),
                board_size=of.board_size,
            )
            measures[key] = partial(cost, ourselves.manager(), match, fewer)
        figures = alternate(measures, rounds)
    base = figures.pop("chess")["plies"]
    return [
        Row(SCRIPTS[key][0], "plies/s", "our UCI", base, each["plies"], TARGET)
        for key, each in figures.items()
    ]
