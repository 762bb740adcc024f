"""The importers of `ringmaster import`: the first one that recognises the material imports it."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringmaster.errors import UsageError, is_text, shown
from ringmaster.scaffold import match_engines, match_runners, parameter_import, tuner_import
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import file_bytes, words_of

_RUNNER = re.compile("fast-?chess|cutechess")


@dataclass(frozen=True)
class Material:
    """The material to import: a command line, or one or more files.

    name     in messages and in the control file
    command  of a match, empty for files
    folder   of the file
    others   further files
    """

    name: str
    command: tuple[str, ...] = ()
    data: bytes = b""
    folder: Path = Path()
    others: tuple[Material, ...] = ()

    @property
    def files(self) -> dict[str, bytes]:
        """All files by name."""
        return {} if self.command else {file.name: file.data for file in (self, *self.others)}


@dataclass(frozen=True)
class Importer:
    """An importer of one kind of material.

    description  of the kind, for messages
    recognises   returns whether the material is of this kind
    read         returns the match; raises UsageError
    """

    description: str
    recognises: Callable[[Material], bool]
    read: Callable[[Material, Places], Match]


IMPORTERS: tuple[Importer, ...] = (
    Importer(
        "a command line of fastchess or cutechess-cli",
        lambda material: bool(material.command),
        lambda material, places: match_runners.import_command_line(material.command, places),
    ),
    Importer(
        "an SPSA Tuner .conf (with its .var)",
        lambda material: any(map(tuner_import.is_spsa_tuner, material.files.values())),
        lambda material, places: tuner_import.import_tune(material.files, material.folder, places),
    ),
    Importer(
        "an engines.json of Cute Chess",
        lambda material: (
            not material.others and any(map(match_engines.is_engine_list, material.files.values()))
        ),
        lambda material, places: match_engines.import_engines(material.data, material.name, places),
    ),
    Importer(
        "an SPSA-settings.json5 of YaneuraOu",
        lambda material: (
            not material.others and any(map(tuner_import.is_yaneuraou, material.files.items()))
        ),
        lambda material, places: tuner_import.import_spsa(
            material.name, material.data, material.folder, places
        ),
    ),
    Importer(
        "a parameter file of another tuner",
        lambda material: any(map(parameter_import.recognises, material.files.items())),
        lambda material, places: parameter_import.import_files(
            material.files, material.folder, places
        ),
    ),
)


def material_of(words: Sequence[str]) -> Material:
    """Return the material of the arguments of `import`: a command line, as words or as one
    quoted text, or file names.  Raises UsageError."""
    if not all(map(is_text, words)):
        raise UsageError("import: the arguments have a NUL, or are not UTF-8")
    if all(map(os.path.isfile, words)):
        first, *others = map(_file, dict.fromkeys(words))
        return dataclasses.replace(first, others=tuple(others))
    command = list(words)
    if len(words) == 1 and _RUNNER.search(words[0]):
        # a shell joins continued lines
        command = words_of(words[0].replace("\\\n", ""), "import")
    if match_runners.recognises(command):
        return Material("the command line", tuple(command))
    if len(command) == 1:
        return _file(words[0])
    runner = next((word for word in command if match_runners.recognises([word])), None)
    why = "cannot be imported"
    if runner is not None:
        why = f"before {runner} is not understood; leave it out"
    raise UsageError(f"import: {shown(command[0])} {why}; expected {_kinds()}")


def _file(text: str) -> Material:
    path = Path(text)
    data = file_bytes(path, shown(text), _kinds())
    name = path.name if path.name.isprintable() else "the file"
    return Material(name, data=data, folder=path.absolute().parent)


def import_material(material: Material, places: Places) -> Match:
    """Return the match of the first importer that recognises the material.  Raises UsageError."""
    if material.data.startswith(b"#!") or material.name.endswith((".sh", ".bash", ".zsh")):
        raise UsageError(
            f"import: {material.name} is a script; give its command line instead: "
            "ringmaster import fastchess -engine …"
        )
    for importer in IMPORTERS:
        if importer.recognises(material):
            return importer.read(material, places)
    why = "cannot be imported" if material.data.strip() else "is empty"
    raise UsageError(f"import: {material.name} {why}; expected {_kinds()}")


def _kinds() -> str:
    return " or ".join(importer.description for importer in IMPORTERS)
