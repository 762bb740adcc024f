"""The engines of a fastchess or cutechess-cli command line (-engine, -each)."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ringmaster.control.source import printable
from ringmaster.errors import UsageError, nearest, shown
from ringmaster.model.players import OptionValue
from ringmaster.model.time_control import LONGEST
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import (
    Pairs,
    choice,
    command_words,
    integer,
    option_value,
    real,
    time_control,
    truth,
    words_of,
)

_SETTER = re.compile("setoption name (.+?) value(?: (.*))?")
#: A clock for engines without one.
CLOCK = "10+0.1"


def _verbatim(text: str, what: str) -> str:
    return text


def _plies(text: str, what: str) -> int:
    return integer(text, what, 1, 10**6)


#: Keys of -engine and -each: the argument of Player(…) or another name, and the conversion.
_VALUES: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "cmd": ("cmd", _verbatim),
    "dir": ("dir", _verbatim),
    "name": ("name", _verbatim),
    "args": ("args", words_of),
    "tc": ("time_control", time_control),
    "st": ("move_time", lambda text, what: real(text, what, 0, LONGEST)),
    "nodes": ("nodes", lambda text, what: integer(text, what, 1)),
    "depth": ("depth", _plies),
    "plies": ("depth", _plies),
    "timemargin": ("margin", lambda text, what: integer(text, what, 0, 10**8) / 1000),
    "restart": ("restart", lambda text, what: choice(text, what, "auto", "on", "off")),
    "ponder": ("ponder", lambda text, what: not text or truth(text, what) or None),
    "whitepov": ("score_pov", lambda text, what: "white"),
    "book": ("book", _verbatim),
    "bookdepth": ("bookdepth", lambda text, what: integer(text, what, 1, 1000)),
}
#: Keys without effect here, with the reason.
_IGNORED = {
    "trust": "UCI engines claim nothing",
    "tscale": "hang_timeout and ready_timeout limit the waiting time",
    "stderr": "the log has the engines' standard error",
}
_LIMITS = ("time_control", "move_time", "nodes", "depth")
#: Arguments of Player(…) that a key sets.
_ARGUMENTS = (*_LIMITS, "ponder", "score_pov", "restart")


@dataclass
class MatchEngine:
    """One engine.

    values  by the names of _VALUES
    """

    number: int
    values: dict[str, Any] = field(default_factory=dict)
    options: dict[str, OptionValue] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """The engine's description in messages."""
        name = self.values.get("name") or os.path.basename(self.values.get("cmd", ""))
        return f"-engine {self.number}" + (f" ({printable(name)[:60]})" if name else "")

    @property
    def margin(self) -> float | None:
        """Seconds it may exceed its clock, None without a clock."""
        limits = (self.values.get("time_control"), self.values.get("move_time"))
        return None if limits == (None, None) else self.values.get("margin", 0.0)

    @property
    def book(self) -> tuple[str, int | None]:
        """The engine's own Polyglot book, or "", with its moves."""
        return self.values.get("book", ""), self.values.get("bookdepth")

    def set_all(self, pairs: Pairs, match: Match) -> None:
        """Set the keys of -engine or -each.  Raises UsageError."""
        for key, value in pairs:
            what = f"{self.what}: {key}"
            if key.startswith("option."):
                self._set_option(key.removeprefix("option."), value)
            elif key in _VALUES:
                name, convert = _VALUES[key]
                self.values[name] = convert(value, what)
            elif key in _IGNORED:
                match.note(f"{key}{'=' if value else ''}{value} ({_IGNORED[key]})")
            elif key == "arg":
                self.values["args"] = [*self.values.get("args", ()), value]
            elif key == "conf":
                raise UsageError(f"{what}: an engines.json is not read; write the engine's cmd=")
            elif key == "initstr":
                for line in filter(str.strip, value.replace("\\n", "\n").split("\n")):
                    setter = _SETTER.fullmatch(" ".join(line.split()))
                    if setter is None:
                        message = f"{shown(line)} cannot be sent; only options can be set"
                        raise UsageError(f"{what}: {message}")
                    self._set_option(setter[1], setter[2] or "")
            elif key != "proto":
                expected = nearest(key, [*_VALUES, "arg", "conf", "proto", "initstr", *_IGNORED])
                raise UsageError(
                    f"{self.what} has {shown(key)}; expected {expected} or option.NAME"
                )
            elif value != "uci":
                raise UsageError(
                    f"{what}: the protocol {shown(value)} cannot be imported; expected uci"
                )

    def _set_option(self, name: str, value: str) -> None:
        if not name.strip() or not name.isprintable() or not value.isprintable():
            raise UsageError(f"{self.what}: option {shown(name)} cannot be set to {shown(value)}")
        self.options[name] = option_value(value)

    def _words(self, places: Places, cutechess: bool) -> list[str]:
        """Return the command for the control file.  Raises UsageError."""
        command = self.values.get("cmd", "").strip()
        if not command:
            raise UsageError(f"{self.what} has no cmd")
        folder = self.values.get("dir", "")
        first, rest = command, list(self.values.get("args", ()))
        if cutechess and not rest and not places.exists(os.path.join(folder, command)):
            # without arg=, cutechess-cli splits cmd
            first, *rest = command_words(command, f"{self.what}: cmd")
        inside = os.path.join(folder, first)
        if "/" in first or places.exists(inside):
            return [places.executable(inside), *rest]
        if places.exists(first) and shutil.which(first) is None:
            return [places.executable(first), *rest]
        return [f"./{first}" if first.startswith("~") else first, *rest]

    def enter(self, match: Match, places: Places, cutechess: bool) -> None:
        """Add the engine to the match as a player.  Raises UsageError."""
        words = self._words(places, cutechess)
        arguments = {name: self.values.get(name) for name in _ARGUMENTS}
        if arguments["time_control"] is not None and arguments["move_time"] is not None:
            raise UsageError(f"{self.what}: tc and st cannot be used together")
        if all(arguments[limit] is None for limit in _LIMITS):
            raise UsageError(
                f"{self.what}: nothing limits its moves; expected tc, st, nodes or depth"
            )
        folder = self.values.get("dir", "")
        cwd = places.file(folder) if folder not in ("", ".") else None
        given = {"cwd": cwd, "options": self.options, **arguments}
        match.enter(self.values.get("name", ""), words, given)
