"""The verbs `new` and `import` of the command line: their arguments, and the file
that they write.  No control file is written that does not load."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ringmaster.errors import ControlFileError, StoreUnwritable, UsageError
from ringmaster.event import Event
from ringmaster.scaffold.engine_parameters import declared_by
from ringmaster.scaffold.importers import import_material, material_of
from ringmaster.scaffold.match import Places
from ringmaster.scaffold.new import GAMES, known, new_control_file, opening_file
from ringmaster.scaffold.text import printable

#: Prints text: to standard output, and lines to standard error.
Say = Callable[[str], None]

#: What the comments of a control file call it that goes to standard output.
_UNNAMED = "FILE.ctl"


def new(arguments: Sequence[str], say: Say, tell: Say) -> None:
    """Carry out `new GAME TYPE [FILE]`.  Raises UsageError."""
    usage = (
        f"ringmaster new {'|'.join(GAMES)} TYPE [FILE.ctl] [--from-engine COMMAND]\n"
        f"TYPE: {', '.join(known())}"
    )
    if _wants_help(arguments):
        say(
            f"usage: {usage}\nFILE: by default TYPE_GAME.ctl; - for standard output\n"
            "--from-engine: spsa, with parameters made from this engine's own options\n"
        )
        return
    arguments, command = _from_engine(arguments, usage)
    if not 2 <= len(arguments) <= 3 or any(_is_option(a) for a in arguments):
        raise UsageError(f"new takes a game, a competition type and a file\nusage: {usage}")
    game, type_name = arguments[:2]
    name = arguments[2] if len(arguments) == 3 else f"{type_name}_{game}.ctl"
    declared = None
    if command is not None:
        if game not in GAMES:
            raise UsageError(f"there is no game {game!r}; choose from {', '.join(GAMES)}")
        folder = Path.cwd() if name == "-" else Path(name).absolute().parent
        declared = declared_by(game, command, Places(given=Path.cwd(), control=folder))
    text = new_control_file(
        game,
        type_name,
        _UNNAMED if name == "-" else _called(name),
        openings=opening_file(game, Path(name).absolute().parent),
        declared=declared,
    )
    if name == "-":
        say(_checked(text, _UNNAMED))
        return
    _write(Path(name), text)
    tell(f"wrote {name}; look it through, then: ringmaster {_called(name)} check")


def _from_engine(arguments: Sequence[str], usage: str) -> tuple[list[str], str | None]:
    """Return the arguments without --from-engine, and its command."""
    words = list(arguments)
    for at, word in enumerate(words):
        if word.startswith("--from-engine="):
            return words[:at] + words[at + 1 :], word.partition("=")[2]
        if word == "--from-engine":
            if at + 1 == len(words):
                raise UsageError(
                    f"--from-engine: expected the command of an engine\nusage: {usage}"
                )
            return words[:at] + words[at + 2 :], words[at + 1]
    return words, None


def import_(arguments: Sequence[str], say: Say, tell: Say) -> None:
    """Carry out `import [-o FILE] WHAT`.  Raises UsageError."""
    usage = (
        "ringmaster import [-o FILE.ctl] engines.json\n"
        "       ringmaster import [-o FILE.ctl] TUNE.conf | PARAMETER-FILE…\n"
        "       ringmaster import [-o FILE.ctl] fastchess|cutechess-cli -engine …\n"
        "       ringmaster import [-o FILE.ctl] MATCH.sh"
    )
    if _wants_help(arguments[:1]):
        say(f"usage: {usage}\nWithout -o the control file goes to standard output.\n")
        return
    output, words = _output(arguments, usage)
    folder = Path.cwd() if output is None else output.absolute().parent
    places = Places(given=Path.cwd(), control=folder)
    match = import_material(material_of(words, places.given), places)
    name = _UNNAMED if output is None else _called(str(output))
    text = match.render(name)
    if output is None:
        say(_checked(text, _UNNAMED))
    else:
        _write(output, text)
    for line in match.told():
        tell(printable(line))
    if match.simulate:
        tell(
            f"the simulation that simul_elo describes: ringmaster {name} simulate {match.simulate}"
        )
    if output is not None:
        tell(f"wrote {output}; look it through, then: ringmaster {_called(str(output))} check")


def _called(name: str) -> str:
    """Return a file name as a shell takes it, and as a comment shows it."""
    return shlex.quote(name) if name.isprintable() else _UNNAMED


def _wants_help(arguments: Sequence[str]) -> bool:
    return any(argument in ("-h", "--help") for argument in arguments)


def _is_option(argument: str) -> bool:
    return argument.startswith("-") and argument != "-"


def _output(arguments: Sequence[str], usage: str) -> tuple[Path | None, list[str]]:
    """Return the file to write and the words to import; an -o may stand before
    them, or after the name of a file."""
    output = None
    words = list(arguments)
    while words and (_is_option(words[0]) or words[1:2] in (["-o"], ["--output"])):
        if words[0] == "--":
            del words[0]
            break
        at = 0 if _is_option(words[0]) else 1
        option = words.pop(at)
        if option.startswith("--output="):
            output = option.removeprefix("--output=")
        elif option in ("-o", "--output") and len(words) > at:
            output = words.pop(at)
        elif option.startswith("-o") and len(option) > 2:
            output = option[2:]
        else:
            raise UsageError(f"import: {option} is not understood\nusage: {usage}")
    if not words:
        raise UsageError(f"import: there is nothing to import\nusage: {usage}")
    return None if output in (None, "-") else Path(str(output)), words


def _checked(text: str, name: str) -> str:
    """Return the text of a control file.  Raises UsageError when it does not load,
    which only values from outside can cause, or a name that no control file has."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (Path(name).name or _UNNAMED)
        try:
            path.write_text(text, encoding="utf-8")
            Event(path)
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot make {name!r}: {error}") from None
        except ControlFileError as error:
            first = str(error).split("\n")[0].replace(str(path), name)
            raise UsageError(f"this cannot be a control file: {first}") from None
    return text


def _write(path: Path, text: str) -> None:
    """Write a new control file; one that is there stays as it is."""
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} exists; nothing was written")
    _checked(text, str(path))
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


VERBS: dict[str, Callable[[Sequence[str], Say, Say], None]] = {"new": new, "import": import_}
