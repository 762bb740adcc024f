"""ringmaster itself, as its command line plays a match."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

from peers.matches import Game, Manager, Match, read_pgn

CONTROL = """\
competition_type = "playoff"
game = {game!r}
players = {{code: Player({engine!r}, protocol={protocol!r}{options}) for code in ("one", "two")}}
matchups = [Matchup("one", "two")]
number_of_games = {games}
{more}"""


def manager(
    *,
    record: bool = True,
    restart: str | None = None,
    games: Callable[[Path], list[Game]] | None = None,
) -> Manager:
    """Return ringmaster with its defaults, or without game records.

    restart  of its players: whether engines are kept from game to game; None is the
             default, which over GTP is not to
    games    reads what was played; by default from the PGN or the store
    """

    def command(match: Match, folder: Path) -> list[str]:
        more = "" if record else "record_games = False\n"
        if match.game == "go":
            more += f'board_size = {match.board_size}\nkomi = 7.5\nscorer = "internal"\n'
        elif match.expected is not None and match.game == "shogi":
            more += f"move_limit = {match.expected.plies}\n"
        if match.openings is not None:
            more += f"openings = Openings({str(match.openings)!r})\n"
        options = "" if match.protocol == "gtp" else f", nodes={match.nodes}"
        if restart is not None:
            options += f", restart={restart!r}"
        control = CONTROL.format(
            game=match.game,
            engine=list(match.engine),
            protocol=match.protocol,
            options=options,
            games=match.games,
            more=more,
        )
        (folder / "match.ctl").write_text(control)
        return [sys.executable, "-m", "ringmaster", "match.ctl", "run", "-j", str(match.slots)]

    return Manager("ringmaster" if record else "ringmaster, no records", command, games or _games)


def _games(folder: Path) -> list[Game]:
    """Return the games of the PGN; where none is written, of the store."""
    records = folder / "match.games.pgn"
    if records.exists():
        return read_pgn(records)
    connection = sqlite3.connect(folder / "match.status")
    try:
        found = connection.execute("SELECT score, plies FROM results WHERE outcome != 'void'")
        return [Game(score, plies) for score, plies in found]
    finally:
        connection.close()
