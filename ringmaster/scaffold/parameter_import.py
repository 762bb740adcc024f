"""Import the parameter file of another tuner: the control file tunes the same parameters with the
same method.

weather-factory's spsa.json and cutechess.json add the gains, the engine and the games.  Other
parameter files have no engine: the control file has a placeholder that `check` does not find.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.control.python_text import Call, Code
from ringmaster.errors import ParameterFileError, UsageError, shown
from ringmaster.model.time_control import number as number_text
from ringmaster.parameter_files.entries import Entry, ParameterFile, arguments
from ringmaster.parameter_files.formats import read_file, recognised
from ringmaster.parameter_files.tables import ROUNDING, rounded_otherwise
from ringmaster.parameter_files.text import Text, number
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import Name, converted
from ringmaster.scaffold.match_engines import CLOCK
from ringmaster.scaffold.match_runners import import_command_line

#: Games of a tune by weather-factory, which has no end.
_GAMES = 100_000
#: The command of an unknown engine.
PLACEHOLDER = "./NAME-OF-YOUR-ENGINE"
_UNKNOWN = "the engine and its time control; write them in"


def _classic(games: int, *different: str, **settings: Any) -> Match:
    return Match(
        settings={
            **{"method": "classic", "update": "nominal", "k_counts": "iterations", **settings},
            **{"number_of_games": games, "alpha": 0.602, "gamma": 0.101, "A_ratio": 0.1},
        },
        comments={
            "number_of_games": "The usual values; the file has no number_of_games, alpha, gamma "
            "and A.  The gains depend on them.",
            "games_per_iteration": "Two games for each of OpenBench's pairs-per (8).",
        },
        different=list(different),
    )


#: Each tuner's usual settings with comments, and its differences, by format of parameter file.
_PRACTICES: dict[str, Match] = {
    "spsa_tuner": _classic(100_000, rounding="nearest"),
    "fishtest": _classic(
        60_000,
        "one random number rounds both sides of a game; fishtest's workers use two",
        rounding="stochastic",
        k_counts="pairs",
    ),
    "openbench": _classic(160_000, rounding="stochastic", games_per_iteration=16),
    "weather_factory": Match(
        settings={
            **{"method": "weather_factory", "update": "nominal", "rounding": "nearest"},
            **{"k_counts": "games", "number_of_games": _GAMES, "a": 1.0, "c": 1.0, "A": 100_000},
            **{"alpha": 0.601, "gamma": 0.102},
        }
    ),
    "yaneuraou": Match(
        settings={
            **{"method": "blog", "update": "nominal", "rounding": "nearest"},
            **{"pairing": "reference", "opponent": "reference", "epsilon": 1.0},
            **{"number_of_games": 100_000, "move_limit": 240},
        },
        comments={
            "move_limit": "Then the game is a draw.  YaneuraOu's script also counts the moves of "
            "the opening.",
            "method": "c_end is the file's step, r_end its delta, without a schedule.  epsilon is "
            "the mobility.",
        },
        different=[
            "both sides play against player 'reference', as in YaneuraOu's script; pairing = "
            '"self_play" (without opponent) needs about a quarter of the games',
            "both sides get the same opening and colour; in YaneuraOu's script each gets its own",
        ],
    ),
}
_DEFAULT = Match(
    settings={"number_of_games": 30_000},
    comments={
        "number_of_games": "The usual value of the default method; the file has another method or "
        "none."
    },
)


def practise(format: str, match: Match) -> None:
    """Add the usual settings of a format's tuner to a match."""
    practice = _PRACTICES.get(format, _DEFAULT)
    match.settings |= practice.settings
    match.comments |= practice.comments
    match.different += practice.different


def recognises(text: Text) -> bool:
    """Return whether a file is a parameter file, or would be without an error."""
    try:
        # wrong JSON is refused with its line
        return recognised(text) is not None or text.is_object
    except ParameterFileError:
        return True


