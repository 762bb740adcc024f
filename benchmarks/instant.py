"""Engines that answer at once, and the bare pipe loop beside them, compiled from C.

`c/instant.c` plays a script over UCI, USI or GTP; `c/turns.c` lets two engines take
turns and does nothing else, so that it shows what a referee could do at most.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "engines"))

#: The shortest game.
FOOLS_MATE = "f2f3 e7e5 g2g4 d8h4"

Speech = Literal["uci", "usi", "gtp"]


class Script(NamedTuple):
    """What engines play: `file` has the moves, `plies` is their number.

    board_size  of a game of Go
    """

    protocol: Speech
    file: Path
    plies: int
    board_size: int = 19


def compiler() -> str | None:
    """Return the C compiler of this machine, None where there is none."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build(name: str, folder: Path) -> Path:
    """Compile c/`name`.c into `folder` and return the program.  Raises RuntimeError
    where there is no compiler, CalledProcessError when it fails."""
    command = compiler()
    if command is None:
        raise RuntimeError("there is no C compiler (cc, gcc, clang)")
    program = folder / name
    subprocess.run([command, "-O2", "-o", str(program), str(HERE / "c" / f"{name}.c")], check=True)
    return program


def script(game: str, folder: Path) -> Script:
    """Write the script of a game into `folder`: "chess" (200 plies), "chess40" and "chess4",
    which end in mate, "shogi" (200 plies of a game without an end), "go9" and "go19" (two
    passes at the end).
    """
    if game.startswith("chess"):
        from scripted_games import GAMES

        plies = int(game.removeprefix("chess") or 200)
        moves = FOOLS_MATE.split() if plies == 4 else GAMES[plies].split()
        found = Script("uci", folder / game, plies)
    elif game == "shogi":
        from scripted_shogi_game import GAME

        moves, found = GAME.split()[:200], Script("usi", folder / game, 200)
    else:
        size = int(game.removeprefix("go"))
        moves = go_moves(size, {9: 98, 19: 198}[size])
        found = Script("gtp", folder / game, len(moves), size)
    assert len(moves) == found.plies
    found.file.write_text(" ".join(moves))
    return found


def go_moves(size: int, plies: int) -> list[str]:
    """Return a random legal game of `plies` moves and two passes, always the same."""
    from ringmaster.errors import IllegalMove
    from ringmaster.games.go import GoGame

    rng, game = random.Random(1), GoGame(size)
    columns = "ABCDEFGHJKLMNOPQRST"[:size]
    points = [f"{column}{row}" for column in columns for row in range(1, size + 1)]
    moves: list[str] = []
    while len(moves) < plies:
        try:
            move = rng.choice(points)
            game.play(move)
        except IllegalMove:
            continue
        moves.append(move)
    return [*moves, "pass", "pass"]


def command(engine: Path, of: Script, *flags: str) -> tuple[str, ...]:
    """Return the command of an instant engine that plays a script."""
    return (str(engine), of.protocol, str(of.file), *flags)


def bare(
    turns: Path, engine: Path, of: Script, games: int, slots: int, *flags: str
) -> Mapping[str, float]:
    """Return what the bare pipe loop does with `slots` games at a time, `games` of them
    each: "plies" a second, and "cpu", the microseconds of CPU time that a ply takes of the
    loop and its engines."""
    words = [str(turns), of.protocol, str(games), str(of.plies), *command(engine, of, *flags)]
    loops = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(slots)]
    rate = cpu = 0.0
    for loop in loops:
        said = loop.communicate()[0]
        if loop.returncode:
            raise RuntimeError(f"{turns.name} ended with status {loop.returncode}")
        seconds, own, engines = map(float, said.split())
        rate += games * of.plies / seconds
        cpu += own + engines
    return {"plies": rate, "cpu": cpu / (slots * games * of.plies) * 1e6}
