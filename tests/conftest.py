"""Settings of the property tests, and a guard against stale compiled modules.

Hypothesis profiles: ``dev`` (20 examples) and ``ci`` (100 examples, the same in each run);
HYPOTHESIS_PROFILE selects one, CI without a choice uses ``ci``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Machines are noisy: no example has a deadline.
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", SHARED, max_examples=20)
settings.register_profile("ci", SHARED, max_examples=100, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))


def pytest_sessionstart() -> None:
    """Refuse to test a compiled module that is older than its source."""
    package = Path(__file__).parent.parent / "ringmaster"
    for module in package.glob("*/*.so"):
        source = module.with_name(module.name.partition(".")[0] + ".py")
        if source.exists() and source.stat().st_mtime > module.stat().st_mtime:
            pytest.exit(
                f"{module} is older than {source.name}: compile again "
                "(RINGMASTER_COMPILE=1 pip install -e .) or delete ringmaster/*/*.so",
                returncode=2,
            )


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Yield Chromium; one a process, since Playwright allows no second."""
    from tests.browsers import chromium

    with chromium() as opened:
        yield opened
