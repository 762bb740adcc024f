"""Output files, their deletion, and the program that wrote each."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringmaster.errors import ForeignFiles, StoreUnwritable, UsageError
from ringmaster.storage.paths import OutputPaths, maker

NAMES = [
    "status",
    "status-wal",
    "status-shm",
    "status-journal",
    "games.pgn",
    "games.sgf",
    "games.csa",
    "games.kif",
    "games.kifu",
    "hist",
    "tree.jsonl",
    "report",
    "cmd",
    "log",
]
FOLDERS = ["games", "void", "gtplogs"]
LOG = "2026-01-02 03:04:05 run 1 started (ringmaster 0.1.0)\n"


def test_outputs_are_named_after_the_control_file_beside_it(tmp_path: Path) -> None:
    paths = OutputPaths(tmp_path / "my.tune.ctl")
    assert paths.status == tmp_path / "my.tune.status"
    assert paths.tree_log == tmp_path / "my.tune.tree.jsonl"
    assert OutputPaths(tmp_path / "bare").log == tmp_path / "bare.log"


def test_reset_deletes_every_output_and_nothing_else(tmp_path: Path) -> None:
    control = tmp_path / "t.ctl"
    others = [control, tmp_path / "t2.status", tmp_path / "t.txt", tmp_path / "book.epd"]
    files = [tmp_path / f"t.{suffix}" for suffix in NAMES]
    for path in (*others, *files):
        path.write_text("x")
    (tmp_path / "t.log").write_text(LOG)
    (tmp_path / "t.cmd").write_text("stop\n")
    (tmp_path / "t.report").write_text("playoff: t\nno games\n")
    folders = [tmp_path / f"t.{suffix}" for suffix in FOLDERS]
    for path in folders:
        (path / "deeper").mkdir(parents=True)
        (path / "deeper" / "0_0.sgf").write_text("x")
    paths = OutputPaths(control)
    assert sorted(paths.existing()) == sorted([*files, *folders])
    assert paths.existing()[0] == paths.status
    assert paths.existing()[-1] == paths.log
    paths.remove_all()
    assert sorted(tmp_path.iterdir()) == sorted(others)
    assert paths.existing() == []
    paths.remove_all()


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("x")
    event = tmp_path / "event"
    event.mkdir()
    paths = OutputPaths(event / "t.ctl")
    paths.log.write_text(LOG)
    paths.games.symlink_to(elsewhere)
    paths.void.mkdir()
    (paths.void / "inside").symlink_to(elsewhere)
    paths.hist.symlink_to(elsewhere / "precious")
    paths.report.symlink_to(tmp_path / "nowhere")
    paths.remove_all()
    assert list(event.iterdir()) == []
    assert (elsewhere / "precious").read_text() == "x"


def test_folder_in_the_place_of_a_file_is_not_deleted(tmp_path: Path) -> None:
    paths = OutputPaths(tmp_path / "t.ctl")
    (paths.report / "thesis").mkdir(parents=True)
    paths.log.write_text(LOG)
    with pytest.raises(StoreUnwritable, match=r"cannot delete .*t\.report"):
        paths.remove_all()
    assert (paths.report / "thesis").is_dir()


@pytest.mark.parametrize("suffix", [*NAMES[:1], "log", "hist", "report", "cmd", "games"])
def test_output_is_refused_as_a_control_file(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(UsageError, match=r"did you mean .*t\.ctl\?"):
        OutputPaths(tmp_path / f"t.{suffix}")


def test_reset_leaves_nothing_of_positions_and_features(tmp_path: Path) -> None:
    control = tmp_path / "tune[1].ctl"
    paths = OutputPaths(control)
    names = ["positions", "positions.new~", "positions.train-text~", "features", "features.rows~"]
    for name in names:
        (tmp_path / f"tune[1].{name}").write_text("x")
    paths.log.write_text(LOG)
    (tmp_path / "tune[1].features.pieces").mkdir()
    (tmp_path / "tune[1].features.pieces" / "0001.npz").write_text("x")
    other = tmp_path / "tune1.positions.new~"
    other.write_text("another event's")
    paths.remove_all()
    assert list(tmp_path.iterdir()) == [other]


def test_reset_leaves_files_of_unknown_origin(tmp_path: Path) -> None:
    paths = OutputPaths(tmp_path / "t.ctl")
    paths.page.write_text("<html>my page</html>")
    paths.cmd.write_text("@echo off")
    paths.games.mkdir()
    (paths.games / "mine.pgn").write_text("x")
    paths.gtplogs.mkdir()
    paths.hist.touch()
    with pytest.raises(
        ForeignFiles,
        match=r"^not deleted: nothing shows that ringmaster wrote t\.cmd, t\.games and t\.html;",
    ):
        paths.remove_all()
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["mine.pgn", "t.cmd", "t.games", "t.html"]


def test_reset_leaves_gomills_records_among_its_own(tmp_path: Path) -> None:
    paths = OutputPaths(tmp_path / "t.ctl")
    paths.log.write_text(LOG)
    (paths.games / "deeper").mkdir(parents=True)
    (paths.games / "0_0.sgf").write_text("(;FF[4]AP[gomill:0.8.3]\n)")
    (paths.games / "0_1.sgf").write_text("(;FF[4]GM[1]CA[UTF-8]\nAP[ringmaster:0.1.0])")
    with pytest.raises(ForeignFiles, match=r"^not deleted: Gomill wrote t\.games; delete"):
        paths.remove_all()
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["0_0.sgf", "t.games"]


@pytest.mark.parametrize("suffix", [n for n in NAMES if "-" not in n and n != "status"])
def test_first_run_refuses_a_file_of_another_program(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    path.write_text("somebody's")
    with pytest.raises(
        ForeignFiles, match=rf"^nothing shows that ringmaster wrote t\.{suffix}; .*move them"
    ):
        OutputPaths(tmp_path / "t.ctl").check_first_run()
    assert path.read_text() == "somebody's"


def test_first_run_accepts_files_of_an_earlier_try(tmp_path: Path) -> None:
    paths = OutputPaths(tmp_path / "t.ctl")
    paths.check_first_run()
    paths.log.touch()
    paths.games.mkdir()
    paths.cmd.write_text("stop\n")
    paths.page.write_text("<html>my page, which no run writes</html>")
    paths.check_first_run()
    paths.log.write_text("2026-01-02 03:04:05 startup check failed: no such program\n")
    paths.hist.write_text("x")
    paths.check_first_run()


@pytest.mark.parametrize("name", ["page", "cmd"])
def test_page_and_command_of_another_program_stay_also_beside_ringmasters_log(
    tmp_path: Path, name: str
) -> None:
    paths = OutputPaths(tmp_path / "t.ctl")
    paths.log.write_text(LOG)
    path = getattr(paths, name)
    path.write_text("@echo off")
    assert paths.take_commands() == []
    with pytest.raises(ForeignFiles, match="not deleted: nothing shows that ringmaster wrote"):
        paths.remove_all()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("text", ["stop", "stop\n", "pause\nmore\n"])
def test_commands_are_read_once(tmp_path: Path, text: str) -> None:
    paths = OutputPaths(tmp_path / "t.ctl")
    assert paths.take_commands() == []
    paths.cmd.write_text(text)
    assert paths.take_commands() == text.split()
    assert paths.take_commands() == []
    assert not paths.cmd.exists()


def test_command_of_the_moment_in_which_others_are_taken_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = OutputPaths(tmp_path / "t.ctl")
    paths.give_command("pause")
    taken: list[str] = []

    def lock(file: Any, operation: int) -> None:
        monkeypatch.undo()
        taken.extend(paths.take_commands())

    monkeypatch.setattr("ringmaster.storage.paths.fcntl.flock", lock)
    paths.give_command("stop")
    assert taken == ["pause"]
    assert paths.take_commands() == ["stop"]


STATUS = {"void_game_count": 0, "comp": {"results": []}, "comp_vn": 1}

GOMILL = {
    "log": "run started at 2010-05-06 07:08 with max_games None\nstarting game 0_0\n",
    "playoff.hist": "    0_0 a beat b B+R\n    0_1 b beat a W+3.5\n",
    "jigo.hist": "  AvB_12 a vs b jigo\n",
    "mc.hist": "rave:2 [(1,)] won\n",
    "ce.hist": "Generation 0\nDistribution\nrave:1.0\n",
    "playoff.report": "playoff: po\n\na v b (0/2 games)\n\nplayer a: GNU Go:3.8\n\n",
    "mc.report": "MCTS tuning event: mc\nboard size: 5\n",
    "ce.report": "CEM tuning event: ce\n",
    "0_0.sgf": "(;FF[4]AP[gomill:0.8.3]\nC[Event: po])\n",
    "0_0.log": ">> b: boardsize 5\n<< b: =\n",
}
RINGMASTER = {
    "log": "2026-01-02 03:04:05 run 1 started (ringmaster 0.1.0)\n",
    "new.log": "2026-01-02 03:04:05 log of tune, by ringmaster 0.1.0\n",
    "failed.log": "2026-01-02 03:04:05 startup check failed: x.ctl:1:1: error\n",
    "playoff.report": "playoff: file\n\na v b (0/2 games)\n\nplayer a: GNU Go:3.8\n",
    "0_0.sgf": "(;FF[4]GM[1]CA[UTF-8]\nAP[ringmaster:0.1.0]SZ[5])\n",
    "0_0.log": "    0.0110 a > protocol_version\n",
    "tree.jsonl": '{"games":2}\n',
    "cmd": "stop\n",
    "empty": "",
}
UNKNOWN = {
    "hist": "game 0_0: a beat b B+R\n",
    "report": "todo: more tests\n",
    "python.log": "2026-01-02 03:04:05 INFO engine started\n",
    "html": "<!DOCTYPE html>\n<html><body>mine</body></html>\n",
    "cmd": "stop the press",
    "gomill.cmd": "stop",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, "Gomill") for text in GOMILL.values()),
        *((text, "ringmaster") for text in RINGMASTER.values()),
        *((text, None) for text in UNKNOWN.values()),
    ],
)
def test_first_lines_say_which_program_wrote_a_file(
    tmp_path: Path, text: str, expected: str | None
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert maker(path) == expected


class _Trap:
    def __init__(self, target: str) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return os.mkdir, (self.target,)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_status_file_of_gomill_is_recognised_and_not_loaded(tmp_path: Path, protocol: int) -> None:
    path, trap = tmp_path / "t.status", tmp_path / "sprung"
    path.write_bytes(pickle.dumps((0, {**STATUS, "more": _Trap(str(trap))}), protocol))
    assert maker(path) == "Gomill"
    assert not trap.exists()


def test_only_records_of_games_in_progress_are_cleared(tmp_path: Path) -> None:
    paths = OutputPaths(tmp_path / "x.ctl")
    paths.clear_live()
    paths.live.mkdir()
    for name in ("0_1.json", "0_1.json.new~"):
        (paths.live / name).touch()
    paths.clear_live()
    assert not paths.live.exists()
    paths.live.mkdir()
    (paths.live / "notes.txt").write_text("mine")
    paths.clear_live()
    assert (paths.live / "notes.txt").read_text() == "mine"


def dangling(path: Path) -> None:
    path.symlink_to("none")


def linked_folder(path: Path) -> None:
    path.symlink_to(path.parent)


@pytest.mark.parametrize(
    ("make", "suffixes"),
    [
        (Path.mkdir, ["games.pgn", "hist", "log", "report", "status", "tree.jsonl", "cmd"]),
        (os.mkfifo, ["games.pgn", "hist", "log", "report", "cmd"]),
        (Path.touch, ["games", "void", "gtplogs", "live", "backups"]),
        (dangling, ["games.pgn", "hist", "log", "report", "html", "status", "cmd", "positions"]),
        (dangling, ["games", "void", "gtplogs", "live", "backups"]),
        (linked_folder, ["games", "void", "gtplogs", "live", "backups"]),
    ],
)
def test_output_of_another_kind_is_refused(
    tmp_path: Path, make: Callable[[Path], None], suffixes: list[str]
) -> None:
    for suffix in suffixes:
        control = tmp_path / suffix / "t.ctl"
        control.parent.mkdir()
        OutputPaths(control).check_kinds()
        make(control.with_suffix(f".{suffix}"))
        with pytest.raises(StoreUnwritable, match=rf"t\.{suffix} is (a|no) "):
            OutputPaths(control).check_kinds()
