"""Labelled positions: the action `positions`, which makes a set of a competition's games,
and the verb of that name, which tells what a set is like."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ringmaster.command_line.output import DONE, complain, say
from ringmaster.errors import UsageError


def positions(arguments: argparse.Namespace) -> int:
    from ringmaster.datasets.picking import Noise, Rules
    from ringmaster.export.export import check_output
    from ringmaster.export.labelled import (
        Wanted,
        check_wanted,
        default_output,
        format_of,
        write_labelled,
    )
    from ringmaster.export.output import to_file, to_standard_output
    from ringmaster.reporting.tables import render_report
    from ringmaster.results import load

    if arguments.resolve and arguments.all_moves:
        raise UsageError("--resolve and --all-moves exclude each other")
    noise: Noise = "resolved" if arguments.resolve else "all" if arguments.all_moves else "quiet"
    standard = Rules()
    per_game = arguments.per_game
    rules = Rules(
        per_game=standard.per_game if per_game is None else per_game or None,
        first_ply=standard.first_ply if arguments.first_ply is None else arguments.first_ply,
        last_plies=arguments.last_plies or 0,
        score_cap=arguments.score_cap,
        noise=noise,
        seed=arguments.seed or 0,
    )
    results = load(arguments.control_file)
    to_terminal = arguments.output == "-"
    named = None if arguments.output is None or to_terminal else Path(arguments.output)
    players = frozenset(code for word in arguments.players or () for code in word.split(","))
    wanted = check_wanted(
        results,
        Wanted(arguments.format or format_of(named), rules, players, arguments.most),
    )
    output = named or default_output(results.path, wanted.format)
    if to_terminal:
        with to_standard_output(sys.stdout) as stream:
            made = write_labelled(results, wanted, stream)
    else:
        check_output(output, results.path)
        with to_file(output) as stream:
            made = write_labelled(results, wanted, stream)
    for line in made.records:
        complain(line)
    if not arguments.quiet:
        text = render_report(made.report())
        if to_terminal:
            print(text, end="", file=sys.stderr)
        else:
            say(text)
            complain(f"wrote {made.overview.positions} positions to {output}")
    return DONE
