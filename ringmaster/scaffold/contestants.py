"""The engines of a fastchess or cutechess-cli command line: what -engine and -each
say of them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringmaster.errors import UsageError
from ringmaster.model.players import OptionValue
from ringmaster.model.wording import nearest, shown
from ringmaster.scaffold.command_line import integer, real, seconds, time_control, truth
from ringmaster.scaffold.match import Match, Places
from ringmaster.scaffold.text import printable

#: Every key of -engine and -each beside option.NAME.
_KEYS = (
    "cmd",
    "dir",
    "arg",
    "args",
    "name",
    "conf",
    "proto",
    "tc",
    "st",
    "nodes",
    "depth",
    "plies",
    "timemargin",
    "restart",
    "ponder",
    "whitepov",
    "initstr",
    "trust",
    "tscale",
    "stderr",
    "book",
    "bookdepth",
)

#: Keys that are not taken over, and why nothing is lost.
_NOTED = {
    "trust": "UCI engines claim nothing",
    "tscale": "hang_timeout and ready_timeout say how long to wait",
    "stderr": "what engines print on standard error is in the log",
}


@dataclass
class Contestant:
    """One engine.  `margin` is in seconds, `book` a Polyglot book of its own."""

    number: int
    name: str = ""
    command: str = ""
    directory: str = ""
    arguments: list[str] = field(default_factory=list)
    options: dict[str, OptionValue] = field(default_factory=dict)
    control: str | None = None
    move_time: float | None = None
    nodes: int | None = None
    depth: int | None = None
    margin: float = 0.0
    restart: str | None = None
    ponder: bool = False
    white_view: bool = False
    book: str = ""
    book_depth: int | None = None

    @property
    def what(self) -> str:
        """How messages call it."""
        name = self.name or os.path.basename(self.command)
        return f"-engine {self.number}" + (f" ({printable(name)[:60]})" if name else "")

    def take(self, pairs: list[tuple[str, str]], match: Match, cutechess: bool) -> None:
        """Take what -engine or -each says.  Raises UsageError."""
        for key, value in pairs:
            if key.startswith("option."):
                self._option(key.removeprefix("option."), value)
            elif key in _NOTED:
                match.note(f"{key}{'=' if value else ''}{value} ({_NOTED[key]})")
            elif key in _KEYS:
                self._take_one(key, value, match, cutechess)
            else:
                raise UsageError(
                    f"{self.what} has {shown(key)}; expected {nearest(key, _KEYS)} or option.NAME"
                )

    def _take_one(self, key: str, value: str, match: Match, cutechess: bool) -> None:
        what = f"{self.what}: {key}"
        match key:
            case "cmd":
                self.command = value
            case "dir":
                self.directory = value
            case "arg":
                self.arguments.append(value)
            case "args":
                self.arguments = _split(value, what)
            case "name":
                self.name = value
            case "conf":
                self._configured(value, match)
            case "proto":
                if value != "uci":
                    raise UsageError(f"{what}: {shown(value)} is not spoken here, only uci")
            case "tc":
                self.control = time_control(value, what)
            case "st":
                self.move_time = seconds(value, what)
            case "nodes":
                self.nodes = integer(value, what, 1)
            case "depth" | "plies":
                self.depth = integer(value, what, 1, 10**6)
            case "timemargin":
                self.margin = integer(value, what, 0, 10**8) / 1000
            case "restart":
                if value not in ("auto", "on", "off"):
                    raise UsageError(f"{what}: {shown(value)} is not auto, on or off")
                self.restart = {"auto": None, "on": "on", "off": "off"}[value]
            case "ponder":
                self.ponder = not value or truth(value, what)
            case "whitepov":
                self.white_view = True
            case "book":
                self.book = value
            case "bookdepth":
                self.book_depth = integer(value, what, 1, 1000)
            case "initstr":
                for line in value.replace("\\n", "\n").split("\n"):
                    self.startup_line(line, what)

    def startup_line(self, line: str, what: str) -> None:
        """Take a line that is sent at startup: one that sets an option can be
        said otherwise.  Raises UsageError for any other."""
        words = line.split()
        if not words:
            return
        if words[:2] != ["setoption", "name"] or "value" not in words[3:]:
            raise UsageError(f"{what}: {shown(line)} cannot be sent; only options can be set")
        at = words.index("value", 3)
        self._option(" ".join(words[2:at]), " ".join(words[at + 1 :]))

    def _option(self, name: str, value: str) -> None:
        if not name.strip() or not name.isprintable() or not (value.isprintable() or not value):
            raise UsageError(f"{self.what}: option {shown(name)} cannot be set to {shown(value)}")
        self.options[name] = option_value(value)

    def _configured(self, name: str, match: Match) -> None:
        """Take an engine of the list that cutechess-cli would look into."""
        from ringmaster.scaffold.engine_list import take_entry

        for place in (Path("engines.json"), Path.home() / ".config/cutechess/engines.json"):
            try:
                entries = json.loads(place.read_bytes())
            except (OSError, ValueError, RecursionError):
                continue
            for entry in entries if isinstance(entries, list) else []:
                if isinstance(entry, dict) and entry.get("name") == name:
                    reason = take_entry(self, entry, match)
                    if reason:
                        raise UsageError(f"{self.what}: conf={shown(name)}: {reason}")
                    return
        raise UsageError(
            f"{self.what}: conf={shown(name)} is in no engines.json (looked for in this folder "
            "and in ~/.config/cutechess); give cmd= instead"
        )

    def words(self, places: Places, cutechess: bool) -> list[str]:
        """Return the command as the control file has to write it."""
        command = self.command.strip()
        if not command:
            raise UsageError(f"{self.what} has no cmd")
        first, rest = command, list(self.arguments)
        if cutechess and not rest and not places.exists(os.path.join(self.directory, command)):
            # without arg=, cutechess-cli takes the words after the first for arguments
            first, *rest = _split(command, f"{self.what}: cmd")
        inside = os.path.join(self.directory, first)
        if os.path.isabs(first):
            return [first, *rest]
        if "/" in first or places.exists(inside):
            return [places.executable(inside), *rest]
        if places.exists(first) and shutil.which(first) is None:
            return [places.executable(first), *rest]
        return [f"./{first}" if first.startswith("~") else first, *rest]

    def enter(self, match: Match, places: Places, cutechess: bool) -> None:
        """Become a player of the match.  Raises UsageError."""
        words = self.words(places, cutechess)
        if self.control is not None and self.move_time is not None:
            raise UsageError(f"{self.what}: tc and st cannot be used together")
        limits = (self.control, self.move_time, self.nodes, self.depth)
        if all(limit is None for limit in limits):
            raise UsageError(
                f"{self.what}: nothing limits its moves; expected tc, st, nodes or depth"
            )
        arguments: dict[str, Any] = {
            "cwd": places.file(self.directory) if self.directory not in ("", ".") else None,
            "options": self.options,
            "time_control": self.control,
            "move_time": self.move_time,
            "nodes": self.nodes,
            "depth": self.depth,
            "ponder": self.ponder or None,
            "score_pov": "white" if self.white_view else None,
            "restart": self.restart,
        }
        match.enter(self.name, words, arguments)

    @property
    def has_clock(self) -> bool:
        """Whether a margin means something to it."""
        return self.control is not None or self.move_time is not None


def option_value(text: str) -> OptionValue:
    """Return the value of an option as a control file shows it best; it is sent
    as the same text."""
    if text in ("true", "false"):
        return text == "true"
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 16 and str(int(text)) == text:
        return int(text)
    return text


def _split(text: str, what: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{what}: {shown(text)}: {error}") from None
    if not words and text.strip():
        raise UsageError(f"{what}: {shown(text)} is no command")
    return words


def margins(contestants: list[Contestant], match: Match) -> Iterator[tuple[str, Any]]:
    """Yield the setting for the margins of all, or give each player its own."""
    clocked = {c.margin for c in contestants if c.has_clock}
    if len(clocked) == 1:
        yield "margin", clocked.pop()
    elif clocked:
        for contestant, entrant in zip(contestants, match.entrants, strict=True):
            if contestant.has_clock:
                entrant.arguments["margin"] = real(str(contestant.margin), "timemargin")
