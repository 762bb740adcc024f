"""Game records on disk: each game once, whole, in order, whatever dies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringmaster.errors import StoreUnwritable
from ringmaster.storage.entries import PendingRecord
from ringmaster.storage.paths import OutputPaths
from ringmaster.storage.records import RETRY_PERIOD, GameRecords, RecordFiles
from ringmaster.storage.store import Store
from tests.recorded import memory_store


def text_of(game_id: str) -> str:
    return f'[Round "{game_id}"]\n\n1. e4 {{{game_id}}} *\n\n'


def all_of(*game_ids: str) -> str:
    return "".join(map(text_of, game_ids))


class Bench:
    """The records of one competition, over any number of runs."""

    def __init__(self, folder: Path, files: RecordFiles | None = "both") -> None:
        self.store: Store = memory_store()
        self.paths = OutputPaths(folder / "t.ctl")
        self.files: RecordFiles | None = files
        self.warnings: list[str] = []
        self.now = 0.0
        self.begin()

    def begin(self) -> None:
        self.records = GameRecords(
            self.store, self.paths, self.files, self.warnings.append, lambda: self.now
        )
        self.records.resume()

    def kill(self) -> None:
        """End a run as a kill does, and begin the next."""
        self.records.close()
        self.begin()

    def end(self) -> None:
        """End a run in order, and begin the next."""
        self.records.finish()
        self.records.close()
        self.begin()

    def commit(self, game_id: str, suffix: str = "pgn") -> PendingRecord:
        """Store the record of a game."""
        return self.commit_in(self.paths.games, f"{game_id}.{suffix}", text_of(game_id))

    def commit_in(self, folder: Path, name: str, text: str) -> PendingRecord:
        with self.store.transaction() as transaction:
            pending = transaction.add_pending(PendingRecord(folder.name, name, text))
            self.records.forget(transaction)
        return pending

    def play(self, *game_ids: str, suffix: str = "pgn") -> None:
        for game_id in game_ids:
            self.records.write([self.commit(game_id, suffix)])

    def collected(self, suffix: str = "pgn") -> str:
        path = self.paths.collected(suffix)
        return path.read_text() if path.exists() else ""

    def singles(self) -> list[str]:
        return (
            sorted(p.stem for p in self.paths.games.glob("*")) if self.paths.games.exists() else []
        )


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.records.close()


def test_records_are_collected_in_the_order_of_recording(bench: Bench) -> None:
    bench.play("c", "b")
    bench.records.write([bench.commit(game_id) for game_id in "ead"])
    assert bench.collected() == all_of(*"cbead")
    assert bench.singles() == list("abcde")


def test_void_game_is_not_collected(bench: Bench) -> None:
    bench.records.write([bench.commit_in(bench.paths.void, "a_0.pgn", "void")])
    bench.play("b", "a")
    assert bench.collected() == all_of("b", "a")
    assert (bench.paths.void / "a_0.pgn").read_text() == "void"


def test_texts_leave_the_store_once_a_second(bench: Bench) -> None:
    bench.play("a", "b")
    assert len(list(bench.store.pending())) == 2
    bench.now = 1.5
    bench.play("c")
    assert [Path(pending.name).stem for pending in bench.store.pending()] == ["c"]


def test_text_added_to_the_file_stays(bench: Bench) -> None:
    bench.play("a")
    bench.end()
    path = bench.paths.collected("pgn")
    path.write_text(path.read_text() + "my own words")
    bench.play("b")
    assert bench.collected() == all_of("a") + "my own words\n\n" + all_of("b")
    assert "has been changed; new games are added at its end" in bench.warnings[0]
    bench.end()
    bench.play("c")
    assert bench.collected().endswith(all_of("b", "c"))
    assert len(bench.warnings) == 1


def test_text_cut_from_the_file_is_not_restored(bench: Bench) -> None:
    bench.play("a", "b")
    bench.end()
    bench.paths.collected("pgn").write_text(text_of("b"))
    bench.play("c")
    assert bench.collected() == text_of("b") + "\n" + text_of("c")
    assert "is shorter than it was" in bench.warnings[0]


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("deleted", [False, True])
def test_new_file_replaces_one_that_was_moved_away(
    bench: Bench, running: bool, deleted: bool
) -> None:
    bench.play("a")
    if not running:
        bench.end()
    old = bench.paths.control.with_name("old.pgn")
    bench.paths.collected("pgn").rename(old)
    if deleted:
        old.unlink()
    bench.play("b")
    assert bench.collected() == all_of("b")
    assert "has been moved or deleted; a new file is begun" in bench.warnings[0]
    bench.end()
    bench.play("c")
    assert bench.collected() == all_of("b", "c")
    assert deleted or old.read_text() == all_of("a")
    assert len(bench.warnings) == 1


def test_each_format_has_its_own_file_and_its_own_separator(bench: Bench) -> None:
    bench.play("a", "c", "e", suffix="csa")
    bench.play("b", "d", suffix="kifu")
    assert bench.collected("csa") == "/\n".join(map(text_of, "ace"))
    assert bench.collected("kifu") == "\n".join(map(text_of, "bd"))
    bench.kill()
    assert bench.collected("csa") == "/\n".join(map(text_of, "ace"))


@pytest.mark.parametrize(
    ("files", "single", "collected"),
    [("both", True, True), ("single", True, False), ("collected", False, True)],
)
def test_only_the_files_that_are_wanted_are_written(
    tmp_path: Path, files: RecordFiles, single: bool, collected: bool
) -> None:
    bench = Bench(tmp_path, files)
    bench.play("a")
    bench.end()
    assert bench.singles() == ["a"] * single
    assert bench.collected() == text_of("a") * collected
    assert not list(bench.store.pending())


def test_files_may_be_switched_off_and_on_between_runs(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "both")
    bench.play("b")
    bench.files = "single"
    bench.end()
    bench.play("a")
    bench.end()
    assert (bench.collected(), bench.singles()) == (text_of("b"), ["a", "b"])
    assert not list(bench.store.pending())
    bench.files = "collected"
    bench.end()
    bench.play("c")
    assert (bench.collected(), bench.singles()) == (all_of("b", "c"), ["a", "b"])
    assert bench.warnings == []


def test_folder_in_the_place_of_the_collected_file_is_an_error_again_and_again(
    bench: Bench,
) -> None:
    bench.play("a")
    path = bench.paths.collected("pgn")
    path.unlink()
    path.mkdir()
    for game_id in "bc":
        with pytest.raises(StoreUnwritable, match="it is a folder"):
            bench.play(game_id)
    with pytest.raises(StoreUnwritable, match="it is a folder"):
        bench.records.finish()
    path.rmdir()
    bench.kill()
    assert bench.collected() == all_of(*"abc")
    assert bench.singles() == list("abc")


@pytest.fixture(params=["both", "single"])
def blocked(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Give records, with folders in the places of the files of games b and c."""
    bench = Bench(tmp_path, request.param)
    bench.paths.status.touch()
    for game_id in "bc":
        (bench.paths.games / f"{game_id}.pgn").mkdir(parents=True)
    bench.play(*"abcd")
    yield bench
    bench.records.close()


