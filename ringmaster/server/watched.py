"""A competition as the server sees it: its files, and the parts of its page made from them."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.errors import RingmasterError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.board import BoardGame
from ringmaster.page_data import make_page
from ringmaster.reporting.page import Page, render_parts
from ringmaster.results.boards import read_board, record_board
from ringmaster.results.results import Results
from ringmaster.storage.connect import retry_read
from ringmaster.storage.lock import is_locked
from ringmaster.storage.paths import OutputPaths
from ringmaster.storage.store import Store

#: Charts are made again after this many times the seconds that they took: a server beside a
#: run leaves the processors to the engines.
CHART_REST = 10.0
#: Rows of games on a live page.  Boards are fetched one by one.
ROWS = 500


class Watched:
    """One competition.  Not for several threads at a time.

    path  the control file
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.paths = OutputPaths(path)
        self._stamp: object = None
        self._loaded: tuple[object, LoadedCompetition] | None = None
        self._page: Page | None = None
        self._charts_due = 0.0

    @property
    def name(self) -> str:
        """The competition's code."""
        return self.path.stem

    def is_running(self) -> bool:
        """Whether a run is alive."""
        try:
            return is_locked(self.paths.log)
        except RingmasterError:
            return False

    def stamp(self) -> object:
        """Return a value that changes when the control file or the results change."""
        status = self.paths.status
        files = (self.path, status, Path(f"{status}-wal"))
        return (*map(_stamp, files), self.is_running())

    def page(self) -> Page:
        """Return the present page, made again if a file has changed.

        Raises RingmasterError, such as ControlFileError while the file is being edited.
        """
        stamp = self.stamp()
        now = time.monotonic()
        if self._page is None or stamp != self._stamp:
            with_charts = self._page is None or now >= self._charts_due
            page = retry_read(lambda: self._make(charts=with_charts))
            if with_charts:
                self._charts_due = time.monotonic() + CHART_REST * (time.monotonic() - now)
            elif self._page is not None:
                page = msgspec.structs.replace(page, groups=self._page.groups)
            self._page, self._stamp = page, stamp
        return self._page

    def _make(self, *, charts: bool) -> Page:
        loaded = self._load()
        if not self.paths.status.exists():
            return make_page(loaded, None, charts=charts, rows=ROWS, boards=False)
        store = Store.open_readonly(self.paths.status)
        try:
            return make_page(loaded, store, charts=charts, rows=ROWS, boards=False)
        finally:
            store.close()

    def _load(self) -> LoadedCompetition:
        """Return the competition without results; execute the control file if it has changed."""
        stamp = _stamp(self.path)
        if self._loaded is None or self._loaded[0] != stamp:
            self._loaded = stamp, LoadedCompetition(self.path)
        else:
            self._loaded[1].forget_results()
        return self._loaded[1]

    def parts(self) -> dict[str, Any]:
        """Return the parts of the page, or an "error" instead of them."""
        try:
            return {**render_parts(self.page()), "error": ""}
        except RingmasterError as error:
            return {"error": str(error)}

    def games_in_progress(self) -> list[BoardGame]:
        """Return the games in progress whose records are there, by name."""
        try:
            files = sorted(os.scandir(self.paths.live), key=lambda entry: entry.name)
        except OSError:
            return []
        games = []
        for file in files:
            if not file.name.endswith("~"):
                board = read_board(Path(file.path), in_progress=True)
                if board is not None:
                    games.append(board)
        return games

    def live_stamp(self) -> object:
        """Return a value that changes with the games in progress."""
        try:
            return tuple(
                sorted((e.name, e.stat().st_mtime_ns) for e in os.scandir(self.paths.live))
            )
        except OSError:
            return ()

    def game(self, number: int) -> BoardGame | None:
        """Return a recorded game by its number, None if it is not there."""
        return retry_read(lambda: record_board(Results(LoadedCompetition(self.path)), number))


def changed(parts: dict[str, Any], seen: dict[str, str]) -> dict[str, Any]:
    """Return the parts that differ from those seen, and note them in `seen`."""
    fresh = {}
    for key, value in parts.items():
        digest = hashlib.sha256(msgspec.json.encode(value)).hexdigest()
        if seen.get(key) != digest:
            seen[key] = digest
            fresh[key] = value
    return fresh


def competitions(folder: Path) -> Iterable[Path]:
    """Return the control files of a folder."""
    return sorted(path for path in folder.glob("*.ctl") if path.is_file())


def _stamp(path: Path) -> object:
    try:
        there = path.stat()
    except OSError:
        return None
    return there.st_mtime_ns, there.st_size, there.st_ino
