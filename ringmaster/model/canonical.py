"""Convert values to JSON data, so that the settings of two runs can be compared.

Plain data stand for themselves, tuples and sets are lists, and a number that JSON does not
know is a text.  Other values become a dictionary with the key "$":

    {"$": "Linear", "lower_bound": 0, …}   a record, or an object with attributes
    {"$": "Fraction", "text": "…"}         an object without attributes
    {"$": "function"}                      a function, a class, or another callable object

A function is judged by the values that it gives (`Competition.played_values`), so nothing of
it is stored.
"""

from __future__ import annotations

import enum
import json
import math
import os
from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec

#: Objects and containers that are converted; others are known by their type.
MOST_VALUES = 100_000
#: Levels of nesting that are converted.
DEEPEST = 64


def canonical(value: Any) -> Any:
    """Return `value` as JSON data, equal for equal values."""
    return _Conversion().data(value)


def tagged(kind: str, /, **content: Any) -> dict[str, Any]:
    """Return JSON data for a value that is no plain data."""
    return {"$": kind, **content}


def relative(path: str, directory: str) -> str:
    """Return an absolute path as "./…" or "." if it is in a directory, else unchanged."""
    folder = os.path.join(directory, "")
    if path == directory:
        return "."
    return f"./{path.removeprefix(folder)}" if directory and path.startswith(folder) else path


class _Conversion:
    """Conversion of one value with everything that it holds."""

    def __init__(self) -> None:
        #: Ids of the values around the current one.
        self._open: set[int] = set()
        self._left = MOST_VALUES

    def data(self, value: Any) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float | str) and not isinstance(value, enum.Enum):
            return _scalar(value)
        self._left -= 1
        if self._left < 0 or len(self._open) >= DEEPEST or id(value) in self._open:
            return tagged(type(value).__name__)
        self._open.add(id(value))
        try:
            return self._compound(value)
        except Exception:  # from any method of a class of the control file
            return tagged(type(value).__name__)
        finally:
            self._open.discard(id(value))

    def _compound(self, value: Any) -> Any:
        cls = type(value)
        if cls.__module__.startswith("ringmaster.") and hasattr(cls, "canonical"):
            content = value.canonical()
            if not isinstance(content, Mapping):
                return self.data(content)
            return {key: self.data(item) for key, item in content.items()}
        if isinstance(value, msgspec.Struct):
            return self._object(cls, msgspec.structs.asdict(value))
        if callable(value):
            return tagged("function")
        if isinstance(value, enum.Enum):
            return self._object(cls, {"name": value.name, "value": value.value})
        if isinstance(value, Mapping):
            return {_key(key): self.data(item) for key, item in value.items()}
        if isinstance(value, Set):
            return sorted(map(self.data, value), key=json.dumps)
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | range):
            return [self.data(item) for item in value]
        if cls.__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
            return self.data(value.tolist())
        if hasattr(value, "__dict__"):
            return self._object(cls, vars(value))
        text = repr(value)
        return tagged(cls.__name__) if " at 0x" in text else tagged(cls.__name__, text=text)

    def _object(self, cls: type, attributes: Mapping[str, Any]) -> dict[str, Any]:
        return tagged(cls.__name__, **{name: self.data(item) for name, item in attributes.items()})


def _scalar(value: int | float | str) -> int | float | str:
    if isinstance(value, str):
        return _printable(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(float(value))
    # JSON decoders agree on 64 bits
    return int(value) if -(2**63) <= value < 2**63 else hex(value)


def _key(key: Any) -> str:
    return _printable(key if isinstance(key, str) else repr(key))


def _printable(text: str) -> str:
    """Return a text that UTF-8 can encode."""
    return str.encode(text, errors="backslashreplace").decode()
