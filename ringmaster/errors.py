"""Every exception that ringmaster raises on purpose, as one tree.

    RingmasterError
    ├── UsageError                      the command line (exit status 2)
    ├── ControlFileError                the control file; carries diagnostics
    │   ├── SettingError                one setting; carries its path
    │   └── SettingErrors               several settings
    ├── OpeningsError                   an opening file: file and line
    ├── DatasetError                    labelled positions: file and line, or record
    ├── ParameterFileError              a parameter file: file, line and the line itself
    ├── StoreError                      the status file
    │   ├── StoreCorrupt, StoreTooNew, StoreUnwritable
    │   │   └── StoreChanged            written while it was read
    │   └── AlreadyRunning, ForeignFiles
    ├── CompetitionHalted               repeated void games, a fatal result
    ├── ExecutorError                   workers cannot be started or kept alive
    ├── JobAbandoned                    the worker was told to drop its job
    ├── IllegalMove                     the rules refuse a move
    └── EngineError                     an engine misbehaved; has a `code`
        ├── EngineNotStarted            not found, not executable, no handshake
        ├── EngineCrashed               exited or closed its output
        ├── EngineTimeout               silent (or endless) past a deadline
        ├── EngineProtocolError         an answer that is not in the protocol
        ├── EngineRefused               a failure response (GTP "? …")
        └── OptionRefused               unknown option or value out of range

Foreign exceptions (OSError, sqlite3.Error, …) are translated at the seam where
they arise; anything else that reaches the command line is an internal error
(exit status 4).
"""

from __future__ import annotations

from collections.abc import Iterable


class RingmasterError(Exception):
    """Base of all reported errors: a one-screen message, exit status 1."""


class UsageError(RingmasterError):
    """The command line is wrong (exit status 2)."""


class ControlFileError(RingmasterError):
    """The control file is wrong; the message shows every independent error."""


class SettingError(ControlFileError):
    """One setting is wrong.

    path     keys from the top level, e.g. ("players", "sf", "options", "Hash")
    message  what is wrong
    expected what would be right ("" when the message says it)
    details  further lines, to be shown below the place in the file
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
        # two matchups of one wrong player tell of the same fault
        self.errors = tuple({(e.path, e.message): e for e in errors}.values())
        super().__init__("\n".join(map(str, self.errors)))


class OpeningsError(RingmasterError):
    """An opening file is missing, empty, or has a bad line."""

    def __init__(self, path: str, line: int | None, message: str) -> None:
        self.path = path
        self.line = line
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: {message}")


class DatasetError(RingmasterError):
    """Labelled positions are missing, cannot be read, or contradict themselves.

    where  what is numbered in the file: "line", "record", "game"
    """

    def __init__(self, path: str, number: int | None, message: str, *, where: str = "line") -> None:
        self.path = path
        self.number = number
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
    details  the line that it is about, and further problems
    """

    def __init__(self, message: str, details: Iterable[str] = ()) -> None:
        self.message = message
        self.details = tuple(details)
        super().__init__("\n".join([message, *self.details]))


class StoreError(RingmasterError):
    """The status file cannot be used."""


class StoreCorrupt(StoreError):
    """The status file is damaged, or is not a status file."""


class StoreTooNew(StoreError):
    """The status file was written by a newer version of ringmaster."""


class StateRefused(StoreError):
    """The results so far do not fit the settings.

    path  the setting that is to blame
    """

    def __init__(self, message: str, path: tuple[str | int, ...]) -> None:
        super().__init__(message)
        self.path = path


class StoreUnwritable(StoreError):
    """Disk full, read-only folder, no permission."""


class ForeignFiles(StoreError):
    """A file that would be written or deleted was written by another program."""


class StoreChanged(StoreUnwritable):
    """The status file was written while it was read: it has to be read again."""


class AlreadyRunning(StoreError):
    """Another ringmaster is running this competition now."""


class CompetitionHalted(RingmasterError):
    """The run was ended early because going on would waste games."""


class ExecutorError(RingmasterError):
    """Worker processes cannot be started or kept alive."""


class JobAbandoned(RingmasterError):
    """The worker was told to drop its job, or its parent is gone."""


class IllegalMove(RingmasterError):
    """The rules refuse a move: `move`, `position` it was played in, `reason`."""

    def __init__(self, move: str, position: str, reason: str) -> None:
        self.move = move
        self.position = position
        self.reason = reason
        super().__init__(f"illegal move {move!r} ({reason}) in {position}")

    def __reduce__(self) -> tuple[type[IllegalMove], tuple[str, str, str]]:
        return (IllegalMove, (self.move, self.position, self.reason))


class EngineError(RingmasterError):
    """An engine misbehaved; `code` is the player code ("" when unknown)."""

    def __init__(self, message: str, code: str = "") -> None:
        self.code = code
        super().__init__(message)


class EngineNotStarted(EngineError):
    """Not found, not executable, or no handshake within its deadline."""


class EngineCrashed(EngineError):
    """The engine exited, or closed its output."""


class EngineTimeout(EngineError):
    """No complete answer by the deadline, whatever was printed meanwhile."""


class EngineProtocolError(EngineError):
    """An answer that the protocol does not allow."""


class EngineRefused(EngineError):
    """A failure response to a command (GTP "? message")."""


class OptionRefused(EngineError):
    """An unknown option, or a value outside its range."""
