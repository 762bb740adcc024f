"""The contract of a competition, which chooses jobs and interprets their results.

A competition never plays or waits.  It touches files only in `prepare` and `complete_result`.
Each of its decisions is a function of settings, seed, number and earlier results.  A run can
thus stop at any instant and resume exactly.

Users read one `Summary`: reports, the live display, JSON, pages and charts are derived from it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import msgspec

from ringmaster.competitions.cluster_settings import check_resources
from ringmaster.competitions.matchup_sprt import SprtReport
from ringmaster.competitions.result_lines import VoidKinds, number_of
from ringmaster.competitions.tally import Doubt, FaultWatch, Tally, remedies
from ringmaster.errors import SettingError
from ringmaster.model.jobs import (
    CheckJob,
    GameJob,
    GameSettings,
    Opening,
    OptionChange,
    Task,
    Ticket,
)
from ringmaster.model.players import Player
from ringmaster.model.report import ChartGroup, Progress, Report, Table, Text
from ringmaster.model.results import EvaluationResult, GameResult, Result
from ringmaster.model.settings import Setting, SettingPath


class Reaction(msgspec.Struct, frozen=True):
    """A competition's reaction to a result.

    line      line for the display and the history, e.g. "a beat b B+3.5"; "" for none
    replay    whether to issue the job again with the next attempt number (a void game)
    halt      reason to end the run early, else ""
    notes     further lines for the history (a new iteration, a generation)
    snapshot  line for the tree log, else ""
    save      whether to store the state with this result, so that later settings cannot
              change a decision
    forget    numbers of passes with obsolete scores
    log       line for the log alone, else ""
    warning   warning for the user, else ""
    milestone  message for the user: a test is decided, a match is complete; else ""
    """

    line: str
    replay: bool = False
    halt: str = ""
    notes: tuple[str, ...] = ()
    snapshot: str = ""
    save: bool = False
    forget: tuple[int, ...] = ()
    log: str = ""
    warning: str = ""
    milestone: str = ""


class Played(msgspec.Struct, frozen=True):
    """A game's data from its ticket, for exports.

    players     codes, the first mover first
    matchup     id of its matchup, "" in a tune
    parameters  parameter values of each player (engine units)
    opening     source of its start position, "" for the game's own
    pair        number of its pair (one opening, both colours) in the matchup; None without
    level       level of a handicap ladder, "" without
    """

    players: tuple[str, str]
    matchup: str = ""
    parameters: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    opening: str = ""
    pair: int | None = None
    level: str = ""


#: All recorded results with their tickets, in order.
History = Iterable[tuple[Ticket, GameResult]]


class Trajectory(msgspec.Struct, frozen=True):
    """The course of a tune.

    counted  name of the first column: "iteration", "passes"
    codes    parameters tuned at the end
    points   in order: number of an iteration (or passes), codes of the parameters tuned at
             that time, θ after it
    note     sentence for the user about missing points, else ""
    """

    counted: str
    codes: tuple[str, ...]
    points: Sequence[tuple[float, tuple[str, ...], Sequence[float]]]
    note: str = ""

    @property
    def names(self) -> list[str]:
        """Names of the columns: `counted`, and all parameters ever tuned."""
        return [self.counted, *(f"θ {c}" if c == self.counted else c for c in self._columns())]

    def rows(self) -> Iterator[list[float | None]]:
        """Yield a row for each point, None where a parameter was not tuned."""
        all_codes = self._columns()
        for number, codes, theta in self.points:
            known = dict(zip(codes, theta, strict=True))
            yield [number, *map(known.get, all_codes)]

    def _columns(self) -> tuple[str, ...]:
        groups = dict.fromkeys([self.codes, *(codes for _, codes, _ in self.points)])
        return tuple(dict.fromkeys(code for codes in groups for code in codes))


@runtime_checkable
class LongHistory(Protocol):
    """All recorded results of games with their tickets, in order; each iteration reads them."""

    def __iter__(self) -> Iterator[tuple[Ticket, GameResult]]: ...

    def sample(self, share: float, key: str = "") -> LongHistory:
        """Return a part of the games by chance, and all games whose tickets have a key."""
        ...


class MatchupInfo(msgspec.Struct, frozen=True):
    """A matchup with its counts.

    tally            its results; the players in the order of the control file
    sides            both players with their limits; None for a matchup no longer in the
                     control file
    settings         None likewise
    book             name of the file of its openings, "" for none
    alternating      whether the players swap colours; None likewise
    number_of_games  None for no limit, or an unknown one
    sprt             its sequential test, None without one
    stage, state     name and state of the stage, "" outside stages
    remark           reason of the state, or state of a precision, ladder or race, else ""
    even             whether the score measures strength
    ladder           its handicap ladder, None without one
    """

    id: str
    tally: Tally
    name: str
    sides: tuple[Player, Player] | None = None
    settings: GameSettings | None = None
    book: str = ""
    alternating: bool | None = None
    number_of_games: int | None = None
    sprt: SprtReport | None = None
    stage: str = ""
    state: str = ""
    remark: str = ""
    even: bool = False
    ladder: dict[str, Any] | None = None

    @property
    def players(self) -> tuple[str, str]:
        """Codes, in the order of the control file."""
        return self.tally.players


class TunedOptions(msgspec.Struct, frozen=True):
    """The parameters of a tune as options of its player.

    check    id of the startup check with the unchanged options
    changes  parameters that are options
    idle     codes of parameters without any effect on the player
    """

    check: str
    changes: tuple[OptionChange, ...]
    idle: tuple[str, ...]


class PlayedValue(msgspec.Struct, frozen=True):
    """A value that a function of the control file gave for a played job.

    path      the setting of the function
    argument  of the function, to tell calls apart
    value     in canonical form
    call      calls the function again; raises SettingError
    """

    path: SettingPath
    argument: Hashable
    value: Any
    call: Callable[[], Any]


#: Returns the stored scores of a shard by the numbers of its pass and its own, else None.
ScoreSource = Callable[[int, int], bytes | None]


class Setup(msgspec.Struct, frozen=True):
    """Facts for the start of a run, from the settings and the restored state.

    checks    a startup check for each player, the players of the first games first
    options   engine options that the tune changes; None for other competitions, and for
              tunes that test the options' effect themselves
    notices   one line each
    """

    checks: list[CheckJob]
    options: TunedOptions | None = None
    notices: list[str] = []


class Contestant(msgspec.Struct, frozen=True):
    """A player in reports; all candidates of a tune are one contestant.

    matchups  ids of its matchups, if others give it other limits or options; else ()
    clock     its clocks in words if it has several, else ""
    """

    player: Player
    matchups: tuple[str, ...] = ()
    clock: str = ""


def referees(games: Iterable[GameSettings], known: Container[str]) -> Iterator[Contestant]:
    """Yield the engines that score games, without those with `known` codes."""
    found = {game.referee.code: game.referee for game in games if game.referee is not None}
    yield from (Contestant(player) for code, player in found.items() if code not in known)


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The present state of a competition, from which every report is derived.

    result       the result so far in one sentence, true at every stage; intervals have 95 %
    doubts       the gravest first
    progress     of the competition
    games        number of counted games, those of closing matches included
    void_kinds   numbers of void results by faulty player ("" for no player) and reason
    contestants  for the conditions in reports
    contestant_of  returns the code in `contestants` of a player of a job or check
    openings     `describe_openings` by group of games, "" for all; {} without games
    matchups     every matchup of `Competition.describe`, in the order of reports
    waiting      reasons why wanted jobs wait in this run, and the remedies in the last line
    ending       message at the end of a complete run
    warnings     about doubtful settings, one line each; not for the live display
    report       without the description, or the shorter form for the live display
    data         returns this type's keys of `show --json`: "matchups", "parameters", …; a tree
                 may have a million nodes
    trajectory   reads the course of the tuned values from the history; None for a type
                 without any
    """

    result: str
    progress: Progress
    games: int
    contestants: tuple[Contestant, ...]
    contestant_of: Callable[[str], str] = str
    doubts: tuple[Doubt, ...] = ()
    void_kinds: VoidKinds = {}
    openings: dict[str, dict[str, Any]] = {}
    matchups: tuple[MatchupInfo, ...] = ()
    waiting: list[str] = []
    ending: str = "competition complete"
    warnings: list[str] = []
    report: Report = Report()
    data: Callable[[], dict[str, Any]]
    trajectory: Callable[[History], Trajectory] | None = None

    @property
    def void(self) -> int:
        return number_of(self.void_kinds)

    @property
    def verdict(self) -> str:
        """The first and last line of every screen: the result with its gravest doubt."""
        doubt = f"; doubtful: {self.doubts[0].sentence}" if self.doubts else ""
        return f"{self.result}{doubt}"

    @property
    def blocks(self) -> tuple[Table | Text, ...]:
        """The report under the verdict, with the doubts that the verdict does not name."""
        further = tuple(f"doubtful: {doubt.sentence}" for doubt in self.doubts[1:])
        return (*([Text(further)] if further else []), *self.report.blocks)


