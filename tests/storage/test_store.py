"""Meaning of every operation of a store; durability is tested in test_status_file.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringmaster.model.builds import Build, FileSum
from ringmaster.model.cluster import Host
from ringmaster.model.results import (
    EngineUsage,
    EvaluationResult,
    GameResult,
    HostTally,
    Outcome,
    Result,
)
from ringmaster.storage.entries import IssuedJob, PendingRecord, RunEntry, StoredGame, StoredShard
from ringmaster.storage.store import Store

#: Seconds since the epoch on the store's clock.
NOW = 1_700_000_000.75


def now() -> float:
    return NOW


def result(game_id: str = "0_0", attempt: int = 0, outcome: Outcome = "win") -> GameResult:
    """Return a result with a value in every stored field."""
    return GameResult(
        game_id=game_id,
        attempt=attempt,
        outcome=outcome,
        winner=1 if outcome == "win" else None,
        reason="mate",
        detail="after 31. Qh7# é 将",
        forfeit=outcome == "win",
        score="0-1",
        faulty=0,
        plies=62,
        seconds=12.25,
        usage=(
            EngineUsage("Glaurung 2.2", 1.5, 23_000_000, 6.0, 0.75, "tuned"),
            EngineUsage("GNU Go 3.8", None, None, 5.5, 0.5, extra_moves=3, disputed=True),
        ),
        fingerprint=-(1 << 63),
        repeats=True,
        builds=(2, 1),
    )


def evaluation(job_id: str = "p0_0", attempt: int = 0, **changes: Any) -> EvaluationResult:
    """Return a shard's result with a value in every stored field."""
    fields = {
        "score_key": 3,
        "shard": 5,
        "builds": (2,),
        "reason": "no score",
        "detail": "8/8 b é",
        "seconds": 0.25,
        "positions": 2,
        "usage": EngineUsage("Glaurung 2.2", 1.5, 23_000_000, 6.0, 0.75),
        "facts": {"loss": 0.1 + 0.2, "moved": [True, False]},
        **changes,
    }
    return EvaluationResult(job_id, attempt, **{"outcome": "evaluated", **fields})


def run_of(**changes: Any) -> RunEntry:
    """Return a run to be stored."""
    run = RunEntry(
        number=0,
        started=1000.5,
        version="0.1",
        source="competition_type = 'playoff'\n",
        source_hash="abc",
        settings={"seed": 1 << 100, "players": {"a": {"command": ["x", "é"]}}},
        parallel=2,
    )
    return msgspec.structs.replace(run, **changes)


def record(store: Store, *results: Result) -> list[int | None]:
    """Record results, a transaction each; returns their seqs."""
    seqs = []
    for each in results:
        with store.transaction() as transaction:
            seqs.append(transaction.store_result({"of": each.id}, each))
    return seqs


def everything(store: Store) -> tuple[Any, ...]:
    """Return all that can be read of a store, except notes."""
    return (
        list(store.results()),
        list(store.issues()),
        list(store.pending()),
        store.snapshot(),
        store.counts(),
        list(store.runs()),
        store.last_run(),
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path / "t.status", now=now)
    yield store
    store.close()


def test_result_comes_back_with_its_ticket_without_record_and_standard_error(store: Store) -> None:
    ticket = {"k": 3, "theta": [1.25, -3.5], "name": "é", "none": None}
    played = msgspec.structs.replace(
        result(), record="(;)", record_suffix="sgf", stderr=(("a", "x"),)
    )
    with store.transaction() as transaction:
        assert transaction.store_result(ticket, played) == 1
    assert list(store.results()) == [StoredGame(1, ticket, result(), 1_700_000_000)]


def test_hosts_come_back_with_their_results_and_are_counted(store: Store) -> None:
    results = [
        msgspec.structs.replace(result(f"0_{n}"), host=Host(name, 0.5, load), reason=reason)
        for n, (name, load, reason) in enumerate(
            [
                ("one", 0.5, "mate"),
                ("two", None, "stall"),
                ("one", 1.0, "time"),
                ("one", 0.0, "hang"),
            ]
        )
    ]
    record(store, result("here"), *results)
    record(store, msgspec.structs.replace(evaluation(), host=Host("two", None, 2.0)))
    assert [recorded.result for recorded in store.games()] == [result("here"), *results]
    assert store.hosts() == [
        HostTally("one", 3, 1, 1, 1.5, 0.5),
        HostTally("two", 2, 1, 0, 2.0, 0.5),
    ]
    tally = HostTally("one")
    for each in results:
        if each.host is not None and each.host.name == "one":
            tally.take(each)
    assert tally == store.hosts()[0]


def test_times_are_stored_to_the_microsecond(store: Store) -> None:
    usage = EngineUsage("a", 0.12345678, 1, 0.12345678, 0.12345678)
    record(store, msgspec.structs.replace(result(), seconds=1.23456789, usage=(usage, usage)))
    (recorded,) = store.results()
    assert recorded.result.seconds == 1.234568
    usage = recorded.result.usage[0]
    assert (usage.cpu_time, usage.thinking, usage.slowest) == (0.123457,) * 3


