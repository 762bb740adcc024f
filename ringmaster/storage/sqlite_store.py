"""The store as a SQLite file (WAL).

How the file is opened and what its errors mean is in `connect`, its tables in
`migrations`.  Data is JSON in columns; reading a file runs no code.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ringmaster.model.jobs import Ticket
from ringmaster.model.results import EngineUsage, EvaluationResult, GameResult, Result
from ringmaster.storage.connect import (
    View,
    connect,
    connect_readonly,
    decoding,
    translate,
    translated,
)
from ringmaster.storage.encoding import decode, encode, kept, kept_evaluation
from ringmaster.storage.settled import settled
from ringmaster.storage.store import (
    NONE,
    Evaluated,
    Issue,
    Pending,
    Placed,
    Recorded,
    Run,
    Store,
    Transaction,
)

#: Seconds between two commits that are forced to the disk.
FULL_COMMIT_PERIOD = 1.0
#: Results read at a time.
_BATCH = 1000
_READ_PENDING = "SELECT game_id, attempt, folder, name, text FROM pending WHERE rowid = ?"
# not OR IGNORE, which would pass over other constraints, too
_INSERT_RESULT = (
    "INSERT INTO results (game_id, attempt, once, ticket, outcome, reason, detail, seconds, "
    "usage, finished, winner, forfeit, score, faulty, plies, evaluation, fingerprint, repeats) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (game_id, once) DO NOTHING"
)


class SqliteStore(Store):
    """See `Store`; made by `open` or `open_readonly`.

    Using it after `close`, or two transactions at a time, is a RuntimeError.
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
    ) -> SqliteStore:
        """Open a status file for writing; made or brought up to date if need be.

        clock  seconds from any beginning, for the period of full commits
        now    seconds since the epoch, for `Recorded.finished`

        Raises StoreError; a file that is refused is not touched.
        """
        path = Path(path)
        return cls(path, View(path, connect(path)), clock, now)

    @classmethod
    def open_readonly(cls, path: Path, *, lasting: bool = False) -> SqliteStore:
        """Open a status file for reading, also while a run writes it; writes
        nothing, and shows the data as they are now until it is closed.

        lasting  whether that must hold for any time, at the price of a private copy if
                 no run is alive; else a run that begins later and ends, or writes
                 megabytes, makes what is read after it raise StoreChanged

        Raises StoreError, also when there is no such file.
        """
        path = Path(path)
        return cls(path, settled(lambda: _lasting(path)) if lasting else connect_readonly(path))

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """See `Store.transaction`."""
        connection = self._connection
        now = self._clock()
        full = self._last_full is None or now - self._last_full >= FULL_COMMIT_PERIOD
        with translated(self._path):
            if self._is_in_transaction():
                raise RuntimeError("a transaction is open already")
            self._choose_sync(full)
            connection.execute("BEGIN IMMEDIATE")
        transaction = _SqliteTransaction(self)
        try:
            yield transaction
            transaction.check()
            with translated(self._path):
                connection.execute("COMMIT")
        except BaseException:
            # some errors of SQLite have rolled it back already
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
        """Force a commit to the disk once in a while: a power cut then costs a
        second, and a thousand games a second can still be recorded."""
        if full != self._full:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full

    def begin_run(self, run: Run) -> int:
        """See `Store.begin_run`."""
        with translated(self._path):
            cursor = self._connection.execute(
                "INSERT INTO runs (started, ended, end_reason, version, parallel, source, "
                "source_hash, settings) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    run.started,
                    run.ended,
                    run.end_reason,
                    run.version,
                    run.parallel,
                    run.source,
                    run.source_hash,
                    encode(run.settings),
                ),
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def end_run(self, number: int, ended: float, reason: str) -> None:
        """See `Store.end_run`."""
        with translated(self._path):
            self._connection.execute(
                "UPDATE runs SET ended = ?, end_reason = ? WHERE number = ?",
                (ended, reason, number),
            )

    def runs(self) -> int:
        """See `Store.runs`."""
        return int(self._one("SELECT count(*) FROM runs")[0])

    def all_runs(self) -> Sequence[Run]:
        """See `Store.all_runs`."""
        return self._runs("ORDER BY number")

    def last_run(self) -> Run | None:
        """See `Store.last_run`."""
        found = self._runs("ORDER BY number DESC LIMIT 1")
        return found[0] if found else None

    def _runs(self, which: str) -> list[Run]:
        rows = self._rows(
            "SELECT number, started, version, source, source_hash, settings, parallel, ended, "
            f"end_reason FROM runs {which}"
        )
        with decoding(self._path):
            return [_run(row) for row in rows]

    def snapshot(self) -> tuple[int, dict[str, Any]] | None:
        """See `Store.snapshot`."""
        row = self._one("SELECT seq, data FROM state")
        if row is None:
            return None
        with decoding(self._path):
            return row[0], decode(row[1])

    def results(self, after: int = 0) -> Iterator[Recorded | Evaluated]:
        """See `Store.results`; ends with the last result of when it began."""
        # In batches: no statement is left open while the caller goes on, and a
        # long history does not have to fit in memory.
        (last,) = self._one("SELECT coalesce(max(seq), 0) FROM results")
        if last - after > _BATCH:
            self._view.detach()
            self._connection = self._view.connection
        while after < last:
            rows = self._rows(
                "SELECT seq, ticket, game_id, attempt, outcome, winner, reason, detail, forfeit, "
                "score, faulty, plies, seconds, usage, finished, evaluation, fingerprint, repeats "
                "FROM results WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
                (after, last, _BATCH),
            )
            if not rows:
                return
            with decoding(self._path):
                batch = [self._recorded(row) for row in rows]
            yield from batch
            after = batch[-1].seq

    def _recorded(self, row: tuple[Any, ...]) -> Recorded | Evaluated:
        seq, ticket, game_id, attempt, outcome, winner, reason, detail, forfeit, *rest = row
        score, faulty, plies, seconds, usage, finished, evaluation, fingerprint, repeats = rest
        if evaluation is not None:
            (used,) = (self._usage(item) for item in decode(usage))
            number, shard, positions, facts = decode(evaluation)
            evaluated = EvaluationResult(
                job_id=game_id,
                attempt=attempt,
                outcome=outcome,
                number=number,
                shard=shard,
                reason=reason,
                detail=detail,
                seconds=seconds,
                positions=positions,
                usage=used,
                facts=facts,
            )
            return Evaluated(seq, decode(ticket), evaluated, finished)
        first, second = (self._usage(item) for item in decode(usage))
        result = GameResult(
            game_id=game_id,
            attempt=attempt,
            outcome=outcome,
            winner=winner,
            reason=reason,
            detail=detail,
            forfeit=bool(forfeit),
            score=score,
            faulty=faulty,
            plies=plies,
            seconds=seconds,
            usage=(first, second),
            fingerprint=fingerprint,
            repeats=bool(repeats),
        )
        return Recorded(seq, decode(ticket), result, finished)

    def _usage(self, item: list[Any]) -> EngineUsage:
        # CPU while pondering stands last, and only where there was any
        name, cpu_time, peak_memory, thinking, slowest, description, *ponder = item
        return EngineUsage(
            self._names[name],
            cpu_time,
            peak_memory,
            thinking,
            slowest,
            self._names[description],
            *ponder,
        )

    def scores(self, number: int, shard: int) -> bytes | None:
        """See `Store.scores`."""
        row = self._one("SELECT data FROM scores WHERE pass = ? AND shard = ?", (number, shard))
        return None if row is None else bytes(row[0])

    def issues(self) -> Sequence[Issue]:
        """See `Store.issues`."""
        rows = self._rows("SELECT game_id, attempt, ticket FROM issues ORDER BY number")
        with decoding(self._path):
            return [Issue(game_id, attempt, decode(ticket)) for game_id, attempt, ticket in rows]

    def pending(self) -> Iterator[Pending]:
        """See `Store.pending`."""
        after = 0
        while rows := self._rows(
            "SELECT rowid, game_id, attempt, folder, name, text FROM pending WHERE rowid > ? "
            "ORDER BY rowid LIMIT 100",
            (after,),
        ):
            with decoding(self._path):
                batch = [_pending(*row) for _, *row in rows]
            yield from batch
            after = rows[-1][0]

    def in_turn(
        self, after: int = 0, most: int = 100, known: Mapping[tuple[str, int], Pending] = NONE
    ) -> Sequence[Placed]:
        """See `Store.in_turn`."""
        rows = self._rows(
            "SELECT place, pending.rowid, game_id, attempt FROM places "
            "JOIN pending USING (game_id, attempt) WHERE place > ? AND place < coalesce("
            "(SELECT place FROM places WHERE attempt IS NULL ORDER BY place LIMIT 1), "
            f"{1 << 62}) ORDER BY place LIMIT ?",
            (after, most),
        )
        found = []
        for place, rowid, game_id, attempt in rows:
            pending = known.get((game_id, attempt))
            if pending is None:
                with decoding(self._path):
                    pending = _pending(*self._one(_READ_PENDING, (rowid,)))
            found.append(Placed(place, pending))
        return found

    def note(self, key: str) -> Any:
        """See `Store.note`."""
        row = self._one("SELECT value FROM notes WHERE key = ?", (key,))
        with decoding(self._path):
            return None if row is None else decode(row[0])

    def counts(self) -> tuple[int, int]:
        """See `Store.counts`."""
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
        """See `Store.close`."""
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


