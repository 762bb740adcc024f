"""lark's parser for Python, from a cache.

Building the parser takes most of a second, reading it back a tenth.  The cache
holds lark's parse table as JSON: reading it makes no object but lark's own rules
and terminals, and runs no code.  It is used only when it is whole and could have
been written by nobody but the user.  Without a usable cache folder everything
still works, more slowly.  What a tree means is left to `positions`.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import json
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import lark
from lark.grammar import Rule
from lark.indenter import PythonIndenter
from lark.lexer import TerminalDef

#: Part of the cache key; to be raised when `_pack` changes.
_FORMAT = 1
_OPTIONS: dict[str, Any] = {
    "parser": "lalr",
    "lexer": "contextual",
    "start": ["file_input"],
    "maybe_placeholders": True,
}

Tree = lark.Tree[lark.Token]


def parse(text: str) -> Tree | None:
    """Return the syntax tree of Python source, with positions; None when lark's
    grammar does not accept it (it is narrower than CPython's)."""
    try:
        return _parser().parse(text + "\n")
    except Exception:
        # LarkError; but lark also fails by AssertionError and RecursionError,
        # and whatever it is, the file has been accepted by CPython already.
        return None


@functools.cache
def _parser() -> lark.Lark:
    return load_parser(default_folder())


def default_folder() -> Path | None:
    """Return the user's cache folder for ringmaster, None if there is none."""
    import platformdirs

    try:
        folder = Path(platformdirs.user_cache_dir("ringmaster", appauthor=False))
    except (OSError, RuntimeError, KeyError):  # no home directory
        return None
    return folder if folder.is_absolute() else None


def load_parser(folder: Path | None) -> lark.Lark:
    """Return the parser, from the cache in `folder` if that is sound; otherwise
    build it and leave it there if possible."""
    grammar = importlib.resources.files("lark").joinpath("grammars", "python.lark").read_text()
    file = None if folder is None else folder / f"python-grammar-{_key(grammar)}.json"
    if file is not None:
        data = _read(file)
        if data is not None:
            try:
                return _unpack(data)
            except Exception:  # whole and ours, yet not what `_pack` wrote: build anew
                pass
    parser = lark.Lark(grammar, postlex=PythonIndenter(), propagate_positions=True, **_OPTIONS)
    if file is not None:
        _write(file, _pack(parser))
    return parser


def _key(grammar: str) -> str:
    parts = [_FORMAT, lark.__version__, sys.version_info[:3], sorted(_OPTIONS.items()), grammar]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _pack(parser: lark.Lark) -> bytes:
    """Return the parser's tables: a line with the SHA-256 of the rest, then JSON."""
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    del data["options"]  # ours, and among them objects that are no data
    table = data["parser"]["parser"]
    # JSON has no integer keys; pairs keep them.
    table["tokens"] = list(table["tokens"].items())
    table["states"] = [(state, list(row.items())) for state, row in table["states"].items()]
    body = json.dumps({"data": data, "memo": list(memo.items())}, separators=(",", ":")).encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _unpack(packed: dict[str, Any]) -> lark.Lark:
    data = packed["data"]
    table = data["parser"]["parser"]
    table["tokens"] = dict(table["tokens"])
    table["states"] = {state: dict(row) for state, row in table["states"]}
    data["options"] = dict(_OPTIONS)
    # What lark's stand-alone parsers start from.
    load: Any = lark.Lark._load_from_dict
    parser: lark.Lark = load(
        data, dict(packed["memo"]), postlex=PythonIndenter(), propagate_positions=True
    )
    return parser


def _read(file: Path) -> dict[str, Any] | None:
    """Return the cached tables, or None when they are missing, damaged or
    could be somebody else's."""
    flags = os.O_RDONLY
    for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, flag, 0)
    try:
        with os.fdopen(os.open(file, flags), "rb") as stream:
            if not _is_private(os.fstat(stream.fileno())):
                return None
            digest, _, body = stream.read().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(body).hexdigest().encode() != digest:
        return None
    try:
        data = json.loads(body)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _is_private(status: os.stat_result) -> bool:
    """Whether nobody but this user can have written a regular file."""
    if not stat.S_ISREG(status.st_mode):
        return False
    if sys.platform == "win32":
        return True  # the cache folder lies in the user's profile, which is theirs alone
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _write(file: Path, content: bytes) -> None:
    """Put the file in place whole, whoever else does so meanwhile."""
    temporary = None
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(".tmp", file.stem + "-", file.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, file)
    except OSError:
        # A cache that cannot be written costs time, nothing else.
        if temporary is not None:
            try:
                os.unlink(temporary)
            except OSError:
                pass
