"""Engines that are rebuilt at one path: refused, accepted, put back; in runs and after kills."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import ringmaster as package
from tests.processes import await_that
from tests.program import ENGINE, ENGINES, book, ringmaster, shown, start
from tests.reliability.killing import recorded

pytestmark = [pytest.mark.process, pytest.mark.slow]

PLAYERS = """
game = "chess"
def engine(name, strength):
    command = [{python!r}, "-I", "-S", name, "--outcome", "by-option"]
    return Player(command, cwd={folder!r}, options={{"Strength": strength}}, nodes=1, restart="on")
players = {{"new": engine("new.py", 600), "old": engine("old.py", 500)}}
openings = Openings("book.epd")
number_of_games = 24
"""
PLAYOFF = f'competition_type = "playoff"{PLAYERS}matchups = [Matchup("new", "old")]'
SPRT = PLAYOFF.replace('"old")]', '"old", sprt=SPRT(0, 5))]')
SPSA = f"""competition_type = "spsa"{PLAYERS}
player = "new"
parameters = [
    Parameter("Strength", start=300, min=0, max=1000, integer=True),
    Parameter("Width", start=400, min=0, max=1000, integer=True),
]
"""
SOURCES = {"playoff": PLAYOFF, "spsa": SPSA}


def write(folder: Path, source: str) -> Path:
    (folder / "book.epd").write_text(book())
    for name in ("new.py", "old.py"):
        build(folder / name, 1)
    control = folder / "event.ctl"
    control.write_text(source.format(python=sys.executable, folder=str(folder)))
    return control


def build(program: Path, number: int, *, more: str = "") -> None:
    """Put a build of an engine in the place of another one, as a compiler does."""
    text = f"# build {number}\n{more}import runpy\n"
    other = program.with_suffix(".next")
    other.write_text(f"{text}runpy.run_path({str(ENGINE)!r}, run_name='__main__')\n")
    other.replace(program)


JUDGED = """
competition_type = "playoff"
def go(*words):
    return Player([{python!r}, *words], cwd={folder!r})
