"""Gomill's ringmaster: https://mjw.woodcraft.me.uk/gomill/

    python benchmarks/peers/gomill.py "python2.7 PATH/ringmaster" [--rounds 5] [--short] [--json]

Gomill 0.8.3 is on the package index and wants Python 2.7.  Both programs play Go with
themselves by control files that say the same: engines that answer at once, two games at a
time, scored by the referee, with an SGF file a game.  Gomill starts its engines anew for
each game; ringmaster is measured as it does the same, which is its default too, and with
engines that are kept (`restart="off"`).
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
from rounds import Row, alternate, show_rows

from peers import ourselves
from peers.matches import Game, Manager, Match, cost

#: By board: games of the longer and the shorter match of Gomill, and the same of ours,
#: which has to play more to be measured at all.
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
    """Return Gomill's ringmaster; `command` is that of its interpreter and script."""

    def words(match: Match, folder: Path) -> list[str]:
        control = CONTROL.format(
            size=match.board_size, command=" ".join(match.engine), games=match.games
        )
        (folder / "match.ctl").write_text(control)
        return [*command.split(), "-q", "-j", str(match.slots), "match.ctl", "run"]

    return Manager("Gomill", words, lambda folder: read_sgf(folder / "match.games"))


def read_sgf(folder: Path) -> list[Game]:
    """Return the games of a folder of SGF files, one each."""
    games = []
    for path in folder.glob("*.sgf"):
        text = path.read_text()
        result = re.search(r"RE\[([^]]*)\]", text)
        plies = len(re.findall(r";[BW]\[", text))
        games.append(Game(result[1] if result else "*", plies))
    return games


def rows(path: str, *, rounds: int, short: bool) -> list[Row]:
    """Return games a second of Gomill and of ringmaster, on 9x9 and 19x19."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        engine = instant.build("instant", Path(name))
        ours = partial(ourselves.manager, games=lambda folder: read_sgf(folder / "match.games"))
        for board, (theirs, more) in BOARDS.items():
            of = instant.script(board, Path(name))
            match = Match(
                "go",
                of.protocol,
                instant.command(engine, of),
                theirs[0] // (2 if short else 1),
                2,
                1,
                board_size=of.board_size,
            )
            fewer = theirs[1] // (2 if short else 1)
            scale = more[0] // theirs[0]
            longer = match._replace(games=match.games * scale)
            figures = alternate(
                {
                    "Gomill": partial(cost, manager(path), match, fewer),
                    "anew": partial(cost, ours(), longer, fewer * scale),
                    "kept": partial(cost, ours(restart="off"), longer, fewer * scale),
                },
                rounds,
            )
            size = f"{of.board_size}x{of.board_size}"
            gomill = figures["Gomill"]
            for key, words, target in (
                ("anew", "started anew", ""),
                ("kept", "kept", ">= 20"),
            ):
                work = f"instant GTP engines, {size}, ours {words}"
                each = figures[key]
                found.append(Row(work, "games/s", "Gomill", gomill["games"], each["games"], target))
                found.append(Row(work, "own µs a ply", "Gomill", gomill["cpu"], each["cpu"]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="games a second beside Gomill")
    parser.add_argument("gomill", help="Gomill's ringmaster with its interpreter")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--short", action="store_true", help="one round of few games")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rounds = 1 if arguments.short else arguments.rounds
    found = rows(arguments.gomill, rounds=rounds, short=arguments.short)
    show_rows(found, as_json=arguments.json)


if __name__ == "__main__":
    main()
