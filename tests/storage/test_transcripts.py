"""The limit of all transcripts of a competition."""

from __future__ import annotations

import os
from pathlib import Path

from ringmaster.storage.transcripts import Transcripts


def write(folder: Path, name: str, size: int, age: int) -> str:
    path = folder / name
    path.write_bytes(b"x" * size)
    os.utime(path, (1e9 - age, 1e9 - age))
    return str(path)


def test_oldest_transcripts_are_deleted_above_the_limit(tmp_path: Path) -> None:
    warnings: list[str] = []
    transcripts = Transcripts(tmp_path, warnings.append, most=1000)
    write(tmp_path, "notes.txt", 5000, 100)
    write(tmp_path, "earlier.log", 300, 50)
    for number in range(5):
        transcripts.add(write(tmp_path, f"{number}.log", 300, 10 - number))
        transcripts.add(str(tmp_path / "never-written.log"))
        assert (tmp_path / "earlier.log").exists() == (not warnings) == (number < 2)
    names = sorted(os.listdir(tmp_path))
    assert names == ["2.log", "3.log", "4.log", "notes.txt"]
    assert len(warnings) == 1
    assert "the oldest are deleted" in warnings[0]


def test_missing_folder_is_an_empty_one(tmp_path: Path) -> None:
    Transcripts(tmp_path / "none", lambda line: None).add("none/0.log")
