"""SPSA Tuner's variables: ``name,start,min,max,c_end,R_end,simul_elo``.

Its README has the maximum before the minimum, as have the files that come with it;
its program reads the minimum first.  Where every line has the larger bound first,
the README's order is meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ringmaster.errors import UsageError
from ringmaster.model.wording import shown
from ringmaster.parameter_files.entries import Entry, ParameterFile, ReadOptions, WriteOptions
from ringmaster.parameter_files.reading import Reading, entry_of, fitting, table
from ringmaster.parameter_files.text import Text, number_text
from ringmaster.parameter_files.writing import numbers

COLUMNS = ("name", "start", "min", "max", "c_end", "r_end", "simul_elo")
#: What its program takes for a name.
_NAME = re.compile(r"[A-Za-z0-9_\[\]]+")


def recognises(text: Text) -> int:
    """Return how many lines are of the format."""
    return fitting(text, COLUMNS)


def read(text: Text, options: ReadOptions) -> ParameterFile:
    """Return what a file holds.  Raises ParameterFileError."""
    reading = Reading(text, options)
    rows = table(reading, COLUMNS)
    bounds = [(values["min"], values["max"]) for _, values in rows]
    swapped = bool(bounds) and all(low >= high for low, high in bounds)
    swapped = swapped and any(low > high for low, high in bounds)
    if swapped:
        reading.note(
            "every line has the larger bound first, as SPSA Tuner's README says; "
            "its program reads the smaller one first"
        )
    for row, values in rows:
        if swapped:
            values = {**values, "min": values["max"], "max": values["min"]}
        # the program rounds every value that it sends
        reading.add(entry_of(row, values), None)
    return reading.finish("spsa_tuner")


def write(entries: Sequence[Entry], options: WriteOptions) -> str:
    """Return the text of a file.  Raises UsageError for a name that it cannot have."""
    lines = []
    for entry in entries:
        if not _NAME.fullmatch(entry.code):
            raise UsageError(
                f"spsa_tuner: {shown(entry.code)} cannot be a name there; "
                "expected letters, digits, _, [ and ]"
            )
        cells = [*numbers(entry), number_text(entry.simul_elo or 0.0)]
        lines.append(",".join([entry.code, *cells]))
    return "".join(f"{line}\n" for line in lines)
