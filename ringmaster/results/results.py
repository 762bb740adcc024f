"""A competition's results as one object, which reads them from the status file.

The file is opened only while something is read, so that a `Results` may be kept
for hours beside a run that is alive.  It shows what there was when it was made:
results are only ever added, so what comes later is left out by its number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringmaster.competitions.competition import MatchupInfo, Played, Trajectory
from ringmaster.control.changes import canonical_settings
from ringmaster.errors import RingmasterError, StoreCorrupt, StoreError
from ringmaster.event import Event
from ringmaster.model.players import GameName
from ringmaster.model.settings import canonical
from ringmaster.results.games import Game, make_game, moment
from ringmaster.results.matchups import MatchupResults, matchup_of
from ringmaster.results.rows import Columns, Value, survey
from ringmaster.storage.settled import settled
from ringmaster.storage.sqlite_store import SqliteStore
from ringmaster.storage.store import Recorded, Run, Store

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class RunInfo:
    """One run of the competition.

    ended    None while it goes on, and when it was killed
    reason   how it ended: "competition complete", …
    version  of the ringmaster that ran it
    parallel games at a time
    """

    number: int
    started: datetime | None
    ended: datetime | None
    reason: str
    version: str
    parallel: int


@dataclass(frozen=True)
class PlayerInfo:
    """A player of the control file, or one that has played a matchup.

    settings     what its Player(…) says, "command" included; {} when it is not
                 in the control file
    engine       what the engine calls itself, with its version, as last heard in
                 a matchup; "" if it has not been heard
    description  what it says of its configuration
    """

    code: str
    settings: dict[str, Any]
    engine: str = ""
    description: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        """Executable and arguments, () when it is not in the control file."""
        return tuple(self.settings.get("command", ()))


class Results:
    """The results of one competition as they were when this was made; read-only.

    Made by `load`.  All that reads games raises StoreError when the status file
    cannot be read, or is of another beginning (`reset`).

    path             the control file
    code             the competition code
    competition_type "playoff", "spsa", …
    game             "go", "chess" or "shogi"
    description      text of the control file, or None
    settings         all settings of the control file as JSON data
    completed, void  how many games count, and how many results do not
    total            games that the control file asks for, None for no limit
    runs             one RunInfo a run
    parameters       of a tuner, a dict each: code, value, …; else []
    candidates       of a tuner that has them, a dict each: parameters, games, …;
                     else []
    """

    def __init__(self, event: Event) -> None:
        """Read what there is.  Raises ControlFileError, StoreError; StoreChanged where
        another `Results` of another event may do."""
        self._event = event
        self._competition = event.competition
        self._folders = str(event.paths.games), str(event.paths.void)
        self._last = 0
        self._first_run: Run | None = None
        self.path: Path = event.paths.control
        self.code: str = event.code
        self.competition_type: str = event.competition.type_name
        self.game: GameName = event.loaded.values["game"]
        self.description: str | None = event.loaded.values["description"]
        self.completed = self.void = 0
        self.runs: list[RunInfo] = []
        if event.paths.status.exists():
            store = SqliteStore.open_readonly(event.paths.status)
            try:
                self._read(store)
            finally:
                store.close()
        self.total: int | None = self._competition.progress().total
        summary = self._competition.summary()
        self.parameters: list[dict[str, Any]] = summary.get("parameters", [])
        self.candidates: list[dict[str, Any]] = summary.get("candidates", [])

    def _read(self, store: Store) -> None:
        self._event.check_changes(store)
        with self._readable():
            self._event.restore(store)
        counts = store.counts()
        # every result counts as one or the other, and none is ever deleted
        self._last = sum(counts)
        self.completed, self.void = self._competition.games(*counts)
        for run in store.all_runs():
            self._first_run = self._first_run or run
            self.runs.append(
                RunInfo(
                    run.number,
                    moment(run.started),
                    moment(run.ended),
                    run.end_reason,
                    run.version,
                    run.parallel,
                )
            )

    def __repr__(self) -> str:
        return f"<Results of {self.path}: {self.competition_type}, {self.completed} games>"

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the control file as JSON data."""
        return canonical_settings(self._competition.table, self._event.loaded.values)

    # games

    def iter_games(self, *, void: bool = False, matchup: str | None = None) -> Iterator[Game]:
        """Yield the games that count, in order of recording; any number of them
        takes the same memory.

        void     whether to yield void games, too
        matchup  only the games of the matchup with this id
        """
        for recorded, played in self._played(void):
            if matchup is None or played.matchup == matchup:
                yield self._game(recorded, played)

    @cached_property
    def games(self) -> list[Game]:
        """The games that count, in order of recording."""
        return list(self.iter_games())

    @cached_property
    def void_games(self) -> list[Game]:
        """The results that do not count, in order of recording."""
        return [game for game in self.iter_games(void=True) if game.is_void]

    def _game(self, recorded: Recorded, played: Played) -> Game:
        return make_game(recorded, played, self.game, *self._folders)

    def _played(self, void: bool) -> Iterator[tuple[Recorded, Played]]:
        for recorded in self._recorded():
            if void or recorded.result.outcome != "void":
                with self._readable():
                    played = self._competition.describe(recorded.ticket)
                yield recorded, played

    def _recorded(self) -> Iterator[Recorded]:
        if not self._last:
            return
        store = self._open()
        try:
            for recorded in store.games():
                if recorded.seq > self._last:
                    return
                yield recorded
        finally:
            store.close()

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Translate what tickets lead to that ringmaster has not written."""
        try:
            yield
        except (LookupError, TypeError, ValueError) as error:
            raise StoreCorrupt(
                f"{self._event.paths.status} is damaged: a game's ticket cannot be read "
                f"({type(error).__name__}: {error})"
            ) from error

    def _open(self) -> Store:
        path = self._event.paths.status
        store = SqliteStore.open_readonly(path, lasting=True)
        runs = store.all_runs()
        if not runs or self._first_run is None or runs[0].started != self._first_run.started:
            store.close()
            raise StoreError(f"{path} was begun anew since it was loaded; load it again")
        return store

    def waiting_records(self) -> dict[tuple[str, int], str]:
        """Return the texts of game records that are not known to be on disk yet,
        by id and attempt."""
        if not self._last:
            return {}
        store = self._open()
        try:
            return {(p.game_id, p.attempt): p.text for p in store.pending()}
        finally:
            store.close()

    # statistics

    @cached_property
    def matchups(self) -> dict[str, MatchupResults]:
        """The matchups by id: those of the control file, those that were there
        and have been played, and the closing matches of a tune."""
        infos = self._competition.matchup_infos()
        found = {info.id: matchup_of(info, self.game) for info in infos}
        for recorded, played in self._played(void=True):
            id = played.matchup
            if not id:
                continue
            if id not in found:
                info = MatchupInfo(id, played.players, " v ".join(played.players))
                found[id] = matchup_of(info, self.game)
            found[id].take(self._game(recorded, played), played.pair)
        return found

    @cached_property
    def players(self) -> dict[str, PlayerInfo]:
        """The players by code: those of the control file, then others that have
        played a matchup."""
        definitions = self._event.loaded.values["players"]
        found = {}
        for code, definition in definitions.items():
            given = canonical(definition)
            found[code] = PlayerInfo(code, {k: v for k, v in given.items() if v is not None})
        for matchup in self.matchups.values():
            for side in matchup:
                info = found.get(side.code, PlayerInfo(side.code, {}))
                if side.engine or side.code not in found:
                    info = replace(info, engine=side.engine, description=side.description)
                found[side.code] = info
        return found

    # the course of a tune

    @cached_property
    def course(self) -> Trajectory | None:
        """The course of the tuned values, None for a type that tunes no player."""
        with self._readable():
            return self._competition.trajectory((r.ticket, r.result) for r in self._recorded())

    @property
    def trajectory(self) -> list[dict[str, float | None]]:
        """The tuned values after each iteration, in the order in which iterations came
        back: a flat dict each, as docs/results.rst describes it; [] for a type that tunes
        no player."""
        if self.course is None:
            return []
        names = self.course.names
        return [dict(zip(names, row, strict=True)) for row in self.course.rows()]

    # rows

    def columns(self, *, void: bool = False) -> Columns:
        """Return the columns of rows."""
        return survey(played.parameters for _, played in self._played(void))

    def iter_rows(self, *, void: bool = False) -> Iterator[dict[str, Value]]:
        """Yield one flat dict a game, all with the same keys: the columns of
        `export`, as docs/results.rst describes them."""
        columns = self.columns(void=void)
        names = columns.names
        for game in self.iter_games(void=void):
            yield dict(zip(names, columns.row(game), strict=True))

    def rows(self, *, void: bool = False) -> list[dict[str, Value]]:
        """Return `iter_rows` as a list, ready for `pandas.DataFrame`."""
        return list(self.iter_rows(void=void))

    def to_dataframe(self, *, void: bool = False) -> pandas.DataFrame:
        """Return the rows as a pandas DataFrame, with `finished` as a time.

        Raises RingmasterError when pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise RingmasterError(
                "to_dataframe needs pandas, which is not installed: pip install pandas"
            ) from None
        columns = self.columns(void=void)
        rows = [columns.row(game) for game in self.iter_games(void=void)]
        frame = pandas.DataFrame(rows, columns=columns.names)
        frame["finished"] = pandas.to_datetime(frame["finished"], utc=True)
        return frame


def load(path: str | os.PathLike[str]) -> Results:
    """Return the results of the competition that a control file describes, also
    while it runs; a competition that has not been run has none.

    Writes nothing.  Raises ControlFileError for a control file that is missing
    or wrong, or has been changed so that the results would lose their meaning,
    and StoreError for a status file that cannot be read.
    """
    return settled(lambda: Results(Event(Path(path))))
