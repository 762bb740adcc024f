"""What happens to a status file from outside, during a run and between two."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from ringmaster.errors import StoreCorrupt, StoreReplaced, StoreUnpaired
from ringmaster.storage import connect
from ringmaster.storage import store as store_module
from ringmaster.storage.repair import salvage
from ringmaster.storage.store import Store
from tests.storage.test_store import result

pytestmark = pytest.mark.usefixtures("frequent_checkpoints")


@pytest.fixture
def frequent_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "CHECKPOINT_PERIOD", 5)


def opened(path: Path) -> Store:
    """A store whose commits are all forced to the disk, a second apart."""
    seconds = iter(range(100_000))
    return Store.open(path, clock=lambda: float(next(seconds)))


def play(store: Store, *numbers: int) -> None:
    for number in numbers:
        with store.transaction() as transaction:
            played = msgspec.structs.replace(result(f"g{number}"), detail="x" * 900)
            transaction.store_result({"game": number}, played)
            transaction.save_state({"games": number})


def games(path: Path) -> list[str]:
    with closing(Store.open_readonly(path)) as store:
        return [game.result.game_id for game in store.games()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "t.status"


@pytest.fixture
def running(path: Path) -> Iterator[Store]:
    path.parent.mkdir()
    store = opened(path)
    play(store, *range(12))
    yield store
    store.close()


def _other_competition(path: Path) -> Path:
    other = path.with_name("other.status")
    with closing(opened(other)) as store:
        play(store, *range(30))
    return other


def _delete(path: Path) -> None:
    path.unlink()


def _move(path: Path) -> None:
    path.rename(path.with_name("elsewhere.status"))


def _replace(path: Path) -> None:
    _other_competition(path).replace(path)


def _delete_wal(path: Path) -> None:
    Path(f"{path}-wal").unlink()


@pytest.mark.parametrize("change", [_delete, _move, _replace, _delete_wal])
def test_run_stops_and_rescues_its_results_when_its_file_is_replaced(
    path: Path, running: Store, change: Callable[[Path], None]
) -> None:
    change(path)
    with pytest.raises(StoreReplaced, match="the run stops") as caught:
        play(running, 12)
    (rescue,) = path.parent.glob("t.rescued-*.status")
    assert f"ringmaster t.ctl restore {rescue}" in str(caught.value)
    assert games(rescue) == [f"g{n}" for n in range(13)]
    with pytest.raises(StoreReplaced):
        running.end_run(1, 0.0, "complete")
    assert len(list(path.parent.glob("t.rescued-*"))) == 1


def test_results_are_rescued_elsewhere_when_the_folder_is_deleted(
    path: Path, running: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shutil.rmtree(path.parent)
    with pytest.raises(StoreReplaced, match="the run stops"):
        play(running, 12)
    (rescue,) = tmp_path.glob("t.rescued-*.status")
    assert games(rescue) == [f"g{n}" for n in range(13)]


def test_end_of_a_run_also_notices_it(path: Path, running: Store) -> None:
    path.unlink()
    with pytest.raises(StoreReplaced):
        running.end_run(1, 0.0, "complete")


def test_file_that_is_written_over_stops_the_run(path: Path, running: Store) -> None:
    path.write_bytes(_other_competition(path).read_bytes())
    with pytest.raises(
        StoreReplaced, match=r"written over.* could still be read is in .*\.backups"
    ):
        play(running, 12)


def test_older_copy_of_the_same_size_written_over_the_file_stops_the_run(
    path: Path, running: Store
) -> None:
    def save(*numbers: int) -> None:
        for number in numbers:
            with running.transaction() as transaction:
                transaction.save_state({"games": number})

    save(*range(100, 112))
    older = path.read_bytes()
    save(*range(112, 124))
    assert len(older) == path.stat().st_size
    path.write_bytes(older)
    with pytest.raises(StoreReplaced, match="written over"):
        save(124)


def test_touched_file_does_not_stop_the_run(path: Path, running: Store) -> None:
    os.utime(path, (1, 1))
    play(running, *range(12, 40))
    assert games(path) == [f"g{n}" for n in range(40)]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_guard_leaves_no_descriptor(path: Path, running: Store) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with closing(opened(path.with_name("u.status"))) as store:
        play(store, 1)
    assert len(os.listdir("/proc/self/fd")) == before


# between two runs


def kill(store: Store, path: Path, target: Path) -> None:
    """Leave in `target` what a kill of the run leaves."""
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(path, target)
    shutil.copyfile(f"{path}-wal", f"{target}-wal")


def test_older_copy_beside_a_newer_wal_is_refused(
    path: Path, running: Store, tmp_path: Path
) -> None:
    copy = tmp_path / "backup.status"
    with closing(sqlite3.connect(copy)) as target:
        running._connection.backup(target)
    play(running, *range(12, 45))
    killed = tmp_path / "killed" / "t.status"
    kill(running, path, killed)
    shutil.copyfile(copy, killed)
    before = killed.read_bytes(), Path(f"{killed}-wal").read_bytes()
    for open_store in (Store.open, Store.open_readonly):
        with pytest.raises(StoreCorrupt, match="do not belong together") as caught:
            open_store(killed)
        assert "move t.status-wal and t.status-shm away" in str(caught.value)
    assert (killed.read_bytes(), Path(f"{killed}-wal").read_bytes()) == before
    # as the message says
    Path(f"{killed}-wal").unlink()
    Store.open(killed).close()
    assert games(killed) == [f"g{n}" for n in range(12)]


@pytest.mark.parametrize("count", range(13))
def test_killed_run_goes_on_wherever_its_last_checkpoint_was(tmp_path: Path, count: int) -> None:
    path, killed = tmp_path / "t.status", tmp_path / "killed" / "t.status"
    with closing(opened(path)) as store:
        play(store, *range(count))
        kill(store, path, killed)
    with closing(opened(killed)) as store:
        play(store, *range(count, count + 7))
        kill(store, killed, path.with_name("again.status"))
    with closing(opened(path.with_name("again.status"))) as store:
        assert [game.result.game_id for game in store.games()] == [
            f"g{n}" for n in range(count + 7)
        ]


@pytest.mark.parametrize("open_store", [Store.open, Store.open_readonly])
def test_reader_at_the_start_of_a_run_does_not_make_the_pair_look_wrong(
    tmp_path: Path, open_store: Callable[[Path], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, killed = tmp_path / "t.status", tmp_path / "killed" / "t.status"
    with monkeypatch.context() as patch:
        # it was reading at the moment of the first checkpoint: all tables stay in the `-wal`
        patch.setattr(connect, "renew", lambda connection: None)
        patch.setattr(store_module, "CHECKPOINT_PERIOD", 1000)
        with closing(Store.open(path)) as store:
            play(store, *range(27))
            kill(store, path, killed)
    with closing(open_store(killed)) as store:
        assert len(list(store.games())) == 27


def test_reader_that_delays_checkpoints_does_not_make_the_pair_look_wrong(tmp_path: Path) -> None:
    path, killed = tmp_path / "t.status", tmp_path / "killed" / "t.status"
    with closing(opened(path)) as store:
        play(store, *range(3))
        with closing(Store.open_readonly(path)) as reader:
            assert len(list(reader.games())) == 3
            play(store, *range(3, 30))
            kill(store, path, killed)
    with closing(opened(killed)) as store:
        assert len(list(store.games())) == 30


def test_wal_without_its_file_is_refused_and_kept(path: Path, running: Store) -> None:
    killed = path.with_name("killed") / "t.status"
    kill(running, path, killed)
    wal = Path(f"{killed}-wal")
    before = wal.read_bytes()
    for make in (killed.unlink, killed.touch):
        make()
        for open_store in (Store.open, Store.open_readonly):
            with pytest.raises(StoreUnpaired, match=r"put back the t\.status that was there"):
                open_store(killed)
    assert wal.read_bytes() == before


def test_refused_file_with_a_wal_is_not_changed(path: Path, running: Store) -> None:
    killed = path.with_name("killed") / "t.status"
    running._connection.execute("UPDATE results SET plies = 77 WHERE seq = 3")
    kill(running, path, killed)
    before = killed.read_bytes(), Path(f"{killed}-wal").read_bytes()
    with pytest.raises(StoreCorrupt, match="results: damaged at row 3"):
        Store.open(killed)
    assert (killed.read_bytes(), Path(f"{killed}-wal").read_bytes()) == before


# a damaged `-wal`


def _frames(wal: Path) -> int:
    return (wal.stat().st_size - 32) // (24 + 4096)


@pytest.mark.parametrize("place", [0, 3, 10, 20, 30, 32 + 8, 32 + 24 + 500])
def test_damaged_wal_is_refused_and_its_rows_are_saved(
    path: Path, running: Store, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(store_module, "CHECKPOINT_PERIOD", 1000)
    play(running, *range(12, 24))
    killed = path.with_name("killed") / "t.status"
    kill(running, path, killed)
    wal = Path(f"{killed}-wal")
    data = bytearray(wal.read_bytes())
    data[place] ^= 0x40
    wal.write_bytes(data)
    for open_store in (Store.open, Store.open_readonly):
        with pytest.raises(StoreCorrupt, match="wal"):
            open_store(killed)
    with closing(sqlite3.connect("", isolation_level=None)) as new:
        assert salvage(killed, new).results == 24


@pytest.mark.parametrize("frames", [0, 1, 2, 3])
def test_end_of_a_wal_may_be_lost(path: Path, running: Store, frames: int) -> None:
    killed = path.with_name("killed") / "t.status"
    kill(running, path, killed)
    wal = Path(f"{killed}-wal")
    data = bytearray(wal.read_bytes())
    # older frames may follow
    end = 32 + (_frames(wal) - frames) * (24 + 4096)
    data[end:] = bytes(len(data) - end)
    wal.write_bytes(data)
    Store.open(killed).close()


@pytest.mark.parametrize("length", [1, 31, 32])
def test_wal_without_frames_is_no_fault(path: Path, running: Store, length: int) -> None:
    killed = path.with_name("killed") / "t.status"
    kill(running, path, killed)
    wal = Path(f"{killed}-wal")
    wal.write_bytes(wal.read_bytes()[:length])
    Store.open(killed).close()
