"""Matches of one engine with itself, and what the program that plays them costs.

Two matches of different length are played, so that what it costs to start and to end a
program drops out: what is told is what the longer one took more, for the games that it
has more.  That every game was played, and to its end, is read from the records.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import meter
import scratch

#: What a match runner calls the two sides.
SIDES = ("one", "two")


class BadMatch(Exception):
    """A program has not played what it was asked to."""


class Game(NamedTuple):
    """How a game ended, and after how many plies."""

    result: str
    plies: int


class Match(NamedTuple):
    """What is to be played.

    game      "chess", "shogi" or "go"; board_size of the last
    engine    the command of both sides, without spaces in its words
    slots     games at a time
    openings  a file of FENs, each of which is played twice
    expected  how every game has to end, None where that is not known
    """

    game: str
    protocol: str
    engine: tuple[str, ...]
    games: int
    slots: int
    nodes: int
    openings: Path | None = None
    expected: Game | None = None
    board_size: int = 19


class Manager(NamedTuple):
    """A program that plays matches.

    command  given a match and an empty folder to work in, the command line
    games    the games that it has played, of what it left in the folder
    """

    name: str
    command: Callable[[Match, Path], Sequence[str]]
    games: Callable[[Path], list[Game]]


def cost(manager: Manager, match: Match, short: int) -> Mapping[str, float]:
    """Return what a program does with the games that a whole match has more than one of
    `short` games: "plies" and "games" a second, "cpu", the microseconds of its own CPU time
    that a ply takes, and the "length" of a game in plies; and the "seconds" of the whole
    match, start and end included.  Rates are nan where the machine was too busy to tell the
    longer match from the shorter one.

    Raises BadMatch, meter.ProgramFailed.
    """
    less, few = play(manager, match._replace(games=short))
    more, many = play(manager, match)
    games = len(many) - len(few)
    plies = sum(game.plies for game in many) - sum(game.plies for game in few)
    seconds = more.seconds - less.seconds
    if seconds <= 0:
        seconds = math.nan
    return {
        "plies": plies / seconds,
        "games": games / seconds,
        "cpu": (more.cpu - less.cpu) / plies * 1e6,
        "length": plies / games,
        "seconds": more.seconds,
    }


def play(manager: Manager, match: Match) -> tuple[meter.Cost, list[Game]]:
    """Play a match; returns what it cost and its games.  Raises BadMatch,
    meter.ProgramFailed."""
    folder = scratch.folder()
    command = manager.command(match, folder)
    # a program may start it in its own folder
    engine = f"/{Path(match.engine[0]).name}"
    found = meter.run(command, [engine], cwd=folder, log=folder / "output")
    games = manager.games(folder)
    if len(games) != match.games:
        raise BadMatch(f"{manager.name}: {len(games)} games of {match.games}")
    for game in games:
        if match.expected not in (None, game) or game.result == "*":
            raise BadMatch(f"{manager.name}: {game}, but {match.expected} was expected")
    return found, games


def read_pgn(path: Path) -> list[Game]:
    """Return the games of a PGN file, their plies counted from the moves."""
    games = []
    for block in re.split(r"\n\s*\n", path.read_text()):
        text = block.strip()
        if text.startswith("[") or not text:
            continue
        *moves, result = re.sub(r"\{[^}]*\}", " ", text).split()
        plies = sum(not re.fullmatch(r"\d+\.+", word) for word in moves)
        games.append(Game(result, plies))
    return games
