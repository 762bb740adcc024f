"""The actions that tell what a tune will give: `plan`, `simulate`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from typing import TypeVar

from ringmaster.command_line.events import load
from ringmaster.command_line.output import DONE, say, say_data
from ringmaster.forecast.assumptions import Given
from ringmaster.forecast.plan import GivenForPlan
from ringmaster.forecast.plan import run as make_plan
from ringmaster.forecast.progress import Meter
from ringmaster.forecast.simulate import GivenForSimulation
from ringmaster.forecast.simulate import run as make_simulation

AnyGiven = TypeVar("AnyGiven", bound=Given)


def plan(arguments: argparse.Namespace) -> int:
    event = load(arguments)
    arguments.parallel = arguments.parallel or event.loaded.values["parallel"]
    arguments.concurrency = arguments.concurrency or arguments.parallel
    text, data = make_plan(_given(arguments, GivenForPlan), event)
    say_data(data) if arguments.json else say(text())
    return DONE


def simulate(arguments: argparse.Namespace) -> int:
    event = load(arguments)
    # -j is for processes here
    arguments.concurrency = arguments.concurrency or event.loaded.values["parallel"]
    meter = Meter(sys.stderr)
    try:
        text, data = make_simulation(
            _given(arguments, GivenForSimulation),
            event,
            progress=(lambda share: None) if arguments.quiet else meter,
        )
    finally:
        meter.close()
    say_data(data) if arguments.json else say(text())
    return DONE


def _given(arguments: argparse.Namespace, kind: type[AnyGiven]) -> AnyGiven:
    """Return the options that were given."""
    options = {field.name: getattr(arguments, field.name) for field in fields(kind)}
    return kind(**{name: value for name, value in options.items() if value is not None})