def import_files(texts: Sequence[Text], places: Places) -> Match:
    """Return the tune of a parameter file.

    texts  the file; OpenBench's output for the same parameters may be there for the start
           values, and weather-factory's spsa.json and cutechess.json

    Raises ParameterFileError, UsageError.
    """
    gains = [text for text in texts if _is_plain(text, {"a", "c", "A"})]
    play = [text for text in texts if _is_plain(text, {"engine", "book"})]
    others = [text for text in texts if text not in (*gains, *play)]
    read = {text.name: read_file(text, games=_GAMES) for text in others}
    values = [file for file in read.values() if file.format == "openbench_values"]
    ranged = [file for file in read.values() if file.format != "openbench_values"]
    weather = [file.format for file in read.values()] == ["weather_factory"]
    several = max(len(ranged), len(values), len(gains), len(play)) > 1
    if several or not read or ((gains or play) and not weather):
        listed = [f"{name} ({file.format})" for name, file in read.items()]
        listed += [f"{text.name} (weather-factory's settings)" for text in (*gains, *play)]
        raise UsageError(
            f"import: {' and '.join(listed)} cannot be combined; expected one parameter file, "
            "OpenBench's with its output, or weather-factory's with its two other files"
        )
    file = (ranged or values)[0]
    if ranged and values:
        _start_with(values[0], file)
    match = Match(origin=", ".join(text.name for text in texts), type_name="spsa")
    match.assumed += file.notes
    if file.format == "yaneuraou":
        match.game = "shogi"
    match.settings["player"] = add_placeholder(match, "engine")
    if file.format == "clop":
        # the other settings are read as well
        match.assumed = [line for line in match.assumed if not line.startswith("only the")]
        _add_clop(file, match)
    else:
        add_parameters(file, match, step=weather)
        practise(file.format, match)
    if match.settings.get("opponent") == "reference":
        add_placeholder(match, "reference")
    if gains:
        _add_gains(gains[0], match)
    if play:
        _add_play(play[0], match, places)
    if "openings" not in match.settings:
        match.assumed.append("no openings; write them in, a tune needs them")
    return match


def _is_plain(text: Text, keys: set[str]) -> bool:
    """Return whether a file is a JSON object without inner objects that has some keys."""
    inner = any(isinstance(value, dict) for value in text.members.values())
    return keys <= text.members.keys() and not inner


def add_placeholder(match: Match, code: str) -> str:
    """Add a player for an unknown engine; return its code."""
    if _UNKNOWN not in match.assumed:
        match.assumed.insert(0, _UNKNOWN)
    return match.enter("", [PLACEHOLDER], {"time_control": CLOCK}, code)


def _start_with(values: ParameterFile, file: ParameterFile) -> None:
    """Set the start values of parameters to those of a finished tune."""
    tuned = {entry.code: entry.start for entry in values.entries}
    known = {entry.code for entry in file.entries}
    unknown = [code for code in tuned if code not in known]
    if unknown:
        raise UsageError(f"import: {unknown[0]} has a value, but is not a parameter")
    for index, entry in enumerate(file.entries):
        start = tuned.get(entry.code, entry.start)
        if not entry.minimum <= start <= entry.maximum:
            raise UsageError(f"import: {entry.code}: the value {start:g} is outside its bounds")
        file.entries[index] = msgspec.structs.replace(entry, start=start)


def add_parameters(file: ParameterFile, match: Match, *, step: bool = False) -> None:
    """Add the parameters to a match.  Raises UsageError if none can be tuned.

    step  whether the gains are weather-factory's
    """
    calls = []
    for entry in file.entries:
        if entry.choices:
            match.note(f"{entry.code} (a choice without order, which SPSA cannot tune)")
            continue
        row = arguments(entry)
        for name in ("c_end", "r_end") if step else ("step",):
            row.pop(name, None)
        if "transform" in row:
            row["transform"] = Code(row["transform"].source)
        calls.append(Call("Parameter", (entry.code,), row))
    if all(entry.not_used or entry.frozen or entry.choices for entry in file.entries):
        raise UsageError(f"import: {match.origin}: it has no parameter that can be tuned")
    match.settings["parameters"] = calls
    match.simulate = _simulation(file.entries, match)
    if file.format == "yaneuraou" and any(map(rounded_otherwise, file.entries)):
        match.different.append(f"whole numbers below 0 are rounded to the nearest; {ROUNDING}")


