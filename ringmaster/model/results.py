"""Results from workers, and the data of a game record.

An engine's fault is a result; only a fault of the infrastructure raises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from ringmaster.errors import EngineError, EngineRefused, OptionRefused
from ringmaster.model.cluster import Host
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.time_control import TimeControl

Outcome = Literal["win", "draw", "unknown", "void"]

#: Reasons of games that a slow machine may cause, and of those that a broken one may.
TIME_LOSSES = ("time", "stall")
FAULTS = ("crash", "hang", "protocol", "start", "setup")
#: The reason of a game that is void because its referee did not run: nobody's fault.
STANDSTILL = "standstill"
#: The reason of a void result of an engine whose files were changed during the run: it is not
#: recorded, and no more jobs start.
REBUILT = "rebuilt"


class EngineUsage(msgspec.Struct, frozen=True):
    """Resources that one engine used in one game.

    name         the engine's name and version, or ""
    description  the engine's own longer description (GTP), or ""
    cpu_time     seconds of CPU in this game, with children; None if unknown
    peak_memory  highest resident bytes; None if unknown
    thinking     seconds of wall time charged to it
    slowest      seconds of its slowest move
    ponder_cpu_time  seconds of CPU while pondering (part of cpu_time)
    extra_moves  moves that it sent without a search, which were dropped
    disputed     whether it names another winner than the referee's engine
    """

    name: str = ""
    cpu_time: float | None = None
    peak_memory: int | None = None
    thinking: float = 0.0
    slowest: float = 0.0
    description: str = ""
    ponder_cpu_time: float | None = None
    extra_moves: int = 0
    disputed: bool = False


class GameResult(msgspec.Struct, frozen=True, tag="game"):
    """The result of one game.

    outcome  "win"; "draw" (jigo included); "unknown" (not scored, Go move
             limit); "void" (software failure: does not count)
    winner   index into the job's players, for "win" only
    reason   one of the field's short terms: "mate", "resignation", "stalemate",
             "repetition", "50 moves", "material", "move limit", "score",
             "claim", "time" (its clock ran out), "stall" (its clock ran out, and it
             ignored `stop`), "illegal move", "refused", "crash", "limit" (it
             exceeded a limit of memory, CPU or processes), "hang" (no answer without a
             clock), "protocol", "start", "setup", "perpetual check",
             "declaration", "illegal declaration", "trial", "impasse", "tablebases",
             "adjudicated draw", "adjudicated win", "standstill" (the computer or the
             worker did not run), "referee" (the engine that scores failed), or the ending
             of a chess variant
    detail   one line for a person: the margin, the move, the engine's last output
    forfeit  whether the loser lost by a fault (illegal move, time, GTP failure)
    score    "B+3.5", "W+R", "W+F", "0", "?", "Void" in Go; "1-0", "0-1",
             "1/2-1/2", "*" in chess and shogi
    faulty   index of the player at fault in a forfeit or void game, or None
    record   the game record (SGF, PGN), or None
    fingerprint  short hash of the series, the players in move order, the start position
             and the moves; None for a void game
    repeats  whether an earlier game of the competition has the same fingerprint
    builds   per player, the build's number in the store; None if unknown
    stderr   bounded lines of standard error, as (player code, line)
    host     where it was played, None for this machine
    """

    game_id: str
    attempt: int
    outcome: Outcome
    winner: int | None = None
    reason: str = ""
    detail: str = ""
    forfeit: bool = False
    score: str = "?"
    faulty: int | None = None
    plies: int = 0
    seconds: float = 0.0
    usage: tuple[EngineUsage, EngineUsage] = (EngineUsage(), EngineUsage())
    record: str | None = None
    record_suffix: str = ""
    stderr: tuple[tuple[str, str], ...] = ()
    fingerprint: int | None = None
    repeats: bool = False
    builds: tuple[int | None, ...] = (None, None)
    host: Host | None = None

    @property
    def id(self) -> str:
        """The job's id."""
        return self.game_id

    def points(self, index: int) -> float:
        """Return the points of player `index`: 1, ½ or 0; an unknown result counts ½.

        Tables of points leave an unknown result out.  Raises ValueError for a void game.
        """
        if self.outcome == "void":
            raise ValueError("a void game has no score")
        if self.outcome == "win":
            return 1.0 if self.winner == index else 0.0
        return 0.5


class EvaluationResult(msgspec.Struct, frozen=True, tag="evaluation"):
    """An engine's scores of a shard of positions.

    score_key, shard  as in the job
    outcome  "evaluated", or "void": it does not count and is tried again
    reason, detail  as in a game; the fault of a void shard
    scores   one little-endian float32 a position, in the order of the shard: centipawns
             from the side that moves first in a game (White in chess, Black in shogi),
             NaN without a score (in check); None when void or from a store
    answers  per position the engine's output, if the job requests it; never from a store
    facts    small JSON data from a probe
    builds   as in a game, of the one player
    """

    job_id: str
    attempt: int
    outcome: Literal["evaluated", "void"]
    score_key: int = 0
    shard: int = 0
    reason: str = ""
    detail: str = ""
    seconds: float = 0.0
    positions: int = 0
    usage: EngineUsage = EngineUsage()
    scores: bytes | None = None
    answers: tuple[str, ...] | None = None
    facts: dict[str, Any] = {}
    stderr: tuple[tuple[str, str], ...] = ()
    builds: tuple[int | None, ...] = (None,)
    host: Host | None = None

    @property
    def id(self) -> str:
        """The job's id."""
        return self.job_id


