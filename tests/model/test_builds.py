"""Files of a player: which they are, and when they count as others."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from ringmaster.errors import EngineRebuilt
from ringmaster.model import builds
from ringmaster.model.builds import Build, FileSum, FileSums, Watch, files_of, label
from ringmaster.model.players import OptionValue, Player


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    for name in ("engine", "bin/engine", "script", "run.sh", "net.bin", "book.txt"):
        (tmp_path / name).write_bytes(b"\0" + name.encode())
        (tmp_path / name).chmod(0o755)
    return tmp_path


def named(folder: Path, *command: str, **options: OptionValue) -> list[str]:
    player = Player("a", command, cwd=str(folder), options=options)
    return [os.path.relpath(path, folder) for path in files_of(player).values()]


@pytest.mark.parametrize(
    ("command", "program"),
    [
        (["./engine"], "engine"),
        (["python3", "-I", "-W", "ignore", "run.sh"], "run.sh"),
        (["/usr/bin/python3.11", "script"], "script"),
        (["bash", "./run.sh", "./engine"], "run.sh"),
        (["java", "-Xmx1g", "-jar", "run.sh"], "run.sh"),
        (["wine64", "absent.exe"], "absent.exe"),
    ],
)
def test_program_of_an_interpreter_is_its_script(
    folder: Path, command: list[str], program: str
) -> None:
    assert named(folder, *command)[0] == program


def test_program_is_looked_up_as_its_start_does(folder: Path) -> None:
    player = Player("a", ("engine",), cwd="/", environ={"PATH": f"{folder}/bin"})
    assert files_of(player) == {"engine": f"{folder}/bin/engine"}
    assert named(folder, "absent-program") == [os.path.relpath("absent-program", folder)]


def test_text_of_a_program_is_none_but_files_in_it_count(folder: Path) -> None:
    files = named(folder, "sh", "-c", "exec ./engine --level 3")
    assert os.path.basename(files[0]) == "sh"
    assert "engine" in files


def test_networks_and_books_of_options_and_arguments_count_but_no_logs_and_folders(
    folder: Path,
) -> None:
    (folder / "old.log").touch()
    files = named(
        folder, "./engine", "--weights=net.bin", "--log", "old.log", Book="book.txt", Path="./bin"
    )
    existing = [name for name in files if (folder / name).exists()]
    assert existing == ["engine", "net.bin", "book.txt"]


def test_file_is_hashed_once_and_again_only_after_a_change(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    whole = builds.checksum

    def count(path: str, size: int | None = None) -> str:
        hashed.append(path)
        return whole(path, size)

    monkeypatch.setattr(builds, "checksum", count)
    net = str(folder / "net.bin")
    first = FileSums().of(net)
    assert first.sha256 == hashlib.sha256(b"\0net.bin").hexdigest()
    assert FileSums({net: first}).of(net) == FileSums().of(net) == first
    assert hashed == [net]
    status = os.stat(net)
    (folder / "net.bin").write_bytes(b"\0NET.bin")
    # as a copy that preserves times
    os.utime(net, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert FileSums({net: first}).of(net).sha256 != first.sha256
    assert hashed == [net, net]


def test_folder_has_the_sum_of_its_names_and_sizes(folder: Path) -> None:
    sums, tables = FileSums(), str(folder / "bin")
    before = sums.of(tables)
    (folder / "bin" / "engine").write_bytes(b"\0BIN/ENGINE")
    assert sums.of(tables).sha256 == before.sha256
    (folder / "bin" / "KQvK.rtbw").touch()
    assert sums.of(tables).sha256 != before.sha256


def watching(folder: Path) -> tuple[Watch, Player]:
    player = Player(
        "a",
        ("./engine", "--pids", "pids.txt"),
        cwd=str(folder),
        options={"EvalFile": "net.bin", "Book": "book.txt"},
    )
    (folder / "book.txt").write_text("e2e4\n")
    return Watch({path: FileSums().of(path) for path in files_of(player).values()}), player


def test_start_of_a_process_goes_on_after_touch_and_copy(folder: Path) -> None:
    watch, player = watching(folder)
    before = watch(player)
    os.utime(folder / "engine")
    (folder / "copy").write_bytes((folder / "net.bin").read_bytes())
    (folder / "copy").replace(folder / "net.bin")
    assert watch(player) == before
    first = hashlib.sha256(b"\0engine").hexdigest()[:12]
    assert before.split("+")[0] == first
    assert len(before.split("+")) == 3


@pytest.mark.parametrize("name", ["engine", "net.bin"])
def test_start_of_a_process_is_refused_after_one_byte_more(folder: Path, name: str) -> None:
    watch, player = watching(folder)
    with (folder / name).open("ab") as file:
        file.write(b"x")
    with pytest.raises(EngineRebuilt, match=f"{name} was rebuilt during the run: SHA-256") as info:
        watch(player)
    assert info.value.code == "a"


def test_file_that_the_engine_writes_is_no_other_build(folder: Path) -> None:
    watch, player = watching(folder)
    before = watch(player)
    (folder / "pids.txt").write_text("1\n")
    with (folder / "book.txt").open("a") as file:
        file.write("d2d4\n")
    assert watch(player) == before
    (folder / "pids.txt").write_text("another\n")
    assert watch(player) == before
    (folder / "book.txt").write_text("c2c4\n")
    with pytest.raises(EngineRebuilt, match=r"book\.txt"):
        watch(player)


def test_program_of_a_candidate_is_watched_from_its_first_start(folder: Path) -> None:
    watch = Watch({})
    player = Player("c#1", (f"{folder}/engine",))
    watch(player)
    (folder / "engine").write_bytes(b"another")
    with pytest.raises(EngineRebuilt):
        watch(player)


def test_builds_are_equal_by_content_not_by_name() -> None:
    files = {"./a": FileSum("1" * 64), "0.5": FileSum(), "net": FileSum("2" * 64)}
    build = Build("a", files=files)
    assert build.has_files({"./b": FileSum("1" * 64), "other": FileSum("2" * 64)})
    assert not build.has_files({"./a": FileSum("1" * 64), "net": FileSum("3" * 64)})
    assert not build.has_files({"net": FileSum("2" * 64), "./a": FileSum("1" * 64)})
    assert build.label == label(files) == f"{'1' * 12}+{'2' * 12}"
