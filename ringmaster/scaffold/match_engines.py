"""The engines of a fastchess or cutechess-cli command line (-engine, -each), and of the
engines.json of Cute Chess.

engines.json has no games: the control file gets a clock and a tournament that are easy to change.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringmaster.control.python_text import Call
from ringmaster.control.source import printable
from ringmaster.errors import UsageError, is_text, nearest, shown
from ringmaster.model.players import OptionValue
from ringmaster.scaffold.control_file import Match, Places
from ringmaster.scaffold.foreign_values import (
    choice,
    command_words,
    integer,
    option_value,
    real,
    seconds,
    time_control,
    truth,
    words_of,
)


def _verbatim(text: str, what: str) -> str:
    return text


def _restart(text: str, what: str) -> str | None:
    return None if choice(text, what, ("auto", "on", "off")) == "auto" else text


#: Keys of -engine and -each: the field of MatchEngine, and the conversion of the text.
_FIELDS: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "cmd": ("command", _verbatim),
    "dir": ("directory", _verbatim),
    "name": ("name", _verbatim),
    "args": ("arguments", words_of),
    "tc": ("control", time_control),
    "st": ("move_time", seconds),
    "nodes": ("nodes", lambda text, what: integer(text, what, 1)),
    "depth": ("depth", lambda text, what: integer(text, what, 1, 10**6)),
    "plies": ("depth", lambda text, what: integer(text, what, 1, 10**6)),
    "timemargin": ("margin", lambda text, what: integer(text, what, 0, 10**8) / 1000),
    "restart": ("restart", _restart),
    "ponder": ("ponder", lambda text, what: not text or truth(text, what)),
    "whitepov": ("white_view", lambda text, what: True),
    "book": ("book", _verbatim),
    "bookdepth": ("book_depth", lambda text, what: integer(text, what, 1, 1000)),
}
#: Keys without effect here, with the reason.
_IGNORED = {
    "trust": "UCI engines claim nothing",
    "tscale": "hang_timeout and ready_timeout limit the waiting time",
    "stderr": "the log has the engines' standard error",
}
_KEYS = (*_FIELDS, "arg", "conf", "proto", "initstr", *_IGNORED)
#: Fields of engines.json without effect here, with the reason.
_IGNORED_IN_LIST = {
    "stderrFile": "the log has the engines' standard error",
    "validateClaims": "UCI engines claim nothing",
    "debug": "`run --log-gtp` writes transcripts",
    "timeoutScale": "hang_timeout and ready_timeout limit the waiting time",
    "rating": "ratings are computed from the games",
}
_FIELDS_IN_LIST = (
    *("protocol", "arguments", "ponder", "restart", "whitepov", "variants", "initStrings"),
    "options",
)


@dataclass
class MatchEngine:
    """One engine.

    margin  in seconds
    book    a Polyglot book of its own
    """

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
        """The engine's description in messages."""
        name = self.name or os.path.basename(self.command)
        return f"-engine {self.number}" + (f" ({printable(name)[:60]})" if name else "")

    @property
    def has_clock(self) -> bool:
        """Whether the margin has a meaning."""
        return self.control is not None or self.move_time is not None

    def set_all(self, pairs: list[tuple[str, str]], match: Match) -> None:
        """Set the keys of -engine or -each.  Raises UsageError."""
        for key, value in pairs:
            what = f"{self.what}: {key}"
            if key.startswith("option."):
                self._set_option(key.removeprefix("option."), value)
            elif key in _FIELDS:
                name, convert = _FIELDS[key]
                setattr(self, name, convert(value, what))
            elif key in _IGNORED:
                match.note(f"{key}{'=' if value else ''}{value} ({_IGNORED[key]})")
            elif key == "arg":
                self.arguments.append(value)
            elif key == "conf":
                self._set_from_list(value, match)
            elif key == "initstr":
                for line in value.replace("\\n", "\n").split("\n"):
                    self.set_by_startup_line(line, what)
            elif key != "proto":
                raise UsageError(
                    f"{self.what} has {shown(key)}; expected {nearest(key, _KEYS)} or option.NAME"
                )
            elif value != "uci":
                raise UsageError(
                    f"{what}: the protocol {shown(value)} cannot be imported; expected uci"
                )

    def set_by_startup_line(self, line: str, what: str) -> None:
        """Set an option by a `setoption` line.  Raises UsageError for any other line."""
        words = line.split()
        if not words:
            return
        if words[:2] != ["setoption", "name"] or "value" not in words[3:]:
            raise UsageError(f"{what}: {shown(line)} cannot be sent; only options can be set")
        at = words.index("value", 3)
        self._set_option(" ".join(words[2:at]), " ".join(words[at + 1 :]))

    def _set_option(self, name: str, value: str) -> None:
        if not name.strip() or not name.isprintable() or not (value.isprintable() or not value):
            raise UsageError(f"{self.what}: option {shown(name)} cannot be set to {shown(value)}")
        self.options[name] = option_value(value)

    def _set_from_list(self, name: str, match: Match) -> None:
        """Set everything from the engines.json of cutechess-cli."""
        for place in (Path("engines.json"), Path.home() / ".config/cutechess/engines.json"):
            try:
                entries = json.loads(place.read_bytes())
            except (OSError, ValueError, RecursionError):
                continue
            for entry in entries if isinstance(entries, list) else []:
                if isinstance(entry, dict) and entry.get("name") == name:
                    reason = _set_from_entry(self, entry, match)
                    if reason:
                        raise UsageError(f"{self.what}: conf={shown(name)}: {reason}")
                    return
        raise UsageError(
            f"{self.what}: conf={shown(name)} is in no engines.json (searched: this folder and "
            "~/.config/cutechess); give cmd= instead"
        )

    def words(self, places: Places, cutechess: bool) -> list[str]:
        """Return the command for the control file.  Raises UsageError."""
        command = self.command.strip()
        if not command:
            raise UsageError(f"{self.what} has no cmd")
        first, rest = command, list(self.arguments)
        if cutechess and not rest and not places.exists(os.path.join(self.directory, command)):
            # without arg=, cutechess-cli splits cmd
            first, *rest = command_words(command, f"{self.what}: cmd")
        inside = os.path.join(self.directory, first)
        if "/" in first or places.exists(inside):
            return [places.executable(inside), *rest]
        if places.exists(first) and shutil.which(first) is None:
            return [places.executable(first), *rest]
        return [f"./{first}" if first.startswith("~") else first, *rest]

    def enter(self, match: Match, places: Places, cutechess: bool) -> None:
        """Add the engine to the match as a player.  Raises UsageError."""
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


