"""Files that travel to hosts by content: hashed here, sent in chunks, checked and kept there.

A host keeps a shipped file in the user's cache, in a folder named by the file's SHA-256.
Nothing outside that folder is written.  A host that has the same file under the same path
uses its own.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from ringmaster.errors import ExecutorError
from ringmaster.model.builds import absolute, checksum, file_words, named_paths, sum_of
from ringmaster.model.jobs import EvaluationJob, GameJob, Job
from ringmaster.model.output_files import cache_folder
from ringmaster.model.players import Player

#: Bytes in one message.
CHUNK = 1 << 22


class ShippedFile(msgspec.Struct, frozen=True):
    """One file for the hosts.

    path     its absolute path on this machine
    root     the file or folder that it was named by, a part of `path`
    sha256   of its content, hexadecimal
    """

    path: str
    root: str
    sha256: str
    size: int
    executable: bool = False


def collect(names: Iterable[str]) -> list[ShippedFile]:
    """Return the files behind names of files and folders, hashed.

    Raises ExecutorError for one that cannot be read, or an empty folder.
    """
    files: dict[str, ShippedFile] = {}
    for name in names:
        found = regular_files(name)
        if not found:
            raise ExecutorError(f"cannot ship {name}: there is no such file, or an empty folder")
        for path in found:
            try:
                status = os.stat(path)
                files[path] = ShippedFile(
                    path, name, checksum(path), status.st_size, os.access(path, os.X_OK)
                )
            except OSError as error:
                raise ExecutorError(f"cannot ship {path}: {error.strerror}") from error
    return list(files.values())


def regular_files(name: str) -> list[str]:
    """Return a file, or the files in a folder and in folders that it links to; no devices."""
    if os.path.isfile(name):
        return [name]
    found, seen = [], set()
    for parent, folders, names in os.walk(name, followlinks=True):
        real = os.path.realpath(parent)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        found += [path for each in names if os.path.isfile(path := os.path.join(parent, each))]
    return sorted(found)


def files_of(player: Player) -> list[str]:
    """Return the files and folders that a player with `ship` names: its program, if written
    with a path; the files and folders among its arguments and option values; and files among
    its variables."""
    program = player.command[0]
    named, variables = named_paths(player)
    files = [program] if "/" in program else []
    files += filter(regular_files, named)
    files += filter(os.path.isfile, variables)
    return list(dict.fromkeys(files))


class Cache:
    """The shipped files of one host.

    folder  of all shipped files, by default that of the user's cache
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or cache_folder("files")
        #: Where each shipped name is on this host.
        self._places: dict[str, str] = {}

    def missing(self, files: Iterable[ShippedFile]) -> list[str]:
        """Return the paths of the files that this host needs; note the places of the others."""
        files = list(files)
        absent: list[str] = []
        for file in files:
            own = self._holds(file.path, file)
            kept = self._place(file)
            if own or self._holds(kept, file):
                self._places[file.path] = file.path if own else str(kept)
            else:
                absent.append(file.path)
        for root in {file.root for file in files if file.root != file.path}:
            members = [file for file in files if file.root == root]
            if all(file.path in self._places for file in members):
                self._places[root] = self._tree(root, members)
        return absent

    def write(self, file: ShippedFile, chunks: Iterable[bytes]) -> None:
        """Keep a shipped file.  Raises ExecutorError for other content than announced."""
        place = self._place(file)
        place.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        # complete or absent, also when two workers of a host write it
        descriptor, name = tempfile.mkstemp(dir=place.parent, prefix=".part-")
        try:
            with open(descriptor, "wb") as part:
                for chunk in chunks:
                    digest.update(chunk)
                    part.write(chunk)
            if digest.hexdigest() != file.sha256:
                raise ExecutorError(f"{file.path} arrived with other content than was sent")
            os.chmod(name, 0o755 if file.executable else 0o644)
            os.replace(name, place)
        except BaseException:
            os.unlink(name)
            raise

    def _place(self, file: ShippedFile) -> Path:
        return self._folder / file.sha256 / os.path.basename(file.path)

    def _holds(self, path: str | Path, file: ShippedFile) -> bool:
        """Return whether a path has a file's content, and may be run if it has to."""
        try:
            size = os.stat(path).st_size
        except OSError:
            return False
        # hashed only if it may be the file
        is_like = size == file.size and (not file.executable or os.access(path, os.X_OK))
        return is_like and sum_of(str(path)).sha256 == file.sha256

    def _tree(self, root: str, files: list[ShippedFile]) -> str:
        """Return a folder with links to the files of a shipped folder."""
        places = {os.path.relpath(file.path, root): self._places[file.path] for file in files}
        if all(self._places[file.path] == file.path for file in files):
            return root
        # another set of places is another folder: a link is never changed
        names = "\n".join(f"{name}\0{place}" for name, place in sorted(places.items()))
        key = hashlib.sha256(names.encode("utf-8", "surrogateescape")).hexdigest()
        folder = self._folder / key / os.path.basename(root.rstrip("/"))
        for name, place in places.items():
            link = folder / name
            link.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.symlink(place, link)
        return str(folder)

    def place(self, path: str) -> str:
        """Return where a file is on this host that may have been shipped."""
        return self._places.get(path, path)

    def localised(self, job: Job) -> Job:
        """Return a job with the paths of shipped files as they are on this host."""
        if not self._places:
            return job
        if isinstance(job, GameJob):
            first, second = job.players
            settings = job.settings
            if settings.tablebases is not None:
                paths = tuple(self._places.get(path, path) for path in settings.tablebases.paths)
                tables = msgspec.structs.replace(settings.tablebases, paths=paths)
                settings = msgspec.structs.replace(settings, tablebases=tables)
            if settings.referee is not None:
                referee = self._player(settings.referee)
                settings = msgspec.structs.replace(settings, referee=referee)
            players = (self._player(first), self._player(second))
            return msgspec.structs.replace(job, players=players, settings=settings)
        player = self._player(job.player)
        if isinstance(job, EvaluationJob):
            place = self._places.get(job.positions, job.positions)
            return msgspec.structs.replace(job, player=player, positions=place)
        return msgspec.structs.replace(job, player=player)

    def _player(self, player: Player) -> Player:
        program, *arguments = player.command
        options = {
            name: self._text(value, player.cwd) if isinstance(value, str) else value
            for name, value in player.options.items()
        }
        return msgspec.structs.replace(
            player,
            command=(
                self._places.get(program, program),
                *(self._text(word, player.cwd) for word in arguments),
            ),
            cwd=player.cwd and self._places.get(player.cwd, player.cwd),
            options=options,
            environ={name: self._text(text, player.cwd) for name, text in player.environ.items()},
        )

    def _text(self, text: str, cwd: str | None) -> str:
        """Return a word with the places of the files that it names."""
        for word in file_words(text):
            place = self._places.get(absolute(word, cwd))
            if place is not None and word == text:
                return place
            if place is not None:
                text = text.replace(word, place)
        return text
