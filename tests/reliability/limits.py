"""Runs under limits of the system: room on the disk, descriptors, processes, memory."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.processes import LONG
from tests.program import environment, living_engines, ringmaster
from tests.reliability.killing import recorded, results

LIMITS: Mapping[str, int] = {
    "file size": resource.RLIMIT_FSIZE,
    "open files": resource.RLIMIT_NOFILE,
    "memory": resource.RLIMIT_AS,
}
#: A user who has no other processes.
NOBODY = 54321


class Limited(NamedTuple):
    """A run under a limit, and one without it.

    status    exit status of the limited run
    message   its standard error
    kept      results that it has recorded
    problems  of what follows
    """

    status: int
    message: str
    kept: int
    problems: list[str]


def run_limited(control: Path, limit: str, size: int) -> subprocess.CompletedProcess[str]:
    """Run a competition under a limit: bytes, or a number."""
    command = [sys.executable, "-m", "ringmaster", str(control), "run", "-q", "-j", "1"]
    if limit == "processes":
        # another user, who may read all files
        capability = "+dac_override"
        command = [
            *("setpriv", f"--reuid={NOBODY}", "--inh-caps", capability),
            *("--ambient-caps", capability, "prlimit", f"--nproc={size}", *command),
        ]

    def restrict() -> None:
        if limit in LIMITS:
            resource.setrlimit(LIMITS[limit], (size, size))

    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=3 * LONG,
        env=environment(),
        stdin=subprocess.DEVNULL,
        preexec_fn=restrict,
        start_new_session=True,
    )


def strain(control: Path, limit: str, size: int, expected: list[tuple[object, ...]]) -> Limited:
    """Run a competition under a limit, then without it, and compare with expected results."""
    done = run_limited(control, limit, size)
    return after(control, done, expected)


def after(
    control: Path, done: subprocess.CompletedProcess[str], expected: list[tuple[object, ...]]
) -> Limited:
    """Complete a competition after a limited run, and compare with expected results."""
    kept = recorded(control)
    problems = []
    if left := living_engines(control):
        problems.append(f"engines are left: {left}")
    again = ringmaster(control, "-q", "-j", "1")
    if again.returncode:
        problems.append(f"the next run failed: {again.stderr}")
    elif counted(control) != expected:
        problems.append("the results differ")
    return Limited(done.returncode, done.stderr.strip(), kept, problems)


def counted(control: Path) -> list[tuple[object, ...]]:
    """Return the results that count, in the order of the games."""
    return sorted((row for row in results(control) if row[2] != "void"), key=str)


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """Yield a new folder on a disk of `size` bytes.  Raises CalledProcessError: needs root."""
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        check=True,
        capture_output=True,
    )
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def grow_disk(folder: Path) -> None:
    """Make room on a small disk."""
    subprocess.run(["mount", "-o", "remount,size=100m", str(folder)], check=True)


def can_mount() -> bool:
    """Return whether `small_disk` may work."""
    return os.geteuid() == 0 and sys.platform == "linux"


def can_limit_processes() -> bool:
    """Return whether `run_limited` may limit processes."""
    return os.geteuid() == 0 and shutil.which("setpriv") is not None
