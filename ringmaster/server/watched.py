"""A competition as the server sees it: its files, and the parts of its page made from them."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.errors import RingmasterError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.board import BoardGame
from ringmaster.page_data import make_page
from ringmaster.reporting.page import IndexRow, Page, render_parts
from ringmaster.results.boards import board_game, board_in_progress
from ringmaster.results.games import GameReader
from ringmaster.results.records import TAIL, Records
from ringmaster.storage.connect import retry_read
from ringmaster.storage.lock import is_locked
from ringmaster.storage.paths import OutputPaths

#: A page is made again after this many times the processor time that it took: a server beside a
#: run leaves the processors to the engines.
REST = 10.0
#: Rows of games on a live page.  Boards are fetched one by one.
ROWS = 500


class _LiveFile(msgspec.Struct):
    """The file of a game in progress, by `play.live_record`."""

    players: tuple[str, str]
    record: str


class Watched:
    """One competition.  Not for several threads at a time.

    path  the control file
    safe  whether it is evaluated in safe mode
    """

    def __init__(self, path: Path, safe: bool = False) -> None:
        self.path = path
        self.paths = OutputPaths(path)
        self._safe = safe
        self._stamp: tuple[object, ...] = ()
        self._loaded: tuple[object, LoadedCompetition] | None = None
        self._page: Page | None = None
        self._due = 0.0
        self._waits = False

    def is_running(self) -> bool:
        """Return whether a run is alive."""
        try:
            return is_locked(self.paths.locked)
        except RingmasterError:
            return False

    def stamp(self) -> tuple[object, ...]:
        """Return a value that changes when the control file or the results change."""
        status = self.paths.status
        files = (self.path, status, Path(f"{status}-wal"))
        return (*map(_stamp, files), self.is_running())

    def page(self) -> Page:
        """Return the page, all of it from one moment.

        It follows an edit, and the start and end of a run, at once; results once the last page
        has been paid for.  Raises RingmasterError, such as ControlFileError while the file is
        being edited.
        """
        stamp = self.stamp()
        self._waits = False
        if stamp != self._stamp:
            results_only = (stamp[0], stamp[-1]) == (*self._stamp[:1], *self._stamp[-1:])
            if self._page is not None and results_only and time.monotonic() < self._due:
                self._waits = True
                return self._page
            began = time.thread_time()
            page = retry_read(lambda: self._make(charts=True))
            if self._page is not None:
                # the first page imports half of the program
                self._due = time.monotonic() + REST * (time.thread_time() - began)
            self._page, self._stamp = page, stamp
        assert self._page is not None
        return self._page

    def is_due(self) -> bool:
        """Return whether the last page lacks results, and another may be made."""
        return self._waits and time.monotonic() >= self._due

    def hurry(self) -> None:
        """Let the next page have all results."""
        self._due = 0.0

    def _make(self, *, charts: bool) -> Page:
        loaded = self._load()
        with loaded.restored() as store:
            return make_page(loaded, store, charts=charts, most_games=ROWS, boards=False)

    def index_row(self) -> IndexRow:
        """Return the competition's row in an index."""
        try:
            is_fresh = self._page is not None and self.stamp() == self._stamp
            page = self._page if is_fresh else retry_read(lambda: self._make(charts=False))
            assert page is not None
        except RingmasterError as error:
            return IndexRow(self.path.stem, state="error", verdict=str(error).splitlines()[0])
        kind = page.title.partition(":")[0]
        label, done = page.facts[0]
        progress = done if label == "games" else f"{done} {label}"
        return IndexRow(self.path.stem, kind, page.state, progress, page.verdict)

    def _load(self) -> LoadedCompetition:
        """Return the competition without results; execute the control file if it has changed."""
        stamp = _stamp(self.path)
        if self._loaded is None or self._loaded[0] != stamp:
            self._loaded = stamp, LoadedCompetition(self.path, safe=self._safe)
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
                with contextlib.suppress(OSError, ValueError, RingmasterError):
                    games.append(self._board_in_progress(Path(file.path)))
        return games

    def _board_in_progress(self, path: Path) -> BoardGame:
        live = msgspec.json.decode(path.read_bytes(), type=_LiveFile)
        # a control file may be broken while it is edited; its game stays
        loaded = self._load() if self._loaded is None else self._loaded[1]
        kind = loaded.control_file.values["game"]
        return board_in_progress(kind, path.stem, live.players, live.record)

    def live_stamp(self) -> object:
        """Return a value that changes with the games in progress."""
        try:
            return tuple(
                sorted((e.name, e.stat().st_mtime_ns) for e in os.scandir(self.paths.live))
            )
        except OSError:
            return ()

    def game(self, number: int) -> BoardGame | None:
        """Return a recorded game by its number, None without a record.  Raises StoreError."""

        def read() -> BoardGame | None:
            loaded = self._load()
            # results tell the pairings of a swiss, and matchups that were removed
            with loaded.restored() as store:
                recorded = None if store is None else next(store.games(number - 1), None)
                if recorded is None or recorded.seq != number:
                    return None
                game = GameReader(loaded).game(recorded)
                record = Records(self.paths, game.game, store, TAIL).get(game)
            return None if record is None else board_game(game, record)

        return retry_read(read)


def _stamp(path: Path) -> object:
    try:
        there = path.stat()
    except OSError:
        return None
    return there.st_mtime_ns, there.st_size, there.st_ino
