"""YaneuraOu's SPSA scripts: `SPSA-settings.json5` with the engine files and the `.params` that it
names becomes a control file; a `.tune`, which patches an engine's source, is refused with what
to do."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ringmaster.errors import UsageError
from ringmaster.model.wording import is_text, shown
from ringmaster.parameter_files import ReadOptions, Text, read_file
from ringmaster.scaffold.match import Match, Places
from ringmaster.scaffold.parameter_import import PRACTICES, take_parameters
from ringmaster.scaffold.text import Call

_TUNE = re.compile(r"^#(?:context|set\s+(?:file|options|declaration)|param)\b", re.MULTILINE)
_KEYS = ("ENGINE_SETTINGS", "PARAMETERS_PATH")
#: A string, else a comment or a comma before a closing bracket, which JSON does not have.
_JSON5 = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[\]}])', re.DOTALL)


def recognises(file: tuple[str, bytes]) -> bool:
    """Return whether a file, (name, bytes), is one of them."""
    name, data = file
    text = data.decode("utf-8-sig", "replace")
    return _is_tune(name, text) or all(f'"{key}"' in text for key in _KEYS)


def _is_tune(name: str, text: str) -> bool:
    return name.lower().endswith(".tune") or len(_TUNE.findall(text)) > 1


def import_spsa(name: str, data: bytes, folder: Path, places: Places) -> Match:
    """Return the tune of a settings file.

    folder  where it is: names in it start there, or one folder further up

    Raises UsageError, ParameterFileError.
    """
    text = Text.decoded(data, name).text
    if _is_tune(name, text):
        stem = Path(name).stem
        raise UsageError(
            f"import: {name} says how to patch an engine's source, and its values are those of "
            f"the source; let YaneuraOu's script write them (python tune.py tune {name} SOURCE), "
            f"build that engine, then: ringmaster import {stem}.params"
        )
    settings = _object(name, text)
    found = _Files(folder)
    match = Match(origin=name, type_name="spsa", game="shogi")
    references, tuned = _engines(name, settings, found)
    parameters = found.read(name, "PARAMETERS_PATH", settings.get("PARAMETERS_PATH"))
    file = read_file(parameters, None, ReadOptions())
    match.assumed += file.notes
    take_parameters(file.entries, match)
    PRACTICES["yaneuraou"](match)
    # those of the practice have no names
    match.entrants.clear()
    match.assumed = [note for note in match.assumed if "does not name the engine" not in note]
    own = Places(given=found.base, control=places.control)
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
        raise UsageError(f"import: {name}: STANDARD_BOARD: only shogi on its own board is played")
    for key in sorted(settings.keys() - {*_KEYS, "START_SFENS_PATH", "STANDARD_BOARD"}):
        match.note(f"{shown(key)}: {shown(settings[key])} of {name}")
    return match


class _Files:
    """The files that a settings file names; `base` is where their names start."""

    def __init__(self, folder: Path) -> None:
        self.base = folder

    def read(self, name: str, key: str, value: Any) -> Text:
        """Return the text of a file.  Raises UsageError, ParameterFileError."""
        given = _name(name, key, value)
        # the scripts are started in the folder above settings/
        for base in (self.base, self.base.parent):
            if (base / given).is_file():
                self.base = base
                try:
                    data = (base / given).read_bytes()
                except OSError as error:
                    raise UsageError(
                        f"import: cannot read {base / given}: {error.strerror}"
                    ) from None
                return Text.decoded(data, os.path.basename(given))
        raise UsageError(
            f"import: {name}: {key}: there is no {shown(given)} in {self.base} or the folder above"
        )


def _name(name: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value or not is_text(value) or not value.isprintable():
        raise UsageError(f"import: {name}: {key} {shown(value)} is no file name")
    return value.replace("\\", "/")


def _object(name: str, text: str) -> dict[str, Any]:
    content = _json5(name, text)
    if not isinstance(content, dict):
        raise UsageError(f"import: {name}: expected an object, {{…}}")
    return content


def _json5(name: str, text: str) -> Any:
    """Return the content of JSON with comments and trailing commas.  Raises UsageError."""

    def blank(match: re.Match[str]) -> str:
        # line ends stay, so that an error has its line
        return match[1] or re.sub(r"[^\n]", "", match[0])

    try:
        return json.loads(_JSON5.sub(blank, text))
    except json.JSONDecodeError as error:
        raise UsageError(
            f"import: {name}:{error.lineno}: {error.msg}; expected JSON, which may have // comments"
        ) from None
    except RecursionError:
        raise UsageError(f"import: {name}: it is nested too deeply") from None


def _engines(
    name: str, settings: Mapping[str, Any], files: _Files
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the references, and the engine that is tuned.  Raises UsageError."""
    paths = settings.get("ENGINE_SETTINGS")
    if not isinstance(paths, list) or len(paths) != 2:
        raise UsageError(
            f"import: {name}: ENGINE_SETTINGS: expected two files, the reference engines and the "
            "engine to tune"
        )
    lists = []
    for value in paths:
        file = files.read(name, "ENGINE_SETTINGS", value)
        content = _json5(file.name, file.text)
        if not isinstance(content, list) or not content:
            raise UsageError(f"import: {file.name}: expected a list of engines, [{{…}}]")
        lists.append([_engine(file.name, number, e) for number, e in enumerate(content, 1)])
    references, tuned = lists
    different = {(engine["path"], engine["nodes"]) for engine in tuned}
    if len(different) > 1:
        raise UsageError(
            f"import: {Path(paths[1]).name}: {len(different)} engines are to be tuned at once; one "
            "control file tunes one: leave one in the file"
        )
    return references, tuned[0]


def _engine(name: str, number: int, given: Any) -> dict[str, Any]:
    where = f"engine {number}"
    if not isinstance(given, dict):
        raise UsageError(f"import: {name}: {where}: {shown(given)} is no engine, {{…}}")
    strange = sorted(given.keys() - {"path", "name", "nodes", "multi"})
    if strange:
        raise UsageError(f"import: {name}: {where}: {shown(strange[0])} is not known; leave it out")
    engine = {"nodes": 500_000, "multi": 1, **given}
    engine["path"] = _name(name, f"{where}: path", given.get("path"))
    label = given.get("name", os.path.basename(engine["path"]))
    engine["name"] = _name(name, f"{where}: name", label)
    for key, most in (("nodes", 10**12), ("multi", 1000)):
        value = engine[key]
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
            raise UsageError(
                f"import: {name}: {where}: {key} {shown(value)} is no integer from 1 to {most}"
            )
    return engine
