"""Reaching or starting a Dask cluster, whose connections are encrypted."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import socket
import ssl
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from random import SystemRandom
from typing import Any

import msgspec

from ringmaster.errors import ExecutorError, UsageError
from ringmaster.execution.dask_link import DaskLink, Keeper, reason_of
from ringmaster.model.cluster import Cluster

try:
    import dask
    from distributed import Client, Scheduler, SpecCluster
    from distributed.security import Security
except ModuleNotFoundError as error:
    raise UsageError(
        f"a cluster needs the package {error.name!r}, which is missing; install it with "
        "pip install 'ringmaster-engines[cluster]'"
    ) from None

from ringmaster.execution.host_keeping import (
    host_command,
    process_keeper,
    slurm_keeper,
    slurm_script,
)
from ringmaster.execution.host_process import (
    CONNECT,
    HTTP,
    HostOrders,
    greet,
    quieten,
    security_of,
)

_LOOPBACK = "127.0.0.1"
#: Ports of a host for tunnels of SSH.
_PORTS = range(20000, 32000)


def connect(cluster: Cluster) -> DaskLink:
    """Return a connection to a cluster; it closes what was started here.

    Raises ExecutorError.
    """
    quieten()
    dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT:g}s"})
    is_own = cluster.kind != "address"
    security = Security.temporary() if is_own else _security(cluster)
    patience = CONNECT if is_own else min(CONNECT, cluster.reconnect)
    started: SpecCluster | None = None
    try:
        if is_own:
            started = _scheduler(cluster, security)
        else:
            asyncio.run(greet(cluster.address, security, patience))
        client = Client(
            cluster.address if started is None else started,
            security=security,
            timeout=patience,
            set_as_default=False,
        )
    except Exception as error:
        if is_own:
            raise ExecutorError(f"cannot start the cluster: {reason_of(error)}") from error
        text = f"no scheduler answers at {cluster.address}: {reason_of(error)}"
        raise ExecutorError(text) from error
    # how long it looks for a lost scheduler
    client._timeout = cluster.reconnect

    def release() -> None:
        with suppress(Exception):
            client.close(timeout=5)
        if started is not None:
            with suppress(Exception):
                started.close(timeout=10)

    link = DaskLink(client, release, cluster.reconnect)
    if started is not None:
        link.keep(_keepers(cluster, started.scheduler.address, security))
    return link


def _security(cluster: Cluster) -> Security:
    """Return the certificates of the control file, else those of Dask's configuration."""
    tls = cluster.tls
    if tls is None:
        return Security()
    try:
        ssl.create_default_context(cafile=tls.ca).load_cert_chain(tls.cert, tls.key)
    except OSError as error:  # among them those of ssl, which name no file
        files = ", ".join(map(str, (tls.ca, tls.cert, tls.key)))
        raise ExecutorError(f"cannot use the TLS files {files}: {reason_of(error)}") from error
    return security_of(tls.ca, tls.cert, tls.key)


def _scheduler(cluster: Cluster, security: Security) -> SpecCluster:
    """Start a scheduler in this process; only jobs of Slurm reach it from other machines."""
    is_local = cluster.kind != "slurm"
    if not is_local and shutil.which("sbatch") is None:
        raise ExecutorError("Cluster.slurm needs `sbatch` on this machine, which is not there")
    options = {
        "host": _LOOPBACK if is_local else None,
        "interface": cluster.options.get("interface"),
        "protocol": "tls://",
        "security": security,
        "dashboard": False,
        "dashboard_address": HTTP,
    }
    return SpecCluster({}, {"cls": Scheduler, "options": options}, security=security)


def _keepers(cluster: Cluster, scheduler: str, security: Security) -> list[Keeper]:
    """Return the keepers of a cluster's hosts."""
    orders = HostOrders(
        scheduler,
        games=cluster.games,
        # a job that was forgotten ends
        patience=CONNECT,
        certificate=security.tls_ca_file,
        key=security.tls_worker_key,
    )
    options = cluster.options
    if cluster.kind == "local":
        workers = options.get("workers", 2)
        games = cluster.games or max(1, (os.cpu_count() or 1) // workers)
        orders = msgspec.structs.replace(orders, games=games, listen=_LOOPBACK)
        start = host_command(sys.executable), orders
        return [process_keeper(f"{n + 1} of {workers}", lambda: start) for n in range(workers)]
    python = options.get("python") or sys.executable
    if cluster.kind == "ssh":
        return [
            process_keeper(host, partial(_over_ssh, options, host, python, orders))
            for host in options["hosts"]
        ]
    orders = msgspec.structs.replace(
        orders,
        games=cluster.games or options["cores"],
        cpus=options["cores"] if cluster.pin else None,
        memory=dask.utils.parse_bytes(options["memory"]),
        interface=options.get("interface", ""),
    )
    return [slurm_keeper(slurm_script(options, python, orders), options["jobs"])]


def _over_ssh(
    options: dict[str, Any], host: str, python: str, orders: HostOrders
) -> tuple[Sequence[str], HostOrders]:
    """Return the command and the orders of a host that is reached by SSH.

    All connections go through the tunnels of SSH, both ways: no port is open to the network.
    """
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        near = probe.getsockname()[1]
    there, worker = SystemRandom().sample(_PORTS, 2)
    port = orders.scheduler.rpartition(":")[2]
    settings = {
        "User": options.get("username"),
        "Port": options.get("port"),
        "IdentityFile": options.get("key_file"),
        "UserKnownHostsFile": options.get("known_hosts"),
        "LocalForward": f"{_LOOPBACK}:{near} {_LOOPBACK}:{worker}",
        "RemoteForward": f"{_LOOPBACK}:{there} {_LOOPBACK}:{port}",
        "BatchMode": "yes",
        "ControlPath": "none",
        "ExitOnForwardFailure": "yes",
        "ConnectTimeout": 20,
        # a link that is cut is noticed within half a minute
        "ServerAliveInterval": 10,
    }
    words = [f"-o{name}={value}" for name, value in settings.items() if value]
    orders = msgspec.structs.replace(
        orders,
        scheduler=f"tls://{_LOOPBACK}:{there}",
        listen=f"{_LOOPBACK}:{worker}",
        contact=f"{_LOOPBACK}:{near}",
    )
    command = shlex.join(["exec", *host_command(python)])
    return ["ssh", "-T", *words, "--", host, command], orders
