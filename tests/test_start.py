"""What takes long to import is not imported before it is needed, so that `--version` and
`show` start quickly: NumPy alone takes as long as all else that `show` does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.events import (
    CE_TUNER,
    MC_TUNER,
    PLAYOFF,
    SPSA,
    SWISS,
    TEXEL,
    environment,
    ringmaster,
    write_event,
)

#: Packages that no start may bring in.
HEAVY = {
    *("asyncio", "chess", "cozy_chess_py", "cshogi", "email", "http", "lark", "matplotlib"),
    *("multiprocessing", "numpy", "psutil", "pyarrow", "pyffish", "rich", "rsshogi", "scipy"),
    *("subprocess", "tabulate"),
}
#: The types whose tuners compute with arrays.
WITH_ARRAYS = ("spsa", "texel")

_PLAYERS = PLAYOFF.partition("number_of_games")[0]
SOURCES = {
    "playoff": PLAYOFF,
    "sprt": PLAYOFF.partition("matchups")[0] + 'matchups = [Matchup("a", "b", sprt=SPRT(0, 5))]\n',
    "allplayall": _PLAYERS.replace('"playoff"', '"allplayall"')
    + 'competitors = ["a", "b", "c"]\nrounds = {games}\n',
    "gauntlet": _PLAYERS.replace('"playoff"', '"gauntlet"')
    + 'challengers = ["a"]\nopponents = ["b", "c"]\nrounds = {games}\n',
    "swiss": SWISS,
    "mc_tuner": MC_TUNER,
    "ce_tuner": CE_TUNER,
    "spsa": SPSA,
    "texel": TEXEL,
}

_PROGRAM = """
import sys
from ringmaster.cli import run
status = run(sys.argv[1:])
print()
print(*sorted({name.partition(".")[0] for name in sys.modules}))
sys.exit(status)
"""


def imported(*arguments: str) -> set[str]:
    """Return the packages that a command line has imported."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.splitlines()[-1].split())


def test_version_needs_neither_a_store_nor_types() -> None:
    assert imported("--version") & {*HEAVY, "msgspec", "sqlite3", "dataclasses"} == set()


@pytest.mark.parametrize("kind", SOURCES)
def test_show_brings_in_nothing_heavy_before_a_run_or_after_games(
    kind: str, tmp_path: Path
) -> None:
    control = write_event(tmp_path, SOURCES[kind], 200)
    heavy = HEAVY - {"numpy"} if kind in WITH_ARRAYS else HEAVY
    assert imported(str(control), "show") & heavy == set()
    done = ringmaster(control, "-j", "2", "-g", "40")
    assert (done.returncode, done.stderr) == (0, "")
    assert imported(str(control), "show") & heavy == set()
