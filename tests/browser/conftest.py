"""Competitions with instant engines, run once for all tests of a session, and a browser."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import program
from tests.browsers import silent_page

#: Games of each kind: enough for every chart.
KINDS = {
    "SPSA": 300,
    "PLAYOFF": 60,
    "SWISS": 200,
    "TEXEL": 4,
    "MC_TUNER": 150,
    "CE_TUNER": 100,
    "OPTUNA_TUNER": 200,
    "CLOP_TUNER": 120,
}


@pytest.fixture(scope="session")
def competition(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that returns the control file of a finished competition."""
    base = tmp_path_factory.getbasetemp()
    # the workers of xdist have folders of their own in one folder of the session
    shared = (base.parent if base.name.startswith("popen-") else base) / "competitions"
    shared.mkdir(exist_ok=True)

    def make(kind: str) -> Path:
        folder = shared / kind.lower()
        with (shared / f"{kind}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            control = folder / "event.ctl"
            if not control.with_suffix(".html").exists():
                program.write_control_file(folder, getattr(program, kind), KINDS[kind])
                for arguments in (["run", "-q", "-j", "1"], ["report"]):
                    done = program.ringmaster(control, *arguments)
                    assert done.returncode == 0, done.stderr
        return control

    return make


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    with silent_page(browser) as opened:
        yield opened
