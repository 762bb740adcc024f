"""Settings of the property tests, and the browser of the pages.

Hypothesis profiles: ``dev`` (20 examples) and ``ci`` (100 examples, the same in each run);
HYPOTHESIS_PROFILE selects one, CI without a choice uses ``ci``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Machines are noisy: no example has a deadline.
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", SHARED, max_examples=20)
settings.register_profile("ci", SHARED, max_examples=100, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Yield Chromium; one a process, since Playwright allows no second."""
    from tests.browsers import chromium

    with chromium() as opened:
        yield opened
