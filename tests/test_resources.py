"""Players that share resources: the check before the first game, and runs that count engines."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from ringmaster.competitions.cluster_settings import available_resources
from ringmaster.errors import ControlFileError, SettingError
from ringmaster.loaded_competition import LoadedCompetition
from tests.processes import await_that
from tests.program import ringmaster, shown, start
from tests.reliability.killing import recorded, results

PLAYOFF = """
competition_type = "playoff"
board_size = 9
komi = 7.5
number_of_games = 1
players = {"a": Player("a", resources={"gpu0": 1}),
           "b": Player("b", resources={"gpu0": 2}),
           "c": Player("c")}
"""
TUNE = """
competition_type = "mc_tuner"
board_size = 9
komi = 7.5
players = {"b": Player("b", resources={"gpu0": 1})}
opponent = "b"
candidate_colour = "b"
parameters = [Parameter("x", scale=LINEAR(1, 2), split=4)]
def make_candidate(x):
    return Player("c", resources={"gpu0": 1})
number_of_games = 10
exploration_coefficient = 0.3
initial_visits = initial_wins = max_depth = 1
"""


def load(folder: Path, text: str) -> LoadedCompetition:
    control = folder / "event.ctl"
    control.write_text(text)
    return LoadedCompetition(control)


def problem(folder: Path, text: str) -> str:
    """Return the problem of a control file before the first game."""
    with pytest.raises(ControlFileError) as caught:
        load(folder, text).setup()
    return str(caught.value).splitlines()[0].partition("event.ctl:")[2]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            'matchups = [Matchup("a", "c")]',
            "6:40: error: players['a'].resources['gpu0']: a needs 1 of 'gpu0', and there are 0; "
            "expected resources = {'gpu0': 1} at the top level or in Cluster(…)",
        ),
        (
            'matchups = [Matchup("a", "c")]\nresources = {"gpu": 1, "licence": 1}',
            "a needs 1 of 'gpu0', and there are 0; expected 'gpu'",
        ),
        (
            'matchups = [Matchup("a", "c"), Matchup("a", "b")]\nresources = {"gpu0": 2}',
            "a v b needs 3 of 'gpu0', and there are 2; expected resources = {'gpu0': 3}",
        ),
        (
            'matchups = [Matchup("a", "a")]\nresources = {"gpu0": 1}',
            "a v a#2 needs 2 of 'gpu0', and there are 1",
        ),
        (
            'matchups = [Matchup("a", "c")]\nresources = {"gpu0": 2}\n'
            'scorer = "referee"\nreferee = "b"',
            "a v b needs 3 of 'gpu0', and there are 2",
        ),
        (
            'matchups = [Matchup("b", "c")]\nresources = {"gpu0": 4}\n'
            'cluster = Cluster.local(2, resources={"gpu0": 1})',
            "b needs 2 of 'gpu0', and there are 1",
        ),
    ],
)
def test_game_that_never_gets_its_tokens_is_an_error_with_the_remedy(
    tmp_path: Path, more: str, words: str
) -> None:
    assert words in problem(tmp_path, PLAYOFF + more)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("resources = {'gpu0': 0}", "0 is out of range"),
        ("resources = {'gpu0': '1'}", "'1' is not an integer"),
        ("resources = ['gpu0']", "is not a pair"),
    ],
)
def test_tokens_are_whole_numbers_by_resource(tmp_path: Path, line: str, words: str) -> None:
    assert words in problem(tmp_path, PLAYOFF + f'matchups = [Matchup("c", "c")]\n{line}')


def test_game_of_a_tune_that_never_gets_its_tokens_is_not_made(tmp_path: Path) -> None:
    loaded = load(tmp_path, TUNE + "resources = {'gpu0': 1}")
    loaded.prepare()
    loaded.setup()
    with pytest.raises(SettingError, match="v b needs 2 of 'gpu0', and there are 1"):
        loaded.competition.next_job()


def test_results_can_be_read_though_there_are_too_few_tokens_for_more_games(tmp_path: Path) -> None:
    matchups = 'matchups = [Matchup("a", "b")]\n'
    loaded = load(tmp_path, PLAYOFF + matchups + "resources = {'gpu0': 2}")
    assert loaded.competition.summary().verdict.startswith("no result yet")
    assert "a v b needs 3 of 'gpu0'" in problem(tmp_path, loaded.control_file.origin.text)


def test_players_that_were_withdrawn_need_no_tokens(tmp_path: Path) -> None:
    matchups = 'matchups = [Matchup("a", "c"), Matchup("b", "c")]\nwithdrawn = ["b"]\n'
    setup = load(tmp_path, PLAYOFF + matchups + "resources = {'gpu0': 1}").setup()
    assert [job.player.code for job in setup.checks] == ["a", "c"]


@pytest.mark.process
def test_swiss_that_lacks_tokens_in_a_later_round_loses_no_game(tmp_path: Path) -> None:
    control = tmp_path / "event.ctl"
    source = SHARED.replace("allplayall", "swiss").replace(
        '{{"gpu0": 1}}) for', '{{"gpu0": 1}} if code in "ab" else {{}}) for'
    )
    (wrapper := tmp_path / "wrapper.py").write_text(WRAPPER)
    names = {"python": sys.executable, "wrapper": str(wrapper), "counted": str(tmp_path / "alive")}
    source = source.format(**names).replace("rounds = 4", "rounds = 3")
    control.write_text(source.replace('resources = {"gpu0": 2}', 'resources = {"gpu0": 1}'))
    stopped = ringmaster(control, "-q")
    assert "needs 2 of 'gpu0', and there are 1" in stopped.stderr
    control.write_text(source)
    assert ringmaster(control, "-q").returncode == 0
    games = shown(control)["games"]
    assert games["completed"] == games["total"] == 12


def test_machine_has_the_tokens_of_the_competition_and_of_a_host(tmp_path: Path) -> None:
    text = 'matchups = [Matchup("c", "c")]\nresources = {"gpu0": 4, "licence": 2}\n'
    text += 'cluster = Cluster.local(2, resources={"gpu0": 1, "gpu1": 3})'
    values = load(tmp_path, PLAYOFF + text).control_file.values
    assert available_resources(values) == {"gpu0": 1, "licence": 2, "gpu1": 3}


def test_players_with_resources_keep_no_process(tmp_path: Path) -> None:
    text = """
