"""c-chess-cli: https://github.com/lucasart/c-chess-cli"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rounds import Row

from peers.matches import SIDES, Manager, Match, read_pgn
from peers.uci import WORKS, uci_rows


def manager(path: str) -> Manager:
    """Return the program with its fullest PGN, which is its default."""

    def command(match: Match, folder: Path) -> list[str]:
        words = [path]
        for side in SIDES:
            words += ["-engine", f"name={side}", f"cmd={' '.join(match.engine)}"]
        words += ["-each", f"nodes={match.nodes}", "-games", str(match.games)]
        words += ["-concurrency", str(match.slots), "-pgn", "games.pgn"]
        if match.openings is not None:
            words += ["-openings", f"file={match.openings}", "-repeat"]
        return words

    return Manager("c-chess-cli", command, lambda folder: read_pgn(folder / "games.pgn"))


def rows(path: str, *, rounds: int, short: bool, works: Collection[str] = WORKS) -> list[Row]:
    return uci_rows(manager(path), rounds=rounds, short=short, works=works)
