"""The actions that forecast a tune: `plan`, `simulate`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from typing import TypeVar

from ringmaster.commands.console import DONE, say, say_data
from ringmaster.commands.loading import load
from ringmaster.forecast.assumptions import ForecastOptions
from ringmaster.forecast.plan import PlanOptions
from ringmaster.forecast.plan import run as make_plan
from ringmaster.forecast.simulate import Meter, SimulationOptions
from ringmaster.forecast.simulate import run as make_simulation

AnyGiven = TypeVar("AnyGiven", bound=ForecastOptions)


def plan(arguments: argparse.Namespace) -> int:
    """Print an estimate of a tune's length and gain."""
    loaded = load(arguments)
    arguments.parallel = arguments.parallel or loaded.control_file.values["parallel"]
    arguments.concurrency = arguments.concurrency or arguments.parallel
    text, data = make_plan(_given(arguments, PlanOptions), loaded)
    say_data(data) if arguments.json else say(text())
    return DONE


def simulate(arguments: argparse.Namespace) -> int:
    """Print the results of simulated tunes."""
    loaded = load(arguments)
    # -j is the number of processes
    arguments.concurrency = arguments.concurrency or loaded.control_file.values["parallel"]
    meter = Meter(sys.stderr)
    try:
        text, data = make_simulation(
            _given(arguments, SimulationOptions),
            loaded,
            progress=(lambda share: None) if arguments.quiet else meter,
        )
    finally:
        meter.close()
    say_data(data) if arguments.json else say(text())
    return DONE


def _given(arguments: argparse.Namespace, kind: type[AnyGiven]) -> AnyGiven:
    """Return the options of the command line; the others have their defaults."""
    options = {field.name: getattr(arguments, field.name) for field in fields(kind)}
    return kind(**{name: value for name, value in options.items() if value is not None})
