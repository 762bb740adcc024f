"""Reaching or starting a Dask cluster."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import ssl
import sys
from contextlib import suppress
from typing import Any

from ringmaster.errors import ExecutorError, UsageError
from ringmaster.execution.dask_link import DaskLink
from ringmaster.model.cluster import Cluster

try:
    import dask
    from distributed import Client, LocalCluster, SSHCluster
    from distributed.core import rpc
    from distributed.security import Security
except ModuleNotFoundError as error:
    raise UsageError(
        f"a cluster needs the package {error.name!r}, which is missing; install it with "
        "pip install 'ringmaster-engines[cluster]'"
    ) from None

#: Seconds for a scheduler to answer at the start.
CONNECT = 30.0
#: Dask always has a server of HTTP: this machine only, on any free port.
_HTTP = "127.0.0.1:0"


def connect(cluster: Cluster) -> DaskLink:
    """Return a connection to a cluster; it closes what was started here.

    Raises ExecutorError.
    """
    # what it warns of, lost workers and cancelled tasks, is in the run's own notices
    for name in ["distributed", *logging.root.manager.loggerDict]:
        if name.split(".")[0] in ("distributed", "tornado", "asyncssh"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT:g}s"})
    security = _security(cluster)
    try:
        started = _start(cluster, security)
    except ExecutorError:
        raise
    except Exception as error:
        remedy = ""
        if "not trusted" in str(error):
            remedy = "; connect to it once with ssh, or give known_hosts"
        raise ExecutorError(f"cannot start the cluster: {_words(error)}{remedy}") from error
    patience = CONNECT if started is not None else min(CONNECT, cluster.reconnect)
    try:
        if started is None:
            asyncio.run(_greet(cluster.address, security or Security(), patience))
        client = Client(
            cluster.address if started is None else started,
            security=security,
            timeout=patience,
            set_as_default=False,
        )
    except Exception as error:
        if started is not None:
            started.close()
        raise ExecutorError(
            f"no scheduler answers at {cluster.address}: {_words(error)}"
        ) from error
    # how long it looks for a lost scheduler
    client._timeout = cluster.reconnect

    def release() -> None:
        with suppress(Exception):
            client.close(timeout=5)
        if started is not None:
            with suppress(Exception):
                started.close(timeout=10)

    return DaskLink(client, release, cluster.reconnect)


async def _greet(address: str, security: Security, seconds: float) -> None:
    """Raise an exception unless a Dask scheduler answers.

    A client waits without end for another kind of server that takes the connection.
    """
    arguments = security.get_connection_args("client")
    there = rpc(address, timeout=seconds, connection_args=arguments)
    try:
        await asyncio.wait_for(there.identity(), seconds)
    finally:
        await there.close_rpc()


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _security(cluster: Cluster) -> Security | None:
    tls = cluster.tls
    if tls is None:
        return None
    try:
        ssl.create_default_context(cafile=tls.ca).load_cert_chain(tls.cert, tls.key)
    except OSError as error:  # among them those of ssl, which name no file
        files = ", ".join(map(str, (tls.ca, tls.cert, tls.key)))
        raise ExecutorError(f"cannot use the TLS files {files}: {_words(error)}") from error
    return Security(
        tls_ca_file=tls.ca,
        **{
            f"tls_{role}_{part}": getattr(tls, part)
            for role in ("client", "scheduler", "worker")
            for part in ("cert", "key")
        },
        require_encryption=True,
    )


def _start(cluster: Cluster, security: Security | None) -> Any:
    """Start a cluster; return None for one that runs already."""
    if cluster.kind == "address":
        return None
    return {"local": _local, "slurm": _slurm, "ssh": _ssh}[cluster.kind](cluster, security)


def _local(cluster: Cluster, security: Security | None) -> LocalCluster:
    workers = cluster.options.get("workers", 2)
    games = cluster.games or max(1, (os.cpu_count() or 1) // workers)
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=games,
        resources={"games": games},
        dashboard_address=_HTTP,
        security=security,
        memory_limit=0,
        preload="ringmaster.execution.dask_host",
    )


def _slurm(cluster: Cluster, security: Security | None) -> Any:
    try:
        from dask_jobqueue import SLURMCluster
    except ModuleNotFoundError:
        raise ExecutorError(
            "Cluster.slurm needs dask-jobqueue; install it with "
            "pip install 'ringmaster-engines[cluster]'"
        ) from None
    if shutil.which("sbatch") is None:
        raise ExecutorError("Cluster.slurm needs `sbatch` on this machine, which is not there")
    options = cluster.options
    games = cluster.games or options["cores"]
    started = SLURMCluster(
        cores=games,
        job_cpu=options["cores"],
        processes=1,
        memory=options["memory"],
        walltime=options.get("walltime"),
        queue=options.get("queue"),
        account=options.get("account"),
        interface=options.get("interface"),
        job_extra_directives=list(options["directives"]),
        job_script_prologue=list(options["prologue"]),
        worker_extra_args=["--resources", f"games={games}"],
        python=options.get("python") or sys.executable,
        security=security,
        scheduler_options={"dashboard_address": _HTTP},
    )
    started.scale(jobs=options["jobs"])
    return started


def _ssh(cluster: Cluster, security: Security | None) -> Any:
    options = cluster.options
    hosts = options["hosts"]
    names = {"username": "username", "port": "port", "client_keys": "key_file"}
    names["known_hosts"] = "known_hosts"
    connection = {name: options[own] for name, own in names.items() if own in options}
    worker: dict[str, Any] = {}
    if cluster.games is not None:
        worker = {"nthreads": cluster.games, "resources": {"games": cluster.games}}
    return SSHCluster(
        [hosts[0], *hosts],
        connect_options=connection,
        worker_options=worker,
        scheduler_options={"dashboard": False, "dashboard_address": _HTTP},
        remote_python=options.get("python"),
        security=security,
    )
