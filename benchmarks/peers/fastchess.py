"""fastchess: https://github.com/Disservin/fastchess"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rounds import Row

from peers.matches import SIDES, Manager, Match, read_pgn
from peers.uci import WORKS, uci_rows


def manager(path: str) -> Manager:
    """Return the program as it is called by its users: both sides in the PGN, and lost
    engines do not end the match."""

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


def rows(path: str, *, rounds: int, short: bool, works: Collection[str] = WORKS) -> list[Row]:
    return uci_rows(manager(path), rounds=rounds, short=short, works=works)