def _simulation(entries: Sequence[Entry], match: Match) -> str:
    """Return the arguments of `simulate` for the SPSA Tuner's column simul_elo, "" without one.

    Simulated games of the SPSA Tuner have no draws.
    """
    elo = {entry.code: entry.simul_elo or 0.0 for entry in entries}
    below = [code for code, value in elo.items() if value < 0]
    if below:
        match.note(f"simul_elo of {below[0]}, which is below 0: `simulate` has an optimum at 0")
        return ""
    if not any(elo.values()):
        return ""
    if len(set(elo.values())) == 1:
        text = number_text(next(iter(elo.values())))
    else:
        text = ",".join(
            ["0", *(f"{code}={number_text(value)}" for code, value in elo.items() if value)]
        )
    return f"--elo-model spsa_tuner --draw-ratio 0 --elo {shlex.quote(text)}"


def _add_clop(file: ParameterFile, match: Match) -> None:
    """Add parameters and settings of a .clop file to a match, for clop_tuner."""
    match.type_name = "clop_tuner"
    match.settings["opponent"] = add_placeholder(match, "opponent")
    used = ("min", "max", "integer", "scale")
    match.settings["parameters"] = [
        Call("Parameter", (entry.code,), {k: v for k, v in arguments(entry).items() if k in used})
        for entry in file.entries
    ]
    for name, *values in file.others:
        value = values[0] if values else ""
        if name == "H" and 0.1 <= (number(value) or 0) <= 100:
            match.settings["clop_H"] = float(value)
        elif name == "Correlations" and value in ("all", "none"):
            match.settings["correlations"] = value
        elif name == "Replications" and re.fullmatch("[1-9][0-9]{0,8}", value):
            match.settings["replications"] = int(value)
        elif name == "DrawElo":
            match.different.append("a draw is half a win; there is no DrawElo")
        elif name not in ("Name", "Processor"):
            match.note(f"{name} {shown(' '.join(values))}")
    match.parallel = sum(name == "Processor" for name, *_ in file.others) or None
    match.settings["number_of_games"] = None
    match.comments["number_of_games"] = "None: the tune ends when you stop it."


# weather-factory


def _add_gains(text: Text, match: Match) -> None:
    """Add the gains of spsa.json.  Raises UsageError."""
    gains = converted(text.name, text.object, dict[str, int | float], "numbers")
    for name, value in gains.items():
        if name in ("a", "c", "A", "alpha", "gamma"):
            match.settings[name] = value
        else:
            match.note(f"{name} = {value!r} of {text.name}")


class _Play(msgspec.Struct):
    """The parameters of weather-factory's CutechessMan with their defaults."""

    engine: Name
    book: Name
    games: int = 120
    tc: float = 5.0
    hash: int = 8
    threads: int = 1
    use_fastchess: bool = True


def _add_play(text: Text, match: Match, places: Places) -> None:
    """Add the engine and the games of cutechess.json.  Raises UsageError.

    weather-factory starts fastchess or cutechess-cli for each iteration: its match is imported.
    """
    play = converted(text.name, text.object, _Play, "the settings of weather-factory's games")
    program = "fastchess" if play.use_fastchess else "cutechess-cli"
    one = ["-engine", f"cmd=tuner/{play.engine}", "proto=uci", f"option.Hash={play.hash}"]
    format = Path(play.book).suffix.removeprefix(".")
    words = [
        *(program, *one, *one, "-each", f"tc={play.tc}+{round(play.tc / 100, 6)}"),
        *("-resign", "movecount=3", "score=400"),
        *("-draw", "movenumber=40", "movecount=8", "score=10", "-recover"),
        *("-openings", f"file=tuner/{play.book}", f"format={format}", "order=random", "plies=16"),
        *("-concurrency", str(play.threads), "-repeat", "2", "-games", "2"),
        *("-rounds", str(play.games // 2)),
    ]
    try:
        played = import_command_line(words, places)
    except UsageError as error:
        raise UsageError(f"import: {text.name}: {error}") from None
    match.entrants[0].command = played.entrants[0].command
    match.entrants[0].arguments |= played.entrants[0].arguments
    match.assumed.remove(_UNKNOWN)
    for name in ("openings", "draw_adjudication", "resign_adjudication", "move_limit", "failures"):
        match.settings[name] = played.settings[name]
        if name in played.comments:
            match.comments[name] = played.comments[name]
    match.parallel = played.parallel
    size = played.settings["number_of_games"]
    match.settings["games_per_iteration"] = size
    # a tune has whole iterations
    match.settings["number_of_games"] = -(-_GAMES // size) * size
    for name, value in text.object.items():
        if name not in _Play.__struct_fields__:
            match.note(f"{shown(name)}: {shown(value)} of {text.name}")
