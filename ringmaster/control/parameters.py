"""read_parameters("file") of a control file: the parameters of another tuner's file, as
if each had been written as Parameter(…) where it is called."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Any

from ringmaster.control.recorder import calling_position
from ringmaster.control.source import Source
from ringmaster.errors import ParameterFileError, UsageError
from ringmaster.model.calls import Call
from ringmaster.model.wording import is_text, shown

#: What control files call it.
NAME = "read_parameters"
#: What Parameter(…) must understand for such files to have a meaning.
_NEEDED = frozenset({"start", "min", "max"})


class ParameterReader:
    """Reads parameter files for one control file.

    known       arguments of its Parameter(…)
    positional  those that may be given by position
    note        is told what was assumed, with the place of the call
    """

    __slots__ = ("_known", "_note", "_positional", "_source")

    def __init__(
        self,
        source: Source,
        known: Collection[str],
        positional: tuple[str, ...],
        note: Callable[[tuple[int, int] | None, str], None],
    ) -> None:
        self._source = source
        self._known = known
        self._positional = positional
        self._note = note

    def __call__(
        self,
        /,
        file: str,
        *,
        format: str | None = None,
        games: int | None = None,
        integer: bool | None = None,
    ) -> list[Call]:
        """Return the parameters of a file.

        file     its name, relative to the competition directory
        format   its format, by default the one that its content shows
        games    length of the tune, for formats whose gains depend on it
        integer  whether engines take whole numbers only, by default as the file says

        Raises ParameterFileError for the file, UsageError for an argument.
        """
        from ringmaster.parameter_files import LARGEST, ReadOptions, Text, arguments, read_file

        position = calling_position(self._source, 2)
        if not set(self._known) >= _NEEDED:
            raise UsageError(f"{NAME} is for competition_type 'spsa'")
        path = self._path(file)
        if games is not None and (isinstance(games, bool) or not isinstance(games, int)):
            raise UsageError(f"{NAME}: games {shown(games)} is not a whole number")
        if games is not None and not 2 <= games <= 10**9:
            raise UsageError(f"{NAME}: games {games} is out of range; expected at least 2")
        if integer not in (None, True, False):
            raise UsageError(f"{NAME}: integer {shown(integer)} is neither True nor False")
        if format is not None and not isinstance(format, str):
            raise UsageError(f"{NAME}: format {shown(format)} is not a name in quotes")
        try:
            with open(path, "rb") as stream:
                data = stream.read(LARGEST + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ParameterFileError(f"{file}: cannot be read: {reason}") from None
        found = read_file(Text.decoded(data, file), format, ReadOptions(games, integer))
        calls = []
        for entry in found.entries:
            if entry.choices:
                raise ParameterFileError(
                    f"{file}: {entry.code} is a choice, and SPSA needs an order; "
                    "expected a range, or no such parameter"
                )
            given = arguments(entry)
            missing = given.keys() - self._known
            calls.append(
                Call(
                    "Parameter",
                    (entry.code,),
                    {name: value for name, value in given.items() if name not in missing},
                    position,
                    self._positional,
                )
            )
        if all(entry.not_used for entry in found.entries):
            raise ParameterFileError(f"{file}: none of its parameters is used")
        for note in found.notes:
            self._note(position, f"{file}: {note}")
        return calls

    def _path(self, file: Any) -> str:
        if not isinstance(file, str) or not file or not is_text(file):
            raise UsageError(f"{NAME}: {shown(file)} is not a file name")
        return os.path.join(self._source.file.parent, os.path.expanduser(file))

    def __repr__(self) -> str:
        return NAME

    def canonical(self) -> dict[str, str]:
        """Return the name that it is known by, for the comparison of two runs."""
        return {"$": "name", "text": NAME}
