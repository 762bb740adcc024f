"""The actions that write files for other programs: `export`, `export-parameters`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ringmaster.commands.console import DONE, complain
from ringmaster.errors import UsageError


def export(arguments: argparse.Namespace) -> int:
    """Write games, records, positions or a trajectory."""
    from ringmaster.export.result_files import FORMATS, export_results, format_of
    from ringmaster.results import load

    output = _output(arguments)
    format = arguments.format or format_of(output)
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}; choose from {', '.join(FORMATS)}")
    if arguments.void and arguments.trajectory:
        raise UsageError("--void is for games; use it without --trajectory")
    results = load(arguments.control_file, safe=arguments.safe)
    for line in export_results(
        results,
        format,
        output,
        void=arguments.void,
        trajectory=arguments.trajectory,
        raw=arguments.raw,
    ):
        complain(line)
    return DONE


def export_parameters(arguments: argparse.Namespace) -> int:
    """Write tuned values."""
    from ringmaster.export.parameters import export_parameters as write_parameters

    for line in write_parameters(
        arguments.control_file, arguments.format, _output(arguments), safe=arguments.safe
    ):
        complain(line)
    return DONE


def _output(arguments: argparse.Namespace) -> Path | None:
    """Return the file to write, None for standard output."""
    return None if arguments.output in (None, "-") else Path(arguments.output)
