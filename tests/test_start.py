"""`--version` and `show` start quickly: they import no slow package.  NumPy alone takes as long
as everything else in `show`."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.processes import LONG
from tests.program import (
    CE_TUNER,
    CLOP_TUNER,
    MC_TUNER,
    OPTUNA_TUNER,
    PLAYOFF,
    SPSA,
    SWISS,
    TEXEL,
    environment,
    ringmaster,
    write_control_file,
)
from tests.requirements import package

#: Packages that no start may bring in.
HEAVY = {
    *(
        "asyncio",
        "chess",
        "cozy_chess",
        "cshogi",
        "email",
        "http",
        "jinja2",
        "lark",
        "matplotlib",
    ),
    *("multiprocessing", "numpy", "psutil", "pyarrow", "pyffish", "rsshogi", "scipy", "sklearn"),
    *("starlette", "subprocess", "tabulate", "uvicorn"),
}
#: Forbidden packages that need not be installed.
OPTIONAL = {"cshogi", "pyarrow", "pyffish", "sklearn"}
#: Competition types with tuners that use NumPy.
WITH_ARRAYS = ("clop_tuner", "optuna_tuner", "spsa", "texel")
#: Packages that scikit-learn brings in for the estimates of an optuna_tuner, some of them only
#: where pandas is installed.
WITH_SKLEARN = {
    *("asyncio", "email", "multiprocessing", "psutil", "pyarrow", "scipy", "sklearn"),
    "subprocess",
}

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
    "clop_tuner": CLOP_TUNER,
    "spsa": SPSA,
    "optuna_tuner": OPTUNA_TUNER,
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
    """Return the top-level packages that a command line imports."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=LONG,
        env=environment(),
    )
    assert (done.returncode, done.stderr) == (0, "")
    return set(done.stdout.splitlines()[-1].split())


def test_every_forbidden_package_exists() -> None:
    assert {name for name in HEAVY - OPTIONAL if find_spec(name) is None} == set()


@pytest.mark.process
def test_version_needs_neither_a_store_nor_types() -> None:
    assert imported("--version") & {*HEAVY, "msgspec", "sqlite3", "dataclasses"} == set()


@pytest.mark.process
@pytest.mark.parametrize("kind", SOURCES)
def test_show_imports_no_slow_package(kind: str, tmp_path: Path) -> None:
    if kind == "optuna_tuner":
        package("optuna")
    control = write_control_file(tmp_path, SOURCES[kind], 200)
    heavy = HEAVY - {"tabulate"}
    if kind in WITH_ARRAYS:
        heavy -= {"numpy"}
    if kind == "optuna_tuner":
        heavy -= WITH_SKLEARN
    assert imported(str(control), "show") & heavy == set()
    done = ringmaster(control, "-j", "2", "-g", "40")
    assert (done.returncode, done.stderr) == (0, "")
    assert imported(str(control), "show") & heavy == set()
