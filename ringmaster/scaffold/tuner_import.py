"""Import a tune with its engines: an SPSA Tuner .conf with its variables, or an
SPSA-settings.json5 of YaneuraOu with its engine files and its .params.

Source of SPSA Tuner's options: its README and its program (spsa.pl).
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ringmaster.control.python_text import Call
from ringmaster.errors import UsageError, nearest, shown
from ringmaster.model.time_control import TimeControl, number
from ringmaster.parameter_files import ParameterFile, ReadOptions, Text, plain, read_file
from ringmaster.scaffold.control_file import Entrant, Match, Places
from ringmaster.scaffold.foreign_values import (
    command_words,
    file_bytes,
    file_name,
    integer,
    json5,
    real,
)
from ringmaster.scaffold.parameter_import import (
    ENGINE,
    METHODS,
    PLACEHOLDER,
    UNKNOWN_ENGINE,
    add_parameters,
)

#: Options by section; a simulation needs no [Engine].
_MAIN = ("Simulate", "Variables", "Log", "GameLog", "Iterations", "A", "Gamma", "Alpha")
_ENGINE = (
    *("Engine1", "Engine2", "EPDBook", "BaseTime", "IncTime", "Concurrency"),
    *("DrawScoreLimit", "DrawMoveLimit", "WinScoreLimit", "WinMoveLimit"),
)
_NEEDED = {"Main": ("Variables", "Iterations", "A", "Gamma", "Alpha"), "Engine": _ENGINE}
_SECTION = re.compile(r"\[\s*(.+?)\s*\]")
#: Options without effect here, with the counterpart.
_IGNORED = {
    "Log": "`export --trajectory` has its columns",
    "GameLog": "`run --log-gtp` writes transcripts",
    "MaxDepth": "SPSA Tuner does not read it",
}

#: Seconds; more than a working engine exceeds its clock.
MARGIN = 9

Sections = dict[str, dict[str, str]]


def is_spsa_tuner(data: bytes) -> bool:
    """Return whether a file has a section [Main]."""
    text = data.decode("utf-8-sig", errors="replace")
    return re.search(r"^\s*\[\s*Main\s*\]\s*$", text, re.MULTILINE) is not None


def import_tune(files: Mapping[str, bytes], folder: Path, places: Places) -> Match:
    """Return the tune of a configuration.

    files   by name: the configuration, and its variables if the user names them too
    folder  of the configuration, where its relative file names start

    Raises UsageError, ParameterFileError.
    """
    (name, *more) = [name for name, data in files.items() if is_spsa_tuner(data)]
    others = {other: data for other, data in files.items() if other != name}
    if more or len(others) > 1:
        raise UsageError("import: expected one .conf of the SPSA Tuner, and its .var at most")
    sections = _sections(Text.decoded(files[name], name))
    match = Match(origin=", ".join(files), type_name="spsa")
    places = Places(source=folder, control=places.control)
    simulated = sections["Main"].get("Simulate", "0") not in ("", "0")
    _require(name, sections, simulated)
    variables = _variables(sections["Main"]["Variables"], others, folder)
    if variables.format != "spsa_tuner":
        raise UsageError(f"import: {name}: its variables are not SPSA Tuner's: {variables.format}")
    match.assumed += variables.notes
    if simulated:
        match.entrants.append(Entrant(ENGINE, "", [PLACEHOLDER], {"time_control": "10+0.1"}))
        match.assumed.append("the file is a simulation without an engine; `simulate` needs none")
    else:
        _engine(name, sections["Engine"], match, places)
    match.settings["player"] = ENGINE
    add_parameters(variables.entries, match)
    _main(name, sections["Main"], match)
    if not simulated:
        _play(name, sections["Engine"], match, places)
    for section, options in sections.items():
        for option, value in options.items():
            if option in _IGNORED:
                match.note(f"{option} = {value} ({_IGNORED[option]})")
            elif option not in {"Main": _MAIN, "Engine": _ENGINE}.get(section, ()):
                match.note(f"[{section}] {option} = {value} (the SPSA Tuner has no such option)")
    return match


def _sections(text: Text) -> Sections:
    """Return the options by section.  Raises UsageError for any other line."""
    sections: Sections = {"Main": {}, "Engine": {}}
    section: dict[str, str] | None = None
    for number_, raw in enumerate(text.lines, 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        where = f"import: {text.name}:{number_}"
        if heading := _SECTION.fullmatch(line):
            section = sections.setdefault(heading[1], {})
            continue
        option, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not option or section is None:
            raise UsageError(f"{where}: {shown(line)} is not understood; expected OPTION = VALUE")
        if not (option + value).isprintable():
            raise UsageError(f"{where}: {shown(line)} has unprintable characters")
        if option in section:
            raise UsageError(f"{where}: {option} is there twice; expected it once")
        section[option] = value
    return sections


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
    """Return the variables from the user's second file, else from the configured file."""
    if others:
        ((name, data),) = others.items()
        return read_file(Text.decoded(data, name), None, ReadOptions())
    expected = "them beside the configuration, or named after it"
    data = file_bytes(folder / given, f"the variables {shown(given)}", expected)
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
        "A": plain(values["A"]),
    }
    match.comments["number_of_games"] = "Two games an iteration."


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
    first, *others = command_words(engine["Engine1"], f"import: {name}: Engine1")
    words = [places.executable(first) if "/" in first else first, *others]
    match.entrants.append(Entrant(ENGINE, "", words, {"time_control": control}))
    if engine["Engine2"] != engine["Engine1"]:
        match.different.append(
            f"Engine1 plays both sides; the SPSA Tuner also starts Engine2: {engine['Engine2']}"
        )
    # its clocks never end a game
    match.settings["margin"] = MARGIN
    match.comments["margin"] = (
        "SPSA Tuner has no losses on time.  Seconds an engine may exceed its clock."
    )


