"""What `ringmaster import` understands: a list of importers, the first of which
that recognises the material makes a match of it."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringmaster.errors import UsageError
from ringmaster.model.wording import shown
from ringmaster.scaffold import engine_list, match_runners, parameter_import, spsa_tuner
from ringmaster.scaffold.match import Match, Places
from ringmaster.scaffold.text import plain

#: Bytes of a file; a list of engines with all their options has some 100,000.
LARGEST = 50_000_000


@dataclass(frozen=True)
class Material:
    """What is to be imported: the words of a command line, or a file.

    name    what messages and the control file call it
    folder  where it is, and others that go with it are
    others  further files that were named with it
    """

    name: str
    words: tuple[str, ...] = ()
    data: bytes | None = None
    folder: Path = Path()
    others: tuple[Material, ...] = ()

    @property
    def files(self) -> dict[str, bytes]:
        """All its files by name."""
        named = (self, *self.others)
        return {file.name: file.data for file in named if file.data is not None}


@dataclass(frozen=True)
class Importer:
    """One kind of material.

    what        what it is, for the message about something that nobody recognises
    recognises  whether the material is of this kind; reads nothing
    take        makes a match of it; raises UsageError
    """

    what: str
    recognises: Callable[[Material], bool]
    take: Callable[[Material, Places], Match]


def _take_list(material: Material, places: Places) -> Match:
    assert material.data is not None
    return engine_list.import_engines(material.data, material.name, places)


IMPORTERS: tuple[Importer, ...] = (
    Importer(
        "a command line that begins with fastchess or cutechess-cli",
        lambda material: match_runners.recognises(material.words),
        lambda material, places: match_runners.import_command_line(material.words, places),
    ),
    Importer(
        "an SPSA Tuner .conf (with its .var)",
        lambda material: any(map(spsa_tuner.recognises, material.files.values())),
        lambda material, places: spsa_tuner.import_tune(material.files, material.folder, places),
    ),
    Importer(
        "an engines.json of Cute Chess",
        lambda material: (
            not material.others and any(map(engine_list.recognises, material.files.values()))
        ),
        _take_list,
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
    """Return what the arguments of `import` mean: a command line, as words or as
    one quoted text, or the names of files.  Raises UsageError."""
    if not words:
        raise UsageError("import: nothing to import; expected a file or a command line")
    if not plain(words):
        raise UsageError("import: there is a NUL, or something that is not UTF-8, in it")
    if len(words) > 1 and all(map(os.path.isfile, words)):
        first, *others = map(_file, dict.fromkeys(words))
        return dataclasses.replace(first, others=tuple(others))
    if len(words) > 1 or match_runners.recognises(words):
        return Material("the command line", words=tuple(words))
    text = words[0]
    try:
        # a backslash at the end of a line goes on with it, as in a shell
        inner = tuple(shlex.split(text.replace("\\\n", " "), comments=False))
    except ValueError as error:
        inner = ()
        if match_runners.recognises(text.split()[:1]):
            raise UsageError(f"import: the command line cannot be split: {error}") from None
    if match_runners.recognises(inner):
        return Material("the command line", words=inner)
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
    """Return the match that the first importer that knows it makes of something.
    Raises UsageError."""
    for importer in IMPORTERS:
        if importer.recognises(material):
            return importer.take(material, places)
    what = shown(material.words[0]) if material.words else material.name
    empty = material.data is not None and not material.data.strip()
    why = "is empty" if empty else "is nothing that can be imported"
    raise UsageError(f"import: {what} {why}; expected {_kinds()}")


def _kinds() -> str:
    return " or ".join(importer.what for importer in IMPORTERS)
