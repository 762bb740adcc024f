"""Make competitions with recorded results without an engine, and stores in memory."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.model.results import EngineUsage, GameResult
from ringmaster.storage.connect import View
from ringmaster.storage.entries import RunEntry
from ringmaster.storage.schema import create
from ringmaster.storage.store import Store

#: The time of every record, in seconds since the epoch: 2023-11-14T22:13:20Z.
NOW = 1_700_000_000

CHESS = """competition_type = "playoff"
game = "chess"
description = "What it is for."
players = {
    "a": Player("./engine -a", options={"Hash": 8}, nodes=1),
    "b": Player("./engine", nodes=2),
    "c": Player("./engine", nodes=3),
}
number_of_games = None
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
number_of_games = None
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
    """Write a control file; return its path."""
    control = folder / "event.ctl"
    control.write_text(source)
    return control


def won(game_id: str, winner: int | None = 0, **changes: Any) -> GameResult:
    """Return a game won by mate."""
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
    """Return the ticket of a playoff's game; in a pair, odd numbers have swapped colours."""
    return {
        "m": matchup,
        "i": number,
        "b": 0 if pair is None else number % 2,
        "p": pair,
        "o": f"book.epd:{number + 1}",
    }


def open_store(control: Path, *, started: float = NOW - 100) -> Store:
    """Open the status file of a control file and begin a run."""
    loaded = LoadedCompetition(control)
    store = Store.open(loaded.paths.status, now=lambda: NOW)
    if not store.runs():
        with store.transaction() as transaction:
            transaction.save_state(loaded.competition.state())
    store.begin_run(
        RunEntry(
            0,
            started,
            "0.1",
            loaded.control_file.origin.text,
            loaded.control_file.origin.hash,
            loaded.settings,
        )
    )
    return store


def add(store: Store, results: Iterable[tuple[dict[str, Any], GameResult]]) -> None:
    """Record results in one transaction."""
    with store.transaction() as transaction:
        for each, result in results:
            transaction.store_result(each, result)


def recorded(control: Path, results: Iterable[tuple[dict[str, Any], GameResult]]) -> Path:
    """Record the results of a complete run; return the control file."""
    store = open_store(control)
    add(store, results)
    store.end_run(1, NOW + 1.5, "competition complete")
    store.close()
    return control


class _ClosedWithItsStore(sqlite3.Connection):
    """A connection that closes itself, like the store that nothing refers to any more."""

    def __del__(self) -> None:
        self.close()


def memory_store(now: Callable[[], float] = time.time) -> Store:
    """Return an empty store in memory; `now` returns seconds since the epoch."""
    connection = sqlite3.connect(":memory:", isolation_level=None, factory=_ClosedWithItsStore)
    create(connection)
    path = Path("t.status")
    return Store(path, View(path, connection), now=now)


def scored_passes(store: Store) -> set[int]:
    """Return the numbers of the passes with stored scores."""
    return {number for (number,) in store._connection.execute("SELECT pass FROM scores")}