def _run(row: tuple[Any, ...]) -> Run:
    number, started, version, source, source_hash, settings, *rest = row
    parallel, ended, end_reason = rest
    return Run(
        number=number,
        started=started,
        version=version,
        source=source,
        source_hash=source_hash,
        settings=decode(settings),
        parallel=parallel,
        ended=ended,
        end_reason=end_reason,
    )


def _pending(game_id: str, attempt: int, folder: str, name: str, text: bytes) -> Pending:
    whole = zlib.decompress(text).decode("utf-8", "surrogatepass")
    return Pending(game_id, attempt, folder, name, whole)


def _packed(text: bytes) -> bytes:
    """Return a record's text as `zlib.decompress` reads it."""
    # Not compressed: it is forgotten within a second or so, and a page more in the WAL
    # costs less.  zlib's usual 256 KiB of memory would cost more than all else.
    packer = zlib.compressobj(0, zlib.DEFLATED, wbits=9, memLevel=1)
    return packer.compress(text) + packer.flush()


class _SqliteTransaction(Transaction):
    """`new_names` were added to the store's in this transaction; `over` says
    that its block has ended."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._connection = store._connection
        self._failure: Exception | None = None
        self.new_names: list[str] = []
        self.over = False

    def check(self) -> None:
        """Raise the error of a change that failed, if the caller has not let it
        pass through: half a transaction must not be committed."""
        if self._failure is not None:
            raise self._failure

    def _execute(self, statement: str, arguments: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        # When SQLite has rolled back by itself, each statement would be a
        # transaction of its own.
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
        found = store._name_ids.get(name)
        if found is None:
            found = self._execute("INSERT INTO names (name) VALUES (?)", (name,)).lastrowid
            assert found is not None
            store._name_ids[name] = found
            store._names[found] = name
            self.new_names.append(name)
        return found

    def record(self, ticket: Ticket, result: Result) -> int | None:
        """See `Transaction.record`."""
        if isinstance(result, EvaluationResult):
            return self._record_evaluation(ticket, result)
        result = kept(result)
        own = (
            result.winner,
            result.forfeit,
            result.score,
            result.faulty,
            result.plies,
            None,
            result.fingerprint,
            result.repeats,
        )
        return self._insert(ticket, result, own, result.usage)

    def _record_evaluation(self, ticket: Ticket, result: EvaluationResult) -> int | None:
        scores = result.scores
        result = kept_evaluation(result)
        facts = [result.number, result.shard, result.positions, result.facts]
        own = (None, 0, "", None, 0, self._encode(facts), None, 0)
        seq = self._insert(ticket, result, own, (result.usage,))
        if seq is not None and scores is not None:
            self._execute(
                "INSERT OR REPLACE INTO scores VALUES (?, ?, ?)",
                (result.number, result.shard, scores),
            )
        return seq

    def _insert(
        self, ticket: Ticket, result: Result, own: tuple[Any, ...], usage: Sequence[EngineUsage]
    ) -> int | None:
        """Insert a row; `own` has the columns that not every kind of result fills."""
        void = result.outcome == "void"
        if void:
            counted = "SELECT 1 FROM results WHERE game_id = ? AND once = -1"
            if self._execute(counted, (result.id,)).fetchone():
                # it counts already, and must not be replayed
                return None
        cursor = self._execute(
            _INSERT_RESULT,
            (
                result.id,
                result.attempt,
                result.attempt if void else -1,
                self._encode(ticket),
                result.outcome,
                result.reason,
                result.detail,
                result.seconds,
                self._encode([self._usage_row(used) for used in usage]),
                int(self._store._now()),
                *own,
            ),
        )
        if cursor.rowcount == 0:
            return None
        seq = cursor.lastrowid
        self._execute("DELETE FROM issues WHERE game_id = ?", (result.id,))
        column = "void" if void else "completed"
        self._execute(f"UPDATE counts SET {column} = {column} + 1")
        return seq

    def _usage_row(self, used: EngineUsage) -> list[Any]:
        return [
            self._name_id(used.name),
            used.cpu_time,
            used.peak_memory,
            used.thinking,
            used.slowest,
            self._name_id(used.description),
            *(() if used.ponder_cpu_time is None else (used.ponder_cpu_time,)),
        ]

    def has_game(self, fingerprint: int) -> bool:
        """See `Transaction.has_game`."""
        statement = "SELECT 1 FROM results WHERE fingerprint = ? LIMIT 1"
        return self._execute(statement, (fingerprint,)).fetchone() is not None

    def drop_scores(self, number: int) -> None:
        """See `Transaction.drop_scores`."""
        self._execute("DELETE FROM scores WHERE pass = ?", (number,))

    def issue(self, issue: Issue) -> None:
        """See `Transaction.issue`."""
        self._execute(
            "INSERT OR REPLACE INTO issues (game_id, attempt, ticket) VALUES (?, ?, ?)",
            (issue.game_id, issue.attempt, self._encode(issue.ticket)),
        )

    def withdraw(self, game_id: str) -> None:
        """See `Transaction.withdraw`."""
        self._execute("DELETE FROM issues WHERE game_id = ?", (game_id,))

    def save_state(self, state: dict[str, Any]) -> int:
        """See `Transaction.save_state`."""
        text = self._encode(state)
        self._execute(
            "INSERT OR REPLACE INTO state VALUES "
            "(1, (SELECT coalesce(max(seq), 0) FROM results), ?)",
            (text,),
        )
        return len(text)

    def add_pending(self, pending: Pending) -> None:
        """See `Transaction.add_pending`."""
        text = _packed(pending.text.encode("utf-8", "surrogatepass"))
        self._execute(
            "INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?, ?)",
            (pending.game_id, pending.attempt, pending.folder, pending.name, text),
        )

    def drop_pending(self, game_id: str, attempt: int) -> None:
        """See `Transaction.drop_pending`."""
        self._execute("DELETE FROM pending WHERE game_id = ? AND attempt = ?", (game_id, attempt))

    def give_place(self, game_id: str) -> None:
        """See `Transaction.give_place`."""
        self._execute(
            "INSERT INTO places (game_id) VALUES (?) ON CONFLICT (game_id) DO NOTHING", (game_id,)
        )

    def fill_place(self, game_id: str, attempt: int) -> None:
        """See `Transaction.fill_place`."""
        self._execute("UPDATE places SET attempt = ? WHERE game_id = ?", (attempt, game_id))

    def drop_place(self, game_id: str) -> None:
        """See `Transaction.drop_place`."""
        self._execute("DELETE FROM places WHERE game_id = ?", (game_id,))

    def pass_over(self, but: Collection[str] = ()) -> None:
        """See `Transaction.pass_over`."""
        self._execute(
            "DELETE FROM places WHERE attempt IS NULL "
            "AND game_id NOT IN (SELECT value FROM json_each(?))",
            (self._encode(list(but)),),
        )

    def set_note(self, key: str, value: Any) -> None:
        """See `Transaction.set_note`."""
        self._execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (key, self._encode(value)))