#: The test of options that a tune changes.
TUNED_OPTIONS = "tuned options"


class Finding(msgspec.Struct, frozen=True):
    """The result of one test in a thorough check.

    status    "fail" would spoil games of this player, "warn" breaks the protocol or is
              unusual, "skip" could not be tested
    name      the test, in a few words
    detail    one line: the measurement or the fault
    exchange  lines of evidence, with "> " before commands and "< " before output
    """

    status: Literal["pass", "warn", "fail", "skip"]
    name: str
    detail: str = ""
    exchange: tuple[str, ...] = ()


class Problem(msgspec.Struct, frozen=True):
    """A reason why a player cannot play.

    reason    in words; for a command, the engine's own words
    kind      "option" (unknown or with a wrong value), "command" (refused), or "other"
    subject   the name of the option, or the command
    expected  the values of the option in words, e.g. "an integer from 1 to 5"
    """

    reason: str
    kind: Literal["option", "command", "other"] = "other"
    subject: str = ""
    expected: str = ""

    def __str__(self) -> str:
        return (
            f"it refused {self.subject!r}: {self.reason}" if self.kind == "command" else self.reason
        )


def problems_of(error: EngineError) -> list[Problem]:
    if isinstance(error, OptionRefused):
        return [
            Problem(str(refusal), "option", refusal.option, refusal.expected)
            for refusal in error.refusals or (error,)
        ]
    if isinstance(error, EngineRefused) and error.command:
        return [Problem(error.reason, "command", error.command)]
    return [Problem(str(error))]


class CheckResult(msgspec.Struct, frozen=True, tag="check"):
    """The result of a check; without problems the player can play.

    findings     from the requested tests; a failed one of a thorough check is also a problem
    tested_as    the player whose thorough check covers the same engine, or ""
    hash, threads  current megabytes and threads; None if unknown
    nps          nodes a second, if the job measures them
    rules        an engine's own word on the rules of Go (`kata-get-rules`), "" without one
    """

    check_id: str
    code: str
    name: str = ""
    problems: tuple[Problem, ...] = ()
    stderr: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0
    tested_as: str = ""
    hash: int | None = None
    threads: int | None = None
    nps: float | None = None
    rules: str = ""


class HostTally(msgspec.Struct):
    """Counts of the results of one host of a cluster.

    load   sum over the results
    speed  the latest known
    """

    name: str
    results: int = 0
    time_losses: int = 0
    faults: int = 0
    load: float = 0.0
    speed: float | None = None

    def take(self, result: Result) -> None:
        self.results += 1
        self.time_losses += result.reason in TIME_LOSSES
        self.faults += result.reason in FAULTS
        if result.host is not None:
            self.load += result.host.load or 0.0
            self.speed = result.host.speed or self.speed


#: A result that a store records.
Result = GameResult | EvaluationResult
JobResult = GameResult | EvaluationResult | CheckResult


class MoveRecord(msgspec.Struct, frozen=True, gc=False):
    """One move of a game.

    player   index of its player
    seconds  time charged to the player; None for moves of a handicap or opening
    score    centipawns from the mover's side; in Go hundredths of a percent of winrate above
             one half; or None
    mate     moves to mate (negative: being mated), or None
    seldepth, nps, hashfull (per mille), tbhits  from the engine, or None
    pv       the expected line in the protocol's notation, this move first
    lead     points ahead from the mover's side (Go), or None
    comment  the engine's comment in UTF-8, possibly several lines
    left     seconds on the player's clock after the move, of the base time or the period;
             None without a clock
    overtime stones or periods left, None in the base time
    """

    move: str
    player: int
    seconds: float | None = None
    score: int | None = None
    mate: int | None = None
    depth: int | None = None
    nodes: int | None = None
    seldepth: int | None = None
    nps: int | None = None
    hashfull: int | None = None
    tbhits: int | None = None
    pv: tuple[str, ...] = ()
    comment: str = ""
    left: float | None = None
    overtime: int | None = None
    lead: float | None = None


@dataclass(frozen=True, slots=True)
class GameRecord:
    """A finished game.

    names     names of the players for the record; codes are those of the control file
    date      "YYYY-MM-DD", local time, of the start
    score     as in GameResult.score; reason and detail likewise
    setup     handicap stones (GTP vertices) placed before the first move
    descriptions  per player, the engine's description of its configuration
    builds    per player, the label of its build, or ""
    notes     further lines (final_score answers, void reasons)
    parameters    per player, the tuner's values
    shown_parameters  the same as text, through the formats of the control file
    competition   code of the competition
    round         number of the pair of games with one opening, from 1; 0 if unknown
    time_controls per player, all its limits in words; clocks the clock among them
    started   seconds since the epoch, None if unknown; seconds the game took
    """

    game_id: str
    event: str
    date: str
    codes: tuple[str, str]
    names: tuple[str, str]
    settings: GameSettings
    opening: Opening
    moves: tuple[MoveRecord, ...]
    score: str
    reason: str
    detail: str = ""
    setup: tuple[str, ...] = ()
    descriptions: tuple[str, str] = ("", "")
    builds: tuple[str, str] = ("", "")
    notes: tuple[str, ...] = ()
    parameters: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    shown_parameters: tuple[str, str] = ("", "")
    competition: str = ""
    round: int = 0
    time_controls: tuple[str, str] = ("", "")
    clocks: tuple[TimeControl | None, TimeControl | None] = (None, None)
    started: float | None = None
    seconds: float = 0.0
    cpu_times: tuple[float | None, float | None] = (None, None)
