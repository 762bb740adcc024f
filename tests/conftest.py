"""Settings of the property tests, and the browser of the pages.

Hypothesis profiles: ``dev`` (20 examples) and ``ci`` (30 examples, the same in each run);
HYPOTHESIS_PROFILE selects one, CI without a choice uses ``ci``.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Machines are noisy: no example has a deadline.
SHARED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", SHARED, max_examples=20)
settings.register_profile("ci", SHARED, max_examples=30, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if "CI" in os.environ else "dev"))

# A shell makes its background jobs ignore SIGINT, and nohup SIGHUP: the runs of tests would, too.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first, so that no worker is left alone with them at the end."""
    items.sort(key=lambda item: not {"kill", "real"} & {mark.name for mark in item.iter_markers()})


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield Chromium.

    Playwright's event loop runs until the browser is closed, and a process has one loop only.
    """
    from tests.browsers import chromium

    with chromium() as opened:
        yield opened
