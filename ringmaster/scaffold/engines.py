"""Engines for a new control file: installed engines that ringmaster knows, and engines described
by their own options.  Known engines are searched on PATH and in Debian's folder of games."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ringmaster.competitions.tuning.parameter_settings import scale_advice
from ringmaster.control.python_text import Code
from ringmaster.control.source import printable
from ringmaster.engines.process import Surroundings
from ringmaster.engines.uci import UciOrUsiEngine
from ringmaster.engines.uci_messages import OptionDeclaration
from ringmaster.errors import EngineError, UsageError, shown
from ringmaster.model.parameters import TunedParameter
from ringmaster.model.players import PROTOCOL_OF_GAME, GameName, OptionValue, Player
from ringmaster.parameter_files.text import name_problem
from ringmaster.play.engine_pool import make_engine
from ringmaster.scaffold.control_file import Places, identifier
from ringmaster.scaffold.foreign_values import command_words

#: Debian's folders of games, which are not always on PATH.
GAMES = ("/usr/games", "/usr/local/games")

Which = Callable[[str], str | None]


Level = Mapping[str, str | int | list[str]]


#: An integer option to tune; `gtp` or `argument` for GTP, which has no options.
Weight = TunedParameter


@dataclass(frozen=True)
class Engine:
    """An engine of a control file.

    words    the executable and its arguments
    options  usual UCI and USI options
    levels   arguments of Player(…) that limit its moves, the strongest first; for GTP,
             "arguments" are further words of the command
    weights  options to tune
    score    how to get scores that depend on the weights, or ""
    note     a comment before the players, or ""
    source   arguments of Player(…) in place of the words, for an engine from git
    """

    code: str
    words: tuple[str | Code, ...]
    options: dict[str, OptionValue] = field(default_factory=dict)
    levels: tuple[Level, ...] = ({},)
    weights: tuple[Weight, ...] = ()
    score: str = ""
    note: str = ""
    source: Mapping[str, str] = field(default_factory=dict)


_CLOCKS: tuple[Level, ...] = tuple(
    {"time_control": control} for control in ("10+0.1", "5+0.05", "2.5+0.025", "1+0.01")
)
#: Only byo-yomi: Fairy-Stockfish 11.1 mixes up the clocks of the two sides over USI, which has no
#: effect while both are 0.
_BYOYOMI: tuple[Level, ...] = tuple(
    {"time_control": control} for control in ("0+1byo", "0+0.5byo", "0+0.25byo")
)


#: In order of preference.
_KNOWN: dict[GameName, tuple[Engine, ...]] = {
    "chess": (
        Engine("stockfish", ("stockfish",), {"Threads": 1, "Hash": 16}, _CLOCKS),
        Engine(
            "toga2",
            ("toga2",),
            {"Hash": 16, "OwnBook": False},
            _CLOCKS,
            (Weight("Piece Activity", 100, 0, 400), Weight("King Safety", 100, 0, 400)),
            "depth 1",
        ),
        Engine(
            "glaurung",
            ("glaurung",),
            {"Threads": 1, "Hash": 16, "OwnBook": False},
            _CLOCKS,
            (
                Weight("Mobility (Middle Game)", 100, 0, 200),
                Weight("Passed Pawns (Endgame)", 100, 0, 200),
            ),
            "eval",
        ),
        Engine("ethereal", ("ethereal-chess",), {"Threads": 1, "Hash": 16}, _CLOCKS),
        Engine("fairy", ("fairy-stockfish",), {"Threads": 1, "Hash": 16}, _CLOCKS),
    ),
    "shogi": (
        Engine(
            "fairy",
            ("fairy-stockfish",),
            {"Threads": 1, "Hash": 16},
            _BYOYOMI,
            (Weight("Contempt", 24, -100, 100),),
        ),
        Engine("gps", ("gpsusi",), {}, _BYOYOMI),
    ),
    "go": (
        Engine(
            "gnugo",
            ("gnugo", "--mode=gtp", "--chinese-rules", "--capture-all-dead"),
            levels=tuple({"arguments": [f"--level={level}"]} for level in (8, 5, 2, 1)),
            weights=(Weight("level", 3, 0, 10, argument="--level=%s"),),
        ),
    ),
}

_PYTHON = Code("sys.executable")


def _demo(game: GameName, *weights: Weight) -> Engine:
    return Engine(
        "demo",
        (_PYTHON, "-m", "ringmaster.demo", game),
        levels=({"depth": 2}, {"depth": 1}),
        weights=weights,
        score="eval",
        note="ringmaster's own engine; replace it by yours.",
    )


_NOISES: tuple[Level, ...] = tuple(
    {"startup_gtp_commands": [f"kata-set-param Noise {noise}"]} for noise in (30, 100, 300)
)
#: Used if no known engine is installed.
_FALLBACK: dict[GameName, Engine] = {
    "chess": _demo("chess", Weight("KnightValue", 320, 50, 900), Weight("Mobility", 40, -200, 400)),
    "shogi": _demo("shogi", Weight("GoldValue", 520, 10, 1400), Weight("KingDanger", 20, -60, 200)),
    "go": replace(
        _demo(
            "go",
            Weight("capture", 30, -100, 200, gtp="kata-set-param Capture %s"),
            Weight("liberties", 4, -50, 50, gtp="kata-set-param Liberties %s"),
        ),
        levels=({}, *_NOISES),
    ),
}


def usual_levels(game: GameName) -> tuple[Level, ...]:
    """Return the usual clocks of an engine that nothing is known of; none over GTP."""
    return {"chess": _CLOCKS, "shogi": _BYOYOMI, "go": ({},)}[game]


def which(name: str) -> str | None:
    """Return the command of an installed program: its name if it is on PATH, else its full path;
    None if it is not installed."""
    if shutil.which(name) is not None:
        return name
    return shutil.which(name, path=os.pathsep.join(GAMES))


def installed(game: GameName, find: Which = which) -> tuple[Engine, ...]:
    """Return the installed engines of a game, or ringmaster's own engine."""
    known = ((engine, find(str(engine.words[0]))) for engine in _KNOWN[game])
    engines = (
        replace(engine, words=(command, *engine.words[1:])) for engine, command in known if command
    )
    return tuple(engines) or (_FALLBACK[game],)


