"""Reaching or starting a Dask cluster, whose connections are encrypted.

A run starts its own hosts again for as long as it lasts, and ends them with it.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import socket
import ssl
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from random import SystemRandom
from typing import Any

import msgspec

from ringmaster.errors import ExecutorError, UsageError
from ringmaster.execution.affinity import usable_cpus
from ringmaster.execution.dask_link import DaskLink, Keeper, News, Upkeep, reason_of
from ringmaster.execution.dask_protocol import encode
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

from ringmaster.execution.host_process import (
    CONNECT,
    HTTP,
    HostOrders,
    greet,
    quieten,
    security_of,
)

#: Seconds between two attempts to start a host.
RETRY = 60.0
#: Seconds for a host to end by itself.
PATIENCE = 10.0
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
        cpus = max(1, usable_cpus() // workers)
        orders = msgspec.structs.replace(
            orders,
            games=cluster.games or cpus,
            cpus=cpus if cluster.pin else None,
            listen=_LOOPBACK,
        )
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
        "LocalForward": f"{_LOOPBACK}:{near} {_LOOPBACK}:{worker}",
        "RemoteForward": f"{_LOOPBACK}:{there} {_LOOPBACK}:{port}",
        "BatchMode": "yes",
        "ControlPath": "none",
        "ExitOnForwardFailure": "yes",
        "ConnectTimeout": 20,
        # a link that is cut is noticed within half a minute
        "ServerAliveInterval": 10,
    }
    words = [f"-o{name}={value}" for name, value in settings.items()]
    orders = msgspec.structs.replace(
        orders,
        scheduler=f"tls://{_LOOPBACK}:{there}",
        listen=f"{_LOOPBACK}:{worker}",
        contact=f"{_LOOPBACK}:{near}",
    )
    command = shlex.join(["exec", *host_command(python)])
    return ["ssh", "-T", *words, "--", host, command], orders


def host_command(python: str) -> list[str]:
    """Return the command of a host's process."""
    # -P: the current folder holds the user's files, not ours
    return [python, "-Pm", "ringmaster.execution.host_process"]


def process_keeper(
    name: str, start: Callable[[], tuple[Sequence[str], HostOrders]], retry: float = RETRY
) -> Keeper:
    """Return a keeper of one host's process.

    start  returns the command of the next process, and its orders
    """

    async def keep(post: Callable[[News], None]) -> None:
        reported = ""
        while True:
            began = time.monotonic()
            command, orders = start()
            status, output = await _call(command, encode(orders) + b"\n")
            reason = _last_line(output) or f"it ended with status {status}"
            if status < 0:
                reason = f"its process was killed by signal {-status}"
            lasted = time.monotonic() - began
            if reason != reported or lasted > RETRY:
                post(Upkeep(f"host {name} is down: {reason}; trying again each minute"))
                reported = reason
            await asyncio.sleep(max(min(1.0, retry), retry - lasted))

    return keep


async def _call(command: Sequence[str], input: bytes = b"") -> tuple[int, str]:
    """Run a command to its end, or end it when cancelled; return its status and output."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return 1, f"{command[0]}: {error.strerror}"
    try:
        output, _ = await process.communicate(input)
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), PATIENCE)
        except TimeoutError:
            process.kill()
    return process.returncode or 0, output.decode(errors="replace").strip()


def _last_line(output: str) -> str:
    return output.rpartition("\n")[2].strip()


def slurm_keeper(script: str, count: int, retry: float = RETRY) -> Keeper:
    """Return a keeper of so many Slurm jobs, each of them a host."""

    async def keep(post: Callable[[News], None]) -> None:
        jobs: list[str] = []
        reported = ""
        try:
            while True:
                status, output = await _call(["squeue", "--me", "--noheader", "--format=%A %t"])
                if status == 0:
                    rows = [line.split() for line in output.splitlines()]
                    states = {row[0]: row[1] for row in rows if len(row) == 2}
                    for job in [job for job in jobs if job not in states]:
                        jobs.remove(job)
                        text = f"Slurm job {job} has ended; another is submitted"
                        post(Upkeep(f"{text} (see slurm-{job}.out)"))
                    post(Upkeep(queued=sum(states[job] == "PD" for job in jobs)))
                while len(jobs) < count:
                    status, output = await _call(["sbatch", "--parsable"], script.encode())
                    last = _last_line(output)
                    if status:
                        if last != reported:
                            post(Upkeep(f"{last}; trying again each minute"))
                        reported = last
                        break
                    jobs.append(last.partition(";")[0])
                    reported = ""
                    post(Upkeep(f"Slurm job {jobs[-1]} is submitted", False, len(jobs)))
                await asyncio.sleep(retry)
        finally:
            if jobs:
                await _call(["scancel", *jobs])

    return keep


def slurm_script(options: dict[str, Any], python: str, orders: HostOrders) -> str:
    """Return a job's script, with the orders: only its owner can read it.

    options  of `Cluster.slurm`
    """
    directives = {
        "-J ": "ringmaster",
        "-p ": options.get("queue"),
        "-A ": options.get("account"),
        "-n ": 1,
        "--cpus-per-task=": options["cores"],
        "--mem=": f"{(orders.memory or 0) >> 20}M",
        "-t ": options.get("walltime"),
    }
    lines = [f"{name}{value}" for name, value in directives.items() if value]
    return "\n".join(
        [
            "#!/bin/sh",
            *(f"#SBATCH {line}" for line in [*lines, *options["directives"]]),
            # seconds of the epoch at which the time limit ends the job
            'export SLURM_JOB_END_TIME=$(date -d "$(squeue -h -j $SLURM_JOB_ID -o %e)" +%s)',
            *options["prologue"],
            f"exec {shlex.join(host_command(python))} <<'END'",
            encode(orders).decode(),
            "END",
            "",
        ]
    )
