"""Proposals of Optuna, and studies rebuilt from events."""

from __future__ import annotations

import importlib.util
import random

import pytest

from ringmaster.tuners.search.optuna_study import (
    RANDOM_TRIES,
    SAMPLER_TRIES,
    SAMPLERS,
    Asked,
    Refused,
    SamplerName,
    Study,
    Told,
)
from ringmaster.tuners.search.space import Dimension, Space, Values
from tests.requirements import package

package("optuna")
pytestmark = pytest.mark.optional

SPACE = Space(
    (
        Dimension("x", 50, 0, 100, integer=True),
        Dimension("rate", 1.0, 0.1, 10.0, log=True),
        Dimension("style", 0, 0, 2, integer=True, choices=True),
        Dimension("risk", 3, 1, 9, integer=True, only_if=((2, (1, 2)),)),
        Dimension("share", 0.5, 0.0, 1.0, step=0.25),
        Dimension("frozen", 7, 0, 9, integer=True, fixed=True),
    )
)
ALL = [
    pytest.param(name, marks=[pytest.mark.slow] if name in ("cmaes", "gp") else [])
    for name in SAMPLERS
    if name != "gp" or importlib.util.find_spec("torch")
]


def anything(values: Values) -> bool:
    return True


def tune(
    sampler: SamplerName, trials: int, parallel: int = 1, limit: float = 0.0
) -> tuple[Study, list[Asked | Told]]:
    """Return a study of random scores with its events; x of candidates exceeds `limit`."""
    start = Asked(0, SPACE.start(), None)
    study, rng = Study(SPACE, 5, [start]), random.Random(1)
    events: list[Asked | Told] = [start]
    running = {0: 0.5}
    for number in range(1, trials):
        while len(running) >= parallel:
            ended = rng.choice(sorted(running))
            told = Told(ended, running.pop(ended))
            study.tell(told)
            events.append(told)
        asked = study.ask(number, sampler, lambda values: (values[0] or 0) >= limit)
        events.append(asked)
        running[number] = 0.5 - abs((asked.values[0] or 0) - 70) / 200 + rng.gauss(0, 0.05)
    return study, events


@pytest.mark.parametrize("sampler", ALL)
def test_values_are_in_the_space(sampler: SamplerName) -> None:
    _, events = tune(sampler, 20)
    for event in events:
        if isinstance(event, Told):
            continue
        x, rate, style, risk, share, frozen = event.values
        assert x in range(101)
        assert rate is not None
        assert 0.1 <= rate <= 10
        assert style in (0, 1, 2)
        assert risk is None if style == 0 else risk in range(1, 10)
        assert share in (0, 0.25, 0.5, 0.75, 1)
        assert frozen == 7


@pytest.mark.parametrize("sampler", ALL)
@pytest.mark.parametrize("parallel", [1, 3])
def test_rebuilt_study_proposes_the_same(sampler: SamplerName, parallel: int) -> None:
    study, events = tune(sampler, 25, parallel, limit=20)
    rebuilt = Study(SPACE, 5, events)
    for number in (25, 26):
        assert rebuilt.ask(number, sampler, anything) == study.ask(number, sampler, anything)


def test_study_goes_on_with_another_sampler() -> None:
    study, events = tune("tpe", 12)
    first = study.ask(12, "cmaes", anything)
    rebuilt = Study(SPACE, 5, [*events, first])
    assert rebuilt.ask(13, "cmaes", anything) == study.ask(13, "cmaes", anything)


def test_stored_values_replace_those_that_a_sampler_repeats() -> None:
    """Another version of a package may propose otherwise."""
    _, events = tune("cmaes", 12)
    changed = [
        Asked(e.number, [99, *e.values[1:]], e.sampler, e.refused)
        if isinstance(e, Asked) and e.number == 11
        else e
        for e in events
    ]
    rebuilt = Study(SPACE, 5, changed)
    assert [t.params["x"] for t in rebuilt._study.trials][-1] == 99


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["tpe", "cmaes"])
def test_proposals_approach_the_optimum(sampler: SamplerName) -> None:
    _, events = tune(sampler, 60)
    late = [e.values[0] or 0 for e in events if isinstance(e, Asked) and e.number >= 40]
    assert sum(abs(x - 70) for x in late) / len(late) < 20


def test_first_values_of_cmaes_surround_the_start() -> None:
    space = Space((Dimension("x", 10, 0, 100), Dimension("y", 90, 0, 100)))
    study = Study(space, 1, [Asked(0, space.start(), None), Told(0, 0.5)])
    rows = [study.ask(number, "cmaes", anything).values for number in range(1, 40)]
    assert sum(row[0] or 0 for row in rows) / len(rows) < 35
    assert sum(row[1] or 0 for row in rows) / len(rows) > 65


@pytest.mark.slow
def test_constraint_that_refuses_everything_ends_the_search() -> None:
    seen: list[Values] = []
    study = Study(SPACE, 5, [Asked(0, SPACE.start(), None)])

    def refuse(values: Values) -> bool:
        seen.append(values)
        return False

    with pytest.raises(Refused):
        study.ask(1, "random", refuse)
    assert len(seen) == SAMPLER_TRIES + RANDOM_TRIES
