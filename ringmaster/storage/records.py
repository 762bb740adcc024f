"""Game records on disk: one file a game, and one collected file in order of recording.

Both are written after the commit of the result.  The store keeps a record's text until it
is on disk, and the length of the collected file at that time.  After a kill the end of
the file is compared with the next records, so each game is in the file once and whole.

A record whose own file cannot be written stays in the store and is tried again.  A collected
file that cannot be written ends the run: no later game could be added in order.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from ringmaster.errors import StoreUnwritable, counted
from ringmaster.model.output_files import make_folder, replacing, writing
from ringmaster.storage.connect import translated
from ringmaster.storage.entries import PendingRecord, file_name
from ringmaster.storage.journal import Appended
from ringmaster.storage.paths import OutputPaths
from ringmaster.storage.store import Store
from ringmaster.storage.transaction import Transaction

RecordFiles = Literal["both", "single", "collected"]

#: Seconds between two fsyncs of the collected file.
SYNC_PERIOD = 1.0
#: Separators of records in a collected file, beside the line end:
#: http://www2.computer-shogi.org/protocol/record_v22.html
_BETWEEN = {"csa": b"/\n", "kif": b"\n", "kifu": b"\n"}
#: Key in the store of the lengths of the collected files and the last record in them.
_COLLECTED = "last collected"
#: Records read at a time.
_BATCH = 100
#: Seconds between two attempts to write the files that could not be written, and records tried.
RETRY_PERIOD, MOST_TRIED = 60.0, 100


class GameRecords:
    """Writes the game records of one run.

    files  the files to write; None when games are not recorded
    warn   receives warnings: files that somebody changed, files that cannot be written
    clock  seconds from any beginning

    Every method raises StoreUnwritable or another StoreError.
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
        collected = store.read_value(_COLLECTED, tuple[int, dict[str, int]])
        self._known: dict[str, int]
        #: The number of the last record that is in a collected file on the disk.
        self._last: int
        self._last, self._known = collected or (0, {})
        #: Numbers of records on disk, to be deleted from the store.
        self._written: list[int] = []
        #: Numbers of records in a collected file, before the next fsync.
        self._appended: list[int] = []
        self._next_sync = clock() + SYNC_PERIOD
        #: Numbers of records whose own file could not be written.
        self._without_file: set[int] = set()
        self._next_try = 0.0
        #: Why a file could not be written, "" before the first failure.
        self._failure = ""

    def resume(self) -> None:
        """Write the records that a killed run left."""
        for pending in self._store.pending():
            self._write_single(pending)
        self._collect_rest()

    def write(self, records: Sequence[PendingRecord]) -> None:
        """Write records, after the commit."""
        if self._without_file and self._clock() >= self._next_try:
            self._next_try = self._clock() + RETRY_PERIOD
            for pending in islice(self._store.pending(), MOST_TRIED):
                if pending.number in self._without_file:
                    self._write_single(pending)
        for pending in records:
            self._write_single(pending)
        self._collect(records)

    def _write_single(self, pending: PendingRecord) -> None:
        if not self._write_file(pending):
            self._without_file.add(pending.number)
            return
        self._without_file.discard(pending.number)
        if not self._is_collected(pending) or pending.number <= self._last:
            self._written.append(pending.number)

    def _is_collected(self, pending: PendingRecord) -> bool:
        return self._collects and pending.folder != self._void

    def _write_file(self, pending: PendingRecord) -> bool:
        """Write a record's own file, if it gets one; return False if that is impossible.

        Raises StoreUnwritable if there is no store any more to keep the record.
        """
        if pending.folder != self._void and not self._single:
            return True
        try:
            write_record(f"{self._folder}/{pending.folder}", pending.name, pending.text)
        except StoreUnwritable as error:
            if not self._paths.status.exists():
                raise
            if not self._failure:
                self._next_try = self._clock() + RETRY_PERIOD
                self._warn(
                    f"{error}; such game records stay in {self._paths.status.name}, and are tried "
                    "again each minute and by the next run"
                )
            self._failure = str(error)
            return False
        return True

    def _collect_rest(self) -> None:
        """Append the stored records that are not in a collected file."""
        rest = self._store.pending(self._appended[-1] if self._appended else self._last)
        while batch := list(islice(rest, _BATCH)):
            self._collect(batch)

    def _collect(self, records: Iterable[PendingRecord]) -> None:
        """Append records in their order."""
        texts: dict[str, list[bytes]] = {}
        numbers = []
        for pending in filter(self._is_collected, records):
            suffix = pending.name.rpartition(".")[2]
            texts.setdefault(suffix, []).append(pending.text.encode())
            numbers.append(pending.number)
        for suffix, together in texts.items():
            self._file(suffix).append(together)
        self._appended += numbers

    def _file(self, suffix: str) -> _Collected:
        if suffix not in self._collected:
            path, known = self._paths.collected(suffix), self._known.get(suffix, 0)
            between = _BETWEEN.get(suffix, b"")
            self._collected[suffix] = _Collected(path, known, between, self._warn)
        return self._collected[suffix]

    def forget(self, transaction: Transaction, *, all: bool = False) -> None:
        """Delete from the store the records that are on disk.

        all  force the collected file to the disk now, not at the next second
        """
        if self._appended and (all or self._clock() >= self._next_sync):
            for suffix, file in self._collected.items():
                self._known[suffix] = file.sync()
            self._next_sync = self._clock() + SYNC_PERIOD
            self._last = self._appended[-1]
            self._written += [n for n in self._appended if n not in self._without_file]
            self._appended.clear()
            transaction.set_value(_COLLECTED, (self._last, self._known))
        for number in self._written:
            transaction.drop_pending(number)
        self._written.clear()

    def finish(self) -> None:
        """Write all records at the end of a run."""
        self._collect_rest()
        with self._store.transaction() as transaction:
            self.forget(transaction, all=True)
        for pending in self._store.pending():
            self._write_single(pending)
        if self._without_file:
            left = counted(len(self._without_file), "game record")
            self._warn(
                f"{left} could not be written ({self._failure}); the next run tries again, and "
                "`export` has them"
            )
        with self._store.transaction() as transaction:
            self.forget(transaction)

    def close(self) -> None:
        """Close the files; idempotent."""
        for file in self._collected.values():
            file.close()
        self._collected.clear()