players = {{"a": go("-m", "ringmaster.demo", "go"), "judge": go("judge.py")}}
board_size = 5
komi = 0.5
move_limit = 20
scorer = "referee"
referee = "judge"
matchups = [Matchup("a", "a", number_of_games=4)]
"""


def test_rebuilt_referee_is_refused(tmp_path: Path) -> None:
    judge = tmp_path / "judge.py"
    program = "# build {}\nfrom ringmaster.demo.__main__ import main\nmain(['go'])\n"
    judge.write_text(program.format(1))
    control = tmp_path / "event.ctl"
    control.write_text(JUDGED.format(python=sys.executable, folder=str(tmp_path)))
    assert ringmaster(control, "-q", "-g", "2").returncode == 0
    assert games_of(control, "judge") == [0]
    assert [row["code"] for row in shown(control)["conditions"]["players"]] == ["a", "judge"]
    judge.write_text(program.format(2))
    refused = ringmaster(control, "-q")
    assert "judge.py was rebuilt after game 2" in refused.stderr
    assert ringmaster(control, "-q", "--accept-build", "judge").returncode == 0


def at_start(condition: str, statement: str) -> str:
    """Return a part of a build that counts its processes, and does something in some of them."""
    return (
        "with open('starts', 'a+') as file:\n"
        "    print('start', file=file, flush=True)\n"
        "    file.seek(0)\n"
        f"    if len(list(file)) {condition}:\n"
        f"        {statement}\n"
    )


def games_of(control: Path, player: str = "new") -> list[int]:
    builds: list[dict[str, Any]] = shown(control)["conditions"]["builds"]
    return [build["games"] for build in builds if build["player"] == player]


@pytest.mark.parametrize("kind", ["playoff", "spsa"])
def test_three_builds_at_one_path_are_refused_and_counted_apart(tmp_path: Path, kind: str) -> None:
    control = write(tmp_path, SOURCES[kind])
    assert ringmaster(control, "-q", "-g", "6").returncode == 0
    for number, games in ((2, 6), (3, 12)):
        build(tmp_path / "new.py", number)
        refused = ringmaster(control, "-q")
        assert refused.returncode == 1
        assert f"player 'new': ./new.py was rebuilt after game {games}\n" in refused.stderr
        assert "run --accept-build new" in refused.stderr
        assert ringmaster(control, "diff").returncode == 1
        # the results can still be read
        assert [c["change"] for c in shown(control)["changes"] if not c["allowed"]] == [
            f"./new.py was rebuilt after game {games}"
        ]
        done = ringmaster(control, "-q", "-g", "6", "--accept-build", "new")
        assert (done.returncode, done.stderr) == (0, "")
        assert "was rebuilt" in control.with_suffix(".log").read_text()
    build(tmp_path / "new.py", 1)
    assert ringmaster(control, "-q").returncode == 0
    assert shown(control)["games"]["completed"] == 24
    assert games_of(control) == [12, 6, 6]
    assert games_of(control, "old") == ([] if kind == "spsa" else [24])
    report = ringmaster(control, "show").stdout
    lines = [line for line in report.splitlines() if line.startswith("player new, build ")]
    assert [line.partition("): ")[2].split(" since")[0] for line in lines] == [
        "12 games",
        "6 games",
        "6 games",
    ]
    records = (tmp_path / "event.games.pgn").read_text()
    assert f'Build "{label(control)}"]' in records
    assert {
        game.side("old" if kind != "spsa" else "white").build
        for game in package.load(control).games
    }


def label(control: Path) -> str:
    (build, *_) = shown(control)["conditions"]["builds"]
    (checksum,) = build["files"].values()
    return str(checksum)[:12]


def test_rebuild_during_a_run_stops_it_and_loses_no_game(tmp_path: Path) -> None:
    control = write(tmp_path, SPSA)
    rebuilds = at_start("== 8", "print('# rebuilt', file=open('new.py', 'a'))")
    build(tmp_path / "new.py", 1, more=rebuilds)
    run = ringmaster(control, "-q")
    assert run.returncode == 1
    assert f"player 'new': {tmp_path}/new.py was rebuilt during the run: SHA-256" in run.stderr
    assert "run --accept-build new" in run.stderr
    before = shown(control)["games"]
    assert (before["void"], before["completed"] > 0) == (0, True)
    assert ringmaster(control, "-q").returncode == 1
    done = ringmaster(control, "-q", "-j", "2", "--accept-build", "new")
    assert done.returncode == 0, done.stderr
    assert shown(control)["games"]["completed"] == 24
    assert games_of(control) == [before["completed"], 24 - before["completed"]]


def test_engine_of_another_name_in_the_same_files_is_refused(tmp_path: Path) -> None:
    control = write(tmp_path, PLAYOFF)
    inner = tmp_path / "inner.py"
    build(inner, 1)
    (tmp_path / "new.py").write_text("import runpy\nrunpy.run_path('inner.py')\n")
    assert ringmaster(control, "-q", "-g", "4").returncode == 0
    renaming = f"import sys\nsys.path.insert(0, {str(ENGINES)!r})\nimport uci_player\n"
    build(inner, 2, more=f"{renaming}uci_player.NAME = b'Inner 2'\n")
    name = shown(control)["conditions"]["builds"][0]["engine"]
    refused = ringmaster(control, "-q")
    assert refused.returncode == 1
    assert f"its engine is Inner 2 now and was {name}" in refused.stderr
    checked = ringmaster(control, "check", "--quick")
    assert checked.returncode == 1
    assert f"its engine is Inner 2 now and was {name}" in checked.stderr
    unchecked = control.read_text()
    control.write_text(f"{unchecked}\nskip_player_checks = True\n")
    refused = ringmaster(control, "-q")
    assert refused.returncode == 1
    assert f"its engine is Inner 2 now and was {name}" in refused.stderr
    control.write_text(unchecked)
    assert ringmaster(control, "-q", "-g", "4", "--accept-build", "new").returncode == 0
    assert games_of(control) == [4, 4]


def test_changed_openings_are_reported_and_apply_from_the_next_game(tmp_path: Path) -> None:
    control = write(tmp_path, PLAYOFF)
    assert ringmaster(control, "-q", "-g", "4").returncode == 0
    (tmp_path / "book.epd").write_text("".join(book().splitlines(keepends=True)[40:]))
    diff = ringmaster(control, "diff")
    assert diff.returncode == 0
    assert "openings.path ./book.epd has other content, applies after 4 games" in diff.stdout
    assert ringmaster(control, "-q", "-g", "2").returncode == 0
    assert ringmaster(control, "diff").stdout.startswith("no changes")


def test_accepted_player_must_take_part(tmp_path: Path) -> None:
    control = write(tmp_path, PLAYOFF)
    done = ringmaster(control, "-q", "--accept-build", "nwe")
    assert done.returncode == 2
    assert "--accept-build: no player 'nwe'; 'new'" in done.stderr


@pytest.mark.kill
def test_run_that_is_killed_goes_on_with_another_build_only_when_told(tmp_path: Path) -> None:
    control = write(tmp_path, SPRT)
    # it plays some games, and no more
    build(tmp_path / "new.py", 1, more=at_start("> 20", "import signal; signal.pause()"))
    run = start(control, "-q", "-j", "2")
    await_that(lambda: recorded(control) >= 6, run)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    before = shown(control)["games"]["completed"]
    build(tmp_path / "new.py", 2)
    assert ringmaster(control, "-q").returncode == 1
    assert shown(control)["games"]["completed"] == before
    assert ringmaster(control, "-q", "--accept-build", "new").returncode == 0
    assert shown(control)["games"]["completed"] == 24
    assert games_of(control) == [before, 24 - before]
