"""The verb `match`: its control file, and the same line again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from ringmaster.cli import REPORTED, USAGE, run
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.storage.store import Store
from tests.program import ENGINE, book

DUEL = shlex.join([sys.executable, "-I", "-S", str(ENGINE), "--outcome", "by-option"])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "engine").touch()
    (tmp_path / "uho.epd").write_text(book())
    return tmp_path


def printed(line: str, capsys: pytest.CaptureFixture[str], folder: Path) -> LoadedCompetition:
    """Return the competition of a line, which is printed and loaded."""
    assert run(["match", *shlex.split(line), "--print"]) == 0
    (folder / "printed.ctl").write_text(capsys.readouterr().out)
    return LoadedCompetition(folder / "printed.ctl")


def refused(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run(["match", *shlex.split(line)]) == USAGE
    assert not Path("match.ctl").exists()
    return capsys.readouterr().err


def games(control: str = "match.ctl") -> int:
    store = Store.open_readonly(Path(control).with_suffix(".status"))
    try:
        return sum(store.counts())
    finally:
        store.close()


def test_line_becomes_a_control_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "new/engine old/engine --tc 8+0.08 --book uho.epd --sprt -1.75 3 -j 8"
    loaded = printed(f"{line} --games 10 --option Hash=64 --option Style=a=b", capsys, folder)
    values = loaded.control_file.values
    first, second = loaded.setup().checks
    assert [check.player.code for check in (first, second)] == ["new", "old"]
    assert first.player.command == (str(folder / "new/engine"),)
    assert str(first.player.time_control) == "8+0.08"
    assert first.player.options == {"Hash": 64, "Style": "a=b"}
    assert (values["sprt"].elo0, values["sprt"].elo1) == (-1.75, 3)
    assert (values["number_of_games"], values["parallel"]) == (10, 8)
    assert values["openings"].path == str(folder / "uho.epd")
    assert sorted(path.name for path in folder.iterdir()) == [
        "new",
        "old",
        "printed.ctl",
        "uho.epd",
    ]


def test_third_engine_makes_a_gauntlet_and_names_are_unique(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "new/engine old/engine './new/engine --uci' other --nodes 5 --games 4"
    loaded = printed(line, capsys, folder)
    values = loaded.control_file.values
    assert loaded.competition.type_name == "gauntlet"
    assert (values["challengers"], values["rounds"]) == (("new",), 4)
    assert values["opponents"] == ("old", "new-2", "other")
    loaded = printed("new/engine old/engine x/engine --nodes 5 --games 4", capsys, folder)
    assert list(loaded.control_file.values["players"]) == ["new", "old", "x"]
    # a program on PATH has no folder to be called by
    loaded = printed("new/sh sh --nodes 5 --games 4", capsys, folder)
    assert list(loaded.control_file.values["players"]) == ["sh", "sh-2"]


@pytest.mark.parametrize(
    ("game", "clock"), [("chess", "10+0.1"), ("shogi", "0+1byo"), ("go", None)]
)
def test_games_have_usual_limits(
    game: str, clock: str | None, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = printed(f"new/engine old/engine --game {game} --games 2", capsys, folder)
    control = loaded.setup().checks[0].player.time_control
    assert (None if control is None else str(control)) == clock
    # the opening file of the folder
    openings = loaded.control_file.values["openings"]
    assert (openings is not None) == (game == "chess")
    more = "--visits 9 " if game == "go" else ""
    loaded = printed(f"a b --game {game} {more}--games 2 --book my.book", capsys, folder)
    assert loaded.setup().checks[0].player.visits == (9 if more else None)
    assert loaded.control_file.values["openings"].path == str(folder / "my.book")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a --games 2", "a match needs two engines or more"),
        ("a b", "nothing ends the match: --games 1000 plays so many games, --sprt 0 3 plays"),
        ("a b --sprt 3 0", "sprt.elo1: elo1 = 0 is not above elo0 = 3; expected elo0 below elo1"),
        ("a b --sprt 3", "--sprt: expected 2 arguments"),
        ("a b --sprt 0 x", "--sprt: 'x' is not a number, such as 3"),
        ("a b --games 2 --option Hash", "'Hash' is not NAME=VALUE, such as Hash=64"),
        ("a b --games 2 --tc x", "time_control: 'x' is not a time control"),
        ("a 'b \"c' --games 2", "No closing quotation"),
        ("a b --games 2 -o x.status", "this cannot be a control file"),
    ],
)
def test_wrong_line_is_answered_and_writes_nothing(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(line, capsys)


def test_control_file_with_the_name_of_the_verb_is_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "match").write_text("competition_type = 3\n")
    for words in (["./match"], ["run", "match"], ["./match", "check"]):
        assert run(words) == REPORTED
        assert "match:1:20: error: competition_type" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.slow
def test_same_line_resumes_and_another_line_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["match", DUEL, DUEL, "--nodes", "1", "--games", "8", "--book", "uho.epd", "-q"]
    assert run([*line, "-g", "3", "-j", "2"]) == 0
    text = (folder / "match.ctl").read_text()
    assert games() == 3
    (folder / "match.ctl").write_text(f"# my match\n{text}")
    assert run(line) == 0
    assert games() == 8
    capsys.readouterr()
    assert run([*line, "--games", "10"]) == USAGE
    error = capsys.readouterr().err
    assert "match.ctl is another match: it has number_of_games = 8; this line gives number" in error
    assert "(-o other.ctl), or continue the other: ringmaster match.ctl run" in error
    assert (folder / "match.ctl").read_text() == f"# my match\n{text}"
    assert run([*line, "--games", "2", "-o", "other.ctl"]) == 0
    assert games("other.ctl") == 2
    (folder / "match.ctl").write_text("x = (\n", encoding="utf-8")
    assert run(line) == REPORTED
    assert "match.ctl:1:5: error" in capsys.readouterr().err


@pytest.mark.process
def test_file_of_a_line_that_plays_no_game_is_deleted_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["match", "./no", DUEL, "--nodes", "1", "--games", "2"]) == REPORTED
    error = capsys.readouterr().err
    assert "no game was played; match.ctl is deleted again" in error
    assert "cannot start" in error
    assert not (folder / "match.ctl").exists()
    (folder / "mine.ctl").write_text((folder / "uho.epd").read_text())
    assert run(["match", "./no", "./no", "--games", "2", "-o", "mine.ctl"]) == REPORTED
    assert (folder / "mine.ctl").exists()
