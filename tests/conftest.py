"""How property tests are run: machines are noisy, so no example has a deadline;
where a red run must mean a fault of the change (CI), examples are not drawn anew."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ringmaster",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
)
settings.load_profile("ringmaster")
