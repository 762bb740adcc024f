"""The record of a game in progress, for boards that follow it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Final

import msgspec

from ringmaster.errors import StoreUnwritable
from ringmaster.model.output_files import make_folder, replacing

#: Least seconds between two writings, and before the first.
PERIOD: Final = 1.0


class LiveRecord:
    """Writes the players and the record of one game after another to a file, as JSON.

    folder  is made at the first writing; quick games need none

    Nothing raises: a game does not depend on those who watch it.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = ""
        self._codes = ("", "")
        self._due = 0.0

    def begin(self, game_id: str, codes: tuple[str, str]) -> None:
        """Begin a game; `codes` are the players' in move order."""
        self._path = os.path.join(self._folder, f"{game_id}.json")
        self._codes = codes
        self._due = time.monotonic() + PERIOD

    def is_due(self) -> bool:
        """Return whether the record should be written now."""
        return time.monotonic() >= self._due

    def write(self, text: str) -> None:
        """Write the record so far; a reader sees the old one or the new one."""
        with suppress(OSError, StoreUnwritable):
            make_folder(self._folder)
            with replacing(self._path) as file:
                file.write(msgspec.json.encode({"players": self._codes, "record": text}))
        self._due = time.monotonic() + PERIOD

    def end(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            os.unlink(self._path)
