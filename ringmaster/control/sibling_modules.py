"""Import modules that lie beside a control file while it runs."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__))
_THIS_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INSTALLED = frozenset({"site-packages", "dist-packages"})


@contextmanager
def sibling_imports(tree: ast.Module, directory: Path) -> Iterator[None]:
    """Let the control file import modules of its directory, after all other folders.

    A `random.py` there hides nothing.  The modules are forgotten at the end of the block,
    so another control file imports its own; their functions continue to work.
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


def imported_siblings(tree: ast.Module, directory: Path) -> list[Path]:
    """Return the modules, without packages, that a file imports from its directory."""
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
    """Return whether a path without ".py" is a module or package."""
    return path.with_name(path.name + ".py").is_file() or path.is_dir()


def is_installed(file: str) -> bool:
    """Return whether a file belongs to Python, an installed package or ringmaster."""
    if file.startswith("<frozen ") or not _INSTALLED.isdisjoint(file.split(os.sep)):
        return True
    return any(file.startswith(folder + os.sep) for folder in (_STANDARD_LIBRARY, _THIS_PACKAGE))
