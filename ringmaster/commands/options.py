"""Tables of the command line: its verbs and their options.  Every start imports this module:
it imports no verb, and nothing that a verb needs.

A new verb is an entry of VERBS, whose function it names; a new option is an entry of OPTIONS.
Parsing, help and the man page follow from these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from ringmaster.commands import values

# Verbs


class Argument(NamedTuple):
    """A word that a verb needs.

    name     in the help; the attribute has it in small letters, and a FILE.ctl is control_file
    help     one text
    nargs    as for argparse: "?" or "+"
    choices  function that returns its values, for the help
    """

    name: str
    help: str
    nargs: str | None = None
    choices: Callable[[], Sequence[str]] | None = None

    @property
    def key(self) -> str:
        """The attribute of the namespace."""
        return "control_file" if self.name.startswith("FILE.ctl") else self.name.lower()

    @property
    def usage(self) -> str:
        """The argument in a line of usage."""
        return {"?": f"[{self.name}]", "+": f"{self.name}…"}.get(self.nargs or "", self.name)


CONTROL_FILE = Argument("FILE.ctl", "the control file")


class Verb(NamedTuple):
    """A verb of the command line.

    name       its word
    help       one line, without a full stop
    function   "module.function" in `ringmaster.commands`; it gets the Namespace and returns an
               exit status
    arguments  its words; a verb that begins with CONTROL_FILE may also follow the file
    own_key    in tables of options, if two verbs have one name
    forms      lines of usage in place of those made of the arguments
    notes      paragraphs below its options
    verbatim   whether its function parses all words, as `arguments.words`
    """

    name: str
    help: str
    function: str
    arguments: Sequence[Argument] = (CONTROL_FILE,)
    own_key: str = ""
    forms: Sequence[str] = ()
    notes: str = ""
    verbatim: bool = False

    @property
    def key(self) -> str:
        """The name in tables of options."""
        return self.own_key or self.name

    @property
    def has_control_file(self) -> bool:
        """Return whether the verb may follow its control file."""
        return bool(self.arguments) and self.arguments[0].key == "control_file"

    @property
    def usage(self) -> Sequence[str]:
        """The words behind its name, a line for each form."""
        words = [argument.usage for argument in self.arguments]
        return self.forms or [" ".join([*words, *(["[OPTIONS]"] if self.options() else [])])]

    @property
    def label(self) -> str:
        """The name, with the first argument where two verbs have one name."""
        shared = sum(verb.name == self.name for verb in verbs()) > 1
        return f"{self.name} {self.arguments[0].usage}" if shared else self.name

    def options(self) -> list[Option]:
        return [option for option in OPTIONS if self.key in option.verbs]


def _games() -> Sequence[str]:
    from ringmaster.scaffold.template import GAMES

    return GAMES


def _types() -> Sequence[str]:
    from ringmaster.competitions import type_names

    return type_names()


KEYS = (
    "Keys: ? lists the keys, q or Ctrl-X stops after the games in progress, Ctrl-C at once, p "
    "pauses, + and - change the number of games at a time. The same command resumes."
)
STATUSES = (
    "Exit status: 0 done or stopped on request, 1 a reported error, 2 wrong usage, 3 interrupted, "
    "4 an internal error."
)

#: Verbs by the heading of the help.
VERBS: dict[str, tuple[Verb, ...]] = {
    "prepare": (
        Verb(
            "new",
            "write a control file to start from",
            "new.new",
            (
                Argument("GAME", "the game", choices=_games),
                Argument("TYPE", "the competition type", choices=_types),
                Argument("FILE", "default: TYPE_GAME.ctl; - for standard output", "?"),
            ),
        ),
        Verb(
            "import",
            "make a control file from another program's match or tune",
            "new.import_",
            forms=(
                "[-o FILE.ctl] fastchess|cutechess-cli -engine …",
                "[-o FILE.ctl] gogui-twogtp -black … -white …",
                "[-o FILE.ctl] KATAGO-MATCH.cfg | TUNE.conf | PARAMETER-FILE…",
            ),
            arguments=(Argument("WHAT", "a file, or the words of a command line", "+"),),
            verbatim=True,
        ),
        Verb("check", "start and test every player", "check.check"),
        Verb("plan", "estimate the length of a match, or of a tune with its gain", "plan.plan"),
        Verb("simulate", "simulate a tune (spsa)", "plan.simulate"),
    ),
    "play": (
        Verb(
            "match",
            "play engines by one line; the same line resumes",
            "match.match",
            (Argument("ENGINE", "programs or quoted commands; the first plays the others", "+"),),
            notes=KEYS,
        ),
        Verb(
            "run",
            "play games, or continue playing (without a verb: run)",
            "run.run",
            notes=f"{KEYS}\n\n{STATUSES}",
        ),
        Verb(
            "worker",
            "play games for a cluster, and join it again if it is lost",
            "worker.worker",
            (Argument("ADDRESS", "the scheduler's, such as tls://node1:8786"),),
        ),
        Verb("stop", "stop a run after its games in progress", "stop.stop"),
        Verb("verify", "play more games of a tune's closing match", "run.verify", notes=KEYS),
        Verb("diff", "list changes of the control file since the last run", "show.diff"),
        Verb(
            "backup",
            "copy the status file, also during a run",
            "keep.backup",
            (CONTROL_FILE, Argument("FILE", "the copy (default: in FILE.backups)", "?")),
        ),
        Verb(
            "restore",
            "put a copy in the place of the status file, which is kept",
            "keep.restore",
            (CONTROL_FILE, Argument("FILE", "the copy (default: list the copies)", "?")),
        ),
        Verb("fsck", "verify status file, history and records, and repair them", "keep.fsck"),
        Verb("reset", "delete all output files but copies, after a question", "stop.reset"),
    ),
    "use the results": (
        Verb("show", "print the results, also during a run", "show.show"),
        Verb("report", "write the results to FILE.report and FILE.html", "show.report"),
        Verb(
            "serve",
            "show the results in a browser, live",
            "serve.serve",
            (Argument("FILE.ctl|FOLDER", "a control file, or a folder with some"),),
        ),
        Verb("plot", "draw the results", "plot.plot"),
        Verb("export", "write games, records or positions for other programs", "export.export"),
        Verb(
            "export-parameters",
            "write tuned values for engines, compilers or other tuners",
            "export.export_parameters",
        ),
        Verb(
            "positions",
            "make labelled positions from the recorded games",
            "positions.make",
        ),
        Verb(
            "positions",
            "describe labelled positions",
            "positions.describe",
            (Argument("FILE", "a file of labelled positions", "+"),),
            own_key="describe",
        ),
    ),
    "help": (
        Verb(
            "help",
            "print the help of a verb",
            "",
            (Argument("VERB", "the verb", "?", choices=lambda: verb_names()),),
        ),
    ),
}


#: Words of other programs, with the verb or option here.
ELSEWHERE = {
    **dict.fromkeys(("continue", "play", "resume", "start", "tune"), "run"),
    **dict.fromkeys(("info", "results", "status"), "show"),
    **dict.fromkeys(("clean", "delete"), "reset"),
    **dict.fromkeys(("concurrency", "jobs", "threads", "workers"), "parallel"),
}


def verbs() -> list[Verb]:
    """Return all verbs; two of them have the name `positions`."""
    return [verb for group in VERBS.values() for verb in group]


def verb_names() -> list[str]:
    """Return the names of all verbs, each once."""
    return list(dict.fromkeys(verb.name for verb in verbs()))


# Options


class Option:
    """An option with the verbs that it belongs to.

    words     its names, then the name of its value in the help; without that it is a flag
    help      one text, or for each verb a text or a function that returns it
    verbs     keys of verbs; None for those of its group
    settings  further arguments of argparse's add_argument
    """

    def __init__(
        self,
        words: str,
        help: str | Mapping[str, str | Callable[[], str]],
        type: Callable[[str], Any] = str,
        *,
        verbs: Sequence[str] | None = None,
        **settings: Any,
    ) -> None:
        self.names = [word for word in words.split() if word.startswith("-")]
        self.key = self.names[-1].removeprefix("--").replace("-", "_")
        self.verbs: Sequence[str] = verbs or ()
        self._help = help
        metavar = words.split()[-1]
        self.settings: dict[str, Any] = {"metavar": metavar, "type": type, **settings}
        if metavar in self.names:
            self.settings = {"action": "store_true"}

    @property
    def has_value(self) -> bool:
        """Return whether it is no flag."""
        return "metavar" in self.settings

    def help(self, key: str) -> str:
        text = self._help if isinstance(self._help, str) else self._help[key]
        return text if isinstance(text, str) else text()


_PLAYING = ("run", "match", "verify")
_PLAYING_OR_CHECK = (*_PLAYING, "check")
_AT_A_TIME = "play N games at a time (default: `parallel` of the control file, else 1)"
_SIDES = ("white", "black", "first", "mover")
_ANY_SIDE = "white, black, first or mover"
_FORECASTS = ("plan", "simulate")


def _formats(registry: str, *, has_default: bool = False) -> Callable[[], str]:
    """Return a function that lists the names in a registry of formats.

    has_default  whether the first name is the default
    """

    def listed() -> str:
        module, _, name = registry.rpartition(".")
        names = list(getattr(import_module(f"ringmaster.{module}"), name))
        return ", ".join(names) + f" (default: {names[0]})" * has_default

    return listed


def _group(verbs: Sequence[str], *options: Option) -> tuple[Option, ...]:
    for option in options:
        option.verbs = option.verbs or verbs
    return options


#: All options, in the order of the help.
OPTIONS: tuple[Option, ...] = (
    *_group(
        ("match",),
        Option("--tc TC", "clock, such as 8+0.08 or 40/60 (default: 10+0.1, shogi: 0+1byo)"),
        Option("--nodes N", "limit of nodes for each move", values.POSITIVE),
        Option("--depth N", "limit of depth for each move", values.POSITIVE),
        Option("--visits N", "limit of visits for each move, over GTP", values.POSITIVE),
        Option("--book FILE", "openings (default: an .epd or .sfen file of this folder)"),
        Option(
            "--games N",
            {
                "match": "games of each pairing",
                "verify": "play at most N games of the closing match (an even number)",
            },
            values.POSITIVE,
            verbs=("match", "verify"),
        ),
        Option("--sprt ELO", "end it by an SPRT of two bounds: --sprt 0 3", values.NUMBER, nargs=2),
        Option(
            "--option NAME=VALUE",
            "of all engines",
            values.ENGINE_OPTION,
            action="append",
            default=[],
        ),
        Option(
            "--game GAME",
            "chess (default), shogi, go",
            choices=("chess", "shogi", "go"),
            default="chess",
        ),
        Option("--print", "print the control file and play nothing"),
    ),
    *_group(
        _PLAYING,
        Option(
            "-j --parallel N",
            {
                **dict.fromkeys(_PLAYING_OR_CHECK, _AT_A_TIME),
                **dict.fromkeys(_FORECASTS, f"in the real run, {_AT_A_TIME}"),
                "worker": "play N games at a time (default: one on each CPU)",
            },
            values.POSITIVE,
            verbs=(*_PLAYING_OR_CHECK, *_FORECASTS, "worker"),
        ),
        Option(
            "--accept-build PLAYER",
            "go on though an engine was rebuilt: the change does not matter",
            action="append",
            default=[],
        ),
        Option(
            "--update-refs", "take the present commits of engines from git, not those of before"
        ),
        Option("-g --max-games N", "start at most N games in this run", values.COUNT),
        Option(
            "-q --quiet",
            "print nothing but warnings and errors",
            verbs=(*_PLAYING_OR_CHECK, "plot", "positions", "simulate"),
        ),
        Option("--log-games", "without a terminal: print a line for each game"),
        Option(
            "--serve PORT",
            "show the run in a browser, live; the address is printed",
            values.PORT,
            nargs="?",
            const=0,
        ),
        Option("--log-gtp", "write a transcript of every game's protocol traffic"),
        Option("--log-faults", "write transcripts of void games and forfeits only"),
        Option(
            "--affinity CPUS",
            "give each game its own CPUs, from this list (such as 0-3,8) or from all",
            verbs=_PLAYING_OR_CHECK,
            nargs="?",
            const="",
        ),
        Option(
            "--cluster WHERE",
            "play on a Dask cluster: the scheduler's address (tls://node1:8786), `local` to start "
            "one on this machine, or `off`",
            values.CLUSTER,
            verbs=_PLAYING_OR_CHECK,
        ),
        Option(
            "--insecure",
            "allow a scheduler whose connections are not encrypted (tcp://)",
            verbs=(*_PLAYING_OR_CHECK, "worker"),
        ),
        Option("--json", "print JSON", verbs=("show", "check", "diff", *_FORECASTS)),
    ),
    *_group(
        ("worker",),
        Option(
            "--cpus N",
            "use N CPUs that no other worker of this machine has claimed (default: share all)",
            values.POSITIVE,
        ),
        Option(
            "--listen HOST:PORT",
            "own address, for connections from the scheduler (default: any free port)",
            values.ENDPOINT,
        ),
        Option(
            "--contact HOST:PORT",
            "own address as the scheduler sees it: a tunnel's end, say",
            values.ENDPOINT,
        ),
    ),
    *_group(
        ("serve",),
        Option("--port PORT", "serve on this port (default: a free one)", values.PORT, default=0),
        Option("--control", "let the page stop and pause runs, and change their games at a time"),
    ),
    *_group(
        ("check",),
        Option("--quick", "only start each engine and set it up, as run does"),
        Option("-v --verbose", "list the passed tests too"),
    ),
    *_group(
        ("export",),
        Option(
            "--format FORMAT",
            {
                "export": _formats("export.result_files.FORMATS", has_default=True),
                "export-parameters": _formats("export.parameters.FORMATS", has_default=True),
                "positions": _formats("formats.registry.WRITTEN", has_default=True),
                "describe": _formats("formats.registry.LABELLED"),
                "show": _formats("export.result_block.FORMATS"),
            },
            verbs=("export", "export-parameters", "positions", "describe", "show"),
        ),
        Option(
            "-o --output FILE",
            {
                "export": "write FILE (default: standard output)",
                "export-parameters": "write FILE (default: standard output)",
                "import": "write FILE.ctl (default: standard output)",
                "match": "write FILE.ctl (default: match.ctl)",
                "plot": "write FILE: .html (default), .svg, .png or .pdf",
                "positions": "write FILE (default: beside the control file; -: standard output)",
            },
            verbs=("export", "export-parameters", "import", "match", "plot", "positions"),
        ),
        Option("--void", "export void games too"),
        Option("--raw", "export the engines' text as it is, also for a spreadsheet or terminal"),
        Option(
            "--trajectory", "export the tuned values after each iteration of a spsa or texel tune"
        ),
    ),
    *_group(
        ("positions",),
        Option(
            "--per-game N",
            "draw at most N positions of a game at random, or all (default 10)",
            values.MOST,
        ),
        Option("--first-ply N", "skip the first N plies of a game (default 8)", values.PLIES),
        Option("--last-plies N", "skip the last N plies of a game (default 0)", values.PLIES),
        Option(
            "--score-cap CP",
            "skip positions with a score beyond CP centipawns for either side",
            values.ABOVE_ZERO,
        ),
        Option(
            "--resolve",
            "follow the game's captures to a quiet position (default: only positions between "
            "moves that are not captures)",
        ),
        Option("--all-moves", "include positions between captures"),
        Option("--players CODE", "only positions with one of these players to move", nargs="+"),
        Option("--most N", "write a random sample of at most N positions", values.POSITIVE),
    ),
    *_group(
        _FORECASTS,
        Option(
            "--elo ELO[,CODE=ELO…]",
            "in a match also this true difference, for all matchups or one; in a tune as for "
            "simulate",
            values.by_code(values.ELO),
            verbs=("plan",),
        ),
        Option(
            "--elo ELO[,CODE=ELO…]",
            "Elo lost at half a range from the optimum, for each parameter (default 2)",
            values.by_code(values.NOT_NEGATIVE),
            verbs=("simulate",),
        ),
        Option(
            "--optimum WHERE",
            "random (default: anywhere within the bounds), centre, start, or a share of the "
            "range such as 0.3; CODE=WHERE for one parameter",
            values.by_code(values.PLACE),
        ),
        Option(
            "--draw-ratio SHARE",
            "share of draws between equal players (default: as measured, else 0.61 in chess and "
            "0 in other games)",
            values.SHARE,
        ),
        Option(
            "--penta N,N,N,N,N",
            "pairs with 0, ½, 1, 1½ and 2 points in a similar match (default: as measured, else by "
            "--draw-ratio)",
            values.PENTA,
            verbs=("plan",),
        ),
        Option(
            "--seed N",
            "seed of the random numbers (default 0)",
            values.INTEGER,
            verbs=(*_FORECASTS, "positions"),
        ),
        Option(
            "--seconds-per-game S",
            "duration of a game (default: as measured, else by the time control)",
            values.ABOVE_ZERO,
            verbs=("plan",),
        ),
        *_group(
            ("simulate",),
            Option("--replicates N", "simulate N tunes (default 100)", values.POSITIVE),
            Option(
                "--elo-model MODEL",
                "shape of the loss: quadratic (default), log, lopsided:8, cliff:0.67, ridge:20, "
                "power:1.5, saturating:0.5 or spsa_tuner; without a number these numbers",
            ),
            Option("--draw-model MODEL", "fixed (default), bayeselo, davidson"),
            Option(
                "--bias ELO",
                "standard deviation of an opening's advantage for one side (default 0)",
                values.NOT_NEGATIVE,
            ),
        ),
    ),
    Option(
        "--safe",
        "evaluate a stranger's control file within bounds, instead of executing it",
        verbs=(
            *("check", "plan", "simulate", "run", "verify", "diff", "show", "report", "serve"),
            *("plot", "export", "export-parameters", "positions", "fsck"),
        ),
    ),
    Option("-y --yes", "delete without a question", verbs=("reset",)),
    Option(
        "--from-engine COMMAND",
        "for spsa: make the parameters from this engine's own options",
        verbs=("new",),
    ),
    *_group(
        ("new",),
        Option("--git REPOSITORY", "for a playoff: two commits of an engine, a folder or a URL"),
        Option("--ref REF", "with --git: the branch, tag or commit to test (default: HEAD)"),
        Option("--base REF", "with --git: the commit to test it against (default: main)"),
        Option("--build LINE", "with --git: the shell line that builds it (default: a guess)"),
        Option("--program PATH", "with --git: the program that it builds (default: a guess)"),
    ),
    *_group(
        ("describe",),
        Option("--game GAME", "chess or shogi (default: by content)", choices=("chess", "shogi")),
        Option("--variant NAME", "of chess (default: standard)", default="standard"),
        Option("--score-pov SIDE", f"side with positive scores: {_ANY_SIDE}", choices=_SIDES),
        Option("--result-pov SIDE", f"side with result 1 for a win: {_ANY_SIDE}", choices=_SIDES),
        Option("--results UNIT", "numbers of a loss and a win", choices=("0-1", "0-2")),
        Option("--skip-bad", "count unreadable and illegal positions instead of stopping"),
    ),
)
