"""The options of the actions `plan` and `simulate`.  Nothing else is imported here: every
command line goes through it."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

#: Which actions take which option.
GOES_WITH: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("elo", "optimum", "draw_ratio", "concurrency", "seed"), ("plan", "simulate")),
    "seconds_per_game": ("plan",),
    **dict.fromkeys(
        ("replicates", "elo_model", "draw_model", "bias", "correlation"), ("simulate",)
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a parser."""
    group = parser.add_argument_group("plan, simulate (of an spsa event)")
    group.add_argument(
        "--elo",
        type=_by_code(_not_negative),
        metavar="ELO[,CODE=ELO…]",
        help="Elo lost at half a range from the optimum, for each parameter (default 2)",
    )
    group.add_argument(
        "--optimum",
        type=_by_code(_place),
        metavar="WHERE",
        help="random (default: anywhere within the bounds), centre, start, or a share of the "
        "range as 0.3; CODE=WHERE for one parameter",
    )
    group.add_argument(
        "--draw-ratio",
        type=_share,
        metavar="SHARE",
        help="draws between equals (default: as measured so far, else 0.61 in chess, 0 in others)",
    )
    group.add_argument(
        "--concurrency",
        type=_positive,
        metavar="N",
        help="games in flight in the real run: its -j (default 1)",
    )
    group.add_argument("--seed", type=int, metavar="N", help="seed of the simulation (default 0)")
    group.add_argument(
        "--seconds-per-game",
        type=_above_zero,
        metavar="S",
        help="how long a game takes (default: as measured so far)",
    )
    group.add_argument(
        "--replicates", type=_positive, metavar="N", help="simulated tunes (default 100)"
    )
    group.add_argument(
        "--elo-model",
        metavar="MODEL",
        help="quadratic (default), power:1.5, saturating:0.5, asymmetric:4, spsa_tuner, or "
        "clop-log, clop-flat, clop-power, clop-angle, clop-rosenbrock, clop-correlated",
    )
    group.add_argument("--draw-model", metavar="MODEL", help="fixed (default), bayeselo, davidson")
    group.add_argument(
        "--bias",
        type=_not_negative,
        metavar="ELO",
        help="standard deviation of what an opening gives one side (default 0)",
    )
    group.add_argument(
        "--correlation",
        type=_correlation,
        metavar="R",
        help="how much the errors of two parameters make each other worse (default 0)",
    )


def _number(text: str, low: float, high: float, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return number


def _not_negative(text: str) -> float:
    return _number(text, 0.0, 1e6, "a number from 0 to a million")


def _above_zero(text: str) -> float:
    return _number(text, 1e-9, 1e9, "a number above 0")


def _share(text: str) -> float:
    return _number(text, 0.0, 0.999, "a number from 0 to 0.999")


def _correlation(text: str) -> float:
    return _number(text, -1.0, 1.0, "a number from -1 to 1")


def _positive(text: str) -> int:
    number = _number(text, 1, 10**9, "a positive integer")
    if number != int(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(number)


def _place(text: str) -> str | float:
    if text in ("random", "centre", "start"):
        return text
    return _number(text, 0.0, 1.0, "random, centre, start or a number from 0 to 1")


def _by_code(value: Callable[[str], Any]) -> Callable[[str], dict[str | None, Any]]:
    """Return what reads ``VALUE,CODE=VALUE,…``; the one without a code is under None."""

    def read(text: str) -> dict[str | None, Any]:
        found: dict[str | None, Any] = {}
        for part in text.split(","):
            code, given, rest = part.rpartition("=")
            key = code if given else None
            if key in found:
                raise argparse.ArgumentTypeError(f"{text!r} has {key or 'a value'} twice")
            found[key] = value(rest)
        return found

    return read
