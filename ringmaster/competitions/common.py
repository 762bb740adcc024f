"""The common settings and result lines of all competition types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ringmaster.competitions.players import PLAYER
from ringmaster.errors import SettingError
from ringmaster.model.results import GameResult
from ringmaster.model.settings import (
    Boolean,
    DictOf,
    Identifier,
    Integer,
    Maybe,
    OneOf,
    Setting,
    String,
)

#: Settings of every competition type, beside `competition_type` itself.
COMMON_SETTINGS: tuple[Setting, ...] = (
    Setting(
        "game",
        OneOf("go", "chess", "shogi"),
        "The game that is played.",
        "go",
        change="refused",
    ),
    Setting("description", Maybe(String()), "Text for the report.", None, change="report"),
    Setting("record_games", Boolean(), "Write a record of each game.", True),
    Setting(
        "record_files",
        OneOf("both", "single", "collected"),
        "Whether records are in a file a game, in one file of all games, or both.",
        "both",
    ),
    Setting(
        "parallel",
        Integer(minimum=1),
        "Games at a time, unless ``-j`` says otherwise.",
        1,
        change="report",
    ),
    Setting(
        "skip_player_checks",
        Boolean(),
        "Do not check the players before a run.",
        False,
        change="report",
    ),
    Setting(
        "stderr_to_log",
        Boolean(),
        "Copy the engines' standard error to the log when a game ends; False: show it on "
        "standard error as it comes, also in a quiet run.",
        True,
    ),
    Setting(
        "players",
        DictOf(Identifier(), PLAYER),
        "The engines, by player code.",
    ),
    Setting(
        "seed",
        Integer(),
        "Seed of every random decision.",
        0,
        change="refused",
    ),
)


@contextmanager
def noting(errors: list[SettingError]) -> Iterator[None]:
    """Note a SettingError instead of raising it, so that others are found too."""
    try:
        yield
    except SettingError as error:
        errors.append(error)


def result_reason(result: GameResult) -> str:
    """Return why a game came out as it did, in brackets after a space; "" where
    its score says all."""
    detail = result.detail.splitlines()[0] if result.detail else ""
    # the log and the record give the seconds
    reason = result.reason if result.reason == "time" else detail or result.reason
    if result.winner is not None and result.reason == "score" and not detail:
        return ""
    return f" ({reason})"


def result_line(result: GameResult, codes: tuple[str, str]) -> str:
    """Return a result as the display and the history show it; `codes` in the
    order of the result's players."""
    head = f"game {result.game_id}:"
    if result.outcome == "void":
        detail = result.detail.splitlines()[0] if result.detail else ""
        attempt = f", attempt {result.attempt + 1}" if result.attempt else ""
        return f"{head} void ({result.reason}{attempt}): {detail}"
    reason = result_reason(result)
    if result.winner is not None:
        winner, loser = codes[result.winner], codes[1 - result.winner]
        return f"{head} {winner} beat {loser} {result.score}{reason}"
    if result.outcome == "draw":
        return f"{head} {codes[0]} v {codes[1]} draw {result.score}{reason}"
    return f"{head} {codes[0]} v {codes[1]} no result{reason}"
