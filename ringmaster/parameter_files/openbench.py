"""OpenBench's parameters, ``name, int|float, value, min, max, c_end, r_end``, and what
it shows of a finished tune, ``name, value``."""

from __future__ import annotations

from collections.abc import Sequence

from ringmaster.parameter_files.entries import Entry, ParameterFile, ReadOptions, WriteOptions
from ringmaster.parameter_files.reading import Reading, entry_of, fitting, table
from ringmaster.parameter_files.text import Text, number_text
from ringmaster.parameter_files.writing import columns_name, numbers

COLUMNS = ("name", "type", "start", "min", "max", "c_end", "r_end")
VALUES = ("name", "start")


def recognises(text: Text) -> int:
    """Return how many lines are of the format."""
    return fitting(text, COLUMNS)


def read(text: Text, options: ReadOptions) -> ParameterFile:
    """Return what a file holds.  Raises ParameterFileError."""
    reading = Reading(text, options)
    for row, values in table(reading, COLUMNS):
        reading.add(entry_of(row, values), values["type"])
    return reading.finish("openbench")


def write(entries: Sequence[Entry], options: WriteOptions) -> str:
    """Return the text of a file.  Raises UsageError for a name that it cannot have."""
    lines = []
    for entry in entries:
        kind = "int" if entry.integer else "float"
        name = columns_name("openbench", entry)
        lines.append(", ".join([name, kind, *numbers(entry)]))
    return "".join(f"{line}\n" for line in lines)


# Its output


def recognises_values(text: Text) -> int:
    """Return how many lines are a name and a value."""
    return fitting(text, VALUES)


def read_values(text: Text, options: ReadOptions) -> ParameterFile:
    """Return values with the ranges that Stockfish's TUNE gives where none is said:
    from 0 to twice the value.  Raises ParameterFileError."""
    reading = Reading(text, options)
    reading.note("there are no ranges in it: from 0 to twice each value is assumed")
    for row, values in table(reading, VALUES):
        value = values["start"]
        if value == 0:
            reading.refuse(
                row.number,
                f"{values['name']}: no range can be made of a value of 0",
                "a line of the tune's input, which has the ranges",
            )
            continue
        # floats are written with a point, integers rounded
        whole = value % 1 == 0 and "." not in (row.cells or ("", ""))[1]
        low, high = sorted((0.0, 2 * value))
        reading.add(
            Entry(
                values["name"],
                value,
                low,
                high,
                integer=whole,
                comment=row.comment,
                line=row.number,
            ),
            whole,
        )
    return reading.finish("openbench_values")


def write_values(entries: Sequence[Entry], options: WriteOptions) -> str:
    """Return a name and a value a line.  Raises UsageError for a name that it
    cannot have."""
    lines = []
    for entry in entries:
        value = number_text(entry.start)
        if not entry.integer and "." not in value:
            value += ".0"
        lines.append(f"{columns_name('openbench_values', entry)}, {value}\n")
    return "".join(lines)
