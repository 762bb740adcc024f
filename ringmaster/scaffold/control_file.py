"""Control files in the making: of `new`, and of an imported match.

Values become literals and texts become comments: foreign text cannot become code.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringmaster.competitions.common_settings import LIMIT_NAMES
from ringmaster.control.python_text import WIDTH, Call, assignment, literal
from ringmaster.control.source import printable


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


def identifier(name: str, used: Iterable[str]) -> str:
    """Return an unused player code for a name: letters, digits and + . _ stay, other characters
    become "-", and a used code gets a number."""
    # 50: codes stand in file names and in tables
    text = re.sub(r"[^\w+.]+", "-", name).strip("-.")[:50].strip("-.") or "engine"
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
        return os.path.isfile(self.source / name)

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

    def command(self, words: list[str]) -> list[str]:
        """Return a command; its program is on PATH, or a file if it has a slash."""
        return [self.executable(words[0]) if "/" in words[0] else words[0], *words[1:]]


@dataclass
class Entrant:
    """A player of a control file: code, name for a comment, command, arguments of Player(…)."""

    code: str
    name: str
    command: list[Any]
    arguments: dict[str, Any] = field(default_factory=dict)

    def text(self, shared: Mapping[str, Any]) -> str:
        """Return its line without arguments and options that all players have."""
        first, *others = self.command or [None]
        # splitting a text like a shell must not change it
        is_plain = isinstance(first, str) and first.isascii() and first.isprintable()
        is_plain = is_plain and not others and not set(first) & set(" \"'\\#")
        arguments = {name: v for name, v in self.arguments.items() if name not in shared}
        common = shared.get("options", {})
        options = self.arguments.get("options") or {}
        options = {name: v for name, v in options.items() if name not in common}
        arguments = {"options": options, **arguments}
        given = {name: v for name, v in arguments.items() if v not in (None, {})}
        words = (first if is_plain else self.command,) if self.command else ()
        call = Call("Player", words, given)
        head = f"    {literal(self.code)}: "
        return f"{head}{literal(call, 4, 95 - len(head))},"


@dataclass
class Draft:
    """A control file in the making.

    settings  by name, in the order of the file; `comments` stand before them
    parallel  games at a time, or None
    """

    type_name: str = "playoff"
    game: str = "chess"
    description: str = ""
    entrants: list[Entrant] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    parallel: int | None = None

    def enter(
        self, name: str, command: list[Any], arguments: dict[str, Any], code: str = ""
    ) -> str:
        """Add a player; return its code, by default for its name or its executable."""
        code = identifier(code or name or os.path.basename(command[0]), self.codes())
        self.entrants.append(Entrant(code, name, command, arguments))
        return code

    def codes(self) -> list[str]:
        return [entrant.code for entrant in self.entrants]

    def shared(self) -> dict[str, Any]:
        """Return limits and options that all of several players have."""
        if len(self.entrants) < 2:
            return {}
        players = [entrant.arguments for entrant in self.entrants]
        limits = [
            {k: v for k, v in p.items() if k in LIMIT_NAMES and v is not None} for p in players
        ]
        shared = limits[0] if all(each == limits[0] for each in limits) else {}
        first, *others = [player.get("options") or {} for player in players]
        common = {
            name: value
            for name, value in first.items()
            if all(name in each and literal(each[name]) == literal(value) for each in others)
        }
        return {**shared, **({"options": common} if common else {})}

    def parts(self, help_of: Callable[[str], str] = lambda name: "") -> list[str]:
        """Return the assignments of the file.

        help_of  returns the comment of a setting without one
        """
        shared = self.shared()
        general = {
            **{"competition_type": self.type_name, "description": self.description or None},
            **{"game": self.game, "parallel": self.parallel, **shared},
        }
        players, previous = ["players = {"], ""
        for entrant in self.entrants:
            if entrant.name not in ("", entrant.code, previous):
                players.append(f"    # {printable(entrant.name)}")
            players.append(entrant.text(shared))
            previous = entrant.name
        texts = {n: assignment(n, value) for n, value in general.items() if value is not None}
        texts["players"] = "\n".join([*players, "}"])
        texts |= {name: assignment(name, value) for name, value in self.settings.items()}
        explained = {name: self.comments.get(name) or help_of(name) for name in texts}
        return [
            f"{comment(explained[name])}\n{text}" if explained[name] else text
            for name, text in texts.items()
        ]


@dataclass
class Match(Draft):
    """An imported match or tune.

    origin     the imported material, named at the head of the control file
    notes      ignored settings
    different  differences from the other program
    assumed    settings that the material does not have
    simulate   arguments of the action `simulate` for the material's own simulation, or ""
    """

    origin: str = ""
    notes: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
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

    def render(self, name: str) -> str:
        """Return the control file.  `name` is its name in comments."""
        # a name from the command line must not look like a declared encoding
        shown = printable(name) if name.isascii() else "FILE"
        simulate = [f"simulate {self.simulate}"] if self.simulate else []
        actions = ["check", *(["plan"] if self.type_name == "spsa" else []), *simulate, "run"]
        head = [
            *("# Written by `ringmaster import`.  Read it, then:", "#"),
            *(f"#   ringmaster {shown} {action}" for action in actions),
            *("#", comment(f"Imported from: {self.origin}", "    ")),
        ]
        messages = [comment(line, "    ") for line in self.messages()]
        self.comments["parallel"] = "Games at a time, unless the command line has -j."
        parts = ["\n".join(head), *(["\n".join(messages)] if messages else []), *self.parts()]
        return "\n\n".join(parts) + "\n"
