"""Files of a player: which they are, and when they count as others."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from ringmaster.errors import EngineRebuilt
from ringmaster.model import builds
from ringmaster.model.builds import FileSum, Watch, files_of, label, sum_of
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


def test_files_of_one_name_in_two_folders_are_two(folder: Path) -> None:
    for place in (folder, folder / "bin"):
        player = Player("a", ("python3", "engine", "./engine"), cwd=str(place))
        assert files_of(player) == {f"{place}/engine": f"{place}/engine"}


def test_file_without_end_has_no_sum() -> None:
    assert sum_of("/proc/kcore") == FileSum()


def test_text_of_a_program_is_none_but_files_in_it_count(folder: Path) -> None:
    files = named(folder, "sh", "-c", "exec ./engine --level 3")
    assert os.path.basename(files[0]) == "sh"
    assert "engine" in files


def test_networks_books_and_settings_count_but_no_logs_and_folders(folder: Path) -> None:
    for name in ("old.log", "debug.txt", "book.epd", "engine.cfg", "lc0.config"):
        (folder / name).write_text("text\n")
    files = named(
        folder,
        *("./engine", "--weights=net.bin", "-config", "engine.cfg", "--log", "old.log", "a.b"),
        "--config=lc0.config",
        DebugLogFile="debug.txt",
        Book="./book.epd",
        Path="./bin",
    )
    assert files == ["engine", "net.bin", "engine.cfg", "lc0.config", "book.epd"]


def test_files_that_the_engine_writes_do_not_count_whatever_is_in_them(folder: Path) -> None:
    files = named(
        folder,
        *("./engine", "--output", "net.bin", "--logfile=book.txt"),
        **{"Experience File": "bin/engine", "HashFile": "script"},
    )
    assert files == ["engine"]
    logs = folder / "logs"
    logs.mkdir()
    (folder / "net.bin").rename(logs / "net.bin")
    files = named(folder, "./engine", "--output", "x.sgf", "--weights", "logs/net.bin")
    assert files == ["engine", "logs/net.bin"]


def test_file_is_hashed_once_and_again_only_after_a_change(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    whole = builds.checksum

    def count(path: str) -> str:
        hashed.append(path)
        return whole(path)

    monkeypatch.setattr(builds, "checksum", count)
    net = str(folder / "net.bin")
    first = sum_of(net)
    assert first.sha256 == hashlib.sha256(b"\0net.bin").hexdigest()
    assert sum_of(net, [FileSum(), first]) == sum_of(net) == first
    assert hashed == [net]
    status = os.stat(net)
    (folder / "net.bin").write_bytes(b"\0NET.bin")
    # as a copy that preserves times
    os.utime(net, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert sum_of(net, [first]).sha256 != first.sha256
    assert hashed == [net, net]


def test_sum_of_an_earlier_run_spares_the_hashing(folder: Path) -> None:
    net = str(folder / "net.bin")
    known = FileSum("of an earlier run", sum_of(net).mark)
    assert sum_of(net, [known]) is known
    assert sum_of(str(folder / "absent")) == FileSum()


def test_folder_has_the_sum_of_its_names_and_sizes(folder: Path) -> None:
    tables = str(folder / "bin")
    before = sum_of(tables).sha256
    (folder / "bin" / "engine").write_bytes(b"\0BIN/ENGINE")
    assert sum_of(tables).sha256 == before
    (folder / "bin" / "KQvK.rtbw").touch()
    assert sum_of(tables).sha256 != before


@pytest.fixture
def player(folder: Path) -> Player:
    command = ("./engine", "--pids", "pids.txt")
    options: dict[str, OptionValue] = {"EvalFile": "net.bin", "Book": "book.epd"}
    (folder / "book.epd").write_text("text\n")
    return Player("a", command, cwd=str(folder), options=options)


@pytest.fixture
def watch(player: Player) -> Watch:
    return Watch({path: sum_of(path) for path in files_of(player).values()})


def test_start_of_a_process_goes_on_after_touch_and_copy(
    folder: Path, watch: Watch, player: Player
) -> None:
    before = watch(player)
    os.utime(folder / "engine")
    (folder / "copy").write_bytes((folder / "net.bin").read_bytes())
    (folder / "copy").replace(folder / "net.bin")
    (folder / "pids.txt").write_text("1\n")
    assert watch(player) == before
    assert before.split("+")[0] == hashlib.sha256(b"\0engine").hexdigest()[:12]
    assert len(before.split("+")) == 3


@pytest.mark.parametrize("name", ["engine", "net.bin", "book.epd"])
def test_start_of_a_process_is_refused_after_one_byte_more(
    folder: Path, watch: Watch, player: Player, name: str
) -> None:
    watch(player)
    with (folder / name).open("ab") as file:
        file.write(b"x")
    with pytest.raises(EngineRebuilt, match=f"{name} was rebuilt during the run: SHA-256") as info:
        watch(player)
    assert info.value.code == "a"


def test_program_of_a_candidate_is_watched_from_its_first_start(folder: Path) -> None:
    watch = Watch({})
    player = Player("c#1", (f"{folder}/engine",))
    watch(player)
    (folder / "engine").write_bytes(b"another")
    with pytest.raises(EngineRebuilt):
        watch(player)


def test_label_begins_with_the_program_and_does_not_depend_on_the_order_of_options() -> None:
    program, one, two = (FileSum(digit * 64) for digit in "321")
    assert label([program, one, two]) == label([program, two, one])
    assert label([program, one]) == f"{'3' * 12}+{'2' * 12}"
    assert label([FileSum(), one]) == "2" * 12
    assert label([]) == ""
