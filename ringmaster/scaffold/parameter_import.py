"""`ringmaster import FILE…`: a parameter file of another tuner becomes a control file
that tunes these parameters as that tuner does.

Such files say nothing of the engine: it gets a command that `check` will not find.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ringmaster.errors import ParameterFileError, UsageError
from ringmaster.parameter_files import (
    Entry,
    ParameterFile,
    ReadOptions,
    Text,
    arguments,
    number_text,
    read_file,
    recognised,
    yaneuraou,
)
from ringmaster.scaffold import weather_import
from ringmaster.scaffold.match import Entrant, Match, Places
from ringmaster.scaffold.text import Call, Code, literal

#: What stands for the engine until it is named.
PLACEHOLDER = "./NAME-OF-YOUR-ENGINE"
ENGINE = "engine"


def recognises(file: tuple[str, bytes]) -> bool:
    """Whether a file, (name, bytes), is of a format of parameter files, or would be
    without a fault."""
    name, data = file
    try:
        text = Text.decoded(data, name)
        # JSON is refused with its line; a list is one of engines
        return recognised(text) is not None or text.is_object
    except ParameterFileError:
        return True


def import_files(files: Mapping[str, bytes], folder: Path, places: Places) -> Match:
    """Return the tune of a parameter file.

    folder  where the files are: relative names in them start there

    Beside it there may be OpenBench's output for the same parameters, which gives the
    start values, and weather-factory's spsa.json and cutechess.json.

    Raises ParameterFileError, UsageError.
    """
    settings = weather_import.settings_among(files)
    read = [
        read_file(Text.decoded(data, name), None, ReadOptions())
        for name, data in files.items()
        if name not in settings.names
    ]
    values = [file for file in read if file.format == "openbench_values"]
    ranged = [file for file in read if file.format != "openbench_values"]
    if len(ranged) > 1 or len(values) > 1 or not read:
        raise UsageError(
            f"import: {', '.join(files)} are not the files of one tune; expected one with "
            "the parameters, OpenBench's output for it, or weather-factory's other two"
        )
    file = _with_values(ranged[0], values[0]) if ranged and values else read[0]
    if settings.names and file.format != "weather_factory":
        raise UsageError(f"import: {', '.join(sorted(settings.names))} goes with weather-factory's")
    match = Match(origin=", ".join(files), type_name="spsa")
    match.assumed += [note for note in file.notes if "number was given" not in note]
    shogi = file.format == "yaneuraou"
    match.game = "shogi" if shogi else "chess"
    match.entrants.append(_placeholder(ENGINE, match))
    match.settings["player"] = ENGINE
    take_parameters(file.entries, match, step=file.format == "weather_factory")
    PRACTICES.get(file.format, _default)(match)
    if shogi and any(yaneuraou.rounded_otherwise(entry) for entry in file.entries):
        match.different.append(
            f"whole numbers below 0 are rounded to the nearest; {yaneuraou.ROUNDING}"
        )
    if file.format == "weather_factory":
        settings.apply(match, Places(given=folder, control=places.control))
    if "openings" not in match.settings:
        match.assumed.append("there is nothing of openings in it; a tune needs them")
    return match


def _placeholder(code: str, match: Match) -> Entrant:
    note = "the file does not name the engine, or its time control: both are to be written in"
    if note not in match.assumed:
        match.assumed.insert(0, note)
    return Entrant(code, "", [PLACEHOLDER], {"time_control": "10+0.1"})


def _with_values(file: ParameterFile, values: ParameterFile) -> ParameterFile:
    """Return parameters with the values of a finished tune as start values."""
    tuned = {entry.code: entry.start for entry in values.entries}
    known = {entry.code for entry in file.entries}
    strange = [code for code in tuned if code not in known]
    if strange:
        raise UsageError(f"import: {strange[0]} has a value, and is not among the parameters")
    entries = []
    for entry in file.entries:
        start = tuned.get(entry.code, entry.start)
        if not entry.minimum <= start <= entry.maximum:
            raise UsageError(f"import: {entry.code}: the value {start:g} is outside its bounds")
        entries.append(msgspec.structs.replace(entry, start=start))
    return ParameterFile(file.format, tuple(entries), file.notes)


def take_parameters(entries: Sequence[Entry], match: Match, *, step: bool = False) -> None:
    """Write parameters into a match; `step`: their gains are weather-factory's.
    Raises UsageError when none is left."""
    lines = []
    for entry in entries:
        if entry.choices:
            match.note(f"{entry.code} (a choice: SPSA needs an order)")
            continue
        call = Call("Parameter", (entry.code,), _given(entry, step))
        lines.append(f"    {literal(call, 4, 91)},")
    if all(entry.not_used or entry.choices for entry in entries):
        raise UsageError(f"import: {match.origin}: no parameter of it can be tuned")
    match.settings["parameters"] = Code("\n".join(["[", *lines, "]"]))
    match.simulate = _simulation(entries, match)


def _simulation(entries: Sequence[Entry], match: Match) -> str:
    """Return the arguments of `simulate` for the column simul_elo of the SPSA Tuner, whose
    simulated games have no draws; "" where nothing of it is to be simulated."""
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


def _given(entry: Entry, step: bool) -> dict[str, Any]:
    given = arguments(entry)
    if entry.scale == "log":
        bounds = f"{number_text(entry.minimum)}, 2**x), {number_text(entry.maximum)}"
        value = "round(2**x)" if entry.integer else f"min(max({bounds})"
        given["transform"] = Code(f"lambda x: {value}")
    elif step:
        del given["c_end"], given["r_end"]
    else:
        given.pop("step", None)
    return given


# The practice of each source


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
        "Not in the file, as alpha, gamma and A are not: what is usual there.  The gains depend on "
        "them."
    )


def _spsa_tuner(match: Match) -> None:
    _classic(match, 100_000, rounding="nearest")


def _fishtest(match: Match) -> None:
    _classic(match, 60_000, rounding="stochastic", k_counts="pairs")
    match.different.append(
        "both sides of a game are rounded by one random number; fishtest's workers take two"
    )


def _openbench(match: Match) -> None:
    _classic(match, 160_000, rounding="stochastic", games_per_iteration=16)
    match.comments["games_per_iteration"] = "Two for each of OpenBench's pairs-per (8)."


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
    match.comments["move_limit"] = "Then it is a draw; the tool counts the opening's moves, too."
    match.comments["method"] = (
        "c_end is the file's step, r_end its delta; no schedule.  epsilon is the mobility."
    )
    match.different.append(
        "both sides play against player 'reference', as with YaneuraOu's tool; pairing = "
        '"self_play" (and no opponent) needs about a quarter of the games'
    )
    match.different.append("both sides get the same opening and colour; there each its own")


def _default(match: Match) -> None:
    match.settings["number_of_games"] = 30_000
    match.comments["number_of_games"] = (
        "The source has another method, or says nothing of it; this is the default method's."
    )


PRACTICES: dict[str, Callable[[Match], None]] = {
    "spsa_tuner": _spsa_tuner,
    "fishtest": _fishtest,
    "openbench": _openbench,
    "weather_factory": _weather_factory,
    "yaneuraou": _yaneuraou,
}
