"""The executor on a Dask cluster: the contract, with a real scheduler and real workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ringmaster.execution.dask_executor import DaskExecutor
from ringmaster.execution.dask_link import DaskLink
from ringmaster.model.cluster import Cluster
from tests.contracts.executor_contract import ExecutorContract
from tests.requirements import package

distributed = package("distributed")

pytestmark = [pytest.mark.optional, pytest.mark.process]

WORK = "tests.execution.scripted_work:factory"
REAPER = "ringmaster.engines.reaper"


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[int, Any]]:
    """Give the clusters by their slots: one of a kind serves all tests."""
    started: dict[int, Any] = {}
    yield started
    for cluster in started.values():
        cluster.close()


def start_cluster(slots: int) -> Any:
    return distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=slots,
        resources={"games": slots},
        dashboard_address="127.0.0.1:0",
        processes=True,
    )


@pytest.fixture
def make(clusters: dict[int, Any]) -> Iterator[Callable[[int], DaskExecutor]]:
    opened: list[DaskExecutor] = []

    def start(slots: int, **resources: int) -> DaskExecutor:
        if slots not in clusters:
            clusters[slots] = start_cluster(slots)
        client = distributed.Client(clusters[slots])
        link = DaskLink(client, client.close, reconnect=30.0)
        executor = DaskExecutor(WORK, lambda: link, Cluster(), reaper=REAPER, resources=resources)
        opened.append(executor)
        while not executor.notices():
            executor.wait(0.05)
        return executor

    yield start
    for executor in opened:
        executor.close()


class TestDaskExecutor(ExecutorContract):
    pass
