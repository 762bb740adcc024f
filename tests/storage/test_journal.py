"""Run log, history and game records."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.errors import StoreUnwritable
from ringmaster.storage.journal import Journal, one_line
from ringmaster.storage.paths import OutputPaths
from ringmaster.storage.records import write_record

NOON = time.struct_time((2026, 3, 1, 12, 0, 5, 6, 60, 0))


@contextmanager
def opened(folder: Path) -> Iterator[Journal]:
    journal = Journal(OutputPaths(folder / "t.ctl"), lambda: NOON)
    try:
        yield journal
    finally:
        journal.close()


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """A disk that is full, as far as this process can tell (EFBIG)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_message_is_one_line_with_the_local_time(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.log("run 1 started")
        journal.log("é stderr: 1\r\n2")
        assert (tmp_path / "t.log").read_text(encoding="utf-8") == (
            "2026-03-01 12:00:05 run 1 started\n2026-03-01 12:00:05 é stderr: 1 | 2\n"
        )


@pytest.mark.parametrize("suffix", ["log", "hist"])
def test_line_without_its_end_does_not_swallow_the_next(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    path.write_text("whole\nhal")
    with opened(tmp_path) as journal:
        journal.log("0_1")
        journal.history(["0_1"])
    lines = path.read_text().splitlines()
    assert lines[:2] == ["whole", "hal"]
    assert lines[2].endswith("0_1")


@given(st.text(alphabet=st.characters()))
def test_no_text_ends_a_line_moves_a_cursor_or_turns_the_writing(text: str) -> None:
    line = one_line(text)
    assert len(f"{line}\n".splitlines()) == 1
    assert not any((ord(c) < 32 and c != "\t") or 127 <= ord(c) < 160 for c in line)
    assert not set(line) & set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2069")
    line.encode()
    assert one_line(line) == line


LINES = st.lists(st.text(alphabet=st.characters(), min_size=1, max_size=8), min_size=1, max_size=5)


@given(LINES, LINES, st.data())
def test_history_that_was_cut_anywhere_is_completed(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[str],
    lines: list[str],
    data: st.DataObject,
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    lines = [f"game 7: {lines[0]}", *lines[1:]]
    with opened(folder) as journal:
        journal.history(before)
        start = (folder / "t.hist").stat().st_size
        journal.history(lines)
    whole = (folder / "t.hist").read_bytes()
    os.truncate(folder / "t.hist", data.draw(st.integers(start, len(whole))))
    for _ in range(2):
        with opened(folder) as journal:
            journal.complete_history(lines)
        assert (folder / "t.hist").read_bytes() == whole


def test_edited_history_is_not_completed(tmp_path: Path) -> None:
    (tmp_path / "t.hist").write_text("game 7: a beat b\n(a note of mine)\n")
    with opened(tmp_path) as journal:
        journal.complete_history(["game 7: a beat b", "iteration 3"])
    assert (tmp_path / "t.hist").read_text() == "game 7: a beat b\n(a note of mine)\n"


class _Killed(BaseException):
    pass


def test_full_disk_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with (
        opened(tmp_path) as journal,
        pytest.raises(StoreUnwritable, match=r"cannot write .*t\.hist: No space left"),
    ):
        journal.history(["0_0"])


def test_line_that_did_not_fit_is_not_there_in_part(tmp_path: Path) -> None:
    with opened(tmp_path) as journal:
        journal.history(["0_0 short"])
        with (
            files_no_longer_than(20),
            pytest.raises(StoreUnwritable, match=r"cannot write .*t\.hist"),
        ):
            journal.history(["0_1 long enough not to fit"])
        journal.history(["0_1 once more"])
    assert (tmp_path / "t.hist").read_text() == "0_0 short\n0_1 once more\n"


def test_journal_that_cannot_be_opened_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreUnwritable, match="No such file"):
        Journal(OutputPaths(tmp_path / "none" / "t.ctl"))
    (tmp_path / "t.hist").mkdir()
    with opened(tmp_path) as journal:
        with pytest.raises(StoreUnwritable, match=r"cannot write .*t\.hist: it is a folder"):
            journal.history(["0_0"])
        with pytest.raises(StoreUnwritable, match=r"cannot read .*t\.hist: Is a directory"):
            journal.complete_history(["0_0"])


# game records


def test_record_is_written_unchanged_in_a_new_folder_also_after_one_was_deleted(
    tmp_path: Path,
) -> None:
    write_record(tmp_path / "t.games", "0_1.pgn", "a\r\né\n")
    shutil.rmtree(tmp_path / "t.games")
    write_record(tmp_path / "t.games", "0_0.pgn", "a\r\né\n")
    write_record(tmp_path / "t.games", "0_0.pgn", "b\r\né\n")
    assert (tmp_path / "t.games" / "0_0.pgn").read_bytes() == "b\r\né\n".encode()
    assert os.listdir(tmp_path / "t.games") == ["0_0.pgn"]


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", ".hidden", "a/b", "../a", "/a", "a\\b", "a\0", "a\n", "a b", "é", "x" * 201],
)
def test_record_is_never_written_anywhere_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name of a game or its record"):
        write_record(tmp_path / "t.games", name, "text")
    assert list(tmp_path.iterdir()) == []


def test_record_that_does_not_fit_leaves_the_old_one(tmp_path: Path) -> None:
    write_record(tmp_path, "0_0.sgf", "old")
    with files_no_longer_than(100), pytest.raises(StoreUnwritable, match="cannot write"):
        write_record(tmp_path, "0_0.sgf", "new" * 1000)
    assert os.listdir(tmp_path) == ["0_0.sgf"]
    assert (tmp_path / "0_0.sgf").read_text() == "old"


def test_record_is_written_after_a_kill_of_its_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(*_: object) -> None:
        raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", kill)
        with pytest.raises(_Killed):
            write_record(tmp_path, "0_0.sgf", "text")
    assert not (tmp_path / "0_0.sgf").exists()
    write_record(tmp_path, "0_0.sgf", "text")
    assert os.listdir(tmp_path) == ["0_0.sgf"]


def test_lines_of_a_block_are_written_at_its_end_even_after_an_error(tmp_path: Path) -> None:
    log, hist = tmp_path / "t.log", tmp_path / "t.hist"

    def block() -> None:
        with opened(tmp_path) as journal, journal.together():
            journal.log("one")
            journal.history(["first", "second"])
            journal.log("two")
            assert log.read_text() == ""
            assert not hist.exists()
            raise _Killed

    with pytest.raises(_Killed):
        block()
    assert log.read_text() == "2026-03-01 12:00:05 one\n2026-03-01 12:00:05 two\n"
    assert hist.read_text() == "first\nsecond\n"


@pytest.mark.parametrize("rotate", ["rename", "delete"])
def test_rotated_files_are_begun_anew(tmp_path: Path, rotate: str) -> None:
    log, hist = tmp_path / "t.log", tmp_path / "t.hist"
    with opened(tmp_path) as journal:
        journal.log("before")
        journal.history(["game 1"])
        for file in (log, hist):
            file.rename(f"{file}.1") if rotate == "rename" else file.unlink()
        journal.log("after")
        journal.history(["game 2"])
    assert log.read_text() == "2026-03-01 12:00:05 after\n"
    assert hist.read_text() == "game 2\n"
