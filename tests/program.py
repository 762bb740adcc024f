"""Run the whole program on control files with instant engines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from tests.processes import LONG, commanded

ENGINES = Path(__file__).parent / "engines"
REPOSITORY = Path(__file__).parent.parent

#: An engine with games of five to nine plies, decided by its options.
ENGINE = ENGINES / "fault_uci.py"
#: An engine that evaluates positions.
MATERIAL = ENGINES / "material_uci.py"
#: Labelled positions.
POSITIONS = REPOSITORY / "controlfiles" / "texel_positions.epd"

SPSA = """
competition_type = "spsa"
game = "chess"
players = {{"duel": Player([{python!r}, "-I", "-S", {engine!r}, "--outcome", "by-option",
                           "--pid-file", {log!r}], nodes=1)}}
player = "duel"
parameters = [
    Parameter("Strength", start=300, min=0, max=1000, integer=True),
    Parameter("Width", start=400, min=0, max=1000, integer=True),
]
openings = Openings("book.epd", order="random")
number_of_games = {games}
verify = Verify(games=20)
"""

PLAYOFF = """
competition_type = "playoff"
game = "chess"
def duel(strength):
    return Player([{python!r}, "-I", "-S", {engine!r}, "--outcome", "by-option",
                   "--pid-file", {log!r}], options={{"Strength": strength}}, nodes=1)
players = {{"a": duel(600), "b": duel(500), "c": duel(450)}}
openings = Openings("book.epd")
number_of_games = {games}
matchups = [Matchup("a", "b"), Matchup("b", "c"), Matchup("a", "c", id="ac")]
"""

#: Twenty rounds, each with a bye for one player.
SWISS = """
competition_type = "swiss"
game = "chess"
def duel(strength):
    return Player([{python!r}, "-I", "-S", {engine!r}, "--outcome", "by-option",
                   "--pid-file", {log!r}], options={{"Strength": strength}}, nodes=1)
players = {{f"p{{i}}": duel(650 - 15 * i) for i in range(21)}}
openings = Openings("book.epd")
competitors = list(players)
rounds = 20
games_per_pairing = {games} // 200
"""

_CANDIDATES = """
game = "chess"
def duel(strength):
    return Player([{python!r}, "-I", "-S", {engine!r}, "--outcome", "by-option",
                   "--pid-file", {log!r}], options={{"Strength": strength}}, nodes=1)
players = {{"opponent": duel(500)}}
opponent = "opponent"
candidate_colour = "alternating"
openings = Openings("book.epd")
def make_candidate(strength):
    return duel(strength)
"""

#: Weights of an engine that counts material.
TEXEL = """
competition_type = "texel"
game = "chess"
players = {{"material": Player([{python!r}, "-I", "-S", {material!r}, "--pid-file", {log!r}])}}
player = "material"
anchor = "Pawn"
parameters = [
    Parameter(name, start=start, min=0, max=2000, integer=True)
    for name, start in [("Pawn", 100), ("Knight", 200), ("Bishop", 200), ("Rook", 300),
                        ("Queen", 500)]
]
positions = Positions("positions.epd")
regularisation = Ridge()
most_passes = {games}
skip_player_checks = True
"""

MC_TUNER = (
    """
competition_type = "mc_tuner"
"""
    + _CANDIDATES
    + """
parameters = [Parameter("strength", scale=LINEAR(300, 700, integer=True), split=6)]
exploration_coefficient = 0.45
initial_visits = 4
initial_wins = 2
max_depth = 3
number_of_games = {games}
log_tree_to_history_period = 20
"""
)

CE_TUNER = (
    """
competition_type = "ce_tuner"
"""
    + _CANDIDATES
    + """
parameters = [Parameter("strength", initial_mean=450, initial_variance=2500,
                        transform=lambda f: min(1000, max(0, round(f))))]
number_of_generations = {games} // 50
samples_per_generation = 10
batch_size = 5
elite_proportion = 0.3
step_size = 0.7
"""
)


#: Candidates differ by some 200 Elo, so some are ended early.
OPTUNA_TUNER = """
competition_type = "optuna_tuner"
game = "chess"
players = {{"duel": Player([{python!r}, "-I", "-S", {engine!r}, "--outcome", "by-option",
                           "--pid-file", {log!r}], nodes=1)}}
player = "duel"
parameters = [
    Parameter("Strength", start=300, min=0, max=1000, integer=True),
    Parameter("Width", start=400, min=0, max=1000, integer=True),
]
openings = Openings("book.epd", order="random")
number_of_trials = {games} // 20
games_per_trial = 20
verify = Verify(games=20)
"""

CLOP_TUNER = (
    """
competition_type = "clop_tuner"
"""
    + _CANDIDATES
    + """
parameters = [Parameter("strength", min=300, max=700, integer=True)]
number_of_games = {games}
"""
)


@cache
def book() -> str:
    """Return 600 start positions of the engine: no game of 1,200 repeats."""
    command = [sys.executable, "-I", "-S", str(ENGINE), "--openings", "600"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def write_control_file(folder: Path, source: str, games: int) -> Path:
    """Write a control file and its opening book; the engines log their process ids."""
    folder.mkdir(parents=True, exist_ok=True)
    if source is TEXEL:
        (folder / "positions.epd").write_bytes(POSITIONS.read_bytes())
    else:
        (folder / "book.epd").write_text(book())
    control = folder / "event.ctl"
    control.write_text(
        source.format(
            python=sys.executable,
            engine=str(ENGINE),
            material=str(MATERIAL),
            log=str(folder / "engines.txt"),
            games=games,
        )
    )
    return control


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), **(extra or {})}


def ringmaster(
    control: Path, *arguments: str, timeout: float = 3 * LONG
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
    """Return the process ids of all engines of a competition."""
    log = control.parent / "engines.txt"
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def living_engines(control: Path) -> list[psutil.Process]:
    """Return the engines of a competition that do not end."""
    processes = []
    for pid in engine_pids(control):
        with suppress(psutil.NoSuchProcess):
            processes.append(psutil.Process(pid))
    _, alive = psutil.wait_procs(commanded(processes, str(ENGINES)), timeout=LONG)
    return [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]
