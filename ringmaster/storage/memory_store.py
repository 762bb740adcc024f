"""A store in memory, with the guarantees of the one on disk: for simulations,
which play thousands of games a second, and for tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from ringmaster.model.jobs import Ticket
from ringmaster.model.results import EvaluationResult, GameResult, Result
from ringmaster.storage.encoding import decode, encode, kept, kept_evaluation
from ringmaster.storage.store import (
    NONE,
    Evaluated,
    Issue,
    Pending,
    Placed,
    Recorded,
    Run,
    Store,
    Transaction,
)

_K = TypeVar("_K")
_V = TypeVar("_V")


class MemoryStore(Store):
    """See `Store`.

    Data is kept as JSON text: it comes back as it would from a file, and what a
    caller does with it afterwards changes nothing here.  Using it after
    `close`, or two transactions at a time, is a RuntimeError.
    """

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        """`now` gives seconds since the epoch."""
        self._now = now
        self._runs: list[tuple[Run, str]] = []
        self._results: list[tuple[str, Result, int]] = []
        self._scores: dict[tuple[int, int], bytes] = {}
        self._recorded: dict[tuple[str, int], None] = {}
        self._fingerprints: dict[int, None] = {}
        self._issues: dict[str, tuple[int, str]] = {}
        self._pending: dict[tuple[str, int], Pending] = {}
        self._places: dict[str, tuple[int, int | None]] = {}
        self._last_place = 0
        self._notes: dict[str, str] = {}
        self._state: tuple[int, str] | None = None
        self._counts = (0, 0)
        self._busy = False
        self._closed = False

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """See `Store.transaction`."""
        self._check_open()
        if self._busy:
            raise RuntimeError("a transaction is open already")
        transaction = _MemoryTransaction(self)
        self._busy = True
        try:
            yield transaction
            if transaction.failure is not None:
                raise transaction.failure
        except BaseException:
            transaction.roll_back()
            raise
        finally:
            self._busy = False
            transaction.over = True

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the store is closed")

    def begin_run(self, run: Run) -> int:
        """See `Store.begin_run`."""
        self._check_open()
        number = len(self._runs) + 1
        run = msgspec.structs.replace(run, number=number)
        self._runs.append((run, encode(run.settings)))
        return number

    def end_run(self, number: int, ended: float, reason: str) -> None:
        """See `Store.end_run`."""
        self._check_open()
        if 1 <= number <= len(self._runs):
            run, settings = self._runs[number - 1]
            run = msgspec.structs.replace(run, ended=ended, end_reason=reason)
            self._runs[number - 1] = (run, settings)

    def runs(self) -> int:
        """See `Store.runs`."""
        self._check_open()
        return len(self._runs)

    def all_runs(self) -> Sequence[Run]:
        """See `Store.all_runs`."""
        self._check_open()
        return [
            msgspec.structs.replace(run, settings=decode(settings)) for run, settings in self._runs
        ]

    def last_run(self) -> Run | None:
        """See `Store.last_run`."""
        self._check_open()
        if not self._runs:
            return None
        run, settings = self._runs[-1]
        return msgspec.structs.replace(run, settings=decode(settings))

    def snapshot(self) -> tuple[int, dict[str, Any]] | None:
        """See `Store.snapshot`."""
        self._check_open()
        return None if self._state is None else (self._state[0], decode(self._state[1]))

    def results(self, after: int = 0) -> Iterator[Recorded | Evaluated]:
        """See `Store.results`; ends with the last result of when it began."""
        self._check_open()
        for index, (ticket, result, finished) in enumerate(self._results[after:], after + 1):
            if isinstance(result, EvaluationResult):
                yield Evaluated(index, decode(ticket), result, finished)
            else:
                yield Recorded(index, decode(ticket), result, finished)

    def scores(self, number: int, shard: int) -> bytes | None:
        """See `Store.scores`."""
        self._check_open()
        return self._scores.get((number, shard))

    def issues(self) -> Sequence[Issue]:
        """See `Store.issues`."""
        self._check_open()
        return [
            Issue(game_id, attempt, decode(ticket))
            for game_id, (attempt, ticket) in self._issues.items()
        ]

    def pending(self) -> Iterator[Pending]:
        """See `Store.pending`."""
        self._check_open()
        return iter(list(self._pending.values()))

    def in_turn(
        self, after: int = 0, most: int = 100, known: Mapping[tuple[str, int], Pending] = NONE
    ) -> Sequence[Placed]:
        """See `Store.in_turn`."""
        self._check_open()
        found: list[Placed] = []
        for game_id, (place, attempt) in sorted(self._places.items(), key=lambda item: item[1][0]):
            if attempt is None or len(found) == most:
                break
            pending = self._pending.get((game_id, attempt))
            if place > after and pending is not None:
                found.append(Placed(place, pending))
        return found

    def note(self, key: str) -> Any:
        """See `Store.note`."""
        self._check_open()
        value = self._notes.get(key)
        return None if value is None else decode(value)

    def counts(self) -> tuple[int, int]:
        """See `Store.counts`."""
        self._check_open()
        return self._counts

    def close(self) -> None:
        """See `Store.close`."""
        self._closed = True


class _MemoryTransaction(Transaction):
    """Changes are made at once; `_undo` takes them back, latest first, so that
    a transaction costs what it changes and not what there is."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._undo: list[Callable[[], object]] = []
        self.failure: Exception | None = None
        self.over = False

    def roll_back(self) -> None:
        """Take every change back."""
        while self._undo:
            self._undo.pop()()

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Note an error, so that half a transaction is not committed."""
        if self.failure is not None:
            raise self.failure
        if self.over:
            raise RuntimeError("the transaction is over")
        try:
            yield
        except Exception as error:
            self.failure = error
            raise

    def record(self, ticket: Ticket, result: Result) -> int | None:
        """See `Transaction.record`."""
        with self._change():
            store = self._store
            scores = None
            if isinstance(result, EvaluationResult):
                scores = result.scores
                result = kept_evaluation(result)
            else:
                result = kept(result)
            void = result.outcome == "void"
            counted = (result.id, -1)
            key = (result.id, result.attempt) if void else counted
            # a void result of a game that counts already must not be replayed
            if key in store._recorded or counted in store._recorded:
                return None
            text = encode(ticket)
            self._put(store._recorded, key, None)
            store._results.append((text, result, int(store._now())))
            self._undo.append(store._results.pop)
            self._remove(store._issues, result.id)
            fingerprint = result.fingerprint if isinstance(result, GameResult) else None
            if fingerprint is not None and fingerprint not in store._fingerprints:
                self._put(store._fingerprints, fingerprint, None)
            if scores is not None and isinstance(result, EvaluationResult):
                self._put(store._scores, (result.number, result.shard), bytes(scores))
            completed, voids = before = store._counts
            self._undo.append(lambda: setattr(store, "_counts", before))
            store._counts = (completed, voids + 1) if void else (completed + 1, voids)
            return len(store._results)

    def has_game(self, fingerprint: int) -> bool:
        """See `Transaction.has_game`."""
        with self._change():
            return fingerprint in self._store._fingerprints

    def drop_scores(self, number: int) -> None:
        """See `Transaction.drop_scores`."""
        with self._change():
            for key in [key for key in self._store._scores if key[0] == number]:
                self._remove(self._store._scores, key)

    def issue(self, issue: Issue) -> None:
        """See `Transaction.issue`."""
        with self._change():
            value = (issue.attempt, encode(issue.ticket))
            self._put(self._store._issues, issue.game_id, value)

    def withdraw(self, game_id: str) -> None:
        """See `Transaction.withdraw`."""
        with self._change():
            self._remove(self._store._issues, game_id)

    def save_state(self, state: dict[str, Any]) -> int:
        """See `Transaction.save_state`."""
        with self._change():
            store = self._store
            text = encode(state)
            before, after = store._state, (len(store._results), text)
            self._undo.append(lambda: setattr(store, "_state", before))
            store._state = after
        return len(text)

    def add_pending(self, pending: Pending) -> None:
        """See `Transaction.add_pending`."""
        with self._change():
            self._put(self._store._pending, (pending.game_id, pending.attempt), pending)

    def drop_pending(self, game_id: str, attempt: int) -> None:
        """See `Transaction.drop_pending`."""
        with self._change():
            self._remove(self._store._pending, (game_id, attempt))

    def give_place(self, game_id: str) -> None:
        """See `Transaction.give_place`."""
        with self._change():
            if game_id not in self._store._places:
                self._store._last_place += 1
                self._put(self._store._places, game_id, (self._store._last_place, None))

    def fill_place(self, game_id: str, attempt: int) -> None:
        """See `Transaction.fill_place`."""
        with self._change():
            places = self._store._places
            if game_id in places:
                self._put(places, game_id, (places[game_id][0], attempt))

    def drop_place(self, game_id: str) -> None:
        """See `Transaction.drop_place`."""
        with self._change():
            self._remove(self._store._places, game_id)

    def pass_over(self, but: Collection[str] = ()) -> None:
        """See `Transaction.pass_over`."""
        with self._change():
            places = self._store._places
            for game_id in [g for g, (_, attempt) in places.items() if attempt is None]:
                if game_id not in but:
                    self._remove(places, game_id)

    def set_note(self, key: str, value: Any) -> None:
        """See `Transaction.set_note`."""
        with self._change():
            self._put(self._store._notes, key, encode(value))

    def _put(self, items: dict[_K, _V], key: _K, value: _V) -> None:
        """Set an item, which becomes the last one."""
        self._remove(items, key)
        items[key] = value
        self._undo.append(lambda: items.pop(key))

    def _remove(self, items: dict[_K, _V], key: _K) -> None:
        if key not in items:
            return
        # issues, places and pending records are few: their order is kept by a copy
        before = list(items.items())
        del items[key]

        def restore() -> None:
            items.clear()
            items.update(before)

        self._undo.append(restore)