def test_text_of_engines_that_utf8_cannot_hold_is_replaced(store: Store) -> None:
    usage = EngineUsage("na\udc80me", description="\ud800")
    record(store, msgspec.structs.replace(result(), detail="a\udcffb\0", usage=(usage, usage)))
    (recorded,) = store.results()
    assert recorded.result.detail == "a?b\0"
    assert (recorded.result.usage[1].name, recorded.result.usage[1].description) == ("na?me", "?")


def test_results_are_numbered_from_1_and_read_from_any_number_on(store: Store) -> None:
    voids = [result(f"0_{n}", 0, "void" if n % 3 == 0 else "draw") for n in range(9)]
    assert record(store, *voids) == list(range(1, 10))
    assert [recorded.seq for recorded in store.results()] == list(range(1, 10))
    assert [recorded.result.game_id for recorded in store.results(after=6)] == ["0_6", "0_7", "0_8"]
    assert list(store.results(after=9)) == []
    assert store.counts() == (6, 3)


def test_second_result_of_a_game_changes_nothing(store: Store) -> None:
    record(store, result("a"))
    with store.transaction() as transaction:
        transaction.issue(IssuedJob("a", 1, {}))
    before = everything(store)
    again = msgspec.structs.replace(result("a", 1, "draw"), plies=1)
    assert record(store, again, result("a", 0)) == [None, None]
    assert everything(store) == before


def test_void_game_can_be_replayed_and_void_results_are_unique_by_attempt(store: Store) -> None:
    first, second = result("a", 0, "void"), result("a", 1, "void")
    assert record(store, first, first, second, second) == [1, None, 2, None]
    assert store.counts() == (0, 2)
    assert record(store, result("a", 2)) == [3]
    assert record(store, result("a", 3, "void")) == [None]
    assert store.counts() == (1, 2)


def test_builds_are_stored_with_their_files_and_counted(store: Store) -> None:
    files = {"./engine": FileSum("ab" * 32, (5, 6, 7, 8)), "/net": FileSum("cd" * 32)}
    first = Build("new", files, "Engine 1", "tuned", 16, 2, NOW)
    second = Build("old", {}, "Engine\udc80")
    with store.transaction() as transaction:
        transaction.put_build(2, first)
        transaction.put_build(1, msgspec.structs.replace(second, name="replaced"))
        transaction.put_build(1, second)
        same = msgspec.structs.replace(result("1_0"), builds=(2, 2))
        unknown = msgspec.structs.replace(result("1_1"), builds=(None, 1))
        void = msgspec.structs.replace(result("1_2", outcome="void"), builds=(2, 1))
        for played in (result(), same, unknown, void, evaluation()):
            transaction.store_result({}, played)
    assert store.builds() == {1: msgspec.structs.replace(second, name="Engine?"), 2: first}
    assert store.games_of_builds() == {1: 2, 2: 3}


def test_game_is_known_by_its_fingerprint_from_its_own_transaction_on(store: Store) -> None:
    def fail() -> None:
        with store.transaction() as transaction:
            transaction.store_result({}, msgspec.structs.replace(result("x"), fingerprint=7))
            assert transaction.has_game(7)
            raise OSError("taken back")

    with pytest.raises(OSError, match="taken back"):
        fail()
    unknown = msgspec.structs.replace(result("v"), fingerprint=None)
    with store.transaction() as transaction:
        assert not transaction.has_game(7)
        transaction.store_result({}, msgspec.structs.replace(result("a"), fingerprint=7))
        transaction.store_result({}, unknown)
        assert transaction.has_game(7)
    with store.transaction() as transaction:
        assert [transaction.has_game(n) for n in (7, 8, -7)] == [True, False, False]
        transaction.store_result({}, msgspec.structs.replace(result("b"), fingerprint=7))
        assert transaction.has_game(7)


