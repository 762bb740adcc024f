"""The verb `match`: write the control file of a match and run it."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ringmaster.commands.console import DONE, complain, say
from ringmaster.commands.new import checked, quoted, write
from ringmaster.commands.run import run
from ringmaster.control.python_text import Call
from ringmaster.control.source import printable
from ringmaster.errors import RingmasterError, UsageError, cut
from ringmaster.parameter_files.entries import plain
from ringmaster.scaffold.control_file import Draft, Places, comment
from ringmaster.scaffold.engines import command_of, usual_levels
from ringmaster.scaffold.foreign_values import option_value
from ringmaster.scaffold.template import control_file, opening_file
from ringmaster.storage.paths import OutputPaths


def match(arguments: argparse.Namespace) -> int:
    """Write the control file of a match and run it, or run that of the same line."""
    path = Path(arguments.output or "match.ctl")
    text = _control_file(arguments, path)
    if arguments.print:
        say(checked(text, str(path)))
        return DONE
    is_new = not path.exists()
    if is_new:
        write(path, text)
        complain(f"wrote {path}")
    else:
        _check_same(path, text)
    arguments.control_file, arguments.safe = path, False
    try:
        return run(arguments)
    except RingmasterError:
        # the corrected line shall not meet the file of the faulty one
        if is_new and not OutputPaths(path).has_results:
            path.unlink()
            complain(f"no game was played; {path} is deleted again")
        raise


def _control_file(arguments: argparse.Namespace, path: Path) -> str:
    """Return the text of the control file.  Raises UsageError."""
    if len(arguments.engine) < 2:
        raise UsageError("a match needs two engines or more")
    if arguments.sprt is None and arguments.games is None:
        raise UsageError(
            "nothing ends the match: --games 1000 plays so many games, --sprt 0 3 plays until the "
            "first engine is shown to be 3 nElo stronger, or no stronger"
        )
    game, is_pair = arguments.game, len(arguments.engine) == 2
    places = Places(source=Path.cwd(), control=path.absolute().parent)
    draft = Draft("playoff" if is_pair else "gauntlet", game, parallel=arguments.parallel)
    given = {name: getattr(arguments, name) for name in ("nodes", "depth", "visits")}
    given["time_control"] = arguments.tc
    limits = {name: v for name, v in given.items() if v is not None} or usual_levels(game)[0]
    options = {name: option_value(value) for name, value in arguments.option}
    engines = [command_of(text, "match", places) for text in arguments.engine]
    for (words, _), code in zip(engines, _short_names([e[1] for e in engines]), strict=True):
        draft.enter("", words, {**limits, "options": options}, code)
    codes = draft.codes()
    draft.settings = {"number_of_games" if is_pair else "rounds": arguments.games}
    if arguments.sprt is not None:
        draft.settings["sprt"] = Call("SPRT", tuple(map(plain, arguments.sprt)))
    if is_pair:
        alternating = {"alternating": True} if game == "go" else {}
        draft.settings["matchups"] = [Call("Matchup", tuple(codes), alternating)]
    else:
        draft.settings |= {"challengers": codes[:1], "opponents": codes[1:]}
    if game != "go":  # the report computes the speed from it
        draft.settings["record_info"] = ["nodes"]
    book = arguments.book and places.file(arguments.book)
    heading = comment(
        "Written by `ringmaster match`.  The same command line continues the match, and so does:"
        f"\n\n  ringmaster {quoted(str(path))} run"
    )
    return control_file(draft, book or opening_file(game, places.control), heading)


def _short_names(programs: Sequence[str]) -> list[str]:
    """Return programs' names; for equal ones, those of their nearest folders that differ."""
    places = [Path(program).parts[::-1] for program in programs]
    names = []
    for place in places:
        alike = {other for other in places if other[0] == place[0]}
        columns = enumerate(zip(*alike, strict=False))
        names.append(place[next((i for i, each in columns if len({*each}) == len(alike)), 0)])
    return names


def _check_same(path: Path, text: str) -> None:
    """Raise UsageError if a control file differs from `text` beside comments and `parallel`."""
    with suppress(OSError, SyntaxError, ValueError):  # `run` shows the place of a fault
        sources = path.read_text(encoding="utf-8"), text
        lines = [[ast.unparse(node) for node in ast.parse(source).body] for source in sources]
        there, here = ({line.partition(" ")[0]: line for line in each} for each in lines)
        for name in (*there, *here):
            if name != "parallel" and there.get(name) != here.get(name):
                old, new = (cut(each.get(name, f"no {name}"), 200) for each in (there, here))
                raise UsageError(
                    f"{path} is another match: it has {printable(old)}; this line gives "
                    f"{printable(new)}.  Give this match a file of its own (-o other.ctl), or "
                    f"continue the other: ringmaster {quoted(str(path))} run"
                )
