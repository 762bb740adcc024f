"""fishtest's parameters: ``name,start,min,max,c_end,r_end``."""

from __future__ import annotations

from collections.abc import Sequence

from ringmaster.parameter_files.entries import Entry, ParameterFile, ReadOptions, WriteOptions
from ringmaster.parameter_files.reading import Reading, entry_of, fitting, table
from ringmaster.parameter_files.text import Text
from ringmaster.parameter_files.writing import columns_name, numbers

COLUMNS = ("name", "start", "min", "max", "c_end", "r_end")


def recognises(text: Text) -> int:
    """Return how many lines are of the format."""
    return fitting(text, COLUMNS)


def read(text: Text, options: ReadOptions) -> ParameterFile:
    """Return what a file holds.  Raises ParameterFileError."""
    reading = Reading(text, options)
    for row, values in table(reading, COLUMNS):
        # its workers round every value that they send
        reading.add(entry_of(row, values), None)
    return reading.finish("fishtest")


def write(entries: Sequence[Entry], options: WriteOptions) -> str:
    """Return the text of a file.  Raises UsageError for a name that it cannot have."""
    lines = []
    for entry in entries:
        lines.append(",".join([columns_name("fishtest", entry), *numbers(entry)]))
    return "".join(f"{line}\n" for line in lines)
