"""Gomill's ringmaster: https://mjw.woodcraft.me.uk/gomill/

    python benchmarks/peers/gomill.py "python2.7 PATH/ringmaster" [--rounds 5] [--short] [--json]

Gomill 0.8.3 is on the package index and needs Python 2.7.  Both programs play Go by equal
control files: engines that answer at once, two games at a time, scored by the referee, with an
SGF file a game.  Gomill restarts its engines for each game.  ringmaster is measured with
restarted engines (its default) and with engines kept from game to game (`restart="off"`).
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from functools import partial
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

import instant
from common import Row, alternate, show_rows

from peers.matches import Game, Manager, Match, cost, ringmaster

#: By board: games of the longer and the shorter match of Gomill, and of ringmaster, which needs
#: more games for a measurable time.
BOARDS = {"go9": ((24, 8), (1200, 400)), "go19": ((12, 4), (600, 200))}

CONTROL = """\
competition_type = "playoff"
board_size = {size}
komi = 7.5
players = {{code: Player({command!r}) for code in ("one", "two")}}
matchups = [Matchup("one", "two", scorer="internal", number_of_games={games})]
record_games = True
"""


def manager(command: str) -> Manager:
    """Return Gomill's ringmaster; `command` has its interpreter and script."""

    def words(match: Match, folder: Path) -> list[str]:
        control = CONTROL.format(
            size=match.board_size, command=" ".join(match.engine), games=match.games
        )
        (folder / "match.ctl").write_text(control)
        return [*command.split(), "-q", "-j", str(match.slots), "match.ctl", "run"]

    return Manager("Gomill", words, lambda folder: read_sgf(folder / "match.games"))


def read_sgf(folder: Path) -> list[Game]:
    """Return the games of a folder with one SGF file a game."""
    games = []
    for path in folder.glob("*.sgf"):
        text = path.read_text()
        result = re.search(r"RE\[([^]]*)\]", text)
        plies = len(re.findall(r";[BW]\[", text))
        games.append(Game(result[1] if result else "*", plies))
    return games


def rows(path: str, *, rounds: int, short: bool) -> list[Row]:
    """Return games a second of Gomill and of ringmaster, on 9x9 and 19x19."""
    table = []
    with tempfile.TemporaryDirectory() as name:
        engine = instant.build("instant", Path(name))
        ours = partial(ringmaster, games=lambda folder: read_sgf(folder / "match.games"))
        for board, (theirs, more) in BOARDS.items():
            script = instant.script(board, Path(name))
            match = Match(
                "go",
                script.protocol,
                instant.command(engine, script),
                theirs[0] // (2 if short else 1),
                2,
                1,
                board_size=script.board_size,
            )
            fewer = theirs[1] // (2 if short else 1)
            scale = more[0] // theirs[0]
            longer = match._replace(games=match.games * scale)
            figures = alternate(
                {
                    "Gomill": partial(cost, manager(path), match, fewer),
                    "restarted": partial(cost, ours(), longer, fewer * scale),
                    "kept": partial(cost, ours(restart="off"), longer, fewer * scale),
                },
                rounds,
            )
            size = f"{script.board_size}x{script.board_size}"
            gomill = figures["Gomill"]
            for key, target in (
                ("restarted", ""),
                ("kept", ">= 20"),
            ):
                work = f"instant GTP engines, {size}, ours {key}"
                each = figures[key]
                table.append(Row(work, "games/s", "Gomill", gomill["games"], each["games"], target))
                table.append(Row(work, "own µs a ply", "Gomill", gomill["cpu"], each["cpu"]))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description="games a second beside Gomill")
    parser.add_argument("gomill", help="Gomill's ringmaster with its interpreter")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--short", action="store_true", help="one round of few games")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rounds = 1 if arguments.short else arguments.rounds
    table = rows(arguments.gomill, rounds=rounds, short=arguments.short)
    show_rows(table, as_json=arguments.json)


if __name__ == "__main__":
    main()
