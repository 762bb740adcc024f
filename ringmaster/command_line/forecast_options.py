"""The options of the actions `plan` and `simulate`."""

from __future__ import annotations

from ringmaster.command_line.parser import Parser
from ringmaster.command_line.values import (
    above_zero,
    by_code,
    correlation,
    not_negative,
    place,
    positive,
    share,
)

_BOTH = ("plan", "simulate")
_PLAN = ("plan",)
_SIMULATE = ("simulate",)


def add_options(parser: Parser) -> None:
    """Add the options to a parser."""
    group = parser.add_argument_group("plan, simulate (of an spsa event)")
    parser.add_option(
        group,
        "--elo",
        actions=_BOTH,
        type=by_code(not_negative),
        metavar="ELO[,CODE=ELO…]",
        help="Elo lost at half a range from the optimum, for each parameter (default 2)",
    )
    parser.add_option(
        group,
        "--optimum",
        actions=_BOTH,
        type=by_code(place),
        metavar="WHERE",
        help="random (default: anywhere within the bounds), centre, start, or a share of the "
        "range as 0.3; CODE=WHERE for one parameter",
    )
    parser.add_option(
        group,
        "--draw-ratio",
        actions=_BOTH,
        type=share,
        metavar="SHARE",
        help="draws between equals (default: as measured so far, else 0.61 in chess, 0 in others)",
    )
    parser.add_option(
        group,
        "--concurrency",
        actions=_BOTH,
        type=positive,
        metavar="N",
        help="games in flight in the real run: its -j (default: `parallel` of the control file)",
    )
    parser.add_option(
        group,
        "--seed",
        actions=(*_BOTH, "positions"),
        type=int,
        metavar="N",
        help="of the simulation, and of the positions that are drawn (default 0)",
    )
    parser.add_option(
        group,
        "--seconds-per-game",
        actions=_PLAN,
        type=above_zero,
        metavar="S",
        help="how long a game takes (default: as measured so far)",
    )
    parser.add_option(
        group,
        "--replicates",
        actions=_SIMULATE,
        type=positive,
        metavar="N",
        help="simulated tunes (default 100)",
    )
    parser.add_option(
        group,
        "--elo-model",
        actions=_SIMULATE,
        metavar="MODEL",
        help="quadratic (default), power:1.5, saturating:0.5, asymmetric:4, spsa_tuner, or "
        "clop-log, clop-flat, clop-power, clop-angle, clop-rosenbrock, clop-correlated",
    )
    parser.add_option(
        group,
        "--draw-model",
        actions=_SIMULATE,
        metavar="MODEL",
        help="fixed (default), bayeselo, davidson",
    )
    parser.add_option(
        group,
        "--bias",
        actions=_SIMULATE,
        type=not_negative,
        metavar="ELO",
        help="standard deviation of what an opening gives one side (default 0)",
    )
    parser.add_option(
        group,
        "--correlation",
        actions=_SIMULATE,
        type=correlation,
        metavar="R",
        help="how much the errors of two parameters make each other worse (default 0)",
    )
