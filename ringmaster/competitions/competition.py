"""The contract of a competition: what to play next, and what results mean.

A competition decides; it never plays, waits, or touches a file.  Everything it
decides is a function of (settings, seed, number, results so far), so that a
run can be stopped at any instant and gone on with exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from ringmaster.competitions.sequential import SprtReport
from ringmaster.competitions.tuned_options import TunedOptions
from ringmaster.competitions.voids import VoidKinds
from ringmaster.errors import SettingError, UsageError
from ringmaster.model.charts import ChartGroup
from ringmaster.model.jobs import CheckJob, GameJob, GameSettings, Opening, Task, Ticket
from ringmaster.model.players import Player
from ringmaster.model.report import Progress, Report
from ringmaster.model.results import GameResult, Result
from ringmaster.model.settings import Setting, SettingPath


class Verdict(msgspec.Struct, frozen=True):
    """What a competition makes of a result.

    line    one line for the display and the history, e.g. "a beat b B+3.5"; "" where the
            result alone is not worth one
    replay  the same job again, with the next attempt number (a void game)
    halt    why the run must end early, "" if it need not
    notes   further lines for the history file (a new iteration, a generation)
    snapshot  a line for the tree log, "" for none
    save    whether the state must be stored with this result: what it has
            settled must not be computed again under other settings
    forget  numbers of the passes whose scores are not needed any more
    log     a line for the log alone
    warning  a line that warns the user, "" for none
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


class Played(msgspec.Struct, frozen=True):
    """What a ticket says of its game, for exports and results as data.

    players     codes, the one who moved first comes first
    matchup     id of the matchup it belongs to, "" in a tune
    parameters  per player, the parameter values it played with (engine units)
    opening     where its start position came from, "" for the game's own
    pair        number, in its matchup, of the pair of games that it belongs to
                (one opening, both colours); None when it was not played in one
    """

    players: tuple[str, str]
    matchup: str = ""
    parameters: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    opening: str = ""
    pair: int | None = None


class Trajectory(msgspec.Struct, frozen=True):
    """The course of a tune.

    counted  what the first column counts: "iteration", "passes"
    codes    of the parameters that are tuned at the end
    points   number of an iteration (or passes used), codes of the parameters tuned then,
             and θ after it, in the order in which results came
    note     a sentence for the user about points that are missing, else ""
    """

    counted: str
    codes: tuple[str, ...]
    points: Sequence[tuple[float, tuple[str, ...], Sequence[float]]]
    note: str = ""

    @property
    def names(self) -> list[str]:
        """Names of the columns: what is counted, the codes, and those of parameters that
        were tuned earlier."""
        return [self.counted, *(f"θ {c}" if c == self.counted else c for c in self._columns())]

    def rows(self) -> Iterator[list[float | None]]:
        """Yield a row for each point, None where a parameter was not tuned."""
        all_codes = self._columns()
        for number, codes, theta in self.points:
            if codes == all_codes:
                yield [number, *theta]
            else:
                known = dict(zip(codes, theta, strict=True))
                yield [number, *map(known.get, all_codes)]

    def _columns(self) -> tuple[str, ...]:
        found = dict.fromkeys([self.codes, *(codes for _, codes, _ in self.points)])
        return tuple(dict.fromkeys(code for codes in found for code in codes))


class MatchupInfo(msgspec.Struct, frozen=True):
    """What is known of a matchup beside its games.

    players          codes, in the order of the control file
    settings         None when it is not in the control file any more
    alternating      whether the players swap colours, None likewise
    number_of_games  None when there is no limit, or it is not known
    sprt             its sequential test, None without one
    """

    id: str
    players: tuple[str, str]
    name: str
    settings: GameSettings | None = None
    alternating: bool | None = None
    number_of_games: int | None = None
    sprt: SprtReport | None = None


#: Gives the scores of a shard, by the numbers of its pass and its own, as long as they
#: are kept.
ScoreSource = Callable[[int, int], bytes | None]


