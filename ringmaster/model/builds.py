"""Builds: an engine is the content of its program and of the files that its settings name.

A file is hashed once.  Later its size, times and inode show that it is the same.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec

from ringmaster.errors import EngineRebuilt
from ringmaster.model.players import Player, Source

#: Programs that run a script; their own versions do not matter.
_INTERPRETER: Final = re.compile(
    r"(python|pypy|perl|ruby|lua|node|java|mono|wine|wine64|(ba|da|k|z)?sh)[\d.]*"
)
#: Their options before a program's text or the name of a module.
_CODE: Final = ("-c", "-e", "-m")
#: Suffixes of settings and books.  Other texts may be logs, which the engine writes.
_TEXTS: Final = re.compile(r".*\.(cfg|conf|config|epd|fen|ini|json|pgn|sfen|toml|ya?ml)")
#: Names of settings whose files an engine writes.
_WRITTEN: Final = re.compile(
    "log|debug|experience|learn|hash ?file|session|cache|save|output", re.IGNORECASE
)
#: Bytes of files that are none, such as /proc/kcore.
_ENDLESS: Final = 1 << 40


class FileSum(msgspec.Struct, frozen=True):
    """The SHA-256 of a file, hexadecimal, "" for a file that is not there.

    mark  its size, times of the last changes and inode
    """

    sha256: str = ""
    mark: tuple[int, ...] = ()


class Build(msgspec.Struct, frozen=True):
    """One build of a player, with facts that its engine reported.

    player       code in reports
    files        by name as in the control file, the program first
    name         the engine's name with its version
    description  of its configuration (GTP)
    hash         megabytes after the player's options were set; None without such an option
    threads      the same for threads
    first_seen   time of its first result, seconds since the epoch
    source       the commit that its program was built from, None if unknown
    """

    player: str
    files: dict[str, FileSum] = {}
    name: str = ""
    description: str = ""
    hash: int | None = None
    threads: int | None = None
    first_seen: float = 0.0
    source: Source | None = None

    @property
    def label(self) -> str:
        """The build in a few characters (see `label`)."""
        return label(self.files.values())


def label(sums: Iterable[FileSum]) -> str:
    """Return the first digits of each SHA-256, the program's first: "3f9c…+77ab…"."""
    program, *others = [sum.sha256[:12] for sum in sums] or [""]
    return "+".join(filter(None, [program, *sorted(others)]))


def checksum(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file.  Raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def commit_sum(source: Source) -> FileSum:
    """Return the commit of a program as one more file of its build: a program may read others."""
    return FileSum(source.changes or source.commit)


@lru_cache(maxsize=10_000)
def _checksum_once(path: str, mark: tuple[int, ...]) -> str:
    return checksum(path)


def sum_of(path: str, known: Iterable[FileSum] = ()) -> FileSum:
    """Return a file's sum; of a folder, that of the names and sizes in it; of a file that is
    larger than any engine's, an empty one.

    known  earlier sums: one with the present mark is right
    """
    try:
        status = os.stat(path)
        mark = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        if stat.S_ISDIR(status.st_mode):
            listing = sorted((entry.name, entry.stat().st_size) for entry in os.scandir(path))
            return FileSum(hashlib.sha256(repr(listing).encode()).hexdigest(), mark)
        for sum in known:
            if sum.mark == mark:
                return sum
        is_file = stat.S_ISREG(status.st_mode) and status.st_size < _ENDLESS
        return FileSum(_checksum_once(path, mark), mark) if is_file else FileSum()
    except OSError:
        return FileSum()


class Watch:
    """Compares a player's files with those of its build at each start of a process.

    sums  of the builds' files, by path; other files count from their first use
    """

    def __init__(self, sums: Mapping[str, FileSum]) -> None:
        self._sums = dict(sums)

    def __call__(self, player: Player) -> str:
        """Return the label of the player's build.  Raises EngineRebuilt."""
        found = []
        for name, path in files_of(player).items():
            now = sum_of(path, [self._sums[path]] if path in self._sums else ())
            before = self._sums.setdefault(path, now)
            if now.sha256 != before.sha256:
                sums = f"SHA-256 {label([now])}, before {label([before])}"
                raise EngineRebuilt(f"{name} was rebuilt during the run: {sums}", player.code)
            found.append(now)
        if player.source is not None:
            found.append(commit_sum(player.source))
        return label(found)


def files_of(player: Player) -> dict[str, str]:
    """Return the paths of a player's files by name, the program first.

    A program is looked for as its start does, on the PATH or below the working directory; an
    interpreter's program is its script.  Other files are those that arguments, option values
    and variables name: programs, networks, books and settings, but no files that the engine
    writes.  The name of a program on the PATH is its word, that of another file its path.
    """
    program = name = path = player.command[0]
    if "/" in program:
        name = path = absolute(program, player.cwd)
    else:
        path = shutil.which(program, path=player.environ.get("PATH")) or program
    if _INTERPRETER.fullmatch(os.path.basename(program)):
        for word in player.command[1:]:
            place = absolute(word, player.cwd)
            if word in _CODE:
                break
            if word[:1] != "-" and (os.path.isfile(place) or file_words(word)):
                name = path = place
                break
    arguments, variables = named_paths(player, written=False)
    others = [place for place in (*arguments, *variables) if place != path and _counts(place)]
    return {name: path, **{place: place for place in others}}


def _counts(path: str) -> bool:
    """Return whether a file that is not the program is a part of a build."""
    if not os.path.isfile(path):
        return False
    if _TEXTS.fullmatch(path) or os.access(path, os.X_OK):
        return True
    try:
        with open(path, "rb") as file:
            return b"\0" in file.read(4096)
    except OSError:
        return False


def named_paths(player: Player, *, written: bool = True) -> tuple[list[str], list[str]]:
    """Return paths that may be files: those that arguments and option values name, and those of
    variables.  A bare word without a dot or slash is no name.

    written  also those that the engine writes, by the names of their settings
    """
    names = [word if word.startswith("-") else "" for word in player.command]
    words = zip(names, player.command[1:], strict=False)
    arguments = [*words, *player.options.items()]
    first, second = (
        [
            absolute(word, player.cwd)
            for name, text in texts
            if isinstance(text, str) and (written or not _is_written(name, text))
            for word in file_words(text)
        ]
        for texts in (arguments, player.environ.items())
    )
    return first, second


def _is_written(name: str, text: str) -> bool:
    """Return whether an engine writes the file of a setting, or of a word "--name=file"."""
    own_name, has_name, _ = text.partition("=")
    return _WRITTEN.search(own_name if has_name else name) is not None


def file_words(text: str) -> list[str]:
    """Return the parts of a word that may name a file, the longest first: "--weights=net.bin"
    has one, "wdl/:dtz/" two, and "exec ./engine" one."""
    parts = [text, text.partition("=")[2], *text.split(os.pathsep), *text.split()]
    return [part for part in dict.fromkeys(parts) if "/" in part or "." in part]


def absolute(word: str, cwd: str | None) -> str:
    """Return the path that a word names for a player with a working directory."""
    return os.path.normpath(os.path.join(cwd or os.getcwd(), os.path.expanduser(word)))
