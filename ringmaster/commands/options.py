"""The options of the command line, as tables.  Every start imports this module: it imports no
action, and nothing that an action needs."""

from __future__ import annotations

import argparse
import math
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import ringmaster
from ringmaster.errors import UsageError

#: Each action with its one-line description.
ACTIONS = {
    "run": "play games, or continue playing (default)",
    "verify": "play more games of a tune's closing match",
    "show": "print the results",
    "report": "write the results to FILE.report",
    "export": "write games, records or positions for other programs",
    "export-parameters": "write tuned values for engines, compilers or other tuners",
    "plot": "draw the results",
    "positions": "make labelled positions from the recorded games",
    "check": "start and test every player",
    "diff": "list the changes of the control file since the last run",
    "plan": "estimate a tune's length and gain",
    "simulate": "simulate a tune",
    "reset": "delete all output files",
    "stop": "stop a run after its games in progress",
}
_EPILOG = """without a control file:
  ringmaster new GAME TYPE [FILE]    write a control file to start from
  ringmaster import WHAT             make one from a command line or script of fastchess or
                                     cutechess-cli, an engines.json, or another tuner's files
  ringmaster choose [OPTIONS]        choose a tuner for your parameters and games
  ringmaster positions FILE...       describe labelled positions
A control file with the name of one of these commands: ./new, ./import, ./choose, …

Options of one action: ringmaster FILE.ctl ACTION --help."""


# Values


def positive(text: str) -> int:
    """Return a positive integer.  Raises ArgumentTypeError, as all functions here do."""
    return _integer(text, 1, "a positive integer")


def count(text: str) -> int:
    """Return an integer of at least 0."""
    return _integer(text, 0, "0 or a positive integer")


def _plies(text: str) -> int:
    if len(text) > 5:
        raise ArgumentTypeError(f"{text!r} is not a number of plies")
    return _integer(text, 0, "a number of plies")


def _integer(text: str, low: int, description: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text) or int(text) < low:
        raise ArgumentTypeError(f"{text!r} is not {description}")
    return int(text)


def _positive_or_all(text: str) -> int:
    """Return a number of positions, 0 for `all`."""
    return 0 if text == "all" else positive(text)


