"""Find the records of games: waiting in the store, in files of their own, or in collected files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ringmaster.model.players import GameName
from ringmaster.results.games import RECORD_SUFFIXES, Game
from ringmaster.storage.connect import translated
from ringmaster.storage.paths import OutputPaths
from ringmaster.storage.store import Store

#: Bytes at the end of a collected file that are searched for the newest games.
TAIL = 8_000_000
#: By suffix: the beginning of a record's first line, and the line with the game's id.  Engine text
#: in a record never begins a line like this.
_COLLECTED_FORMS: dict[str, tuple[bytes, re.Pattern[bytes]]] = {
    "pgn": (b"[Event ", re.compile(rb'\[GameId "(.*)"\]')),
    # the competition's code precedes the id
    "sgf": (b"(;FF[4]", re.compile(rb"GN\[(?:.* )?([^\] ]*)\]")),
    # a separator between records
    "csa": (b"/", re.compile(rb"'\*game (\S+)")),
    "kifu": (b"#KIF ", re.compile(rb"\*game (\S+)")),
}


class Records:
    """The game records of a competition.

    Collected files are read once, for the first game without a file of its own; the last record
    with an id counts.

    count  number of games in `each` that have a record or should have one
    """

    def __init__(
        self, paths: OutputPaths, game: GameName, store: Store | None, tail: int | None = None
    ) -> None:
        """Read the waiting records.  Raises StoreError.

        store  None before the first run
        tail   bytes at the end of each collected file that are read, None for all
        """
        self._games = paths.games
        self._files = {suffix: paths.collected(suffix) for suffix in RECORD_SUFFIXES[game]}
        self._tail = tail
        pending = () if store is None else store.pending()
        #: By the name without its suffix.
        self._waiting = {_stem(f"{each.folder}/{each.name}"): each.text for each in pending}
        self._places: dict[bytes, tuple[Path, int, int]] | None = None
        self.count = self._missing = 0

    def each(self, games: Iterable[Game]) -> Iterator[tuple[Game, bytes]]:
        """Yield games with their records; count missing ones.  Raises StoreError."""
        for game in games:
            record = self.get(game)
            # a void game without moves has no record
            self.count += not game.is_void or record is not None
            if record is None:
                self._missing += not game.is_void
            elif text := record.removeprefix(b"\xef\xbb\xbf").rstrip():
                yield game, text

    def missing(self) -> list[str]:
        """Return a note on missing records of `each`, [] for none."""
        if not self._missing:
            return []
        existing = [path for path in self._files.values() if path.exists()]
        places = " or ".join(map(str, [f"in {self._games}", *existing]))
        return [f"{self._missing} of {self.count} game records are not {places} and were left out"]

    def get(self, game: Game) -> bytes | None:
        """Return the record of a game, None without one.  Raises StoreError."""
        text = self._waiting.get(_stem(game.record_name))
        if text is not None:
            # not written yet; a kill, or something in the file's place, has prevented it
            return text.encode()
        path = self._games.parent / game.record_name
        with translated(path, "read"), suppress(FileNotFoundError):
            return path.read_bytes()
        # collected files have no void games
        return None if game.is_void else self._from_collected(game.id)

    def _from_collected(self, game_id: str) -> bytes | None:
        if self._places is None:
            self._places = {}
            for suffix, path in self._files.items():
                if not path.exists():
                    continue
                with translated(path, "read"), path.open("rb") as file:
                    size = os.fstat(file.fileno()).st_size
                    # the first record may lack its beginning
                    start = 0 if self._tail is None else max(0, size - self._tail)
                    for id, at, end in _collected_places(file, suffix, start):
                        self._places[id] = path, at, end - at
        place = self._places.get(game_id.encode())
        if place is None:
            return None
        path, start, size = place
        with translated(path, "read"), path.open("rb") as file:
            return os.pread(file.fileno(), size, start)


def _stem(name: str) -> str:
    return name.rpartition(".")[0]


def _collected_places(file: BinaryIO, suffix: str, start: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the id, the beginning and the end of each record from `start` on."""
    first, names = _COLLECTED_FORMS[suffix]
    separated = suffix == "csa"
    id: bytes | None = None
    file.seek(start)
    at = start
    for line in file:
        after = at + len(line)
        if line.rstrip(b"\r\n") == first if separated else line.startswith(first):
            if id is not None:
                yield id, start, at
            id, start = None, after if separated else at
        elif id is None and (match := names.match(line)):
            id = match[1]
        at = after
    if id is not None:
        yield id, start, at
