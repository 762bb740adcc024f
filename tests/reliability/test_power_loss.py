"""A loss of power at every write of the store: what is left is a whole earlier state.

`benchmarks/reliability.py` also runs on from each of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ringmaster.storage.store import Store
from tests.program import ringmaster, shown, write_control_file
from tests.reliability.killing import results
from tests.reliability.power import PLAYOFF, Crashed, Cut

pytestmark = [pytest.mark.slow, pytest.mark.process]

#: Games of each of three matchups.
GAMES = 20


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Crashed:
    return Crashed(tmp_path_factory.mktemp("power") / "killed", GAMES)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    control = write_control_file(tmp_path_factory.mktemp("whole"), PLAYOFF, GAMES)
    assert ringmaster(control, "-q").returncode == 0
    return list(results(control))


def stored(status: Path) -> list[str]:
    """Return the ids of the stored games in order, from a reader and from a writer."""
    reader = Store.open_readonly(status)
    read = [game.result.game_id for game in reader.games()]
    reader.close()
    store = Store.open(status)
    assert [game.result.game_id for game in store.games()] == read
    assert store.counts() == (len(read), 0)
    store.close()
    return read


def test_database_cut_at_any_write_has_the_first_results(crashed: Crashed, tmp_path: Path) -> None:
    control = crashed.copy(tmp_path / "cut")
    status = control.with_suffix(".status")
    cuts: dict[str, list[Cut]] = {}
    for cut in crashed.cuts():
        cuts.setdefault(cut.kind, []).append(cut)
    last = stored_after(cuts["checkpoint"][-1], status)
    assert len(last) >= 2 * GAMES
    lengths: dict[str, list[int]] = {}
    for kind, states in cuts.items():
        for cut in states[:: max(1, len(states) // 12)]:
            ids = stored_after(cut, status)
            assert ids == last[: len(ids)]
            lengths.setdefault(kind, []).append(len(ids))
    # no later cut loses more
    assert all(found == sorted(found) for found in lengths.values())
    assert lengths["boundary"][0] == 0
    assert set(lengths["checkpoint"]) == {len(last)}


def stored_after(cut: Cut, status: Path) -> list[str]:
    cut.write(status)
    return stored(status)


@pytest.mark.parametrize(
    ("kind", "share"),
    [("boundary", 0.0), ("garbage", 0.7), ("checkpoint", 0.5)],
)
def test_run_goes_on_after_a_loss_of_power(
    crashed: Crashed, whole: list[object], tmp_path: Path, kind: str, share: float
) -> None:
    control = crashed.copy(tmp_path / "cut")
    cuts = [cut for cut in crashed.cuts() if cut.kind == kind]
    cuts[int(share * len(cuts))].write(control.with_suffix(".status"))
    done = ringmaster(control, "-q", "-j", "1")
    assert done.returncode == 0, done.stderr
    assert results(control) == whole
    assert shown(control)["games"]["completed"] == len(whole)
