"""The options of `positions`.  Every command line goes through here: nothing else is
imported."""

from __future__ import annotations

from argparse import ArgumentTypeError

from ringmaster.command_line.parser import Parser
from ringmaster.command_line.values import above_zero, positive


def _plies(text: str) -> int:
    """Return a number of plies, 0 included."""
    if not (text.isascii() and text.isdecimal() and len(text) < 6):
        raise ArgumentTypeError(f"{text!r} is not a number of plies")
    return int(text)


def _or_all(text: str) -> int:
    """Return a number of positions, 0 for all."""
    return 0 if text == "all" else positive(text)


def add_options(parser: Parser) -> None:
    """Add the options to the parser of a command line."""
    group = parser.add_argument_group("positions")

    def add(name: str, **settings: object) -> None:
        parser.add_option(group, name, actions=("positions",), **settings)

    add(
        "--per-game",
        type=_or_all,
        metavar="N",
        help="positions of a game at most, drawn at random, or all (default 10)",
    )
    add(
        "--first-ply",
        type=_plies,
        metavar="N",
        help="plies from the start of the game before the first position (default 8)",
    )
    add(
        "--last-plies",
        type=_plies,
        metavar="N",
        help="plies before the end of the game that are left out (default 0)",
    )
    add(
        "--score-cap",
        type=above_zero,
        metavar="CP",
        help="leave out positions with larger scores, from either side",
    )
    add(
        "--resolve",
        action="store_true",
        help="go on where the game's captures lead until nothing can be won at once "
        "(default: positions between moves that are no captures)",
    )
    add("--all-moves", action="store_true", help="take positions between captures, too")
    add(
        "--players",
        nargs="+",
        metavar="CODE",
        help="only positions in which these players are to move",
    )
    add("--most", type=positive, metavar="N", help="positions in all, a random sample")
