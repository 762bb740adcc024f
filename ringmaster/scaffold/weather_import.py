"""weather-factory's other two files: spsa.json with its gains, and cutechess.json with
the engine and how its games are played."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ringmaster.errors import UsageError
from ringmaster.model.wording import is_text, shown
from ringmaster.scaffold.match import Match, Places
from ringmaster.scaffold.text import Call

_GAINS = ("a", "c", "A", "alpha", "gamma")


@dataclass
class WeatherSettings:
    """What was found in files that are not the parameters; `names` are theirs."""

    names: set[str] = field(default_factory=set)
    gains: dict[str, float] = field(default_factory=dict)
    play: dict[str, Any] = field(default_factory=dict)

    def apply(self, match: Match, places: Places) -> None:
        """Write the settings into a tune.  Raises UsageError."""
        for name, value in self.gains.items():
            if name in _GAINS:
                match.settings[name] = value
            else:
                match.note(f"{name} = {value!r} of spsa.json")
        engine, book = self._text("engine"), self._text("book")
        if engine:
            # it looks for both in a folder of that name
            match.entrants[0].command = [places.executable(f"tuner/{engine}")]
        time = self._number("tc")
        if time is not None:
            match.entrants[0].arguments["time_control"] = f"{time:g}+{time / 100:g}"
        if "hash" in self.play:
            match.entrants[0].arguments["options"] = {"Hash": int(self._number("hash") or 1)}
        if book:
            match.settings["openings"] = Call(
                "Openings", (places.file(f"tuner/{book}"),), {"order": "random"}
            )
        games = self._number("games")
        if games is not None:
            match.settings["games_per_iteration"] = int(games)
        threads = self._number("threads")
        match.parallel = None if threads is None else int(threads)
        for name, value in self.play.items():
            if name not in ("engine", "book", "tc", "hash", "games", "threads"):
                match.note(f"{shown(name)}: {shown(value)} of cutechess.json")

    def _text(self, name: str) -> str:
        value = self.play.get(name, "")
        if not isinstance(value, str) or not is_text(value) or not value.isprintable():
            raise UsageError(f"import: {name} {shown(value)} of cutechess.json is not a file name")
        return value

    def _number(self, name: str) -> float | None:
        value = self.play.get(name)
        if value is None:
            return None
        sound = isinstance(value, int | float) and not isinstance(value, bool)
        if not sound or not math.isfinite(value) or not 0 < value < 1e9:
            raise UsageError(f"import: {name} {shown(value)} of cutechess.json is not a number")
        return float(value)


def settings_among(files: Mapping[str, bytes]) -> WeatherSettings:
    """Return the settings among files, which are known by what is in them."""
    found = WeatherSettings()
    for name, data in files.items():
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            continue
        if not isinstance(content, dict) or any(isinstance(v, dict) for v in content.values()):
            continue
        if {"a", "c", "A"} <= content.keys():
            for key, value in content.items():
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise UsageError(f"import: {key} {shown(value)} of {name} is not a number")
            found.gains = content
            found.names.add(name)
        elif {"engine", "games", "tc"} <= content.keys():
            found.play = content
            found.names.add(name)
    return found
