"""Competitions with recorded results for the tests of results and exports; no
engine is started."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ringmaster.event import Event
from ringmaster.model.results import EngineUsage, GameResult
from ringmaster.storage.sqlite_store import SqliteStore
from ringmaster.storage.store import Run

#: Seconds since the epoch at which everything is recorded: 2023-11-14T22:13:20Z.
NOW = 1_700_000_000

CHESS = """competition_type = "playoff"
game = "chess"
description = "What it is for."
players = {
    "a": Player("./engine -a", options={"Hash": 8}, nodes=1),
    "b": Player("./engine", nodes=2),
    "c": Player("./engine", nodes=3),
}
matchups = [
    Matchup("a", "b", number_of_games=10),
    Matchup("c", "a", id="ca", name="the old and the new", alternating=False),
]
"""

GO = """competition_type = "playoff"
players = {"a": Player("engine"), "b": Player("engine")}
board_size = 9
komi = 6.5
matchups = [Matchup("a", "b", handicap=2, number_of_games=4)]
"""

SHOGI = """competition_type = "playoff"
game = "shogi"
players = {"a": Player("engine", nodes=1), "b": Player("engine", nodes=1)}
matchups = [Matchup("a", "b")]
"""

TUNE = """competition_type = "spsa"
game = "chess"
players = {"e": Player("engine", nodes=1)}
player = "e"
parameters = [
    Parameter("x", start=5, min=-1e6, max=1e6, c_end=1),
    Parameter("n", start=5, min=-10**6, max=10**6, c_end=1, integer=True),
]
number_of_games = 100_000
verify = Verify(games=4)
"""

USAGE = (
    EngineUsage("Alpha 1", 1.5, 23_000_000, 6.0, 0.75, "tuned\nby hand"),
    EngineUsage("Beta", None, None, 5.5, 0.5),
)


def write(folder: Path, source: str = CHESS) -> Path:
    """Write a control file; returns its path."""
    control = folder / "event.ctl"
    control.write_text(source)
    return control


def won(game_id: str, winner: int | None = 0, **changes: Any) -> GameResult:
    """Return a game that was won by mate."""
    fields: dict[str, Any] = {
        "outcome": "win",
        "winner": winner,
        "reason": "mate",
        "score": "0-1" if winner else "1-0",
        "plies": 31,
        "seconds": 11.5,
        "usage": USAGE,
    }
    return GameResult(game_id, attempt=changes.pop("attempt", 0), **{**fields, **changes})


def ticket(matchup: str = "0", number: int = 0, *, pair: int | None = None) -> dict[str, Any]:
    """Return the ticket of a playoff's game; odd ones have the colours swapped
    when they are of a pair."""
    return {
        "m": matchup,
        "i": number,
        "b": 0 if pair is None else number % 2,
        "p": pair,
        "o": f"book.epd:{number + 1}",
    }


def open_store(control: Path, *, started: float = NOW - 100) -> SqliteStore:
    """Open the status file of a control file as a run does."""
    event = Event(control)
    store = SqliteStore.open(event.paths.status, now=lambda: NOW)
    if not store.runs():
        with store.transaction() as transaction:
            transaction.save_state(event.competition.state())
    store.begin_run(
        Run(0, started, "0.1", event.loaded.source, event.loaded.source_hash, event.settings)
    )
    return store


def add(store: SqliteStore, results: Iterable[tuple[dict[str, Any], GameResult]]) -> None:
    """Record results in one transaction."""
    with store.transaction() as transaction:
        for each, result in results:
            transaction.record(each, result)


def recorded(control: Path, results: Iterable[tuple[dict[str, Any], GameResult]]) -> Path:
    """Record results as a run that has ended; returns the control file."""
    store = open_store(control)
    add(store, results)
    store.end_run(1, NOW + 1.5, "competition complete")
    store.close()
    return control
