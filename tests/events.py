"""Events of instant engines for the tests that run the whole program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

ENGINES = Path(__file__).parent / "engines"
REPOSITORY = Path(__file__).parent.parent

BOOK = "".join(
    f"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - hmvc 0; fmvn {n};\n"
    for n in range(1, 301)
)

SPSA = """
competition_type = "spsa"
game = "chess"
players = {{"duel": Player([{python!r}, "-I", "-S", {engine!r}, "--log", {log!r}], nodes=1)}}
player = "duel"
parameters = [
    Parameter("X", start=20, min=0, max=100, c_end=8, r_end=0.02, integer=True),
    Parameter("Y", start=50, min=0, max=100, c_end=8, r_end=0.02, integer=True),
]
openings = Openings("book.epd", order="random")
number_of_games = {games}
verify = Verify(games=20)
"""

PLAYOFF = """
competition_type = "playoff"
game = "chess"
def duel(x):
    return Player([{python!r}, "-I", "-S", {engine!r}, "--log", {log!r}],
                  options={{"X": x}}, nodes=1)
players = {{"a": duel(60), "b": duel(10), "c": duel(95)}}
openings = Openings("book.epd")
number_of_games = {games}
matchups = [Matchup("a", "b"), Matchup("b", "c"), Matchup("a", "c", id="ac")]
"""


def write_event(folder: Path, source: str, games: int) -> Path:
    """Write a control file, its book, and where its engines log their pids."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "book.epd").write_text(BOOK)
    control = folder / "event.ctl"
    control.write_text(
        source.format(
            python=sys.executable,
            engine=str(ENGINES / "duel_uci.py"),
            log=str(folder / "engines.txt"),
            games=games,
        )
    )
    return control


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), **(extra or {})}


def ringmaster(
    control: Path, *arguments: str, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run the program to its end."""
    return subprocess.run(
        [sys.executable, "-m", "ringmaster", str(control), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment(),
        stdin=subprocess.DEVNULL,
    )


def start(control: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start the program in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "ringmaster", str(control), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )


def shown(control: Path) -> dict[str, Any]:
    """Return `show --json`."""
    result = ringmaster(control, "show", "--json")
    assert result.returncode == 0, result.stderr
    summary: dict[str, Any] = json.loads(result.stdout)
    return summary


def engine_pids(control: Path) -> list[int]:
    """Return the pids of all engines that the event has ever started."""
    log = control.parent / "engines.txt"
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def living_engines(control: Path, seconds: float = 20) -> list[psutil.Process]:
    """Return the event's engines that are still alive after waiting for them."""
    found = []
    for pid in engine_pids(control):
        try:
            process = psutil.Process(pid)
            if "duel_uci.py" in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    _, alive = psutil.wait_procs(found, timeout=seconds)
    return [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]
