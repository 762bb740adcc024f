"""Rows that are saved from a damaged status file."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from ringmaster.storage.pages import leaf_rows
from ringmaster.storage.repair import Salvage, salvage
from ringmaster.storage.store import Store
from tests.storage.test_store import result

GAMES = 120
PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t.status"
    with closing(Store.open(path)) as store:
        for number in range(GAMES):
            with store.transaction() as transaction:
                played = msgspec.structs.replace(result(f"g{number}"), detail="x" * 300)
                transaction.store_result({"game": number}, played)
                transaction.save_state({"games": number})
    return path


def saved(path: Path) -> Salvage:
    with closing(sqlite3.connect("", isolation_level=None)) as new:
        found = salvage(path, new)
        numbers = [seq for (seq,) in new.execute("SELECT seq FROM results ORDER BY seq")]
        assert numbers == list(range(1, found.results + 1))
        return found


def root_of(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        ((page,),) = connection.execute(query, (table,)).fetchall()
    return int(page)


def change(path: Path, start: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)


def test_pages_have_the_rows_that_sqlite_reads(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        expected = connection.execute("SELECT * FROM results").fetchall()
    # SQLite has the number apart, and whole seconds as integers
    found = {key: values for key, values in leaf_rows(path) if len(values) == len(expected[0])}
    assert sorted((key, *values[1:]) for key, values in found.items()) == expected


def test_results_are_saved_without_the_root_of_their_tree(path: Path) -> None:
    change(path, (root_of(path, "results") - 1) * PAGE, bytes(PAGE))
    assert saved(path).results == GAMES


def test_results_are_saved_without_the_table_of_tables(path: Path) -> None:
    change(path, 100, bytes(PAGE - 100))
    found = saved(path)
    assert (found.results, found.state) == (GAMES, False)


def test_results_are_saved_from_a_file_that_has_been_cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 4])
    assert GAMES // 4 < saved(path).results < GAMES


def test_damaged_row_is_not_taken_from_a_page(path: Path) -> None:
    change(path, (root_of(path, "results") - 1) * PAGE, bytes(PAGE))
    change(path, path.read_bytes().index(b"x" * 300), b"y")
    assert saved(path).results == GAMES - 1