competition_type = "playoff"
game = "chess"
nodes = 1
number_of_games = 2
resources = {"gpu0": 1}
players = {"a": Player("a", resources={"gpu0": 1}), "b": Player("b"),
           "c": Player("c", resources={"gpu0": 1}, restart="off")}
matchups = [Matchup("a", "b"), Matchup("b", "c")]
"""
    checks = load(tmp_path, text).setup().checks
    keeping = {job.player.code: job.player.keeps_process for job in checks}
    assert keeping == {"a": False, "b": True, "c": True}


#: Counts its copies in progress in a file, and writes down each number.
WRAPPER = """
import fcntl, os, subprocess, sys

def count(step):
    with open(sys.argv[1], "a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        alive = [pid for pid in file.read().split() if os.path.exists(f"/proc/{pid}")]
        own = str(os.getpid())
        alive = [pid for pid in alive if pid != own] + [own] * step
        file.truncate(0)
        file.write(" ".join(alive))
        with open(sys.argv[1] + ".counts", "a") as counts:
            print(len(alive), file=counts)

count(1)
status = subprocess.call([sys.executable, "-m", "ringmaster.demo", "go"])
count(0)
sys.exit(status)
"""

SHARED = """
competition_type = "allplayall"
board_size = 9
komi = 7.5
def go(**more):
    return Player([{python!r}, {wrapper!r}, {counted!r}], cwd=".", **more)
players = {{code: go(resources={{"gpu0": 1}}) for code in "abcd"}}
competitors = list("abcd")
rounds = 4
move_limit = 12
resources = {{"gpu0": 2}}
"""


@pytest.mark.kill
@pytest.mark.process
def test_players_that_share_tokens_are_never_too_many_also_after_a_kill(tmp_path: Path) -> None:
    (wrapper := tmp_path / "wrapper.py").write_text(WRAPPER)
    counted = tmp_path / "alive"
    control = tmp_path / "event.ctl"
    control.write_text(
        SHARED.format(python=sys.executable, wrapper=str(wrapper), counted=str(counted))
    )
    run = start(control, "-q", "-j", "8")
    try:
        await_that(lambda: recorded(control) >= 5, run)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    assert recorded(control) < 24
    assert ringmaster(control, "-q", "-j", "8").returncode == 0
    assert shown(control)["games"]["completed"] == len({row[0] for row in results(control)}) == 24
    counts = [int(line) for line in (tmp_path / "alive.counts").read_text().split()]
    assert max(counts) == 2
