"""Both stores side by side, through the same random history."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ringmaster.model.results import EngineUsage, EvaluationResult, GameResult
from ringmaster.storage.memory_store import MemoryStore
from ringmaster.storage.sqlite_store import SqliteStore
from ringmaster.storage.store import Issue, Pending, Store, Transaction
from tests.contracts.store_contract import everything, now, run_of

IDS = st.sampled_from(["0_0", "0_1", "1_0", "é"])
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
    number=st.integers(-2, 2),
    shard=st.integers(0, 1),
    detail=TEXT,
    seconds=st.floats(0, 1e6),
    positions=st.integers(0, 1000),
    usage=USAGE,
    scores=st.none() | st.binary(max_size=8),
    facts=DATA,
)
ACTIONS = st.one_of(
    st.tuples(st.just("record"), DATA, RESULTS),
    st.tuples(st.just("record"), DATA, EVALUATIONS),
    st.tuples(st.just("drop_scores"), st.integers(-2, 2)),
    st.tuples(st.just("issue"), st.builds(Issue, IDS, ATTEMPTS, DATA)),
    st.tuples(st.just("withdraw"), IDS),
    st.tuples(st.just("save_state"), DATA),
    st.tuples(
        st.just("add_pending"),
        st.builds(Pending, IDS, ATTEMPTS, st.just("games"), st.just("x.sgf"), st.text()),
    ),
    st.tuples(st.just("drop_pending"), IDS, ATTEMPTS),
    st.tuples(st.just("set_note"), st.sampled_from(["a", "b"]), DATA),
)


class Stop(Exception):
    """What ends a transaction half way."""


class TwoStores(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "t.status"
        self.disk = SqliteStore.open(self.path, now=now)
        self.memory = MemoryStore(now=now)

    def teardown(self) -> None:
        self.disk.close()
        self.folder.cleanup()

    @staticmethod
    def act(transaction: Transaction, actions: list[tuple[Any, ...]]) -> list[Any]:
        return [getattr(transaction, name)(*arguments) for name, *arguments in actions]

    @rule(actions=st.lists(ACTIONS, max_size=8))
    def transaction(self, actions: list[tuple[Any, ...]]) -> None:
        with self.disk.transaction() as one, self.memory.transaction() as two:
            assert self.act(one, actions) == self.act(two, actions)

    @rule(actions=st.lists(ACTIONS, min_size=1, max_size=8))
    def transaction_that_fails(self, actions: list[tuple[Any, ...]]) -> None:
        stores: tuple[Store, Store] = (self.disk, self.memory)
        before = everything(self.disk)
        for store in stores:
            try:
                with store.transaction() as transaction:
                    self.act(transaction, actions)
                    raise Stop
            except Stop:
                pass
        assert everything(self.disk) == before

    @rule(data=DATA)
    def begin_run(self, data: dict[str, Any]) -> None:
        run = run_of(settings=data)
        assert self.disk.begin_run(run) == self.memory.begin_run(run)

    @precondition(lambda self: self.memory.runs())
    @rule(ended=st.floats(0, 1e10), reason=TEXT.map(repr))
    def end_run(self, ended: float, reason: str) -> None:
        number = self.memory.runs()
        for store in (self.disk, self.memory):
            store.end_run(number, ended, reason)

    @rule()
    def open_again(self) -> None:
        self.disk.close()
        self.disk = SqliteStore.open(self.path, now=now)

    @rule()
    def a_reader_sees_the_same(self) -> None:
        reader = SqliteStore.open_readonly(self.path)
        try:
            assert everything(reader) == everything(self.memory)
        finally:
            reader.close()

    @invariant()
    def they_are_alike(self) -> None:
        assert everything(self.disk) == everything(self.memory)
        for number in range(-2, 3):
            for shard in range(2):
                assert self.disk.scores(number, shard) == self.memory.scores(number, shard)
        for key in ("a", "b"):
            assert self.disk.note(key) == self.memory.note(key)

    @invariant()
    def nothing_is_counted_twice(self) -> None:
        found = [recorded.result for recorded in self.disk.results()]
        counted = [result.id for result in found if result.outcome != "void"]
        assert len(set(counted)) == len(counted)
        assert self.disk.counts() == (len(counted), len(found) - len(counted))


TestTwoStores = TwoStores.TestCase
TestTwoStores.settings = settings(
    max_examples=25, stateful_step_count=15, deadline=None, derandomize=True
)
