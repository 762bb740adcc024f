"""How property tests are run: machines are noisy, so no example has a deadline;
where a red run must mean a fault of the change (CI), examples are not drawn anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ringmaster",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("ringmaster")


def pytest_sessionstart() -> None:
    """An extension module hides the source that it was made of: one that is older would
    be tested in its place."""
    package = Path(__file__).parent.parent / "ringmaster"
    for module in package.glob("*/*.so"):
        source = module.with_name(module.name.partition(".")[0] + ".py")
        if source.exists() and source.stat().st_mtime > module.stat().st_mtime:
            pytest.exit(
                f"{module} is older than {source.name}: compile again "
                "(RINGMASTER_COMPILE=1 pip install -e .) or delete ringmaster/*/*.so",
                returncode=2,
            )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real engines with clocks are not made to play against those of other tests."""
    for item in items:
        if item.get_closest_marker("real") is not None:
            item.add_marker(pytest.mark.xdist_group("real"))
