"""Files for hosts: what is sent, where it is kept, what a job finds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ringmaster.errors import ExecutorError
from ringmaster.execution.shipping import Cache, ShippedFile, collect, files_of
from ringmaster.model.jobs import EvaluationJob, GameJob, GameSettings, Tablebases
from ringmaster.model.players import Player


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files on the ringmaster's machine."""
    folder = tmp_path / "here"
    (folder / "syzygy" / "wdl").mkdir(parents=True)
    (folder / "engine").write_bytes(b"program")
    (folder / "engine").chmod(0o755)
    (folder / "net.bin").write_bytes(b"net")
    (folder / "12").write_bytes(b"a file named as a number")
    (folder / "syzygy" / "KQvK.rtbw").write_bytes(b"table")
    (folder / "syzygy" / "wdl" / "KRvK.rtbw").write_bytes(b"another")
    return folder


def remove(folder: Path) -> None:
    """Make this another machine, without the files."""
    folder.rename(folder.with_name("elsewhere"))


def test_program_with_its_network_and_book_are_found(folder: Path) -> None:
    player = Player(
        "a",
        (f"{folder}/engine", "--weights=net.bin", "12", "absent"),
        cwd=str(folder),
        options={"SyzygyPath": f"{folder}/syzygy", "Hash": 12, "Name": "12", "EvalFile": ""},
        environ={"NET": "./net.bin"},
    )
    names = [os.path.relpath(name, folder) for name in files_of(player)]
    assert names == ["engine", "net.bin", "syzygy"]


def test_program_on_the_path_is_not_sent(folder: Path) -> None:
    assert files_of(Player("a", ("sh", f"{folder}/net.bin"))) == [f"{folder}/net.bin"]


def test_host_needs_a_file_once_and_a_job_finds_it(folder: Path, tmp_path: Path) -> None:
    files = collect([str(folder / "engine"), str(folder / "net.bin"), str(folder / "syzygy")])
    cache = Cache(tmp_path / "cache")
    player = Player(
        "a",
        (str(folder / "engine"), f"--weights={folder}/net.bin"),
        cwd=str(folder),
        options={"SyzygyPath": str(folder / "syzygy"), "Hash": 16},
        environ={"NET": "net.bin"},
    )
    tables = Tablebases((str(folder / "syzygy"),))
    settings = GameSettings("chess", tablebases=tables, referee=player)
    game = GameJob("0", (player, player), settings)
    far = Cache(tmp_path / "cache")
    elsewhere = folder.with_name("elsewhere")
    contents = {file.path: Path(file.path).read_bytes() for file in files}
    remove(folder)
    assert cache.missing(files) == [file.path for file in files]
    for file in files:
        cache.write(file, [contents[file.path]])
    assert cache.missing(files) == []
    assert far.missing(files) == []  # kept from run to run
    played = far.localised(game)
    assert isinstance(played, GameJob)
    assert played.settings.referee == played.players[0]
    program, weights = played.players[0].command
    assert Path(program).read_bytes() == b"program"
    assert os.access(program, os.X_OK)
    assert Path(weights.removeprefix("--weights=")).read_bytes() == b"net"
    assert Path(played.players[1].environ["NET"]).read_bytes() == b"net"
    assert played.players[0].options["Hash"] == 16
    for place in (played.players[0].options["SyzygyPath"], *played.settings.tablebases.paths):  # type: ignore[union-attr]  # given
        names = sorted(str(p.relative_to(place)) for p in Path(str(place)).rglob("*.rtbw"))
        assert names == ["KQvK.rtbw", "wdl/KRvK.rtbw"]
        assert (Path(str(place)) / "wdl/KRvK.rtbw").read_bytes() == b"another"
    assert sorted(p.name for p in elsewhere.iterdir()) == ["12", "engine", "net.bin", "syzygy"]


def test_host_with_the_same_file_uses_its_own(folder: Path, tmp_path: Path) -> None:
    files = collect([str(folder / "engine")])
    cache = Cache(tmp_path / "cache")
    assert cache.missing(files) == []
    job = EvaluationJob(
        "e", Player("a", (str(folder / "engine"),)), GameSettings("chess"), "p", 0, 1
    )
    assert cache.localised(job) == job
    assert not (tmp_path / "cache").exists()


