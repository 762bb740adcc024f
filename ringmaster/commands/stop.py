"""The actions `reset` and `stop`, also for a control file that does not load."""

from __future__ import annotations

import argparse
from pathlib import Path

from ringmaster.commands.console import DONE
from ringmaster.errors import RingmasterError, StoreUnwritable
from ringmaster.storage.lock import CompetitionLock, is_locked
from ringmaster.storage.paths import OutputPaths


def reset(arguments: argparse.Namespace) -> int:
    """Delete the output files."""
    paths = OutputPaths(arguments.control_file)
    if not arguments.control_file.exists():
        raise RingmasterError(f"there is no control file {arguments.control_file}")
    with CompetitionLock(paths.log):
        paths.remove_all()
    return DONE


def stop(arguments: argparse.Namespace) -> int:
    """Ask a run to end after its games in progress."""
    send(arguments.control_file, "stop")
    return DONE


def send(control_file: Path, command: str) -> None:
    """Give a run a command: a line in its remote control file.

    Raises RingmasterError if there is no run.
    """
    paths = OutputPaths(control_file)
    paths.check([path for path in (paths.log, paths.cmd) if path.exists()])
    if not is_locked(paths.log):
        raise RingmasterError(f"{control_file} is not running")
    try:
        paths.cmd.write_text(f"{command}\n", encoding="ascii")
    except OSError as error:
        raise StoreUnwritable(f"cannot write {paths.cmd}: {error.strerror}") from error
