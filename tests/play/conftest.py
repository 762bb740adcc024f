from __future__ import annotations

from collections.abc import Iterator

import pytest

from ringmaster.play.worker import Worker
from tests.play.workers import one_worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    with one_worker("tests/engines") as new_worker:
        yield new_worker
