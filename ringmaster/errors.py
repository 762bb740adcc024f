"""Define every exception that ringmaster raises on purpose, and format parts of messages.

    RingmasterError
    ├── UsageError                      the command line (exit status 2)
    ├── ControlFileError                the control file; carries diagnostics
    │   ├── SafeModeError               an expression that safe mode does not evaluate
    │   ├── SettingError                one setting; carries its path
    │   └── SettingErrors               several settings
    ├── DataFileError                   openings, games or positions: file and line, or record
    ├── ParameterFileError              a parameter file: file, line and the line itself
    ├── StoreError                      the status file
    │   ├── StoreCorrupt, StoreReplaced, StoreUnsupported, StoreUnwritable
    │   │   └── StoreChanged            written during a read
    │   └── StateRefused, AlreadyRunning, ForeignFiles
    ├── CompetitionHalted               repeated void games, a fatal result
    ├── ExecutorError                   workers cannot be started or kept alive
    ├── JobAbandoned                    the worker must drop its job
    ├── IllegalMove                     the rules refuse a move
    └── EngineError                     an engine misbehaved; carries the player's code
        ├── EngineNotStarted            not found, not executable, no handshake
        │   └── EngineRebuilt           its files are others than at the start of the run
        ├── EngineCrashed               exited or closed its output
        ├── EngineOverLimit             ended, for it exceeded a limit of its player
        ├── EngineTimeout               silent (or endless) past a deadline
        ├── EngineProtocolError         an answer that is not in the protocol
        ├── EngineRefused               a failure response (GTP "? …")
        └── OptionRefused               unknown option or value out of range

Other exceptions (OSError, sqlite3.Error, …) are translated where they arise.  If one reaches
the command line, it is an internal error (exit status 4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final


class RingmasterError(Exception):
    """The base of all reported errors; its message fits on a screen, exit status 1."""


class UsageError(RingmasterError):
    """The command line is wrong (exit status 2)."""


class ControlFileError(RingmasterError):
    """The control file is wrong; the message has every independent error."""


class SafeModeError(ControlFileError):
    """Safe mode does not evaluate an expression of the control file."""


class SettingError(ControlFileError):
    """One setting is wrong.

    path     keys from the top level, e.g. ("players", "sf", "options", "Hash")
    message  the fault
    expected the correct value, or "" when the message contains it
    details  further lines below the place in the file
    """

    def __init__(
        self,
        path: tuple[str | int, ...],
        message: str,
        expected: str = "",
        details: Iterable[str] = (),
    ) -> None:
        self.path = path
        self.message = message
        self.expected = expected
        self.details = tuple(details)
        super().__init__(message + (f"; expected {expected}" if expected else ""))

    def under(self, *prefix: str | int) -> SettingError:
        """Return the same error with `prefix` put before its path."""
        return SettingError((*prefix, *self.path), self.message, self.expected, self.details)


class SettingErrors(ControlFileError):
    """Several settings are wrong, independently of each other."""

    def __init__(self, errors: Iterable[SettingError]) -> None:
        # two matchups of one wrong player have the same fault
        self.errors = tuple({(e.path, e.message): e for e in errors}.values())
        super().__init__("\n".join(map(str, self.errors)))


class DataFileError(RingmasterError):
    """A file of openings, games or positions is missing, or has a fault.

    message  the fault, without its place
    where    unit of `number`: "line", "record", "game"
    """

    def __init__(self, path: str, number: int | None, message: str, *, where: str = "line") -> None:
        self.path = path
        self.number = number
        self.message = message
        if number is None:
            place = path
        elif where == "line":
            place = f"{path}:{number}"
        else:
            place = f"{path}, {where} {number}"
        super().__init__(f"{place}: {message}")


class ParameterFileError(RingmasterError):
    """A parameter file cannot be read.

    message  the first problem, with file and line
    details  the faulty line, and further problems
    """

    def __init__(self, message: str, details: Iterable[str] = ()) -> None:
        self.message = message
        self.details = tuple(details)
        super().__init__("\n".join([message, *self.details]))


class StoreError(RingmasterError):
    """The status file cannot be used."""


class StoreCorrupt(StoreError):
    """The status file is damaged, or is not a status file."""


class StoreUnpaired(StoreCorrupt):
    """The status file and its `-wal` do not belong together: the user must say which counts."""


class StoreReplaced(StoreError):
    """The status file is another one than at the start of the run."""


class StoreUnsupported(StoreError):
    """A newer version of ringmaster wrote the status file, or an unreleased one."""


class StateRefused(StoreError):
    """The results so far do not fit the settings.

    path  the setting at fault
    """

    def __init__(self, message: str, path: tuple[str | int, ...]) -> None:
        super().__init__(message)
        self.path = path


class StoreUnwritable(StoreError):
    """Disk full, read-only folder, no permission."""


class ForeignFiles(StoreError):
    """An output file of this competition was written by another program."""


class StoreChanged(StoreUnwritable):
    """The status file was written during a read: read it again."""


class AlreadyRunning(StoreError):
    """Another ringmaster is running this competition now."""


class CompetitionHalted(RingmasterError):
    """The run ended early: more games would be wasted."""


class ExecutorError(RingmasterError):
    """Worker processes cannot be started or kept alive."""


class JobAbandoned(RingmasterError):
    """The worker received an order to drop its job, or its parent is gone."""


class IllegalMove(RingmasterError):
    """The rules refuse a move; `position` is the position before it."""

    def __init__(self, move: str, position: str, reason: str) -> None:
        self.move = move
        self.position = position
        self.reason = reason
        super().__init__(f"illegal move {move!r} ({reason}) in {position}")

    def __reduce__(self) -> tuple[type[IllegalMove], tuple[str, str, str]]:
        return (IllegalMove, (self.move, self.position, self.reason))


class EngineError(RingmasterError):
    """An engine misbehaved; `code` is the player's code ("" if unknown)."""

    def __init__(self, message: str, code: str = "") -> None:
        self.code = code
        super().__init__(message)


