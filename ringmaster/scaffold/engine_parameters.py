"""`ringmaster new … spsa --from-engine`: the parameters of a tune, made from the options that
an engine declares.

The engine is started, asked for its options, and ended.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ringmaster.engines.options import OptionDeclaration
from ringmaster.engines.process import Surroundings
from ringmaster.engines.universal import UniversalEngine
from ringmaster.errors import EngineError, UsageError
from ringmaster.model.players import PROTOCOL_OF_GAME, GameName, OptionValue, Player
from ringmaster.model.wording import shown
from ringmaster.parameter_files.text import name_problem
from ringmaster.play.engine_pool import make_engine
from ringmaster.scaffold.engines import Engine, Weight, levels_of, which
from ringmaster.scaffold.match import Places
from ringmaster.scaffold.text import identifier, printable

#: Words in the names of options that are about resources, time, books, tablebases, the
#: strength, and what is shown: no part of how well an engine plays at full strength.
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
#: Options that every player is given where its engine has them.
_RESOURCES: dict[str, OptionValue] = {"Threads": 1, "Hash": 16, "USI_Hash": 16, "OwnBook": False}
#: A declared range is kept while it is no wider than this many times the value.
_WIDEST = 4
#: Half of the range of an option whose value is smaller.
_LEAST_HALF = 5


@dataclass(frozen=True)
class Declared:
    """An engine with what was made of its options.

    name      what the engine calls itself
    left_out  options that are not tuned, by the reason
    narrowed  options whose range is less than the engine takes, with that
    """

    engine: Engine
    name: str
    left_out: Mapping[str, Sequence[str]]
    narrowed: tuple[str, ...]

    def comment(self) -> str:
        """Return what stands before the parameters, a paragraph a line."""
        lines = [
            f"The integer options that {self.name} declares; take away what you do not want to "
            "tune.  Fewer parameters need fewer games.",
        ]
        if self.narrowed:
            lines.append(f"Narrower than the engine takes: {'; '.join(self.narrowed)}.")
        for reason, names in self.left_out.items():
            lines.append(f"Left out ({reason}): {', '.join(names)}.")
        return "\n".join(lines)


def declared_by(game: GameName, command: str, places: Places) -> Declared:
    """Start an engine and return it with its parameters.  Raises UsageError."""
    protocol = PROTOCOL_OF_GAME[game]
    if protocol == "gtp":
        raise UsageError(
            "--from-engine: engines of Go declare no options; write the parameters by hand "
            "(docs/tuners.rst)"
        )
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--from-engine: {shown(command)}: {error}") from None
    if not words:
        raise UsageError("--from-engine: expected the command of an engine")
    file = words[0]
    is_file = "/" in file or places.exists(file)
    file = file if is_file else which(file) or file
    started = os.path.join(places.given, os.path.expanduser(file)) if is_file else file
    player = Player("engine", (started, *words[1:]), protocol=protocol)
    engine = make_engine(player, Surroundings({}))
    assert isinstance(engine, UniversalEngine)
    try:
        engine.launch()
    except EngineError as error:
        raise UsageError(f"--from-engine: {shown(command)} cannot be used: {error}") from None
    try:
        name, options = engine.name, list(engine.options.values())
    finally:
        engine.end(patience=1.0)
    weights, left_out, narrowed = _sorted_out(options)
    if not weights:
        reasons = "; ".join(f"{', '.join(names[:10])} ({why})" for why, names in left_out.items())
        reasons = reasons or "it declares none of type spin"
        raise UsageError(
            f"--from-engine: {shown(command)} has no option that can be tuned: {reasons}"
        )
    known = {option.name.casefold(): option.name for option in options}
    return Declared(
        Engine(
            identifier(os.path.basename(file), ()),
            (places.executable(file) if is_file else file, *words[1:]),
            {known[n.casefold()]: v for n, v in _RESOURCES.items() if n.casefold() in known},
            levels_of(game),
            tuple(weights),
        ),
        printable(name) or "the engine",
        left_out,
        tuple(narrowed),
    )


def _sorted_out(
    options: Iterable[OptionDeclaration],
) -> tuple[list[Weight], dict[str, list[str]], list[str]]:
    """Return the parameters, the options of type spin that are none by the reason, and the
    ranges that are narrower than declared."""
    weights, narrowed = [], []
    left_out: dict[str, list[str]] = {}
    for option in options:
        if option.type != "spin":
            continue
        name = printable(option.name)
        reason = next(_objections(option), "")
        if reason:
            left_out.setdefault(reason, []).append(name)
            continue
        assert option.minimum is not None
        assert option.maximum is not None
        start = int(option.default)
        low, high = _range(start, option.minimum, option.maximum)
        if (low, high) != (option.minimum, option.maximum):
            narrowed.append(f"{name} ({option.minimum} to {option.maximum})")
        weights.append(Weight(option.name, start, low, high))
    return weights, left_out, narrowed


def _objections(option: OptionDeclaration) -> Iterator[str]:
    """Yield why an option cannot be tuned, the plainest reason first."""
    if _NO_PARAMETER.search(option.name):
        yield "not about the quality of play"
    low, high = option.minimum, option.maximum
    if low is None or high is None or not re.fullmatch("-?[0-9]{1,15}", option.default):
        yield "without a default value or bounds"
        return
    if low >= high:
        yield "it cannot be changed"
    if not low <= int(option.default) <= high:
        yield "the default is outside its bounds"
    problem = name_problem(option.name)
    if problem:
        yield problem


def _range(start: int, low: int, high: int) -> tuple[int, int]:
    """Return the range of a parameter: the declared one unless it is far wider than the
    value; then from 0 to twice the value, as Stockfish's `TUNE` has it."""
    half = max(abs(start), _LEAST_HALF)
    if high - low <= _WIDEST * half:
        return low, high
    return max(low, start - half), min(high, start + half)
