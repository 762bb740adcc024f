"""Calls in control files: the calls that a settings table has, their recording, and
`read_parameters`.
"""

from __future__ import annotations

import itertools
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ringmaster.control.source import Source
from ringmaster.errors import ParameterFileError, UsageError, is_text, nearest, shown
from ringmaster.model.settings import MOST_ITEMS, Call, CallOf, Setting, SettingType


def _types_in(value: object, seen: set[int]) -> Iterator[SettingType]:
    """Yield every type in a table once, outer types before inner types.

    Inner types are the SettingTypes and Settings in a type's attributes, directly or in
    lists, tuples and dictionaries.

    seen  ids of types that were yielded
    """
    if isinstance(value, Setting):
        yield from _types_in(value.type, seen)
    elif isinstance(value, SettingType):
        if id(value) not in seen:
            seen.add(id(value))
            yield value
            yield from _types_in(vars(value), seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _types_in(item, seen)
    elif isinstance(value, Mapping):
        yield from _types_in([*value.values()], seen)


def calls_in(table: Sequence[Setting]) -> dict[str, CallOf]:
    """Return the first CallOf of each kind, by kind, in the order of the table."""
    calls: dict[str, CallOf] = {}
    for type_ in _types_in(table, set()):
        if isinstance(type_, CallOf):
            calls.setdefault(type_.kind, type_)
    return calls


@dataclass(eq=False, repr=False)
class Recorder:
    """Records calls of one kind made from one control file.

    positional  names of the positional arguments
    variants    further calls by their names after a dot, such as Cluster.local
    """

    _kind: str
    _source: Source
    _positional: tuple[str, ...] = ()
    variants: dict[str, Recorder] = field(default_factory=dict)

    def variant(self, name: str) -> Recorder:
        """Return the call after a dot.  Raises AttributeError."""
        if name not in self.variants:
            near = nearest(name, list(self.variants)) if self.variants else ""
            hint = f": expected {near}" if near else ""
            raise AttributeError(f"{self._kind} has no {name!r}{hint}", name=name, obj=self)
        return self.variants[name]

    __getattr__ = variant

    def __call__(self, /, *args: Any, **kwargs: Any) -> Call:
        return self.called(calling_position(self._source, 2), *args, **kwargs)

    def called(self, position: tuple[int, int] | None, /, *args: Any, **kwargs: Any) -> Call:
        """Return the call at a position, (line, column), of the control file."""
        items = tuple(map(_listed, args))
        named = {name: _listed(value) for name, value in kwargs.items()}
        return Call(self._kind, items, named, position, self._positional)

    def __repr__(self) -> str:
        return self._kind


def _listed(argument: Any) -> Any:
    """Return an iterator as a list, so that a call can be interpreted several times.

    An endless iterator is returned unchanged.
    """
    if not isinstance(argument, map | filter | zip):
        return argument
    items = list(itertools.islice(argument, MOST_ITEMS + 1))
    return items if len(items) <= MOST_ITEMS else argument


def calling_position(source: Source, depth: int) -> tuple[int, int] | None:
    """Return (line, column) of the current call in the control file, or None.

    depth  calls between the control file and this function
    """
    # a helper module may be the caller: its own caller in the control file counts
    frame = sys._getframe(depth)
    while frame.f_code.co_filename != source.filename:
        if frame.f_back is None:
            return None
        frame = frame.f_back
    span = source.instruction(frame.f_code, frame.f_lasti)
    return None if span is None else (span.line, span.column)


#: Its name in control files.
NAME = "read_parameters"
#: Arguments of Parameter(…) that such files need.
_NEEDED = frozenset({"start", "min", "max"})


@dataclass(eq=False, repr=False)
class ParameterReader:
    """The function `read_parameters` of one control file.

    It reads another tuner's file as if each parameter were written as Parameter(…).

    known       arguments of Parameter(…)
    positional  names of its positional arguments
    note        receives the place of the call and an assumption about the file
    """

    _source: Source
    _known: Collection[str]
    _positional: tuple[str, ...]
    _note: Callable[[tuple[int, int] | None, str], None]

    def __call__(self, /, *args: Any, **kwargs: Any) -> list[Call]:
        return self.called(calling_position(self._source, 2), *args, **kwargs)

    def called(
        self,
        position: tuple[int, int] | None,
        /,
        file: str,
        *,
        format: str | None = None,
        games: int | None = None,
        integer: bool | None = None,
    ) -> list[Call]:
        """Return the parameters of a file, for a call at a position of the control file.

        file     its name, relative to the competition directory
        format   its format, by default the one that its content shows
        games    length of the tune, for formats whose gains depend on it
        integer  whether engines accept whole numbers only, by default the file decides

        Raises ParameterFileError for the file, UsageError for an argument.
        """
        from ringmaster.parameter_files.entries import arguments
        from ringmaster.parameter_files.formats import read_file
        from ringmaster.parameter_files.text import Text

        if not set(self._known) >= _NEEDED:
            raise UsageError(f"{NAME} is for competition_type 'spsa'")
        if not isinstance(file, str) or not file or not is_text(file):
            raise UsageError(f"{NAME}: {shown(file)} is not a file name")
        path = os.path.join(self._source.file.parent, os.path.expanduser(file))
        is_count = isinstance(games, int) and not isinstance(games, bool) and 2 <= games <= 10**9
        if games is not None and not is_count:
            raise UsageError(f"{NAME}: games {shown(games)} is not a whole number of at least 2")
        if integer not in (None, True, False):
            raise UsageError(f"{NAME}: integer {shown(integer)} is neither True nor False")
        if format is not None and not isinstance(format, str):
            raise UsageError(f"{NAME}: format {shown(format)} is not a name in quotes")
        try:
            mode = os.stat(path).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):  # reading may not end
                raise ParameterFileError(f"{file}: is not a regular file")
        except (OSError, ValueError):
            pass  # reading it raises the error
        parameters = read_file(Text.read(path, file), format, games, integer)
        calls = []
        for entry in parameters.entries:
            if entry.choices:
                raise ParameterFileError(
                    f"{file}: {entry.code} is a choice, and SPSA needs an order; "
                    "expected a range, or no such parameter"
                )
            known = {n: value for n, value in arguments(entry).items() if n in self._known}
            calls.append(Call("Parameter", (entry.code,), known, position, self._positional))
        if all(entry.not_used for entry in parameters.entries):
            raise ParameterFileError(f"{file}: none of its parameters is used")
        for note in parameters.notes:
            self._note(position, f"{file}: {note}")
        return calls

    def __repr__(self) -> str:
        return NAME
