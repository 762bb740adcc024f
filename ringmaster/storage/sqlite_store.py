"""The store as a SQLite file (WAL).

Every error of SQLite or the system is translated here, in `_translated`.  Data
is JSON in columns; reading a file runs no code.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from ringmaster.errors import StoreCorrupt, StoreError, StoreUnwritable
from ringmaster.model.jobs import Ticket
from ringmaster.model.results import EngineUsage, GameResult
from ringmaster.storage.migrations import MIGRATIONS, check, migrate
from ringmaster.storage.store import Issue, Pending, Recorded, Run, Store, Transaction

#: Seconds between two commits that are forced to the disk.
FULL_COMMIT_PERIOD = 1.0
#: Seconds to wait for another process that writes.
BUSY_TIMEOUT = 10.0

_encode = msgspec.json.encode
_decode = msgspec.json.decode


def _text(value: Any) -> str:
    return _encode(value).decode()


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(path, error) from error
    except (msgspec.DecodeError, msgspec.ValidationError, zlib.error) as error:
        raise StoreCorrupt(_damaged(path, error)) from error
    except OSError as error:
        raise StoreUnwritable(f"cannot use {path}: {error.strerror}") from error


def _damaged(path: Path, error: Exception) -> str:
    return f"{path} is damaged ({error}); put a copy of it back, or use reset to begin anew"


def _translate(path: Path, error: sqlite3.Error) -> StoreError:
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_FULL"):
        return StoreUnwritable(f"cannot write {path}: the disk is full; nothing is lost, run again")
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "SQLITE_AUTH")):
        return StoreUnwritable(f"cannot write {path}: {error}; is its folder writable?")
    if name.startswith("SQLITE_IOERR"):
        return StoreUnwritable(f"cannot write {path}: {error}; is the disk full?")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StoreCorrupt(_damaged(path, error))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreUnwritable(f"cannot write {path}: another program holds it locked")
    return StoreCorrupt(_damaged(path, error))


class SqliteStore(Store):
    """See `Store`; made by `open` or `open_readonly`."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._connection = connection
        self._clock = clock
        self._last_full = -FULL_COMMIT_PERIOD
        self._full = False
        self._name_ids: dict[str, int] = {}
        self._names: dict[int, str] = {}

    @classmethod
    def open(
        cls, path: Path, *, code: str = "", clock: Callable[[], float] = time.monotonic
    ) -> SqliteStore:
        """Open a status file for writing; made or brought up to date if need be."""
        path = Path(path)
        if path.is_dir():
            raise StoreUnwritable(f"cannot use {path}: it is a folder")
        with _translated(path):
            connection = sqlite3.connect(
                path, timeout=BUSY_TIMEOUT, isolation_level=None, cached_statements=256
            )
            try:
                check(connection, str(path))
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                migrate(connection, str(path))
                # a reader of another user's may not be able to make them
                store = cls(path, connection, clock)
                store._load_names()
            except BaseException:
                connection.close()
                raise
        return store

    @classmethod
    def open_readonly(cls, path: Path) -> SqliteStore:
        """Open a status file for reading, also while a run writes it.

        Raises StoreError when there is none.
        """
        path = Path(path)
        if not path.is_file():
            raise StoreError(f"there is no status file {path}")
        uri = f"file:{quote(str(path))}?mode=ro"
        with _translated(path):
            try:
                return cls._connect_readonly(path, uri)
            except sqlite3.OperationalError:
                # In a folder that cannot be written the -shm file cannot be
                # made; without a WAL the file alone is complete.
                wal = Path(f"{path}-wal")
                if wal.exists() and wal.stat().st_size:
                    raise
                return cls._connect_readonly(path, uri + "&immutable=1")

    @classmethod
    def _connect_readonly(cls, path: Path, uri: str) -> SqliteStore:
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT, isolation_level=None)
        try:
            version = check(connection, str(path))
            if version < len(MIGRATIONS):
                raise StoreError(
                    f"{path} is empty or of an older format; `run` brings it up to date"
                )
            # one view of the data for everything that is read
            connection.execute("BEGIN")
            store = cls(path, connection)
            store._load_names()
        except BaseException:
            connection.close()
            raise
        return store

    def _load_names(self) -> None:
        for id, name in self._connection.execute("SELECT id, name FROM names"):
            self._names[id] = name
            self._name_ids[name] = id

    def _name_id(self, name: str) -> int:
        """Return the number of an engine's name; results repeat few names."""
        found = self._name_ids.get(name)
        if found is None:
            cursor = self._connection.execute("INSERT INTO names (name) VALUES (?)", (name,))
            assert cursor.lastrowid is not None
            found = self._name_ids[name] = cursor.lastrowid
            self._names[found] = name
        return found

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """See `Store.transaction`."""
        names = dict(self._name_ids)
        with _translated(self._path):
            self._choose_sync()
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield _SqliteTransaction(self)
            with _translated(self._path):
                self._connection.execute("COMMIT")
        except BaseException:
            self._name_ids = names
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _choose_sync(self) -> None:
        """Force a commit to the disk once in a while: a power cut then costs a
        second, and a thousand games a second can still be recorded."""
        full = self._clock() - self._last_full >= FULL_COMMIT_PERIOD
        if full:
            self._last_full = self._clock()
        if full != self._full:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full

    def begin_run(self, run: Run) -> int:
        """See `Store.begin_run`."""
        with _translated(self._path):
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
                    _text(run.settings),
                ),
            )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def end_run(self, number: int, ended: float, reason: str) -> None:
        """See `Store.end_run`."""
        with _translated(self._path):
            self._connection.execute(
                "UPDATE runs SET ended = ?, end_reason = ? WHERE number = ?",
                (ended, reason, number),
            )

    def runs(self) -> int:
        """See `Store.runs`."""
        return int(self._one("SELECT count(*) FROM runs")[0])

    def last_run(self) -> Run | None:
        """See `Store.last_run`."""
        row = self._one(
            "SELECT number, started, version, source, source_hash, settings, parallel, ended, "
            "end_reason FROM runs ORDER BY number DESC LIMIT 1"
        )
        if row is None:
            return None
        with _translated(self._path):
            number, started, version, source, source_hash, settings, *rest = row
            parallel, ended, end_reason = rest
            return Run(
                number=number,
                started=started,
                version=version,
                source=source,
                source_hash=source_hash,
                settings=_decode(settings),
                parallel=parallel,
                ended=ended,
                end_reason=end_reason,
            )

    def snapshot(self) -> tuple[int, dict[str, Any]] | None:
        """See `Store.snapshot`."""
        row = self._one("SELECT seq, data FROM state")
        if row is None:
            return None
        with _translated(self._path):
            return row[0], _decode(row[1])

    def results(self, after: int = 0) -> Iterator[Recorded]:
        """See `Store.results`."""
        with _translated(self._path):
            rows = self._connection.execute(
                "SELECT seq, ticket, game_id, attempt, outcome, winner, reason, detail, forfeit, "
                "score, faulty, plies, seconds, usage FROM results WHERE seq > ? ORDER BY seq",
                (after,),
            )
            for row in rows:
                yield self._recorded(row)

    def _recorded(self, row: tuple[Any, ...]) -> Recorded:
        seq, ticket, game_id, attempt, outcome, winner, reason, detail, forfeit, *rest = row
        score, faulty, plies, seconds, usage = rest
        first, second = (self._usage(item) for item in _decode(usage))
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
        )
        return Recorded(seq, _decode(ticket), result)

    def _usage(self, item: list[Any]) -> EngineUsage:
        name, cpu_time, peak_memory, thinking, slowest, description = item
        return EngineUsage(
            self._names[name], cpu_time, peak_memory, thinking, slowest, self._names[description]
        )

    def issues(self) -> Sequence[Issue]:
        """See `Store.issues`."""
        with _translated(self._path):
            rows = self._connection.execute(
                "SELECT game_id, attempt, ticket FROM issues ORDER BY number"
            )
            return [Issue(game_id, attempt, _decode(ticket)) for game_id, attempt, ticket in rows]

    def pending(self) -> Sequence[Pending]:
        """See `Store.pending`."""
        with _translated(self._path):
            rows = self._connection.execute(
                "SELECT game_id, attempt, folder, name, text FROM pending ORDER BY rowid"
            )
            return [
                Pending(
                    game_id=game_id,
                    attempt=attempt,
                    folder=folder,
                    name=name,
                    text=zlib.decompress(text).decode("utf-8", "surrogatepass"),
                )
                for game_id, attempt, folder, name, text in rows
            ]

    def note(self, key: str) -> Any:
        """See `Store.note`."""
        row = self._one("SELECT value FROM notes WHERE key = ?", (key,))
        with _translated(self._path):
            return None if row is None else _decode(row[0])

    def counts(self) -> tuple[int, int]:
        """See `Store.counts`."""
        row = self._one("SELECT completed, void FROM counts")
        return (0, 0) if row is None else (row[0], row[1])

    def _one(self, query: str, arguments: tuple[Any, ...] = ()) -> Any:
        with _translated(self._path):
            return self._connection.execute(query, arguments).fetchone()

    def close(self) -> None:
        """See `Store.close`."""
        with _translated(self._path):
            self._connection.close()


