"""The importers of `ringmaster import`: the first one that recognises the material imports it."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringmaster.errors import UsageError, shown
from ringmaster.scaffold import match_engines, match_runners, parameter_import, shell, tuner_import
from ringmaster.scaffold.control_file import Match, Places, plain

_COMMAND_LINE = "the command line"
_RUNNER = re.compile(rb"fast-?chess|cutechess")
#: Bytes of a file; an engines.json with all options has about 100,000.
LARGEST = 50_000_000


@dataclass(frozen=True)
class Material:
    """The material to import: a command line, or one or more files.

    name     in messages and in the control file
    command  of a match, None for files
    folder   of the file
    others   further files
    """

    name: str
    command: shell.MatchCommand | None = None
    data: bytes | None = None
    folder: Path = Path()
    others: tuple[Material, ...] = ()

    @property
    def files(self) -> dict[str, bytes]:
        """All files by name."""
        named = (self, *self.others)
        return {file.name: file.data for file in named if file.data is not None}


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


def _read_list(material: Material, places: Places) -> Match:
    assert material.data is not None
    return match_engines.import_engines(material.data, material.name, places)


def _read_command(material: Material, places: Places) -> Match:
    assert material.command is not None
    return _match_of(material.command, material.name, places)


def _match_of(command: shell.MatchCommand, name: str, places: Places) -> Match:
    """Return the match of a command with its environment and notes."""
    is_script = name != _COMMAND_LINE
    try:
        match = match_runners.import_command_line(
            command.words, dataclasses.replace(places, source=command.folder)
        )
    except UsageError as error:
        raise UsageError(f"{name}:{command.line}: {error}" if is_script else str(error)) from None
    if is_script:
        match.origin = f"{name}, line {command.line}: {match.origin}"
    match.notes[:0] = command.notes
    for entrant in match.entrants:
        entrant.arguments["environ"] = dict(command.environ)
    return match


def _is_script(file: tuple[str, bytes]) -> bool:
    name, data = file
    return (
        os.path.splitext(name)[1] in (".sh", ".bash", ".zsh")
        or data.startswith(b"#!")
        or (b"-engine" in data and _RUNNER.search(data) is not None)
    )


def _read_script(material: Material, places: Places) -> Match:
    assert material.data is not None
    try:
        text = material.data.decode()
    except UnicodeDecodeError:
        raise UsageError(f"import: {material.name} is not UTF-8") from None
    if not plain([text]):
        raise UsageError(f"import: {material.name} has a NUL")
    command = shell.match_command(
        text, material.name, places.source, match_runners.recognises, os.environ, material.folder
    )
    return _match_of(command, material.name, places)


def _read_yaneuraou(material: Material, places: Places) -> Match:
    assert material.data is not None
    return tuner_import.import_spsa(material.name, material.data, material.folder, places)


IMPORTERS: tuple[Importer, ...] = (
    Importer(
        "a command line of fastchess or cutechess-cli",
        lambda material: material.command is not None,
        _read_command,
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
        _read_list,
    ),
    Importer(
        "a shell script with such a command line",
        lambda material: not material.others and any(map(_is_script, material.files.items())),
        _read_script,
    ),
    Importer(
        "an SPSA-settings.json5 of YaneuraOu",
        lambda material: (
            not material.others and any(map(tuner_import.is_yaneuraou, material.files.items()))
        ),
        _read_yaneuraou,
    ),
    Importer(
        "a parameter file of another tuner",
        lambda material: any(map(parameter_import.recognises, material.files.items())),
        lambda material, places: parameter_import.import_files(
            material.files, material.folder, places
        ),
    ),
)


def material_of(words: Sequence[str], folder: Path) -> Material:
    """Return the material of the arguments of `import`: a command line, as words or as one
    quoted text, or file names.  Raises UsageError.

    folder  where relative file names of a command line start
    """
    if not words:
        raise UsageError("import: nothing to import; expected a file or a command line")
    if not plain(words):
        raise UsageError("import: the arguments have a NUL, or are not UTF-8")
    if len(words) > 1 and all(map(os.path.isfile, words)):
        first, *others = map(_file, dict.fromkeys(words))
        return dataclasses.replace(first, others=tuple(others))
    command, environ, notes = shell.without_prefixes(words)
    if match_runners.recognises(command):
        match_command = shell.MatchCommand(
            tuple(command), environ=environ, folder=folder, notes=tuple(notes)
        )
        return Material(_COMMAND_LINE, match_command)
    text = words[0]
    if len(words) > 1:
        runner = next((word for word in words if match_runners.recognises([word])), None)
        why = "cannot be imported"
        if runner is not None:
            why = f"before {runner} is not understood; leave it out"
        raise UsageError(
            f"import: {shown(command[0] if command else text)} {why}; expected {_kinds()}"
        )
    if not os.path.isfile(text) and _RUNNER.search(text.encode()) and len(text.split()) > 1:
        return Material(
            _COMMAND_LINE,
            shell.match_command(text, _COMMAND_LINE, folder, match_runners.recognises, os.environ),
        )
    return _file(text)


def _file(text: str) -> Material:
    path = Path(text)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"import: cannot read {shown(text)}: {reason}; expected {_kinds()}"
        ) from None
    if len(data) > LARGEST:
        raise UsageError(f"import: {shown(text)} is too large")
    name = path.name if path.name.isprintable() else "the file"
    return Material(name, data=data, folder=path.absolute().parent)


def import_material(material: Material, places: Places) -> Match:
    """Return the match of the first importer that recognises the material.  Raises UsageError."""
    for importer in IMPORTERS:
        if importer.recognises(material):
            return importer.read(material, places)
    empty = material.data is not None and not material.data.strip()
    why = "is empty" if empty else "cannot be imported"
    raise UsageError(f"import: {material.name} {why}; expected {_kinds()}")


def _kinds() -> str:
    return " or ".join(importer.description for importer in IMPORTERS)
