"""The folder of protocol transcripts, of which the oldest are deleted."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Bytes of all transcripts of a competition.
MOST_BYTES: Final = 1 << 30
#: Share that remains when the oldest are deleted: the folder is rarely listed.
_REMAINS: Final = 0.9


@dataclass
class Transcripts:
    """Deletes the oldest transcripts above a limit.

    warn  shows and logs a message
    most  bytes of all files
    """

    folder: Path
    warn: Callable[[str], None]
    most: int = MOST_BYTES
    _bytes: int | None = None
    _has_deleted: bool = False

    def add(self, path: str) -> None:
        """Count a game's new transcript, which need not exist; delete the oldest if necessary."""
        if self._bytes is None:
            self._bytes = sum(size for _, _, size in self._files())
        else:
            with suppress(OSError):
                self._bytes += os.stat(path).st_size
        if self._bytes > self.most:
            self._delete_oldest()

    def _delete_oldest(self) -> None:
        files = sorted(self._files())
        total = sum(size for _, _, size in files)
        for _, path, size in files[:-1]:
            if total <= _REMAINS * self.most:
                break
            with suppress(OSError):
                os.unlink(path)
                total -= size
        self._bytes = total
        if not self._has_deleted:
            self._has_deleted = True
            self.warn(
                f"warning: the transcripts in {self.folder.name} have more than "
                f"{self.most / 1e9:.2g} GB; the oldest are deleted from now on"
            )

    def _files(self) -> list[tuple[int, str, int]]:
        """Return (time of the last change, path, size) of each transcript."""
        files = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(".log"):
                    status = entry.stat(follow_symlinks=False)
                    files.append((status.st_mtime_ns, entry.path, status.st_size))
        return files
