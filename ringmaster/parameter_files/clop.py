"""CLOP's parameters: ``LinearParameter|IntegerParameter|GammaParameter|
IntegerGammaParameter name min max``, alone or among the other lines of a ``.clop`` file.

Gamma parameters are on a logarithmic scale.  No value to start from is given: the
middle of the range is, on its scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ringmaster.errors import UsageError
from ringmaster.model.wording import nearest, shown
from ringmaster.parameter_files.entries import Entry, ParameterFile, ReadOptions, WriteOptions
from ringmaster.parameter_files.reading import Reading
from ringmaster.parameter_files.text import Text, name_problem, number, number_text

#: Whether integer, and on a logarithmic scale, by the first word of a line.
KINDS = {
    "LinearParameter": (False, False),
    "IntegerParameter": (True, False),
    "GammaParameter": (False, True),
    "IntegerGammaParameter": (True, True),
}
#: The other lines of a .clop file.
_SETTINGS = (
    *("Name", "Script", "Processor", "Replications", "DrawElo", "H", "Correlations"),
    "StopOnError",
)


def recognises(text: Text) -> int:
    """Return how many lines are parameters of the format."""
    return sum(_words(raw)[:1] in ([kind] for kind in KINDS) for raw in text.lines)


def _words(raw: str) -> list[str]:
    return raw.partition("#")[0].split()


def read(text: Text, options: ReadOptions) -> ParameterFile:
    """Return what a file holds.  Raises ParameterFileError."""
    reading = Reading(text, options)
    passed: dict[str, None] = {}
    for line, raw in enumerate(text.lines, 1):
        words = _words(raw)
        if not words:
            continue
        kind = words[0]
        if kind in _SETTINGS:
            passed[kind] = None
        elif kind not in KINDS:
            expected = nearest(kind, [*KINDS, *_SETTINGS])
            reading.refuse(line, f"{shown(kind)} is no word that begins a line", expected)
        else:
            _take(reading, line, words, raw.partition("#")[2].strip())
    if passed:
        reading.note(f"only the parameters are read, not {', '.join(passed)}")
    if reading.entries:
        reading.note("each parameter starts in the middle of its range")
    return reading.finish("clop")


def _take(reading: Reading, line: int, words: list[str], comment: str) -> None:
    integer, logarithmic = KINDS[words[0]]
    expected = f"{words[0]} NAME MIN MAX"
    if len(words) != 4:
        reading.refuse(line, f"it has {len(words)} words", expected)
        return
    low, high = number(words[2]), number(words[3])
    if low is None or high is None:
        wrong = words[2] if low is None else words[3]
        reading.refuse(line, f"{shown(wrong)} is not a finite number", expected)
        return
    reading.add(
        Entry(
            words[1],
            middle(low, high, integer, logarithmic),
            low,
            high,
            integer=integer,
            scale="log" if logarithmic else "linear",
            comment=comment,
            line=line,
        ),
        integer,
    )


def middle(low: float, high: float, integer: bool, logarithmic: bool) -> float:
    """Return the middle of a range, the geometric one on a logarithmic scale."""
    if logarithmic and 0 < low <= high:
        value = math.sqrt(low) * math.sqrt(high)
    else:
        value = low / 2 + high / 2
    value = float(math.floor(value + 0.5)) if integer and abs(value) < 2**53 else value
    return min(max(value, min(low, high)), max(low, high))


def write(entries: Sequence[Entry], options: WriteOptions) -> str:
    """Return the lines of the parameters.  Raises UsageError for a name that they
    cannot have."""
    lines = []
    for entry in entries:
        if name_problem(entry.code) or " " in entry.code or "#" in entry.code:
            raise UsageError(
                f"clop: {shown(entry.code)} cannot be a name there, with a space or a #"
            )
        kind = {value: key for key, value in KINDS.items()}[entry.integer, entry.scale == "log"]
        bounds = f"{number_text(entry.minimum)} {number_text(entry.maximum)}"
        lines.append(f"{kind} {entry.code} {bounds}\n")
    return "".join(lines)
