"""Optuna Game Parameter Tuner's parameters: JSON ``{name: {default, min, max, step}}``,
with ``"type": "float"`` for what takes other than whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringmaster.model.wording import shown
from ringmaster.parameter_files.entries import (
    Entry,
    ParameterFile,
    ReadOptions,
    WriteOptions,
    plain,
)
from ringmaster.parameter_files.objects import count, fields, load_object, write_object
from ringmaster.parameter_files.reading import KINDS, Reading
from ringmaster.parameter_files.text import Text

FIELDS = ("default", "min", "max", "step")


def recognises(text: Text) -> int:
    """Return how many members are parameters of the format."""
    return count(text, lambda value: isinstance(value, dict) and "default" in value)


def read(text: Text, options: ReadOptions) -> ParameterFile:
    """Return what a file holds; `step` is a distance between values to try, and says
    nothing of a perturbation.  Raises ParameterFileError."""
    reading = Reading(text, options)
    for name, given in load_object(text).items():
        values = fields(reading, name, given, FIELDS, ("type",))
        if values is None:
            continue
        kind = given.get("type", "int")
        line = text.line_of(name)
        if kind not in KINDS:
            reading.refuse(line, f"{shown(name)}: type {shown(kind)} is unknown", "int or float")
            continue
        entry = Entry(
            name,
            values["default"],
            values["min"],
            values["max"],
            grid=values["step"],
            integer=KINDS[kind],
            line=line,
        )
        reading.add(entry, KINDS[kind])
    return reading.finish("optuna_tuner")


def write(entries: Sequence[Entry], options: WriteOptions) -> str:
    """Return the text of a file; what has no grid gets 1, or a hundredth of its range."""
    members: dict[str, Any] = {}
    for entry in entries:
        grid = entry.grid
        if grid is None:
            grid = 1.0 if entry.integer else (entry.maximum - entry.minimum) / 100
        numbers = (entry.start, entry.minimum, entry.maximum, grid)
        members[entry.code] = dict(zip(FIELDS, map(plain, numbers), strict=True))
        if not entry.integer:
            members[entry.code]["type"] = "float"
    return write_object(members)
