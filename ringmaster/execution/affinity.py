"""Which CPUs each worker keeps to, so that games at the same time do not take
turns on one.

A worker pins itself before it starts an engine, and engines inherit the set.
Hardware threads of one core go to the same worker where they can.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

from ringmaster.errors import UsageError

_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
_TOPOLOGY = Path("/sys/devices/system/cpu")


def parse_cpus(text: str) -> list[int]:
    """Return the CPUs of a list such as "0-3,8", in order and each once.

    Raises ValueError.
    """
    cpus: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (0, -1) if match is None else (int(match[1]), int(match[2] or match[1]))
        if last < first:
            raise ValueError(f"{text[:60]!r} is not a list of CPUs such as 0-3,8")
        cpus.update(range(first, last + 1))
    return sorted(cpus)


def core_of(cpu: int) -> str:
    """Return a name of the core that a CPU is a hardware thread of."""
    try:
        return (_TOPOLOGY / f"cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def share(
    cpus: Iterable[int], workers: int, core: Callable[[int], str] = core_of
) -> list[list[int]]:
    """Return the CPUs of each worker: as many for each, none for two.

    core  tells hardware threads of one core by its name

    Raises UsageError when there are fewer CPUs than workers.
    """
    known = list(cpus)
    if len(known) < workers:
        raise UsageError(
            f"{workers} games at a time cannot have CPUs of their own: there "
            f"{'is' if len(known) == 1 else 'are'} {len(known)}"
        )
    cores: dict[str, list[int]] = {}
    for cpu in known:
        cores.setdefault(core(cpu), []).append(cpu)
    if len(cores) >= workers:
        # whole cores: what one game does not then slow another down
        groups = list(cores.values())
        each = len(groups) // workers
        return [
            sorted(cpu for group in groups[i * each : (i + 1) * each] for cpu in group)
            for i in range(workers)
        ]
    ordered = [cpu for group in cores.values() for cpu in group]
    each = len(ordered) // workers
    return [sorted(ordered[i * each : (i + 1) * each]) for i in range(workers)]


def plan(cpus: str | None, workers: int) -> list[list[int]]:
    """Return the CPUs of each worker, out of a list in words, or of all that
    this process may use.

    Raises UsageError for CPUs that it may not use, and where the system has no
    way to pin a process.
    """
    return share(_chosen(cpus), workers)


def _chosen(cpus: str | None) -> list[int]:
    """Return the CPUs of a list in words, or all that this process may use.
    Raises UsageError."""
    if not hasattr(os, "sched_getaffinity"):
        raise UsageError("this system cannot keep a process to some of the CPUs")
    allowed = os.sched_getaffinity(0)
    if cpus is None:
        return sorted(allowed)
    try:
        wanted = parse_cpus(cpus)
    except ValueError as error:
        raise UsageError(str(error)) from None
    missing = [cpu for cpu in wanted if cpu not in allowed]
    if missing:
        raise UsageError(
            f"CPU {missing[0]} cannot be used here; there are {_words(sorted(allowed))}"
        )
    return wanted


def usable_cpus(cpus: str | None = None, *, root: Path = Path("/")) -> int:
    """Return how many CPUs games may keep busy: those of a list in words, or all that this
    process may use, as far as its control group grants it the time of so many.

    root  of the file system

    Raises UsageError.
    """
    if cpus is not None or hasattr(os, "sched_getaffinity"):
        count = len(_chosen(cpus))
    else:
        count = os.cpu_count() or 1
    return max(1, int(min([count, *_granted(root)])))


def _granted(root: Path) -> Iterator[float]:
    """Yield the CPUs whose time the control groups of this process may use up, of both
    versions of cgroups; nothing where there is no limit."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        parts = PurePosixPath(path).parts[1:]
        for depth in range(len(parts) + 1):
            # a container sees its own group at the root, whatever its path is called
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
    """Keep this process, and what it starts, to these CPUs.  A system that has
    taken one away meanwhile is left to do as it likes."""
    try:
        os.sched_setaffinity(0, set(cpus))
    except OSError:
        pass


def _words(cpus: list[int]) -> str:
    """Return CPUs as a list with ranges: 0-3,8."""
    parts: list[list[int]] = []
    for cpu in cpus:
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1].append(cpu)
        else:
            parts.append([cpu])
    return ",".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else f"{p[0]}" for p in parts)