def tunable(game: GameName, engines: tuple[Engine, ...]) -> Engine:
    """Return an engine with options to tune, else ringmaster's own engine."""
    return next((engine for engine in engines if engine.weights), _FALLBACK[game])


def evaluating(game: GameName, engines: tuple[Engine, ...]) -> Engine:
    """Return an engine with scores that depend on its weights, preferably by its static
    evaluation; else ringmaster's own engine."""
    scored = sorted((e for e in engines if e.score), key=lambda engine: engine.score != "eval")
    # without noise in the scores
    return scored[0] if scored else replace(_FALLBACK[game], options={"Noise": 0})


#: Words in names of options for resources, time, books, tablebases, strength and output: these
#: have no part in the quality of play at full strength.
_NO_PARAMETER = re.compile(
    r"""hash(?!\s*_?move)|thread|cpus?$|\bcores?\b|numa|memory|cache|multi\s*_?pv
    |uci_|usi_|ponder|chess960|variant|limit_?strength|skill|elo$|handicap|level$
    |move\s*_?overhead|slow\s*_?mover|minimum\s*_?thinking|nodestime|network\s*_?delay|latency
    |time\s*_?(?:buffer|margin|limit)|timeout|search\s*_?(?:time|depth)
    |book|syzygy|nalimov|gaviota|bitbase|tablebase|egtb|probe\s*_?(?:depth|limit)
    |maxmovestodraw|draw_?ply|\bresign|draw\s*value|(?:nodes|depth)\s*_?limit|limit\s*_?(?:nodes|depth)
    |pv_?interval|debug|log\s*_?file|\blog\b|verbos|\bport$|seed|random
    |output|\bbatch|gpu|device|bench""",
    re.IGNORECASE | re.VERBOSE,
)
#: Usual options, set if the engine has them.
_RESOURCES: dict[str, OptionValue] = {"Threads": 1, "Hash": 16, "USI_Hash": 16, "OwnBook": False}
#: A declared range is narrowed if it is wider than this multiple of the value.
_WIDEST = 4
#: At least half of a range.
_LEAST_HALF = 5


