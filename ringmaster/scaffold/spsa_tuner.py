"""`ringmaster import tune.conf`: a configuration of the SPSA Tuner, with the file of
variables that it names, becomes a control file that plays the same tune.

What its sections may have is the README's and the program's (spsa.pl).
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ringmaster.errors import UsageError
from ringmaster.model.time_control import TimeControl, number
from ringmaster.model.wording import nearest, shown
from ringmaster.parameter_files import LARGEST, ParameterFile, ReadOptions, Text, read_file
from ringmaster.scaffold.command_line import integer, real
from ringmaster.scaffold.match import Entrant, Match, Places
from ringmaster.scaffold.parameter_import import ENGINE, PLACEHOLDER, take_parameters
from ringmaster.scaffold.text import Call

#: Options by section; those of [Engine] are not needed for a simulation.
_MAIN = ("Simulate", "Variables", "Log", "GameLog", "Iterations", "A", "Gamma", "Alpha")
_ENGINE = (
    *("Engine1", "Engine2", "EPDBook", "BaseTime", "IncTime", "Concurrency"),
    *("DrawScoreLimit", "DrawMoveLimit", "WinScoreLimit", "WinMoveLimit"),
)
_NEEDED = {"Main": ("Variables", "Iterations", "A", "Gamma", "Alpha"), "Engine": _ENGINE}
_SECTION = re.compile(r"\[\s*(.+?)\s*\]")
#: What is there in another way.
_NOTED = {
    "Log": "`export --trajectory` has its columns",
    "GameLog": "`run --log-gtp` writes transcripts",
    "MaxDepth": "SPSA Tuner does not read it",
}

#: Seconds by which no engine that still plays oversteps its clock.
MARGIN = 9

Sections = dict[str, dict[str, str]]


def recognises(data: bytes) -> bool:
    """Whether a file has a section [Main], as no JSON has."""
    text = data.decode("utf-8-sig", errors="replace")
    return re.search(r"^\s*\[\s*Main\s*\]\s*$", text, re.MULTILINE) is not None


def import_tune(files: Mapping[str, bytes], folder: Path, places: Places) -> Match:
    """Return the tune of a configuration.

    files   the configuration, and its variables if they were named, by name
    folder  where the configuration is: its relative names start there

    Raises UsageError, ParameterFileError.
    """
    (name, *more) = [name for name, data in files.items() if recognises(data)]
    others = {other: data for other, data in files.items() if other != name}
    if more or len(others) > 1:
        raise UsageError("import: expected one .conf of the SPSA Tuner, and its .var at most")
    sections = _sections(Text.decoded(files[name], name))
    match = Match(origin=", ".join(files), type_name="spsa")
    places = Places(given=folder, control=places.control)
    simulated = sections["Main"].get("Simulate", "0") not in ("", "0")
    _require(name, sections, simulated)
    variables = _variables(sections["Main"]["Variables"], others, folder)
    if variables.format != "spsa_tuner":
        raise UsageError(f"import: {name}: its variables are not SPSA Tuner's: {variables.format}")
    match.assumed += variables.notes
    if simulated:
        match.entrants.append(Entrant(ENGINE, "", [PLACEHOLDER], {"time_control": "10+0.1"}))
        match.assumed.append("it is a simulation and names no engine: `simulate` needs none")
    else:
        _engine(name, sections["Engine"], match, places)
    match.settings["player"] = ENGINE
    take_parameters(variables.entries, match)
    _main(name, sections["Main"], match)
    if not simulated:
        _play(name, sections["Engine"], match, places)
    for section, options in sections.items():
        for option, value in options.items():
            if option in _NOTED:
                match.note(f"{option} = {value} ({_NOTED[option]})")
            elif option not in {"Main": _MAIN, "Engine": _ENGINE}.get(section, ()):
                match.note(f"[{section}] {option} = {value} (the SPSA Tuner has no such option)")
    return match


def _sections(text: Text) -> Sections:
    """Return the options by section.  Raises UsageError for a line that is none."""
    found: Sections = {"Main": {}, "Engine": {}}
    section: dict[str, str] | None = None
    for number_, raw in enumerate(text.lines, 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        where = f"import: {text.name}:{number_}"
        if heading := _SECTION.fullmatch(line):
            section = found.setdefault(heading[1], {})
            continue
        option, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not option or section is None:
            raise UsageError(f"{where}: {shown(line)} is not understood; expected OPTION = VALUE")
        if not (option + value).isprintable():
            raise UsageError(f"{where}: {shown(line)} has characters that cannot be printed")
        if option in section:
            raise UsageError(f"{where}: {option} has been there already; expected it once")
        section[option] = value
    return found


def _require(name: str, sections: Sections, simulated: bool) -> None:
    for section, needed in _NEEDED.items():
        if section == "Engine" and simulated:
            continue
        missing = [option for option in needed if not sections[section].get(option)]
        if missing:
            similar = [o for o in sections[section] if o not in needed]
            hint = f"; it has {nearest(missing[0], similar)}" if similar else ""
            raise UsageError(f"import: {name}: [{section}] has no {missing[0]}{hint}")


def _variables(given: str, others: Mapping[str, bytes], folder: Path) -> ParameterFile:
    """Return the variables: of the file that was named with the configuration, else
    of the one that it names."""
    if others:
        ((name, data),) = others.items()
        return read_file(Text.decoded(data, name), None, ReadOptions())
    try:
        with (folder / given).open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"import: cannot read the variables {shown(given)}: {reason}; "
            "expected them beside the configuration, or named after it"
        ) from None
    return read_file(Text.decoded(data, given), None, ReadOptions())


def _main(name: str, main: Mapping[str, str], match: Match) -> None:
    iterations = integer(main["Iterations"], f"import: {name}: Iterations", 1, 5 * 10**8)
    values = {
        option: real(main[option], f"import: {name}: {option}")
        for option in ("Alpha", "Gamma", "A")
    }
    for option, value in values.items():
        if value < 0 or (option != "A" and value > 10):
            raise UsageError(f"import: {name}: {option} {value:g} is out of range")
    match.settings |= {
        "method": "classic",
        "update": "nominal",
        "rounding": "nearest",
        "k_counts": "iterations",
        "number_of_games": 2 * iterations,
        "alpha": values["Alpha"],
        "gamma": values["Gamma"],
        "A": int(values["A"]) if values["A"] % 1 == 0 else values["A"],
    }
    match.comments["number_of_games"] = "Two for each iteration."


def _words(text: str, places: Places) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"import: Engine1 {shown(text)}: {error}") from None
    if not words:
        raise UsageError(f"import: Engine1 {shown(text)} is no command")
    first = words[0]
    return [places.executable(first) if "/" in first else first, *words[1:]]


def _engine(name: str, engine: Mapping[str, str], match: Match, places: Places) -> None:
    base, increment = (
        integer(engine[option], f"import: {name}: {option}", 0, 10**9) / 1000
        for option in ("BaseTime", "IncTime")
    )
    try:
        tail = f"+{number(increment)}" if increment else ""
        control = str(TimeControl.parse(f"{number(base)}{tail}"))
    except ValueError as error:
        raise UsageError(f"import: {name}: BaseTime, IncTime: {error}") from None
    words = _words(engine["Engine1"], places)
    match.entrants.append(Entrant(ENGINE, "", words, {"time_control": control}))
    if engine["Engine2"] != engine["Engine1"]:
        match.different.append(
            f"Engine1 plays both sides; Engine2 is another command there: {engine['Engine2']}"
        )
    # it subtracts what a move took from a clock, and looks at no clock again
    match.settings["margin"] = MARGIN
    match.comments["margin"] = "Nobody loses on time there.  Seconds a clock may be overstepped."


def _play(name: str, engine: Mapping[str, str], match: Match, places: Places) -> None:
    book = engine["EPDBook"]
    arguments: dict[str, Any] = {"order": "random"}
    if not book.lower().endswith((".epd", ".fen")):
        arguments["format"] = "epd"
    match.settings["openings"] = Call("Openings", (places.file(book),), arguments)
    match.different.append("openings are drawn without putting them back, pass after pass")
    limits = {
        option: integer(engine[option], f"import: {name}: {option}", 1 if "Move" in option else 0)
        for option in _ENGINE[-4:]
    }
    # it counts plies of either side, here the moves of each count
    match.settings["draw_adjudication"] = Call(
        "DrawAdjudication",
        (),
        {
            "move_number": 0,
            "move_count": math.ceil(limits["DrawMoveLimit"] / 2),
            "score": limits["DrawScoreLimit"],
        },
    )
    match.settings["resign_adjudication"] = Call(
        "ResignAdjudication",
        (),
        {
            "move_count": math.ceil(limits["WinMoveLimit"] / 2),
            "score": max(1, limits["WinScoreLimit"]),
            "two_sided": True,
        },
    )
    match.different.append(
        "a capture or a pawn move begins the count of a draw anew; moves are counted by both "
        "sides (there by plies)"
    )
    match.parallel = integer(engine["Concurrency"], f"import: {name}: Concurrency", 1, 10**6)
