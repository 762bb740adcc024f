"""The actions that forecast a match or a tune: `plan`, `simulate`."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from dataclasses import fields

from ringmaster.commands.console import DONE, say, say_data
from ringmaster.commands.loading import load
from ringmaster.competitions.tournaments.tournament import Tournament
from ringmaster.forecast.forecast import ForecastOptions
from ringmaster.forecast.match_plan import run as plan_match
from ringmaster.forecast.plan import run as make_plan
from ringmaster.forecast.simulate import Meter
from ringmaster.forecast.simulate import run as make_simulation
from ringmaster.loaded_competition import LoadedCompetition


def plan(arguments: argparse.Namespace) -> int:
    """Print an estimate of a match's or a tune's length."""
    loaded = load(arguments)
    is_match = isinstance(loaded.competition, Tournament)
    text, data = (plan_match if is_match else make_plan)(_options(arguments, loaded), loaded)
    say_data(data) if arguments.json else say(text())
    return DONE


def simulate(arguments: argparse.Namespace) -> int:
    """Print the results of simulated tunes."""
    loaded = load(arguments)
    with closing(Meter(sys.stderr)) as meter:
        text, data = make_simulation(
            _options(arguments, loaded),
            loaded,
            progress=(lambda share: None) if arguments.quiet else meter,
        )
    say_data(data) if arguments.json else say(text())
    return DONE


def _options(arguments: argparse.Namespace, loaded: LoadedCompetition) -> ForecastOptions:
    """Return the options of the command line; the others have their defaults."""
    arguments.parallel = arguments.parallel or loaded.control_file.values["parallel"]
    options = {
        field.name: getattr(arguments, field.name, None) for field in fields(ForecastOptions)
    }
    return ForecastOptions(**{name: value for name, value in options.items() if value is not None})
