"""The formats of parameter files, and the recognition of a file's format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ringmaster.errors import ParameterFileError, UsageError, nearest, shown
from ringmaster.parameter_files import ranges, tables
from ringmaster.parameter_files.entries import Entry, ParameterFile
from ringmaster.parameter_files.text import Text


@dataclass(frozen=True)
class Format:
    """A format of parameter files.

    line        a line of a file, or the shape of its JSON, for messages
    recognises  returns the number of fitting lines (members, of JSON)
    read        adds the parameters of a file; raises ParameterFileError
    write       returns the text; raises UsageError for values that the format cannot have
    assumes     required fields of an Entry; missing ones get a default
    """

    line: str
    recognises: Callable[[Text], int]
    read: Callable[[ParameterFile], None]
    write: Callable[[Sequence[Entry], int | None], str]
    assumes: tuple[str, ...] = ()


def _table(name: str, line: str, assumes: tuple[str, ...] = ("c_end", "r_end")) -> Format:
    fits, write = partial(tables.fits, name), partial(tables.write, name)
    return Format(line, fits, tables.read, write, assumes)


FORMATS: dict[str, Format] = {
    "spsa_tuner": _table("spsa_tuner", "name,start,min,max,c_end,R_end,simul_elo (SPSA Tuner)"),
    "fishtest": _table("fishtest", "name,start,min,max,c_end,r_end (fishtest)"),
    "openbench": _table("openbench", "name, int|float, value, min, max, c_end, r_end (OpenBench)"),
    "openbench_values": _table("openbench_values", "name, value (OpenBench's output)", ()),
    "weather_factory": _table(
        "weather_factory",
        'JSON {"name": {"value", "min_value", "max_value", "step"}} (weather-factory)',
        ("c_end",),
    ),
    "yaneuraou": _table("yaneuraou", "name,type,v,min,max,step,delta (YaneuraOu's .params)"),
    "clop": Format(
        "LinearParameter|IntegerParameter|… name min max (CLOP)",
        ranges.recognises_clop,
        ranges.read_clop,
        ranges.write_clop,
    ),
    "chess_tuning_tools": Format(
        'JSON {"name": "Real(low, high)" or "Integer(low, high)"} (chess-tuning-tools)',
        ranges.recognises_ctt,
        ranges.read_ctt,
        ranges.write_ctt,
    ),
    "optuna_tuner": _table(
        "optuna_tuner",
        'JSON {"name": {"default", "min", "max", "step"}} (Optuna Game Parameter Tuner)',
        (),
    ),
}


def format_named(name: str) -> Format:
    """Return a format.  Raises UsageError for an unknown name."""
    if name not in FORMATS:
        raise UsageError(
            f"there is no parameter file format {shown(name)}; "
            f"expected {nearest(name, list(FORMATS))}"
        )
    return FORMATS[name]


def recognised(text: Text) -> str | None:
    """Return the format that fits most lines, None if no line fits.

    Raises ParameterFileError if two formats fit equally well.
    """
    counts = {name: format.recognises(text) for name, format in FORMATS.items()}
    # both have the same columns
    del counts["openbench" if tables.is_yaneuraou(text) else "yaneuraou"]
    most = max(counts.values())
    fitting = [name for name, count in counts.items() if count == most > 0]
    if len(fitting) > 1:
        raise ParameterFileError(
            f"{text.name}: {' and '.join(fitting)} fit equally well; expected a file of one format"
        )
    return fitting[0] if fitting else None


def read_file(
    text: Text, format: str | None = None, games: int | None = None, integer: bool | None = None
) -> ParameterFile:
    """Read a file.

    format   None to recognise the format
    games    length of the tune, for formats with gains that depend on it
    integer  whether engines accept whole numbers only, None: as in the file

    Raises ParameterFileError, and UsageError for an unknown format.
    """
    name = format or recognised(text)
    if name is None:
        if not text.text.strip():
            raise ParameterFileError(f"{text.name}: the file has no parameters")
        if text.is_object:
            text.object  # noqa: B018 — raises an error with the line
        row = next((line for line in text.lines if line.strip()), "")
        kinds = "".join(f"\n        {format.line}" for format in FORMATS.values())
        raise ParameterFileError(
            f"{text.name}: no format of parameter files has lines such as {shown(row.strip())}",
            [f"    expected one of{kinds}"],
        )
    file = ParameterFile(text, name, games, integer, notes=list(text.notes))
    format_named(name).read(file)
    file.check()
    return file


def write_file(
    name: str, entries: Sequence[Entry], games: int | None = None
) -> tuple[str, list[str]]:
    """Return the text of a file, and a note for each assumption.

    games  length of the tune, None if unknown

    Raises UsageError for an unknown format, and for values that it cannot have.
    """
    format = format_named(name)
    if not entries:
        raise UsageError(f"{name}: there are no parameters to write")
    notes = []
    for field in format.assumes:
        without = [entry.code for entry in entries if getattr(entry, field) is None]
        if without:
            value = "a twentieth of the range" if field == "c_end" else "0.002"
            notes.append(f"{field} is {value} for parameters without one ({len(without)})")
    choices = [entry.code for entry in entries if entry.choices]
    if choices and name != "chess_tuning_tools":
        raise UsageError(f"{name}: {choices[0]} is a choice, which the format cannot have")
    if name == "yaneuraou" and any(tables.rounded_otherwise(e) and e.start < -0.5 for e in entries):
        notes.append(tables.ROUNDING)
    return format.write(entries, games), notes
