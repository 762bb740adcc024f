"""The store of a competition: one SQLite file (WAL).

One transaction a result: the result, the competition's new state and the issue of the
next jobs are stored together or not at all.  Data is JSON in columns; reading a file
runs no code.  `connect` opens the file and translates errors, `schema` has its tables.
"""

from __future__ import annotations

import operator
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.model.builds import Build
from ringmaster.model.cluster import Host
from ringmaster.model.jobs import Ticket
from ringmaster.model.results import (
    FAULTS,
    TIME_LOSSES,
    EngineUsage,
    EvaluationResult,
    GameResult,
    HostTally,
)
from ringmaster.storage import rows
from ringmaster.storage.connect import (
    View,
    connect,
    connect_readonly,
    decoding,
    retry_read,
    translated,
)
from ringmaster.storage.copies import DailyCopies
from ringmaster.storage.entries import (
    IssuedJob,
    PendingRecord,
    RunEntry,
    StoredGame,
    StoredShard,
    decode,
    encode,
    file_name,
    pending_record,
)
from ringmaster.storage.guard import Guard, renew
from ringmaster.storage.rows import UsageRow
from ringmaster.storage.transaction import EVALUATION_FIELDS, EngineNames, Transaction

#: Seconds between two commits that are forced to the disk.
FULL_COMMIT_PERIOD = 1.0
#: Transactions between two checkpoints, which write the `-wal` to the file.
CHECKPOINT_PERIOD = 400
#: Results read at a time.
_BATCH = 500
_READ_RESULTS = rows.selection("results", "seq")
_decode_usage = msgspec.json.Decoder(list[rows.UsageRow]).decode


