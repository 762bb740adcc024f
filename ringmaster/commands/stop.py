"""The verbs `reset` and `stop`, also for a control file that does not load."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ringmaster.commands.console import DONE, REPORTED, say
from ringmaster.commands.keep import contents_of
from ringmaster.errors import RingmasterError, UsageError, counted
from ringmaster.model.output_files import writing
from ringmaster.storage.lock import competition_lock, is_locked
from ringmaster.storage.paths import OutputPaths


def reset(arguments: argparse.Namespace) -> int:
    """Delete the output files after a question; return 1 if the answer is no."""
    paths = OutputPaths(arguments.control_file)
    if not arguments.control_file.exists():
        raise RingmasterError(f"there is no control file {arguments.control_file}")
    if not paths.existing():
        say("there is nothing to delete\n")
        return DONE
    # a live run is reported before the question
    with competition_lock(paths.locked):
        pass
    outputs = paths.removable()
    if outputs:
        say(_listed(paths, outputs))
        if not arguments.yes and not _confirmed():
            say("nothing was deleted\n")
            return REPORTED
    with competition_lock(paths.locked):
        paths.remove_all()
    return DONE


def _listed(paths: OutputPaths, outputs: list[Path]) -> str:
    """Return a line for each output: its name, size and contents."""
    rows = []
    total = 0
    for path in outputs:
        files = [f for f in path.rglob("*") if f.is_file()] if _is_folder(path) else [path]
        size = sum(file.lstat().st_size for file in files)
        total += size
        contents = counted(len(files), "file") if _is_folder(path) else ""
        if path == paths.status:
            contents = contents_of(path)
        name = str(path.relative_to(paths.control.absolute().parent)) + "/" * _is_folder(path)
        rows.append(f"  {name:<24} {_amount(size):>8}  {contents}".rstrip())
    rows.append(f"  {'in all':<24} {_amount(total):>8}")
    return "\n".join(["to be deleted:", *rows, f"{paths.control} stays", ""])


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _amount(size: float) -> str:
    """Return a number of bytes as "12 kB"."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def _confirmed() -> bool:
    """Return whether the user agrees.  Raises UsageError without a terminal."""
    if not sys.stdin.isatty():
        raise UsageError("reset needs --yes where it cannot ask; nothing was deleted")
    say("Delete these files? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def stop(arguments: argparse.Namespace) -> int:
    """Ask a run to end after its games in progress."""
    send(arguments.control_file, "stop")
    return DONE


def send(control_file: Path, command: str) -> None:
    """Give a run one of COMMANDS.  Raises RingmasterError if there is no run."""
    paths = OutputPaths(control_file)
    paths.check([path for path in (paths.log, paths.cmd) if path.exists()])
    if not is_locked(paths.locked):
        raise RingmasterError(f"{control_file} is not running")
    with writing(paths.cmd):
        paths.give_command(command)
