"""Tournaments through the whole program: runs, edits, continued runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.program import ENGINE, book, ringmaster, shown

HEAD = f"""
game = "chess"
def duel(strength):
    return Player([{sys.executable!r}, "-I", "-S", {str(ENGINE)!r}, "--outcome", "by-option"],
                  options={{"Strength": strength}}, nodes=1)
players = {{"a": duel(600), "b": duel(500), "c": duel(450), "d": duel(400)}}
openings = Openings("book.epd")
"""


def write(folder: Path, type_name: str, tail: str) -> Path:
    (folder / "book.epd").write_text(book())
    control = folder / "event.ctl"
    control.write_text(f'competition_type = "{type_name}"\n{HEAD}{tail}\n')
    return control


@pytest.mark.process
def test_competitor_is_added_to_a_tournament_that_was_played(tmp_path: Path) -> None:
    control = write(tmp_path, "allplayall", 'competitors = ["a", "b", "c"]\nrounds = 4')
    done = ringmaster(control, "-j", "2")
    assert (done.returncode, done.stderr) == (0, "")
    before = shown(control)
    assert before["games"]["completed"] == 12
    write(tmp_path, "allplayall", 'competitors = ["a", "b", "c", "d"]\nrounds = 4')
    assert ringmaster(control, "-j", "2").returncode == 0
    after = shown(control)
    assert after["games"]["completed"] == after["games"]["total"] == 24
    assert [row[:3] for row in after["grid"]["points"][:3]] == before["grid"]["points"]
    records = {path.stem for path in control.with_suffix(".games").iterdir()}
    assert records == {
        f"{pairing}_{number}"
        for pairing in ("AvB", "AvC", "AvD", "BvC", "BvD", "CvD")
        for number in range(4)
    }
    for line in ("D d", "± (95 %)", "a v d (4/4 games)"):
        assert line in control.with_suffix(".report").read_text()


CRASHING = """
players["x"] = Player([sys.executable, "-I", "-S", {engine!r}, "--outcome", "by-option",
                       "--crash-on", "go"], options={{"Strength": 500}}, nodes=1)
