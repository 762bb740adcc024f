"""Optional parts of a machine: engines, packages, sources.

A test that needs one calls a function of this module.  On a user's machine a missing part
skips the test, with the reason; where RINGMASTER_REQUIRE_ENGINES is set (.ci/run) it fails.
"""

from __future__ import annotations

import importlib
import os
import shutil
from types import ModuleType
from typing import NoReturn

import pytest

#: Debian installs games in a folder that is not on everybody's PATH.
PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/games", "/usr/local/games"])


def missing(reason: str) -> NoReturn:
    """Skip the test, or fail it in CI; also at the top of a test module."""
    if os.environ.get("RINGMASTER_REQUIRE_ENGINES"):
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)


def engine(name: str) -> str:
    """Return the path of an installed engine."""
    path = shutil.which(name, path=PLACES)
    if path is None:
        missing(f"{name} is not installed (Debian: apt-get install {name})")
    return path


def package(name: str) -> ModuleType:
    """Return an imported optional package of the extra ``dev``."""
    try:
        return importlib.import_module(name)
    except ImportError:
        missing(f'{name} is not installed (pip install -e ".[dev]")')
