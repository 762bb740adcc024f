"""The status file: damage, versions, readers beside a run, kills and full disks."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from ringmaster.errors import (
    StoreChanged,
    StoreCorrupt,
    StoreError,
    StoreUnsupported,
    StoreUnwritable,
)
from ringmaster.model.results import EngineUsage
from ringmaster.storage import connect
from ringmaster.storage.entries import IssuedJob, PendingRecord
from ringmaster.storage.store import Store
from tests.storage.test_store import everything, record, result, run_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    # characters that mean something in an SQLite URI
    folder = tmp_path / "a ?%23#b"
    folder.mkdir()
    return folder / "t.status"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store.open(path)
    yield store
    store.close()


def fill(store: Store) -> None:
    """Put something into every table."""
    store.begin_run(run_of())
    with store.transaction() as transaction:
        for number in range(20):
            transaction.store_result({"k": number}, result(f"0_{number}"))
        transaction.issue(IssuedJob("1_0", 0, {"k": 20}))
        transaction.save_state({"n": 20})
        transaction.add_pending(PendingRecord("t.games", "0_0.pgn", "text"))
        transaction.set_value("history", ["line"])


def filled(path: Path) -> tuple[object, ...]:
    store = Store.open(path)
    fill(store)
    recorded = everything(store)
    store.close()
    return recorded


def read(path: Path) -> tuple[object, ...]:
    """Return everything, as a reader sees it."""
    store = Store.open_readonly(path)
    try:
        return everything(store)
    finally:
        store.close()


def files(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in path.parent.iterdir()}


def run_killed(path: Path, work: str) -> None:
    """Do work on the store of another process, which is then killed."""
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from ringmaster.storage.store import Store\n"
        "from tests.storage.test_status_file import *\n"
        "store = Store.open(Path(sys.argv[1]))\n"
        f"{work}\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL


def as_nobody(path: Path, method: str) -> str:
    """Open a store as a user without write permission; return the output.

    Other users must be able to enter the folders; they cannot enter tmp_path.
    """
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from ringmaster.errors import StoreError\n"
        "from ringmaster.storage.store import Store\n"
        # before the imports of others are out of reach
        "import json, zlib, tempfile, encodings.ascii\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try:\n"
        f"    store = Store.{method}(Path(sys.argv[1]))\n"
        "    print(store.counts(), len(list(store.results())), store.read_value('history'))\n"
        "    store.close()\n"
        "except StoreError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip()


# opening


def test_data_are_there_after_opening_again(path: Path) -> None:
    before = filled(path)
    store = Store.open(path)
    assert everything(store) == before
    assert record(store, result("0_3"), result("1_0")) == [None, 21]
    store.close()
    assert list(files(path)) == ["t.status"]


def test_empty_file_is_a_new_store(path: Path) -> None:
    path.touch()
    assert read(path) == ([], [], [], None, (0, 0), [], None)
    assert path.stat().st_size == 0
    filled(path)


@pytest.mark.slow
def test_new_store_of_a_killed_process_is_empty(path: Path) -> None:
    run_killed(path, "")
    assert read(path)[4] == (0, 0)
    filled(path)


def test_reading_a_missing_file_creates_nothing(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no status file"):
        Store.open_readonly(path)
    assert list(path.parent.iterdir()) == []


def test_folder_that_is_not_there_or_in_the_place_of_the_file_is_a_clear_error(
    path: Path,
) -> None:
    with pytest.raises(StoreUnwritable, match="there is no folder"):
        Store.open(path.parent / "none" / "t.status")
    path.mkdir()
    with pytest.raises(StoreUnwritable, match="it is a folder"):
        Store.open(path)
    with pytest.raises(StoreUnwritable, match="it is a folder"):
        Store.open_readonly(path)


# files that are not, or no more, ours


def _text(path: Path) -> None:
    path.write_text("competition_type = 'playoff'\n")


def _a_few_bytes(path: Path) -> None:
    filled(path)
    path.write_bytes(path.read_bytes()[:50])


def _half(path: Path) -> None:
    filled(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2 // 4096 * 4096])


def _without_tables(path: Path) -> None:
    filled(path)
    connection = sqlite3.connect(path, isolation_level=None)
    for table in ("results", "names", "counts"):
        connection.execute(f"DROP TABLE {table}")
    connection.close()


@pytest.mark.parametrize(
    "damage",
    [_text, _a_few_bytes, _half, _without_tables],
)
@pytest.mark.parametrize("method", [Store.open, Store.open_readonly])
def test_damaged_or_foreign_file_is_a_clear_error_and_stays_as_it_is(
    path: Path, damage: Callable[[Path], None], method: Callable[[Path], Store]
) -> None:
    damage(path)
    before = files(path)
    with pytest.raises(
        StoreCorrupt, match=r"t\.status is (damaged.*fsck|not a status file.*reset)"
    ):
        method(path)
    assert files(path) == before


@pytest.mark.parametrize("method", [Store.open, Store.open_readonly])
@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_file_of_a_newer_version_is_refused_and_not_touched(
    path: Path, method: Callable[[Path], Store], killed: bool
) -> None:
    if killed:
        # its first page is still in the -wal
        run_killed(path, "fill(store); store._connection.execute('PRAGMA user_version = 99')")
    else:
        filled(path)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version = 99")
        connection.close()
    before = files(path)
    with pytest.raises(StoreUnsupported, match=r"newer ringmaster \(format 99"):
        method(path)
    after = files(path)
    if killed:
        # SQLite may write the index again
        before.pop("t.status-shm", None)
        after.pop("t.status-shm", None)
    assert after == before


# reading beside a run


@pytest.fixture(
    params=[
        "ended",
        "alive",
        pytest.param("killed", marks=pytest.mark.slow),
        pytest.param("killed, index lost", marks=pytest.mark.slow),
    ]
)
def known(request: pytest.FixtureRequest, path: Path) -> Iterator[Path]:
    """A filled status file in each possible state."""
    if request.param == "ended":
        filled(path)
        yield path
    elif request.param == "alive":
        store = Store.open(path)
        fill(store)
        yield path
        store.close()
    else:
        run_killed(path, "fill(store)")
        assert path.with_name("t.status-wal").stat().st_size
        if request.param != "killed":
            path.with_name("t.status-shm").unlink()
        yield path


def test_reader_sees_everything_and_leaves_no_trace(known: Path) -> None:
    before = files(known)
    recorded = read(known)
    assert recorded[4] == (20, 0)
    assert recorded[3] == (20, {"n": 20})
    after = files(known)
    before.pop("t.status-shm", None)
    after.pop("t.status-shm", None)
    assert after == before


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_user_who_may_not_write_there_can_read(known: Path) -> None:
    # not below tmp_path, which others cannot enter
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        for each in known.parent.iterdir():
            shutil.copyfile(each, folder / each.name)
        before = files(folder / "t.status")
        assert as_nobody(folder / "t.status", "open_readonly") == "(20, 0) 20 ['line']"
        assert files(folder / "t.status") == before
        answer = as_nobody(folder / "t.status", "open")
        assert answer.startswith("StoreUnwritable cannot write")
        assert files(folder / "t.status") == before
        os.chmod(folder / "t.status", 0o600)
        answer = as_nobody(folder / "t.status", "open_readonly")
        assert answer.startswith("StoreUnwritable cannot read")
        assert "Permission denied" in answer
    finally:
        shutil.rmtree(folder)


def test_reader_keeps_its_view_and_does_not_hold_up_the_run(path: Path, store: Store) -> None:
    fill(store)
    reader = Store.open_readonly(path)
    results = reader.results()
    next(results)
    assert record(store, result("new")) == [21]
    assert reader.counts() == (20, 0)
    assert len(list(results)) == 19
    reader.close()
    assert read(path)[4] == (21, 0)


def test_reader_of_a_file_at_rest_detects_a_later_run(path: Path) -> None:
    filled(path)
    reader = Store.open_readonly(path)
    store = Store.open(path)
    assert record(store, result("new")) == [21]
    # it is in the `-wal` until the run ends
    assert reader.counts() == (20, 0)
    store.close()
    with pytest.raises(StoreUnwritable, match="try again"):
        reader.counts()
    reader.close()
    assert read(path)[4] == (21, 0)


def test_long_history_is_read_to_its_end_during_a_run(path: Path) -> None:
    store = Store.open(path)
    with store.transaction() as transaction:
        for number in range(2500):
            transaction.store_result({}, result(f"game{number}"))
    store.close()
    reader = Store.open_readonly(path)
    results = reader.results()
    next(results)
    store = Store.open(path)
    assert record(store, result("new")) == [2501]
    store.close()
    assert [recorded.seq for recorded in results] == list(range(2, 2501))
    assert reader.counts() == (2500, 0)
    with pytest.raises(StoreUnwritable, match="cannot write"):
        reader.begin_run(run_of())
    reader.close()


def written_by_a_run(path: Path, game_id: str = "new") -> None:
    """Open the file for writing, record a game, and close it."""
    store = Store.open(path)
    record(store, result(game_id))
    store.close()


def test_lasting_reader_keeps_its_view_of_a_file_at_rest(path: Path) -> None:
    before = filled(path)
    reader = Store.open_readonly(path, lasting=True)
    written_by_a_run(path)
    assert everything(reader) == before
    with pytest.raises(StoreUnwritable, match="cannot write"):
        reader.begin_run(run_of())
    reader.close()
    assert read(path)[4] == (21, 0)


def test_lasting_reader_begins_again_until_nothing_is_written_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(path)
    private = connect._private
    runs = iter(["first", "second"])

    def disturbed() -> sqlite3.Connection:
        for game_id in runs:
            written_by_a_run(path, game_id)
            break
        return private()

    monkeypatch.setattr(connect, "_private", disturbed)
    reader = Store.open_readonly(path, lasting=True)
    assert reader.counts() == (22, 0)
    reader.close()


def test_file_that_changes_during_a_read_is_not_called_damaged(path: Path) -> None:
    filled(path)
    reader = Store.open_readonly(path)
    written_by_a_run(path)
    with path.open("r+b") as file:
        file.truncate(5000)
    with pytest.raises(StoreChanged):
        reader.counts()
    with pytest.raises(StoreChanged):
        list(reader.results())
    reader.close()


def test_reader_sees_nothing_of_an_open_transaction(path: Path, store: Store) -> None:
    fill(store)
    with store.transaction() as transaction:
        transaction.store_result({}, result("new"))
        assert read(path)[4] == (20, 0)


def test_reader_cannot_write(known: Path) -> None:
    before = known.read_bytes()
    reader = Store.open_readonly(known)
    try:
        with pytest.raises(StoreUnwritable, match="cannot write"):
            reader.begin_run(run_of())
        with pytest.raises(RuntimeError), reader.transaction():
            pass
    finally:
        reader.close()
    assert known.read_bytes() == before


# a disk that is full


@pytest.mark.parametrize("swallowed", [False, True])
def test_disk_that_fills_in_a_transaction_leaves_the_old_state(
    path: Path, store: Store, swallowed: bool
) -> None:
    fill(store)
    before = everything(store)
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    text = os.urandom(20_000).hex()

    def overfill() -> None:
        with store.transaction() as transaction:
            transaction.store_result({}, result("new"))
            transaction.save_state({"n": 21})
            try:
                transaction.add_pending(PendingRecord("t.games", "new.pgn", text))
            except StoreUnwritable:
                if not swallowed:
                    raise
            transaction.set_value("key", "never committed")

    with pytest.raises(StoreUnwritable, match=r"t\.status: the disk is full.*run again"):
        overfill()
    assert everything(store) == before
    assert store.read_value("key") is None
    assert read(path) == before
    # somebody makes room
    store._connection.execute("PRAGMA max_page_count = 1000000")
    assert record(store, result("new")) == [21]


# forced to the disk


def test_commit_is_forced_to_the_disk_once_a_second(path: Path) -> None:
    now = [50.0]
    store = Store.open(path, clock=lambda: now[0])
    statements: list[str] = []
    store._connection.set_trace_callback(statements.append)

    def forced(at: float, *, fails: bool = False) -> bool:
        now[0] = at
        try:
            with store.transaction() as transaction:
                transaction.set_value("n", at)
                (level,) = store._connection.execute("PRAGMA synchronous").fetchone()
                if fails:
                    raise KeyError
        except KeyError:
            pass
        return bool(level == 2)

    assert forced(50.0)
    assert [forced(50.0 + n / 10) for n in range(1, 10)] == [False] * 9
    # one that was rolled back has forced nothing
    assert forced(51.0, fails=True)
    assert forced(51.1)
    assert not forced(51.9)
    assert forced(52.2)
    assert sum(s.startswith("PRAGMA synchronous =") for s in statements) <= 6
    store.close()


# names


def test_mistake_of_the_program_is_not_called_damage(store: Store) -> None:
    nonsense = msgspec.structs.replace(result("a"), seconds=float("nan"))
    with pytest.raises(RuntimeError, match="NOT NULL"):
        record(store, nonsense)
    assert store.counts() == (0, 0)


def test_cost_of_a_transaction_does_not_grow(path: Path, store: Store) -> None:
    """In steps of SQLite's machine, which are alike on every computer."""

    def steps(number: int) -> int:
        count = 0

        def tick() -> int:
            nonlocal count
            count += 1
            return 0

        store._connection.set_progress_handler(tick, 1)
        with store.transaction() as transaction:
            transaction.store_result({"k": number}, result(f"x{number}"))
            transaction.save_state({"n": number})
            transaction.issue(IssuedJob(f"x{number + 1}", 0, {}))
            transaction.set_value("history", ["line"])
        store.counts()
        store._connection.set_progress_handler(None, 1)
        return count

    few = steps(0), steps(1)
    with store.transaction() as transaction:
        for number in range(5000):
            transaction.store_result({"k": number}, result(f"0_{number}"))
    assert steps(2) <= few[1] + 10


def test_game_costs_less_than_300_bytes(path: Path, store: Store) -> None:
    usage = EngineUsage("Glaurung 2.2", 1.234567, 23_456_789, 2.345678, 0.123456)
    games = 2000
    with store.transaction() as transaction:
        for n in range(games):
            ticket = {"k": n, "g": n % 2, "theta": [1.25 + n / 7, 3.5, 7.0, 2.0]}
            played = msgspec.structs.replace(
                result(f"{n // 2}_{n % 2}"), detail="", usage=(usage, usage), seconds=4.567891
            )
            transaction.store_result(ticket, played)
    store.close()
    assert path.stat().st_size / games < 300
