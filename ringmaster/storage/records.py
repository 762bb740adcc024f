"""Game records on disk: a file a game as it ends, and one file of all games in
the order in which they were given out.

Both are written after the commit that brought the record, whose text stays in
the store until it is known to be on disk.  The store also knows how long the
collected file was then: what a kill leaves behind that length is compared with
what was to be written, so that a game is in the file once, whole.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Literal

from ringmaster.storage.journal import open_to_append, write_record, write_through
from ringmaster.storage.paths import OutputPaths
from ringmaster.storage.store import Pending, Store, Transaction

RecordFiles = Literal["both", "single", "collected"]

#: Seconds between two times that the collected file is forced to the disk.
SYNC_PERIOD = 1.0
#: What stands between the records of a collected file, where it is not enough
#: that each ends its last line: http://www2.computer-shogi.org/protocol/record_v22.html
_BETWEEN = {"csa": b"/\n", "kif": b"\n", "kifu": b"\n"}
_NOTE = "collected"
#: Records read at a time.
_BATCH = 100
#: Records kept until their turn in the collected file comes; others are read again.
MOST_AT_HAND = 200


class GameRecords:
    """Writes the records of one run.

    files  which files are wanted; None when games are not recorded at all
    warn   told of a collected file that is not as it was left
    clock  seconds from any beginning

    Everything raises StoreUnwritable or another StoreError.
    """

    def __init__(
        self,
        store: Store,
        paths: OutputPaths,
        files: RecordFiles | None,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._paths = paths
        self._folder = str(paths.games.parent)
        self._void = paths.void.name
        self._single = files in ("both", "single")
        self._collects = files in ("both", "collected")
        self._warn = warn
        self._clock = clock
        self._collected: dict[str, _Collected] = {}
        self._known: dict[str, int] = store.note(_NOTE) or {}
        #: The last place that has been written.
        self._last = 0
        #: What the store may forget: it is on disk.
        self._written: list[tuple[str, int]] = []
        #: The same, once the collected file has been forced to the disk.
        self._appended: list[tuple[str, int]] = []
        self._next_sync = clock() + SYNC_PERIOD
        #: Records whose turn in the collected file has not come: some of them, so that
        #: they need not be read again.
        self._at_hand: dict[tuple[str, int], Pending] = {}

    def resume(self, wanted: Collection[str]) -> None:
        """Write what a killed run did not come to.

        wanted  games given out before that are still to be played: they keep
                their places, others are passed over
        """
        with self._store.transaction() as transaction:
            transaction.pass_over(wanted if self._collects else ())
            if not self._collects:
                # not wanted any more; when it is again, it begins with new games
                while batch := self._store.in_turn():
                    for placed in batch:
                        transaction.drop_place(placed.pending.game_id)
        for pending in self._store.pending():
            self._write_single(pending)
        self._collect()

    def place(self, transaction: Transaction, game_id: str) -> None:
        """A game is given out."""
        if self._collects:
            transaction.give_place(game_id)

    def note(
        self, transaction: Transaction, game_id: str, attempt: int, pending: Pending | None
    ) -> None:
        """A result has come that counts, with its record or without one."""
        if pending is not None:
            transaction.add_pending(pending)
            transaction.fill_place(game_id, attempt)
        else:
            transaction.drop_place(game_id)

    def write(self, records: Sequence[Pending]) -> None:
        """Write records, after the commit."""
        for pending in records:
            self._write_single(pending)
            waits = self._collects and pending.folder != self._void
            if waits and len(self._at_hand) < MOST_AT_HAND:
                self._at_hand[pending.game_id, pending.attempt] = pending
        if records:
            self._collect()

    def _write_single(self, pending: Pending) -> None:
        void = pending.folder == self._void
        if void or self._single:
            write_record(f"{self._folder}/{pending.folder}", pending.name, pending.text)
        if void or not self._collects:
            self._written.append((pending.game_id, pending.attempt))

    def _collect(self) -> None:
        """Append the records whose turn has come."""
        while self._collects:
            batch = self._store.in_turn(self._last, _BATCH, self._at_hand)
            texts: dict[str, list[bytes]] = {}
            for placed in batch:
                pending = placed.pending
                suffix = pending.name.rpartition(".")[2]
                text = pending.text.encode("utf-8", "backslashreplace")
                texts.setdefault(suffix, []).append(text)
            for suffix, records in texts.items():
                self._file(suffix).append(records)
            for placed in batch:
                game = placed.pending.game_id, placed.pending.attempt
                self._appended.append(game)
                self._at_hand.pop(game, None)
                self._last = placed.place
            if len(batch) < _BATCH:
                return

    def _file(self, suffix: str) -> _Collected:
        found = self._collected.get(suffix)
        if found is not None and found.is_gone():
            found.close()
            self._known[suffix] = found.end
            found = None
        if found is None:
            path, known = self._paths.collected(suffix), self._known.get(suffix, 0)
            found = _Collected(path, known, _BETWEEN.get(suffix, b""), self._warn)
            self._collected[suffix] = found
        return found

    def forget(self, transaction: Transaction, *, all: bool = False) -> None:
        """Have the store forget what is on disk; `all`: whatever has been written,
        now and not when the next second is over."""
        if self._appended and (all or self._clock() >= self._next_sync):
            for suffix, file in self._collected.items():
                self._known[suffix] = file.sync()
            self._next_sync = self._clock() + SYNC_PERIOD
            for game_id, _ in self._appended:
                transaction.drop_place(game_id)
            self._written += self._appended
            self._appended.clear()
            transaction.set_note(_NOTE, self._known)
        for game_id, attempt in self._written:
            transaction.drop_pending(game_id, attempt)
        self._written.clear()

    def finish(self) -> None:
        """Write all that there is, at the end of a run: games that it has not
        finished are passed over, and come later if they are played later."""
        with self._store.transaction() as transaction:
            transaction.pass_over()
        self._collect()
        with self._store.transaction() as transaction:
            self.forget(transaction, all=True)

    def close(self) -> None:
        """Close the files; idempotent."""
        for file in self._collected.values():
            file.close()
        self._collected.clear()


class _Collected:
    """A collected file, open for appending.

    known    bytes of it that the store knows to be there; what comes after them
             was written by a run that was killed, or by somebody else
    between  what separates two records
    """

    def __init__(self, path: Path, known: int, between: bytes, warn: Callable[[str], None]) -> None:
        self.path = path
        self._name = str(path)
        self._between = between
        self._warn = warn
        self._fd = open_to_append(path, end_line=False)
        self._size = os.fstat(self._fd).st_size
        #: Where the next record begins: before the end of the file while what
        #: stands there may be that record.
        self.end = known
        if self._size < known:
            self._go_on_at_the_end()

    def append(self, records: Sequence[bytes]) -> None:
        """Append records, or what is missing of them."""
        together = self._between.join(records)
        data = self._between + together if self.end else together
        there = os.pread(self._fd, len(data), self.end) if self.end < self._size else b""
        if not data.startswith(there):
            self._go_on_at_the_end()
            data, there = self._between + together, b""
        write_through(self._fd, data[len(there) :], self.path)
        self._size += len(data) - len(there)
        self.end += len(data)

    def _go_on_at_the_end(self) -> None:
        """Leave what somebody has made of the file as it is."""
        if self._size:
            lost = "is shorter than it was" if self._size < self.end else "has been changed"
            self._warn(
                f"{self.path} {lost}; new games are added at its end (`export` writes all games "
                "anew, to another file)"
            )
            ended = os.pread(self._fd, 1, self._size - 1) == b"\n"
            write_through(self._fd, b"\n" if ended else b"\n\n", self.path)
        else:
            self._warn(f"{self.path} has been moved or deleted, and is begun anew")
        self._size = self.end = os.fstat(self._fd).st_size

    def is_gone(self) -> bool:
        """Whether the file has been moved or deleted, or another put in its place."""
        try:
            return not os.path.samestat(os.stat(self._name), os.fstat(self._fd))
        except FileNotFoundError:
            return True

    def sync(self) -> int:
        """Force the file to the disk; returns its length."""
        os.fsync(self._fd)
        return self.end

    def close(self) -> None:
        os.close(self._fd)
