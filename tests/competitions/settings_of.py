"""Build competitions without a control file, and results without a game."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ringmaster.competitions import competition_class
from ringmaster.competitions.competition import Competition, Reaction
from ringmaster.competitions.setting_types import NOT_GIVEN
from ringmaster.errors import SettingError, SettingErrors
from ringmaster.model.jobs import GameJob
from ringmaster.model.results import GameResult
from ringmaster.model.settings import Call, Context, interpret_table


def call(kind: str, *args: Any, **kwargs: Any) -> Call:
    return Call(kind, args, kwargs)


def uci(command: str = "engine", **settings: Any) -> Call:
    return call("Player", command, **{"nodes": 100, **settings})


class Refused(Exception):
    """Raised with the errors of a control file, as "path: message"."""


def problem(error: SettingError) -> str:
    return f"{'.'.join(map(str, error.path))}: {error}"


def make(
    type_name: str, directory: Path = Path("/nowhere"), *, endless: bool = True, **settings: Any
) -> Any:
    """Return a competition with these settings.  Raises Refused.

    endless  whether games without a number of games have None written down
    """
    type_class = competition_class(type_name)
    assert type_class is not None
    context = Context(directory)
    if endless:
        written = {s.name: None for s in type_class.table if s.default is NOT_GIVEN}
        settings = {**written, **settings}
    values = interpret_table(type_class.table, settings, (), context)
    if values is None:
        raise Refused("\n".join(map(problem, context.problems)))
    try:
        return type_class("event", values)
    except SettingErrors as several:
        raise Refused("\n".join(map(problem, several.errors))) from several
    except SettingError as error:
        raise Refused(problem(error)) from error


def candidate(*values: Any) -> Call:
    """Return a player: a make_candidate function."""
    return call("Player", ["engine", *map(str, values)])


#: Settings of a tune against an opponent, without its own ones.
AGAINST_OPPONENT: dict[str, Any] = {
    "players": {"opp": call("Player", "opponent")},
    "opponent": "opp",
    "make_candidate": candidate,
    "board_size": 9,
    "komi": 7.5,
    "candidate_colour": "w",
}


def candidate_result(job: GameJob, candidate_won: bool) -> GameResult:
    """Return a result of a candidate's game, on points."""
    seat = job.ticket["s"]
    winner = seat if candidate_won else 1 - seat
    return GameResult(job.id, job.attempt, "win", winner=winner, reason="score", score="B+3.5")


def won(job: GameJob, code: str) -> GameResult:
    """Return a win of the player with this code."""
    codes = [player.code for player in job.players]
    return GameResult(
        job.id, job.attempt, "win", winner=codes.index(code), reason="mate", score="1-0"
    )


def drawn(job: GameJob) -> GameResult:
    return GameResult(job.id, job.attempt, "draw", reason="stalemate", score="1/2-1/2")


def void(job: GameJob, code: str | None = None) -> GameResult:
    """Return a void game, with this faulty player or none."""
    codes = [player.code for player in job.players]
    faulty = None if code is None else codes.index(code)
    return GameResult(
        job.id, job.attempt, "void", reason="crash", detail="it exited", faulty=faulty
    )


def codes(job: GameJob) -> tuple[str, str]:
    """Return the codes of a game's players, first mover first."""
    first, second = job.players
    return first.code, second.code


def void_often(
    competition: Competition, job: GameJob, times: int, code: str | None = None
) -> list[Reaction]:
    """Record a game as void `times` times in a row, as first attempts."""
    return [competition.record_result(job.ticket, void(job, code)) for _ in range(times)]


def again(competition: Competition, fresh: Competition) -> Competition:
    """Restore a competition's state in a fresh one, as a new run does."""
    import msgspec

    fresh.restore(msgspec.json.decode(msgspec.json.encode(competition.state())))
    fresh.apply_edits([])
    fresh.watch.clear()
    return fresh
