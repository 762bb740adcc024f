"""CPUs for each worker, so that simultaneous games do not share one.

A worker pins itself before it starts an engine, and engines inherit the set.  Hardware
threads of one core go to the same worker where possible.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path, PurePosixPath

from ringmaster.errors import UsageError

_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
_TOPOLOGY = Path("/sys/devices/system/cpu")


def parse_cpus(text: str) -> list[int]:
    """Return the CPUs of a list such as "0-3,8", sorted.  Raises ValueError."""
    cpus: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (0, -1) if match is None else (int(match[1]), int(match[2] or match[1]))
        if last < first:
            raise ValueError(f"{text[:60]!r} is not a list of CPUs such as 0-3,8")
        cpus.update(range(first, last + 1))
    return sorted(cpus)


def own_cpus() -> list[int]:
    """Return the CPUs of this process; all, on a system that does not keep it to some (macOS)."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def core_of(cpu: int) -> str:
    """Return a name of the core to which a hardware thread belongs."""
    try:
        return (_TOPOLOGY / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def share(
    cpus: Iterable[int], workers: int, core: Callable[[int], str] = core_of
) -> list[list[int]]:
    """Return equally many CPUs for each worker, none for two.

    core  returns the name of a hardware thread's core

    Raises UsageError when there are fewer CPUs than workers.
    """
    available = list(cpus)
    if len(available) < workers:
        raise UsageError(
            f"{workers} games at a time cannot have CPUs of their own: there "
            f"{'is' if len(available) == 1 else 'are'} {len(available)}"
        )
    cores: dict[str, list[int]] = {}
    for cpu in available:
        cores.setdefault(core(cpu), []).append(cpu)
    # Whole cores where possible, so that no game slows another down.
    groups = list(cores.values())
    if len(groups) < workers:
        groups = [[cpu] for group in groups for cpu in group]
    each = len(groups) // workers
    return [sorted(chain(*groups[i * each : (i + 1) * each])) for i in range(workers)]


def plan(cpus: str | None, workers: int) -> list[list[int]]:
    """Return the CPUs of each worker from a list as text, or from all CPUs of this process.

    Raises UsageError for CPUs that this process may not use, and on systems that cannot
    pin a process.
    """
    return share(_chosen(cpus), workers)


def _chosen(cpus: str | None) -> list[int]:
    """Return the CPUs of a list as text, or all CPUs of this process.  Raises UsageError."""
    if not hasattr(os, "sched_getaffinity"):
        raise UsageError("this system cannot keep a process to some of the CPUs")
    allowed = own_cpus()
    if cpus is None:
        return allowed
    try:
        wanted = parse_cpus(cpus)
    except ValueError as error:
        raise UsageError(f"--affinity: {error}") from None
    missing = [cpu for cpu in wanted if cpu not in allowed]
    if missing:
        raise UsageError(
            f"--affinity: CPU {missing[0]} cannot be used here; there are "
            + ", ".join(map(str, allowed))
        )
    return wanted


def usable_cpus(cpus: str | None = None, *, root: Path = Path("/")) -> int:
    """Return how many CPUs games may keep busy: the CPUs of a list as text, or of this
    process, up to the CPU time that its control group grants.

    root  root of the file system

    Raises UsageError.
    """
    count = len(own_cpus() if cpus is None else _chosen(cpus))
    return max(1, int(min([count, *_granted(root)])))


def _granted(root: Path) -> Iterator[float]:
    """Yield the limits on CPU time of this process's control groups (cgroups 1 and 2), in
    CPUs."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        parts = PurePosixPath(path).parts[1:]
        for depth in range(len(parts) + 1):
            # A container sees its own group at the root, whatever its path.
            group = root.joinpath("sys/fs/cgroup", *([] if number == "0" else ["cpu"]))
            group = group.joinpath(*parts[:depth])
            if number == "0":
                words = _read(group / "cpu.max").split()
            elif "cpu" in controllers.split(","):
                names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
                words = [_read(group / name).strip() for name in names]
            else:
                continue
            if len(words) == 2 and all(word.isdecimal() and int(word) for word in words):
                yield int(words[0]) / int(words[1])


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def pin(cpus: Iterable[int]) -> None:
    """Restrict this process and its children to these CPUs; ignore a CPU that is gone."""
    with suppress(OSError):
        os.sched_setaffinity(0, set(cpus))


def claim(count: int) -> list[socket.socket]:
    """Restrict this process to some of its CPUs, whole cores first, that no other has claimed.

    A claim is the name of a socket, which one process has at a time; keep the sockets.  Two jobs
    of a batch system may share a node and all of its CPUs.  There may be fewer CPUs than wanted;
    raises UsageError if none is left.
    """
    cpus: list[int] = []
    claims: list[socket.socket] = []
    for cpu in sorted(_chosen(None), key=lambda cpu: (core_of(cpu), cpu)):
        name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            name.bind(f"\0ringmaster-cpu-{cpu}")
        except OSError:
            name.close()
            continue
        claims.append(name)
        cpus.append(cpu)
        if len(cpus) == count:
            break
    if not cpus:
        raise UsageError("other hosts have claimed all CPUs of this machine")
    pin(cpus)
    return claims
