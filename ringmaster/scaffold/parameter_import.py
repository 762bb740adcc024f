"""Import the parameter file of another tuner: the control file tunes the same parameters with the
same method.

weather-factory's spsa.json and cutechess.json add the gains, the engine and the games.  Other
parameter files have no engine: the control file has a placeholder that `check` does not find.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.control.python_text import Call, Code, literal
from ringmaster.errors import ParameterFileError, UsageError, is_text, shown
from ringmaster.parameter_files import (
    ROUNDING,
    Entry,
    ParameterFile,
    ReadOptions,
    Text,
    arguments,
    number_text,
    read_file,
    recognised,
    rounded_otherwise,
)
from ringmaster.scaffold.clop_import import add_clop
from ringmaster.scaffold.control_file import Entrant, Match, Places

#: Games for the gains of weather-factory, which the tune does not use.
_GAMES = 100_000
#: The command of an unknown engine.
PLACEHOLDER = "./NAME-OF-YOUR-ENGINE"
ENGINE = "engine"
#: An assumption of every import without an engine.
UNKNOWN_ENGINE = "the engine and its time control; write them in"


def recognises(file: tuple[str, bytes]) -> bool:
    """Return whether a file, (name, bytes), is a parameter file, or would be without an error."""
    name, data = file
    try:
        text = Text.decoded(data, name)
        # wrong JSON is refused with its line
        return recognised(text) is not None or text.is_object
    except ParameterFileError:
        return True


def import_files(files: Mapping[str, bytes], folder: Path, places: Places) -> Match:
    """Return the tune of a parameter file.

    files   by name; OpenBench's output for the same parameters may be there for the start
            values, and weather-factory's spsa.json and cutechess.json
    folder  of the files, where relative names in them start

    Raises ParameterFileError, UsageError.
    """
    settings = settings_among(files)
    read = [
        read_file(Text.decoded(data, name), None, ReadOptions(games=_GAMES))
        for name, data in files.items()
        if name not in settings.names
    ]
    values = [file for file in read if file.format == "openbench_values"]
    ranged = [file for file in read if file.format != "openbench_values"]
    if len(ranged) > 1 or len(values) > 1 or not read:
        raise UsageError(
            f"import: {', '.join(files)} are not the files of one tune; expected a parameter "
            "file, with OpenBench's output or with weather-factory's two other files"
        )
    file = _with_values(ranged[0], values[0]) if ranged and values else read[0]
    if settings.names and file.format != "weather_factory":
        raise UsageError(
            f"import: {', '.join(sorted(settings.names))}: expected weather-factory's parameters "
            f"with it, not {file.format}'s parameters"
        )
    match = Match(origin=", ".join(files), type_name="spsa")
    match.assumed += file.notes
    shogi = file.format == "yaneuraou"
    match.game = "shogi" if shogi else "chess"
    match.entrants.append(_placeholder(ENGINE, match))
    match.settings["player"] = ENGINE
    if file.format == "clop":
        # the other settings are read as well
        match.assumed = [line for line in match.assumed if not line.startswith("only the")]
        match.entrants.append(_placeholder("opponent", match))
        (name, data), *_ = files.items()
        add_clop(match, file.entries, Text.decoded(data, name), "opponent")
        match.assumed.append("no openings; write them in, a tune needs them")
        return match
    add_parameters(file.entries, match, step=file.format == "weather_factory")
    METHODS.get(file.format, _default)(match)
    if shogi and any(rounded_otherwise(entry) for entry in file.entries):
        match.different.append(f"whole numbers below 0 are rounded to the nearest; {ROUNDING}")
    if file.format == "weather_factory":
        settings.apply(match, Places(source=folder, control=places.control))
    if "openings" not in match.settings:
        match.assumed.append("no openings; write them in, a tune needs them")
    return match


def _placeholder(code: str, match: Match) -> Entrant:
    if UNKNOWN_ENGINE not in match.assumed:
        match.assumed.insert(0, UNKNOWN_ENGINE)
    return Entrant(code, "", [PLACEHOLDER], {"time_control": "10+0.1"})


def _with_values(file: ParameterFile, values: ParameterFile) -> ParameterFile:
    """Return the parameters with the values of a finished tune as start values."""
    tuned = {entry.code: entry.start for entry in values.entries}
    known = {entry.code for entry in file.entries}
    unknown = [code for code in tuned if code not in known]
    if unknown:
        raise UsageError(f"import: {unknown[0]} has a value, but is not a parameter")
    entries = []
    for entry in file.entries:
        start = tuned.get(entry.code, entry.start)
        if not entry.minimum <= start <= entry.maximum:
            raise UsageError(f"import: {entry.code}: the value {start:g} is outside its bounds")
        entries.append(msgspec.structs.replace(entry, start=start))
    return ParameterFile(file.format, tuple(entries), file.notes)


def add_parameters(entries: Sequence[Entry], match: Match, *, step: bool = False) -> None:
    """Add the parameters to a match.  Raises UsageError if none can be tuned.

    step  whether the gains are weather-factory's
    """
    lines = []
    for entry in entries:
        if entry.choices:
            match.note(f"{entry.code} (a choice without order, which SPSA cannot tune)")
            continue
        call = Call("Parameter", (entry.code,), _parameter_arguments(entry, step))
        lines.append(f"    {literal(call, 4, 91)},")
    if all(entry.not_used or entry.choices for entry in entries):
        raise UsageError(f"import: {match.origin}: it has no parameter that can be tuned")
    match.settings["parameters"] = Code("\n".join(["[", *lines, "]"]))
    match.simulate = _simulation(entries, match)


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


def _parameter_arguments(entry: Entry, step: bool) -> dict[str, Any]:
    row = arguments(entry)
    if entry.scale == "log":
        row["transform"] = Code(row["transform"].source)
    elif step:
        del row["c_end"], row["r_end"]
    else:
        row.pop("step", None)
    return row


# The method of each tuner


def _classic(
    match: Match,
    games: int,
    *,
    rounding: str,
    k_counts: str = "iterations",
    games_per_iteration: int | None = None,
) -> None:
    match.settings |= {
        "method": "classic",
        "update": "nominal",
        "rounding": rounding,
        "k_counts": k_counts,
    }
    if games_per_iteration is not None:
        match.settings["games_per_iteration"] = games_per_iteration
    match.settings |= {"number_of_games": games, "alpha": 0.602, "gamma": 0.101, "A_ratio": 0.1}
    match.comments["number_of_games"] = (
        "The usual values; the file has no number_of_games, alpha, gamma and A.  The gains depend "
        "on them."
    )


def _fishtest(match: Match) -> None:
    _classic(match, 60_000, rounding="stochastic", k_counts="pairs")
    match.different.append(
        "one random number rounds both sides of a game; fishtest's workers use two"
    )


def _openbench(match: Match) -> None:
    _classic(match, 160_000, rounding="stochastic", games_per_iteration=16)
    match.comments["games_per_iteration"] = "Two games for each of OpenBench's pairs-per (8)."


def _weather_factory(match: Match) -> None:
    match.settings |= {
        "method": "weather_factory",
        "update": "nominal",
        "rounding": "nearest",
        "k_counts": "games",
        "number_of_games": 100_000,
        "a": 1.0,
        "c": 1.0,
        "A": 100_000,
        "alpha": 0.601,
        "gamma": 0.102,
    }


def _yaneuraou(match: Match) -> None:
    match.entrants.append(_placeholder("reference", match))
    match.settings |= {
        "method": "blog",
        "update": "nominal",
        "rounding": "nearest",
        "pairing": "reference",
        "opponent": "reference",
        "epsilon": 1.0,
        "number_of_games": 100_000,
        "move_limit": 240,
    }
    match.comments["move_limit"] = (
        "Then the game is a draw.  YaneuraOu's script also counts the moves of the opening."
    )
    match.comments["method"] = (
        "c_end is the file's step, r_end its delta, without a schedule.  epsilon is the mobility."
    )
    match.different.append(
        "both sides play against player 'reference', as in YaneuraOu's script; pairing = "
        '"self_play" (without opponent) needs about a quarter of the games'
    )
    match.different.append(
        "both sides get the same opening and colour; in YaneuraOu's script each gets its own"
    )


def _default(match: Match) -> None:
    match.settings["number_of_games"] = 30_000
    match.comments["number_of_games"] = (
        "The usual value of the default method; the file has another method or none."
    )


METHODS: dict[str, Callable[[Match], None]] = {
    "spsa_tuner": lambda match: _classic(match, 100_000, rounding="nearest"),
    "fishtest": _fishtest,
    "openbench": _openbench,
    "weather_factory": _weather_factory,
    "yaneuraou": _yaneuraou,
}


_GAINS = ("a", "c", "A", "alpha", "gamma")


@dataclass
class WeatherSettings:
    """The settings of weather-factory's other files, with the names of these files."""

    names: set[str] = field(default_factory=set)
    gains: dict[str, float] = field(default_factory=dict)
    play: dict[str, Any] = field(default_factory=dict)

    def apply(self, match: Match, places: Places) -> None:
        """Add the settings to a tune.  Raises UsageError."""
        for name, value in self.gains.items():
            if name in _GAINS:
                match.settings[name] = value
            else:
                match.note(f"{name} = {value!r} of spsa.json")
        engine, book = self._text("engine"), self._text("book")
        if engine:
            # weather-factory searches the folder tuner/
            match.entrants[0].command = [places.executable(f"tuner/{engine}")]
        time = self._number("tc")
        if time is not None:
            match.entrants[0].arguments["time_control"] = f"{time:g}+{time / 100:g}"
        if "hash" in self.play:
            match.entrants[0].arguments["options"] = {"Hash": int(self._number("hash") or 1)}
        if book:
            match.settings["openings"] = Call(
                "Openings", (places.file(f"tuner/{book}"),), {"order": "random"}
            )
        games = self._number("games")
        if games is not None:
            match.settings["games_per_iteration"] = int(games)
        threads = self._number("threads")
        match.parallel = None if threads is None else int(threads)
        for name, value in self.play.items():
            if name not in ("engine", "book", "tc", "hash", "games", "threads"):
                match.note(f"{shown(name)}: {shown(value)} of cutechess.json")

    def _text(self, name: str) -> str:
        value = self.play.get(name, "")
        if not isinstance(value, str) or not is_text(value) or not value.isprintable():
            raise UsageError(f"import: {name} {shown(value)} of cutechess.json is not a file name")
        return value

    def _number(self, name: str) -> float | None:
        value = self.play.get(name)
        if value is None:
            return None
        sound = isinstance(value, int | float) and not isinstance(value, bool)
        if not sound or not math.isfinite(value) or not 0 < value < 1e9:
            raise UsageError(f"import: {name} {shown(value)} of cutechess.json is not a number")
        return float(value)


def settings_among(files: Mapping[str, bytes]) -> WeatherSettings:
    """Return the settings of weather-factory's other files, recognised by their content."""
    settings = WeatherSettings()
    for name, data in files.items():
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            continue
        if not isinstance(content, dict) or any(isinstance(v, dict) for v in content.values()):
            continue
        if {"a", "c", "A"} <= content.keys():
            for key, value in content.items():
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise UsageError(f"import: {key} {shown(value)} of {name} is not a number")
            settings.gains = content
            settings.names.add(name)
        elif {"engine", "games", "tc"} <= content.keys():
            settings.play = content
            settings.names.add(name)
    return settings
