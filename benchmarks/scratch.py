"""Folders for what is measured, which stay until the end of the measurement.

ext4 does not use an inode again within five seconds of its deletion, and looks for another
one by one: after thousands of game records have been deleted, making a file takes 130 to
210 µs instead of 60.  So nothing is deleted between two matches."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

_root: list[Path] = []


def folder() -> Path:
    """Return an empty folder, deleted when the program ends."""
    if not _root:
        _root.append(Path(tempfile.mkdtemp()))
        atexit.register(shutil.rmtree, _root[0], ignore_errors=True)
    return Path(tempfile.mkdtemp(dir=_root[0]))
