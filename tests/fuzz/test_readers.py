"""Readers of files and messages take any bytes, and raise only their documented errors.

`benchmarks/fuzz.py` is the long form, also with atheris.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS, check, mutated

#: Changed inputs of each reader.
INPUTS = 40
#: Targets that open a database each time, or force the disk.
SLOW = ("safe-mode", "status", "competition", "journal", "openings-sfen")


def of_seed(name: str, old: bytes, new: bytes) -> bytes:
    """Return the first seed of a target with a change."""
    seed = TARGETS[name].seeds()[0]
    assert old in seed
    return seed.replace(old, new)


#: Inputs that once raised another error, by target.
FINDS = {
    "a move number beyond all integers": (
        "positions-epd",
        lambda: of_seed("positions-epd", b"fmvn 2;", b"fmvn 99999999999999999999;"),
    ),
    "a result of -0": (
        "positions-plain",
        lambda: of_seed("positions-plain", b"result 1\n", b"result -0\n"),
    ),
    "dollars behind an unclosed quote": ("import", lambda: b'#!/bin/sh\nk""' + b'"' + b"$" * 60),
    "no UTF-8 in the first line": ("features-csv", lambda: b"fen,\xc9,rook,phase\n"),
    "no UTF-8 in the header of positions": (
        "position-file",
        lambda: of_seed("position-file", b'"key"', b'"\xff\xfe"'),
    ),
    "a feature file without values": (
        "feature-file",
        lambda: of_seed("feature-file", b'"values"', b'"valueS"'),
    ),
    "a feature file of unknown numbers": (
        "feature-file",
        lambda: of_seed("feature-file", b'"<i1"', b'"<,1"'),
    ),
}


def parameters() -> list[object]:
    return [
        pytest.param(name, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in TARGETS
    ]


@pytest.mark.parametrize("name", parameters())
def test_reader_of_changed_inputs_raises_only_documented_errors(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    seeds = target.seeds()
    rng = random.Random(name)
    for data in (b"", *seeds, *(mutated(seeds, rng) for _ in range(INPUTS))):
        check(target, data, tmp_path)


@pytest.mark.parametrize("find", list(FINDS))
def test_input_that_was_found_raises_a_documented_error(find: str, tmp_path: Path) -> None:
    name, make = FINDS[find]
    target = TARGETS[name]
    data = make()
    if name == "positions-epd":
        check(target, data, tmp_path)
        return
    with pytest.raises(target.allowed):
        target.read(data, tmp_path)