def _play(name: str, engine: Mapping[str, str], match: Match, places: Places) -> None:
    book = engine["EPDBook"]
    arguments: dict[str, Any] = {"order": "random"}
    if not book.lower().endswith((".epd", ".fen")):
        arguments["format"] = "epd"
    match.settings["openings"] = Call("Openings", (places.file(book),), arguments)
    match.different.append("openings are drawn without replacement, until all have been played")
    limits = {
        option: integer(engine[option], f"import: {name}: {option}", 1 if "Move" in option else 0)
        for option in _ENGINE[-4:]
    }
    # SPSA Tuner counts plies of both sides, ringmaster moves of each side
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
        "a capture or a pawn move restarts the count for a draw; the count is of moves by both "
        "sides, not of plies"
    )
    match.parallel = integer(engine["Concurrency"], f"import: {name}: Concurrency", 1, 10**6)


_TUNE = re.compile(r"^#(?:context|set\s+(?:file|options|declaration)|param)\b", re.MULTILINE)
_KEYS = ("ENGINE_SETTINGS", "PARAMETERS_PATH")


def is_yaneuraou(file: tuple[str, bytes]) -> bool:
    """Return whether a file, (name, bytes), is of YaneuraOu's SPSA scripts."""
    name, data = file
    text = data.decode("utf-8-sig", "replace")
    return _is_tune(name, text) or all(f'"{key}"' in text for key in _KEYS)


def _is_tune(name: str, text: str) -> bool:
    return name.lower().endswith(".tune") or len(_TUNE.findall(text)) > 1


