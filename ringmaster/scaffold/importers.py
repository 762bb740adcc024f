"""The importers of `ringmaster import`: the first one that recognises the material imports it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from ringmaster.errors import UsageError, is_text, shown
from ringmaster.parameter_files.text import Text
from ringmaster.scaffold import (
    katago_match,
    match_runners,
    parameter_import,
    spsa_tuner,
    yaneuraou,
)
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import words_of


class Importer(Protocol):
    """A module that imports files of one kind."""

    def recognises(self, text: Text) -> bool:
        """Return whether one file is of this kind."""

    def import_files(self, texts: Sequence[Text], places: Places) -> Match:
        """Return the match of files.  Raises UsageError, ParameterFileError."""


#: By description of the files.
IMPORTERS: dict[str, Importer] = {
    "an SPSA Tuner .conf (with its .var)": spsa_tuner,
    "a match.cfg of KataGo": katago_match,
    "an SPSA-settings.json5 of YaneuraOu": yaneuraou,
    "a parameter file of another tuner": parameter_import,
}
_KINDS = " or ".join(["a command line of fastchess, cutechess-cli or gogui-twogtp", *IMPORTERS])
#: Several files of these make one match.
_COMBINED = (spsa_tuner, parameter_import)


def import_material(words: Sequence[str], places: Places) -> Match:
    """Return the match of the arguments of `import`: of a command line, as words or as one quoted
    text, or of files.

    Raises UsageError, ParameterFileError.
    """
    command = unquoted(words)
    if match_runners.recognises(command) and (len(command) > 1 or not os.path.isfile(words[0])):
        return match_runners.import_command_line(command, places)
    runner = next((word for word in command if match_runners.recognises([word])), None)
    if runner is not None:
        raise UsageError(
            f"import: {shown(command[0])} and the command line of {runner} cannot be combined; "
            "import each by itself, and copy what you need"
        )
    if len(words) == 1 and os.path.isdir(words[0]):
        # weather-factory reads the files of its folder
        words = sorted(map(str, Path(words[0]).glob("*.json"))) or [f"{words[0]}/*.json"]
    for word in words:
        if not os.path.exists(word):
            raise UsageError(f"import: there is no file {shown(word)}; expected {_KINDS}")
    texts = [
        Text.read(path, path.name if path.name.isprintable() else "the file")
        for path in map(Path, dict.fromkeys(words))
    ]
    return _import_files(texts, Places(Path(words[0]).absolute().parent, places.control))


def unquoted(words: Sequence[str]) -> list[str]:
    """Return words of a command line that may be one quoted text.  Raises UsageError."""
    if not all(map(is_text, words)):
        raise UsageError("import: the arguments have a NUL, or are not UTF-8")
    text = words[0] if len(words) == 1 else ""
    if not re.search("fast-?chess|cutechess|twogtp", text) or os.path.exists(text):
        return list(words)
    # a shell joins continued lines, but not within quotes
    return words_of(re.sub(r"""('[^']*'|"[^"]*")|\\\n""", r"\1", text), "import")


def _import_files(texts: Sequence[Text], places: Places) -> Match:
    kinds = {text.name: _kind(text) for text in texts}
    for name, kind in kinds.items():
        if len(kinds) > 1 and IMPORTERS[kind] not in _COMBINED:
            others = " and ".join(other for other in kinds if other != name)
            raise UsageError(
                f"import: {name} is {kind}, which cannot be combined with {others}; import each "
                "by itself, and copy what you need"
            )
    first = min(kinds.values(), key=list(IMPORTERS).index)
    return IMPORTERS[first].import_files(texts, places)


def _kind(text: Text) -> str:
    """Return the description of a file.  Raises UsageError for a file of no kind."""
    if text.text.startswith("#!") or text.name.endswith((".sh", ".bash", ".zsh")):
        raise UsageError(
            f"import: {text.name} is a script; give its command line instead: "
            "ringmaster import fastchess -engine …"
        )
    for kind, importer in IMPORTERS.items():
        if importer.recognises(text):
            return kind
    why = "cannot be imported" if text.text.strip() else "is empty"
    raise UsageError(f"import: {text.name} {why}; expected {_KINDS}")