class _Collected(Appended):
    """A collected file.

    known    its length in the store; a killed run or somebody else wrote the rest
    between  separator of two records
    """

    def __init__(self, path: Path, known: int, between: bytes, warn: Callable[[str], None]) -> None:
        super().__init__(path)
        self._between = between
        self._warn = warn
        #: Place of the next record: before the file's end if a killed run wrote it there.
        self.end = known

    def append(self, records: Sequence[bytes]) -> None:
        """Append records, or their missing part."""
        fd = self.open(end_line=False)
        data = self._joined(records)
        with translated(self.path):
            there = os.pread(fd, len(data), self.end)
            is_shorter = os.fstat(fd).st_size < self.end
        if is_shorter or not data.startswith(there):
            self._continue_at_end(fd)
            data, there = self._joined(records), b""
        self.write(data[len(there) :])
        self.end += len(data)

    def _joined(self, records: Sequence[bytes]) -> bytes:
        together = self._between.join(records)
        return self._between + together if self.end else together

    def _continue_at_end(self, fd: int) -> None:
        """Continue at the end of a file that somebody changed."""
        size = os.fstat(fd).st_size
        if size:
            change = "is shorter than it was" if size < self.end else "has been changed"
            self._warn(
                f"{self.path} {change}; new games are added at its end (`export` writes all "
                "games to another file)"
            )
            with translated(self.path):
                ended = os.pread(fd, 1, size - 1) == b"\n"
            self.write(b"\n" if ended else b"\n\n")
        else:
            self._warn(f"{self.path} has been moved or deleted; a new file is begun")
        self.end = os.fstat(fd).st_size

    def sync(self) -> int:
        """Force the file to the disk; return its length."""
        if self._fd is not None:
            with translated(self.path):
                os.fsync(self._fd)
        return self.end


def write_record(folder: str | Path, name: str, text: str) -> None:
    """Write a game record, whole or not at all; create the folder if it is missing.

    Raises ValueError for a name that is no plain file name, StoreUnwritable.
    """
    path = f"{folder}/{file_name(name)}"
    with writing(folder):
        make_folder(folder)
    with replacing(path) as file:
        file.write(text.encode())
