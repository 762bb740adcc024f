"""The names a control file can call: `Player`, `Matchup`, `Parameter`, …  A
recorder only notes the call and where it stands; `model.settings` interprets it."""

from __future__ import annotations

import itertools
import sys
from typing import Any

from ringmaster.control.source import Source
from ringmaster.model.settings import MOST_ITEMS, Call


class Recorder:
    """Records calls of one kind made from one control file.

    positional  names of the arguments that may be given by position
    """

    __slots__ = ("_kind", "_positional", "_source")

    def __init__(self, kind: str, source: Source, positional: tuple[str, ...] = ()) -> None:
        self._kind = kind
        self._source = source
        self._positional = positional

    def __call__(self, /, *args: Any, **kwargs: Any) -> Call:
        position = calling_position(self._source, 2)
        items = tuple(map(_kept, args))
        named = {name: _kept(value) for name, value in kwargs.items()}
        return Call(self._kind, items, named, position, self._positional)

    def __repr__(self) -> str:
        return self._kind

    def canonical(self) -> dict[str, str]:
        """Return the name that it is known by, for the comparison of two runs."""
        return {"$": "name", "text": self._kind}


def _kept(argument: Any) -> Any:
    """Return what Python 2 gave as a list as one, so that a call can be interpreted for
    several players; an endless iterator is left as it is."""
    if not isinstance(argument, map | filter | zip):
        return argument
    items = list(itertools.islice(argument, MOST_ITEMS + 1))
    return items if len(items) <= MOST_ITEMS else argument


def calling_position(source: Source, depth: int) -> tuple[int, int] | None:
    """Return (line, column) of the call in the control file that is being carried
    out, None when the file has no part in it.

    depth  calls between the control file and this function
    """
    # The caller may be a helper module that the control file imports; then
    # the place in the control file that called the helper is the one to show.
    frame = sys._getframe(depth)
    while frame.f_code.co_filename != source.filename:
        if frame.f_back is None:
            return None
        frame = frame.f_back
    span = source.instruction(frame.f_code, frame.f_lasti)
    return None if span is None else (span.line, span.column)
