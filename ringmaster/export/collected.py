"""The collected file, taken apart into its games again: for exports of a
competition that keeps no file a game."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ringmaster.errors import StoreError

#: By the suffix of the file: how the first line of a record begins, and the line
#: that has the game's id.  No engine text begins a line so, as records are written.
#: Earlier PGN records have the id in `Round`; in later ones `GameId` comes after it.
_FORMS: dict[str, tuple[bytes, re.Pattern[bytes]]] = {
    "pgn": (b"[Event ", re.compile(rb'\[(?:GameId|Round) "(.*)"\]')),
    # the competition's code stands before the id
    "sgf": (b"(;FF[4]", re.compile(rb"GN\[(?:.* )?([^\] ]*)\]")),
    # its records are told apart by what stands between them
    "csa": (b"/", re.compile(rb"'game (\S+)")),
    "kif": (b"#KIF ", re.compile(rb"\*game (\S+)")),
    "kifu": (b"#KIF ", re.compile(rb"\*game (\S+)")),
}


class CollectedRecords:
    """The game records of collected files, by the games' ids.

    A file is read through once, when the first record is wanted; what is kept in
    memory is where each record is.  Of two with the same id the last one counts.
    """

    def __init__(self, paths: dict[str, Path]) -> None:
        """paths: the files by suffix, there or not"""
        self._paths = paths
        self._places: dict[bytes, tuple[Path, int, int]] | None = None

    def existing(self) -> list[Path]:
        """Return the files that are there."""
        return [path for path in self._paths.values() if path.exists()]

    def get(self, game_id: str) -> bytes | None:
        """Return a record, None when there is none.  Raises StoreError."""
        if self._places is None:
            self._places = {}
            for suffix, path in self._paths.items():
                self._places.update(_places(path, suffix))
        place = self._places.get(game_id.encode())
        if place is None:
            return None
        path, start, size = place
        try:
            with path.open("rb") as file:
                return os.pread(file.fileno(), size, start)
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}") from error


def _places(path: Path, suffix: str) -> dict[bytes, tuple[Path, int, int]]:
    try:
        with path.open("rb") as file:
            found = _found(file, suffix)
            return {id: (path, start, end - start) for id, start, end in found}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def _found(file: BinaryIO, suffix: str) -> Iterator[tuple[bytes, int, int]]:
    """Yield each record's id, beginning and end."""
    first, names = _FORMS[suffix]
    separated = suffix == "csa"
    id: bytes | None = None
    start = at = 0
    for line in file:
        after = at + len(line)
        if line.rstrip(b"\r\n") == first if separated else line.startswith(first):
            if id is not None:
                yield id, start, at
            id, start = None, after if separated else at
        elif (id is None or line.startswith(b"[GameId ")) and (match := names.match(line)):
            id = match[1]
        at = after
    if id is not None:
        yield id, start, at
