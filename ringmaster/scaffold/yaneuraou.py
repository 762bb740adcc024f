"""Import a tune with its engines: an SPSA-settings.json5 of YaneuraOu's scripts with its engine
files and its .params."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ringmaster.control.python_text import Call
from ringmaster.errors import UsageError, shown
from ringmaster.parameter_files import ReadOptions, Text, plain, read_file
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import command_words, file_name
from ringmaster.scaffold.parameter_import import add_parameters, practise

_TUNE = re.compile(r"^#(?:context|set\s+(?:file|options|declaration)|param)\b", re.MULTILINE)
_KEYS = ("ENGINE_SETTINGS", "PARAMETERS_PATH")


def recognises(text: Text) -> bool:
    """Return whether a file is of YaneuraOu's SPSA scripts."""
    return _is_tune(text) or all(key in text.text for key in _KEYS)


def _is_tune(text: Text) -> bool:
    return text.name.lower().endswith(".tune") or len(_TUNE.findall(text.text)) > 1


def import_spsa(texts: Sequence[Text], places: Places) -> Match:
    """Return the tune of one settings file.  Raises UsageError, ParameterFileError."""
    (text,) = texts
    name = text.name
    if _is_tune(text):
        raise UsageError(
            f"import: {name} is a patch of an engine's source, which has the values; let "
            f"YaneuraOu's script write them (python tune.py tune {name} SOURCE), "
            f"build that engine, then: ringmaster import {Path(name).stem}.params"
        )
    # the scripts read both forms of names
    settings = {key.upper(): value for key, value in text.object.items()}
    files = _Files(places.source)
    match = Match(origin=name, type_name="spsa", game="shogi")
    references, tuned = _engines(name, settings, files)
    parameters = files.read(name, "PARAMETERS_PATH", settings.get("PARAMETERS_PATH"))
    file = read_file(parameters, None, ReadOptions())
    match.assumed += [*text.notes, *file.notes]
    match.settings["player"] = ""
    add_parameters(file, match)
    practise("yaneuraou", match)
    factor = _multiplier(name, settings.pop("NODE_MULTIPLIERS", [1]), match)
    own = Places(source=files.base, control=places.control)
    for engine in (tuned, *references):
        nodes = max(1, round(engine["nodes"] * factor))
        match.enter(engine["name"], _command(engine["path"], own), {"nodes": nodes})
    player, *opponents = match.codes()
    match.entrants[0].arguments["options"] = dict(file.fixed)
    weights = {code: engine["multi"] for code, engine in zip(opponents, references, strict=True)}
    match.settings["player"] = player
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
        if settings[key] is not None:
            match.note(f"{shown(key)}: {shown(settings[key])} of {name}")
    return match


def _multiplier(name: str, values: Any, match: Match) -> float:
    """Return the mean of NODE_MULTIPLIERS, with which the scripts multiply the nodes of both sides
    of one game after another.  Raises UsageError."""
    sound = isinstance(values, list) and all(
        isinstance(value, int | float) and math.isfinite(value) and 0 < value <= 1000
        for value in values
    )
    if not sound or not values:
        raise UsageError(
            f"import: {name}: NODE_MULTIPLIERS {shown(values)} is not a list of numbers above 0"
        )
    mean = fmean(values)
    if len(set(values)) > 1:
        match.different.append(
            f"all games have nodes times {plain(round(mean, 6))}, the mean of NODE_MULTIPLIERS; "
            "YaneuraOu's script changes the multiplier from pair to pair"
        )
    return mean


def _command(path: str, places: Places) -> list[str]:
    """Return the command of an engine's path, which may begin with ssh."""
    words = command_words(path, "path") if path.split()[0] in ("ssh", "ssh.exe") else []
    # the other words are of another computer
    return words or [places.executable(path.replace("\\", "/"))]


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
                return Text.read(base / given, os.path.basename(given))
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
        content = file.json
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
    engine["path"] = file_name(given.get("path"), f"import: {name}: {where}: path")
    label = given.get("name", re.split(r"[/\\ ]", engine["path"])[-1])
    engine["name"] = file_name(label, f"import: {name}: {where}: name")
    for key, most in (("nodes", 10**12), ("multi", 1000)):
        value = engine[key]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
            raise UsageError(
                f"import: {name}: {where}: {key} {shown(value)} is not an integer from 1 to {most}"
            )
    return engine
