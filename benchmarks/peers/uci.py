"""Match runners for UCI engines, and the matches of each beside ringmaster.

fastchess      https://github.com/Disservin/fastchess
c-chess-cli    https://github.com/lucasart/c-chess-cli
cutechess-cli  https://github.com/cutechess/cutechess
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import instant
from common import Row, alternate

from peers.matches import SIDES, Game, Manager, Match, cost, read_pgn, ringmaster

BOOK = Path(__file__).parent.parent.parent / "controlfiles" / "openings.epd"
#: Lines of the book, each played twice.
OPENINGS = 55
#: Nodes a move of a real engine.
NODES = 1000


class Work(NamedTuple):
    """One kind of match.

    flags   of the instant engine; None: the engine is Stockfish
    games   of the longer match and of the shorter one, and the same in the short form
    target  of plies (Stockfish: games) a second, as a ratio to fastchess
    """

    slots: int
    flags: tuple[str, ...] | None
    games: tuple[int, int]
    short: tuple[int, int]
    target: str

    def __str__(self) -> str:
        engine = f"stockfish nodes={NODES}" if self.flags is None else "instant UCI engines"
        info = f", {self.flags[1]} info lines" if self.flags else ""
        return f"{engine}{info}, {self.slots} at a time"


#: By their names on the command line.
WORKS = {
    "instant-1": Work(1, (), (220, 20), (12, 4), ">= 2.0"),
    "instant-2": Work(2, (), (220, 20), (12, 4), ">= 1.8"),
    "info-1": Work(1, ("--info", "20"), (220, 20), (12, 4), ">= 2.0"),
    "info-2": Work(2, ("--info", "20"), (220, 20), (12, 4), ">= 1.8"),
    "stockfish": Work(2, None, (110, 10), (6, 2), ">= 1.0"),
}
CPU_TARGET = "<= 0.5"
#: Of the time of a whole match, also on a busy machine.
MATCH_TARGET = "<= 1.1"
BARE = "bare loop in C"


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

    return Manager("fastchess", command, _read_games)


def c_chess_cli(path: str) -> Manager:
    """Return c-chess-cli with its fullest PGN, which is its default."""

    def command(match: Match, folder: Path) -> list[str]:
        words = [path]
        for side in SIDES:
            words += ["-engine", f"name={side}", f"cmd={' '.join(match.engine)}"]
        words += ["-each", f"nodes={match.nodes}", "-games", str(match.games)]
        words += ["-concurrency", str(match.slots), "-pgn", "games.pgn"]
        if match.openings is not None:
            words += ["-openings", f"file={match.openings}", "-repeat"]
        return words

    return Manager("c-chess-cli", command, _read_games)


def cutechess(path: str) -> Manager:
    """Return cutechess-cli; it needs tc=inf if nodes are the only limit."""

    def command(match: Match, folder: Path) -> list[str]:
        program, *arguments = match.engine
        words = [path]
        for side in SIDES:
            words += ["-engine", f"name={side}", f"cmd={program}"]
            words += [f"arg={argument}" for argument in arguments]
        words += ["-each", "proto=uci", "tc=inf", f"nodes={match.nodes}", "-recover"]
        words += ["-rounds", str(match.games // 2), "-games", "2"]
        words += ["-concurrency", str(match.slots), "-pgnout", "games.pgn"]
        if match.openings is not None:
            words += ["-openings", f"file={match.openings}", "format=epd", "order=sequential"]
            words += ["-repeat"]
        return words

    return Manager("cutechess-cli", command, _read_games)


def _read_games(folder: Path) -> list[Game]:
    return read_pgn(folder / "games.pgn")


@contextmanager
def prepared(work: Work, *, short: bool) -> Iterator[tuple[Match, int] | None]:
    """Yield a match and the games of the shorter one, or None without the engine."""
    games, fewer = work.short if short else work.games
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if work.flags is not None:
            engine, script = instant.build("instant", folder), instant.script("chess", folder)
            command = instant.command(engine, script, *work.flags)
            expected = Game("0-1", script.plies)
            yield Match("chess", "uci", command, games, work.slots, 1, expected=expected), fewer
        elif (stockfish := shutil.which("stockfish")) is None:
            yield None
        else:
            lines = BOOK.read_text().splitlines()[:OPENINGS]
            book = folder / "book.epd"
            book.write_text("".join(" ".join(line.split()[:4]) + " 0 1\n" for line in lines))
            yield Match("chess", "uci", (stockfish,), games, work.slots, NODES, book), fewer


def uci_rows(
    peer: Manager, *, rounds: int, short: bool, works: Collection[str] = WORKS
) -> list[Row]:
    """Compare a match runner with ringmaster: with records and, for instant engines, without."""
    rows = []
    for name, work in WORKS.items():
        if name not in works:
            continue
        with prepared(work, short=short) as prepared_match:
            if prepared_match is None:
                continue
            match, fewer = prepared_match
            ours = [ringmaster()]
            if work.flags is not None:
                ours.append(ringmaster(record=False))
            measures = {each.name: partial(cost, each, match, fewer) for each in (peer, *ours)}
            figures = alternate(measures, rounds)
        rows += _rows(work, peer.name, figures)
    return rows


def _rows(work: Work, peer: str, figures: dict[str, dict[str, float]]) -> list[Row]:
    theirs = figures.pop(peer)
    # the targets are ratios to fastchess
    target, cpu = (work.target, CPU_TARGET) if peer == "fastchess" else ("", "")
    key = "games" if work.flags is None else "plies"
    rows = []
    for name, ours in figures.items():
        label = str(work) + name.removeprefix("ringmaster")
        rows.append(Row(label, f"{key}/s", peer, theirs[key], ours[key], target))
        rows.append(Row(label, "own CPU µs a ply", peer, theirs["cpu"], ours["cpu"], cpu))
        if work.flags is None:
            seconds = (theirs["seconds"], ours["seconds"])
            rows.append(Row(label, "s a match, start included", peer, *seconds, MATCH_TARGET))
            # equal lengths show that both programs set the same limits
            rows.append(Row(label, "plies a game", peer, theirs["length"], ours["length"]))
    return rows


def bare_rows(*, rounds: int, short: bool, works: Collection[str] = WORKS) -> list[Row]:
    """Compare the loop in C, which only passes moves on, with ringmaster."""
    rows = []
    for name, work in WORKS.items():
        if name not in works or work.flags is None:
            continue
        with prepared(work, short=short) as prepared_match, tempfile.TemporaryDirectory() as folder:
            assert prepared_match is not None
            match, fewer = prepared_match
            turns = instant.build("turns", Path(folder))
            script = instant.script("chess", Path(folder))
            measures: dict[str, Callable[[], Mapping[str, float]]] = {
                BARE: partial(_bare, turns, script, match, match.games - fewer)
            }
            for each in (ringmaster(), ringmaster(record=False)):
                measures[each.name] = partial(cost, each, match, fewer)
            figures = alternate(measures, rounds)
        theirs = figures.pop(BARE)["plies"]
        for key, ours in figures.items():
            label = str(work) + key.removeprefix("ringmaster")
            rows.append(Row(label, "plies/s", BARE, theirs, ours["plies"]))
    return rows


def _bare(turns: Path, script: instant.Script, match: Match, games: int) -> Mapping[str, float]:
    program, _, _, *flags = match.engine
    return instant.bare(turns, Path(program), script, games // match.slots, match.slots, *flags)
