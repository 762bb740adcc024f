"""Compile engines that answer at once, and the bare pipe loop, from C.

`c/instant.c` plays a script over UCI.  `c/turns.c` lets two engines play in turn and
does nothing else: its speed is the upper limit of a referee.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "engines"))

#: The shortest game.
FOOLS_MATE = "f2f3 e7e5 g2g4 d8h4"


class Script(NamedTuple):
    """The moves of a game for instant engines: their file and number."""

    file: Path
    plies: int


def compiler() -> str | None:
    """Return the path of a C compiler, None without one."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build(name: str, folder: Path) -> Path:
    """Compile c/`name`.c into `folder` and return the program.

    Raises RuntimeError without a compiler, CalledProcessError if it fails.
    """
    command = compiler()
    if command is None:
        raise RuntimeError("no C compiler was found; install cc, gcc or clang")
    program = folder / name
    subprocess.run([command, "-O2", "-o", str(program), str(HERE / "c" / f"{name}.c")], check=True)
    return program


def script(game: str, folder: Path) -> Script:
    """Write the script of a game into `folder`.

    game  "chess" (200 plies), "chess40" or "chess4"; all end in mate
    """
    from scripted_games import GAMES

    plies = int(game.removeprefix("chess") or 200)
    moves = FOOLS_MATE.split() if plies == 4 else GAMES[plies].split()
    assert len(moves) == plies
    file = folder / game
    file.write_text(" ".join(moves))
    return Script(file, plies)


def command(engine: Path, script: Script, *flags: str) -> tuple[str, ...]:
    """Return the command of an instant engine that plays a script."""
    return (str(engine), str(script.file), *flags)


def bare(
    turns: Path, engine: Path, script: Script, games: int, slots: int, *flags: str
) -> Mapping[str, float]:
    """Run `slots` bare pipe loops at a time, with `games` games each.

    Return "plies" a second, and "cpu": microseconds of CPU time a ply of loop and engines.
    """
    words = [str(turns), str(games), str(script.plies)]
    words += command(engine, script, *flags)
    loops = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(slots)]
    rate = cpu = 0.0
    for loop in loops:
        output = loop.communicate()[0]
        if loop.returncode:
            raise RuntimeError(f"{turns.name} ended with status {loop.returncode}")
        seconds, own, engines = map(float, output.split())
        rate += games * script.plies / seconds
        cpu += own + engines
    return {"plies": rate, "cpu": cpu / (slots * games * script.plies) * 1e6}
