"""Output of exports: standard output, or a file that appears complete or not at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ringmaster.control.loader import OUTPUT_EXTENSIONS
from ringmaster.errors import StoreUnwritable, UsageError
from ringmaster.model.output_files import replacing
from ringmaster.storage.paths import OutputPaths

_TREE_LOG = ".tree.jsonl"


def check_output(output: Path | None, control: Path) -> None:
    """Raise UsageError for a file of a competition.

    output   None for standard output
    control  the control file
    """
    if output is None:
        return
    if OutputPaths(control).owns(output):
        raise UsageError(f"{output} belongs to the competition itself; give another --output")
    suffix = output.suffix.lower()
    if output.name.lower().endswith(_TREE_LOG):
        suffix = _TREE_LOG
    if suffix in (".ctl", _TREE_LOG, *OUTPUT_EXTENSIONS):
        raise UsageError(f"{output} would be mistaken for a {suffix} file; rename --output")


@contextmanager
def open_output(output: Path | None) -> Iterator[BinaryIO]:
    """Open a file, or standard output, for bytes: exports are UTF-8 on every terminal.

    A regular file is replaced at the end of the block, and stays unchanged after an error.

    Raises StoreUnwritable, BrokenPipeError.
    """
    if output is not None and (not output.exists() or output.is_file()):
        with replacing(output) as file:
            yield file
        return
    try:
        if output is None:
            sys.stdout.flush()
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            # a device or a pipe
            with output.open("wb") as stream:
                yield stream
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "the output" if output is None else str(output)
        raise StoreUnwritable(f"cannot write {name}: {error.strerror or error}") from error