def _number(text: str, low: float, high: float, description: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise ArgumentTypeError(f"{text!r} is not {description}")
    return number


def not_negative(text: str) -> float:
    """Return a number from 0 to a million."""
    return _number(text, 0.0, 1e6, "a number from 0 to a million")


def above_zero(text: str) -> float:
    """Return a number above 0."""
    return _number(text, 1e-9, 1e9, "a number above 0")


def _share(text: str) -> float:
    return _number(text, 0.0, 0.999, "a number from 0 to 0.999")


def _correlation(text: str) -> float:
    return _number(text, -1.0, 1.0, "a number from -1 to 1")


def _place(text: str) -> str | float:
    if text in ("random", "centre", "start"):
        return text
    return _number(text, 0.0, 1.0, "random, centre, start or a number from 0 to 1")


def by_code(value: Callable[[str], Any]) -> Callable[[str], dict[str | None, Any]]:
    """Return a parser of ``VALUE,CODE=VALUE,…``; the value without a code has the key None."""

    def read(text: str) -> dict[str | None, Any]:
        values: dict[str | None, Any] = {}
        for part in text.split(","):
            code, equals, rest = part.rpartition("=")
            key = code if equals else None
            if key in values:
                raise ArgumentTypeError(f"{text!r} has {key or 'a value'} twice")
            values[key] = value(rest)
        return values

    return read


def _cluster(text: str) -> str:
    """Return an address of a scheduler, `local` or `off`."""
    if text not in ("local", "off") and not re.fullmatch(r"(tcp|tls|ws|wss)://\S+", text):
        raise ArgumentTypeError(f"{text!r} is not tcp://HOST:PORT, tls://HOST:PORT, local or off")
    return text


# Options


class Option:
    """An option with the actions that it belongs to.

    words     its names, then the name of its value in the help; without that it is a flag
    help      one text, or a text for each action
    actions   None for the actions of its group
    settings  further arguments of argparse's add_argument
    """

    def __init__(
        self,
        words: str,
        help: str | Mapping[str, str],
        type: Callable[[str], Any] = str,
        *,
        actions: Sequence[str] | None = None,
        **settings: Any,
    ) -> None:
        self.names = [word for word in words.split() if word.startswith("-")]
        self.key = self.names[-1].removeprefix("--").replace("-", "_")
        self.actions = actions or ()
        self._help = help
        metavar = words.split()[-1]
        self.settings: dict[str, Any] = {"metavar": metavar, "type": type, **settings}
        if metavar in self.names:
            self.settings = {"action": "store_true"}

    def help(self, action: str | None) -> str:
        """Return the help for an action, or for all."""
        if isinstance(self._help, str):
            return self._help
        if action is not None:
            return self._help[action]
        return "; ".join(f"{name}: {text}" for name, text in self._help.items())


_PLAYING = ("run", "verify")
_PLAYING_OR_CHECK = ("run", "verify", "check")
_FORECASTS = ("plan", "simulate")


def _group(actions: Sequence[str], *options: Option) -> tuple[Option, ...]:
    for option in options:
        option.actions = option.actions or actions
    return options


#: Options by the heading of the help.
OPTIONS: dict[str, tuple[Option, ...]] = {
    "options": _group(
        _PLAYING,
        Option(
            "-j --parallel N",
            "play N games at a time; simulate: use N processes (default: `parallel` of the control "
            "file, else 1)",
            positive,
            actions=(*_PLAYING_OR_CHECK, *_FORECASTS),
        ),
        Option("-g --max-games N", "start at most N games in this run", count),
        Option(
            "-q --quiet",
            "print nothing but warnings and errors",
            actions=(*_PLAYING_OR_CHECK, "plot", "positions", "simulate"),
        ),
        Option("--log-gtp", "write a transcript of every game's protocol traffic"),
        Option("--log-faults", "write transcripts of void games and forfeits only"),
        Option(
            "--affinity CPUS",
            "give each game its own CPUs, from this list (0-3,8) or from all",
            actions=_PLAYING_OR_CHECK,
            nargs="?",
            const="",
        ),
        Option(
            "--cluster WHERE",
            "play on a Dask cluster: the scheduler's address (tcp://node1:8786), `local` to start "
            "one on this machine, or `off`",
            _cluster,
            actions=_PLAYING_OR_CHECK,
        ),
        Option("--json", "print JSON", actions=("show", "check", "diff", *_FORECASTS)),
    ),
    "verify": _group(
        ("verify",),
        Option("--games N", "play at most N games of the closing match (an even number)", positive),
    ),
    "check": _group(
        ("check",),
        Option("--quick", "only start each engine and set it up, as run does"),
        Option("-v --verbose", "list the passed tests too"),
    ),
    "export": _group(
        ("export",),
        Option(
            "--format FORMAT",
            {
                "export": "csv (default), jsonl, parquet, pgn, sgf, csa, kif, epd or sfen",
                "export-parameters": "table (default), control-file, setoption, c, cpp, rust, or "
                "another tuner's format: spsa_tuner, fishtest, openbench, …",
                "positions": "plain (default), epd, bar, sfen, psv or hcpe",
                "show": "fastchess or openbench",
            },
            actions=("export", "export-parameters", "positions", "show"),
        ),
        Option(
            "-o --output FILE",
            {
                "export": "write FILE (default: standard output)",
                "export-parameters": "write FILE (default: standard output)",
                "plot": "write FILE: .html (default), .svg, .png or .pdf",
                "positions": "write FILE (default: beside the control file; -: standard output)",
            },
            actions=("export", "export-parameters", "plot", "positions"),
        ),
        Option("--void", "export void games too"),
        Option(
            "--trajectory", "export the tuned values after each iteration of a spsa or texel tune"
        ),
    ),
    "positions": _group(
        ("positions",),
        Option(
            "--per-game N",
            "draw at most N positions of a game at random, or all (default 10)",
            _positive_or_all,
        ),
        Option("--first-ply N", "skip the first N plies of a game (default 8)", _plies),
        Option("--last-plies N", "skip the last N plies of a game (default 0)", _plies),
        Option(
            "--score-cap CP",
            "skip positions with a score beyond CP centipawns for either side",
            above_zero,
        ),
        Option(
            "--resolve",
            "follow the game's captures to a quiet position (default: only positions between "
            "moves that are not captures)",
        ),
        Option("--all-moves", "include positions between captures"),
        Option("--players CODE", "only positions with one of these players to move", nargs="+"),
        Option("--most N", "write a random sample of at most N positions", positive),
    ),
    "plan, simulate (of a spsa tune)": _group(
        _FORECASTS,
        Option(
            "--elo ELO[,CODE=ELO…]",
            "Elo lost at half a range from the optimum, for each parameter (default 2)",
            by_code(not_negative),
        ),
        Option(
            "--optimum WHERE",
            "random (default: anywhere within the bounds), centre, start, or a share of the "
            "range such as 0.3; CODE=WHERE for one parameter",
            by_code(_place),
        ),
        Option(
            "--draw-ratio SHARE",
            "share of draws between equal players (default: as measured, else 0.61 in chess and "
            "0 in other games)",
            _share,
        ),
        Option(
            "--concurrency N",
            "games in progress in the real run, its -j (default: `parallel` of the control file)",
            positive,
        ),
        Option(
            "--seed N",
            "seed of the random numbers (default 0)",
            int,
            actions=(*_FORECASTS, "positions"),
        ),
        Option(
            "--seconds-per-game S",
            "duration of a game (default: as measured)",
            above_zero,
            actions=("plan",),
        ),
        *_group(
            ("simulate",),
            Option("--replicates N", "simulate N tunes (default 100)", positive),
            Option(
                "--elo-model MODEL",
                "quadratic (default), power:1.5, saturating:0.5, asymmetric:4, spsa_tuner, or "
                "clop-log, clop-flat, clop-power, clop-angle, clop-rosenbrock, clop-correlated",
            ),
            Option("--draw-model MODEL", "fixed (default), bayeselo, davidson"),
            Option(
                "--bias ELO",
                "standard deviation of an opening's advantage for one side (default 0)",
                not_negative,
            ),
            Option(
                "--correlation R",
                "interaction of two parameters' errors (default 0)",
                _correlation,
            ),
        ),
    ),
}


# Parsing


class Parser(argparse.ArgumentParser):
    """Raise UsageError where argparse ends the program."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\n{self.format_usage()}".rstrip())


def read(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line with a control file.

    Raises UsageError, also for an option that does not belong to the action, and SystemExit
    after --help and --version.
    """
    if {"-h", "--help"} & set(argv):
        action = next((word for word in argv if word in ACTIONS), None)
        _make_parser(action).print_help()
        raise SystemExit(0)
    arguments = _make_parser().parse_intermixed_args(argv)
    for options in OPTIONS.values():
        for option in options:
            value = getattr(arguments, option.key)
            # 0 is a value
            if value is None or value is False:
                continue
            if arguments.action not in option.actions:
                *others, last = option.actions
                fitting = f"{', '.join(others)} and {last}" if others else last
                raise UsageError(f"{option.names[-1]} goes with {fitting}")
    return arguments


def _make_parser(action: str | None = None) -> Parser:
    """Return the parser of all options, or the parser for the help of one action."""
    if action is None:
        listed = "\n".join(f"  {name:<18} {text}" for name, text in ACTIONS.items())
        parser = Parser(
            "ringmaster",
            usage="ringmaster CONTROL_FILE.ctl [ACTION] [OPTIONS]\n"
            "       ringmaster new GAME TYPE [FILE.ctl]\n"
            "       ringmaster import [-o FILE.ctl] WHAT\n"
            "       ringmaster choose [OPTIONS]\n"
            "       ringmaster positions FILE…",
            description=f"Play and tune game engines from a control file.\n\nactions:\n{listed}",
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
    else:
        text = ACTIONS[action]
        parser = Parser(
            "ringmaster",
            usage=f"ringmaster CONTROL_FILE.ctl {action} [OPTIONS]",
            description=f"{text[0].upper()}{text[1:]}.",
        )
    parser.add_argument("control_file", type=Path, metavar="CONTROL_FILE.ctl")
    if action is None:
        parser.add_argument(
            "action",
            nargs="?",
            default="run",
            choices=tuple(ACTIONS),
            metavar="ACTION",
            help="default: run",
        )
    for title, options in OPTIONS.items():
        shown = [option for option in options if action is None or action in option.actions]
        plain = title == "options" or action is not None
        group = parser if plain or not shown else parser.add_argument_group(title)
        for option in shown:
            # argparse formats the help with %
            help = option.help(action).replace("%", "%%")
            group.add_argument(*option.names, help=help, **option.settings)
    if action is None:
        kind = " (compiled)" if ringmaster.is_compiled() else ""
        version = f"ringmaster {ringmaster.__version__}{kind}"
        parser.add_argument("--version", action="version", version=version)
    return parser
