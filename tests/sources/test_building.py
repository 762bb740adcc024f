"""Numbers of benchmarks, in the forms that engines print."""

from __future__ import annotations

import pytest

from ringmaster.sources.building import counts, promised_nodes

STOCKFISH = """
info depth 13 seldepth 18 multipv 1 score cp 38 nodes 35117 nps 1170566 time 30 pv e2e4

===========================
Total time (ms) : 2874
Nodes searched  : 1497134
Nodes/second    : 520923
"""


@pytest.mark.parametrize(
    ("output", "found"),
    [
        (STOCKFISH, (1497134, 520923)),
        ("Time  : 3085ms\nNodes : 4866713\nNPS   : 1577540\n", (4866713, 1577540)),
        ("4866713 nodes 1577540 nps\n", (4866713, 1577540)),
        ("1,234,567 nodes (987,654 nodes/s)\n", (1234567, 987654)),
        ("Bench: 2345678\n", (2345678, None)),
        ("[# 49]  cp 23  Best: a2a3  12 nodes\nOVERALL: 77 nodes, 88 nodes/sec\n", (77, 88)),
        # a buffer that is written at the end of the process
        ("Nodes searched  : 1620\ninfo depth 1 nodes 7 nps 7\n", (1620, None)),
        ("5000 nodes per second\nnodes searched: 60\n", (60, 5000)),
        ("uciok\nUnknown command: bench\n", (None, None)),
    ],
)
def test_nodes_and_speed_are_read_from_the_usual_forms(
    output: str, found: tuple[int | None, int | None]
) -> None:
    assert counts(output) == found


@pytest.mark.parametrize(
    ("message", "nodes"),
    [
        ("Simplify\n\nPassed STC\nbench: 1234567\n", 1234567),
        ("Bench 12", 12),
        ("BENCH = 12\n\nreverts Bench: 11 of before", 12),
        ("Faster bench 1 of 2", None),
        ("No functional change", None),
    ],
)
def test_nodes_are_read_from_a_line_of_the_message(message: str, nodes: int | None) -> None:
    assert promised_nodes(message) == nodes
