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
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar

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
    closed_after_error,
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
from ringmaster.storage.transaction import EVALUATION_FIELDS, Transaction

#: Seconds between two commits that are forced to the disk.
FULL_COMMIT_PERIOD = 1.0
#: Transactions between two checkpoints, which write the `-wal` to the file.
CHECKPOINT_PERIOD = 400
#: Results read at a time.
_BATCH = 500
_decode_usage = msgspec.json.Decoder(list[UsageRow]).decode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode

T = TypeVar("T")


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
        self._name_numbers: dict[str, int] = {}

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
        store = cls(path, View(path, connect(path)), clock, now)
        with closed_after_error(store._connection), translated(path):
            store._guard = Guard(path, store._connection)
        return store

    @classmethod
    def open_readonly(cls, path: Path, *, lasting: bool = False) -> Store:
        """Open a status file for reading; nothing is written, and a run may be alive.

        The data stay as they are now until `close`.

        lasting  make a private copy if no run is alive.  Without it, reads raise
                 StoreChanged after a later run has ended or written megabytes.

        Raises StoreError, also when there is no such file.
        """
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
        transaction = Transaction(connection, self._path, self._name_numbers, self._now)
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
            self._name_numbers.clear()
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

    def runs(self, which: str = "ORDER BY number") -> Sequence[RunEntry]:
        """Return every run, in order, or those that clauses of a query choose."""
        return self._read("runs", _run_entry, which, key="number, ended, end_reason")

    def last_run(self) -> RunEntry | None:
        return next(iter(self.runs("ORDER BY number DESC LIMIT 1")), None)

    def snapshot(self) -> tuple[int, dict[str, Any]] | None:
        """Return the latest state, after the seq of the last result before it."""
        found = self._read("state", lambda _, one, seq, data: (seq, _decode_object(data)))
        return next(iter(found), None)

    def results(self, after: int = 0) -> Iterator[StoredGame | StoredShard]:
        """Yield results with seq > after, in order, up to the last one at the start."""
        # in batches: no statement stays open between them, and memory is limited
        (last,) = self._one("SELECT coalesce(max(seq), 0) FROM results")
        after = max(after, 0)
        if last - after > _BATCH:
            self._view.detach()
        make = partial(_recorded, self._names())
        which = "WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        while after < last:
            batch = self._read("results", make, which, after, last, _BATCH, key="seq")
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
        which = "WHERE seq IN (SELECT value FROM json_each(?)) AND outcome != 'void' ORDER BY seq"
        make = partial(_recorded, self._names())
        return [each.ticket for each in self._read("results", make, which, encode(chosen))]

    def faults(self, before: int, most: int) -> list[StoredGame]:
        """Return the last void games and forfeits with seq < before, in order.

        Only the last 100,000 results are searched.
        """
        make = partial(_recorded, self._names())
        which = (
            "WHERE seq < ? AND seq > ? AND evaluation IS NULL "
            "AND (forfeit OR outcome = 'void') ORDER BY seq DESC LIMIT ?"
        )
        found = self._read("results", make, which, before, before - 100_000, most, key="seq")
        return [result for result in reversed(found) if isinstance(result, StoredGame)]

    def history(self, *, usage: bool = True) -> History:
        """Return the results of all games so far, for charts.

        usage  whether they have times and memory
        """
        (last,) = self._one("SELECT coalesce(max(seq), 0) FROM results")
        self._view.detach()
        return History(self, last, usage=usage)

    def _names(self) -> dict[int, str]:
        """Return the names of engines and hosts by their numbers in results."""
        return dict(self._read("names", lambda *pair: pair, key="id"))

    def hosts(self) -> list[HostTally]:
        """Return what was recorded on each host of a cluster."""
        faults = ", ".join("?" * len(FAULTS))
        names = self._names()
        found = self._rows(
            "SELECT host, count(*), sum(reason IN (?, ?)), "
            f"sum(reason IN ({faults})), coalesce(sum(load), 0), max(speed) FROM results "
            "WHERE host IS NOT NULL GROUP BY host ORDER BY host",
            (*TIME_LOSSES, *FAULTS),
        )
        with decoding(self._path):
            return [HostTally(names[host], *sums) for host, *sums in found]

    def builds(self) -> dict[int, Build]:
        """Return the builds of the players by their numbers in results."""
        found = self._read(
            "builds", lambda _, number, data: (number, decode(data, type=Build)), "ORDER BY number"
        )
        return dict(found)

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
        return self._read(
            "issues",
            lambda _, id, attempt, ticket: IssuedJob(file_name(id), attempt, decode(ticket)),
            "ORDER BY number",
        )

    def pending(self, after: int = 0) -> Iterator[PendingRecord]:
        """Yield game records that are still to be written, in order, in constant memory.

        after  number of a record
        """
        make = partial(pending_record, self._path)
        which = "WHERE number > ? ORDER BY number LIMIT 100"
        while batch := self._read("pending", make, which, after, key="number"):
            yield from batch
            after = batch[-1].number

    def read_value(self, key: str, type: Any = Any) -> Any:
        """Return the value of this type that `set_value` stored under a key, or None."""
        read = msgspec.json.Decoder(type).decode
        found = self._read("notes", lambda _, key, value: read(value), "WHERE key = ?", key)
        return next(iter(found), None)

    def counts(self) -> tuple[int, int]:
        """Return (completed, void) results; constant cost."""
        row = self._one("SELECT completed, void FROM counts")
        with decoding(self._path):
            completed, void = map(operator.index, row)
            return completed, void

    def _read(
        self, table: str, make: Callable[..., T], which: str = "", *values: Any, key: str = "rowid"
    ) -> list[T]:
        """Return what `make` returns for the key and columns of each row.

        which, values  clauses of the query and values of their parameters
        """
        found = self._rows(f"{rows.selection(table, key)} {which}", values)
        with decoding(self._path):
            return [make(*rows.checked(table, row)) for row in found]

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


