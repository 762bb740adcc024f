"""Tournaments and tunes on a cluster whose parts die: no game lost, none doubled, nothing left."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.storage.store import Store
from tests.processes import LONG
from tests.program import (
    PLAYOFF,
    SPSA,
    living_engines,
    ringmaster,
    shown,
    write_control_file,
)
from tests.rack import Rack, await_log, await_results, finish, interrupt, slow, start
from tests.reliability.killing import recorded, state
from tests.requirements import package

package("distributed")

pytestmark = [pytest.mark.kill, pytest.mark.process, pytest.mark.optional]


@pytest.fixture
def make_rack(tmp_path: Path) -> Iterator[Callable[..., Rack]]:
    racks: list[Rack] = []

    def make(workers: int = 2, *, namespaces: bool = False) -> Rack:
        rack = Rack(tmp_path / "rack", namespaces=namespaces)
        racks.append(rack)
        rack.start_scheduler()
        for number in range(1, workers + 1):
            rack.start_worker(number)
        return rack

    yield make
    for rack in racks:
        rack.close()


def check_whole(control: Path) -> None:
    """Check that each game counts once, and that the state follows from the results."""
    connection = sqlite3.connect(control.with_suffix(".status"))
    rows = connection.execute(
        "SELECT game_id, host FROM results WHERE outcome != 'void' ORDER BY seq"
    ).fetchall()
    connection.close()
    ids = [row[0] for row in rows]
    summary = shown(control)
    assert len(ids) == len(set(ids)) == summary["games"]["completed"] == summary["games"]["total"]
    assert summary["games"]["void"] == 0
    assert all(host is not None for _, host in rows)
    assert living_engines(control) == []
    # what a run on one machine would make of the same results
    copy = control.parent / "copy"
    copy.mkdir()
    for path in control.parent.iterdir():
        if path.is_file():
            shutil.copy(path, copy / path.name)
    connection = sqlite3.connect(copy / control.with_suffix(".status").name)
    connection.execute("DELETE FROM state")
    connection.commit()
    connection.close()
    loaded = LoadedCompetition(copy / control.name)
    loaded.prepare()
    store = Store.open(copy / control.with_suffix(".status").name)
    loaded.restore(store, loaded.compare(store))
    with store.transaction() as transaction:
        transaction.save_state(loaded.competition.state())
    store.close()
    assert state(copy / control.name)[1] == state(control)[1]


# Every fault of a cluster is the same for all types; a type of each kind has two of them.


def test_killed_and_new_workers_lose_and_double_no_game(
    tmp_path: Path, make_rack: Callable[..., Rack]
) -> None:
    rack = make_rack(2)
    control = write_control_file(tmp_path / "event", slow(SPSA), 120)
    run = start(rack, control)
    await_results(control, 20, run, rack)
    rack.kill_worker(1)
    rack.start_worker(3)
    await_results(control, 60, run, rack)
    rack.kill_worker(2, machine=True)
    finish(run, rack)
    check_whole(control)


def test_run_goes_on_with_another_scheduler(tmp_path: Path, make_rack: Callable[..., Rack]) -> None:
    rack = make_rack(2)
    control = write_control_file(tmp_path / "event", slow(PLAYOFF), 40)
    run = start(rack, control)
    await_results(control, 30, run, rack)
    rack.kill_scheduler()
    for worker in rack.workers.values():
        worker.wait(LONG)  # Dask's workers end with their scheduler
    assert living_engines(control) == []
    rack.start_scheduler()
    rack.start_worker(1)
    rack.start_worker(2)
    finish(run, rack)
    check_whole(control)


def test_ringmasters_worker_joins_the_next_scheduler_by_itself(
    tmp_path: Path, make_rack: Callable[..., Rack]
) -> None:
    rack = make_rack(0)
    rack.start_lasting_worker(1)
    control = write_control_file(tmp_path / "event", slow(PLAYOFF), 30)
    run = start(rack, control)
    await_results(control, 30, run, rack)
    rack.kill_scheduler()
    rack.start_scheduler()
    finish(run, rack)
    check_whole(control)
    log = (rack.folder / "worker1.log").read_text()
    assert log.count(f"joined {rack.address}: 2 games at a time\n") == 2
    rack.workers[1].terminate()
    assert rack.workers[1].wait(LONG) == 0


def test_worker_behind_a_link_that_was_cut_joins_again_by_itself(
    tmp_path: Path, make_rack: Callable[..., Rack]
) -> None:
    rack = make_rack(0, namespaces=True)
    rack.start_lasting_worker(1)
    control = write_control_file(tmp_path / "event", slow(PLAYOFF), 30)
    run = start(rack, control)
    await_results(control, 20, run, rack)
    rack.cut(1)
    await_log(control, "no host is left that can play", run, rack)
    rack.heal(1)
    finish(run, rack)
    check_whole(control)


def test_cut_and_mended_link_loses_and_doubles_no_game(
    tmp_path: Path, make_rack: Callable[..., Rack]
) -> None:
    rack = make_rack(2, namespaces=True)
    control = write_control_file(tmp_path / "event", slow(PLAYOFF), 50)
    run = start(rack, control)
    await_results(control, 20, run, rack)
    rack.cut(1)
    await_results(control, 100, run, rack)
    rack.heal(1)
    finish(run, rack)
    check_whole(control)


def test_worker_that_stands_still_costs_its_own_games_only(
    tmp_path: Path, make_rack: Callable[..., Rack]
) -> None:
    rack = make_rack(2)
    control = write_control_file(tmp_path / "event", slow(SPSA), 120)
    run = start(rack, control)
    await_results(control, 20, run, rack)
    frozen = rack.worker_process(1)
    frozen.send_signal(signal.SIGSTOP)
    await_results(control, 80, run, rack)
    frozen.send_signal(signal.SIGCONT)
    finish(run, rack)
    check_whole(control)


def test_killed_ringmaster_leaves_no_engine_on_any_host_and_resumes(
    tmp_path: Path, make_rack: Callable[..., Rack]
) -> None:
    rack = make_rack(2)
    control = write_control_file(tmp_path / "event", slow(PLAYOFF), 30)
    for wanted in (20, 50):
        run = start(rack, control)
        await_results(control, wanted, run, rack)
        run.kill()
        run.communicate()
        assert living_engines(control) == []
    finish(start(rack, control), rack)
    check_whole(control)


def test_run_ends_cleanly_when_the_scheduler_stays_away_and_resumes_elsewhere(
    tmp_path: Path, make_rack: Callable[..., Rack]
) -> None:
    rack = make_rack(1)
    control = write_control_file(tmp_path / "event", slow(PLAYOFF), 15)
    control.write_text(f"{control.read_text()}\ncluster = Cluster({rack.address!r}, reconnect=2)\n")
    run = start(rack, control)
    await_results(control, 10, run, rack)
    rack.kill_scheduler()
    output = finish(run, rack, 1)
    assert "run it again to resume" in output
    assert living_engines(control) == []
    rest = ringmaster(control, "-q", "--cluster", "local")
    assert (rest.returncode, rest.stderr) == (0, "")
    check_whole(control)


def test_competitions_share_a_cluster_by_their_shares_and_leave_it_to_each_other(
    tmp_path: Path, make_rack: Callable[..., Rack]
) -> None:
    rack = make_rack(2)
    rack.await_workers(2)
    controls, runs = {}, {}
    # games of more than a quarter of a second are a task each
    source = slow(PLAYOFF).replace('"--slow", "0.02"', '"--slow", "0.08"')
    for share, games in ((3, 90_000), (1, 15)):
        control = write_control_file(tmp_path / f"share{share}", source, games)
        control.write_text(
            f"{control.read_text()}\ncluster = Cluster({rack.address!r}, share={share})\n"
        )
        controls[share] = control
        runs[share] = start(rack, control)
    for control, run in zip(controls.values(), runs.values(), strict=True):
        await_results(control, 1, run, rack)
        await_log(control, "the cluster is shared with ", run, rack)
    before = {share: recorded(control) for share, control in controls.items()}
    await_results(controls[3], before[3] + 45, runs[3], rack)
    played = {share: recorded(control) - before[share] for share, control in controls.items()}
    assert 2 < played[3] / played[1] < 4.5, played
    sharing = shown(controls[1])["conditions"]["sharing"]
    assert sharing.endswith("(share 3, priority 0); this run has share 1, priority 0")
    interrupt(runs[3], rack)
    finish(runs[1], rack)
    check_whole(controls[1])
    assert living_engines(controls[3]) == []
