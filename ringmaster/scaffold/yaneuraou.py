"""Import a tune with its engines: an SPSA-settings.json5 of YaneuraOu's scripts with its engine
files and its .params."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated

import msgspec

from ringmaster.control.python_text import Call
from ringmaster.errors import UsageError, shown
from ringmaster.parameter_files.entries import plain
from ringmaster.parameter_files.formats import read_file
from ringmaster.parameter_files.text import Text
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import Name, command_words, converted
from ringmaster.scaffold.parameter_import import add_parameters, practise

_TUNE = re.compile(r"^#(?:context|set\s+(?:file|options|declaration)|param)\b", re.MULTILINE)
_KEYS = ("ENGINE_SETTINGS", "PARAMETERS_PATH")
_Count = Annotated[int, msgspec.Meta(ge=1, le=10**12)]
_Factor = Annotated[float, msgspec.Meta(gt=0, le=1000)]
_EXAMPLE = 'a list of engines, [{"path": …, "name": …, "nodes": 500000, "multi": 1}]'


class _Settings(msgspec.Struct, rename="upper"):
    """The settings of a tune: the reference engines are in the first of two engine files.

    node_multipliers  factors of the nodes of both sides, one game after another
    """

    parameters_path: Name
    start_sfens_path: Name
    engine_settings: Annotated[list[Name], msgspec.Meta(min_length=2, max_length=2)]
    standard_board: bool = True
    node_multipliers: Annotated[list[_Factor], msgspec.Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: [1.0]
    )


class _Engine(msgspec.Struct, forbid_unknown_fields=True):
    """An engine of the scripts, started `multi` times."""

    path: Name
    name: Name | None = None
    nodes: _Count = 500_000
    multi: _Count = 1

    @property
    def label(self) -> str:
        """The name, by default of its file."""
        return self.name or re.split(r"[/\\ ]", self.path)[-1]

    def command(self, places: Places) -> list[str]:
        """Return the command, which may begin with ssh."""
        if self.path.split()[:1] in (["ssh"], ["ssh.exe"]):
            # the other words are of another computer
            return command_words(self.path, "path")
        return [places.executable(_slashes(self.path))]


def recognises(text: Text) -> bool:
    """Return whether a file is of YaneuraOu's SPSA scripts."""
    return _is_tune(text) or all(key in text.text for key in _KEYS)


def _is_tune(text: Text) -> bool:
    return text.name.lower().endswith(".tune") or len(_TUNE.findall(text.text)) > 1


def import_files(texts: Sequence[Text], places: Places) -> Match:
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
    members = {key.upper(): value for key, value in text.object.items()}
    settings = converted(name, members, _Settings, "the settings of YaneuraOu's SPSA script")
    if not settings.standard_board:
        raise UsageError(
            f"import: {name}: STANDARD_BOARD: ringmaster plays shogi on the standard board only"
        )
    base = _base(name, _slashes(settings.parameters_path), places.source)
    references, (tuned, *_) = _engines(name, settings, base)
    match = Match(origin=name, type_name="spsa", game="shogi")
    file = read_file(_read(base, settings.parameters_path))
    match.assumed += [*text.notes, *file.notes]
    add_parameters(file, match)
    practise("yaneuraou", match)
    factor = fmean(settings.node_multipliers)
    if len(set(settings.node_multipliers)) > 1:
        match.different.append(
            f"all games have nodes times {plain(round(factor, 6))}, the mean of NODE_MULTIPLIERS; "
            "YaneuraOu's script changes the multiplier from pair to pair"
        )
    own = Places(source=base, control=places.control)
    for engine in (tuned, *references):
        nodes = max(1, round(engine.nodes * factor))
        match.enter(engine.label, engine.command(own), {"nodes": nodes})
    player, *opponents = match.codes()
    weights = {code: engine.multi for code, engine in zip(opponents, references, strict=True)}
    names = " and ".join(opponents)
    match.different = [line.replace("'reference'", names) for line in match.different]
    match.parallel = sum(weights.values())
    book = own.file(_slashes(settings.start_sfens_path))
    match.settings = {
        **{"player": player, **match.settings},
        "opponent": weights if len(weights) > 1 else opponents[0],
        "openings": Call("Openings", (book,), {"format": "sfen", "order": "random"}),
    }
    for key in sorted(members.keys() - set(_Settings.__struct_encode_fields__)):
        if members[key] is not None:
            match.note(f"{shown(key)}: {shown(members[key])} of {name}")
    return match


def _slashes(name: str) -> str:
    return name.replace("\\", "/")


def _read(base: Path, name: str) -> Text:
    """Return the text of a file.  Raises ParameterFileError."""
    file = _slashes(name)
    return Text.read(base / file, os.path.basename(file))


def _base(name: str, parameters: str, folder: Path) -> Path:
    """Return the folder where file names start.  Raises UsageError."""
    # the scripts are started in the folder above settings/
    for base in (folder, folder.parent):
        if (base / parameters).is_file():
            return base
    raise UsageError(
        f"import: {name}: PARAMETERS_PATH: there is no {shown(parameters)} in {folder} or the "
        "folder above"
    )


def _engines(name: str, settings: _Settings, base: Path) -> list[list[_Engine]]:
    """Return the reference engines, and the engines to tune.

    Raises UsageError, ParameterFileError.
    """
    texts = [_read(base, file) for file in settings.engine_settings]
    lists = [converted(text.name, text.json, list[_Engine], _EXAMPLE) for text in texts]
    tuned = {(engine.path, engine.nodes) for engine in lists[1]}
    if not lists[0] or len(tuned) != 1:
        raise UsageError(
            f"import: {name}: there are {len(lists[0])} reference engines and "
            f"{len(tuned)} engines to tune; expected at least one, and exactly one"
        )
    return lists
