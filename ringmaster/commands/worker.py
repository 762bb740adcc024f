"""The action `worker`: this machine as a host of a cluster."""

from __future__ import annotations

import argparse
import asyncio

from ringmaster.commands.console import DONE, say
from ringmaster.errors import UsageError
from ringmaster.model.cluster import check_encrypted, is_address


def worker(arguments: argparse.Namespace) -> int:
    """Play for a scheduler until a signal."""
    address = arguments.address
    if not is_address(address):
        raise UsageError(f"{address!r} is not the address of a scheduler, such as tls://node1:8786")
    check_encrypted(address, arguments.insecure, "--insecure")
    # imported here: Dask is an extra, and slow to import
    from ringmaster.execution.host_process import HostOrders, serve

    orders = HostOrders(
        address,
        games=arguments.parallel,
        cpus=arguments.cpus,
        listen=arguments.listen or "",
        contact=arguments.contact or "",
    )
    asyncio.run(serve(orders, lambda text: say(f"{text}\n")))
    return DONE
