"""Modules beside a control file: it may import them while it is run."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def modules_beside(tree: ast.Module, directory: Path) -> Iterator[None]:
    """Let the file's imports find modules of its directory, after all others: a
    `random.py` there hides nothing.

    When the file has been run they are forgotten, so that another control file
    of this process gets its own; functions that came from them go on working.
    """
    if not any(is_module(directory / name) for name in _imported(tree)):
        yield
        return
    before = set(sys.modules)
    writes = sys.dont_write_bytecode
    folder = str(directory)
    sys.path.append(folder)
    # no __pycache__ beside the results, and no stale one after a quick edit
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes
        for i in reversed(range(len(sys.path))):
            if sys.path[i] == folder:
                del sys.path[i]
                break
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and os.path.abspath(file).startswith(folder + os.sep):
                del sys.modules[name]


def imported_beside(tree: ast.Module, directory: Path) -> list[Path]:
    """Return the modules of a file's directory that the file imports, packages not."""
    paths = dict.fromkeys(directory / f"{name}.py" for name in _imported(tree))
    return [path for path in paths if path.is_file()]


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        yield from (name.partition(".")[0] for name in names)


def is_module(path: Path) -> bool:
    """Whether there is a module of this path, given without ".py"."""
    return path.with_name(path.name + ".py").is_file() or path.is_dir()
