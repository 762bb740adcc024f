"""Labelled positions: the verb `positions` makes a set from a competition's games, or
describes files."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from ringmaster.commands.console import DONE, complain, say
from ringmaster.errors import UsageError


def make(arguments: argparse.Namespace) -> int:
    """Write labelled positions of the recorded games."""
    from ringmaster.datasets.picking import Noise, Rules
    from ringmaster.export.labelled import (
        Wanted,
        check_wanted,
        format_of,
        write_labelled,
    )
    from ringmaster.export.output import check_output, open_output
    from ringmaster.reporting.tables import render_report
    from ringmaster.results import load

    if arguments.resolve and arguments.all_moves:
        raise UsageError("--resolve and --all-moves exclude each other")
    noise: Noise = "resolved" if arguments.resolve else "all" if arguments.all_moves else "quiet"
    names = ("first_ply", "last_plies", "score_cap", "seed")
    given = {name: getattr(arguments, name) for name in names}
    rules = Rules(noise=noise, **{name: n for name, n in given.items() if n is not None})
    if arguments.per_game is not None:
        rules = replace(rules, per_game=arguments.per_game or None)
    results = load(arguments.control_file, safe=arguments.safe)
    to_standard_output = arguments.output == "-"
    named = Path(arguments.output) if arguments.output and not to_standard_output else None
    players = frozenset(code for word in arguments.players or () for code in word.split(","))
    wanted = Wanted(arguments.format or format_of(named), rules, players, arguments.most)
    check_wanted(results, wanted)
    beside = results.path.with_name(f"{results.path.stem}.positions.{wanted.format}")
    output = None if to_standard_output else named or beside
    check_output(output, results.path)
    with open_output(output) as stream:
        counts = write_labelled(results, wanted, stream)
    for line in counts.records:
        complain(line)
    if not arguments.quiet:
        text = render_report(counts.report())
        if output is None:
            print(text, end="", file=sys.stderr)
        else:
            say(text)
            complain(f"wrote {counts.overview.positions} positions to {output}")
    return DONE


def describe(arguments: argparse.Namespace) -> int:
    """Print statistics of labelled positions.  Raises UsageError, DataFileError."""
    from ringmaster.datasets.position_settings import POV_NAMES, PositionSettings
    from ringmaster.datasets.survey import survey
    from ringmaster.reporting.tables import render_report

    settings = PositionSettings(
        tuple(arguments.file),
        arguments.format,
        POV_NAMES.get(arguments.score_pov or ""),
        POV_NAMES.get(arguments.result_pov or ""),
        in_check=True,
        skip_bad=arguments.skip_bad,
        results=arguments.results,
    )
    if arguments.variant != "standard":
        from ringmaster.games.variants import check_variant

        try:
            check_variant(arguments.variant)
        except ValueError as error:
            raise UsageError(str(error)) from None
    say(render_report(survey(settings, arguments.game, arguments.variant, complain)))
    return DONE
