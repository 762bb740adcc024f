"""Labelled positions: the action `positions`, which makes a set of a competition's games,
and the verb of that name, which tells what a set is like."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ringmaster.command_line.output import DONE, complain, say
from ringmaster.command_line.parser import Parser
from ringmaster.errors import UsageError

#: Prints text: to standard output, and lines to standard error.
Say = Callable[[str], None]


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


def describe(arguments: Sequence[str], say: Say, tell: Say) -> None:
    """Carry out `positions FILE…`: tell what labelled positions are like.  Raises
    UsageError, DatasetError."""
    try:
        given = _verb_parser().read(arguments)
    except SystemExit:  # --help
        return
    from ringmaster.datasets.settings import POV_NAMES, PositionSettings
    from ringmaster.datasets.survey import survey
    from ringmaster.reporting.tables import render_report

    settings = PositionSettings(
        tuple(given.files),
        given.format,
        POV_NAMES.get(given.score_pov or ""),
        POV_NAMES.get(given.result_pov or ""),
        in_check=True,
        skip_bad=given.skip_bad,
    )
    if given.variant != "standard":
        from ringmaster.games.variants import check_variant

        try:
            check_variant(given.variant)
        except ValueError as error:
            raise UsageError(str(error)) from None
    found = survey(settings, given.game, given.variant)
    say(render_report(found.report()))


def _verb_parser() -> Parser:
    parser = Parser(
        usage="ringmaster positions FILE… [OPTIONS]",
        description="Tells what labelled positions are like: results by score, plies, "
        "duplicates, balance.",
        epilog="What makes a set of a competition's games is `ringmaster FILE.ctl positions`.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--game", choices=("chess", "shogi"), help="by default as the files look")
    parser.add_argument("--variant", default="standard", help="of chess (default: standard)")
    parser.add_argument("--format", help="epd, fen, sfen, bar, comma, plain, psv, hcpe, pgn, …")
    sides = ("white", "black", "first", "mover")
    parser.add_argument("--score-pov", choices=sides, help="whose side scores are told from")
    parser.add_argument("--result-pov", choices=sides, help="whose side results are told from")
    parser.add_argument(
        "--skip-bad",
        action="store_true",
        help="leave out positions that cannot be read or are not legal, and count them",
    )
    return parser


VERBS: dict[str, Callable[[Sequence[str], Say, Say], None]] = {"positions": describe}
