"""weather-factory's parameters: JSON ``{name: {value, min_value, max_value, step}}``.

Its gains are the same for all parameters, in units of `step`, and go on for ever; at
the end of a tune of N games

    c_end = step·c·N^−γ        r_end = (a/(N+A)^α) / (c·N^−γ)²
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ringmaster.parameter_files.entries import (
    Entry,
    ParameterFile,
    ReadOptions,
    WriteOptions,
    plain,
)
from ringmaster.parameter_files.objects import count, fields, load_object, write_object
from ringmaster.parameter_files.reading import Reading
from ringmaster.parameter_files.text import Text

FIELDS = ("value", "min_value", "max_value", "step")
#: What it takes where nothing else is said.
ALPHA, GAMMA, A_CONSTANT, A_GAIN, C_GAIN = 0.601, 0.102, 100_000, 1.0, 1.0
#: Games of a tune whose length nobody said.
GAMES = 100_000


def gains(games: int) -> tuple[float, float]:
    """Return c_end, in units of `step`, and r_end of a tune of so many games."""
    c = C_GAIN * math.pow(games, -GAMMA)
    return c, A_GAIN / math.pow(games + A_CONSTANT, ALPHA) / c**2


def recognises(text: Text) -> int:
    """Return how many members are parameters of the format."""
    return count(text, lambda value: isinstance(value, dict) and "min_value" in value)


def read(text: Text, options: ReadOptions) -> ParameterFile:
    """Return what a file holds.  Raises ParameterFileError."""
    reading = Reading(text, options)
    games = GAMES if options.games is None else options.games
    c, r_end = gains(games)
    if options.games is None:
        reading.note(f"c_end and r_end are those of {GAMES} games, since no number was given")
    for name, given in load_object(text).items():
        values = fields(reading, name, given, FIELDS)
        if values is not None:
            entry = Entry(
                name,
                values["value"],
                values["min_value"],
                values["max_value"],
                c_end=values["step"] * c,
                r_end=r_end,
                step=values["step"],
                line=text.line_of(name),
            )
            # it rounds every value that it sends
            reading.add(entry, None)
    return reading.finish("weather_factory")


def write(entries: Sequence[Entry], options: WriteOptions) -> str:
    """Return the text of a file; what has no step gets it from its c_end."""
    c, _ = gains(GAMES if options.games is None else options.games)
    members = {}
    for entry in entries:
        step = entry.gains()[0] / c if entry.step is None else entry.step
        values = (entry.start, entry.minimum, entry.maximum, step)
        members[entry.code] = dict(zip(FIELDS, map(plain, values), strict=True))
    return write_object(members)
