"""What the writers of parameter files share."""

from __future__ import annotations

from ringmaster.errors import UsageError
from ringmaster.model.wording import shown
from ringmaster.parameter_files.entries import Entry
from ringmaster.parameter_files.text import name_problem, number_text


def columns_name(format: str, entry: Entry) -> str:
    """Return a name as a column.  Raises UsageError for one that would be read as
    something else."""
    name = entry.code
    problem = name_problem(name)
    if not problem and any(sign in name for sign in (",", '"', "//", " #", "[[")):
        problem = "it would be read as more than a name"
    if not problem and name.startswith(("#", "{")):
        problem = "it would not be read as a name"
    if problem:
        raise UsageError(f"{format}: {shown(name)} cannot be written: {problem}")
    return name


def numbers(entry: Entry) -> list[str]:
    """Return the columns start, min, max, c_end and r_end, the field's usual gains
    where it has none."""
    values = (entry.start, entry.minimum, entry.maximum, *entry.gains())
    return [number_text(value) for value in values]
