"""A machine as a host: a Dask worker that joins a scheduler, again and again.

`ringmaster worker` runs it by hand.  A run starts it on hosts of its own (`deployment`), with
orders as a line of standard input: keys and certificates never stand in a file or a command line.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import ssl
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress

import dask
import msgspec
from distributed import Worker
from distributed.comm.core import FatalCommClosedError
from distributed.core import rpc
from distributed.security import Security
from distributed.versions import VersionMismatchWarning

from ringmaster.errors import UsageError, counted
from ringmaster.execution import dask_host
from ringmaster.execution.affinity import claim, usable_cpus
from ringmaster.execution.dask_link import reason_of
from ringmaster.execution.dask_protocol import RESOURCE

#: Dask always has a server of HTTP: this machine only, on any free port.
HTTP = "127.0.0.1:0"
#: Seconds between two attempts to join.
RETRY = 5.0
#: Seconds for a scheduler to answer.
CONNECT = 30.0
#: Seconds between two tests whether the scheduler is there.
PULSE = 10.0
#: Seconds before the end of a batch job at which its host leaves.
LEAVE = 20.0

#: Errors that waiting does not mend, of certificates and of arguments; others are the network's.
_LASTING = FatalCommClosedError | ssl.SSLError | TypeError | ValueError
_LASTING_NUMBERS = errno.EACCES, errno.EADDRNOTAVAIL, errno.ENOENT


class HostOrders(msgspec.Struct, frozen=True):
    """Orders by which a machine becomes a host.

    scheduler  its address
    games      at a time; None for one on each CPU
    cpus       number of CPUs that no other host of the machine uses, None for all
    memory     bytes for its games, None for all
    listen, contact  own address (host:port, or a host), and that under which the scheduler
               reaches it, "" for Dask's choice
    interface  network interface for its own address, "" for Dask's choice
    patience   seconds without a scheduler after which it ends, None for never
    certificate, key  texts in PEM format, "" for files in Dask's configuration
    """

    scheduler: str
    games: int | None = None
    cpus: int | None = None
    memory: int | None = None
    listen: str = ""
    contact: str = ""
    interface: str = ""
    patience: float | None = None
    certificate: str = ""
    key: str = ""


def quieten() -> None:
    """Silence Dask: what it warns of, lost workers and cancelled tasks, is said elsewhere."""
    for name in ["distributed", *logging.root.manager.loggerDict]:
        if name.split(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore", VersionMismatchWarning)


async def greet(address: str, security: Security, seconds: float) -> None:
    """Raise an exception unless a Dask scheduler answers.

    A client waits without end for another kind of server that takes the connection.
    """
    arguments = security.get_connection_args("client")
    there = rpc(address, timeout=seconds, connection_args=arguments)
    try:
        await asyncio.wait_for(there.identity(), seconds)
    finally:
        await there.close_rpc()


async def serve(orders: HostOrders, say: Callable[[str], None]) -> None:
    """Play for a scheduler until a signal, again after each end of the connection.

    Raises UsageError for orders that will never do: wrong certificates, a wrong address.
    """
    # kept to the end
    claims = [] if orders.cpus is None else claim(orders.cpus)
    dask_host.has_own_cpus = bool(claims)
    quieten()
    # engines use memory, Dask does not
    shares = ("target", "spill", "pause", "terminate")
    dask.config.set({f"distributed.worker.memory.{share}": False for share in shares})
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    # of a job of Slurm
    end = os.environ.get("SLURM_JOB_END_TIME", "")
    if end.isdecimal():
        seconds = int(end) - time.time() - LEAVE
        dask_host.leaves = time.monotonic() + seconds
        loop.call_later(seconds, stop.set)
    staying = asyncio.ensure_future(_stay(orders, say))
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait((staying, stopping), return_when=asyncio.FIRST_COMPLETED)
    staying.cancel()
    with suppress(asyncio.CancelledError):
        await staying
    if stop.is_set():
        say(f"left {orders.scheduler}")


async def _stay(orders: HostOrders, say: Callable[[str], None]) -> None:
    """Join the scheduler whenever it answers, until it has been away for too long."""
    joined, reported = time.monotonic(), ""
    while True:
        try:
            async with await _join(orders) as worker:
                games = counted(int(worker.state.total_resources[RESOURCE]), "game")
                say(f"joined {orders.scheduler}: {games} at a time")
                ended = asyncio.ensure_future(worker.finished())
                while not (await asyncio.wait([ended], timeout=PULSE))[0]:
                    # a tunnel whose other end is gone leaves the connection open
                    await asyncio.wait_for(worker.scheduler.identity(n_workers=0), CONNECT)
            joined, reported, text = time.monotonic(), "", f"lost {orders.scheduler}"
        except Exception as error:
            text = f"cannot join {orders.scheduler}: {reason_of(error)}"
            if _will_stay(error):
                raise UsageError(text) from error
        if text != reported:
            say(f"{text}; trying again until it answers")
            reported = text
        if orders.patience is not None and time.monotonic() - joined > orders.patience:
            return
        await asyncio.sleep(RETRY)


def _will_stay(error: BaseException | None) -> bool:
    """Return whether joining again fails, too, because of a certificate or an argument."""
    if error is None or isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return False
    number = getattr(error, "errno", None)
    is_lasting = isinstance(error, _LASTING) or number in _LASTING_NUMBERS
    return is_lasting or _will_stay(error.__cause__)


async def _join(orders: HostOrders) -> Worker:
    """Return a worker that the scheduler knows.  Raises Exception."""
    security = Security()
    if orders.key:
        security = security_of(orders.certificate, orders.certificate, orders.key)
    await greet(orders.scheduler, security, CONNECT)
    games = orders.games or usable_cpus()
    host, _, port = orders.listen.partition(":")
    scheme = orders.scheduler.partition("://")[0]
    return await Worker(
        orders.scheduler,
        nthreads=games,
        resources={RESOURCE: games},
        memory_limit=orders.memory or 0,
        protocol=f"{scheme}://",
        host=host or None,
        port=int(port or 0),
        interface=orders.interface or None,
        contact_address=f"{scheme}://{orders.contact}" if orders.contact else None,
        security=security,
        dashboard_address=HTTP,
    )


def security_of(authority: str, certificate: str, key: str) -> Security:
    """Return the security of a cluster whose parts share a certificate (PEM texts or files)."""
    parts = [f"tls_{role}" for role in ("client", "scheduler", "worker")]
    return Security(
        tls_ca_file=authority,
        **{f"{part}_cert": certificate for part in parts},
        **{f"{part}_key": key for part in parts},
        require_encryption=True,
    )


if __name__ == "__main__":
    own = msgspec.json.decode(sys.stdin.buffer.readline(), type=HostOrders)
    try:
        asyncio.run(serve(own, lambda text: print(text, file=sys.stderr, flush=True)))
    except UsageError as error:
        sys.exit(str(error))
