"""Examples in the documentation work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringmaster.competitions import competition_class, type_names
from ringmaster.control.calls import calls_in
from ringmaster.model.settings import INHERITED, Call, CallOf, Context
from scripts import make_reference


@pytest.mark.parametrize("type_name", type_names())
def test_examples_of_the_reference_are_valid(type_name: str, tmp_path: Path) -> None:
    competition = competition_class(type_name)
    assert competition is not None
    calls = calls_in(competition.table)
    names: dict[str, Any] = {kind: caller(call) for kind, call in calls.items()}
    entries = [(type_name, setting) for setting in competition.table]
    entries += [(kind, setting) for kind, call in calls.items() for setting in call.settings]
    context = Context(tmp_path)
    for owner, setting in entries:
        if setting.default is not INHERITED:
            value = eval(make_reference.example(setting, owner), dict(names))
            setting.type.interpret(value, (owner, setting.name), context)
    assert [(problem.path, str(problem)) for problem in context.problems] == []


def caller(call: CallOf) -> Callable[..., Call]:
    return lambda *args, **kwargs: Call(call.kind, args, kwargs, None, call.positional)


def test_groups_and_examples_of_the_reference_belong_to_settings() -> None:
    names: set[str] = set()
    for type_name in type_names():
        competition = competition_class(type_name)
        assert competition is not None
        names |= {setting.name for setting in competition.table}
        for call in calls_in(competition.table).values():
            names |= {setting.name for setting in call.settings}
    listed = {name for group in make_reference.GROUPS.values() for name in group}
    listed |= {key.rpartition(".")[2] for key in make_reference.VALUES}
    assert listed - names == set()
