"""Plays and tunes game engines (Go, chess, shogi) from one control file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from ringmaster.results import Results

__version__ = "0.1.0"
__all__ = ["load"]


def is_compiled() -> bool:
    """Whether the modules of every move are extension modules (`scripts/compiling.py`)."""
    # not by importing one: `--version` takes no time
    from os import listdir
    from os.path import dirname

    return any(name.startswith("compiled__mypyc") for name in listdir(dirname(__file__)))


def load(path: str | os.PathLike[str]) -> Results:
    """Return the results of the competition that a control file describes.

    Works also while it runs, and writes nothing; see `ringmaster.results`.
    Raises RingmasterError.
    """
    # the command starts in no time because nothing is imported before it is used
    from ringmaster import results

    return results.load(path)
