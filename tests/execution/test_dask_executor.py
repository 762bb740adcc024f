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


def local(slots: int) -> Any:
    return distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=slots,
        resources={"games": slots},
        dashboard_address="127.0.0.1:0",
        processes=True,
    )


@pytest.fixture
def make() -> Iterator[Callable[[int], DaskExecutor]]:
    opened: list[DaskExecutor] = []

    def start(slots: int) -> DaskExecutor:
        cluster = local(slots)
        client = distributed.Client(cluster)

        def release() -> None:
            client.close()
            cluster.close()

        link = DaskLink(client, release, reconnect=30.0)
        executor = DaskExecutor(WORK, lambda: link, Cluster(), reaper=REAPER)
        opened.append(executor)
        while not executor.notices():
            executor.wait(0.05)
        return executor

    yield start
    for executor in opened:
        executor.close()


class TestDaskExecutor(ExecutorContract):
    pass
