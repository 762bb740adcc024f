"""kill -9 of every process of a run: no game lost, none doubled, nothing left.

The types here write all kinds of files.  `tests/competitions/test_interruptions.py` resumes every
type without processes, and `benchmarks/reliability.py kills` is the long form, of every type.
"""

from __future__ import annotations

import random
from pathlib import Path

import psutil
import pytest

from tests.processes import LONG, await_that
from tests.program import (
    PLAYOFF,
    engine_pids,
    living_engines,
    ringmaster,
    shown,
    start,
    write_control_file,
)
from tests.reliability.killing import (
    CLOSING,
    VICTIMS,
    Competition,
    Tally,
    kill_rounds,
    results,
    state,
    uninterrupted,
)

pytestmark = [pytest.mark.kill, pytest.mark.process]


# records of games, a log of a tree, a closing match, evaluations
@pytest.mark.parametrize("type_name", ["playoff", "mc_tuner", "spsa", "texel"])
def test_killed_competition_ends_as_an_uninterrupted_one(tmp_path: Path, type_name: str) -> None:
    whole = uninterrupted(tmp_path / "whole", type_name)
    tally = Tally()
    kill_rounds(tmp_path / "one", whole, type_name, 1, ("main", "all", "main"), tally)
    assert tally.cut_short("main") + tally.cut_short("all") > 1
    victims = random.Random(type_name).sample(VICTIMS, len(VICTIMS))
    kill_rounds(tmp_path / "two", whole, type_name, 2, victims, tally)
    assert tally.problems == []


def test_killed_match_in_the_middle_of_a_tune_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    # a method that leaves the start at once
    text = CLOSING.replace("1000, int", "1000, c_end=100, int").replace("games=300", "games=60")
    text += 'method = "classic"\n'
    killed, whole = (write_control_file(tmp_path / name, text, 40) for name in ("killed", "whole"))
    for control in (killed, whole):
        assert ringmaster(control, "-q", "-g", "21").returncode == 0
    tally = Tally()
    match = Competition(killed, "spsa", 1, random.Random(1), tally, "verify")
    match.kill("main", 25)
    match.kill("all", 32)
    match.complete()
    assert ringmaster(whole, "verify", "-q").returncode == 0
    for control in (killed, whole):
        assert ringmaster(control, "-q").returncode == 0
    assert (tally.cut_short("main"), tally.cut_short("all"), tally.problems) == (1, 1, [])
    assert [match["id"] for match in shown(killed)["matchups"]] == ["verify1", "verify2"]
    assert results(killed) == results(whole)
    assert state(killed) == state(whole)


def test_killed_worker_costs_only_its_own_game(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, PLAYOFF, 2000)
    tally = Tally()
    competition = Competition(control, "playoff", 2, random.Random(1), tally)
    assert competition.kill("worker", 20)
    # still at work afterwards
    assert competition.kill("worker", 60)
    assert ringmaster(control, "stop").returncode == 0
    competition.end_run()
    assert (tally.endings["worker", 0], tally.problems) == (1, [])
    ids = [row[0] for row in results(control)]
    assert len(ids) == len(set(ids)) == shown(control)["games"]["completed"]


SLOW = """
competition_type = "playoff"
game = "chess"
def duel(*more):
    return Player([{python!r}, "-I", "-S", {engine!r}, "--outcome", "by-option",
                   "--pid-file", {log!r}, *more], nodes=1)
players = {{"slow": duel("--ready-after", "250"), "quick": duel()}}
openings = Openings("book.epd")
matchups = [Matchup("slow", "quick", number_of_games={games})]
"""


def test_nothing_is_left_of_processes_that_wait_for_their_first_game(tmp_path: Path) -> None:
    control = write_control_file(tmp_path, SLOW, 2)
    process = start(control, "run", "-q")
    try:
        # the quick engine has been checked by the time that the slow one is started
        await_that(lambda: len(engine_pids(control)) == 2, process)
        assert all(map(psutil.pid_exists, engine_pids(control)))
    finally:
        process.kill()
        process.wait(LONG)
    assert living_engines(control) == []
