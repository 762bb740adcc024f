"""Read a competition's results from its status file.

The file is open only during a read, so a `Results` may exist for hours beside a run.  It shows
the results at the time of its making: later results have higher numbers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringmaster.competitions.common_settings import find_player
from ringmaster.competitions.competition import Trajectory
from ringmaster.control.changes import canonical_settings
from ringmaster.errors import RingmasterError, StoreError, counted, shown
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.canonical import canonical
from ringmaster.model.players import GameName
from ringmaster.model.report import ChartGroup, Report
from ringmaster.results.games import Game, GameReader, moment
from ringmaster.results.matchups import MatchupResults, matchups_of
from ringmaster.results.records import Records
from ringmaster.results.tables import Kind, Table, Value, game_table, make_frame, table_of
from ringmaster.storage.connect import retry_read
from ringmaster.storage.entries import StoredGame
from ringmaster.storage.store import Store

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

#: Tables of `Results.table`.
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
    """A player of the control file or of a matchup.

    settings     arguments of its Player(…), with limits and options of all players; {} if
                 it is not in the control file
    engine       the engine's own name with its version; "" if unknown
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

    def __init__(self, loaded: LoadedCompetition) -> None:
        """Read the status file.

        Raises ControlFileError, StoreError, and StoreChanged if a second attempt may succeed.
        """
        self._loaded = loaded
        self._competition = loaded.competition
        self._reader = GameReader(loaded)
        self._last = 0
        self._started: float | None = None
        self.path: Path = loaded.paths.control
        self.code: str = loaded.code
        self.competition_type: str = loaded.competition.type_name
        self.game: GameName = loaded.control_file.values["game"]
        self.description: str | None = loaded.control_file.values["description"]
        self.runs: list[RunInfo] = []
        with loaded.restored() as store:
            if store is not None:
                self._read(store)
        self._summary = self._competition.summary()
        self.completed, self.void = self._summary.games, self._summary.void
        self.total: int | None = self._summary.progress.total
        self._data = self._summary.data()
        self.parameters: list[dict[str, Any]] = self._data.get("parameters", [])
        self.candidates: list[dict[str, Any]] = self._data.get("candidates", [])

    def _read(self, store: Store) -> None:
        # every result is counted or void, and no result is ever deleted
        self._last = sum(store.counts())
        runs = store.runs()
        self._started = runs[0].started if runs else None
        self.runs = [
            RunInfo(
                r.number, moment(r.started), moment(r.ended), r.end_reason, r.version, r.parallel
            )
            for r in runs
        ]

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
        for recorded in self._recorded(void):
            game = self._reader.game(recorded)
            if matchup in (None, game.matchup):
                yield game

    @cached_property
    def games(self) -> list[Game]:
        """The counted games, in order of recording."""
        return list(self.iter_games())

    @cached_property
    def void_games(self) -> list[Game]:
        """The void games, in order of recording."""
        return [game for game in self.iter_games(void=True) if game.is_void]

    def _recorded(self, void: bool = True) -> Iterator[StoredGame]:
        if self._last:
            with closing(self._open()) as store:
                for recorded in store.games():
                    if recorded.seq > self._last:
                        return
                    if void or recorded.result.outcome != "void":
                        yield recorded

    def _open(self) -> Store:
        path = self._loaded.paths.status
        store = Store.open_readonly(path, lasting=True)
        runs = store.runs()
        if not runs or runs[0].started != self._started:
            store.close()
            raise StoreError(f"{path} was reset since it was loaded; load it again")
        return store

    def records(self) -> Records:
        """Return the game records.  Raises StoreError."""
        with closing(self._open()) if self._last else nullcontext() as store:
            return Records(self._loaded.paths, self.game, store)

    # statistics

    @cached_property
    def matchups(self) -> dict[str, MatchupResults]:
        """Matchups by id: of the control file, removed ones with games, and closing matches."""
        return matchups_of(self._summary, self.game)

    @cached_property
    def players(self) -> dict[str, PlayerInfo]:
        """Players by code: of the control file, then others of matchups."""
        values = self._loaded.control_file.values
        codes = [*values["players"], *(code for m in self.matchups.values() for code in m.players)]
        players = {}
        for code in dict.fromkeys(codes):
            settings: dict[str, Any] = {}
            if code in values["players"]:
                settings = canonical(find_player(values, code, ("players", code)))
            facts = self._loaded.conditions.facts(code)
            players[code] = PlayerInfo(
                code,
                {name: value for name, value in settings.items() if value is not None},
                facts.name,
                facts.description,
            )
        return players

    @cached_property
    def course(self) -> Trajectory | None:
        """The course of tuned values; None for a type without tuned players."""
        if self._summary.trajectory is None:
            return None
        with self._loaded.reading_tickets():
            return self._summary.trajectory((r.ticket, r.result) for r in self._recorded())

    # tables

    def table(self, name: str = "games", *, void: bool = False) -> Table:
        """Return a table with typed columns.

        name  "games": a row a game, with the columns of `export` (see docs/results.rst);
              "matchups" as in `show --json`; "players": a row for each player of each matchup;
              "parameters" and "candidates" of a tune; "trajectory": the tuned values after each
              iteration, in order of completion
        void  whether to include void games

        Raises RingmasterError for another table.
        """
        match name:
            case "games":
                return game_table(self._reader, lambda: self._recorded(void))
            case "matchups":
                return table_of(self._data.get("matchups", []))
            case "players":
                sides = [(m.id, side) for m in self.matchups.values() for side in m]
                return table_of(
                    [
                        {"matchup": id, **asdict(side), "games": side.games, "points": side.points}
                        for id, side in sides
                    ]
                )
            case "parameters" | "candidates":
                return table_of(getattr(self, name))
            case "trajectory":
                course = self.course
                if course is None:
                    return Table([], [])
                first, *codes = course.names
                # a texel tune may use a part of a pass
                kind: Kind = "integer" if first == "iteration" else "number"
                return Table([(first, kind), *((code, "number") for code in codes)], course.rows())
        raise RingmasterError(f"no table {shown(name)}; choose from {', '.join(TABLES)}")

    def iter_rows(self, *, void: bool = False) -> Iterator[dict[str, Value]]:
        """Yield one flat dict a game with the columns of `export`, in constant memory."""
        return self.table(void=void).objects()

    @property
    def trajectory(self) -> list[dict[str, Value]]:
        """The table "trajectory" as a list of dicts; [] for a type without tuned players."""
        return list(self.table("trajectory").objects())

    def to_dataframe(self, table: str = "games", *, void: bool = False) -> pandas.DataFrame:
        """Return a table as a pandas DataFrame with typed columns; arguments as for `table`.

        Raises RingmasterError also when pandas is not installed.
        """
        return make_frame(self.table(table, void=void))

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
