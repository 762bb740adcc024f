"""Repair of a damaged status file: its whole rows are copied to a new file.

Nothing is deleted: the damaged file is moved among the copies.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.storage import rows
from ringmaster.storage.copies import with_wal_copied
from ringmaster.storage.entries import file_name
from ringmaster.storage.pages import leaf_rows
from ringmaster.storage.schema import check, create, strange_names

#: Tables with their keys, in the order in which they are copied.
_KEYS = {
    "runs": "number",
    "names": "id",
    "builds": "number",
    "results": "seq",
    "issues": "number",
    "state": "one",
    "notes": "rowid",
    "pending": "number",
    "scores": "rowid",
}
#: Numbers that are tried behind a page that cannot be read.
_REACH = 10_000


class Salvage(msgspec.Struct):
    """Numbers of what a repair found.

    results  results that are whole
    lost     results that are not; of these, `in_state` are part of the stored state, and
             `again` are issued again
    tables   other tables with damaged or missing rows, and the number of rows left
    state    whether the stored state is whole
    """

    results: int = 0
    lost: int = 0
    in_state: int = 0
    again: int = 0
    tables: dict[str, int] = msgspec.field(default_factory=dict)
    state: bool = False


def salvage(path: Path, new: sqlite3.Connection) -> Salvage:
    """Copy the whole rows of a status file, with its `-wal`, to an empty database.

    Raises StoreError, OSError, sqlite3.Error when nothing can be read.
    """
    create(new)
    with (
        with_wal_copied(path) as copy,
        closing(sqlite3.connect(copy, isolation_level=None)) as old,
    ):
        # text that is no UTF-8 is damage of a row, not of the file
        old.text_factory = lambda data: data.decode("utf-8", "replace")
        # otherwise SQLite reads nothing of a file that has been cut
        old.execute("PRAGMA writable_schema = ON")
        unreadable: sqlite3.Error | None = None
        strange = [*_KEYS, "counts"]
        try:
            check(old, str(path))
            strange = strange_names(old)
        except sqlite3.DatabaseError as error:
            unreadable = error
        found = _Repair(old, new, path, strange).run()
        if unreadable is not None and not found.results:
            raise unreadable
        return found


@dataclass
class _Repair:
    """A repair.

    strange  tables that cannot be read, or that ringmaster did not make
    last     number of the state's last result in the old file
    broken   games whose results are damaged, but not their tickets: number, id, attempt, ticket
    is_cut   whether rows of the last table could not be read
    """

    old: sqlite3.Connection
    new: sqlite3.Connection
    path: Path
    strange: Collection[str]
    found: Salvage = field(default_factory=Salvage)
    last: int = 0
    broken: list[tuple[int, str, int, str]] = field(default_factory=list)
    is_cut: bool = False

    def run(self) -> Salvage:
        recorded = self._recorded()
        self.new.execute("BEGIN")
        for table, key in _KEYS.items():
            if table in self.strange:
                self.found.tables[table] = 0
            else:
                self._copy(table, key)
            if table == "results":
                self._add_hidden()
        self._fill_names()
        self.new.execute(
            "UPDATE counts SET void = (SELECT count(*) FROM results WHERE outcome = 'void')"
        )
        self.new.execute("UPDATE counts SET completed = (SELECT count(*) FROM results) - void")
        self._issue_again()
        results, last = self.new.execute("SELECT count(*), max(seq) FROM results").fetchone()
        self.found.results = results
        self.found.lost = max(recorded, last or 0) - results
        self._number()
        # a result that counts has no issued job
        self.new.execute(
            "DELETE FROM issues WHERE game_id IN (SELECT game_id FROM results WHERE once = -1)"
        )
        self.new.execute("COMMIT")
        return self.found

    def _recorded(self) -> int:
        with suppress(sqlite3.Error, TypeError, ValueError):
            if "counts" not in self.strange:
                (number,) = self.old.execute("SELECT completed + void FROM counts").fetchone()
                return int(number)
        return 0

    def _copy(self, table: str, key: str) -> None:
        columns = [name for _, name, *_ in self.new.execute(f"PRAGMA table_info({table})")]
        names = ", ".join(columns)
        insertion = (
            f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"
        )
        there = whole = 0
        for row in self._rows(table, key, names):
            there += 1
            named = dict(zip(columns, row[1:], strict=True))
            checked = [named[column] for column in rows.TABLES.get(table, ())]
            if checked and not rows.is_sound(table, checked, named["checksum"]):
                if table == "results":
                    self.broken.append(
                        (row[0], named["game_id"], named["attempt"], named["ticket"])
                    )
                continue
            values = list(row[1:])
            if table == "state":
                # with the number that its last result has now
                self.last = named["seq"]
                query = "SELECT count(*) FROM results WHERE seq <= ?"
                (before,) = self.new.execute(query, (self.last,)).fetchone()
                self.found.in_state = self.last - before
                values = rows.stored("state", (1, before, named["data"]))
            whole += self.new.execute(insertion, values).rowcount
        if whole < there or self.is_cut:
            self.found.tables[table] = whole
        if table == "state":
            self.found.state = whole == 1

    def _add_hidden(self) -> None:
        """Add whole names and results that the trees of the file do not lead to."""
        tables = {}
        for table in ("names", "results"):
            columns = [name for _, name, *_ in self.new.execute(f"PRAGMA table_info({table})")]
            insertion = rows.insertion(table, "INSERT OR IGNORE", key=_KEYS[table])
            tables[len(columns)] = table, columns, insertion
        for number, values in leaf_rows(self.path):
            if len(values) not in tables:
                continue
            table, columns, insertion = tables[len(values)]
            named = dict(zip(columns, values, strict=True))
            with suppress(TypeError, ValueError, OverflowError):
                row = rows.stored(table, [named[column] for column in rows.TABLES[table]])
                if row[-1] == named["checksum"]:
                    self.new.execute(insertion, (number, *row))

    def _number(self) -> None:
        """Number the results from 1; a file has no gaps."""
        number = seq = 0
        query = "SELECT seq FROM results WHERE seq > ? ORDER BY seq LIMIT 1000"
        while batch := self.new.execute(query, (seq,)).fetchall():
            for (seq,) in batch:
                number += 1
                if number != seq:
                    self.new.execute("UPDATE results SET seq = ? WHERE seq = ?", (number, seq))

    def _issue_again(self) -> None:
        """Issue the games of damaged results that the state does not have."""
        kept = "SELECT 1 FROM results WHERE seq = ?"
        for number, game_id, attempt, ticket in self.broken:
            if self.found.state and number <= self.last:
                continue
            if self.new.execute(kept, (number,)).fetchone():
                continue
            with suppress(TypeError, ValueError):
                msgspec.json.decode(ticket, type=dict[str, Any])
                values = rows.stored("issues", (file_name(game_id), attempt, ticket))
                self.new.execute(rows.insertion("issues", "INSERT OR IGNORE"), values)
                self.found.again += 1

    def _rows(self, table: str, key: str, names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that can be read; set `is_cut` if some cannot."""
        self.is_cut = False
        after, last = 0, _REACH
        query = f"SELECT {key}, {names} FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT ?"
        most = 100
        while True:
            try:
                found = self.old.execute(query, (after, most)).fetchall()
                keys = [after, *(row[0] for row in found)]
                # damaged pages may refer to one another
                if keys != sorted(set(keys)):
                    raise sqlite3.DatabaseError
            except (sqlite3.Error, TypeError):
                self.is_cut = True
                # then row by row, over the damaged page
                after += most == 1
                most = 1
                if after > last:
                    return
                continue
            if not found:
                return
            yield from found
            after = found[-1][0]
            last = after + _REACH

    def _fill_names(self) -> None:
        """Give a name to each number without one."""
        used = {
            number
            for usage, host in self.new.execute("SELECT usage, host FROM results")
            for names in ([host], *([item[0], item[5]] for item in msgspec.json.decode(usage)))
            for number in names
            if number is not None
        }
        there = {number for (number,) in self.new.execute("SELECT id FROM names")}
        for number in sorted(used - there):
            (name, checksum) = rows.stored("names", (f"lost name {number}",))
            self.new.execute("INSERT INTO names VALUES (?, ?, ?)", (number, name, checksum))
