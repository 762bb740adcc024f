"""Engines that are often installed, and what they are good for in a first control
file; whether one is there is looked up on PATH and where Debian puts games."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ringmaster.model.players import GameName, OptionValue
from ringmaster.scaffold.text import Code

#: Where games are on Debian, which is not on everybody's PATH.
GAMES = ("/usr/games", "/usr/local/games")

Which = Callable[[str], str | None]


Level = Mapping[str, str | int | list[str]]


@dataclass(frozen=True)
class Weight:
    """An integer option that can be tuned.

    given  over GTP, which has no options: the argument or, if it does not begin
           with "-", the command that sets it, with {} for the value
    """

    name: str
    start: int
    low: int
    high: int
    given: str = ""


@dataclass(frozen=True)
class Engine:
    """An engine as a control file starts it.

    words    the executable and its arguments
    options  UCI and USI options that everybody sets
    levels   arguments of Player(…) that limit its moves, the strongest first; over
             GTP, "arguments" are further words of the command
    weights  what can be tuned, by option; none where that makes no sense
    score    how it can be asked for scores that the weights change, or ""
    note     a comment that stands before the players, or ""
    """

    code: str
    words: tuple[str | Code, ...]
    options: dict[str, OptionValue] = field(default_factory=dict)
    levels: tuple[Level, ...] = ({},)
    weights: tuple[Weight, ...] = ()
    score: str = ""
    note: str = ""


_CLOCKS: tuple[Level, ...] = tuple(
    {"time_control": control} for control in ("10+0.1", "5+0.05", "2.5+0.025", "1+0.01")
)
#: No time but byo-yomi: Fairy-Stockfish 11.1 takes the other side's clock for its own
#: over USI, which does not matter where both stand at 0.
_BYOYOMI: tuple[Level, ...] = tuple(
    {"time_control": control} for control in ("0+1byo", "0+0.5byo", "0+0.25byo")
)


def levels_of(game: GameName) -> tuple[Level, ...]:
    """Return limits for an engine of which nothing is known."""
    return _BYOYOMI if game == "shogi" else _CLOCKS


#: In the order in which they are taken.
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
            weights=(Weight("level", 3, 0, 10, "--level={}"),),
        ),
    ),
}

_DEMO = "The engine that comes with ringmaster stands in for yours."
_PYTHON = Code("sys.executable")

#: What is taken when no known engine is there.
_FALLBACK: dict[GameName, Engine] = {
    "chess": Engine(
        "demo",
        (_PYTHON, "-m", "ringmaster.demo", "chess"),
        {},
        ({"depth": 2}, {"depth": 1}),
        (Weight("KnightValue", 320, 50, 900), Weight("Mobility", 40, -200, 400)),
        "eval",
        _DEMO,
    ),
    "go": Engine(
        "demo",
        (_PYTHON, "-m", "ringmaster.demo", "go"),
        levels=(
            {},
            *({"startup_gtp_commands": [f"ringmaster-param Noise {n}"]} for n in (30, 100, 300)),
        ),
        weights=(
            Weight("capture", 30, -100, 200, "ringmaster-param Capture {}"),
            Weight("liberties", 4, -50, 50, "ringmaster-param Liberties {}"),
        ),
        note=_DEMO,
    ),
    "shogi": Engine(
        "demo",
        (_PYTHON, "-m", "ringmaster.demo", "shogi"),
        {},
        ({"depth": 2}, {"depth": 1}),
        (Weight("GoldValue", 520, 10, 1400), Weight("KingDanger", 20, -60, 200)),
        "eval",
        _DEMO,
    ),
}


def which(name: str) -> str | None:
    """Return how to call an installed program: by its name if it is on PATH, else
    by its full path; None if it is not there."""
    if shutil.which(name) is not None:
        return name
    return shutil.which(name, path=os.pathsep.join(GAMES))


def installed(game: GameName, find: Which = which) -> tuple[Engine, ...]:
    """Return the known engines of a game that are on this machine, or the one that
    stands in for them."""
    found = []
    for engine in _KNOWN[game]:
        assert isinstance(engine.words[0], str)
        command = find(engine.words[0])
        if command is not None:
            found.append(replace(engine, words=(command, *engine.words[1:])))
    return tuple(found) or (_FALLBACK[game],)


def tunable(game: GameName, find: Which = which) -> Engine:
    """Return an installed engine that has something to tune, else the one that
    stands in for it."""
    for engine in installed(game, find):
        if engine.weights:
            return engine
    return _FALLBACK[game]


def evaluating(game: GameName, engines: tuple[Engine, ...]) -> Engine:
    """Return one of these whose weights change its scores, best its static evaluation;
    else the one that stands in for it."""
    scored = sorted((e for e in engines if e.score), key=lambda engine: engine.score != "eval")
    # the noise of the one that stands in would be in its scores
    return scored[0] if scored else replace(_FALLBACK[game], options={"Noise": 0})
