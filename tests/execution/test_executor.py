from __future__ import annotations

import os
import select
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringmaster.execution.executor import ErrorLines, Tokens
from ringmaster.play.worker import Echo
from tests.contracts.executor_contract import ExecutorContract, Make
from tests.execution.inline import InlineExecutor
from tests.execution.scripted_work import Scripted, game, holder


class TestInlineExecutor(ExecutorContract):
    @pytest.fixture
    def make(self) -> Make:
        return lambda slots, **resources: InlineExecutor(Scripted(), slots, resources)


@pytest.fixture
def pipe() -> Iterator[ErrorLines]:
    with closing(ErrorLines()) as lines:
        yield lines


def echo(pipe: ErrorLines, job_id: str) -> Echo:
    echo_of_job = Echo(pipe.write_fd)
    echo_of_job.job_id = job_id
    return echo_of_job


def test_lines_arrive_with_game_and_player_whole_and_in_order(pipe: ErrorLines) -> None:
    assert pipe.take() == []
    first, second = echo(pipe, "0_0"), echo(pipe, "0_1")
    first("a", b"one\r\ntwo")
    second("b", b"\xff")
    first.job_id = "0_2"
    first("a", b"x" * 900)
    assert pipe.take() == [
        "0_0 a stderr: one",
        "0_0 a stderr: two",
        "0_1 b stderr: \ufffd",
        f"0_2 a stderr: {'x' * 500}",
    ]
    assert pipe.take() == []


def test_half_a_line_waits_for_its_end(pipe: ErrorLines) -> None:
    os.write(pipe.write_fd, b"one\ntw")
    assert pipe.take() == ["one"]
    os.write(pipe.write_fd, b"o\n")
    assert pipe.take() == ["two"]


def test_worker_never_waits_for_a_reader_and_no_line_is_cut(pipe: ErrorLines) -> None:
    writer = echo(pipe, "0_0")
    for number in range(20_000):
        writer("a", b"%d " % number + b"x" * (number % 700))
    assert select.select([pipe], [], [], 0)[0]
    taken_lines = pipe.take()
    assert 50 < len(taken_lines) < 20_000
    for number, line in enumerate(taken_lines[:50]):
        assert line == f"0_0 a stderr: {number} {'x' * number}"
    assert all(line.startswith("0_0 a stderr: ") for line in taken_lines)


def test_worker_goes_on_without_a_reader() -> None:
    lines = ErrorLines()
    fd = os.dup(lines.write_fd)
    lines.close()
    Echo(fd)("a", b"one")
    os.close(fd)


NAMES = st.sampled_from(["gpu0", "gpu1", "licence"])
COUNTS = st.dictionaries(NAMES, st.integers(1, 3))


@given(counts=COUNTS, needs=st.lists(st.tuples(COUNTS, COUNTS), max_size=20), data=st.data())
def test_tokens_suffice_exactly_as_long_as_no_holders_need_more(
    counts: dict[str, int], needs: list[tuple[dict[str, int], dict[str, int]]], data: st.DataObject
) -> None:
    tokens, holders = Tokens(counts), []
    for n, sides in enumerate(needs):
        job = game(n, *(holder("a", **side) for side in sides))
        assert job.resources == Counter(sides[0]) + Counter(sides[1])
        needed = sum((Counter(held.resources) for held in [*holders, job]), Counter())
        fits = all(needed[name] <= count for name, count in counts.items() if name in job.resources)
        assert tokens.suffice(job) == fits
        if fits:
            tokens.held.update(job.resources)
            holders.append(job)
        if holders and data.draw(st.booleans()):
            leaving = holders.pop(data.draw(st.integers(0, len(holders) - 1)))
            tokens.held.subtract(leaving.resources)
    for job in holders:
        tokens.held.subtract(job.resources)
    assert tokens.suffice(game("all", holder("a", **counts), holder("b")))
