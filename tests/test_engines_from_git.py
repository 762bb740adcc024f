"""Engines from git: commits that are built, played, resumed, moved and refused."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.processes import LONG, await_that
from tests.program import environment, ringmaster, shown, start
from tests.reliability.killing import recorded
from tests.repositories import (
    BUILD,
    CONTROL,
    commit,
    content,
    git,
    make_repository,
    write_control,
    write_strength,
)

pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return make_repository(tmp_path / "engine")


def builds(folder: Path) -> list[Path]:
    """Return the complete builds."""
    return [path.parent for path in (folder / "cache" / "ringmaster" / "builds").glob("*/built")]


def games_of(control: Path, player: str = "new") -> list[int]:
    every = shown(control)["conditions"]["builds"]
    return [build["games"] for build in every if build["player"] == player]


def test_branch_passes_an_sprt_against_main_after_a_kill_and_on_a_cluster(
    repository: Path, tmp_path: Path
) -> None:
    control = write_control(tmp_path, "")
    control.unlink()
    words = f"new chess playoff {control.name} --git engine --ref deeper --base main"
    made = subprocess.run(
        [sys.executable, "-m", "ringmaster", *words.split()],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    text = control.read_text()
    assert "# build and program, unless you gave them, are guessed from Makefile." in text
    before = content(repository)
    run = start(control, "-q")
    await_that(lambda: recorded(control) >= 20, run)
    run.kill()
    run.wait()
    control.write_text(f"{text}\ncluster = Cluster.local(workers=2)\n")
    done = ringmaster(control, "-q")
    assert done.returncode == 0, done.stderr
    data = shown(control)
    assert "deeper is better" in data["verdict"]
    assert "SPRT accepted H1" in data["verdict"]
    # the second one may join after the last game
    assert data["conditions"]["hosts"]
    assert len(builds(tmp_path)) == 2
    assert content(repository) == before


def test_commit_date_subject_and_bench_stand_in_report_json_log_and_records(
    repository: Path, tmp_path: Path
) -> None:
    control = write_control(tmp_path)
    assert "engine, deeper: not built yet" in ringmaster(control, "show").stdout
    assert not builds(tmp_path)
    assert ringmaster(control, "-q", "-g", "2").returncode == 0
    newest = git(repository, "rev-parse", "deeper")
    report = " ".join(ringmaster(control, "show").stdout.split())
    date = git(repository, "show", "-s", "--format=%cs", "deeper")
    line = f"engine, deeper: commit {newest[:10]} of {date}, 'Search deeper'; bench: 1,620 nodes"
    assert f"player new: {line} at 1,000,000 a second" in report
    assert line in control.with_suffix(".log").read_text()
    (build,) = (b for b in shown(control)["conditions"]["builds"] if b["player"] == "new")
    assert (build["source"]["commit"], build["source"]["nodes"]) == (newest, 1620)
    assert f'+{newest[:12]}"]' in (tmp_path / "event.games.pgn").read_text()


def test_moved_ref_is_said_and_its_commit_is_another_build(
    repository: Path, tmp_path: Path
) -> None:
    control = write_control(tmp_path)
    first = git(repository, "rev-parse", "deeper")
    assert ringmaster(control, "-q", "-g", "4").returncode == 0
    git(repository, "checkout", "--quiet", "deeper")
    second = commit(repository, "640", "Deeper still\n\nBench 1640")
    # uncommitted edits do not matter to a recorded commit
    write_strength(repository, "999")
    again = ringmaster(control, "-q", "-g", "4")
    assert again.returncode == 0, again.stderr
    moved = (
        f"'deeper' of engine is at commit {second[:10]} now, and the run goes on with {first[:10]}"
    )
    assert moved in again.stderr
    assert games_of(control) == [8]
    git(repository, "checkout", "--quiet", ".")
    refused = ringmaster(control, "-q", "--update-refs")
    assert refused.returncode == 1
    assert "player 'new': engine was rebuilt after game 8" in refused.stderr
    assert f"commit {first[:10]} before, {second[:10]} now" in refused.stderr
    assert ringmaster(control, "-q", "-g", "4").returncode == 0
    taken = ringmaster(control, "-q", "-g", "4", "--update-refs", "--accept-build", "new")
    assert (taken.returncode, taken.stderr) == (0, "")
    assert ringmaster(control, "-q", "-g", "2").stderr == ""
    assert games_of(control) == [12, 6]


def test_player_that_pauses_keeps_its_commit(repository: Path, tmp_path: Path) -> None:
    own, other = 'Matchup("new", "base", id="own")', 'Matchup("base", "base", id="other")'
    both = CONTROL.replace('Matchup("new", "base")', f"{own}, {other}")
    control = write_control(tmp_path, both)
    first = git(repository, "rev-parse", "deeper")
    assert ringmaster(control, "-q", "-g", "4").returncode == 0
    git(repository, "checkout", "--quiet", "deeper")
    commit(repository, "640", "Deeper still")
    control.write_text(both.replace(f"{own}, ", ""))
    assert ringmaster(control, "-q", "-g", "2").stderr == ""
    control.write_text(both)
    again = ringmaster(control, "-q", "-g", "4")
    assert again.returncode == 0
    assert f"the run goes on with {first[:10]}" in again.stderr


def test_commit_with_the_same_program_is_another_build(repository: Path, tmp_path: Path) -> None:
    control = write_control(tmp_path)
    assert ringmaster(control, "-q", "-g", "4").returncode == 0
    git(repository, "checkout", "--quiet", "deeper")
    (repository / "net").write_text("a file that the program may read")
    git(repository, "add", "net")
    commit(repository, "620", "Another network")
    refused = ringmaster(control, "-q", "--update-refs")
    assert refused.returncode == 1
    assert "player 'new': commit was changed after game 4" in refused.stderr


def test_moved_ref_is_taken_at_once_before_the_first_result(
    repository: Path, tmp_path: Path
) -> None:
    control = write_control(tmp_path)
    assert ringmaster(control, "-q", "-g", "0").returncode == 0
    git(repository, "checkout", "--quiet", "deeper")
    second = commit(repository, "640", "Deeper still")
    assert "run --update-refs" in ringmaster(control, "-q", "-g", "0").stderr
    assert ringmaster(control, "-q", "-g", "2", "--update-refs").stderr == ""
    (build,) = (b for b in shown(control)["conditions"]["builds"] if b["player"] == "new")
    assert build["source"]["commit"] == second


def test_run_goes_on_without_its_repository_and_with_another_compiler(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = write_control(tmp_path)
    assert ringmaster(control, "-q", "-g", "2").returncode == 0
    monkeypatch.setenv("CC", "gcc")
    assert ringmaster(control, "-q", "-g", "2").stderr == ""
    # a branch that was merged: its commit is there, its name and its build are not
    git(repository, "branch", "--quiet", "-D", "broken", "deeper")
    shutil.rmtree(tmp_path / "cache")
    merged = ringmaster(control, "-q", "-g", "2")
    assert merged.returncode == 0
    assert "has no branch, tag or commit 'deeper'; the run goes on with commit" in merged.stderr
    shutil.rmtree(repository)
    gone = ringmaster(control, "-q", "-g", "2")
    assert gone.returncode == 0
    assert f"warning: there is no folder {repository}; the run goes on with commit" in gone.stderr
    assert games_of(control) == [8]


def test_uncommitted_changes_are_refused_or_tested_as_the_worktree(
    repository: Path, tmp_path: Path
) -> None:
    write_strength(repository, "700")
    (repository / "new.h").write_text("")
    head = write_control(tmp_path, CONTROL.replace('"deeper", bench="bench"', '"HEAD"'))
    refused = ringmaster(head, "-q")
    assert refused.returncode == 1
    assert "has changes that are not committed, which 'HEAD' is without" in refused.stderr
    assert "a commit of them, or ref='worktree' to test them" in refused.stderr
    assert " M strength.h" in refused.stderr
    control = write_control(tmp_path, CONTROL.replace('"deeper", bench="bench"', '"worktree"'))
    before = content(repository)
    played = ringmaster(control, "-q", "-g", "4")
    assert (played.returncode, played.stderr) == (0, "")
    assert content(repository) == before
    (build, _) = shown(control)["conditions"]["builds"]
    assert build["engine"] == "Small 700"
    assert build["source"]["changes"]
    # other edits are another build, and ignored files are none
    (repository / "engine").write_text("ignored")
    assert ringmaster(control, "-q", "-g", "2").stderr == ""
    write_strength(repository, "710")
    again = ringmaster(control, "-q", "-g", "2")
    assert again.returncode == 0
    assert "run --update-refs takes the new one" in again.stderr
    shutil.rmtree(tmp_path / "cache")
    lost = ringmaster(control, "-q")
    assert lost.returncode == 1
    assert "has other changes than at the first run, whose build is gone" in lost.stderr


def test_build_that_fails_ends_with_its_last_lines_and_its_log(
    repository: Path, tmp_path: Path
) -> None:
    control = write_control(tmp_path, CONTROL.replace("deeper", "broken"))
    refused = ringmaster(control, "-q")
    assert refused.returncode == 1
    assert "players['new'].build: the build ended with status 1" in refused.stderr
    assert "expected expression" in refused.stderr
    (log,) = (line for line in refused.stderr.splitlines() if "the whole log: " in line)
    assert Path(log.partition(": ")[2]).is_file()
    assert len(refused.stderr.splitlines()) <= 35
    assert not control.with_suffix(".status").exists()


def test_build_without_the_program_names_files_like_it(repository: Path, tmp_path: Path) -> None:
    control = write_control(tmp_path, CONTROL.replace('"program": "engine"', '"program": "engin"'))
    refused = ringmaster(control, "check")
    assert refused.returncode == 1
    assert "players['new'].program: the build makes no engin (in " in refused.stderr
    assert "expected engine" in refused.stderr


def test_other_number_of_nodes_for_a_commit_is_an_error(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = write_control(
        tmp_path, CONTROL.replace('commit("main")', 'commit("main", bench="bench")')
    )
    assert ringmaster(control, "-q", "-g", "2").returncode == 0
    # on another day, a compiler that makes another program
    shutil.rmtree(tmp_path / "cache")
    monkeypatch.setenv("MORE", "-DSURPLUS=5")
    other = ringmaster(control, "-q")
    assert other.returncode == 1
    assert "searches 1,625 nodes here, and 1,620 in the commit's message" in other.stderr
    control.write_text(control.read_text().replace('"deeper"', '"main"'))
    other = ringmaster(control, "-q")
    assert "searches 1,455 nodes here, and 1,450 in an earlier run" in other.stderr


def test_bench_that_prints_for_ever_is_ended(repository: Path, tmp_path: Path) -> None:
    (repository / "yes").write_text("#!/bin/sh\nexec yes\n")
    (repository / "yes").chmod(0o755)
    git(repository, "add", "yes")
    git(repository, "commit", "--quiet", "-m", "Yes")
    text = CONTROL.replace('"deeper"', '"main"').replace('"program": "engine"', '"program": "yes"')
    refused = ringmaster(write_control(tmp_path, text), "-q")
    assert refused.returncode == 1
    assert "players['new'].bench: the bench ended with signal SIGXFSZ" in refused.stderr


@pytest.mark.kill
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_killed_build_leaves_no_process_and_no_half_build(
    repository: Path, tmp_path: Path, number: signal.Signals
) -> None:
    slow = f"touch begun; sleep 300 & sleep 300; {BUILD}"
    control = write_control(tmp_path, CONTROL.replace(repr(BUILD), repr(slow)))
    run = start(control, "-q")
    folder = tmp_path / "cache" / "ringmaster" / "builds"
    await_that(lambda: any(folder.glob("*/tree/begun")), run)
    family = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(number)
    assert run.wait(LONG) == (3 if number == signal.SIGINT else -number)
    _, alive = psutil.wait_procs(family, timeout=LONG)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    assert not builds(tmp_path)
    control.write_text(CONTROL.replace(repr(BUILD), repr(f"test ! -e begun && {BUILD}")))
    assert ringmaster(control, "-q", "-g", "2").returncode == 0


def test_two_ringmasters_build_a_commit_once(repository: Path, tmp_path: Path) -> None:
    counted = f"echo build >> {tmp_path}/count; {BUILD}"
    controls = [write_control(tmp_path, CONTROL.replace(repr(BUILD), repr(counted)))]
    controls.append(controls[0].with_name("other.ctl"))
    controls[1].write_text(controls[0].read_text())
    runs = [start(control, "-q", "-g", "2") for control in controls]
    assert [run.wait(LONG) for run in runs] == [0, 0]
    assert (tmp_path / "count").read_text() == "build\n" * 2


def test_safe_mode_builds_nothing(repository: Path, tmp_path: Path) -> None:
    control = write_control(tmp_path, CONTROL.replace("**more", "").replace(', bench="bench"', ""))
    for verb in ("run", "check"):
        refused = ringmaster(control, verb, "--safe")
        assert refused.returncode == 1
        assert "--safe builds no engine" in refused.stderr
    assert ringmaster(control, "show", "--safe").returncode == 0
    assert not (tmp_path / "cache").exists()


def test_url_is_fetched_with_its_submodules(repository: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet", "-b", "main")
    git(outer, "submodule", "--quiet", "add", "../engine", "lib/inner")
    git(outer, "commit", "--quiet", "-m", "Outer")
    for place in (str(outer), f"file://{outer}"):
        text = CONTROL.replace('"git": "engine"', f'"git": {place!r}')
        text = text.replace('"deeper", bench="bench"', '"main"')
        text = text.replace('"program": "engine"', '"program": "lib/inner/engine"')
        text = text.replace(repr(BUILD), repr(f"cd lib/inner && {BUILD}"))
        control = write_control(tmp_path, text)
        played = ringmaster(control, "-q", "-g", "2")
        assert (played.returncode, played.stderr) == (0, "")
        assert ringmaster(control, "reset", "--yes").returncode == 0
    git(outer, "submodule", "deinit", "--force", "--quiet", "lib/inner")
    shutil.rmtree(outer / ".git" / "modules")
    shutil.rmtree(tmp_path / "cache")
    control.write_text(control.read_text().replace(f"file://{outer}", str(outer)))
    refused = ringmaster(control, "-q")
    assert refused.returncode == 1
    assert "the submodule lib/inner" in refused.stderr


def test_variables_and_hooks_of_git_have_no_effect(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/hook\n")
        (hooks / name).chmod(0o755)
    git(repository, "config", "core.fsmonitor", f"{hooks}/post-checkout")
    monkeypatch.setenv("GIT_DIR", os.devnull)
    monkeypatch.setenv("GIT_WORK_TREE", os.devnull)
    monkeypatch.setenv("GIT_INDEX_FILE", os.devnull)
    text = CONTROL.replace(repr(BUILD), repr(f"git rev-parse HEAD && {BUILD}"))
    control = write_control(tmp_path, text.replace('"deeper", bench="bench"', '"worktree"'))
    played = ringmaster(control, "-q", "-g", "2")
    assert (played.returncode, played.stderr) == (0, "")
    assert not (tmp_path / "hook").exists()
