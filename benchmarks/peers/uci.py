"""What every match runner for UCI engines is asked to play, beside ringmaster."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import instant
from rounds import Row, alternate

from peers import ourselves
from peers.matches import Game, Manager, Match, cost

BOOK = Path(__file__).parent.parent.parent / "controlfiles" / "openings.epd"
#: Lines of the book that are played, twice each.
OPENINGS = 55
#: Nodes a move of a real engine.
NODES = 1000


class Work(NamedTuple):
    """One kind of match.

    flags   of the instant engine; None: the engine is Stockfish
    games   of the longer match and of the shorter one, and the same in the short form
    target  what plies (Stockfish: games) a second are to be to those of fastchess
    """

    slots: int
    flags: tuple[str, ...] | None
    games: tuple[int, int]
    short: tuple[int, int]
    target: str

    def __str__(self) -> str:
        engine = f"stockfish nodes={NODES}" if self.flags is None else "instant UCI engines"
        said = f", {self.flags[1]} info lines" if self.flags else ""
        return f"{engine}{said}, {self.slots} at a time"


#: By the names that the command line has for them.
WORKS = {
    "instant-1": Work(1, (), (220, 20), (12, 4), ">= 2.0"),
    "instant-2": Work(2, (), (220, 20), (12, 4), ">= 1.8"),
    "info-1": Work(1, ("--info", "20"), (220, 20), (12, 4), ">= 2.0"),
    "info-2": Work(2, ("--info", "20"), (220, 20), (12, 4), ">= 1.8"),
    "stockfish": Work(2, None, (110, 10), (6, 2), ">= 1.0"),
}
CPU_TARGET = "<= 0.5"
#: Of the time of a whole match, on a busy machine, too.
MATCH_TARGET = "<= 1.1"
BARE = "bare loop in C"


@contextmanager
def prepared(work: Work, *, short: bool) -> Iterator[tuple[Match, int] | None]:
    """Make what a match needs; yields it and the games of the shorter one, None where
    the engine is not there."""
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
    """Return what a match runner and ringmaster do with each work, with records and, for
    engines that answer at once, without."""
    found = []
    for name, work in WORKS.items():
        if name not in works:
            continue
        with prepared(work, short=short) as given:
            if given is None:
                continue
            match, fewer = given
            ours = [ourselves.manager()]
            if work.flags is not None:
                ours.append(ourselves.manager(record=False))
            measures = {each.name: partial(cost, each, match, fewer) for each in (peer, *ours)}
            figures = alternate(measures, rounds)
        found += _rows(work, peer.name, figures)
    return found


def _rows(work: Work, peer: str, figures: dict[str, dict[str, float]]) -> list[Row]:
    theirs = figures.pop(peer)
    # the targets are ratios to fastchess
    target, cpu = (work.target, CPU_TARGET) if peer == "fastchess" else ("", "")
    key = "games" if work.flags is None else "plies"
    found = []
    for name, ours in figures.items():
        what = str(work) + name.removeprefix("ringmaster")
        found.append(Row(what, f"{key}/s", peer, theirs[key], ours[key], target))
        found.append(Row(what, "own CPU µs a ply", peer, theirs["cpu"], ours["cpu"], cpu))
        if work.flags is None:
            seconds = (theirs["seconds"], ours["seconds"])
            found.append(Row(what, "s a match, start included", peer, *seconds, MATCH_TARGET))
            # engines that play the same games show that the same was asked of them
            found.append(Row(what, "plies a game", peer, theirs["length"], ours["length"]))
    return found


def bare_rows(*, rounds: int, short: bool, works: Collection[str] = WORKS) -> list[Row]:
    """Return the same beside the loop in C that does nothing but to pass moves on."""
    found = []
    for name, work in WORKS.items():
        if name not in works or work.flags is None:
            continue
        with prepared(work, short=short) as given, tempfile.TemporaryDirectory() as folder:
            assert given is not None
            match, fewer = given
            turns = instant.build("turns", Path(folder))
            script = instant.script("chess", Path(folder))
            measures: dict[str, Callable[[], Mapping[str, float]]] = {
                BARE: partial(_bare, turns, script, match, match.games - fewer)
            }
            for each in (ourselves.manager(), ourselves.manager(record=False)):
                measures[each.name] = partial(cost, each, match, fewer)
            figures = alternate(measures, rounds)
        theirs = figures.pop(BARE)["plies"]
        for key, ours in figures.items():
            what = str(work) + key.removeprefix("ringmaster")
            found.append(Row(what, "plies/s", BARE, theirs, ours["plies"]))
    return found


def _bare(turns: Path, script: instant.Script, match: Match, games: int) -> Mapping[str, float]:
    program, _, _, *flags = match.engine
    return instant.bare(turns, Path(program), script, games // match.slots, match.slots, *flags)
