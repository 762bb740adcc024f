"""The reaper: a tiny process that outlives everything else of a run and kills
the engines that are left, so that none survives even when ringmaster and its
workers are killed with SIGKILL.  This one file is both the program (run as
`python -I -S watcher.py`, standard library only) and the few functions by which
a worker tells it what it has started.  Orderly ends (quit, SIGTERM, waiting)
are the business of `process`; the reaper only kills.

It reads lines of ASCII from its standard input, a pipe whose write end is held
by ringmaster and every worker; a line is shorter than PIPE_BUF, so that each
write is atomic:

    + <slot> <pid> <start time>   an engine was started, leader of its own session
    - <slot> <pid>                an engine has ended, with its whole group
    ! <slot>                      the worker in this slot has died: kill its engines
    = <marker>                    engines of this run have RINGMASTER_RUN=<marker>

When every writer is gone it kills the engines still registered, then (where
there is a /proc) every process of the same user that carries a marker, and
exits.  Lines that make no sense are ignored.

Where there is no /proc (macOS, the BSDs) the process group is all that can be
killed: a grandchild that leaves it survives, and an engine's process id that
has been reused by a new process group cannot be told apart.
"""

from __future__ import annotations

import os
import signal
import sys
import time

MARKER_NAME = "RINGMASTER_RUN"

_LINE_LIMIT = 512  # PIPE_BUF is at least this everywhere (POSIX)
_ROUNDS = 200  # of killing and looking again, _PAUSE seconds apart
_PAUSE = 0.01


# What a worker calls


def announce(fd: int | None, slot: int, pid: int) -> None:
    """Tell the reaper that the worker in `slot` started the engine `pid`.

    The engine must lead its own session.  Call it right after the start; does
    nothing when `fd` is None.  A reaper that is gone is no error: the worker
    still ends its own engines.
    """
    _tell(fd, f"+ {slot} {pid} {start_time(pid)}")


def retire(fd: int | None, slot: int, pid: int) -> None:
    """Tell the reaper that the engine `pid` has ended, with its whole group."""
    _tell(fd, f"- {slot} {pid}")


def start_time(pid: int) -> int:
    """Return when `pid` started, in clock ticks since boot; 0 when that cannot
    be known (no such process, no /proc).  With the pid it names a process for good."""
    status = _status(pid)
    return status.start if status else 0


def _tell(fd: int | None, line: str) -> None:
    if fd is not None:
        try:
            os.write(fd, line.encode("ascii") + b"\n")
        except BrokenPipeError:
            pass


# Looking at processes


class _Status:
    """One line of /proc/<pid>/stat, as far as it matters here."""

    __slots__ = ("group", "parent", "session", "start", "state")

    def __init__(self, text: bytes) -> None:
        # The second field is the program's name in brackets and may hold
        # anything, brackets and spaces too (proc_pid_stat(5)).
        fields = text.rpartition(b")")[2].split()
        self.state = fields[0]
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.session = int(fields[3])
        self.start = int(fields[19])


def _status(pid: int) -> _Status | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return _Status(file.read())
    except (OSError, ValueError, IndexError):
        return None


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _living() -> dict[int, _Status]:
    """Return every process that is not a zombie; empty where there is no /proc."""
    found = ((pid, _status(pid)) for pid in _pids())
    return {pid: s for pid, s in found if s is not None and s.state not in (b"Z", b"X")}


def _marked(markers: set[bytes]) -> list[int]:
    """Return the processes of this user whose environment carries a marker."""
    wanted = {MARKER_NAME.encode() + b"=" + marker for marker in markers}
    user = os.geteuid()
    found = []
    for pid in _pids() if wanted else ():
        try:
            if os.stat(f"/proc/{pid}").st_uid != user:
                continue
            with open(f"/proc/{pid}/environ", "rb") as file:
                environment = file.read()
        except OSError:
            continue
        if not wanted.isdisjoint(environment.split(b"\0")):
            found.append(pid)
    return found


def _belonging(engines: dict[int, int], living: dict[int, _Status]) -> set[int]:
    """Return the living processes of `engines` (pid: start time).

    These are its group, its session and its descendants.  The number of a
    group or session is not given to a new process while a member lives, so a
    leader with another start time means that the engine's group is long gone.
    """
    roots = {
        pid for pid, start in engines.items() if pid not in living or living[pid].start == start
    }
    found = {pid for pid, s in living.items() if s.group in roots or s.session in roots}
    found |= roots & living.keys()
    grown = True
    while grown:
        children = {pid for pid, s in living.items() if s.parent in found} - found
        found |= children
        grown = bool(children)
    return found


# Killing


def _signal(pid: int) -> None:
    if pid > 1 and pid != os.getpid():
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def kill_engines(engines: dict[int, int]) -> None:
    """Kill engines (pid: start time) with their groups, sessions and descendants."""
    if not engines:
        return
    if not os.path.exists("/proc/self/stat"):
        for pid in engines:
            try:
                os.killpg(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        return
    # A child whose parent was just killed has a new parent: what was once
    # found to belong is remembered with its start time.
    known: dict[int, int] = {}
    for _ in range(_ROUNDS):
        living = _living()
        known.update((pid, living[pid].start) for pid in _belonging(engines, living))
        left = [pid for pid, start in known.items() if pid in living and living[pid].start == start]
        if not left:
            return
        for pid in left:
            _signal(pid)
        time.sleep(_PAUSE)


def kill_marked(markers: set[bytes]) -> None:
    """Kill what carries a marker in its environment, wherever it has moved to."""
    for _ in range(_ROUNDS):
        left = _marked(markers)
        if not left:
            return
        for pid in left:
            _signal(pid)
        time.sleep(_PAUSE)


# The program


class Registry:
    """The engines that are alive as far as the reaper was told."""

    def __init__(self) -> None:
        self.engines: dict[int, dict[int, int]] = {}
        self.markers: set[bytes] = set()

    def obey(self, line: bytes) -> dict[int, int]:
        """Take one line; returns the engines (pid: start time) to be killed now."""
        words = line.split()
        verb = words[0] if words else b""
        if verb == b"=" and len(words) == 2:
            self.markers.add(words[1])
            return {}
        if not all(word.isdigit() for word in words[1:]):
            return {}
        numbers = [int(word) for word in words[1:]]
        if verb == b"+" and len(numbers) == 3 and numbers[1] > 1:
            slot, pid, start = numbers
            self.engines.setdefault(slot, {})[pid] = start
        elif verb == b"-" and len(numbers) == 2:
            slot, pid = numbers
            self.engines.get(slot, {}).pop(pid, None)
        elif verb == b"!" and len(numbers) == 1:
            return self.engines.pop(numbers[0], {})
        return {}

    def everything(self) -> dict[int, int]:
        """Return all engines, of whatever slot."""
        return {pid: start for engines in self.engines.values() for pid, start in engines.items()}


def main() -> None:
    """Read until the last writer is gone; kill what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    registry = Registry()
    rest = b""
    while data := os.read(0, 65536):
        *lines, rest = (rest + data).split(b"\n")
        rest = rest[:_LINE_LIMIT]
        for line in lines:
            kill_engines(registry.obey(line[:_LINE_LIMIT]))
    kill_engines(registry.everything())
    kill_marked(registry.markers)


if __name__ == "__main__":
    main()
    sys.exit(0)
