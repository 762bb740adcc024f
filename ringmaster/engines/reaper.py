"""The reaper: a tiny process that outlives a run and kills the engines that are left.

No engine survives, even when ringmaster and its workers are killed with SIGKILL.  This file
is the program (`python -I -S reaper.py`, standard library only) and the functions by which
a worker registers its engines.  Orderly ends (quit, SIGTERM, waiting) are in `process`.

It reads lines of ASCII from its standard input, a pipe whose write end ringmaster and every
worker hold.  A line is shorter than PIPE_BUF, so each write is atomic:

    + <slot> <pid> <start time>   an engine was started, leader of its own group
    - <slot> <pid>                an engine has ended, with its whole group
    ! <slot>                      this slot's worker has died: kill its engines

When every writer is gone it kills the engines still registered, then leftovers, and exits.
Malformed lines are ignored.

The registration answers the kill of a worker by group, on every system.  The tag answers
processes that left the group, and a reaper that was killed itself; it needs Linux.  Each worker
carries it, a resource limit without any effect, which all its descendants inherit: it outlasts
setsid, a double fork, exec and a cleared environment.  A process is a leftover if it has the
tag of a worker that is dead.  The reaper kills leftovers at its start, after the death of a
worker, and at its end.

Without /proc (macOS, the BSDs) a reused process id is not recognised.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time

TYPE_CHECKING = False  # the constant of `typing`, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable

# RLIMIT_LOCKS, which Linux has ignored since 2.4.25 (getrlimit(2)).  Its soft value is
# 2**62, then the process namespace's number, then the worker's process id.
_TAG_LIMIT = 10
_PID_BITS = 22  # PID_MAX_LIMIT of Linux

# Servers that go into the background and serve engines of other workers, too: Wine's, and
# the connection of `ssh` with ControlPersist.
_SHARED = (b"wineserver", b"ssh")

_LINE_LIMIT = 512  # PIPE_BUF is at least this everywhere (POSIX)
_ROUNDS = 200  # of killing and looking again, _PAUSE seconds apart
_PAUSE = 0.01


# Functions for workers


def announce(fd: int | None, slot: int, pid: int) -> None:
    """Register the engine `pid` of the worker in `slot` right after its start.

    The engine must lead its own process group.  Does nothing when `fd` is None.  A dead
    reaper is no error: the worker still ends its own engines.
    """
    _write(fd, f"+ {slot} {pid} {start_time(pid)}")


def retire(fd: int | None, slot: int, pid: int) -> None:
    """Unregister an engine that has ended with its whole group."""
    _write(fd, f"- {slot} {pid}")


def start_time(pid: int) -> int:
    """Return the start of a process in clock ticks since boot; 0 when it is unknown (no such
    process, no /proc).  Pid and start time identify a process for good."""
    status = read_status(pid)
    return status.start if status else 0


def _write(fd: int | None, line: str) -> None:
    if fd is not None:
        try:
            os.write(fd, line.encode("ascii") + b"\n")
        except BrokenPipeError:
            pass


def tag_worker() -> None:
    """Tag this process, and with it every process that it starts from now on, as a worker's.

    Does nothing where the system has no such limit, or an administrator has set it.
    """
    if sys.platform == "linux":
        hard = resource.getrlimit(_TAG_LIMIT)[1]
        try:
            resource.setrlimit(_TAG_LIMIT, (_first_tag() + os.getpid(), hard))
        except (OSError, ValueError):
            pass


# Looking at processes


class Status:
    """Some fields of /proc/<pid>/stat."""

    __slots__ = ("group", "name", "start", "state")

    def __init__(self, text: bytes) -> None:
        # The second field is the program's name in brackets, which may contain brackets
        # and spaces (proc_pid_stat(5)).
        head, _, tail = text.rpartition(b")")
        self.name = head.partition(b"(")[2]
        fields = tail.split()
        self.state = fields[0]
        self.group = int(fields[2])
        self.start = int(fields[19])

    def is_alive(self) -> bool:
        """Return whether the process is no zombie."""
        return self.state not in (b"Z", b"X")

    def may_be_shared(self) -> bool:
        """Return whether it may be a server that engines of several workers use."""
        return self.name in _SHARED or self.name.endswith(b".exe")


def read_status(pid: int) -> Status | None:
    """Return a process's status, None if there is no such process or no /proc."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return Status(file.read())
    except (OSError, ValueError, IndexError):
        return None


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _first_tag() -> int:
    """Return the tag of process 0 in this process namespace.

    A container's processes, visible from outside under other ids, have other tags.
    """
    return (1 << 62) + (os.stat("/proc/self/ns/pid").st_ino << _PID_BITS)