class EngineNotStarted(EngineError):
    """The engine was not found, is not executable, or gave no handshake by its deadline."""


class EngineRebuilt(EngineNotStarted):
    """The engine's files, or its name, are not those of the builds that the run began with."""


class EngineCrashed(EngineError):
    """The engine exited, or closed its output."""


class EngineOverLimit(EngineError):
    """The engine exceeded a limit of its player (memory, CPU, processes) and was killed."""


class EngineTimeout(EngineError):
    """The engine gave no complete answer by the deadline; it may have printed other lines."""


class EngineProtocolError(EngineError):
    """The protocol does not allow an answer of the engine."""


class EngineRefused(EngineError):
    """The engine failed a command (GTP "? message").

    command  the command, if every game needs it; else ""
    """

    def __init__(self, message: str, code: str = "", command: str = "") -> None:
        self.reason = message
        self.command = command
        super().__init__(f"it refused {command!r}: {message}" if command else message, code)


class OptionRefused(EngineError):
    """The engine does not know an option, or the value is out of range.

    option    its name
    expected  its values in words, e.g. "an integer from 1 to 5"; "" for an unknown option
    refusals  one error an option, if there are several wrong options
    """

    def __init__(
        self,
        message: str,
        code: str = "",
        option: str = "",
        expected: str = "",
        refusals: Sequence[OptionRefused] = (),
    ) -> None:
        self.option = option
        self.expected = expected
        self.refusals = refusals
        super().__init__(message, code)


def shown(value: Any, limit: int = 60) -> str:
    """Return the repr of `value` for an error message, cut to size."""
    if callable(value) and hasattr(value, "__name__"):
        return f"function {value.__name__}"  # its repr has an address that changes
    try:
        text = repr(value)
    except Exception:  # a class of the control file, or an int of too many digits
        text = f"a value of type {type(value).__name__}"
    return cut(text, limit)


def cut(text: str, limit: int) -> str:
    """Return `text` in at most `limit` characters, with "…" at a cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


#: The characters, for a regular expression's class, that move a terminal's cursor, end a line or
#: turn text: C0 but tab and newline, DEL, C1, separators, bidirectional marks and overrides.
OBEYED: Final = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_OBEYED: Final = re.compile(rf"[{OBEYED}\ud800-\udfff]")


def visible(text: str) -> str:
    """Return text with "\\x1b" and the like in the place of OBEYED and lone surrogates."""
    return text if text.isprintable() else _OBEYED.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def counted(number: int, thing: str) -> str:
    """Return "1 win", "2 wins", "0 losses", "1,204 games"."""
    if number == 1:
        return f"1 {thing}"
    return f"{number:,} {thing}{'es' if thing.endswith('s') else 's'}"


def is_text(value: str) -> bool:
    """Return whether a string has no NUL and no lone surrogates."""
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def similar(name: str, known: Iterable[str], most: int = 3, least_ratio: float = 0.6) -> list[str]:
    """Return the names most like `name`, the most similar first; [] if none is.

    least_ratio  of difflib, from 0 to 1 for equal names
    """
    import difflib

    folded = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=most, cutoff=least_ratio)
    return [folded[c] for c in close]


def nearest(name: str, known: Sequence[str], most: int = 3) -> str:
    """Return the names most like `name` as "'a' or 'b'", or all names if none is."""
    names = similar(name, known, most) or list(known)
    return "one of " + ", ".join(names) if len(names) > 2 else " or ".join(map(repr, names))
