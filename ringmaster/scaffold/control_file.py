"""The text of control files, and an imported match with its control file.

Values become literals and texts become comments: foreign text cannot become code.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringmaster.control.python_text import WIDTH, Call, assignment, literal
from ringmaster.control.source import printable

#: Arguments of Player(…) that limit its moves.
_LIMITS = ("time_control", "nodes", "depth", "move_time")


def shared_settings(players: Mapping[str, Call]) -> tuple[dict[str, Any], dict[str, Call]]:
    """Return limits and options that all of several players have, as settings of the top level,
    and the players without them."""
    calls = list(players.values())
    if len(calls) < 2:
        return {}, dict(players)
    limits = [{k: v for k, v in call.kwargs.items() if k in _LIMITS} for call in calls]
    shared = limits[0] if all(each == limits[0] for each in limits) else {}
    options = [call.kwargs.get("options", {}) for call in calls]
    common = {
        name: value
        for name, value in options[0].items()
        if all(name in each and literal(each[name]) == literal(value) for each in options)
    }
    rest = {}
    for code, call in players.items():
        own = {k: v for k, v in call.kwargs.items() if k not in (*shared, "options")}
        kept = {k: v for k, v in call.kwargs.get("options", {}).items() if k not in common}
        arguments = {"options": kept, **own} if kept else own
        rest[code] = Call(call.kind, call.args, arguments)
    return {**shared, **({"options": common} if common else {})}, rest


def comment(text: str, indent: str = "") -> str:
    """Return a wrapped comment with unprintable characters escaped.

    indent  before the continuation lines of each line of `text`
    """
    lines: list[str] = []
    for line in text.split("\n"):
        lines += textwrap.wrap(
            printable(line),
            WIDTH - 2,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(f"# {line}".rstrip() for line in lines)


def identifier(name: str, used: Iterable[str], otherwise: str = "engine") -> str:
    """Return an unused player code for a name: letters, digits and + . _ stay, other characters
    become "-", and a used code gets a number."""
    # 50: codes stand in file names and in tables
    text = re.sub(r"[^\w+.]+", "-", name).strip("-.")[:50].strip("-.") or otherwise
    used_codes, code, number = set(used), text, 1
    while code in used_codes:
        number += 1
        code = f"{text}-{number}"
    return code


@dataclass(frozen=True)
class Places:
    """Absolute folders where relative file names start.

    source   for names in the imported material
    control  for names in the control file
    """

    source: Path
    control: Path

    def exists(self, name: str) -> bool:
        """Return whether a file with this imported name exists."""
        try:
            return (self.source / name).is_file()
        except (OSError, ValueError):
            return False

    def file(self, name: str) -> str:
        """Return an imported file name for the control file.

        Absolute names outside of both folders stay.
        """
        within = any(f"{name}/".startswith(f"{folder}/") for folder in (self.source, self.control))
        if os.path.isabs(name) and not within:
            return name
        if self.source != self.control or within:
            name = os.path.relpath(self.source / name, self.control)
        # only a control file expands "~"
        return f"./{name}" if name.startswith("~") else name

    def executable(self, name: str) -> str:
        """Return the name of an executable file, with a slash so that PATH is not searched."""
        name = self.file(name)
        return name if "/" in name else f"./{name}"


@dataclass
class Entrant:
    """A player of an imported match with the arguments of Player(…)."""

    code: str
    name: str
    command: list[str]
    arguments: dict[str, Any] = field(default_factory=dict)

    def call(self) -> Call:
        """Return Player(…)."""
        first, *others = self.command
        # splitting a text like a shell must not change it
        is_plain = first.isascii() and first.isprintable() and not set(first) & set(" \"'\\#")
        command = first if is_plain and not others else self.command
        arguments = {k: v for k, v in self.arguments.items() if v not in (None, {})}
        return Call("Player", (command,), arguments)


@dataclass
class Match:
    """An imported match or tune.

    origin     the imported material, named at the head of the control file
    settings   by name, in the order of the file; `comments` stand before them
    notes      ignored settings
    different  differences from the other program
    assumed    settings that the material does not have
    parallel   games at a time, None if the material does not say
    simulate   arguments of the action `simulate` for the material's own simulation, or ""
    """

    origin: str
    type_name: str = "playoff"
    game: str = "chess"
    description: str = ""
    entrants: list[Entrant] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    parallel: int | None = None
    simulate: str = ""

    def note(self, text: str) -> None:
        """Add an ignored setting, once."""
        if text not in self.notes:
            self.notes.append(text)

    def messages(self) -> list[str]:
        """Return a line for each ignored, different or assumed setting."""
        lines = [f"not imported: {text}" for text in self.notes]
        lines += [f"different here: {text}" for text in self.different]
        return lines + [f"assumed: {text}" for text in self.assumed]

    def enter(self, name: str, command: list[str], arguments: dict[str, Any]) -> None:
        """Add a player with a code for its name or its executable."""
        code = identifier(name or os.path.basename(command[0]), self.codes())
        self.entrants.append(Entrant(code, name, command, arguments))

    def codes(self) -> list[str]:
        """Return the players' codes."""
        return [entrant.code for entrant in self.entrants]

    def render(self, name: str) -> str:
        """Return the control file.  `name` is its name in comments."""
        # a name from the command line must not look like a declared encoding
        head = [comment("Written by `ringmaster import`.  Read it, then:")]
        shown = printable(name) if name.isascii() else "FILE"
        head += [
            "#",
            f"#   ringmaster {shown} check",
            *([f"#   ringmaster {shown} plan"] if self.type_name == "spsa" else ()),
            *([f"#   ringmaster {shown} simulate {self.simulate}"] if self.simulate else ()),
            f"#   ringmaster {shown} run",
            "#",
            comment(f"Imported from: {self.origin}", "    "),
        ]
        parts = ["\n".join(head)]
        if self.messages():
            parts.append("\n".join(comment(line, "    ") for line in self.messages()))
        parts.append(assignment("competition_type", self.type_name))
        if self.description:
            parts.append(assignment("description", self.description))
        parts.append(assignment("game", self.game))
        if self.parallel is not None:
            about = "# Games at a time, unless the command line has -j."
            parts.append(f"{about}\n{assignment('parallel', self.parallel)}")
        entrants = {entrant.code: entrant.call() for entrant in self.entrants}
        shared, calls = shared_settings(entrants)
        parts += [assignment(name, value) for name, value in shared.items()]
        parts.append("\n".join(self._players(calls)))
        for setting, value in self.settings.items():
            lines = [comment(self.comments[setting])] if setting in self.comments else []
            parts.append("\n".join([*lines, assignment(setting, value)]))
        return "\n\n".join(parts) + "\n"

    def _players(self, calls: Mapping[str, Call]) -> Iterator[str]:
        yield "players = {"
        for entrant in self.entrants:
            if entrant.name and entrant.name != entrant.code:
                yield f"    # {printable(entrant.name)}"
            head = f"    {literal(entrant.code)}: "
            yield f"{head}{literal(calls[entrant.code], 4, 95 - len(head))},"
        yield "}"
