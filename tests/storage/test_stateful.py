"""A random history of a store, against a reader, rollback and opening again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ringmaster.model.results import EngineUsage, EvaluationResult, GameResult
from ringmaster.storage.entries import IssuedJob, PendingRecord
from ringmaster.storage.store import Store
from ringmaster.storage.transaction import Transaction
from tests.storage.test_store import everything, now, run_of

IDS = st.sampled_from(["0_0", "0_1", "1_0", "g0#1"])
ATTEMPTS = st.integers(0, 2)
TEXT = st.text(alphabet=st.characters(), max_size=8)
DATA = st.dictionaries(
    st.sampled_from(["k", "theta"]),
    st.one_of(st.integers(), st.lists(st.floats(allow_nan=False, allow_infinity=False))),
)
USAGE = st.builds(
    EngineUsage,
    name=TEXT,
    cpu_time=st.none() | st.floats(0, 1e6),
    peak_memory=st.none() | st.integers(0, 1 << 50),
    thinking=st.floats(0, 1e6),
    slowest=st.floats(0, 1e6),
    description=TEXT,
)
RESULTS = st.builds(
    GameResult,
    game_id=IDS,
    attempt=ATTEMPTS,
    outcome=st.sampled_from(["win", "draw", "unknown", "void"]),
    winner=st.sampled_from([None, 0, 1]),
    detail=TEXT,
    forfeit=st.booleans(),
    seconds=st.floats(0, 1e6),
    usage=st.tuples(USAGE, USAGE),
)
EVALUATIONS = st.builds(
    EvaluationResult,
    job_id=IDS,
    attempt=ATTEMPTS,
    outcome=st.sampled_from(["evaluated", "void"]),
    score_key=st.integers(-2, 2),
    shard=st.integers(0, 1),
    detail=TEXT,
    seconds=st.floats(0, 1e6),
    positions=st.integers(0, 1000),
    usage=USAGE,
    scores=st.none() | st.binary(max_size=8),
    facts=DATA,
)
ACTIONS = st.one_of(
    st.tuples(st.just("store_result"), DATA, RESULTS),
    st.tuples(st.just("store_result"), DATA, EVALUATIONS),
    st.tuples(st.just("drop_scores"), st.integers(-2, 2)),
    st.tuples(st.just("issue"), st.builds(IssuedJob, IDS, ATTEMPTS, DATA)),
    st.tuples(st.just("withdraw"), IDS),
    st.tuples(st.just("save_state"), DATA),
    st.tuples(
        st.just("add_pending"),
        st.builds(PendingRecord, st.just("t.games"), st.just("x.sgf"), st.text()),
    ),
    st.tuples(st.just("drop_pending"), st.integers(0, 5)),
    st.tuples(st.just("set_value"), st.sampled_from(["a", "b"]), DATA),
)


class Stop(Exception):
    """Ends a transaction half way."""


class History(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "t.status"
        self.store = Store.open(self.path, now=now)
        self.runs = 0

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @staticmethod
    def act(transaction: Transaction, actions: list[tuple[Any, ...]]) -> None:
        for name, *arguments in actions:
            getattr(transaction, name)(*arguments)

    @rule(actions=st.lists(ACTIONS, max_size=8))
    def transaction(self, actions: list[tuple[Any, ...]]) -> None:
        with self.store.transaction() as transaction:
            self.act(transaction, actions)

    @rule(actions=st.lists(ACTIONS, min_size=1, max_size=8))
    def transaction_that_fails(self, actions: list[tuple[Any, ...]]) -> None:
        before = self.everything()
        try:
            with self.store.transaction() as transaction:
                self.act(transaction, actions)
                raise Stop
        except Stop:
            pass
        assert self.everything() == before

    @rule(data=DATA)
    def begin_run(self, data: dict[str, Any]) -> None:
        self.runs += 1
        assert self.store.begin_run(run_of(settings=data)) == self.runs

    @precondition(lambda self: self.runs)
    @rule(ended=st.floats(0, 1e10), reason=TEXT.map(repr))
    def end_run(self, ended: float, reason: str) -> None:
        self.store.end_run(self.runs, ended, reason)

    @rule()
    def open_again(self) -> None:
        before = self.everything()
        self.store.close()
        self.store = Store.open(self.path, now=now)
        assert self.everything() == before

    @invariant()
    def a_reader_sees_the_same(self) -> None:
        reader = Store.open_readonly(self.path)
        try:
            assert everything(reader) == everything(self.store)
        finally:
            reader.close()

    @invariant()
    def nothing_is_counted_twice(self) -> None:
        results = [recorded.result for recorded in self.store.results()]
        counted = [result.id for result in results if result.outcome != "void"]
        assert len(set(counted)) == len(counted)
        assert self.store.counts() == (len(counted), len(results) - len(counted))

    def everything(self) -> tuple[Any, ...]:
        """Return all that can be read, with scores and notes."""
        scores = [self.store.scores(number, shard) for number in range(-2, 3) for shard in (0, 1)]
        notes = [self.store.read_value(key) for key in ("a", "b")]
        return *everything(self.store), scores, notes


TestHistory = pytest.mark.slow(History.TestCase)
TestHistory.settings = settings(stateful_step_count=15, deadline=None, derandomize=True)
