"""Changes of a store that are made together or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.model.builds import Build
from ringmaster.model.jobs import Ticket
from ringmaster.model.results import EngineUsage, EvaluationResult, Result
from ringmaster.storage import rows
from ringmaster.storage.connect import translate
from ringmaster.storage.entries import (
    IssuedJob,
    PendingRecord,
    clean,
    encode,
)

#: Fields of an EvaluationResult that are in `ResultRow.evaluation`, in their order.
EVALUATION_FIELDS = ("score_key", "shard", "positions", "facts")
#: Columns of a game's result that a shard's does not have.
GAME_COLUMNS = ("winner", "forfeit", "score", "faulty", "plies", "fingerprint", "repeats")


@dataclass(eq=False)
class Transaction:
    """Changes that become visible together, when the `with` block ends.

    path          the status file, for messages
    name_numbers  known numbers of names; to be emptied after a rollback
    now           returns seconds since the epoch
    over          whether the block has ended
    """

    _connection: sqlite3.Connection
    _path: Path
    _name_numbers: dict[str, int]
    _now: Callable[[], float]
    over: bool = False
    _failure: Exception | None = None

    def check(self) -> None:
        """Raise the error of an earlier change: half a transaction must not be committed."""
        if self._failure is not None:
            raise self._failure

    def _execute(self, statement: str, arguments: Sequence[Any] = ()) -> sqlite3.Cursor:
        # after a rollback by SQLite each statement would be a transaction of its own
        self.check()
        if self.over or not self._connection.in_transaction:
            raise RuntimeError("the transaction is over")
        try:
            return self._connection.execute(statement, arguments)
        except sqlite3.Error as error:
            self._failure = translate(self._path, error)
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

    def _put(
        self, table: str, *values: Any, verb: str = "INSERT OR REPLACE", clause: str = ""
    ) -> sqlite3.Cursor:
        """Store a row with its checksum."""
        return self._execute(rows.insertion(table, verb, clause), rows.stored(table, values))

    def _name_id(self, name: str) -> int:
        """Return the number of an engine's name; results repeat few names."""
        if name not in self._name_numbers:
            known = self._execute("SELECT id FROM names WHERE name = ?", (name,)).fetchone()
            number = known[0] if known else self._put("names", name, verb="INSERT").lastrowid
            assert number is not None
            self._name_numbers[name] = number
        return self._name_numbers[name]

    def store_result(self, ticket: Ticket, result: Result) -> int | None:
        """Insert a result and drop its issued job; return its seq.

        Return None, and change nothing, if it was stored before: the competition must
        not receive it again.  Void results are unique by (game id, attempt), others by
        game id.  Scores of a shard are stored apart, until `drop_scores`.
        """
        if isinstance(result, EvaluationResult):
            usage: Sequence[EngineUsage] = (result.usage,)
            facts = [getattr(result, name) for name in EVALUATION_FIELDS]
            columns: dict[str, Any] = {"evaluation": self._encode(facts)}
        else:
            usage = result.usage
            columns = {name: getattr(result, name) for name in GAME_COLUMNS}
            columns["score"] = clean(result.score)
        void = result.outcome == "void"
        columns |= zip(("first_build", "second_build"), result.builds, strict=False)
        host = result.host
        row = rows.ResultRow(
            game_id=result.id,
            attempt=result.attempt,
            once=result.attempt if void else -1,
            ticket=self._encode(ticket),
            outcome=result.outcome,
            reason=clean(result.reason),
            detail=clean(result.detail),
            seconds=round(result.seconds, 6),
            usage=self._encode([self._usage_row(used) for used in usage]),
            finished=int(self._now()),
            host=None if host is None else self._name_id(host.name),
            speed=None if host is None else host.speed,
            load=None if host is None else host.load,
        )._replace(**columns)
        if void:
            counted = "SELECT 1 FROM results WHERE game_id = ? AND once = -1"
            if self._execute(counted, (row.game_id,)).fetchone():
                return None  # it counts already, and must not be replayed
        # not OR IGNORE, which would pass over other constraints, too
        once = "ON CONFLICT (game_id, once) DO NOTHING"
        cursor = self._put("results", *row, verb="INSERT", clause=once)
        if cursor.rowcount == 0:
            return None
        seq = cursor.lastrowid
        self.withdraw(row.game_id)
        column = "void" if void else "completed"
        self._execute(f"UPDATE counts SET {column} = {column} + 1")
        if isinstance(result, EvaluationResult) and result.scores is not None:
            self._execute(
                "INSERT OR REPLACE INTO scores VALUES (?, ?, ?)",
                (result.score_key, result.shard, result.scores),
            )
        return seq

    def _usage_row(self, used: EngineUsage) -> tuple[Any, ...]:
        values = msgspec.structs.asdict(used)
        for name, value in values.items():
            if isinstance(value, str):
                values[name] = self._name_id(clean(value))
            elif isinstance(value, float):
                # microseconds: more digits would cost bytes
                values[name] = round(value, 6)
        row = rows.UsageRow(**values)
        # the last three are rare, and a null would cost five bytes
        length = 8 if row.extra_moves else 6 if row.ponder_cpu_time is None else 7
        return msgspec.structs.astuple(row)[: 9 if row.disputed else length]

    def has_game(self, fingerprint: int) -> bool:
        """Return whether a game with this fingerprint is recorded, also in this transaction."""
        statement = "SELECT 1 FROM results WHERE fingerprint = ? LIMIT 1"
        return self._execute(statement, (fingerprint,)).fetchone() is not None

    def put_build(self, number: int, build: Build) -> None:
        """Store a build under its number in results."""
        texts = {"name": clean(build.name), "description": clean(build.description)}
        self._put("builds", number, self._encode(msgspec.structs.replace(build, **texts)))

    def drop_scores(self, number: int) -> None:
        """Delete the scores of a pass."""
        self._execute("DELETE FROM scores WHERE pass = ?", (number,))

    def issue(self, issue: IssuedJob) -> None:
        """Store a job as issued, in place of one with the same game id."""
        self._put("issues", issue.game_id, issue.attempt, self._encode(issue.ticket))

    def withdraw(self, game_id: str) -> None:
        """Delete an issued job."""
        self._execute("DELETE FROM issues WHERE game_id = ?", (game_id,))

    def save_state(self, state: dict[str, Any]) -> int:
        """Store the competition's state after the last result; return its size in bytes."""
        text = self._encode(state)
        (last,) = self._execute("SELECT coalesce(max(seq), 0) FROM results").fetchone()
        self._put("state", 1, last, text)
        return len(text)

    def add_pending(self, pending: PendingRecord) -> PendingRecord:
        """Store a game record that is to be written after the commit; return it numbered."""
        # an engine's comments may have lone surrogates
        text = pending.text.encode("utf-8", "backslashreplace").decode()
        row = self._put("pending", pending.folder, pending.name, text, verb="INSERT")
        return PendingRecord(pending.folder, pending.name, text, row.lastrowid or 0)

    def drop_pending(self, number: int) -> None:
        """Delete a game record that is on disk."""
        self._execute("DELETE FROM pending WHERE number = ?", (number,))

    def set_value(self, key: str, value: Any) -> None:
        """Store a small piece of JSON data under a key."""
        self._put("notes", key, self._encode(value))
