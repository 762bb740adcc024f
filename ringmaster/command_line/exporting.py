"""The actions that write files for others: `export`, `export-parameters`, `plot`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ringmaster.command_line.events import accepted, restored
from ringmaster.command_line.output import DONE, complain, say
from ringmaster.errors import UsageError


def export(arguments: argparse.Namespace) -> int:
    from ringmaster.export import FORMATS, export_results, format_of
    from ringmaster.results import load

    output = _output(arguments)
    format = arguments.format or format_of(output)
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}; choose from {', '.join(FORMATS)}")
    if arguments.void and arguments.trajectory:
        raise UsageError("--void is of games; it does not go with --trajectory")
    results = load(arguments.control_file)
    for line in export_results(
        results, format, output, void=arguments.void, trajectory=arguments.trajectory
    ):
        complain(line)
    return DONE


def plot(arguments: argparse.Namespace) -> int:
    from ringmaster.export.plots import check_plot, write_plots

    with accepted(arguments) as (event, store):
        target = check_plot(event, Path(arguments.output) if arguments.output else None)
        restored(event, store)
        lines = write_plots(event, store, target)
    for line in lines:
        complain(line)
    if not arguments.quiet:
        say(f"{target}\n")
    return DONE


def export_parameters(arguments: argparse.Namespace) -> int:
    from ringmaster.export.parameters import export_parameters as write_parameters

    for line in write_parameters(arguments.control_file, arguments.format, _output(arguments)):
        complain(line)
    return DONE


def _output(arguments: argparse.Namespace) -> Path | None:
    """Return the file to write, None for standard output."""
    return None if arguments.output in (None, "-") else Path(arguments.output)