def waiting(bench: Bench) -> list[str]:
    return [Path(pending.name).stem for pending in bench.store.pending()]


def unblock(bench: Bench, *game_ids: str) -> None:
    for game_id in game_ids:
        (bench.paths.games / f"{game_id}.pgn").rmdir()


def files(bench: Bench) -> list[str]:
    return sorted(path.stem for path in bench.paths.games.glob("*") if path.is_file())


def test_record_that_cannot_be_written_is_tried_again_in_the_run(blocked: Bench) -> None:
    assert files(blocked) == ["a", "d"]
    (warning,) = blocked.warnings
    assert "b.pgn: it is a folder; such game records stay in t.status" in warning
    unblock(blocked, "b", "c")
    blocked.now += 2
    blocked.play("e")
    assert files(blocked) == ["a", "d", "e"]
    blocked.now += RETRY_PERIOD
    blocked.play("f")
    assert files(blocked) == list("abcdef")
    blocked.end()
    assert waiting(blocked) == []
    assert blocked.warnings == [warning]
    assert blocked.files == "single" or blocked.collected() == all_of(*"abcdef")


def test_record_that_cannot_be_written_is_tried_at_the_end_of_the_run(blocked: Bench) -> None:
    unblock(blocked, "c")
    blocked.end()
    assert files(blocked) == ["a", "c", "d"]
    assert waiting(blocked) == ["b"]
    assert "1 game record could not be written (cannot write " in blocked.warnings[1]


@pytest.mark.parametrize("killed", [False, True])
def test_record_that_cannot_be_written_is_tried_by_each_later_run(
    blocked: Bench, killed: bool
) -> None:
    again = blocked.kill if killed else blocked.end
    again()
    again()
    unblock(blocked, "b", "c")
    again()
    assert files(blocked) == ["a", "b", "c", "d"]
    blocked.end()
    assert waiting(blocked) == []
    if blocked.files == "both":
        assert blocked.collected() == all_of(*"abcd")


def test_record_of_a_void_game_is_tried_again_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.paths.status.touch()
    bench.paths.void.write_text("no folder")
    bench.records.write([bench.commit_in(bench.paths.void, "a.pgn", text_of("a"))])
    assert waiting(bench) == ["a"]
    bench.paths.void.unlink()
    bench.end()
    assert (bench.paths.void / "a.pgn").read_text() == text_of("a")
    assert waiting(bench) == []
    bench.records.close()


def test_without_a_store_nothing_is_promised(bench: Bench) -> None:
    (bench.paths.games / "a.pgn").mkdir(parents=True)
    with pytest.raises(StoreUnwritable, match="cannot write"):
        bench.play("a")
    assert bench.warnings == []


@given(data=st.data())
@settings(deadline=None)
def test_any_games_with_any_kills_are_collected_once_in_order(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    bench = Bench(tmp_path_factory.mktemp("bench"))
    path = bench.paths.collected("pgn")
    played: list[str] = []
    for _ in range(data.draw(st.integers(1, 40))):
        step = data.draw(st.sampled_from(["play", "play", "second", "kill"]))
        if step == "play":
            played.append(str(len(played)))
            bench.play(played[-1])
        elif step == "second":
            bench.now += 2
        elif step == "kill":
            if data.draw(st.booleans()):
                # between the commit and the files
                played.append(str(len(played)))
                bench.commit(played[-1])
            _, lengths = bench.store.read_value("last collected") or (0, {})
            size = path.stat().st_size if path.exists() else 0
            if size:
                with path.open("r+b") as file:
                    file.truncate(data.draw(st.integers(lengths.get("pgn", 0), size)))
            bench.kill()
    bench.end()
    assert bench.collected() == all_of(*played)
    assert bench.singles() == sorted(played)
    assert not bench.warnings
    assert not list(bench.store.pending())