class Competition(ABC):
    """One competition with its settings and its state.

    The life of a game, or of a shard of positions: `next_job` issues it, and the caller
    stores the job's id and ticket.  Later `record_result` receives the result.  After a
    restart, `resume` registers the ticket and `make_job` builds the same job again.  To
    continue a run, call `restore`, `record_result` for the results stored since,
    `apply_edits`, and `resume` for the outstanding tickets.

    Guarantees: `record_result` accepts results in any order.  A state is JSON data, and its size
    does not grow with the number of games, except for some bytes a game in a clop_tuner.
    """

    #: The `competition_type` of control files.
    type_name: ClassVar[str]
    #: All settings, including the common ones.
    table: ClassVar[tuple[Setting, ...]]
    #: Unit of the jobs.
    unit: ClassVar[str] = "games"
    #: Whether its charts read times and memory of results.
    charts_read_usage: ClassVar[bool] = True
    #: From how many games at a time on short games may be queued before earlier results
    #: arrive; None for never.
    runs_ahead_from: int | None = None

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        """Raises SettingError for incompatible settings.

        code    stem of the control file's name
        values  settings interpreted by `table`
        """
        self.code = code
        self.values = values
        #: File for a fast copy of positions; set by the owner of the competition.
        self.positions_file: Path | None = None
        #: Source of earlier shards' scores; likewise, before `restore` and the first job.
        self.scores: ScoreSource = lambda number, shard: None
        #: Counted and void games by matchup, closing matches included; stored with the state.
        self.tallies: dict[str, Tally] = {}
        #: Latest faults; cleared at the start of a run, since engines may have been repaired.
        self.watch = FaultWatch()
        #: Receives progress messages of a long `prepare`.
        self.say: Callable[[str], None] = lambda line: None
        #: Checks of openings that games need not wait for, added by `prepare`: each step takes
        #: at most some milliseconds, yields the number of checked ones, and may raise
        #: DataFileError.
        self.unverified: list[Iterator[int]] = []

    @abstractmethod
    def prepare(self) -> list[SettingError]:
        """Load openings and positions before the first job.

        Return failures of functions of the control file, probed with values that later jobs
        may need; one a function.
        Raises DataFileError, SettingError.
        """

    @abstractmethod
    def setup(self) -> Setup:
        """Return facts for the start of a run; call it after `prepare` and `restore`.

        Raises SettingError when a function of the control file fails for a startup check.
        """

    def played_values(self, ticket: Ticket) -> Sequence[PlayedValue]:
        """Return what functions of the control file gave for a played job: a run is refused
        when they give other values now.  Independent of `restore`.

        Functions that may change at any time do not count.
        """
        return ()

    @abstractmethod
    def next_job(self) -> Task | None:
        """Choose a job and count it as issued.

        Return None when all jobs have been issued, or the next one depends on results.
        """

    @abstractmethod
    def resume(self, ticket: Ticket) -> bool:
        """Register an outstanding ticket of an earlier run.

        Return whether the present settings want its job.  An unwanted ticket (of a removed
        matchup, say) stays outstanding: later settings may want it again.
        """

    def apply_edits(self, outstanding: Sequence[Ticket]) -> list[str]:
        """Apply edits of the control file, after all results under the earlier settings.

        Return changes of the state for the history, one line each.

        outstanding  tickets of issued jobs without a result
        """
        return []

    @abstractmethod
    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> Task | None:
        """Return the job of a ticket under the present settings, without side effects.

        Return None for a job that waits for a later run.
        Raises SettingError when a function of the control file fails.
        """

    def complete_result(self, task: Task, result: Result) -> Result:
        """Return a new result completed with data for the store.

        Called once, before `record_result`.
        Raises SettingError when a function of the control file fails.
        """
        return result

    @abstractmethod
    def record_result(self, ticket: Ticket, result: Any) -> Reaction:
        """Update the state with a result of the ticket's job, which may be void."""

    def _faults_halt(self, result: GameResult | EvaluationResult, codes: Sequence[str]) -> str:
        """Count a result's fault, if any.  Return the reason to end the run, with the remedies;
        "" without one.

        codes  contestants, in the order of the result
        """
        reason = self.watch.record(result, codes)
        void = result.outcome == "void" and isinstance(result, GameResult)
        choices = ", or ".join(remedies(result.reason, void))
        return reason and f"{reason} ({result.reason}): {choices}"

    @abstractmethod
    def describe(self, ticket: Ticket) -> Played:
        """Return a ticket's game from ticket and settings, also for a removed matchup."""

    @abstractmethod
    def finished(self) -> bool:
        """Return whether every game has been played."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return the state as JSON data."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Load a state.

        Raises StateRefused for a state of other settings, ValueError or another error of Python's
        for an unreadable one.
        """

    @abstractmethod
    def summary(self, *, live: bool = False) -> Summary:
        """Return the present state for users.

        live  whether for the live display: with the shorter report, without warnings
        """

    def charts(self, history: History) -> list[ChartGroup]:
        """Return the charts.  The history is iterated once at most."""
        return []


def game_job(
    competition: Competition,
    game_id: str,
    attempt: int,
    players: tuple[Player, Player],
    settings: GameSettings,
    ticket: Ticket,
    opening: Opening,
    parameters: tuple[dict[str, Any], dict[str, Any]] = ({}, {}),
    *,
    round: int,
    event: str = "",
    shown_parameters: tuple[str, str] = ("", ""),
    series: str = "",
) -> GameJob:
    """Return a job with the data common to all games; its ticket records the opening.
    Raises SettingError if there are never enough resources for it.

    round, event, shown_parameters  as in GameJob; `event` is by default the competition's code
    """
    job = GameJob(
        id=game_id,
        attempt=attempt,
        players=players,
        settings=settings,
        ticket={**ticket, "o": opening.source} if opening.source else ticket,
        opening=opening,
        event=event or competition.code,
        competition=competition.code,
        round=round,
        record=competition.values["record_games"],
        keep_stderr=competition.values["stderr_to_log"],
        parameters=parameters,
        shown_parameters=shown_parameters,
        series=series,
    )
    check_resources(competition.values, job.engines)
    return job