class Store:
    """Everything recorded of one competition; made by `open` or `open_readonly`.

    A transaction is atomic whatever process dies.  A reader never blocks a writer.  The
    cost of a transaction does not grow with the number of games.

    Raises StoreError or a subclass.  Use after `close`, or of two transactions at a time,
    is a RuntimeError.
    """

    def __init__(
        self,
        path: Path,
        view: View,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._view = view
        self._clock = clock
        self._now = now
        self._last_full: float | None = None
        self._full = False
        #: Of a store that may write.
        self._guard: Guard | None = None
        #: Transactions since the last checkpoint.
        self._unwritten = 0
        try:
            known = self._rows(rows.selection("names", "id"))
            with decoding(path):
                self._names = EngineNames(
                    (id, name) for id, name in (rows.checked("names", row) for row in known)
                )
        except BaseException:
            view.connection.close()
            raise

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._view.connection

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> Store:
        """Open a status file for writing; make it if it is missing.

        clock  seconds from any beginning, for the period of full commits
        now    seconds since the epoch, for `StoredGame.finished`

        Raises StoreError; a refused file is not changed.
        """
        path = Path(path)
        store = cls(path, View(path, connect(path)), clock, now)
        try:
            with translated(path):
                store._guard = Guard(path, store._connection)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def open_readonly(cls, path: Path, *, lasting: bool = False) -> Store:
        """Open a status file for reading; nothing is written, and a run may be alive.

        The data stay as they are now until `close`.

        lasting  make a private copy if no run is alive.  Without it, reads raise
                 StoreChanged after a later run has ended or written megabytes.

        Raises StoreError, also when there is no such file.
        """
        path = Path(path)
        if lasting:
            return cls(path, retry_read(lambda: connect_readonly(path, lasting=True)))
        return cls(path, connect_readonly(path))

    @contextmanager
    def transaction(self, *, full: bool = False) -> Iterator[Transaction]:
        """Begin a transaction; an exception in the `with` block rolls it back.

        full  force it to the disk now, not at the next second, and check the file
        """
        connection = self._connection
        now = self._clock()
        full = full or self._last_full is None or now - self._last_full >= FULL_COMMIT_PERIOD
        with translated(self._path):
            if self._connection.in_transaction:
                raise RuntimeError("a transaction is open already")
            # a power cut costs a second; a thousand games a second can still be recorded
            if full != self._full:
                connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
                self._full = full
            connection.execute("BEGIN IMMEDIATE")
        transaction = Transaction(connection, self._path, self._names, self._now)
        try:
            yield transaction
            transaction.check()
            with translated(self._path):
                connection.execute("COMMIT")
        except BaseException:
            # after some errors SQLite has rolled back already
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            self._names.forget(transaction.new_names)
            raise
        finally:
            transaction.over = True
        self._unwritten += 1
        if full:
            self._last_full = now
            self._look_around()

    def _look_around(self) -> None:
        """Check that the file is still the same one, and write the `-wal` to it when due.

        Raises StoreReplaced.
        """
        if self._guard is None:
            return  # in memory
        with translated(self._path):
            self._guard.check(self._connection)
            if self._unwritten >= CHECKPOINT_PERIOD:
                renew(self._connection)
                self._guard.note()
                self._unwritten = 0

    def begin_run(self, run: RunEntry) -> int:
        """Store a new run and return its number; its number and end are ignored."""
        values = (run.started, run.version, run.source, run.source_hash)
        with translated(self._path):
            cursor = self._connection.execute(
                rows.insertion("runs"),
                rows.stored("runs", (*values, encode(run.settings), run.parallel)),
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def end_run(self, number: int, ended: float, reason: str) -> None:
        """Store the end of a run.  Raises StoreReplaced if the file is another one now."""
        with translated(self._path):
            self._connection.execute(
                "UPDATE runs SET ended = ?, end_reason = ? WHERE number = ?",
                (ended, reason, number),
            )
        self._look_around()

    def daily_copies(self, warn: Callable[[str], None]) -> DailyCopies:
        """Return the writer of daily copies; `warn` receives what fails."""
        return DailyCopies(self._connection, self._path, warn, self._now)

    def runs(self) -> Sequence[RunEntry]:
        """Return every run, in order."""
        return self._runs("ORDER BY number")

    def last_run(self) -> RunEntry | None:
        runs = self._runs("ORDER BY number DESC LIMIT 1")
        return runs[0] if runs else None

    def _runs(self, which: str) -> list[RunEntry]:
        found = self._rows(f"{rows.selection('runs', 'ended, end_reason, number')} {which}")
        runs = []
        with decoding(self._path):
            for ended, reason, *row in found:
                *others, settings, parallel = rows.checked("runs", row)
                values = decode(settings, type=dict[str, Any])
                runs.append(RunEntry(*[*others, values, parallel, ended, reason]))
        return runs

    def snapshot(self) -> tuple[int, dict[str, Any]] | None:
        """Return the latest state, after the seq of the last result before it."""
        row = self._one(rows.selection("state"))
        if row is None:
            return None
        with decoding(self._path):
            _, _, seq, data = rows.checked("state", row)
            return seq, decode(data, type=dict[str, Any])

    def results(self, after: int = 0) -> Iterator[StoredGame | StoredShard]:
        """Yield results with seq > after, in order, up to the last one at the start."""
        # in batches: no statement stays open between them, and memory is limited
        (last,) = self._one("SELECT coalesce(max(seq), 0) FROM results")
        after = max(after, 0)
        if last - after > _BATCH:
            self._view.detach()
        while after < last:
            batch = self._selected("seq > ? AND seq <= ? ORDER BY seq LIMIT ?", after, last, _BATCH)
            with decoding(self._path):
                if len(batch) != min(_BATCH, last - after):
                    raise ValueError(f"results are missing after number {after}")
            yield from batch
            after = batch[-1].seq

    def games(self, after: int = 0) -> Iterator[StoredGame]:
        """Yield the results of games with seq > after, in order."""
        return (result for result in self.results(after) if isinstance(result, StoredGame))

    def sample(self, most: int) -> list[Ticket]:
        """Return the tickets of at most `most` results, evenly chosen, without void ones."""
        (last,) = self._one("SELECT coalesce(max(seq), 0) FROM results")
        count = min(last, most)
        chosen = [last - place * last // count for place in range(count)]
        condition = "seq IN (SELECT value FROM json_each(?)) AND outcome != 'void' ORDER BY seq"
        return [result.ticket for result in self._selected(condition, encode(chosen))]

    def faults(self, before: int, most: int) -> list[StoredGame]:
        """Return the last void games and forfeits with seq < before, in order.

        Only the last 100,000 results are searched.
        """
        found = self._selected(
            "seq < ? AND seq > ? AND evaluation IS NULL "
            "AND (forfeit OR outcome = 'void') ORDER BY seq DESC LIMIT ?",
            before,
            before - 100_000,
            most,
        )
        return [result for result in reversed(found) if isinstance(result, StoredGame)]

    def history(self, *, usage: bool = True) -> History:
        """Return the results of all games so far, for charts.

        usage  whether they have times and memory
        """
        (last,) = self._one("SELECT coalesce(max(seq), 0) FROM results")
        self._view.detach()
        return History(self._rows, self._path, last, usage=usage)

    def _selected(self, condition: str, *arguments: Any) -> list[StoredGame | StoredShard]:
        found = self._rows(f"{_READ_RESULTS} WHERE {condition}", arguments)
        with decoding(self._path):
            return [self._recorded(row) for row in found]

    def _recorded(self, row: tuple[Any, ...]) -> StoredGame | StoredShard:
        seq, *columns = rows.checked("results", row)
        stored = rows.ResultRow(*columns)
        ticket = decode(stored.ticket)
        names = self._names.names
        usage = [self._usage(used) for used in _decode_usage(stored.usage)]
        if stored.evaluation is not None:
            (used,) = usage
            fields = dict(zip(EVALUATION_FIELDS, decode(stored.evaluation), strict=True))
            fields |= {"job_id": stored.game_id, "usage": used, "builds": [stored.first_build]}
            shard = msgspec.convert({**stored._asdict(), **fields, "host": None}, EvaluationResult)
            return StoredShard(seq, ticket, shard, stored.finished)
        if not {stored.winner, stored.faulty} <= {None, 0, 1}:
            raise ValueError(f"result {seq} has no such player")
        host = None
        if stored.host is not None:
            host = Host(names[stored.host], stored.speed, stored.load)
        builds = stored.first_build, stored.second_build
        fields = {**stored._asdict(), "usage": usage, "host": host, "builds": builds}
        # SQLite has numbers for booleans
        game = msgspec.convert(fields, GameResult, strict=False)
        return StoredGame(seq, ticket, game, stored.finished)

    def _usage(self, row: rows.UsageRow) -> EngineUsage:
        names = self._names.names
        measured = (row.cpu_time, row.peak_memory, row.thinking, row.slowest)
        optional = (row.ponder_cpu_time, row.extra_moves)
        return EngineUsage(names[row.name], *measured, names[row.description], *optional)

    def hosts(self) -> Iterator[HostTally]:
        """Yield what was recorded on each host of a cluster."""
        faults = ", ".join("?" * len(FAULTS))
        for row in self._rows(
            "SELECT host, count(*), sum(reason IN (?, ?)), "
            f"sum(reason IN ({faults})), coalesce(sum(load), 0), max(speed) FROM results "
            "WHERE host IS NOT NULL GROUP BY host ORDER BY host",
            (*TIME_LOSSES, *FAULTS),
        ):
            with decoding(self._path):
                tally = HostTally(self._names.names[row[0]], *row[1:])
            yield tally

    def builds(self) -> dict[int, Build]:
        """Return the builds of the players by their numbers in results."""
        found = self._rows(f"{rows.selection('builds')} ORDER BY number")
        with decoding(self._path):
            checked = (rows.checked("builds", row) for row in found)
            return {number: decode(data, type=Build) for _, number, data in checked}

    def games_of_builds(self) -> dict[int, int]:
        """Return the number of results of each build, void ones left out."""
        games: Counter[int] = Counter()
        for *builds, number in self._rows(
            "SELECT first_build, second_build, count(*) FROM results WHERE outcome != 'void' "
            "GROUP BY first_build, second_build"
        ):
            games.update(dict.fromkeys(filter(None, builds), number))
        return games

    def scores(self, number: int, shard: int) -> bytes | None:
        """Return the scores of a shard of a pass, None if dropped or never recorded."""
        row = self._one("SELECT data FROM scores WHERE pass = ? AND shard = ?", (number, shard))
        return None if row is None else bytes(row[0])

    def issues(self) -> Sequence[IssuedJob]:
        """Return issued jobs without a result, in order of issue."""
        found = self._rows(f"{rows.selection('issues', 'number')} ORDER BY number")
        with decoding(self._path):
            return [
                IssuedJob(file_name(game_id), attempt, decode(ticket))
                for _, game_id, attempt, ticket in (rows.checked("issues", row) for row in found)
            ]

    def pending(self, after: int = 0) -> Iterator[PendingRecord]:
        """Yield game records that are still to be written, in order, in constant memory.

        after  number of a record
        """
        query = f"{rows.selection('pending', 'number')} WHERE number > ? ORDER BY number LIMIT 100"
        while found := self._rows(query, (after,)):
            with decoding(self._path):
                checked = (rows.checked("pending", row) for row in found)
                batch = [pending_record(self._path, *row) for row in checked]
            yield from batch
            after = batch[-1].number

    def read_value(self, key: str, type: Any = Any) -> Any:
        """Return the value of this type that `set_value` stored under a key, or None."""
        row = self._one(f"{rows.selection('notes')} WHERE key = ?", (key,))
        with decoding(self._path):
            return None if row is None else decode(rows.checked("notes", row)[-1], type=type)

    def counts(self) -> tuple[int, int]:
        """Return (completed, void) results; constant cost."""
        row = self._one("SELECT completed, void FROM counts")
        with decoding(self._path):
            completed, void = map(operator.index, row)
            return completed, void

    def _rows(self, query: str, arguments: tuple[Any, ...] = ()) -> list[Any]:
        with self._view.reading():
            return self._connection.execute(query, arguments).fetchall()

    def _one(self, query: str, arguments: tuple[Any, ...] = ()) -> Any:
        found = self._rows(query, arguments)
        return found[0] if found else None

    def close(self) -> None:
        """Release the file; idempotent."""
        with translated(self._path):
            self._connection.close()
            if self._guard is not None:
                self._guard.close()
                self._guard = None


#: After seq, ticket and usage, the first fields of a GameResult in their order.
_READ = (
    "SELECT seq, ticket, usage, game_id, attempt, outcome, winner, reason, detail, forfeit, "
    "score, faulty, plies, seconds FROM results WHERE seq > ? AND seq <= ? "
    "AND evaluation IS NULL"
)
#: A sample by a multiplicative hash: equal steps could hit one side of each pair only.
_SAMPLED = " AND (((seq * 40503) & 65535) < ? OR (? != '' AND instr(ticket, ?)))"


_tickets = msgspec.json.Decoder(list[dict[str, Any]]).decode
_usage = msgspec.json.Decoder(list[tuple[UsageRow, UsageRow]]).decode
_NONE = (EngineUsage(), EngineUsage())


@dataclass(frozen=True)
class History:
    """Results of games with their tickets, in order; each iteration reads them again.

    A result is without fingerprint, repetition, host and engines' names.

    rows   runs a query and returns its rows
    path   the status file, for messages
    last   the last seq that counts
    usage  whether results have times and memory
    share  of the games, a sample by chance below 1, and all games whose tickets have `key`
    """

    rows: Callable[[str, tuple[Any, ...]], list[Any]]
    path: Path
    last: int
    usage: bool = True
    share: float = 1.0
    key: str = ""

    def sample(self, share: float, key: str = "") -> History:
        """Return a part of the games by chance, and all games whose tickets have a key."""
        return replace(self, share=share, key=key)

    def __iter__(self) -> Iterator[tuple[Ticket, GameResult]]:
        query, more = _READ, []
        if self.share < 1:
            quoted = f'"{self.key}":' if self.key else ""
            query, more = _READ + _SAMPLED, [round(self.share * 65536), quoted, quoted]
        query += " ORDER BY seq LIMIT ?"
        after = 0
        while rows := self.rows(query, (after, self.last, *more, _BATCH)):
            with decoding(self.path):
                tickets = _tickets(f"[{','.join([row[1] for row in rows])}]")
                usage = (
                    _usage(f"[{','.join([row[2] for row in rows])}]")
                    if self.usage
                    else repeat(_NONE)
                )
                make: Callable[..., GameResult] = GameResult
                results = [make(*row[3:], used) for row, used in zip(rows, usage, strict=False)]
            yield from zip(tickets, results, strict=True)
            after = rows[-1][0]
