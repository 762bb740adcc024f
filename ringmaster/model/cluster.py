"""A Dask cluster as a control file describes it, and what a host reports of itself."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from ringmaster.errors import UsageError

Kind = Literal["address", "local", "slurm", "ssh"]


def is_address(text: str) -> bool:
    """Return whether a text is the address of a Dask scheduler: scheme, host and port."""
    return re.fullmatch(r"(tcp|tls|ws|wss)://[^\s/]+:\d{1,5}(/\S*)?", text) is not None


def check_encrypted(address: str, insecure: bool, remedy: str) -> None:
    """Raise UsageError for unencrypted connections that are not allowed expressly.

    remedy  what allows them
    """
    if not insecure and not address.startswith(("tls:", "wss:")):
        raise UsageError(
            f"{address} has no encryption: whoever reaches such a scheduler, every user of this "
            f"machine too, can run programs as you; use tls://, or allow it with {remedy}"
        )


class Calibration(msgspec.Struct, frozen=True):
    """Time controls follow the speed of each host, as OpenBench's do.

    player  code of the player whose engine is timed
    speed   nodes a second for which the control file's time controls are meant
    seconds  duration of the benchmark
    """

    player: str
    speed: float
    seconds: float = 2.0


class Tls(msgspec.Struct, frozen=True):
    """Files in PEM format for encrypted connections: authority, certificate, private key."""

    ca: str
    cert: str
    key: str


class Cluster(msgspec.Struct, frozen=True):
    """Where games are played instead of on this machine.

    address   the scheduler's, of kind "address"
    options   arguments of Dask's own deployment, for the other kinds
    games     games at a time on each worker, None: by the worker's resource "games", else
              its number of threads
    pin       whether each game has CPUs of its own
    memory    bytes for the engines of a game, None for no limit
    ship      files and folders that every worker gets
    insecure  whether the connections to `address` may be unencrypted
    share     part of the games at a time beside another run's, in proportion to its share
    priority  runs of a higher one get all games at a time that they can use
    reconnect  seconds to wait for a scheduler that does not answer
    wait_for_hosts  seconds without a host that can play until the run ends
    resources  tokens of each host, by resource
    """

    kind: Kind = "address"
    address: str = ""
    options: dict[str, Any] = {}
    games: int | None = None
    pin: bool = False
    memory: int | None = None
    calibrate: Calibration | None = None
    ship: tuple[str, ...] = ()
    tls: Tls | None = None
    insecure: bool = False
    share: float = 1.0
    priority: int = 0
    reconnect: float = 60.0
    wait_for_hosts: float = 600.0
    resources: dict[str, int] = {}


class Host(msgspec.Struct, frozen=True):
    """The host of a game.

    speed  its speed as a share of the calibration's, None without one
    load   its processes that wanted to run, per CPU, over the last minute
    """

    name: str
    speed: float | None = None
    load: float | None = None
