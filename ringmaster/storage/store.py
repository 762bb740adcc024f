"""The store of a competition: one SQLite file (WAL).

One transaction a result: the result, the competition's new state and the issue of the
next jobs are stored together or not at all.  Data is JSON in columns; reading a file
runs no code.  `connect` opens the file and translates errors, `migrations` has its tables.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ringmaster.model.cluster import Host
from ringmaster.model.jobs import Ticket
from ringmaster.model.results import (
    FAULTS,
    TIME_LOSSES,
    EngineUsage,
    EvaluationResult,
    GameResult,
    HostTally,
    Result,
)
from ringmaster.storage.connect import (
    View,
    connect,
    connect_readonly,
    decoding,
    retry_read,
    translate,
    translated,
)
from ringmaster.storage.entries import (
    IssuedJob,
    PendingRecord,
    PlacedRecord,
    RunEntry,
    StoredGame,
    StoredShard,
    decode,
    encode,
    packed,
    storable_evaluation,
    storable_game,
    unpacked,
)
from ringmaster.storage.history import History

#: Seconds between two commits that are forced to the disk.
FULL_COMMIT_PERIOD = 1.0
#: Results read at a time.
_BATCH = 1000
_NONE: Mapping[tuple[str, int], PendingRecord] = {}
_READ_PENDING = "SELECT game_id, attempt, folder, name, text FROM pending WHERE rowid = ?"
# not OR IGNORE, which would pass over other constraints, too
_INSERT_RESULT = (
    "INSERT INTO results (game_id, attempt, once, ticket, outcome, reason, detail, seconds, "
    "usage, finished, winner, forfeit, score, faulty, plies, evaluation, fingerprint, repeats, "
    "host, speed, load) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (game_id, once) DO NOTHING"
)


_READ_RESULTS = (
    "SELECT seq, ticket, finished, usage, evaluation, game_id, attempt, outcome, reason, detail, "
    "seconds, winner, forfeit, score, faulty, plies, fingerprint, repeats, host, speed, load "
    "FROM results"
)


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
        self._connection = view.connection
        self._clock = clock
        self._now = now
        self._last_full: float | None = None
        self._full = False
        self._name_ids: dict[str, int] = {}
        self._names: dict[int, str] = {}
        try:
            for id, name in self._rows("SELECT id, name FROM names"):
                self._names[id] = name
                self._name_ids[name] = id
        except BaseException:
            view.connection.close()
            raise

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> Store:
        """Open a status file for writing; create or migrate it if necessary.

        clock  seconds from any beginning, for the period of full commits
        now    seconds since the epoch, for `StoredGame.finished`

        Raises StoreError; a refused file is not changed.
        """
        path = Path(path)
        return cls(path, View(path, connect(path)), clock, now)

    @classmethod
    def open_readonly(cls, path: Path, *, lasting: bool = False) -> Store:
        """Open a status file for reading; nothing is written, and a run may be alive.

        The data stay as they are now until `close`.

        lasting  make a private copy if no run is alive.  Without it, reads raise
                 StoreChanged after a later run has ended or written megabytes.

        Raises StoreError, also when there is no such file.
        """
        path = Path(path)
        return cls(path, retry_read(lambda: _lasting(path)) if lasting else connect_readonly(path))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begin a transaction; an exception in the `with` block rolls it back."""
        connection = self._connection
        now = self._clock()
        full = self._last_full is None or now - self._last_full >= FULL_COMMIT_PERIOD
        with translated(self._path):
            if self._is_in_transaction():
                raise RuntimeError("a transaction is open already")
            self._choose_sync(full)
            connection.execute("BEGIN IMMEDIATE")
        transaction = Transaction(self)
        try:
            yield transaction
            transaction.check()
            with translated(self._path):
                connection.execute("COMMIT")
        except BaseException:
            # after some errors SQLite has rolled back already
            if self._is_in_transaction():
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            for name in transaction.new_names:
                del self._names[self._name_ids.pop(name)]
            raise
        finally:
            transaction.over = True
        if full:
            self._last_full = now

    def _is_in_transaction(self) -> bool:
        return self._connection.in_transaction

    def _choose_sync(self, full: bool) -> None:
        """Force a commit to the disk, or not.

        A power cut costs a second; a thousand games a second can still be recorded.
        """
        if full != self._full:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full

    def begin_run(self, run: RunEntry) -> int:
        """Store a new run and return its number; `run.number` is ignored."""
        with translated(self._path):
            cursor = self._connection.execute(
                "INSERT INTO runs (started, version, source, source_hash, settings, parallel, "
                "ended, end_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(run.started, run.version, run.source, run.source_hash),
                    *(encode(run.settings), run.parallel, run.ended, run.end_reason),
                ),
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def end_run(self, number: int, ended: float, reason: str) -> None:
        """Store the end of a run."""
        with translated(self._path):
            self._connection.execute(
                "UPDATE runs SET ended = ?, end_reason = ? WHERE number = ?",
                (ended, reason, number),
            )

    def runs(self) -> int:
        """Return the number of runs."""
        return int(self._one("SELECT count(*) FROM runs")[0])

    def all_runs(self) -> Sequence[RunEntry]:
        """Return every run, in order."""
        return self._runs("ORDER BY number")

    def last_run(self) -> RunEntry | None:
        """Return the latest run."""
        runs = self._runs("ORDER BY number DESC LIMIT 1")
        return runs[0] if runs else None

    def _runs(self, which: str) -> list[RunEntry]:
        rows = self._rows(
            "SELECT number, started, version, source, source_hash, settings, parallel, ended, "
            f"end_reason FROM runs {which}"
        )
        with decoding(self._path):
            return [RunEntry(*[*row[:5], decode(row[5]), *row[6:]]) for row in rows]

    def snapshot(self) -> tuple[int, dict[str, Any]] | None:
        """Return the latest state, after the seq of the last result before it."""
        row = self._one("SELECT seq, data FROM state")
        if row is None:
            return None
        with decoding(self._path):
            return row[0], decode(row[1])

    def results(self, after: int = 0) -> Iterator[StoredGame | StoredShard]:
        """Yield results with seq > after, in order, up to the last one at the start."""
        # in batches: no statement stays open between them, and memory is limited
        (last,) = self._one("SELECT coalesce(max(seq), 0) FROM results")
        if last - after > _BATCH:
            self._view.detach()
            self._connection = self._view.connection
        while after < last:
            rows = self._rows(
                f"{_READ_RESULTS} WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
                (after, last, _BATCH),
            )
            if not rows:
                return
            with decoding(self._path):
                batch = [self._recorded(row) for row in rows]
            yield from batch
            after = batch[-1].seq

    def games(self, after: int = 0) -> Iterator[StoredGame]:
        """Yield the results of games with seq > after, in order."""
        return (result for result in self.results(after) if isinstance(result, StoredGame))

    def faults(self, before: int, most: int) -> list[StoredGame]:
        """Return the last void games and forfeits with seq < before, in order.

        Only the last 100,000 results are searched.
        """
        rows = self._rows(
            f"{_READ_RESULTS} WHERE seq < ? AND seq > ? AND evaluation IS NULL "
            "AND (forfeit OR outcome = 'void') ORDER BY seq DESC LIMIT ?",
            (before, before - 100_000, most),
        )
        with decoding(self._path):
            results = [self._recorded(row) for row in reversed(rows)]
        return [result for result in results if isinstance(result, StoredGame)]

    def history(self, *, usage: bool = True) -> History:
        """Return the results of all games so far, for charts.

        usage  whether they have times and memory
        """
        (last,) = self._one("SELECT coalesce(max(seq), 0) FROM results")
        self._view.detach()
        self._connection = self._view.connection
        return History(self._rows, self._path, last, usage=usage)

    def _recorded(self, row: tuple[Any, ...]) -> StoredGame | StoredShard:
        seq, ticket, finished, usage, evaluation, game_id, attempt, outcome, *rest = row
        reason, detail, seconds, winner, forfeit, score, faulty, plies, *rest = rest
        fingerprint, repeats, host, speed, load = rest
        used = [self._usage(item) for item in decode(usage)]
        if evaluation is not None:
            number, shard, positions, facts = decode(evaluation)
            evaluated = EvaluationResult(
                *(game_id, attempt, outcome, number, shard, reason, detail, seconds, positions),
                usage=used[0],
                facts=facts,
            )
            return StoredShard(seq, decode(ticket), evaluated, finished)
        first, second = used
        result = GameResult(
            *(game_id, attempt, outcome, winner, reason, detail, bool(forfeit), score, faulty),
            *(plies, seconds, (first, second)),
            fingerprint=fingerprint,
            repeats=bool(repeats),
            host=None if host is None else Host(self._names[host], speed, load),
        )
        return StoredGame(seq, decode(ticket), result, finished)

    def _usage(self, item: list[Any]) -> EngineUsage:
        # the CPU time of pondering is last, and often missing
        name, cpu_time, peak_memory, thinking, slowest, description, *ponder = item
        names = self._names
        return EngineUsage(
            *(names[name], cpu_time, peak_memory, thinking, slowest, names[description], *ponder)
        )

    def hosts(self) -> Iterator[HostTally]:
        """Yield what was recorded on each host of a cluster."""
        faults = ", ".join("?" * len(FAULTS))
        for row in self._rows(
            "SELECT host, count(*), sum(reason IN (?, ?)), "
            f"sum(reason IN ({faults})), coalesce(sum(load), 0), max(speed) FROM results "
            "WHERE host IS NOT NULL GROUP BY host ORDER BY host",
            (*TIME_LOSSES, *FAULTS),
        ):
            yield HostTally(self._names[row[0]], *row[1:])

    def scores(self, number: int, shard: int) -> bytes | None:
        """Return the scores of a shard of a pass, None if dropped or never recorded."""
        row = self._one("SELECT data FROM scores WHERE pass = ? AND shard = ?", (number, shard))
        return None if row is None else bytes(row[0])

    def issues(self) -> Sequence[IssuedJob]:
        """Return issued jobs without a result, in order of issue."""
        rows = self._rows("SELECT game_id, attempt, ticket FROM issues ORDER BY number")
        with decoding(self._path):
            return [
                IssuedJob(game_id, attempt, decode(ticket)) for game_id, attempt, ticket in rows
            ]

    def pending(self) -> Iterator[PendingRecord]:
        """Yield game records that are still to be written, in constant memory."""
        after = 0
        while rows := self._rows(
            "SELECT rowid, game_id, attempt, folder, name, text FROM pending WHERE rowid > ? "
            "ORDER BY rowid LIMIT 100",
            (after,),
        ):
            with decoding(self._path):
                batch = [unpacked(*row) for _, *row in rows]
            yield from batch
            after = rows[-1][0]

    def in_turn(
        self,
        after: int = 0,
        most: int = 100,
        known: Mapping[tuple[str, int], PendingRecord] = _NONE,
    ) -> Sequence[PlacedRecord]:
        """Return the next records for the collected file, in order of their places.

        The first place without a record ends them.

        after  the last place that was written
        known  records by (game_id, attempt); their texts are not read again
        """
        rows = self._rows(
            "SELECT place, pending.rowid, game_id, attempt FROM places "
            "JOIN pending USING (game_id, attempt) WHERE place > ? AND place < coalesce("
            "(SELECT place FROM places WHERE attempt IS NULL ORDER BY place LIMIT 1), "
            f"{1 << 62}) ORDER BY place LIMIT ?",
            (after, most),
        )
        records = []
        for place, rowid, game_id, attempt in rows:
            pending = known.get((game_id, attempt))
            if pending is None:
                with decoding(self._path):
                    pending = unpacked(*self._one(_READ_PENDING, (rowid,)))
            records.append(PlacedRecord(place, pending))
        return records

    def read_value(self, key: str) -> Any:
        """Return the value that `set_value` stored under a key, or None."""
        row = self._one("SELECT value FROM notes WHERE key = ?", (key,))
        with decoding(self._path):
            return None if row is None else decode(row[0])

    def counts(self) -> tuple[int, int]:
        """Return (completed, void) results; constant cost."""
        row = self._one("SELECT completed, void FROM counts")
        with decoding(self._path):
            completed, void = row
            return completed, void

    def _rows(self, query: str, arguments: tuple[Any, ...] = ()) -> list[Any]:
        with self._view.reading():
            return self._connection.execute(query, arguments).fetchall()

    def _one(self, query: str, arguments: tuple[Any, ...] = ()) -> Any:
        rows = self._rows(query, arguments)
        return rows[0] if rows else None

    def close(self) -> None:
        """Release the file; idempotent."""
        with translated(self._path):
            self._connection.close()


