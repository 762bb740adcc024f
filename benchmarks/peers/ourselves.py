"""ringmaster itself, as its command line plays a match."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

from peers.matches import Game, Manager, Match, read_pgn

CONTROL = """\
competition_type = "playoff"
game = {game!r}
players = {{code: Player({engine!r}, protocol={protocol!r}{limit}) for code in ("one", "two")}}
matchups = [Matchup("one", "two")]
number_of_games = {games}
{more}"""


def manager(*, record: bool = True) -> Manager:
    """Return ringmaster with its defaults, or without game records."""

    def command(match: Match, folder: Path) -> list[str]:
        more = "" if record else "record_games = False\n"
        if match.game == "go":
            more += f'board_size = {match.board_size}\nkomi = 7.5\nscorer = "internal"\n'
        elif match.expected is not None and match.game == "shogi":
            more += f"move_limit = {match.expected.plies}\n"
        if match.openings is not None:
            more += f"openings = Openings({str(match.openings)!r})\n"
        control = CONTROL.format(
            game=match.game,
            engine=list(match.engine),
            protocol=match.protocol,
            limit="" if match.protocol == "gtp" else f", nodes={match.nodes}",
            games=match.games,
            more=more,
        )
        (folder / "match.ctl").write_text(control)
        return [sys.executable, "-m", "ringmaster", "match.ctl", "run", "-j", str(match.slots)]

    return Manager("ringmaster" if record else "ringmaster, no records", command, _games)


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
