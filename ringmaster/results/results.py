"""Read a competition's results from its status file.

The file is open only during a read, so a `Results` may exist for hours beside a run.  It shows
the results at the time of its making: later results have higher numbers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringmaster.competitions.common_settings import find_player
from ringmaster.competitions.competition import MatchupInfo, Played, Trajectory
from ringmaster.control.changes import canonical_settings
from ringmaster.errors import RingmasterError, StoreError, counted, shown
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.canonical import canonical
from ringmaster.model.players import GameName
from ringmaster.model.report import ChartGroup, Report
from ringmaster.results.frames import (
    MATCHUP_COLUMNS,
    PLAYER_COLUMNS,
    frame_of,
    make_frame,
    matchup_row,
    player_row,
)
from ringmaster.results.games import Game, RowColumns, Value, make_game, moment, survey
from ringmaster.results.matchups import MatchupResults, matchup_of
from ringmaster.storage.connect import retry_read
from ringmaster.storage.entries import RunEntry, StoredGame
from ringmaster.storage.store import Store

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

#: Tables of `Results.to_dataframe`.
TABLES = ("games", "matchups", "players", "parameters", "candidates", "trajectory")


@dataclass(frozen=True)
class RunInfo:
    """One run of the competition.

    ended     None during the run, and after a kill
    reason    of its end: "competition complete", …
    version   of ringmaster
    parallel  games at a time
    """

    number: int
    started: datetime | None
    ended: datetime | None
    reason: str
    version: str
    parallel: int


@dataclass(frozen=True)
class PlayerInfo:
    """A player of the control file or of a recorded matchup.

    settings     arguments of its Player(…), with limits and options of all players; {} if
                 it is not in the control file
    engine       the engine's own name with its version in its last game; "" if unknown
    description  the engine's description of its configuration
    """

    code: str
    settings: dict[str, Any]
    engine: str = ""
    description: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        """Executable and arguments; () if it is not in the control file."""
        return tuple(self.settings.get("command", ()))


class Results:
    """The results of one competition at one time, read-only; made by `load`.

    Reading games raises StoreError when the status file cannot be read or was reset.

    path              the control file
    code              the competition code
    competition_type  "playoff", "spsa", …
    game              "go", "chess" or "shogi"
    description       text of the control file, or None
    completed         number of counted games
    void              number of void games
    total             the number of games in the control file; None: no limit
    runs              one RunInfo a run
    parameters        of a tuner, a dict each: code, value, …; else []
    candidates        of a tuner with candidates, a dict each: parameters, games, …; else []
    """

    def __init__(self, loaded: LoadedCompetition, store: Store | None = None) -> None:
        """Read the status file, or an open store that `loaded` was restored from.

        Raises ControlFileError, StoreError, and StoreChanged if a second attempt may succeed.
        """
        self._loaded = loaded
        self._competition = loaded.competition
        self._folders = str(loaded.paths.games), str(loaded.paths.void)
        self._last = 0
        self._first_run: RunEntry | None = None
        self.path: Path = loaded.paths.control
        self.code: str = loaded.code
        self.competition_type: str = loaded.competition.type_name
        self.game: GameName = loaded.control_file.values["game"]
        self.description: str | None = loaded.control_file.values["description"]
        self.runs: list[RunInfo] = []
        if store is not None:
            self._read(store)
        elif loaded.paths.has_results:
            with closing(Store.open_readonly(loaded.paths.status)) as opened:
                loaded.restore(opened, loaded.check_changes(opened))
                self._read(opened)
        self._summary = self._competition.summary()
        self.completed, self.void = self._summary.games, self._summary.void
        self.total: int | None = self._summary.progress.total
        data = self._summary.data()
        self.parameters: list[dict[str, Any]] = data.get("parameters", [])
        self.candidates: list[dict[str, Any]] = data.get("candidates", [])

    def _read(self, store: Store) -> None:
        counts = store.counts()
        # every result is counted or void, and no result is ever deleted
        self._last = sum(counts)
        for run in store.runs():
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
        return (
            f"<Results of {self.path}: {self.competition_type}, {counted(self.completed, 'game')}>"
        )

    @property
    def settings(self) -> dict[str, Any]:
        """All settings of the control file as JSON data."""
        return canonical_settings(self._competition.table, self._loaded.control_file.values)

    # games

    def iter_games(self, *, void: bool = False, matchup: str | None = None) -> Iterator[Game]:
        """Yield counted games in order of recording, in constant memory.

        void     whether to yield void games, too
        matchup  the id of a matchup; None: all games
        """
        for recorded, played in self._played(void):
            if matchup is None or played.matchup == matchup:
                yield self._game(recorded, played)

    @cached_property
    def games(self) -> list[Game]:
        """The counted games, in order of recording."""
        return list(self.iter_games())

    @cached_property
    def void_games(self) -> list[Game]:
        """The void games, in order of recording."""
        return [game for game in self.iter_games(void=True) if game.is_void]

    def _game(self, recorded: StoredGame, played: Played) -> Game:
        return make_game(recorded, played, self.game, *self._folders)

    def _played(self, void: bool) -> Iterator[tuple[StoredGame, Played]]:
        for recorded in self._recorded():
            if void or recorded.result.outcome != "void":
                with self._loaded.reading_tickets():
                    played = self._competition.describe(recorded.ticket)
                yield recorded, played

    def _recorded(self) -> Iterator[StoredGame]:
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

    def _open(self) -> Store:
        path = self._loaded.paths.status
        store = Store.open_readonly(path, lasting=True)
        runs = store.runs()
        if not runs or self._first_run is None or runs[0].started != self._first_run.started:
            store.close()
            raise StoreError(f"{path} was reset since it was loaded; load it again")
        return store

    def waiting_records(self) -> dict[tuple[str, int], str]:
        """Return game records that may not be on disk yet, by id and attempt."""
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
        """Matchups by id: of the control file, removed ones with games, and closing matches."""
        infos = self._summary.matchups
        matchups = {info.id: matchup_of(info, self.game) for info in infos}
        for recorded, played in self._played(void=True):
            id = played.matchup
            if not id:
                continue
            if id not in matchups:
                info = MatchupInfo(id, played.players, " v ".join(played.players))
                matchups[id] = matchup_of(info, self.game)
            matchups[id].take(self._game(recorded, played), played.pair)
        return matchups

    @cached_property
    def players(self) -> dict[str, PlayerInfo]:
        """Players by code: of the control file, then others with games in matchups."""
        values = self._loaded.control_file.values
        players = {}
        for code in values["players"]:
            settings = canonical(find_player(values, code, ("players", code)))
            players[code] = PlayerInfo(code, {k: v for k, v in settings.items() if v is not None})
        for matchup in self.matchups.values():
            for side in matchup:
                info = players.get(side.code, PlayerInfo(side.code, {}))
                if side.engine or side.code not in players:
                    info = replace(info, engine=side.engine, description=side.description)
                players[side.code] = info
        return players

    # the course of a tune

    @cached_property
    def course(self) -> Trajectory | None:
        """The course of tuned values; None for a type without tuned players."""
        if self._summary.trajectory is None:
            return None
        with self._loaded.reading_tickets():
            return self._summary.trajectory((r.ticket, r.result) for r in self._recorded())

    @property
    def trajectory(self) -> list[dict[str, float | None]]:
        """The tuned values after each iteration, in order of completion.

        One flat dict an iteration, as in docs/results.rst; [] for a type without tuned players.
        """
        if self.course is None:
            return []
        names = self.course.names
        return [dict(zip(names, row, strict=True)) for row in self.course.rows()]

    # rows

    def columns(self, *, void: bool = False) -> RowColumns:
        """Return the columns of rows."""
        return survey(played.parameters for _, played in self._played(void))

    def iter_rows(self, *, void: bool = False) -> Iterator[dict[str, Value]]:
        """Yield one flat dict a game with the columns of `export` (see docs/results.rst)."""
        columns = self.columns(void=void)
        names = columns.names
        for game in self.iter_games(void=void):
            yield dict(zip(names, columns.row(game), strict=True))

    def rows(self, *, void: bool = False) -> list[dict[str, Value]]:
        """Return `iter_rows` as a list, e.g. for `pandas.DataFrame`."""
        return list(self.iter_rows(void=void))

    def to_dataframe(self, table: str = "games", *, void: bool = False) -> pandas.DataFrame:
        """Return a table as a pandas DataFrame with typed columns.

        table  "games": the rows, with `finished` as a time; "matchups" and "players" with their
               counts; "parameters", "candidates" and "trajectory" of a tune
        void   whether to include void games

        Raises RingmasterError when pandas is not installed, and for another table.
        """
        match table:
            case "games":
                columns = self.columns(void=void)
                games = self.iter_games(void=void)
                return make_frame(columns.typed, (columns.row(game) for game in games))
            case "matchups":
                return make_frame(MATCHUP_COLUMNS, map(matchup_row, self.matchups.values()))
            case "players":
                matchups = self.matchups.values()
                rows = (player_row(p.code, p.engine, matchups) for p in self.players.values())
                return make_frame(PLAYER_COLUMNS, rows)
            case "parameters" | "candidates" | "trajectory":
                return frame_of(getattr(self, table))
        raise RingmasterError(f"no table {shown(table)}; choose from {', '.join(TABLES)}")

    # pictures and notebooks

    @cached_property
    def charts(self) -> list[ChartGroup]:
        """The charts of `plot`, as data."""
        with self._loaded.reading_tickets():
            return self._competition.charts((r.ticket, r.result) for r in self._recorded())

    def plot(self, name: str | None = None) -> Figure:
        """Return charts as a matplotlib Figure, which a notebook displays.

        name  the key of a group of charts, such as "elo"; None: all charts

        Raises RingmasterError for an unknown name, with all names, and without charts.
        """
        groups = [group for group in self.charts if name is None or group.key == name]
        if not groups:
            keys = [group.key for group in self.charts]
            if not keys:
                raise RingmasterError(f"there is nothing to draw of {self.code} yet")
            raise RingmasterError(f"no chart {shown(name)}; choose from {', '.join(keys)}")
        from ringmaster.reporting.plots import make_figure  # exports draw nothing

        return make_figure(groups, f"{self.competition_type}: {self.code}")

    def _repr_html_(self) -> str:
        """Return verdict and tables for a notebook."""
        from ringmaster.reporting.page import render_fragment  # as in `plot`

        return render_fragment(
            Report(self._competition.summary(live=True).blocks),
            title=f"{self.competition_type}: {self.code}, {counted(self.completed, 'game')}",
            verdict=self._summary.verdict,
        )


def load(path: str | os.PathLike[str], *, safe: bool = False) -> Results:
    """Return the results of a control file's competition, also during a run.

    safe  evaluate a stranger's control file within bounds, instead of executing it

    Raises ControlFileError for a missing or wrong control file and for refused changes, and
    StoreError for an unreadable status file.
    """
    return retry_read(lambda: Results(LoadedCompetition(Path(path), safe=safe)))
