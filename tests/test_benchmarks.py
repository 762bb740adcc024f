"""Test the short forms of benchmarks, and the readers of match runners' games."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import instant
from tests.program import environment
from tests.requirements import PLACES, missing

REPOSITORY = Path(__file__).parent.parent
BENCHMARKS = REPOSITORY / "benchmarks"
#: Other benchmarks with a short form; each takes up to eight seconds.
SHORT = sorted(
    path.name
    for path in BENCHMARKS.glob("*.py")
    if '"--short"' in path.read_text() and path.name != "referee.py"
)
#: Measurements of the referee's short form before a slow referee fails the test.
TRIES = 3
#: Load for each CPU above which CPU time a ply decides, and its limit as a ratio to the bare
#: loop.  It is three times the bare loop's with cold caches, and six times with 30 µs more in
#: the game loop.
BUSY, COST = 1.5, 4.5


@pytest.fixture
def _compiler() -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("the costs of processes are read from /proc")
    if instant.compiler() is None:
        missing("there is no C compiler (Debian: apt-get install gcc libc6-dev)")


def benchmark(name: str, *arguments: str, cwd: Path | None = None) -> str:
    """Run the short form of a benchmark; return its output."""
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / name), "--short", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=cwd,
        env=environment({"PATH": PLACES}),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def referee(*works: str) -> list[dict[str, Any]]:
    """Return the table of referee.py."""
    rows: list[dict[str, Any]] = json.loads(benchmark("referee.py", "--json", "--work", *works))
    return rows


@pytest.mark.perf
@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize("name", SHORT)
def test_short_form_of_a_benchmark_runs(tmp_path: Path, name: str) -> None:
    assert benchmark(name, cwd=tmp_path).strip()


@pytest.mark.perf
@pytest.mark.usefixtures("_compiler")
def test_referee_reaches_a_third_of_the_bare_loops_plies() -> None:
    speeds: list[float] = []
    costs: list[float] = []
    for _ in range(TRIES):
        speed, cost, recorded, _ = referee("worker")
        assert (speed["peer"], speed["target"]) == ("bare loop in C", ">= 0.35")
        assert cost["unit"] == "CPU µs a ply, engines included"
        assert recorded["ours"] > 0
        speeds.append(speed["ratio"])
        costs.append(cost["ratio"])
        if speed["ratio"] >= 0.35:
            return
    load = os.getloadavg()[0]
    # under such a load the clock measures waiting for a CPU; CPU time excludes it
    if load > BUSY * (os.cpu_count() or 1) and min(costs) <= COST:
        return
    pytest.fail(f"to the bare loop: plies/s {speeds}, CPU a ply {costs}, at a load of {load:.0f}")


@pytest.mark.perf
@pytest.mark.usefixtures("_compiler")
def test_whole_command_is_measured_with_records_and_without() -> None:
    rows = referee("bare", "instant-2")
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
def test_games_of_both_match_runners_are_counted_by_their_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # benchmarks are programs: they import modules of their own folder
    monkeypatch.syspath_prepend(BENCHMARKS)
    from matches import read_pgn

    file = tmp_path / "games.pgn"
    file.write_text(PGN[name])
    assert read_pgn(file) == [("0-1", 4), ("1/2-1/2", 1)]


@pytest.mark.parametrize("attempts", [1, 2, 99])
def test_match_that_takes_less_time_than_a_shorter_one_is_played_again(
    monkeypatch: pytest.MonkeyPatch, attempts: int
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    import matches
    import meter

    played: list[int] = []

    def play(manager: Any, match: Any) -> tuple[meter.Cost, list[Any]]:
        played.append(match.games)
        busy = (len(played) + 1) // 2 < attempts
        seconds = 1.0 if busy and match.games > 2 else float(match.games)
        return meter.Cost(seconds=seconds, cpu=seconds), [matches.Game("0-1", 4)] * match.games

    monkeypatch.setattr(matches, "play", play)
    manager = matches.Manager("x", lambda match, folder: [], lambda folder: [])
    match = matches.Match(("e",), games=12, slots=1, nodes=1)
    if attempts > matches.TRIES:
        with pytest.raises(matches.BadMatch, match="too busy"):
            matches.cost(manager, match, 2)
    else:
        assert matches.cost(manager, match, 2)["games"] == 1.0
    assert played == [2, 12] * min(attempts, matches.TRIES)
