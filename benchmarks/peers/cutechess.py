"""cutechess-cli: https://github.com/cutechess/cutechess"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rounds import Row

from peers.matches import SIDES, Manager, Match, read_pgn
from peers.uci import WORKS, uci_rows


def manager(path: str) -> Manager:
    """Return the program; that it knows no limit but nodes has to be said (tc=inf)."""

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

    return Manager("cutechess-cli", command, lambda folder: read_pgn(folder / "games.pgn"))


def rows(path: str, *, rounds: int, short: bool, works: Collection[str] = WORKS) -> list[Row]:
    return uci_rows(manager(path), rounds=rounds, short=short, works=works)
