"""Real engines for tests: found, or the test is skipped; in CI, found or failed."""

from __future__ import annotations

import os
import shutil

import pytest

#: Where Debian puts games, which is not on everybody's PATH.
PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/games", "/usr/local/games"])


def engine(name: str) -> str:
    """Return the path of an installed engine.

    Skips the test where it is missing, and fails it where the environment says
    that all engines must be there (RINGMASTER_REQUIRE_ENGINES, set by .ci/run).
    """
    found = shutil.which(name, path=PLACES)
    if found is None:
        reason = f"{name} is not installed (Debian: apt-get install {name})"
        if os.environ.get("RINGMASTER_REQUIRE_ENGINES"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found
