"""The referee beside the bare loop in C, in the short form, and what reads the games of
other match runners."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import instant
from tests.events import environment

REPOSITORY = Path(__file__).parent.parent.parent
BENCHMARKS = REPOSITORY / "benchmarks"
#: Times that the short form may be measured before a slow referee is believed.
TRIES = 3
#: Load for each CPU, from which on CPU time a ply decides; it is three times that of the
#: bare loop where caches are cold, and six times with 30 µs more in the game loop.
BUSY, COST = 1.5, 4.5


@pytest.fixture
def _compiler() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("the costs of processes are read from /proc")
    if instant.compiler() is None:
        reason = "there is no C compiler (Debian: apt-get install gcc libc6-dev)"
        if os.environ.get("RINGMASTER_REQUIRE_ENGINES"):
            pytest.fail(reason)
        pytest.skip(reason)


def referee(*arguments: str) -> list[dict[str, Any]]:
    command = [sys.executable, str(BENCHMARKS / "referee.py"), "--json", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.usefixtures("_compiler")
def test_referee_gets_through_a_third_of_the_plies_of_a_loop_that_does_nothing_else() -> None:
    speeds: list[float] = []
    costs: list[float] = []
    for _ in range(TRIES):
        speed, cost, recorded, _ = referee("--short", "--work", "worker")
        assert (speed["peer"], speed["target"]) == ("bare loop in C", ">= 0.35")
        assert cost["unit"] == "CPU µs a ply, engines included"
        assert recorded["ours"] > 0
        speeds.append(speed["ratio"])
        costs.append(cost["ratio"])
        if speed["ratio"] >= 0.35:
            return
    load = os.getloadavg()[0]
    # where every microsecond of CPU has to be waited for, the clock says who had to wait
    # more often; what was used is what the clock would say without the others
    if load > BUSY * (os.cpu_count() or 1) and min(costs) <= COST:
        return
    pytest.fail(f"to the bare loop: plies/s {speeds}, CPU a ply {costs}, at a load of {load:.0f}")


@pytest.mark.usefixtures("_compiler")
def test_whole_command_is_measured_with_records_and_without() -> None:
    rows = referee("--short", "--work", "bare", "instant-2")
    assert [row["work"] for row in rows] == [
        "instant UCI engines, 2 at a time",
        "instant UCI engines, 2 at a time, no records",
    ]
    assert all(row["theirs"] > 0 for row in rows)


PGN = {
    "fastchess": """[Event "Fastchess Tournament"]
[Result "0-1"]
[PlyCount "4"]

1. f3 {/0 0.000s} e5 {+0.20/12 0.001s, note} 2. g4 {/0 0.000s}
Qh4# {/0 0.000s, Black mates} 0-1

[Event "Fastchess Tournament"]
[Result "1/2-1/2"]

1. e4 {/0 0.000s} 1/2-1/2

""",
    "c-chess-cli": """[Round "1.1"]
[Result "0-1"]

1. f3 {0/0 0ms} e5 {0/0 0ms} 2. g4 {0/0 0ms} Qh4# {0/0 0ms} 0-1

[Round "1.2"]
[Result "1/2-1/2"]

1. e4 {0/0 0ms} 1/2-1/2

""",
    "cutechess-cli": """[Event "?"]
[Result "0-1"]

1. f3 {book} e5 2. g4 Qh4# {Black mates} 0-1

[Event "?"]
[Result "1/2-1/2"]

1... e4 1/2-1/2
""",
    "ringmaster": """[Event "m"]
[Result "0-1"]

1. f3 {0.000s} 1... e5 {0.000s} 2. g4 {0.000s} 2... Qh4# {0.000s, mate}
0-1

[Event "m"]
[Result "1/2-1/2"]

1. e4 {0.000s} 1/2-1/2
""",
}


@pytest.mark.parametrize("name", PGN)
def test_games_of_every_match_runner_are_counted_by_their_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # benchmarks are programs: their modules find each other in their own folder
    monkeypatch.syspath_prepend(BENCHMARKS)
    from peers.matches import read_pgn

    file = tmp_path / "games.pgn"
    file.write_text(PGN[name])
    assert read_pgn(file) == [("0-1", 4), ("1/2-1/2", 1)]
