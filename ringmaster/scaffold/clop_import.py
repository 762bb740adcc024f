"""Import a .clop file: the control file tunes the same parameters with clop_tuner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringmaster.control.python_text import Call, Code, literal
from ringmaster.errors import shown
from ringmaster.parameter_files import Entry, Text, number, plain
from ringmaster.scaffold.control_file import Match


def add_clop(match: Match, entries: Sequence[Entry], text: Text, opponent: str) -> None:
    """Add parameters and settings of a .clop file to a match.

    opponent  code of the candidates' opponent
    """
    lines = []
    for entry in entries:
        arguments: dict[str, Any] = {
            "min": plain(entry.minimum),
            "max": plain(entry.maximum),
            **({"integer": True} if entry.integer else {}),
            **({"scale": "log"} if entry.scale == "log" else {}),
        }
        lines.append(f"    {literal(Call('Parameter', (entry.code,), arguments), 4, 91)},")
    match.type_name = "clop_tuner"
    match.settings["opponent"] = opponent
    match.settings["parameters"] = Code("\n".join(["[", *lines, "]"]))
    processors = 0
    for raw in text.lines:
        name, *values = raw.partition("#")[0].split() or [""]
        value = values[0] if values else ""
        if name == "Processor":
            processors += 1
        elif name == "H" and 0.1 <= (number(value) or 0) <= 100:
            match.settings["clop_H"] = float(value)
        elif name == "Correlations" and value in ("all", "none"):
            match.settings["correlations"] = value
        elif name == "Replications" and value.isdecimal() and int(value):
            match.settings["replications"] = int(value)
        elif name == "DrawElo":
            match.different.append("a draw is half a win; there is no DrawElo")
        elif name in ("H", "Correlations", "Replications", "Script", "StopOnError"):
            match.note(f"{name} {shown(' '.join(values))}")
    match.parallel = processors or None
    match.settings["number_of_games"] = None
    match.comments["number_of_games"] = "None: the tune ends when you stop it."