"""


def with_crashing(folder: Path, type_name: str, tail: str) -> Path:
    head = "import sys\n" + CRASHING.format(engine=str(ENGINE))
    return write(folder, type_name, head + tail)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize(
    ("type_name", "tail", "games", "workers"),
    [
        ("gauntlet", 'challengers = ["a"]\nopponents = ["x", "b", "c"]\nrounds = 4', 8, "4"),
        ("allplayall", 'competitors = ["a", "x", "b"]\nrounds = 4', 4, "1"),
        (
            "playoff",
            'number_of_games = 4\nmatchups = [Matchup("x", "a"), Matchup("a", "b")]',
            4,
            "4",
        ),
    ],
)
def test_rest_is_played_where_one_engine_crashes_and_a_repaired_one_plays_on(
    tmp_path: Path, type_name: str, tail: str, games: int, workers: str
) -> None:
    control = with_crashing(tmp_path, type_name, tail)
    done = ringmaster(control, "-j", workers)
    assert done.returncode == 1
    assert "player x" in done.stderr
    assert 'withdrawn = ["x"]' in done.stderr
    assert 'failures = "loss"' in done.stderr
    after = shown(control)
    assert after["games"]["completed"] == games
    assert after["stopped"] == ["x"]
    assert after["void_by_kind"] == {"x": {"crash": after["games"]["void"]}}
    assert "(x: " in control.with_suffix(".report").read_text()
    # every run tries again
    assert ringmaster(control, "-j", "1").returncode == 1
    assert shown(control)["games"]["void"] == after["games"]["void"] + 5
    control.write_text(control.read_text().replace('"--crash-on", "go"', ""))
    done = ringmaster(control, "-j", workers)
    assert done.returncode == 0
    assert not [line for line in done.stderr.splitlines() if "games at a time" not in line]
    final = shown(control)
    assert final["games"]["completed"] == final["games"]["total"]
    assert final["games"]["in_progress"] == 0
    assert final["stopped"] == []


@pytest.mark.process
def test_tournament_is_complete_when_the_crashing_opponent_is_removed(tmp_path: Path) -> None:
    tail = 'challengers = ["a"]\nopponents = ["x", "b"]\nrounds = 2'
    control = with_crashing(tmp_path, "gauntlet", tail)
    assert ringmaster(control).returncode == 1
    text = control.read_text()
    control.write_text(text.replace('opponents = ["x", "b"]', 'opponents = ["b"]'))
    done = ringmaster(control)
    assert (done.returncode, done.stderr) == (0, "")
    assert shown(control)["games"]["total"] == 2
    control.write_text(text + '\nwithdrawn = ["x"]\n')
    assert ringmaster(control).returncode == 0
    assert "withdrawn: x" in control.with_suffix(".report").read_text()


@pytest.mark.process
@pytest.mark.slow
def test_swiss_continues_when_the_crashing_player_is_withdrawn(
    tmp_path: Path,
) -> None:
    tail = 'competitors = ["a", "b", "x", "c"]\nrounds = 2'
    control = with_crashing(tmp_path, "swiss", tail)
    done = ringmaster(control, "-j", "2")
    assert done.returncode == 1
    assert 'withdrawn = ["x"]' in done.stderr
    assert shown(control)["games"]["completed"] == 2
    control.write_text(control.read_text() + '\nwithdrawn = ["x"]\n')
    assert ringmaster(control, "-j", "2").returncode == 0
    after = shown(control)
    assert after["games"]["completed"] == after["games"]["total"] == 4


@pytest.mark.process
def test_diff_and_check_know_the_players_of_earlier_runs(tmp_path: Path) -> None:
    one, both = 'Matchup("a", "b", id="m")', 'Matchup("a", "b", id="x")'
    control = write(tmp_path, "playoff", f"number_of_games = 2\nmatchups = [{one}, {both}]")
    assert ringmaster(control).returncode == 0
    write(tmp_path, "playoff", f"number_of_games = 2\nmatchups = [{one}]")
    assert ringmaster(control).returncode == 0
    other = 'Matchup("c", "d", id="x")'
    write(tmp_path, "playoff", f"number_of_games = 2\nmatchups = [\n    {one},\n    {other}]")
    for action in ("diff", "check", "run", "show"):
        done = ringmaster(control, action)
        assert done.returncode == 1, action
        output = done.stdout + done.stderr
        assert "matchup x was played between a and b, the control file has c and d" in output
        assert f"    {other}]" in output, "the line is shown"


@pytest.mark.process
@pytest.mark.slow
def test_swiss_continues_after_a_stop_and_an_edit(tmp_path: Path) -> None:
    control = write(tmp_path, "swiss", 'competitors = ["a", "b", "c"]\nrounds = 2')
    # the last game of the first round, and no pairing yet of the second
    assert ringmaster(control, "-g", "2").returncode == 0
    assert [r["bye"] for r in shown(control)["rounds"]] == ["c"]
    write(tmp_path, "swiss", 'competitors = ["a", "b", "c", "d"]\nrounds = 2')
    assert ringmaster(control, "-g", "1").returncode == 0
    second = shown(control)["rounds"][1]
    assert second["bye"] is None
    # edits do not change paired rounds
    write(tmp_path, "swiss", 'competitors = ["a", "b", "c", "d"]\nrounds = 3\nratings = {"d": 9}')
    done = ringmaster(control, "-j", "2")
    assert (done.returncode, done.stderr) == (0, "")
    after = shown(control)
    assert after["games"]["completed"] == after["games"]["total"] == 2 + 4 + 4
    pairings = [p["players"] for p in after["rounds"][1]["pairings"]]
    assert pairings == [p["players"] for p in second["pairings"]]
    assert "round 3 (4/4 games)" in control.with_suffix(".report").read_text()
    rows = [
        json.loads(row)
        for row in ringmaster(control, "export", "--format", "jsonl").stdout.splitlines()
    ]
    assert {row["matchup"] for row in rows} == {m["id"] for m in after["matchups"]}
    assert len(ringmaster(control, "export", "--format", "pgn").stdout.split("[Event ")) == 11


@pytest.mark.process
def test_games_that_repeat_are_counted_from_run_to_run(tmp_path: Path) -> None:
    control = write(tmp_path, "playoff", 'matchups = [Matchup("a", "b", number_of_games=14)]')
    (tmp_path / "book.epd").write_text("".join(book().splitlines(keepends=True)[:3]))
    warning = "3 openings with both colours make 6 different games, and 14 may be played"
    for games in ("5", "4", "9"):
        done = ringmaster(control, "-g", games)
        assert warning in done.stderr, "before each run"
        assert control.with_suffix(".log").read_text().count(warning)
    (matchup,) = shown(control)["matchups"]
    assert (matchup["games"], matchup["repeats"]) == (14, 8)
    assert "move for move: 8 (6 distinct games)" in control.with_suffix(".report").read_text()
    assert warning in ringmaster(control, "check", "--quick").stderr
