"""Real engines in the sandbox and within limits."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ringmaster.engines.process import sandboxed
from tests.program import ringmaster, shown
from tests.requirements import engine, missing

pytestmark = pytest.mark.real

GAMES = {
    "chess": ("stockfish", 'nodes=2000, options={"Hash": 16}'),
    "go": ("gnugo --mode=gtp --level=1", ""),
}
SOURCE = """
competition_type = "playoff"
game = {game!r}
def player(**more):
    return Player({command!r}, {settings} **more)
players = {{
    "inside": player(sandbox=True, max_memory="2 GB", max_cpu=60, max_processes=1),
    "outside": player(),
}}
matchups = [Matchup("inside", "outside", number_of_games=2)]
move_limit = 20
"""


@pytest.mark.parametrize("game", list(GAMES))
def test_engine_in_the_sandbox_plays_as_outside(tmp_path: Path, game: str) -> None:
    if shutil.which("bwrap") is None:
        missing("bubblewrap is not installed (Debian: apt-get install bubblewrap)")
    if subprocess.run(sandboxed(["true"], None), stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this system does not let bubblewrap make namespaces")
    command, settings = GAMES[game]
    engine(command.split()[0])
    control = tmp_path / "event.ctl"
    control.write_text(
        SOURCE.format(game=game, command=command, settings=f"{settings}," if settings else "")
        + ("board_size = 9\nkomi = 7.5\n" if game == "go" else "")
    )
    done = ringmaster(control, "-q")
    assert done.returncode == 0, done.stderr
    (matchup,) = shown(control)["matchups"]
    assert matchup["games"] == 2
    log = control.with_suffix(".log").read_text()
    assert "limit:" not in log
    assert "killed" not in log