class _SqliteTransaction(Transaction):
    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._path = store._path
        self._connection = store._connection

    def record(self, ticket: Ticket, result: GameResult) -> int | None:
        """See `Transaction.record`."""
        void = result.outcome == "void"
        with _translated(self._path):
            usage = [
                [
                    self._store._name_id(used.name),
                    _round(used.cpu_time),
                    used.peak_memory,
                    _round(used.thinking),
                    _round(used.slowest),
                    self._store._name_id(used.description),
                ]
                for used in result.usage
            ]
            cursor = self._connection.execute(
                "INSERT OR IGNORE INTO results (game_id, attempt, once, ticket, outcome, winner, "
                "reason, detail, forfeit, score, faulty, plies, seconds, usage) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    result.game_id,
                    result.attempt,
                    result.attempt if void else -1,
                    _text(ticket),
                    result.outcome,
                    result.winner,
                    result.reason,
                    result.detail.encode("utf-8", "replace").decode(),
                    result.forfeit,
                    result.score,
                    result.faulty,
                    result.plies,
                    _round(result.seconds),
                    _text(usage),
                ),
            )
            if cursor.rowcount == 0:
                return None
            seq = cursor.lastrowid
            self._connection.execute("DELETE FROM issues WHERE game_id = ?", (result.game_id,))
            column = "void" if void else "completed"
            self._connection.execute(f"UPDATE counts SET {column} = {column} + 1")
        return seq

    def issue(self, issue: Issue) -> None:
        """See `Transaction.issue`."""
        with _translated(self._path):
            self._connection.execute(
                "INSERT OR REPLACE INTO issues (game_id, attempt, ticket) VALUES (?, ?, ?)",
                (issue.game_id, issue.attempt, _text(issue.ticket)),
            )

    def withdraw(self, game_id: str) -> None:
        """See `Transaction.withdraw`."""
        with _translated(self._path):
            self._connection.execute("DELETE FROM issues WHERE game_id = ?", (game_id,))

    def save_state(self, state: dict[str, Any]) -> None:
        """See `Transaction.save_state`."""
        with _translated(self._path):
            self._connection.execute(
                "INSERT OR REPLACE INTO state VALUES "
                "(1, (SELECT coalesce(max(seq), 0) FROM results), ?)",
                (_text(state),),
            )

    def add_pending(self, pending: Pending) -> None:
        """See `Transaction.add_pending`."""
        text = zlib.compress(pending.text.encode("utf-8", "surrogatepass"), 1)
        with _translated(self._path):
            self._connection.execute(
                "INSERT OR REPLACE INTO pending VALUES (?, ?, ?, ?, ?)",
                (pending.game_id, pending.attempt, pending.folder, pending.name, text),
            )

    def drop_pending(self, game_id: str, attempt: int) -> None:
        """See `Transaction.drop_pending`."""
        with _translated(self._path):
            self._connection.execute(
                "DELETE FROM pending WHERE game_id = ? AND attempt = ?", (game_id, attempt)
            )

    def set_note(self, key: str, value: Any) -> None:
        """See `Transaction.set_note`."""
        with _translated(self._path):
            self._connection.execute(
                "INSERT OR REPLACE INTO notes VALUES (?, ?)", (key, _text(value))
            )


def _round(seconds: float | None) -> float | None:
    """Microseconds are enough, and a third of the bytes."""
    return None if seconds is None else round(seconds, 6)
