"""Builds: an engine is the content of its program and of the files that its settings name.

A file is hashed once.  Later its size, times and inode show that it is the same.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from ringmaster.errors import EngineRebuilt
from ringmaster.model.players import Player

#: Programs that run a script; their own versions do not matter.
_INTERPRETER: Final = re.compile(
    r"(python|pypy|perl|ruby|lua|node|java|mono|wine|wine64|(ba|da|k|z)?sh)[\d.]*"
)
#: Their options before a program's text or the name of a module.
_CODE: Final = ("-c", "-e", "-m")
_CHUNK: Final = 1 << 20


class FileSum(msgspec.Struct, frozen=True):
    """The content of a file.

    sha256  of its first `size` bytes, hexadecimal; "" for a file that was not there
    mark    size, times of the last changes and inode; () for a file that was not there
    """

    sha256: str = ""
    size: int = 0
    mark: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.sha256[:12]


class Build(msgspec.Struct, frozen=True):
    """One build of a player, with facts that its engine reported.

    player, number  code, and number among the player's builds, from 1
    files        by name as in the control file, the program first
    name         the engine's name with its version
    description  of its configuration (GTP)
    hash         megabytes after the player's options were set; None without such an option
    threads      the same for threads
    first_seen   time of its first result, seconds since the epoch
    """

    player: str
    number: int = 1
    files: dict[str, FileSum] = {}
    name: str = ""
    description: str = ""
    hash: int | None = None
    threads: int | None = None
    first_seen: float = 0.0

    @property
    def label(self) -> str:
        """The build in a few characters (see `label`)."""
        return label(self.files)

    def has_files(self, files: Mapping[str, FileSum]) -> bool:
        """Return whether these files have the build's contents, whatever their names."""
        own, others = ([sum.sha256 for sum in x.values()] for x in (self.files, files))
        return own[:1] == others[:1] and sorted(filter(None, own)) == sorted(filter(None, others))


def label(files: Mapping[str, FileSum]) -> str:
    """Return the first digits of the SHA-256 of each file: "3f9c…+77ab…"."""
    return "+".join(str(sum) for sum in files.values() if sum.sha256)


def checksum(path: str | os.PathLike[str], size: int | None = None) -> str:
    """Return the SHA-256 of a file, or of its first `size` bytes.  Raises OSError."""
    with open(path, "rb") as file:
        if size is None:
            return hashlib.file_digest(file, "sha256").hexdigest()
        digest = hashlib.sha256()
        while size > 0 and (data := file.read(min(size, _CHUNK))):
            digest.update(data)
            size -= len(data)
        return digest.hexdigest()


def _is_text(path: str) -> bool:
    with open(path, "rb") as file:
        return b"\0" not in file.read(4096)


def _mark(status: os.stat_result) -> tuple[int, ...]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


@lru_cache(maxsize=10_000)
def _checksum_once(path: str, mark: tuple[int, ...]) -> str:
    return checksum(path)


class FileSums:
    """Sums of files; a file is hashed again only when its mark differs.

    known  by path
    """

    def __init__(self, known: Mapping[str, FileSum] = {}) -> None:
        self._known = dict(known)

    def of(self, path: str) -> FileSum:
        """Return a file's sum; of a folder, that of the names and sizes in it.

        A file that is not there, or cannot be read, has an empty one.
        """
        try:
            status = os.stat(path)
            if stat.S_ISDIR(status.st_mode):
                listing = sorted((x.name, x.stat().st_size) for x in os.scandir(path))
                digest = hashlib.sha256(msgspec.json.encode(listing)).hexdigest()
                return FileSum(digest, 0, _mark(status))
            if not stat.S_ISREG(status.st_mode):
                return FileSum()
            known, mark = self._known.get(path), _mark(status)
            if known is not None and known.mark == mark:
                return known
            return FileSum(_checksum_once(path, mark), status.st_size, mark)
        except OSError:
            return FileSum()

    def is_same(self, path: str, before: FileSum, *, may_grow: bool) -> bool:
        """Return whether a file has the content that it had, or is not there.

        may_grow  whether it may be a log, which the engine writes: then it may be a longer text
        """
        if may_grow and not before.size:
            return True
        now = self.of(path)
        if not now.mark or now.sha256 == before.sha256:
            return True
        return (
            may_grow
            and now.size > before.size
            and _is_text(path)
            and checksum(path, before.size) == before.sha256
        )


class Watch:
    """Compares a player's files with those of its build at each start of a process.

    files  of the builds, by path
    """

    def __init__(self, files: Mapping[str, FileSum]) -> None:
        self._files = dict(files)
        self._sums = FileSums({path: sum for path, sum in files.items() if sum.mark})

    def __call__(self, player: Player) -> str:
        """Return the label of the player's build.  Raises EngineRebuilt."""
        files: dict[str, FileSum] = {}
        for name, path in files_of(player).items():
            is_program = not files
            if is_program and not self._files.get(path, FileSum()).sha256:
                # a candidate's own program
                self._files[path] = self._sums.of(path)
            before = files[name] = self._files.get(path, FileSum())
            if not self._sums.is_same(path, before, may_grow=not is_program):
                now = self._sums.of(path)
                raise EngineRebuilt(
                    f"{name} was rebuilt during the run: SHA-256 {now}, before {before}",
                    player.code,
                )
        return label(files)


def files_of(player: Player) -> dict[str, str]:
    """Return the paths of a player's files by name, the program first.

    An interpreter's program is its script.  Other files are those that arguments, option
    values and variables name.  They need not be there; logs (.log) and folders are left out.
    """
    arguments, options = named_paths(player)
    program = player.command[0]
    path = program_path(player)
    if _INTERPRETER.fullmatch(os.path.basename(program)):
        for word in player.command[1:]:
            place = absolute(word, player.cwd)
            if word in _CODE:
                break
            if word[:1] != "-" and (os.path.isfile(place) or file_words(word)):
                program, path = word, place
                break
    named = {**arguments, **options}
    others = {
        name: place
        for name, place in named.items()
        if place != path and not place.endswith(".log") and not os.path.isdir(place)
    }
    return {program: path, **others}


def program_path(player: Player) -> str:
    """Return where the start of a player finds its program: below its working directory, or
    on its PATH; the name alone for a program that is not there."""
    name = player.command[0]
    if "/" in name:
        return absolute(name, player.cwd)
    found = shutil.which(name, path=player.environ.get("PATH"))
    return name if found is None else absolute(found, player.cwd)


def named_paths(player: Player) -> tuple[dict[str, str], dict[str, str]]:
    """Return paths that may be files by the words that name them: those of arguments and
    option values, and those of variables.  A bare word without a dot or slash is no name."""
    options = [value for value in player.options.values() if isinstance(value, str)]
    texts = (*player.command[1:], *options), player.environ.values()
    first, second = (
        {word: absolute(word, player.cwd) for text in group for word in file_words(text)}
        for group in texts
    )
    return first, second


def file_words(text: str) -> list[str]:
    """Return the parts of a word that may name a file, the longest first: "--weights=net.bin"
    has one, "wdl/:dtz/" two, and "exec ./engine" one."""
    parts = [text, text.partition("=")[2], *text.split(os.pathsep), *text.split()]
    return [part for part in dict.fromkeys(parts) if "/" in part or "." in part]


def absolute(word: str, cwd: str | None) -> str:
    """Return the path that a word names for a player with a working directory."""
    return os.path.normpath(os.path.join(cwd or os.getcwd(), os.path.expanduser(word)))
