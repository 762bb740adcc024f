"""An imported match: its players, settings, and what could not be taken over; and
the control file that it becomes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringmaster.scaffold.text import Call, assignment, comment, identifier, literal, printable


@dataclass(frozen=True)
class Places:
    """Where relative file names start: `given` in what is imported, `control` in
    the control file; both absolute."""

    given: Path
    control: Path

    def exists(self, name: str) -> bool:
        """Whether a file of that name is there, as the names are given."""
        try:
            return (self.given / name).is_file()
        except (OSError, ValueError):
            return False

    def file(self, name: str) -> str:
        """Return a file name as the control file has to write it."""
        if os.path.isabs(name):
            return name
        if self.given != self.control:
            name = os.path.relpath(self.given / name, self.control)
        # a control file understands "~", the others do not
        return f"./{name}" if name.startswith("~") else name

    def executable(self, name: str) -> str:
        """Return the name of an executable file; without a slash it would be
        looked for on PATH."""
        name = self.file(name)
        return name if "/" in name else f"./{name}"


@dataclass
class Entrant:
    """A player of an imported match; `arguments` are those of Player(…)."""

    code: str
    name: str
    command: list[str]
    arguments: dict[str, Any] = field(default_factory=dict)

    def call(self) -> Call:
        """Return Player(…)."""
        plain = len(self.command) == 1 and " " not in self.command[0]
        command = self.command[0] if plain and not _needs_quoting(self.command[0]) else self.command
        given = {k: v for k, v in self.arguments.items() if v not in (None, {})}
        return Call("Player", (command,), given)


def _needs_quoting(word: str) -> bool:
    """Whether a command of one word would be another one as a string, which is
    split as a shell does."""
    return any(c in word for c in "\"'\\#") or not word.isprintable() or not word.isascii()


@dataclass
class Match:
    """What a control file is made of.

    origin    what it was made from, told at its head
    settings  by name, in the order of the file; `comments` stand before them
    notes     what was not taken over
    different what is done otherwise here, though nothing was asked for
    assumed   what the source does not say
    parallel  games at a time, None if it was not said
    simulate  arguments of the action `simulate` that stand for the source's own
              simulation, "" without one
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
        """Remember once what was not taken over."""
        if text not in self.notes:
            self.notes.append(text)

    def told(self) -> list[str]:
        """Return what has to be said of the import, one line each."""
        lines = [f"not taken over: {text}" for text in self.notes]
        lines += [f"different here: {text}" for text in self.different]
        return lines + [f"assumed: {text}" for text in self.assumed]

    def enter(self, name: str, command: list[str], arguments: dict[str, Any]) -> None:
        """Add a player; its code is made from its name or its executable."""
        taken = [entrant.code for entrant in self.entrants]
        code = identifier(name or os.path.basename(command[0]), taken)
        self.entrants.append(Entrant(code, name, command, arguments))

    def codes(self) -> list[str]:
        """Return the players' codes."""
        return [entrant.code for entrant in self.entrants]

    def render(self, name: str) -> str:
        """Return the control file; `name` is what its comments call it."""
        # a name from the command line must not look like a declared encoding
        head = [comment("Made by `ringmaster import`.  Look it through, then:")]
        shown = printable(name) if name.isascii() else "FILE"
        head += [
            "#",
            f"#   ringmaster {shown} check",
            *([f"#   ringmaster {shown} plan"] if self.type_name == "spsa" else ()),
            *([f"#   ringmaster {shown} simulate {self.simulate}"] if self.simulate else ()),
            f"#   ringmaster {shown} run",
            "#",
            comment(f"It was made from: {self.origin}", "    "),
        ]
        parts = ["\n".join(head)]
        if self.told():
            parts.append("\n".join(comment(line, "    ") for line in self.told()))
        parts.append(assignment("competition_type", self.type_name))
        if self.description:
            parts.append(assignment("description", self.description))
        parts.append(assignment("game", self.game))
        if self.parallel is not None:
            about = "# Games at a time; -j of the command line comes first."
            parts.append(f"{about}\n{assignment('parallel', self.parallel)}")
        parts.append("\n".join(self._players()))
        for setting, value in self.settings.items():
            lines = [comment(self.comments[setting])] if setting in self.comments else []
            parts.append("\n".join([*lines, assignment(setting, value)]))
        return "\n\n".join(parts) + "\n"

    def _players(self) -> Iterator[str]:
        yield "players = {"
        for entrant in self.entrants:
            if entrant.name and entrant.name != entrant.code:
                yield f"    # {printable(entrant.name)}"
            head = f"    {literal(entrant.code)}: "
            yield f"{head}{literal(entrant.call(), 4, 95 - len(head))},"
        yield "}"