def test_file_that_was_damaged_in_the_cache_is_sent_again(folder: Path, tmp_path: Path) -> None:
    files = collect([str(folder / "net.bin")])
    data = (folder / "net.bin").read_bytes()
    cache = Cache(tmp_path / "cache")
    remove(folder)
    cache.write(files[0], [data])
    (kept,) = (tmp_path / "cache").rglob("net.bin")
    kept.write_bytes(b"bad")
    assert cache.missing(files) == [files[0].path]
    cache.write(files[0], [data])
    assert cache.missing(files) == []


def test_other_content_than_announced_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    file = ShippedFile("/a/net.bin", "/a/net.bin", "0" * 64, 3)
    with pytest.raises(ExecutorError, match=r"/a/net\.bin arrived with other content"):
        cache.write(file, [b"abc"])
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_equal_files_under_two_names_are_both_there_and_one_may_be_a_program(
    folder: Path, tmp_path: Path
) -> None:
    for name in ("copy", "tool"):
        (folder / name).write_bytes(b"net")
    (folder / "tool").chmod(0o755)
    files = collect([str(folder)])
    remove(folder)
    cache = Cache(tmp_path / "cache")
    plain = [file for file in files if file.size == 3]
    for file in plain:
        cache.write(file, [b"net"])
    assert not {file.path for file in plain} & set(cache.missing(files))
    kept = {path.name: path for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    assert os.access(kept["tool"], os.X_OK)
    assert not os.access(kept["copy"], os.X_OK)


def test_folder_never_gives_a_file_that_was_changed_on_the_host(
    folder: Path, tmp_path: Path
) -> None:
    tables = folder / "syzygy"
    files = collect([str(tables)])
    cache = Cache(tmp_path / "cache")
    (tables / "wdl" / "KRvK.rtbw").rename(folder / "moved")
    cache.write(next(f for f in files if f.path.endswith("KRvK.rtbw")), [b"another"])
    assert cache.missing(files) == []  # one is the host's own, one is kept
    (tables / "KQvK.rtbw").write_bytes(b"chang")
    assert Cache(tmp_path / "cache").missing(files) == [str(tables / "KQvK.rtbw")]
    cache.write(next(f for f in files if f.path.endswith("KQvK.rtbw")), [b"table"])
    assert cache.missing(files) == []
    player = Player("a", ("e",), options={"SyzygyPath": str(tables)})
    job = EvaluationJob("e", player, GameSettings("chess"), "p", 0, 1)
    localised = cache.localised(job)
    assert isinstance(localised, EvaluationJob)
    place = Path(str(localised.player.options["SyzygyPath"]))
    assert (place / "KQvK.rtbw").read_bytes() == b"table"


def test_devices_homes_and_bare_words_do_not_travel(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(folder / "fifo")
    (folder / "bench").write_bytes(b"a file named as a command")
    (folder / "loop").symlink_to(folder)
    (folder / "linked").symlink_to(tmp_path / "far")
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "x.bin").write_bytes(b"x")
    player = Player(
        "a",
        (f"{folder}/engine", "bench", str(folder / "fifo")),
        cwd=str(folder),
        options={"Debug Log File": "/dev/null", "Paths": f"./net.bin{os.pathsep}./syzygy"},
        environ={"HOME": str(folder)},
    )
    names = [os.path.relpath(name, folder) for name in files_of(player)]
    assert names == ["engine", "net.bin", "syzygy"]
    sent = [os.path.relpath(file.path, folder) for file in collect([str(folder)])]
    assert "linked/x.bin" in sent
    assert "fifo" not in sent
    assert len(sent) == len(set(sent)) == 7


@pytest.mark.parametrize("name", ["absent", "empty"])
def test_nothing_to_ship_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ExecutorError, match="there is no such file, or an empty folder"):
        collect([str(tmp_path / name)])