def command_of(text: str, what: str, places: Places) -> tuple[list[str], str]:
    """Return the command of a text, or of a file's name, for a control file, and the program as it
    can be started here.  Raises UsageError."""
    file, *rest = [text] if places.exists(text) else command_words(text, what)
    if "/" in file or places.exists(file):
        started = os.path.abspath(places.source / os.path.expanduser(file))
        return [places.executable(file), *rest], started
    file = which(file) or file
    return [file, *rest], file


def declared_by(game: GameName, command: str, places: Places) -> tuple[Engine, str]:
    """Start an engine; return it with its parameters, and the comment before them, a paragraph a
    line.  Raises UsageError."""
    protocol = PROTOCOL_OF_GAME[game]
    if protocol == "gtp":
        raise UsageError(
            "--from-engine: Go engines have no options; write the parameters by hand "
            "(docs/tuners.rst)"
        )
    words, started = command_of(command, "--from-engine", places)
    player = Player("engine", (started, *words[1:]), protocol=protocol)
    engine = make_engine(player, Surroundings({}))
    assert isinstance(engine, UciOrUsiEngine)
    try:
        engine.launch()
        name, options = printable(engine.name) or "the engine", list(engine.options.values())
    except EngineError as error:
        raise UsageError(f"--from-engine: {shown(command)} cannot be used: {error}") from None
    finally:
        engine.end(patience=1.0)
    weights, narrowed = [], []
    left_out: dict[str, list[str]] = {}
    for option in options:
        if option.type != "spin":
            continue
        weight = _weight(option)
        if isinstance(weight, str):
            left_out.setdefault(weight, []).append(printable(option.name))
            continue
        if (weight.minimum, weight.maximum) != (option.minimum, option.maximum):
            narrowed.append(f"{printable(option.name)} ({option.minimum} to {option.maximum})")
        weights.append(weight)
    if not weights:
        reasons = "; ".join(f"{', '.join(names[:10])} ({why})" for why, names in left_out.items())
        reasons = reasons or "it declares none of type spin"
        raise UsageError(
            f"--from-engine: {shown(command)} has no option that can be tuned: {reasons}"
        )
    known = {option.name.casefold(): option.name for option in options}
    made = Engine(
        identifier(os.path.basename(started), ()),
        tuple(words),
        {known[n.casefold()]: v for n, v in _RESOURCES.items() if n.casefold() in known},
        _BYOYOMI if game == "shogi" else _CLOCKS,
        tuple(weights),
    )
    lines = [
        f"The integer options of {name}; delete the parameters that you do not want to tune.  "
        "Fewer parameters need fewer games."
    ]
    if narrowed:
        lines.append(f"Narrower than the engine's own range: {'; '.join(narrowed)}.")
    lines += [f"Left out ({why}): {', '.join(names)}." for why, names in left_out.items()]
    lines += [f"{line}." for line in scale_advice(weights)]
    return made, "\n".join(lines)


def _weight(option: OptionDeclaration) -> Weight | str:
    """Return an option to tune, or the plainest reason why it cannot be tuned.

    Its range is the declared one, or 0 to twice the value if that is far wider, like Stockfish's
    `TUNE`.
    """
    if _NO_PARAMETER.search(option.name):
        return "not about the quality of play"
    low, high = option.minimum, option.maximum
    if low is None or high is None or not re.fullmatch("-?[0-9]{1,15}", option.default):
        return "without a default value or bounds"
    if low >= high:
        return "it cannot be changed"
    start = int(option.default)
    if not low <= start <= high:
        return "the default is outside its bounds"
    if problem := name_problem(option.name):
        return problem
    half = max(abs(start), _LEAST_HALF)
    if high - low > _WIDEST * half:
        low, high = max(low, start - half), min(high, start + half)
    return Weight(option.name, start, low, high)
