"""Compare the time that ringmaster adds to a game with fastchess's, and with a bare loop's.

    python benchmarks/referee.py [--fastchess PATH] [--rounds 5] [--work NAME ...] [--short]

fastchess (https://github.com/Disservin/fastchess) plays in rounds that alternate with
ringmaster's.  The table has the medians and the ratio of ours to theirs.  The engines are
`c/instant.c`, which answers at once with the moves of a 200-ply game (with and without 20 info
lines a move), and Stockfish with 1,000 nodes a move from 55 openings.  Each program runs as its
users run it, with its command line and PGN.  It plays two matches of different length; the
difference excludes start and end.  ringmaster is measured with its defaults (a record file a game
and one for all) and without records.  "own CPU" is of the program and its children, without
engines.

Two comparisons need no fastchess.  "bare" is the loop in C (`c/turns.c`), which only passes moves
on.  "worker" is executor, worker and game loop beside it: without starts, ends and the store it
detects changes to the game loop.  Linux only; needs a C compiler.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import instant
import meter
from common import Row, alternate, game_results, show_rows, start_workers
from matches import Game, Manager, Match, cost, fastchess, ringmaster

from ringmaster.execution.executor import Executor
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import Player

BOOK = Path(__file__).parent.parent / "controlfiles" / "openings.epd"
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
#: Rounds of "worker" for each requested round, and games in each of them: rounds are short and
#: many, so that a varying load affects both sides.
WORKER_ROUNDS, WORKER_GAMES = 9, 20
WORKER_TARGET = ">= 0.35"
#: Works that need no fastchess.
OWN = ("worker", "bare")


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
            yield Match(command, games, work.slots, 1, expected=expected), fewer
        elif (stockfish := shutil.which("stockfish")) is None:
            yield None
        else:
            lines = BOOK.read_text().splitlines()[:OPENINGS]
            book = folder / "book.epd"
            book.write_text("".join(" ".join(line.split()[:4]) + " 0 1\n" for line in lines))
            yield Match((stockfish,), games, work.slots, NODES, book), fewer


def uci_rows(
    peer: Manager, *, rounds: int, short: bool, works: Collection[str] = WORKS
) -> list[Row]:
    """Compare fastchess with ringmaster: with records and, for instant engines, without."""
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
    key = "games" if work.flags is None else "plies"
    rows = []
    for name, ours in figures.items():
        label = str(work) + name.removeprefix("ringmaster")
        rows.append(Row(label, f"{key}/s", peer, theirs[key], ours[key], work.target))
        rows.append(Row(label, "own CPU µs a ply", peer, theirs["cpu"], ours["cpu"], CPU_TARGET))
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
    program, _, *flags = match.engine
    return instant.bare(turns, Path(program), script, games // match.slots, match.slots, *flags)


def worker_rows(*, rounds: int, short: bool) -> list[Row]:
    """Compare plies a second and the least CPU time a ply, engines included.

    One game is played at a time, without its record and with it.
    """
    games = WORKER_GAMES // 4 if short else WORKER_GAMES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns, engine = instant.build("turns", folder), instant.build("instant", folder)
        script = instant.script("chess", folder)
        executor = start_workers(1)
        try:
            measures = {
                "bare": partial(instant.bare, turns, engine, script, games, 1),
                "": partial(_play, executor, engine, script, games, record=False),
                ", with records": partial(_play, executor, engine, script, games, record=True),
            }
            for measure in measures.values():
                measure()
            figures = alternate(measures, WORKER_ROUNDS * rounds, least=("cpu",))
        finally:
            executor.close()
    base = figures.pop("bare")
    return [
        Row(
            f"executor, worker and game loop, instant UCI engines, 1 at a time{key}",
            unit,
            "bare loop in C",
            base[measured],
            each[measured],
            "" if key else target,
        )
        for key, each in figures.items()
        for measured, unit, target in (
            ("plies", "plies/s", WORKER_TARGET),
            ("cpu", "CPU µs a ply, engines included", ""),
        )
    ]


def _play(
    executor: Executor, engine: Path, script: instant.Script, games: int, *, record: bool
) -> Mapping[str, float]:
    command = instant.command(engine, script)
    one, two = (Player(code, command, protocol="uci", nodes=1) for code in ("one", "two"))
    pid = os.getpid()
    cpu, start = meter.used_by(pid), time.perf_counter()
    for number in range(games):
        executor.submit(
            GameJob(f"g{number}", (one, two), GameSettings(game="chess"), record=record)
        )
    plies = sum(result.plies for result in game_results(executor))
    seconds, cpu = time.perf_counter() - start, meter.used_by(pid) - cpu
    if plies != games * script.plies:
        raise RuntimeError(f"{plies} plies were played instead of {games * script.plies}")
    return {"plies": plies / seconds, "cpu": cpu / plies * 1e6}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fastchess", metavar="PATH")
    parser.add_argument("--rounds", type=int, default=5)
    names = (*WORKS, *OWN)
    parser.add_argument("--work", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--short", action="store_true", help="one round of few games")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    short, works, path = arguments.short, arguments.work, arguments.fastchess
    rounds = 1 if short else arguments.rounds
    if instant.compiler() is None:
        parser.exit(0, "skipped: there is no C compiler\n")
    rows: list[Row] = []
    notes = []
    if path is None or shutil.which(path) is None:
        notes.append(f"skipped: fastchess ({'no --fastchess' if path is None else f'no {path}'})")
    else:
        rows += uci_rows(fastchess(path), rounds=rounds, short=short, works=works)
    if "worker" in works:
        rows += worker_rows(rounds=rounds, short=short)
    if "bare" in works:
        rows += bare_rows(rounds=rounds, short=short, works=works)
    if "stockfish" in works and shutil.which("stockfish") is None:
        notes.append("skipped: stockfish (not installed)")
    show_rows(rows, notes, as_json=arguments.json)


if __name__ == "__main__":
    main()
