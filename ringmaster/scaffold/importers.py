"""The importers of `ringmaster import`: the first one that recognises the material imports it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringmaster.errors import UsageError, is_text, shown
from ringmaster.parameter_files import Text
from ringmaster.scaffold import (
    fastchess_config,
    match_engines,
    match_runners,
    parameter_import,
    spsa_tuner,
    yaneuraou,
)
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import words_of

_RUNNER = re.compile("fast-?chess|cutechess")
_COMMAND_LINE = "a command line of fastchess or cutechess-cli"


@dataclass(frozen=True)
class Material:
    """The material to import: a command line, or the texts of files in the folder of the first."""

    command: tuple[str, ...] = ()
    texts: tuple[Text, ...] = ()
    folder: Path = Path()


@dataclass(frozen=True)
class Importer:
    """An importer of files.

    description  of its files, for messages
    recognises   returns whether one file is of this kind
    read         returns the match of files; raises UsageError, ParameterFileError
    several      whether several files make one match
    """

    description: str
    recognises: Callable[[Text], bool]
    read: Callable[[Sequence[Text], Places], Match]
    several: bool = False


IMPORTERS: tuple[Importer, ...] = (
    Importer(
        "an SPSA Tuner .conf (with its .var)",
        spsa_tuner.is_configuration,
        spsa_tuner.import_tune,
        several=True,
    ),
    Importer(
        "an engines.json of Cute Chess",
        match_engines.is_engine_list,
        match_engines.import_engines,
    ),
    Importer(
        "a config.json of fastchess",
        fastchess_config.is_config,
        fastchess_config.import_config,
    ),
    Importer(
        "an SPSA-settings.json5 of YaneuraOu",
        yaneuraou.recognises,
        yaneuraou.import_spsa,
    ),
    Importer(
        "a parameter file of another tuner",
        parameter_import.recognises,
        parameter_import.import_files,
        several=True,
    ),
)


def _is_quoted(text: str) -> bool:
    return _RUNNER.search(text) is not None and not os.path.exists(text)


def material_of(words: Sequence[str]) -> Material:
    """Return the material of the arguments of `import`: a command line, as words or as one
    quoted text, or file names.  Raises UsageError, ParameterFileError."""
    if not all(map(is_text, words)):
        raise UsageError("import: the arguments have a NUL, or are not UTF-8")
    command = list(words)
    if len(words) == 1 and _is_quoted(words[0]):
        # a shell joins continued lines
        command = words_of(words[0].replace("\\\n", ""), "import")
    if match_runners.recognises(command) and not os.path.isfile(words[0]):
        return Material(tuple(command))
    runner = next((word for word in command if match_runners.recognises([word])), None)
    if runner is not None and os.path.isfile(command[0]):
        raise UsageError(
            f"import: the file {shown(command[0])} and the command line of {runner} cannot be "
            "combined; import each by itself, and copy what you need"
        )
    if runner is not None:
        why = f"before {runner} is not understood; leave it out"
        raise UsageError(f"import: {shown(command[0])} {why}; expected {_kinds()}")
    if len(words) == 1 and os.path.isdir(words[0]):
        # weather-factory reads the files of its folder
        words = sorted(map(str, Path(words[0]).glob("*.json"))) or [f"{words[0]}/*.json"]
    for word in words:
        if not os.path.exists(word):
            raise UsageError(f"import: there is no file {shown(word)}; expected {_kinds()}")
    texts = []
    for path in map(Path, dict.fromkeys(words)):
        texts.append(Text.read(path, path.name if path.name.isprintable() else "the file"))
    return Material((), tuple(texts), Path(words[0]).absolute().parent)


def import_material(material: Material, places: Places) -> Match:
    """Return the match of the importer that recognises the material.

    Raises UsageError, ParameterFileError.
    """
    if material.command:
        return match_runners.import_command_line(material.command, places)
    found = {text.name: _importer(text) for text in material.texts}
    for name, importer in found.items():
        if len(found) > 1 and not importer.several:
            others = " and ".join(other for other in found if other != name)
            raise UsageError(
                f"import: {name} is {importer.description}, which cannot be combined with "
                f"{others}; import each by itself, and copy what you need"
            )
    importer = min(found.values(), key=IMPORTERS.index)
    return importer.read(material.texts, Places(material.folder, places.control))


def _importer(text: Text) -> Importer:
    """Return the importer of a file.  Raises UsageError."""
    if text.text.startswith("#!") or text.name.endswith((".sh", ".bash", ".zsh")):
        raise UsageError(
            f"import: {text.name} is a script; give its command line instead: "
            "ringmaster import fastchess -engine …"
        )
    for importer in IMPORTERS:
        if importer.recognises(text):
            return importer
    why = "cannot be imported" if text.text.strip() else "is empty"
    raise UsageError(f"import: {text.name} {why}; expected {_kinds()}")


def _kinds() -> str:
    return " or ".join([_COMMAND_LINE, *(importer.description for importer in IMPORTERS)])
