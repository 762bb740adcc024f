"""YaneuraOu's ``.params``: ``name,type,v,min,max,step,delta``, each line with a
``//comment`` or ``[[NOT USED]]`` after it if need be.

The columns are OpenBench's; step is c_end, and delta is r_end.  v is θ, also where
engines take whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from ringmaster.parameter_files.entries import Entry, ParameterFile, ReadOptions, WriteOptions
from ringmaster.parameter_files.openbench import COLUMNS
from ringmaster.parameter_files.reading import Reading, entry_of, fitting, table
from ringmaster.parameter_files.text import NOT_USED, Text
from ringmaster.parameter_files.writing import columns_name, numbers

#: Its difference to rounding to the nearest (C's conversion to int cuts off towards 0).
ROUNDING = "YaneuraOu's script plays int(v + 0.5), so -45 as -44"


def rounded_otherwise(entry: Entry) -> bool:
    """Return whether YaneuraOu's script may round values of a parameter otherwise."""
    return entry.integer and entry.minimum < 0 and not entry.not_used


def recognises(text: Text) -> int:
    """Return how many lines are of the format."""
    return fitting(text, COLUMNS)


def is_marked(text: Text) -> bool:
    """Whether something tells a file from one of OpenBench: its name, a comment, or
    a parameter that is not used."""
    named = text.name.lower().endswith(".params")
    return named or any(row.not_used or "//" in row.raw for row in text.rows)


def read(text: Text, options: ReadOptions) -> ParameterFile:
    """Return what a file holds.  Raises ParameterFileError."""
    reading = Reading(text, options)
    for row, values in table(reading, COLUMNS, marks=True):
        reading.add(entry_of(row, values), values["type"])
    unused = [entry.code for entry in reading.entries if entry.not_used]
    if unused:
        names = ", ".join(unused[:5]) + (", …" if len(unused) > 5 else "")
        reading.note(
            f"marked as not used, so neither tuned nor given to engines: {names} ({len(unused)})"
        )
    return reading.finish("yaneuraou")


def write(entries: Sequence[Entry], options: WriteOptions) -> str:
    """Return the text of a file.  Raises UsageError for a name that it cannot have."""
    lines = []
    for entry in entries:
        kind = "int" if entry.integer else "float"
        line = ",".join([columns_name("yaneuraou", entry), kind, *numbers(entry)])
        if entry.comment:
            line += f" // {' '.join(entry.comment.replace(NOT_USED, '').split())}"
        lines.append(line + (f" {NOT_USED}" if entry.not_used else ""))
    return "".join(f"{line}\n" for line in lines)
