"""Builds of players: present and recorded files, names of engines, acceptance."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ringmaster.control.builds import Builds, competition_files
from ringmaster.model.builds import Build, FileSum
from ringmaster.model.players import Player


@pytest.fixture
def player(tmp_path: Path) -> Player:
    for name in ("engine", "net.bin"):
        (tmp_path / name).write_bytes(b"\0" + name.encode())
    return Player("new", (f"{tmp_path}/engine",), options={"EvalFile": f"{tmp_path}/net.bin"})


def played(player: Player, directory: Path, name: str = "Engine 1") -> dict[int, Build]:
    """Return the recorded builds after a game."""
    builds = Builds([player], directory=str(directory))
    assert builds.report("new", name, is_own=True) is None
    number, build = builds.number("new", 5.0)
    assert build is not None
    return {number: build}


def test_names_of_files_are_those_of_the_control_file_wherever_its_folder_is(
    player: Player, tmp_path: Path
) -> None:
    recorded = played(player, tmp_path)
    assert list(recorded[1].files) == ["./engine", "./net.bin"]
    assert (recorded[1].player, recorded[1].name, recorded[1].first_seen) == ("new", "Engine 1", 5)
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("engine", "net.bin"):
        (tmp_path / name).rename(moved / name)
    there = msgspec.structs.replace(
        player, command=(f"{moved}/engine",), options={"EvalFile": f"{moved}/net.bin"}
    )
    again = Builds([there], directory=str(moved), recorded=recorded)
    assert again.rebuilt == []
    assert again.number("new", 9.0)[0] == 1


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("engine", "./engine was rebuilt after game 1,204"),
        ("net.bin", "./net.bin was changed after game 1,204"),
    ],
)
def test_changed_file_is_a_refused_change_unless_accepted(
    player: Player, tmp_path: Path, name: str, what: str
) -> None:
    recorded = played(player, tmp_path)
    (tmp_path / name).write_bytes(b"\0another")
    (change,) = Builds([player], directory=str(tmp_path), recorded=recorded, completed=1204).rebuilt
    assert str(change) == f"player 'new': {what}"
    assert not change.allowed
    before = recorded[1].files[f"./{name}"].sha256[:12]
    error = change.error()
    assert error.path == ("players", "new")
    assert error.details[0].startswith(f"SHA-256 {before} before, ")
    assert error.details[-1].endswith("run --accept-build new")
    builds = Builds(
        [player], directory=str(tmp_path), accepted={"new"}, recorded=recorded, games={1: 7}
    )
    assert [change.allowed for change in builds.rebuilt] == [True]
    number, build = builds.number("new", 9.0)
    assert number == 2
    assert build is not None
    # any recorded build may play again
    both = Builds([player], directory=str(tmp_path), recorded={**recorded, 2: build})
    assert both.rebuilt == []
    assert both.number("new", 9.0) == (2, None)


def test_files_of_two_recorded_builds_together_are_another_build(
    player: Player, tmp_path: Path
) -> None:
    first = played(player, tmp_path)
    for name in ("engine", "net.bin"):
        (tmp_path / name).write_bytes(b"\0another")
    recorded = {**first, 2: played(player, tmp_path)[1]}
    (tmp_path / "engine").write_bytes(b"\0engine")
    (change,) = Builds([player], directory=str(tmp_path), recorded=recorded).rebuilt
    assert change.what == "./engine was rebuilt before the first game"
    (tmp_path / "net.bin").write_bytes(b"\0net.bin")
    assert Builds([player], directory=str(tmp_path), recorded=recorded).rebuilt == []


def test_program_that_is_not_here_is_the_recorded_one_or_that_of_the_hosts(
    player: Player, tmp_path: Path
) -> None:
    recorded = played(player, tmp_path)
    (tmp_path / "engine").unlink()
    assert Builds([player], directory=str(tmp_path), recorded=recorded).rebuilt == []
    unknown = Builds([player], directory=str(tmp_path))
    program = player.command[0]
    assert program not in [name for name, _, _ in unknown.sums()]
    unknown.take_sums({program: "f" * 64})
    _, build = unknown.number("new", 1.0)
    assert build is not None
    assert build.files["./engine"] == FileSum("f" * 64)
    # hosts may have a new one that was accepted
    accepted = Builds([player], directory=str(tmp_path), accepted={"new"}, recorded=recorded)
    accepted.take_sums({program: "f" * 64})
    assert accepted.number("new", 1.0)[0] == 2


def test_engine_of_another_name_is_refused_unless_it_is_a_candidates(
    player: Player, tmp_path: Path
) -> None:
    recorded = played(player, tmp_path)
    builds = Builds([player], directory=str(tmp_path), recorded=recorded)
    assert builds.report("new", "Engine 2", is_own=False) is None
    assert builds.report("new", "", is_own=True) is None
    change = builds.report("new", "Engine 2", is_own=True)
    assert change is not None
    assert change.what == "its engine is Engine 2 now and was Engine 1, with the same files"
    assert builds.number("new", 9.0)[0] == 1
    accepted = Builds([player], directory=str(tmp_path), accepted={"new"}, recorded=recorded)
    assert accepted.report("new", "Engine 2", is_own=True) is None
    number, build = accepted.number("new", 9.0)
    assert number == 2
    assert build is not None
    assert build.name == "Engine 2"
    # the former name again, which is known
    both = Builds([player], directory=str(tmp_path), recorded={**recorded, 2: build})
    assert both.report("new", "Engine 1", is_own=True) is None
    assert both.number("new", 9.0)[0] == 1


def test_lost_builds_of_a_repaired_file_give_their_numbers_to_no_other(
    player: Player, tmp_path: Path
) -> None:
    builds = Builds([player], directory=str(tmp_path), games={1: 10, 2: 30})
    assert builds.number("new", 1.0)[0] == 3


def test_opening_files_and_tablebases_have_sums_by_name(tmp_path: Path) -> None:
    (tmp_path / "book.epd").write_text("one\n")
    (tmp_path / "tables").mkdir()
    settings = {
        "openings": {"$": "OpeningsSettings", "path": "./book.epd"},
        "matchups": [{"openings": {"$": "OpeningsSettings", "path": "/absent.epd"}}],
        "tablebases": {"$": "Tablebases", "paths": ["./tables"]},
        "players": {"a": {"command": ["./book.epd"]}},
    }
    sums = competition_files(settings, str(tmp_path))
    assert list(sums) == ["./book.epd", "/absent.epd", "./tables"]
    assert sums["/absent.epd"] == ""
    (tmp_path / "book.epd").write_text("two\n")
    (tmp_path / "tables" / "KQvK.rtbw").touch()
    again = competition_files(settings, str(tmp_path))
    assert [name for name in sums if sums[name] != again[name]] == ["./book.epd", "./tables"]
