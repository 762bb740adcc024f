"""The options of the command line.

Every command line goes through here: the actions, and what they need, are not imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import ringmaster
from ringmaster.command_line.forecast_options import add_options as add_forecast_options
from ringmaster.command_line.parser import Parser
from ringmaster.command_line.position_options import add_options as add_position_options
from ringmaster.command_line.values import count, positive


def make_parser(actions: Iterable[str]) -> Parser:
    """Return the parser of a command line with one of these actions."""
    parser = Parser(
        usage="ringmaster CONTROL_FILE.ctl [ACTION] [OPTIONS]\n"
        "       ringmaster new GAME TYPE [FILE.ctl]\n"
        "       ringmaster import [-o FILE.ctl] WHAT\n"
        "       ringmaster positions FILE…",
        description="Plays and tunes game engines from a control file.",
        epilog="actions: run (default), verify, show, report, export, export-parameters, plot, "
        "check, diff, plan, simulate, reset, stop.  "
        "Before there is a control file: `ringmaster new GAME TYPE [FILE]` writes one to start "
        "from, `ringmaster import WHAT` makes one of an engines.json, a command line of "
        "fastchess or cutechess-cli, or another tuner's parameter file (a file of that name: "
        "./new, ./import).  `ringmaster positions FILE` tells what a set of labelled positions "
        "is like.",
    )
    parser.add_argument("control_file", type=Path, metavar="CONTROL_FILE.ctl")
    parser.add_argument(
        "action", nargs="?", default="run", choices=tuple(actions), metavar="ACTION"
    )
    _add_playing(parser)
    parser.add_option(
        parser,
        "--json",
        actions=("show", "check", "diff", "plan", "simulate"),
        action="store_true",
        help="print data (show, check, diff, plan, simulate)",
    )
    _add_checking(parser)
    _add_exporting(parser)
    add_position_options(parser)
    add_forecast_options(parser)
    kind = " (compiled)" if ringmaster.is_compiled() else ""
    parser.add_argument(
        "--version", action="version", version=f"ringmaster {ringmaster.__version__}{kind}"
    )
    return parser


def _add_playing(parser: Parser) -> None:
    parser.add_argument(
        "-j", "--parallel", type=positive, default=1, metavar="N", help="games at a time"
    )
    parser.add_argument(
        "-g", "--max-games", type=count, metavar="N", help="games to start in this run"
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing but warnings and errors"
    )
    parser.add_argument(
        "--log-gtp", action="store_true", help="write a transcript of each game's protocol traffic"
    )
    parser.add_argument(
        "--log-faults",
        action="store_true",
        help="write transcripts only of void games and forfeits",
    )
    parser.add_option(
        parser,
        "--affinity",
        actions=("run", "verify", "check"),
        nargs="?",
        const="",
        metavar="CPUS",
        help="give each game CPUs of its own, of these (0-3,8; by default of all)",
    )
    parser.add_option(
        parser.add_argument_group("verify"),
        "--games",
        actions=("verify",),
        type=positive,
        metavar="N",
        help="games of the closing match, at most (an even number)",
    )


def _add_checking(parser: Parser) -> None:
    group = parser.add_argument_group("check")
    parser.add_option(
        group,
        "--quick",
        actions=("check",),
        action="store_true",
        help="only start each engine and set it up, as run does",
    )
    parser.add_option(
        group,
        "-v",
        "--verbose",
        actions=("check",),
        action="store_true",
        help="list the tests that were passed, too",
    )


def _add_exporting(parser: Parser) -> None:
    group = parser.add_argument_group("export")
    # the formats are not imported before one is asked for
    parser.add_option(
        group,
        "--format",
        actions=("export", "export-parameters", "positions"),
        metavar="FORMAT",
        help="csv (default), jsonl, parquet, pgn, sgf, csa, kif, epd or sfen; of "
        "export-parameters: table (default), setoption, fishtest, …; of positions: plain "
        "(default), epd, bar, sfen, psv or hcpe",
    )
    parser.add_option(
        group,
        "-o",
        "--output",
        actions=("export", "export-parameters", "plot", "positions"),
        metavar="FILE",
        help="write to a file, by default to standard output; of plot: .html (default: beside "
        "the control file), .svg, .png or .pdf; of positions: by default beside the control file",
    )
    parser.add_option(
        group, "--void", actions=("export",), action="store_true", help="export void games, too"
    )
