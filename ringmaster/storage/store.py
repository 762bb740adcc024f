"""The contract of a store: what is known of a competition, on disk.

One transaction a result: the result, the competition's new state and the issue
of the next jobs are stored together or not at all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from ringmaster.model.jobs import Ticket
from ringmaster.model.results import EvaluationResult, GameResult, Result


class Issue(msgspec.Struct, frozen=True):
    """A job given out and not yet recorded."""

    game_id: str
    attempt: int
    ticket: Ticket


class Recorded(msgspec.Struct, frozen=True):
    """A result as it was recorded; `seq` counts from 1 in order of recording,
    void results included.  `result.record` and `result.stderr` are not kept.
    `finished` is when it was recorded, in whole seconds since the epoch."""

    seq: int
    ticket: Ticket
    result: GameResult
    finished: float | None = None


class Evaluated(msgspec.Struct, frozen=True):
    """The same of a shard of positions; `result.scores`, `answers` and `stderr` are not
    in it."""

    seq: int
    ticket: Ticket
    result: EvaluationResult
    finished: float | None = None


class Run(msgspec.Struct, frozen=True):
    """One run of the competition.

    started, ended  seconds since the epoch (ended None: running or killed)
    settings        the interpreted settings as JSON data, by name
    """

    number: int
    started: float
    version: str
    source: str
    source_hash: str
    settings: dict[str, Any]
    parallel: int = 1
    ended: float | None = None
    end_reason: str = ""


class Pending(msgspec.Struct, frozen=True):
    """A game record (a file to be written) that a transaction left to be done."""

    game_id: str
    attempt: int
    folder: str
    name: str
    text: str


#: No records in hand.
NONE: Mapping[tuple[str, int], Pending] = {}


class Placed(msgspec.Struct, frozen=True):
    """A game record with its place in the collected file; later ones are larger,
    and none is given twice."""

    place: int
    pending: Pending


class Transaction(ABC):
    """Changes that become visible together, when the `with` block ends."""

    @abstractmethod
    def record(self, ticket: Ticket, result: Result) -> int | None:
        """Insert a result and drop its issue; returns its seq, or None when this
        (game id) was recorded before: then nothing is changed and the caller
        must not let the competition take it.  Void results are unique by (game
        id, attempt), others by game id.

        The scores of a shard are kept apart, by its pass and number, until they are
        dropped."""

    @abstractmethod
    def has_game(self, fingerprint: int) -> bool:
        """Return whether a game with this fingerprint has been recorded, also in this
        transaction."""

    @abstractmethod
    def drop_scores(self, number: int) -> None:
        """Forget the scores of a pass."""

    @abstractmethod
    def issue(self, issue: Issue) -> None:
        """Remember a job as given out (replacing one with the same game id)."""

    @abstractmethod
    def withdraw(self, game_id: str) -> None:
        """Forget a job that was given out."""

    @abstractmethod
    def save_state(self, state: dict[str, Any]) -> int:
        """Store the competition's state as of the last recorded result; returns how
        many bytes it has."""

    @abstractmethod
    def add_pending(self, pending: Pending) -> None:
        """Leave a game record to be written after the commit."""

    @abstractmethod
    def drop_pending(self, game_id: str, attempt: int) -> None:
        """A game record is on disk."""

    @abstractmethod
    def give_place(self, game_id: str) -> None:
        """Give a game the next place in the collected file of game records,
        unless it has one."""

    @abstractmethod
    def fill_place(self, game_id: str, attempt: int) -> None:
        """The record that goes to a game's place is the pending one of this
        attempt; nothing happens without a place."""

    @abstractmethod
    def drop_place(self, game_id: str) -> None:
        """Give a place up: its record has been written, or there will be none."""

    @abstractmethod
    def pass_over(self, but: Collection[str] = ()) -> None:
        """Give up every place that has not been filled, except of these games."""

    @abstractmethod
    def set_note(self, key: str, value: Any) -> None:
        """Keep a small piece of JSON data under a key."""


class Store(ABC):
    """What is known of one competition.

    Guarantees: a transaction is atomic whatever dies; a reader never blocks a
    writer; the cost of a transaction does not grow with the number of games.
    Raises only StoreError and its subclasses.
    """

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction; an exception in the `with` block rolls it back."""

    @abstractmethod
    def begin_run(self, run: Run) -> int:
        """Store a new run (its `number` is ignored) and return its number."""

    @abstractmethod
    def end_run(self, number: int, ended: float, reason: str) -> None:
        """Note how a run ended."""

    @abstractmethod
    def runs(self) -> int:
        """Return how many runs there have been."""

    @abstractmethod
    def all_runs(self) -> Sequence[Run]:
        """Return every run, in order."""

    @abstractmethod
    def last_run(self) -> Run | None:
        """Return the latest run."""

    @abstractmethod
    def snapshot(self) -> tuple[int, dict[str, Any]] | None:
        """Return the latest state and the seq of the result it is as of."""

    @abstractmethod
    def results(self, after: int = 0) -> Iterator[Recorded | Evaluated]:
        """Yield results with seq > after, in order."""

    def games(self, after: int = 0) -> Iterator[Recorded]:
        """Yield the results of games with seq > after, in order."""
        return (found for found in self.results(after) if isinstance(found, Recorded))

    @abstractmethod
    def scores(self, number: int, shard: int) -> bytes | None:
        """Return the scores of a shard of a pass, None when they have been dropped or
        were never there."""

    @abstractmethod
    def issues(self) -> Sequence[Issue]:
        """Return jobs given out and not recorded, in order of issue."""

    @abstractmethod
    def pending(self) -> Iterator[Pending]:
        """Yield the game records that are still to be written; any number of them
        takes the same memory."""

    @abstractmethod
    def in_turn(
        self, after: int = 0, most: int = 100, known: Mapping[tuple[str, int], Pending] = NONE
    ) -> Sequence[Placed]:
        """Return the first records whose turn in the collected file it is: places
        from `after` on, in order, up to one that has not been filled.

        known  records by (game_id, attempt) that the caller has, whose texts need not
               be read
        """

    @abstractmethod
    def note(self, key: str) -> Any:
        """Return what `set_note` stored, or None."""

    @abstractmethod
    def counts(self) -> tuple[int, int]:
        """Return (completed, void) results; constant cost."""

    @abstractmethod
    def close(self) -> None:
        """Release the file; idempotent."""
