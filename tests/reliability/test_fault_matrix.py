"""Faults of engines in every phase and protocol: verdict, log line, time, nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ringmaster.play.worker import Worker
from tests.play.workers import one_worker
from tests.processes import LONG
from tests.reliability.fault_matrix import PHASES, PROTOCOLS, Fault, faults, strike

#: Most seconds until the next game starts, on a busy machine too: less than a game waits for an
#: engine that does not hang.
MOST_SECONDS = LONG / 3


def _parameter(fault: Fault) -> object:
    id = "-".join((fault.protocol, fault.phase, fault.name))
    slow_names = ("closes", "late", "prints", "exits, its")
    waits = fault.waits or fault.phase == "quit" or fault.name.startswith(slow_names)
    is_slow = waits or fault.protocol == "usi"
    return pytest.param(fault, id=id, marks=[pytest.mark.slow] if is_slow else [])


def chosen() -> list[Fault]:
    """Return all faults of UCI and GTP engines; USI engines share the code of UCI engines: one
    for each verdict in each phase.  `benchmarks/reliability.py faults` has all."""
    of_usi = {(f.phase, f.verdict): f for f in faults() if f.protocol == "usi"}
    return [f for f in faults() if f.protocol != "usi" or f in of_usi.values()]


class Bench(NamedTuple):
    """A worker with the folder of its engines."""

    worker: Worker
    folder: Path


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with one_worker("tests/engines") as worker:
        yield Bench(worker, tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("fault", [_parameter(fault) for fault in chosen()])
def test_fault_gets_its_verdict_and_leaves_nothing_behind(bench: Bench, fault: Fault) -> None:
    struck = strike(bench.worker, bench.folder, fault)
    assert struck.verdict == fault.verdict
    assert fault.message in struck.line
    assert (struck.result.faulty == 1) == bool(fault.reason)
    assert struck.seconds < MOST_SECONDS
    assert struck.processes == []
    assert struck.files == 0


def test_matrix_has_every_phase_of_every_protocol() -> None:
    assert {(fault.protocol, fault.phase) for fault in chosen()} == {
        (protocol, phase) for protocol in PROTOCOLS for phase in PHASES
    }