def _recorded(names: dict[int, str], seq: int, *columns: Any) -> StoredGame | StoredShard:
    """Return a result from its row."""
    stored = rows.ResultRow(*columns)
    ticket = decode(stored.ticket)
    usage = []
    for used in _decode_usage(stored.usage):
        texts = {"name": names[used.name], "description": names[used.description]}
        usage.append(EngineUsage(**{**msgspec.structs.asdict(used), **texts}))
    fields: dict[str, Any]
    if stored.evaluation is not None:
        fields = dict(zip(EVALUATION_FIELDS, decode(stored.evaluation), strict=True))
        fields |= {"job_id": stored.game_id, "usage": usage[0], "builds": [stored.first_build]}
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


def _run_entry(number: int, ended: float | None, reason: str, *columns: Any) -> RunEntry:
    *facts, settings, parallel = columns
    return RunEntry(*[number, *facts, _decode_object(settings), parallel, ended, reason])


#: After seq, ticket and usage, the first fields of a GameResult in their order.  A sample is by a
#: multiplicative hash: equal steps could hit one side of each pair only.
_READ = (
    "SELECT seq, ticket, usage, game_id, attempt, outcome, winner, reason, detail, forfeit, "
    "score, faulty, plies, seconds FROM results WHERE seq > ? AND seq <= ? "
    "AND evaluation IS NULL AND (((seq * 40503) & 65535) < ? OR instr(ticket, ?)) "
    "ORDER BY seq LIMIT ?"
)

_tickets = msgspec.json.Decoder(list[dict[str, Any]]).decode
_usage = msgspec.json.Decoder(list[tuple[UsageRow, UsageRow]]).decode
_NONE = (EngineUsage(), EngineUsage())


@dataclass(frozen=True)
class History:
    """Results of games with their tickets, in order; each iteration reads them again.

    A result is without fingerprint, repetition, host and engines' names.

    last   the last seq that counts
    usage  whether results have times and memory
    share  of the games, a sample by chance below 1, and all games whose tickets have `key`
    """

    store: Store
    last: int
    usage: bool = True
    share: float = 1.0
    key: str = ""

    def sample(self, share: float, key: str = "") -> History:
        """Return a part of the games by chance, and all games whose tickets have a key."""
        return replace(self, share=share, key=key)

    def __iter__(self) -> Iterator[tuple[Ticket, GameResult]]:
        sampled = round(self.share * 65536), f'"{self.key}":'
        after = 0
        while rows := self.store._rows(_READ, (after, self.last, *sampled, _BATCH)):
            with decoding(self.store._path):
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
