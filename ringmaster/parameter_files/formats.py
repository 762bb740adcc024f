"""The formats of parameter files, and which one a file is of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ringmaster.errors import ParameterFileError, UsageError
from ringmaster.model.wording import nearest, shown
from ringmaster.parameter_files import (
    chess_tuning_tools,
    clop,
    fishtest,
    openbench,
    optuna_tuner,
    spsa_tuner,
    weather_factory,
    yaneuraou,
)
from ringmaster.parameter_files.entries import Entry, ParameterFile, ReadOptions, WriteOptions
from ringmaster.parameter_files.objects import load_object
from ringmaster.parameter_files.reading import cells_of
from ringmaster.parameter_files.text import Text, number


@dataclass(frozen=True)
class Format:
    """One source of parameter files.

    name        what users call it
    what        what it is, for messages: a line of such a file, or its shape
    recognises  how many of a text's lines (members, of JSON) have its shape
    read        what a text holds; raises ParameterFileError
    write       the text for entries; raises UsageError for what it cannot hold
    assumes     fields that it cannot do without, and that are assumed if need be
    rows        whether it has all of a file's rows and their values before rounding:
                those not used and comments, too
    """

    name: str
    what: str
    recognises: Callable[[Text], int]
    read: Callable[[Text, ReadOptions], ParameterFile]
    write: Callable[[Sequence[Entry], WriteOptions], str]
    assumes: tuple[str, ...] = ()
    rows: bool = False


_GAINS = ("c_end", "r_end")
FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format(
            "spsa_tuner",
            "name,start,min,max,c_end,R_end,simul_elo (SPSA Tuner)",
            spsa_tuner.recognises,
            spsa_tuner.read,
            spsa_tuner.write,
            _GAINS,
        ),
        Format(
            "fishtest",
            "name,start,min,max,c_end,r_end (fishtest)",
            fishtest.recognises,
            fishtest.read,
            fishtest.write,
            _GAINS,
        ),
        Format(
            "openbench",
            "name, int|float, value, min, max, c_end, r_end (OpenBench)",
            openbench.recognises,
            openbench.read,
            openbench.write,
            _GAINS,
        ),
        Format(
            "openbench_values",
            "name, value (OpenBench's output)",
            openbench.recognises_values,
            openbench.read_values,
            openbench.write_values,
        ),
        Format(
            "weather_factory",
            'JSON {"name": {"value", "min_value", "max_value", "step"}} (weather-factory)',
            weather_factory.recognises,
            weather_factory.read,
            weather_factory.write,
            ("c_end",),
        ),
        Format(
            "yaneuraou",
            "name,type,v,min,max,step,delta (YaneuraOu's .params)",
            yaneuraou.recognises,
            yaneuraou.read,
            yaneuraou.write,
            _GAINS,
            rows=True,
        ),
        Format(
            "clop",
            "LinearParameter|IntegerParameter|… name min max (CLOP)",
            clop.recognises,
            clop.read,
            clop.write,
        ),
        Format(
            "chess_tuning_tools",
            'JSON {"name": "Real(low, high)" or "Integer(low, high)"} (chess-tuning-tools)',
            chess_tuning_tools.recognises,
            chess_tuning_tools.read,
            chess_tuning_tools.write,
        ),
        Format(
            "optuna_tuner",
            'JSON {"name": {"default", "min", "max", "step"}} (Optuna Game Parameter Tuner)',
            optuna_tuner.recognises,
            optuna_tuner.read,
            optuna_tuner.write,
        ),
    )
}


def format_named(name: str) -> Format:
    """Return a format.  Raises UsageError for an unknown one."""
    if name not in FORMATS:
        raise UsageError(
            f"there is no parameter file format {shown(name)}; "
            f"expected {nearest(name, list(FORMATS))}"
        )
    return FORMATS[name]


def recognised(text: Text) -> str | None:
    """Return the format that most lines of a text have the shape of, None if there is
    no such line.  Raises ParameterFileError when two formats fit alike."""
    counts = {name: format.recognises(text) for name, format in FORMATS.items()}
    # the same columns with the same meaning: what they are told apart by is beside them
    del counts["openbench" if yaneuraou.is_marked(text) else "yaneuraou"]
    most = max(counts.values())
    if not most:
        return _nearly(text)
    fitting = [name for name, found in counts.items() if found == most]
    if len(fitting) > 1:
        raise ParameterFileError(
            f"{text.name}: {' and '.join(fitting)} fit alike; expected a file of one format"
        )
    return fitting[0]


def _nearly(text: Text) -> str | None:
    """Return the format of a table none of whose lines is sound, so that what is wrong
    with each can be told; None when nothing is like one."""
    if text.is_object or not text.rows:
        return None
    cells = max((cells_of(row) for row in text.rows), key=len)
    if sum(number(cell) is not None for cell in cells) < 3:
        return None
    if len(cells) == 6:
        return "fishtest"
    if len(cells) == 7:
        return "spsa_tuner" if number(cells[1]) is not None else "openbench"
    return None


def read_file(text: Text, format: str | None, options: ReadOptions) -> ParameterFile:
    """Return what a text holds.

    format  its format, None: the one that is recognised

    Raises ParameterFileError, and UsageError for an unknown format.
    """
    name = format or recognised(text)
    if name is None:
        if not text.text.strip():
            raise ParameterFileError(f"{text.name}: there are no parameters in it")
        if text.is_object:
            load_object(text)  # what is wrong with it is told by line
        row = next((line for line in text.lines if line.strip()), "")
        kinds = "".join(f"\n        {format.what}" for format in FORMATS.values())
        raise ParameterFileError(
            f"{text.name}: no format of parameter files has lines such as {shown(row.strip())}",
            [f"    expected one of{kinds}"],
        )
    return format_named(name).read(text, options)


def write_file(name: str, entries: Sequence[Entry], options: WriteOptions) -> tuple[str, list[str]]:
    """Return the text of a file, and what was assumed in it, a sentence each.

    Raises UsageError for an unknown format, and for what it cannot hold.
    """
    format = format_named(name)
    if not entries:
        raise UsageError(f"{name}: there are no parameters to write")
    notes = []
    for field in format.assumes:
        without = [entry.code for entry in entries if getattr(entry, field) is None]
        if without:
            value = "a twentieth of the range" if field == "c_end" else "0.002"
            notes.append(f"{field} is {value} where the tune has none ({len(without)})")
    choices = [entry.code for entry in entries if entry.choices]
    if choices and name != "chess_tuning_tools":
        raise UsageError(f"{name}: {choices[0]} is a choice, which the format does not have")
    if format.rows and any(yaneuraou.rounded_otherwise(e) and e.start < -0.5 for e in entries):
        notes.append(yaneuraou.ROUNDING)
    return format.write(entries, options), notes