def import_spsa(name: str, data: bytes, folder: Path, places: Places) -> Match:
    """Return the tune of a settings file.

    folder  of the file; names in it start there, or in the folder above

    Raises UsageError, ParameterFileError.
    """
    text = Text.decoded(data, name).text
    if _is_tune(name, text):
        stem = Path(name).stem
        raise UsageError(
            f"import: {name} is a patch of an engine's source, which has the values; let "
            f"YaneuraOu's script write them (python tune.py tune {name} SOURCE), "
            f"build that engine, then: ringmaster import {stem}.params"
        )
    settings = json5(text, name)
    if not isinstance(settings, dict):
        raise UsageError(f"import: {name}: expected an object, {{…}}")
    settings_files = _Files(folder)
    match = Match(origin=name, type_name="spsa", game="shogi")
    references, tuned = _engines(name, settings, settings_files)
    parameters = settings_files.read(name, "PARAMETERS_PATH", settings.get("PARAMETERS_PATH"))
    file = read_file(parameters, None, ReadOptions())
    match.assumed += file.notes
    add_parameters(file.entries, match)
    METHODS["yaneuraou"](match)
    # the placeholders are not needed
    match.entrants.clear()
    match.assumed.remove(UNKNOWN_ENGINE)
    own = Places(source=settings_files.base, control=places.control)
    for engine in (tuned, *references):
        match.enter(engine["name"], [own.executable(engine["path"])], {"nodes": engine["nodes"]})
    player, *opponents = match.codes()
    weights = {code: engine["multi"] for code, engine in zip(opponents, references, strict=True)}
    match.settings = {"player": player, **match.settings}
    match.settings["opponent"] = weights if len(weights) > 1 else opponents[0]
    names = " and ".join(opponents)
    match.different = [line.replace("'reference'", names) for line in match.different]
    match.parallel = sum(weights.values())
    match.settings["openings"] = Call(
        "Openings",
        (own.file(_name(name, "START_SFENS_PATH", settings.get("START_SFENS_PATH"))),),
        {"format": "sfen", "order": "random"},
    )
    if settings.get("STANDARD_BOARD") is False:
        raise UsageError(
            f"import: {name}: STANDARD_BOARD: ringmaster plays shogi on the standard board only"
        )
    for key in sorted(settings.keys() - {*_KEYS, "START_SFENS_PATH", "STANDARD_BOARD"}):
        match.note(f"{shown(key)}: {shown(settings[key])} of {name}")
    return match


class _Files:
    """The files of a settings file; their names start at `base`."""

    def __init__(self, folder: Path) -> None:
        self.base = folder

    def read(self, name: str, key: str, value: Any) -> Text:
        """Return the text of a file.  Raises UsageError, ParameterFileError."""
        given = _name(name, key, value)
        # the scripts are started in the folder above settings/
        for base in (self.base, self.base.parent):
            if (base / given).is_file():
                self.base = base
                data = file_bytes(base / given, shown(given), "a file of YaneuraOu's script")
                return Text.decoded(data, os.path.basename(given))
        raise UsageError(
            f"import: {name}: {key}: there is no {shown(given)} in {self.base} or the folder above"
        )


def _name(name: str, key: str, value: Any) -> str:
    return file_name(value, f"import: {name}: {key}").replace("\\", "/")


def _engines(
    name: str, settings: Mapping[str, Any], files: _Files
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the reference engines, and the engine to tune.  Raises UsageError."""
    paths = settings.get("ENGINE_SETTINGS")
    if not isinstance(paths, list) or len(paths) != 2:
        raise UsageError(
            f"import: {name}: ENGINE_SETTINGS: expected two files, the reference engines and the "
            "engine to tune"
        )
    lists = []
    for value in paths:
        file = files.read(name, "ENGINE_SETTINGS", value)
        content = json5(file.text, file.name)
        if not isinstance(content, list) or not content:
            raise UsageError(f"import: {file.name}: expected a list of engines, [{{…}}]")
        lists.append([_checked_engine(file.name, number, e) for number, e in enumerate(content, 1)])
    references, tuned = lists
    different = {(engine["path"], engine["nodes"]) for engine in tuned}
    if len(different) > 1:
        raise UsageError(
            f"import: {Path(paths[1]).name}: {len(different)} engines to tune; a control file "
            "tunes one engine: leave one in the file"
        )
    return references, tuned[0]


def _checked_engine(name: str, number: int, given: Any) -> dict[str, Any]:
    where = f"engine {number}"
    if not isinstance(given, dict):
        raise UsageError(f"import: {name}: {where}: {shown(given)} is not an engine, {{…}}")
    strange = sorted(given.keys() - {"path", "name", "nodes", "multi"})
    if strange:
        raise UsageError(f"import: {name}: {where}: {shown(strange[0])} is unknown; leave it out")
    engine = {"nodes": 500_000, "multi": 1, **given}
    engine["path"] = _name(name, f"{where}: path", given.get("path"))
    label = given.get("name", os.path.basename(engine["path"]))
    engine["name"] = _name(name, f"{where}: name", label)
    for key, most in (("nodes", 10**12), ("multi", 1000)):
        value = engine[key]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
            raise UsageError(
                f"import: {name}: {where}: {key} {shown(value)} is not an integer from 1 to {most}"
            )
    return engine
