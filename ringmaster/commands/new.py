"""The verbs `new` and `import`: write a control file.  No file is written that does not
load."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ringmaster.commands.console import DONE, complain, say
from ringmaster.control.source import printable
from ringmaster.errors import ControlFileError, StoreUnwritable, UsageError
from ringmaster.loaded_competition import LoadedCompetition
from ringmaster.scaffold.control_file import Places
from ringmaster.scaffold.engines import Engine, declared_by
from ringmaster.scaffold.from_git import two_commits
from ringmaster.scaffold.importers import import_material
from ringmaster.scaffold.match_runners import recognises
from ringmaster.scaffold.skeletons import POSITIONS
from ringmaster.scaffold.template import GAMES, new_control_file, opening_file

#: The name in the comments of a control file on standard output.
_UNNAMED = "FILE.ctl"


def new(arguments: argparse.Namespace) -> int:
    """Write a control file to start from.  Raises UsageError."""
    game, type_name = arguments.game, arguments.type
    name = arguments.file or f"{type_name}_{game}.ctl"
    folder = Path.cwd() if name == "-" else Path(name).absolute().parent
    for option in ("ref", "base", "build", "program"):
        if getattr(arguments, option) is not None and arguments.git is None:
            raise UsageError(f"--{option} needs --git")
    if arguments.git is not None and arguments.from_engine is not None:
        raise UsageError("--git and --from-engine exclude each other")
    declared: tuple[tuple[Engine, ...], str] | None = None
    if arguments.from_engine is not None or arguments.git is not None:
        if game not in GAMES:
            raise UsageError(f"there is no game {game!r}; choose from {', '.join(GAMES)}")
        places = Places(source=Path.cwd(), control=folder)
        if arguments.git is None:
            engine, about = declared_by(game, arguments.from_engine, places)
            declared = (engine,), about
        else:
            declared = two_commits(game, places, arguments)
    text = new_control_file(
        game,
        type_name,
        _UNNAMED if name == "-" else quoted(name),
        openings=opening_file(game, folder),
        declared=declared,
    )
    if name == "-":
        say(checked(text, _UNNAMED))
        return DONE
    write(Path(name), text)
    lacks = type_name == "texel" and not (folder / POSITIONS).exists()
    make = f" and make {POSITIONS} as it says" if lacks else ""
    complain(f"wrote {name}; read it{make}, then: ringmaster {quoted(name)} check")
    return DONE


def import_(arguments: argparse.Namespace) -> int:
    """Write a control file from material of other programs.  Raises UsageError."""
    output, material_words = _output(arguments.words)
    folder = Path.cwd() if output is None else output.absolute().parent
    places = Places(source=Path.cwd(), control=folder)
    match = import_material(material_words, places)
    name = _UNNAMED if output is None else quoted(str(output))
    text = match.render(name)
    if output is None:
        say(checked(text, _UNNAMED))
    else:
        write(output, text)
    for line in match.messages():
        complain(printable(line))
    if match.simulate:
        complain(
            f"the simulation that simul_elo describes: ringmaster {name} simulate {match.simulate}"
        )
    if output is not None:
        complain(f"wrote {output}; read it, then: ringmaster {name} check")
    return DONE


def quoted(name: str) -> str:
    """Return a file name quoted for a shell and printable in a comment."""
    return shlex.quote(name) if name.isprintable() else _UNNAMED


def _output(arguments: Sequence[str]) -> tuple[Path | None, list[str]]:
    """Return the file to write, and the words to import.

    -o may stand anywhere but among the words of a command line.
    """
    output = None
    words: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("-o", "--output") and rest:
            output = rest.pop(0)
        elif option := re.fullmatch("(?:--output=|-o)(.+)", word, re.DOTALL):
            output = option[1]
        elif word == "--" or (recognises([word, *rest]) and rest[:1] not in (["-o"], ["--output"])):
            words += [word, *rest] if word != "--" else rest
            break
        elif word.startswith("-") and word != "-":
            raise UsageError(f"import: {word} is not understood; see ringmaster help import")
        else:
            words.append(word)
    if not words:
        raise UsageError("import: there is nothing to import; see ringmaster help import")
    return None if output in (None, "-") else Path(str(output)), words


def checked(text: str, name: str) -> str:
    """Return the text of a control file.  Raises UsageError if it does not load."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (Path(name).name or _UNNAMED)
        try:
            path.write_text(text, encoding="utf-8")
            LoadedCompetition(path)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot make {name!r}: {error}") from None
        except ControlFileError as error:
            first = str(error).split("\n")[0].replace(str(path), name)
            raise UsageError(f"this cannot be a control file: {first}") from None
    return text


def write(path: Path, text: str) -> None:
    """Write a new control file.  Raises UsageError if the file exists."""
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} exists; nothing was written")
    checked(text, str(path))
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise UsageError(f"{path} exists; nothing was written") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreUnwritable(f"cannot write {path}: {reason}") from error