def _lasting(path: Path) -> View:
    view = connect_readonly(path)
    try:
        view.detach()
    except BaseException:
        view.connection.close()
        raise
    return view


class Transaction:
    """Changes that become visible together, when the `with` block ends.

    new_names  engine names that this transaction added
    over       whether the block has ended
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._connection = store._connection
        self._failure: Exception | None = None
        self.new_names: list[str] = []
        self.over = False

    def check(self) -> None:
        """Raise the error of an earlier change: half a transaction must not be committed."""
        if self._failure is not None:
            raise self._failure

    def _execute(self, statement: str, arguments: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        # after a rollback by SQLite each statement would be a transaction of its own
        self.check()
        if self.over or not self._connection.in_transaction:
            raise RuntimeError("the transaction is over")
        try:
            return self._connection.execute(statement, arguments)
        except sqlite3.Error as error:
            self._failure = translate(self._store._path, error)
            raise self._failure from error
        except Exception as error:
            self._failure = error
            raise

    def _encode(self, value: Any) -> str:
        try:
            return encode(value)
        except Exception as error:
            self._failure = error
            raise

    def _name_id(self, name: str) -> int:
        """Return the number of an engine's name; results repeat few names."""
        store = self._store
        number = store._name_ids.get(name)
        if number is None:
            number = self._execute("INSERT INTO names (name) VALUES (?)", (name,)).lastrowid
            assert number is not None
            store._name_ids[name] = number
            store._names[number] = name
            self.new_names.append(name)
        return number

    def store_result(self, ticket: Ticket, result: Result) -> int | None:
        """Insert a result and drop its issued job; return its seq.

        Return None, and change nothing, if it was stored before: the competition must
        not receive it again.  Void results are unique by (game id, attempt), others by
        game id.  Scores of a shard are stored apart, until `drop_scores`.
        """
        if isinstance(result, EvaluationResult):
            return self._store_evaluation(ticket, result)
        result = storable_game(result)
        own = (
            *(result.winner, result.forfeit, result.score, result.faulty, result.plies),
            *(None, result.fingerprint, result.repeats, *self._place(result.host)),
        )
        return self._insert(ticket, result, own, result.usage)

    def _store_evaluation(self, ticket: Ticket, result: EvaluationResult) -> int | None:
        scores = result.scores
        result = storable_evaluation(result)
        facts = [result.score_key, result.shard, result.positions, result.facts]
        own = (None, 0, "", None, 0, self._encode(facts), None, 0, *self._place(result.host))
        seq = self._insert(ticket, result, own, (result.usage,))
        if seq is not None and scores is not None:
            self._execute(
                "INSERT OR REPLACE INTO scores VALUES (?, ?, ?)",
                (result.score_key, result.shard, scores),
            )
        return seq

    def _insert(
        self, ticket: Ticket, result: Result, own: tuple[Any, ...], usage: Sequence[EngineUsage]
    ) -> int | None:
        """Insert a row; `own` holds the columns that only one kind of result fills."""
        void = result.outcome == "void"
        if void:
            counted = "SELECT 1 FROM results WHERE game_id = ? AND once = -1"
            if self._execute(counted, (result.id,)).fetchone():
                return None  # it counts already, and must not be replayed
        values = (
            *(result.id, result.attempt, result.attempt if void else -1, self._encode(ticket)),
            *(result.outcome, result.reason, result.detail, result.seconds),
            *(self._encode([self._usage_row(used) for used in usage]), int(self._store._now())),
            *own,
        )
        cursor = self._execute(_INSERT_RESULT, values)
        if cursor.rowcount == 0:
            return None
        seq = cursor.lastrowid
        self._execute("DELETE FROM issues WHERE game_id = ?", (result.id,))
        column = "void" if void else "completed"
        self._execute(f"UPDATE counts SET {column} = {column} + 1")
        return seq

    def _place(self, host: Host | None) -> tuple[int | None, float | None, float | None]:
        """Return the columns of a host."""
        return (
            (None, None, None)
            if host is None
            else (self._name_id(host.name), host.speed, host.load)
        )

    def _usage_row(self, used: EngineUsage) -> list[Any]:
        name, description = self._name_id(used.name), self._name_id(used.description)
        row = [name, used.cpu_time, used.peak_memory, used.thinking, used.slowest, description]
        return row if used.ponder_cpu_time is None else [*row, used.ponder_cpu_time]

    def has_game(self, fingerprint: int) -> bool:
        """Whether a game with this fingerprint is recorded, also in this transaction."""
        statement = "SELECT 1 FROM results WHERE fingerprint = ? LIMIT 1"
        return self._execute(statement, (fingerprint,)).fetchone() is not None

    def drop_scores(self, number: int) -> None:
        """Delete the scores of a pass."""
        self._execute("DELETE FROM scores WHERE pass = ?", (number,))

    def issue(self, issue: IssuedJob) -> None:
        """Store a job as issued, in place of one with the same game id."""
        self._execute(
            "INSERT OR REPLACE INTO issues (game_id, attempt, ticket) VALUES (?, ?, ?)",
            (issue.game_id, issue.attempt, self._encode(issue.ticket)),
        )

    def withdraw(self, game_id: str) -> None:
        """Delete an issued job."""
        self._execute("DELETE FROM issues WHERE game_id = ?", (game_id,))

    def save_state(self, state: dict[str, Any]) -> int:
        """Store the competition's state after the last result; return its size in bytes."""
        text = self._encode(state)
        self._execute(
            "INSERT OR REPLACE INTO state VALUES "
            "(1, (SELECT coalesce(max(seq), 0) FROM results), ?)",
            (text,),
        )
        return len(text)

    def add_pending(self, pending: PendingRecord) -> None:
        """Store a game record that is to be written after the commit."""
        text = packed(pending.text.encode("utf-8", "surrogatepass"))
        self._execute(
            "INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?, ?)",
            (pending.game_id, pending.attempt, pending.folder, pending.name, text),
        )

    def drop_pending(self, game_id: str, attempt: int) -> None:
        """Delete a game record that is on disk."""
        self._execute("DELETE FROM pending WHERE game_id = ? AND attempt = ?", (game_id, attempt))

    def give_place(self, game_id: str) -> None:
        """Give a game the next place in the collected file, unless it has one."""
        self._execute(
            "INSERT INTO places (game_id) VALUES (?) ON CONFLICT (game_id) DO NOTHING", (game_id,)
        )

    def fill_place(self, game_id: str, attempt: int) -> None:
        """Assign the pending record of an attempt to the game's place, if it has one."""
        self._execute("UPDATE places SET attempt = ? WHERE game_id = ?", (attempt, game_id))

    def drop_place(self, game_id: str) -> None:
        """Delete a place: its record is written, or there will be none."""
        self._execute("DELETE FROM places WHERE game_id = ?", (game_id,))

    def pass_over(self, but: Collection[str] = ()) -> None:
        """Delete every place without a record, except those of the games `but`."""
        self._execute(
            "DELETE FROM places WHERE attempt IS NULL "
            "AND game_id NOT IN (SELECT value FROM json_each(?))",
            (self._encode(list(but)),),
        )

    def set_value(self, key: str, value: Any) -> None:
        """Store a small piece of JSON data under a key."""
        self._execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (key, self._encode(value)))
