"""Import a tune with its engines: an SPSA-settings.json5 of YaneuraOu's scripts with its engine
files and its .params."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import msgspec

from ringmaster.control.python_text import Call
from ringmaster.errors import UsageError, shown
from ringmaster.parameter_files import ReadOptions, Text, plain, read_file
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import command_words, file_name
from ringmaster.scaffold.parameter_import import add_parameters, practise

_TUNE = re.compile(r"^#(?:context|set\s+(?:file|options|declaration)|param)\b", re.MULTILINE)
_KEYS = ("ENGINE_SETTINGS", "PARAMETERS_PATH")
_Count = Annotated[int, msgspec.Meta(ge=1, le=10**12)]


class _Engine(msgspec.Struct, forbid_unknown_fields=True):
    """An engine of the scripts, started `multi` times."""

    path: str
    name: str = ""
    nodes: _Count = 500_000
    multi: _Count = 1

    @property
    def label(self) -> str:
        """The name, by default of its file."""
        return self.name or re.split(r"[/\\ ]", self.path)[-1]


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
    files = _Files(name, settings, places.source)
    match = Match(origin=name, type_name="spsa", game="shogi")
    references, (tuned, *_) = files.engines()
    file = read_file(files.read("PARAMETERS_PATH"), None, ReadOptions())
    match.assumed += [*text.notes, *file.notes]
    match.settings["player"] = ""
    add_parameters(file, match)
    practise("yaneuraou", match)
    factor = _multiplier(name, settings.pop("NODE_MULTIPLIERS", [1]), match)
    own = Places(source=files.base, control=places.control)
    for engine in (tuned, *references):
        nodes = max(1, round(engine.nodes * factor))
        match.enter(engine.label, _command(engine.path, own), {"nodes": nodes})
    player, *opponents = match.codes()
    weights = {code: engine.multi for code, engine in zip(opponents, references, strict=True)}
    match.settings["player"] = player
    match.settings["opponent"] = weights if len(weights) > 1 else opponents[0]
    names = " and ".join(opponents)
    match.different = [line.replace("'reference'", names) for line in match.different]
    match.parallel = sum(weights.values())
    match.settings["openings"] = Call(
        "Openings",
        (own.file(files.file("START_SFENS_PATH")),),
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
    words = command_words(path, "path") if path.split()[:1] in (["ssh"], ["ssh.exe"]) else []
    # the other words are of another computer
    return words or [places.executable(path.replace("\\", "/"))]


class _Files:
    """The files of a settings file; their names start at `base`."""

    def __init__(self, name: str, settings: Mapping[str, Any], folder: Path) -> None:
        self.name = name
        self.settings = settings
        self.base = folder

    def file(self, key: str, value: Any = None) -> str:
        """Return a file name of the settings.  Raises UsageError."""
        given = self.settings.get(key) if value is None else value
        return file_name(given, f"import: {self.name}: {key}").replace("\\", "/")

    def read(self, key: str, value: Any = None) -> Text:
        """Return the text of a file.  Raises UsageError, ParameterFileError."""
        given = self.file(key, value)
        # the scripts are started in the folder above settings/
        for base in (self.base, self.base.parent):
            if (base / given).is_file():
                self.base = base
                return Text.read(base / given, os.path.basename(given))
        raise UsageError(
            f"import: {self.name}: {key}: there is no {shown(given)} in {self.base} or the folder "
            "above"
        )

    def engines(self) -> list[list[_Engine]]:
        """Return the reference engines, and the engines to tune.  Raises UsageError."""
        paths = self.settings.get("ENGINE_SETTINGS")
        if not isinstance(paths, list) or len(paths) != 2:
            raise UsageError(
                f"import: {self.name}: ENGINE_SETTINGS: expected two files, the reference engines "
                "and the engine to tune"
            )
        lists = []
        for text in [self.read("ENGINE_SETTINGS", path) for path in paths]:
            try:
                engines = msgspec.convert(text.json, list[_Engine])
                for engine in engines:
                    file_name(engine.path, "its path")
                    file_name(engine.label, "its name")
            except (msgspec.ValidationError, UsageError) as error:
                raise UsageError(
                    f"import: {text.name}: {error}; expected a list of engines, "
                    '[{"path": …, "name": …, "nodes": 500000, "multi": 1}]'
                ) from None
            lists.append(engines)
        tuned = {(engine.path, engine.nodes) for engine in lists[1]}
        if not lists[0] or len(tuned) != 1:
            raise UsageError(
                f"import: {self.name}: there are {len(lists[0])} reference engines and "
                f"{len(tuned)} engines to tune; expected at least one, and exactly one"
            )
        return lists
