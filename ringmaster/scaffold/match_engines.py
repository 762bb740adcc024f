"""The engines of a fastchess or cutechess-cli command line (-engine, -each), and of the
engines.json of Cute Chess.

engines.json has no games: the control file gets a clock and a tournament that are easy to change.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringmaster.control.python_text import Call
from ringmaster.control.source import printable
from ringmaster.errors import ParameterFileError, UsageError, is_text, nearest, shown
from ringmaster.model.players import OptionValue
from ringmaster.model.time_control import LONGEST
from ringmaster.parameter_files.text import Text
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

_TIMES = "hang_timeout and ready_timeout limit the waiting time"
_CLAIMS = "UCI engines claim nothing"
_STDERR = "the log has the engines' standard error"


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
#: Keys without effect here, with the reason; the others are of engines.json.
_IGNORED = {"trust": _CLAIMS, "tscale": _TIMES, "stderr": _STDERR}
_IGNORED_IN_LIST = {
    "stderrFile": _STDERR,
    "validateClaims": _CLAIMS,
    "debug": "`run --log-gtp` writes transcripts",
    "timeoutScale": _TIMES,
    "rating": "ratings are computed from the games",
    "variants": "`variant` is of all games",
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
                self.set_all(_listed(value, f"{self.what}: conf={shown(value)}", match), match)
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


# engines.json


def recognises(text: Text) -> bool:
    """Return whether a file may be a list of engines: a JSON list."""
    return text.text.lstrip().startswith("[")


def import_files(texts: Sequence[Text], places: Places) -> Match:
    """Return a tournament of the engines of one file.

    Raises ParameterFileError, and UsageError for fewer than two usable engines.
    """
    (text,) = texts
    match = Match(origin=text.name)
    for number, entry in enumerate(text.json, 1):
        if not isinstance(entry, dict):
            match.note(f"engine {number}: it is not an object with a command")
            continue
        engine = MatchEngine(number)
        title = _title(entry) or str(number)
        try:
            engine.set_all([*_entry_pairs(entry, title, match), ("tc", CLOCK)], match)
            engine.enter(match, places, True)
        except UsageError as error:
            match.note(f"engine {title}: {error}")
    codes = match.codes()
    if len(codes) < 2:
        notes = "".join(f"; {note}" for note in match.notes)
        raise UsageError(f"{text.name} has fewer than two usable engines{notes}")
    if len(codes) == 2:
        match.settings["number_of_games"] = 100
        match.settings["matchups"] = [Call("Matchup", tuple(codes))]
    else:
        match.type_name = "allplayall"
        match.settings |= {"competitors": codes, "rounds": 20}
        match.comments["rounds"] = "Games of each pairing."
    return match


def _listed(name: str, what: str, match: Match) -> Pairs:
    """Return an engine of the engines.json of cutechess-cli.  Raises UsageError."""
    for place in (Path("engines.json"), Path.home() / ".config/cutechess/engines.json"):
        try:
            entries = Text.read(place, str(place)).json
        except ParameterFileError:
            continue
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict) and entry.get("name") == name:
                try:
                    return _entry_pairs(entry, _title(entry), match)
                except UsageError as error:
                    raise UsageError(f"{what}: {error}") from None
    raise UsageError(
        f"{what} is in no engines.json (searched: this folder and ~/.config/cutechess); give cmd= "
        "instead"
    )


def _title(entry: dict[str, Any]) -> str:
    name = entry.get("name")
    return printable(name)[:60] if isinstance(name, str) else ""


#: The key of -engine for each field of engines.json.
_FIELDS = {
    **{"name": "name", "command": "cmd", "workingDirectory": "dir", "arguments": "arg"},
    **{"initStrings": "initstr", "ponder": "ponder", "whitepov": "whitepov", "restart": "restart"},
}


def _entry_pairs(entry: dict[str, Any], title: str, match: Match) -> Pairs:
    """Return an engine of the list as keys of -engine.  Raises UsageError for an unusable one."""
    protocol = entry.get("protocol")
    if str(protocol).lower() != "uci":
        raise UsageError(f"its protocol is {shown(protocol)}; expected uci")
    pairs: Pairs = []
    for key, value in entry.items():
        values = value if isinstance(value, list) else [value] if value else []
        if key in _FIELDS:
            pairs += [(_FIELDS[key], _word(item, key)) for item in values]
        elif key == "options":
            pairs += _option_pairs(values, title, match)
        elif values and key != "protocol":
            text = printable(", ".join(map(str, values)))[:200]
            why = _IGNORED_IN_LIST.get(key, "an unknown field")
            match.note(f"engine {title}: {printable(key)} {text} ({why})")
    return pairs


def _word(value: Any, key: str) -> str:
    if value is True:
        return "true"
    if not isinstance(value, str) or not is_text(value):
        raise UsageError(f"its {key} is {shown(value)}")
    return value


def _option_pairs(options: list[Any], title: str, match: Match) -> Pairs:
    """Return the options that differ from the engine's defaults."""
    pairs: Pairs = []
    for option in options:
        given = option if isinstance(option, dict) else {}
        name, value = given.get("name"), given.get("value")
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            match.note(f"engine {title}: an option without a printable name")
        elif given.get("type") == "button" or value is None or value == given.get("default"):
            continue
        elif isinstance(value, dict | list) or not text.isprintable():
            match.note(f"engine {title}: option {shown(name)} with the value {shown(value)}")
        else:
            pairs.append((f"option.{name}", text))
    return pairs