def margins(engines: list[MatchEngine], match: Match) -> Iterator[tuple[str, Any]]:
    """Yield the setting for a common margin, or set each player's own."""
    clocked = {engine.margin for engine in engines if engine.has_clock}
    if len(clocked) == 1:
        yield "margin", clocked.pop()
    elif clocked:
        for engine, entrant in zip(engines, match.entrants, strict=True):
            if engine.has_clock:
                entrant.arguments["margin"] = real(str(engine.margin), "timemargin")


# engines.json


def is_engine_list(data: bytes) -> bool:
    """Return whether a file may be a list of engines: a JSON list."""
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def import_engines(data: bytes, origin: str, places: Places) -> Match:
    """Return a tournament of the engines.  Raises UsageError for fewer than two usable engines."""
    try:
        entries = json.loads(data.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{origin} is not a list of engines: {error}") from None
    match = Match(origin=origin)
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            match.note(f"engine {number}: it is not an object with a command")
            continue
        engine = MatchEngine(number)
        reason = _set_from_entry(engine, entry, match)
        if not reason:
            try:
                engine.control = "10+0.1"
                engine.enter(match, places, True)
                continue
            except UsageError as error:
                reason = str(error)
        match.note(f"engine {_title(entry, number)}: {reason}")
    codes = match.codes()
    if len(codes) < 2:
        notes = "".join(f"; {note}" for note in match.notes)
        raise UsageError(f"{origin} has fewer than two usable engines{notes}")
    if len(codes) == 2:
        match.settings["number_of_games"] = 100
        match.settings["matchups"] = [Call("Matchup", tuple(codes))]
    else:
        match.type_name = "allplayall"
        match.settings["competitors"] = codes
        match.settings["rounds"] = 20
        match.comments["rounds"] = "Games of each pairing."
    return match


def _title(entry: dict[str, Any], number: int) -> str:
    name = entry.get("name")
    return printable(name)[:60] if isinstance(name, str) and name else str(number)


def _set_from_entry(engine: MatchEngine, entry: dict[str, Any], match: Match) -> str:
    """Set everything from an engine of the list; return why it is unusable, "" if it is usable."""
    title = _title(entry, engine.number)
    if str(entry.get("protocol")).lower() != "uci":
        return f"its protocol is {shown(entry.get('protocol'))}; expected uci"
    for key, value in entry.items():
        if key in ("name", "command", "workingDirectory"):
            if not isinstance(value, str) or not is_text(value):
                return f"its {key} is {shown(value)}"
        elif key in _IGNORED_IN_LIST:
            if value:
                match.note(f"engine {title}: {key} ({_IGNORED_IN_LIST[key]})")
        elif key not in _FIELDS_IN_LIST:
            match.note(f"engine {title}: unknown field {shown(key)}")
    engine.name = entry.get("name", "")
    engine.command = entry.get("command", "")
    engine.directory = entry.get("workingDirectory", "")
    arguments = entry.get("arguments") or []
    if not isinstance(arguments, list) or not all(
        isinstance(a, str) and is_text(a) for a in arguments
    ):
        return f"its arguments are {shown(arguments)}"
    engine.arguments = list(arguments)
    engine.ponder = entry.get("ponder") is True
    if entry.get("restart") in ("on", "off"):
        engine.restart = entry["restart"]
    engine.white_view = entry.get("whitepov") is True
    variants = entry.get("variants") or []
    if variants:
        names = variants if isinstance(variants, list) else [variants]
        match.note(f"engine {title}: variants ({printable(', '.join(map(str, names)))})"[:300])
    lines = entry.get("initStrings") or []
    try:
        for line in lines if isinstance(lines, list) else [lines]:
            engine.set_by_startup_line(str(line), "initStrings")
    except UsageError as error:
        return str(error)
    _set_options(engine, entry.get("options") or [], title, match)
    return ""


def _set_options(engine: MatchEngine, options: Any, title: str, match: Match) -> None:
    """Set the options that differ from the engine's defaults."""
    if not isinstance(options, list):
        match.note(f"engine {title}: its options are not a list")
        return
    for option in options:
        name = option.get("name") if isinstance(option, dict) else None
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            match.note(f"engine {title}: an option without a printable name")
            continue
        value = option.get("value")
        if option.get("type") == "button" or value is None or value == option.get("default"):
            continue
        fits = isinstance(value, bool | int | float) or (
            isinstance(value, str) and is_text(value) and (value.isprintable() or not value)
        )
        if not fits or (isinstance(value, float) and not math.isfinite(value)):
            match.note(f"engine {title}: option {shown(name)} with the value {shown(value)}")
            continue
        engine.options[name] = value
