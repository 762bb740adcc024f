"""Matches of one UCI engine with itself, by ringmaster or fastchess, and the program's cost.

The cost is the difference of two matches of different length, which excludes start and end of
the program.  The records show that each game was completed.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import meter
from common import empty_folder

#: Attempts to measure two matches of which the longer takes more time.
TRIES = 5
#: Names of the two sides in a match runner.
SIDES = ("one", "two")

CONTROL = """\
competition_type = "playoff"
game = "chess"
players = {{code: Player({engine!r}, protocol="uci", nodes={nodes}) for code in ("one", "two")}}
matchups = [Matchup("one", "two")]
number_of_games = {games}
{more}"""


class BadMatch(Exception):
    """A program has not played the requested games."""


class Game(NamedTuple):
    """The result of a game, and its plies."""

    result: str
    plies: int


class Match(NamedTuple):
    """A match to play.

    engine    the command of both sides, without spaces in its words
    slots     games at a time
    openings  a file of FENs, each played twice
    expected  the end of every game, None if unknown
    """

    engine: tuple[str, ...]
    games: int
    slots: int
    nodes: int
    openings: Path | None = None
    expected: Game | None = None


class Manager(NamedTuple):
    """A program that plays matches.

    command  makes the command line for a match and an empty folder
    games    reads the played games from the folder
    """

    name: str
    command: Callable[[Match, Path], Sequence[str]]
    games: Callable[[Path], list[Game]]


def cost(manager: Manager, match: Match, short: int) -> Mapping[str, float]:
    """Measure the additional games of a match over a match of `short` games.

    Return "plies" and "games" a second, "cpu" (microseconds of the program's own CPU a ply),
    "length" (plies a game), and "seconds" of the whole match, start and end included.

    On a busy machine the shorter match may take longer; then both are repeated.
    Raises BadMatch, also after TRIES repetitions; meter.ProgramFailed.
    """
    for _ in range(TRIES):
        less, few = play(manager, match._replace(games=short))
        more, many = play(manager, match)
        seconds = more.seconds - less.seconds
        if seconds > 0:
            break
    else:
        raise BadMatch(
            f"{manager.name}: {match.games} games took less time than {short}, {TRIES} times; "
            "the machine is too busy to measure"
        )
    games = len(many) - len(few)
    plies = sum(game.plies for game in many) - sum(game.plies for game in few)
    return {
        "plies": plies / seconds,
        "games": games / seconds,
        "cpu": (more.cpu - less.cpu) / plies * 1e6,
        "length": plies / games,
        "seconds": more.seconds,
    }


def play(manager: Manager, match: Match) -> tuple[meter.Cost, list[Game]]:
    """Play a match; return its cost and games.  Raises BadMatch, meter.ProgramFailed."""
    folder = empty_folder()
    command = manager.command(match, folder)
    # a program may start the engine in the engine's own folder
    engine = f"/{Path(match.engine[0]).name}"
    match_cost = meter.run(command, [engine], cwd=folder, log=folder / "output")
    games = manager.games(folder)
    if len(games) != match.games:
        raise BadMatch(f"{manager.name}: {len(games)} games of {match.games}")
    for game in games:
        if match.expected not in (None, game) or game.result == "*":
            raise BadMatch(f"{manager.name}: {game}, but {match.expected} was expected")
    return match_cost, games


def ringmaster(*, record: bool = True) -> Manager:
    """Return ringmaster with its defaults, or without game records."""

    def command(match: Match, folder: Path) -> list[str]:
        more = "" if record else "record_games = False\n"
        if match.openings is not None:
            more += f"openings = Openings({str(match.openings)!r})\n"
        control = CONTROL.format(
            engine=list(match.engine), nodes=match.nodes, games=match.games, more=more
        )
        (folder / "match.ctl").write_text(control)
        return [sys.executable, "-m", "ringmaster", "match.ctl", "run", "-j", str(match.slots)]

    name = "ringmaster" if record else "ringmaster, no records"
    return Manager(name, command, _recorded_games)


def fastchess(path: str) -> Manager:
    """Return fastchess; a lost engine does not end the match."""

    def command(match: Match, folder: Path) -> list[str]:
        program, *arguments = match.engine
        words = [path]
        for side in SIDES:
            words += ["-engine", f"name={side}", f"cmd={program}"]
            words += [f"args={' '.join(arguments)}"] if arguments else []
        words += ["-each", f"nodes={match.nodes}", "-recover"]
        words += ["-rounds", str(match.games // 2), "-games", "2"]
        words += ["-concurrency", str(match.slots), "-force-concurrency"]
        words += ["-pgnout", "file=games.pgn"]
        if match.openings is not None:
            words += ["-openings", f"file={match.openings}", "format=epd", "order=sequential"]
        return words

    return Manager("fastchess", command, lambda folder: read_pgn(folder / "games.pgn"))


def _recorded_games(folder: Path) -> list[Game]:
    """Return the games of the PGN; of the store if there is no PGN."""
    records = folder / "match.games.pgn"
    if records.exists():
        return read_pgn(records)
    connection = sqlite3.connect(folder / "match.status")
    try:
        rows = connection.execute("SELECT score, plies FROM results WHERE outcome != 'void'")
        return [Game(score, plies) for score, plies in rows]
    finally:
        connection.close()


def read_pgn(path: Path) -> list[Game]:
    """Return the games of a PGN file; plies are counted from the moves."""
    games = []
    for block in re.split(r"\n\s*\n", path.read_text()):
        text = block.strip()
        if text.startswith("[") or not text:
            continue
        *moves, result = re.sub(r"\{[^}]*\}", " ", text).split()
        plies = sum(not re.fullmatch(r"\d+\.+", word) for word in moves)
        games.append(Game(result, plies))
    return games
