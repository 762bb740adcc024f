"""kill -9 of every process of a run, at random; `benchmarks/reliability.py` is the long form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reliability.killing import TYPES, VICTIMS, kill_rounds

pytestmark = [pytest.mark.kill, pytest.mark.process]

#: Types in pairs, so that the tests take about as long.
PAIRS = [
    ("playoff", "texel"),
    ("allplayall", "spsa"),
    ("mc_tuner", "ce_tuner"),
    ("clop_tuner", "gauntlet"),
    ("swiss",),
]


@pytest.mark.parametrize("types", PAIRS, ids="-".join)
def test_no_death_of_a_process_loses_or_doubles_a_game(
    tmp_path: Path, types: tuple[str, ...]
) -> None:
    tally = kill_rounds(tmp_path, list(types), len(VICTIMS), seed=len(types[0]))
    assert tally.problems == []
    assert {victim for _, victim in tally.rounds} <= set(VICTIMS)


def test_every_competition_type_that_plays_is_killed() -> None:
    # optuna is optional: only the benchmark kills its tuner
    assert {name for pair in PAIRS for name in pair} == {*TYPES} - {"optuna_tuner"}
