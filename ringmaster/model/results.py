"""Results: what comes back from a worker.  An engine's fault is a result, not
an exception; only a fault of the infrastructure raises."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Outcome = Literal["win", "draw", "unknown", "void"]


class EngineUsage(msgspec.Struct, frozen=True):
    """What one engine used in one game.

    name         the engine's own name and version, "" if it gave none
    cpu_time     seconds of CPU used in this game, children included; None
                 where it cannot be had
    peak_memory  bytes, resident, the highest seen; None likewise
    thinking     seconds of wall time charged to it
    slowest      seconds of its slowest move
    ponder_cpu_time  seconds of CPU while its opponent was thinking, if it was told
                 to ponder (part of cpu_time)
    """

    name: str = ""
    cpu_time: float | None = None
    peak_memory: int | None = None
    thinking: float = 0.0
    slowest: float = 0.0
    description: str = ""
    ponder_cpu_time: float | None = None


class GameResult(msgspec.Struct, frozen=True, tag="game"):
    """The result of one game.

    outcome  "win"; "draw" (jigo included); "unknown" (not scored, Go move
             limit); "void" (software failure: does not count)
    winner   index into the job's players, for "win" only
    reason   one of the field's short terms: "mate", "resignation", "stalemate",
             "repetition", "50 moves", "material", "move limit", "score",
             "claim", "time" (its clock ran out), "stall" (the same, and it did
             not stop when told to), "illegal move", "refused", "crash", "hang"
             (no answer where no clock ran), "protocol", "start"
    detail   one line for a person: the margin, the move, the engine's last words
    forfeit  whether the loser lost by a fault (illegal move, time, GTP failure)
    score    "B+3.5", "W+R", "W+F", "0", "?", "Void" in Go; "1-0", "0-1",
             "1/2-1/2", "*" in chess and shogi
    faulty   index of the player at fault in a forfeit or void game, if known
    record   the game record (SGF, PGN), or None
    fingerprint  short hash of the series, the players in move order, the start position
             and the moves; None of a void game, and of one that an earlier version played
    repeats  whether an earlier game of the competition has the same fingerprint
    stderr   bounded lines of standard error, as (player code, line)
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

    @property
    def id(self) -> str:
        """The job's id."""
        return self.game_id

    def points(self, index: int) -> float:
        """Return what the game is worth to player `index`, where every game has to be
        worth something: 1, ½ or 0 (unknown counts ½; tables of points leave it out).

        Raises ValueError for a void game, which has no score.
        """
        if self.outcome == "void":
            raise ValueError("a void game has no score")
        if self.outcome == "win":
            return 1.0 if self.winner == index else 0.0
        return 0.5


class EvaluationResult(msgspec.Struct, frozen=True, tag="evaluation"):
    """What an engine says of a shard of positions.

    number, shard  the job's
    outcome  "evaluated", or "void": it counts for nothing and is tried again
    reason, detail  as of a game; of a void one, why
    scores   one little-endian float32 a position, in the order of the shard: centipawns
             from the side that moves first in a game (White in chess, Black in shogi),
             NaN where the engine gives none (in check); None when void, for a probe, and
             when read from a store, which keeps them apart
    answers  per position what the engine said, if the job wanted it; not kept in a store
    facts    small JSON data that a probe found out
    """

    job_id: str
    attempt: int
    outcome: Literal["evaluated", "void"]
    number: int = 0
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

    @property
    def id(self) -> str:
        """The job's id."""
        return self.job_id


class Finding(msgspec.Struct, frozen=True):
    """What one test of a thorough check found.

    status    "fail" would spoil games as this player plays them, "warn" is
              against the protocol or odd, "skip" could not be tested
    name      what was tested, in a few words
    detail    one line: what was measured, or what is wrong
    exchange  lines that show it, "> " before what the engine was told and "< "
              before what it said
    """

    status: Literal["pass", "warn", "fail", "skip"]
    name: str
    detail: str = ""
    exchange: tuple[str, ...] = ()


class CheckResult(msgspec.Struct, frozen=True, tag="check"):
    """The result of a check: no problems means that games can be played.

    findings, suggestions  of a thorough check; each finding that is a "fail" is
                 among the problems, too
    seconds      how long a thorough check took
    tested_as    the player whose thorough check was of the same engine, or ""
    hash, threads  megabytes and threads as they are set now; None where it is not known
    """

    check_id: str
    code: str
    name: str = ""
    problems: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    suggestions: tuple[str, ...] = ()
    seconds: float = 0.0
    tested_as: str = ""
    hash: int | None = None
    threads: int | None = None


#: What is recorded.
Result = GameResult | EvaluationResult
JobResult = GameResult | EvaluationResult | CheckResult