class Competition(ABC):
    """One competition with its settings and its state.

    The life of a game, or of a shard of positions: `next_job` decides and marks it as issued, the
    caller stores the job's id and ticket; later either `take` gets the result,
    or (after a restart) `resume` learns of the ticket and `make_job` makes the
    same job again.  `state` and `restore` carry everything else; `restore`
    followed by `take` of the results recorded since, `adopt`, and `resume` of the
    rest, is the same as never having stopped.

    Guarantees: `take` may be called in any order of issue; a state is JSON data
    whose size does not grow with the number of games.
    """

    #: The `competition_type` of control files.
    type_name: ClassVar[str]
    #: All settings, common ones included.
    table: ClassVar[tuple[Setting, ...]]
    #: What a run gives out.
    unit: ClassVar[str] = "games"

    def __init__(self, code: str, values: Mapping[str, Any]) -> None:
        """Take interpreted settings (by `table`), `code` the file's stem.

        Raises SettingError for settings that do not go together.
        """
        self.code = code
        self.values = values
        #: Where positions that are read from elsewhere may be kept in a form that is
        #: read fast; set by whoever makes the competition.
        self.positions_file: Path | None = None
        #: Told what `prepare` is at where that takes long.
        self.say: Callable[[str], None] = lambda line: None

    def may_run_ahead(self, parallel: int) -> bool:
        """Return whether games that take some milliseconds only may be given out a few
        ahead of the results that come meanwhile, as if there were more workers than the
        `parallel` there are: what the next games are does not depend on those results, or
        not so that a hundredth of a second of them matters."""
        return False

    def attach(self, scores: ScoreSource) -> None:  # noqa: B027 - only what has scores
        """Learn where the scores of earlier shards are; called before `restore`, and
        before the first job."""

    def settled(self, task: Task, result: Result) -> Result:
        """Return a result as it is to be recorded; called once, before `take`, and not for
        one that comes from the store.  Raises SettingError when a function of the control
        file fails."""
        return result

    def _game_job(
        self,
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
        """Return a job with what is the same for all games of a competition; its
        ticket remembers the opening.

        round, event, shown_parameters  as in GameJob; the event is the competition's code
                                        unless it is given
        """
        return GameJob(
            id=game_id,
            attempt=attempt,
            players=players,
            settings=settings,
            ticket={**ticket, "o": opening.source} if opening.source else ticket,
            opening=opening,
            event=event or self.code,
            competition=self.code,
            round=round,
            record=self.values["record_games"],
            keep_stderr=self.values["stderr_to_log"],
            parameters=parameters,
            shown_parameters=shown_parameters,
            series=series,
        )

    @abstractmethod
    def prepare(self) -> None:
        """Load what jobs need (openings, positions) before the first of them.

        Raises OpeningsError, SettingError.
        """

    def warnings(self) -> list[str]:
        """Return what is allowed but probably not meant, one line each."""
        return []

    def notices(self) -> list[str]:
        """Return what is worth saying at the start of a run, one line each."""
        return []

    def function_failures(self) -> list[SettingError]:
        """Return how functions of the control file fail for values that may be played
        later, once a function."""
        return []

    def contradictions(
        self, state: Mapping[str, Any], tickets: Iterable[Ticket]
    ) -> dict[SettingPath, str]:
        """Return why functions of the control file do not fit the values already played,
        by the settings that they are.  Independent of `restore`.

        state    the stored state
        tickets  of all results that count
        """
        return {}

    @abstractmethod
    def check_jobs(self) -> list[CheckJob]:
        """Return one startup check for each player that will be needed, those of the first
        games first."""

    def tuned_options(self) -> TunedOptions | None:
        """Return the engine options that the tune changes, None where it is no tune of
        options or tests itself if they have an effect."""
        return None

    @abstractmethod
    def contestants(self) -> list[Player]:
        """Return the players of the games, for the conditions in reports; the candidates
        of a tune are one."""

    def contestant_of(self, code: str) -> str:
        """Return the code that a player of a job or of a check has in `contestants`."""
        return code

    def openings(self) -> dict[str, dict[str, Any]]:
        """Return the openings (`describe_openings`) by the games that they are of, ""
        for all; {} for a competition without games."""
        return {}

    def place_of(self, code: str) -> SettingPath:
        """Return the setting that defines a player of the startup checks."""
        return ("players", code)

    def verify(self, games: int | None = None) -> None:
        """Play from now on only a closing match of what has been tuned so far; called
        before `restore`, for one run.

        games  the most of it, None: as the settings say
        Raises UsageError where there is no such match.
        """
        raise UsageError(
            f"only an spsa or a texel event has a closing match so far, not {self.type_name}"
        )

    @property
    def ending(self) -> str:
        """What is to be said when all of this run has been played."""
        return "competition complete"

    @abstractmethod
    def next_job(self) -> Task | None:
        """Decide on a job and count it as issued; None when there is nothing to
        issue now (all played, or waiting for results)."""

    @abstractmethod
    def resume(self, ticket: Ticket) -> bool:
        """Learn that a job with this ticket was given out in an earlier run and
        has not come back; returns whether the settings want it now.

        False when its matchup was removed or cut short; the issue is kept, since
        later settings may want it again.
        """

    def adopt(self, outstanding: Sequence[Ticket]) -> list[str]:
        """Go over to the present settings, once all results that were recorded under
        earlier ones have been taken; returns what has become of the state by that, one
        line each for the history, which are stored with the new state.

        outstanding  the jobs that were given out and have not come back

        Of use where a result means what the settings of its time say.
        """
        return []

    @abstractmethod
    def make_job(self, game_id: str, attempt: int, ticket: Ticket) -> Task:
        """Make the job of a ticket under the present settings; changes nothing.

        Raises SettingError when the control file's own functions fail.
        """

    @abstractmethod
    def take(self, ticket: Ticket, result: Any) -> Verdict:
        """Learn from a result (`Result`, of the kind that the ticket is of), void ones
        included."""

    @abstractmethod
    def describe(self, ticket: Ticket) -> Played:
        """Say which game a ticket is of, from the ticket and the settings alone:
        also for one whose matchup is not in the control file any more."""

    def matchup_infos(self) -> list[MatchupInfo]:
        """Return every matchup that `describe` may name, in the order of reports."""
        return []

    @abstractmethod
    def finished(self) -> bool:
        """Whether every game has been played."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return the state as JSON data."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a state.  Raises StateRefused when it does not fit the
        settings, StoreError when it cannot be read."""

    @abstractmethod
    def progress(self) -> Progress:
        """Return how far the competition is."""

    def games(self, completed: int, void: int) -> tuple[int, int]:
        """Return how many of the results that there are (those that count, and those that
        do not) are of games."""
        return completed, void

    @abstractmethod
    def void_kinds(self) -> VoidKinds:
        """Return the void results by the code of the player at fault ("" for nobody) and
        by reason."""

    def wants(self, ticket: Ticket) -> bool:
        """Return whether a job that was given out before is to be given out again in this run."""
        return True

    def blocked(self) -> list[str]:
        """Return why jobs that the settings want are held back in this run, a line for
        each reason, and the remedies in the last line; [] when none are."""
        return []

    @abstractmethod
    def report(self) -> Report:
        """Return the report's blocks (description not included)."""

    @abstractmethod
    def live_report(self) -> Report:
        """Return the shorter form for the live display."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return the keys of `show --json` that this type has: "matchups",
        "parameters", …"""

    def trajectory(self, history: Iterable[tuple[Ticket, GameResult]]) -> Trajectory | None:
        """Return the course of the tuned values, None for a type that tunes no player.

        history  all recorded results with their tickets, in the order of recording
        """
        return None

    def charts(self, history: Iterable[tuple[Ticket, GameResult]]) -> list[ChartGroup]:
        """Return what there is to draw.

        history  all recorded results with their tickets, in the order of recording; it
                 may be long, and is gone through once at most
        """
        return []