def test_result_drops_its_issue_and_no_other(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.issue(IssuedJob("a", 0, {"n": 1}))
        transaction.issue(IssuedJob("b", 0, {"n": 2}))
    record(store, result("a"))
    assert list(store.issues()) == [IssuedJob("b", 0, {"n": 2})]


def test_issues_come_in_order_and_one_given_again_comes_last(store: Store) -> None:
    with store.transaction() as transaction:
        for name in "cabd":
            transaction.issue(IssuedJob(name, 0, {"of": name}))
        transaction.issue(IssuedJob("a", 1, {"again": True}))
        transaction.withdraw("b")
        transaction.withdraw("unknown")
    assert list(store.issues()) == [
        IssuedJob("c", 0, {"of": "c"}),
        IssuedJob("d", 0, {"of": "d"}),
        IssuedJob("a", 1, {"again": True}),
    ]


def test_only_the_latest_state_is_stored_with_the_last_seq(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.save_state({"n": 0})
    assert store.snapshot() == (0, {"n": 0})
    with store.transaction() as transaction:
        transaction.store_result({}, result("a"))
        transaction.save_state({"n": 1, "theta": [0.1, 1e300], "text": "é"})
    record(store, result("b"))
    assert store.snapshot() == (1, {"n": 1, "theta": [0.1, 1e300], "text": "é"})


def test_game_records_wait_until_they_are_dropped(store: Store) -> None:
    first = PendingRecord("t.games", "a.pgn", '[Event "é\udc80"]\r\n' * 500)
    second = PendingRecord("t.void", "a_1.pgn", "")
    with store.transaction() as transaction:
        first, second = transaction.add_pending(first), transaction.add_pending(second)
    assert first.text == '[Event "é\\udc80"]\r\n' * 500
    assert list(store.pending()) == [first, second]
    with store.transaction() as transaction:
        transaction.drop_pending(first.number)
        transaction.drop_pending(77)
    assert list(store.pending()) == [second]
    with store.transaction() as transaction:
        many = [transaction.add_pending(second) for _ in range(250)]
    assert list(store.pending()) == [second, *many]
    assert list(store.pending(many[6].number)) == many[7:]


def test_notes_hold_json_and_are_replaced(store: Store) -> None:
    for value in ({"a": [1, None]}, ["x"], 3, None):
        with store.transaction() as transaction:
            transaction.set_value("key", value)
            transaction.set_value("other", 1)
        assert store.read_value("key") == value
    assert store.read_value("other") == 1


def test_change_that_fails_cannot_be_committed_without(store: Store) -> None:
    def swallow() -> None:
        with store.transaction() as transaction:
            transaction.store_result({}, result("a"))
            with pytest.raises(TypeError):
                transaction.set_value("key", object())

    with pytest.raises(TypeError):
        swallow()
    assert store.counts() == (0, 0)


def test_transaction_is_of_no_use_after_its_end(store: Store) -> None:
    with store.transaction() as transaction:
        pass
    with pytest.raises(RuntimeError):
        transaction.set_value("key", 1)
    assert store.read_value("key") is None


def test_transactions_do_not_nest(store: Store) -> None:
    def nest() -> None:
        with store.transaction():
            pass

    with store.transaction() as transaction:
        transaction.set_value("key", 1)
        with pytest.raises(RuntimeError):
            nest()
    assert store.read_value("key") == 1


def test_results_can_be_recorded_while_results_are_read(store: Store) -> None:
    record(store, *(result(f"0_{n}") for n in range(4)))
    seen = []
    for recorded in store.results():
        seen.append(recorded.seq)
        record(store, result(f"1_{recorded.seq}"))
    assert seen == [1, 2, 3, 4]
    assert store.counts() == (8, 0)


def test_runs_are_numbered_and_the_last_one_is_returned(store: Store) -> None:
    assert store.begin_run(run_of()) == 1
    assert store.last_run() == run_of(number=1)
    store.end_run(1, 2000.25, "competition complete")
    assert store.last_run() == run_of(number=1, ended=2000.25, end_reason="competition complete")
    assert store.begin_run(run_of(number=77, version="0.2")) == 2
    assert store.last_run() == run_of(number=2, version="0.2")
    ended = run_of(number=1, ended=2000.25, end_reason="competition complete")
    assert list(store.runs()) == [ended, run_of(number=2, version="0.2")]


def test_evaluation_comes_back_without_scores_answers_and_standard_error(store: Store) -> None:
    full = evaluation(scores=b"\0\0\x80?\0\0\xc0\x7f", answers=("a", "b"), stderr=(("a", "x"),))
    with store.transaction() as transaction:
        assert transaction.store_result({"p": 3, "i": 5}, full) == 1
    assert list(store.results()) == [StoredShard(1, {"p": 3, "i": 5}, evaluation(), 1_700_000_000)]
    assert list(store.games()) == []


def test_scores_belong_to_their_shard_until_their_pass_is_dropped(store: Store) -> None:
    for number, shard in ((3, 0), (3, 1), (-2, 0)):
        name = f"p{number}_{shard}"
        scores = f"{number}{shard}  ".encode()
        record(store, evaluation(name, score_key=number, shard=shard, scores=scores))
    assert store.scores(3, 1) == b"31  "
    assert store.scores(3, 2) is None
    with store.transaction() as transaction:
        transaction.drop_scores(3)
    assert (store.scores(3, 0), store.scores(3, 1)) == (None, None)
    assert store.scores(-2, 0) == b"-20  "


def test_shard_counts_once_with_its_first_scores(store: Store) -> None:
    assert record(store, evaluation(scores=b"1111")) == [1]
    assert record(store, evaluation(scores=b"2222"), evaluation(attempt=1)) == [None, None]
    assert store.scores(3, 5) == b"1111"
    assert record(store, evaluation("p0_1", 0, outcome="void")) == [2]
    assert store.counts() == (1, 1)