def _leftovers(*, shared: bool) -> list[int]:
    """Return living processes of this user with the tag of a dead worker.

    shared  whether to include servers that other workers may use
    """
    if sys.platform != "linux":
        return []
    first, user = _first_tag(), os.geteuid()
    workers: dict[int, tuple[int, Status]] = {}
    for pid in _pids():
        try:
            worker = resource.prlimit(pid, _TAG_LIMIT)[0] - first
            if 0 < worker < 1 << _PID_BITS and os.stat(f"/proc/{pid}").st_uid == user:
                status = read_status(pid)
                if status is not None and status.is_alive():
                    workers[pid] = worker, status
        except OSError:
            continue
    return [
        pid
        for pid, (worker, status) in workers.items()
        if worker not in workers and (shared or not status.may_be_shared())
    ]


# Killing


def kill(pid: int) -> None:
    """Kill a process that may be gone."""
    if pid > 1 and pid != os.getpid():
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def kill_engines(engines: dict[int, int]) -> None:
    """Kill engines (pid: start time) with their groups.

    The number of a group is not reused while a member lives, so a leader with another start
    time means that the engine's group is gone.
    """
    groups = {pid for pid, start in engines.items() if start_time(pid) in (0, start)}
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    if groups:
        _kill_all(lambda: _members(groups))


def _members(groups: set[int]) -> list[int]:
    """Return the living processes of groups; [] without /proc."""
    statuses = ((pid, read_status(pid)) for pid in _pids())
    return [pid for pid, s in statuses if s is not None and s.is_alive() and s.group in groups]


def kill_leftovers(*, shared: bool = True) -> int:
    """Kill processes that engines of dead workers have left; return their number.

    shared  whether to kill servers that other workers may use
    """
    return _kill_all(lambda: _leftovers(shared=shared))


def _kill_all(find: Callable[[], list[int]]) -> int:
    """Kill processes until `find` returns none; return their number."""
    killed: set[int] = set()
    for _ in range(_ROUNDS):
        left = find()
        if not left:
            break
        killed.update(left)
        for pid in left:
            kill(pid)
        time.sleep(_PAUSE)
    return len(killed)


# The program


def register(slots: dict[int, dict[int, int]], line: bytes) -> dict[int, int]:
    """Handle one line; return the engines (pid: start time) to kill now.

    slots  the registered engines, by slot
    """
    words = line.split()
    verb = words[0] if words else b""
    if not all(word.isdigit() for word in words[1:]):
        return {}
    numbers = [int(word) for word in words[1:]]
    if verb == b"+" and len(numbers) == 3 and numbers[1] > 1:
        slot, pid, start = numbers
        slots.setdefault(slot, {})[pid] = start
    elif verb == b"-" and len(numbers) == 2:
        slot, pid = numbers
        slots.get(slot, {}).pop(pid, None)
    elif verb == b"!" and len(numbers) == 1:
        return slots.pop(numbers[0], {})
    return {}


def main() -> None:
    """Read until the last writer is gone; then kill the remaining engines."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    kill_leftovers(shared=False)
    slots: dict[int, dict[int, int]] = {}
    rest = b""
    while data := os.read(0, 65536):
        *lines, rest = (rest + data).split(b"\n")
        rest = rest[:_LINE_LIMIT]
        for line in lines:
            kill_engines(register(slots, line[:_LINE_LIMIT]))
            if line.startswith(b"!"):
                kill_leftovers(shared=False)
    left = slots.values()
    kill_engines({pid: start for engines in left for pid, start in engines.items()})
    kill_leftovers()


if __name__ == "__main__":
    main()
    sys.exit(0)
