"""Messages between a ringmaster and the hosts of a Dask cluster, as JSON."""

from __future__ import annotations

import platform
from typing import Any

import msgspec

from ringmaster.execution.shipping import ShippedFile
from ringmaster.model.jobs import Job
from ringmaster.model.players import Player
from ringmaster.model.results import JobResult

#: The worker resource that counts games at a time.
RESOURCE = "games"

encode = msgspec.json.encode


class Assignment(msgspec.Struct, frozen=True):
    """The orders of a run for each of its hosts.

    run       unique name of the run
    version   of ringmaster, which must be the host's
    work, setup  as for LocalExecutor
    reaper    module of the reaper's program, or None
    games     games at a time, None for the host's own number
    pin, memory  as in `model.cluster.Cluster`
    players   whose programs the host must have
    files     files that the host must have
    """

    run: str
    version: str
    work: str
    setup: dict[str, Any] = {}
    reaper: str | None = None
    games: int | None = None
    pin: bool = False
    memory: int | None = None
    players: tuple[Player, ...] = ()
    files: tuple[ShippedFile, ...] = ()


class HostFacts(msgspec.Struct, frozen=True):
    """The report of a host about itself.

    name      of its machine
    slots     games at a time
    cores     physical cores of its CPUs
    builds    SHA-256 of the players' files by name
    missing   paths of the files it needs
    refusal   why it cannot play, or ""
    python    its version of Python
    has_own_cpus  whether no other host of the machine uses its CPUs
    lasts     seconds until it leaves, None for no end
    """

    name: str
    slots: int = 0
    cpus: int = 0
    cores: int = 0
    builds: dict[str, str] = {}
    missing: tuple[str, ...] = ()
    refusal: str = ""
    python: str = platform.python_version()
    has_own_cpus: bool = False
    lasts: float | None = None


class NumberedJob(msgspec.Struct, frozen=True):
    """A job of a task, with its number in the run."""

    number: int
    job: Job


class Outcome(msgspec.Struct, frozen=True):
    """The end of a job: its result, or why it was lost; its transcript, if it has one."""

    number: int
    result: JobResult | None = None
    lost: str = ""
    transcript: bytes | None = None


class Answer(msgspec.Struct, frozen=True):
    """The answer of a task.

    seconds  a job took
    load     as in `model.cluster.Host`
    stderr   lines of the engines' standard error
    failure  why the host cannot play any more, or ""
    unprepared  whether the worker knows nothing of the run: it is another process, say
    """

    outcomes: tuple[Outcome, ...] = ()
    seconds: float = 0.0
    load: float | None = None
    stderr: tuple[str, ...] = ()
    failure: str = ""
    unprepared: bool = False
