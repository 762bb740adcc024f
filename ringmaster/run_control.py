"""The user's control of a run: options, signals, keys, commands of others, pause, and games
at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ringmaster.errors import ExecutorError
from ringmaster.execution.executor import ErrorLines, Executor, Signals
from ringmaster.reporting.keys import CTRL_X, KeyReader

#: Seconds between two looks for a command.
COMMAND_PERIOD = 0.5
#: Keys as the display names them.
HINT = "? keys  q stop  p pause"
PAGE = "the live page"
_STOPS = {"q": "q", "Q": "q", CTRL_X: "Ctrl-X"}


@dataclass(frozen=True)
class RunOptions:
    """Options of a run from the command line.

    max_games   games to start in this run, None for no limit
    log_gtp     write a transcript of each game
    log_faults  write transcripts of void games and forfeits
    cpus        number of CPUs available to the run, None if unknown
    page        address of the live page, "" without
    """

    max_games: int | None = None
    log_gtp: bool = False
    log_faults: bool = False
    cpus: int | None = None
    page: str = ""


class SpareTime:
    """Runs checks in short slices, while engines play.

    A slice of 2 ms every 40 ms leaves the processors to the engines.  Slices in the run's only
    loop need no thread, and a fault ends the run as any other error does.
    """

    SLICE, PERIOD = 0.002, 0.04

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = 0.0

    def use(self, checks: list[Iterator[int]]) -> None:
        """Carry on with checks for one slice if it is due; remove finished ones."""
        now = self._clock()
        if not checks or now < self._next:
            return
        end = now + self.SLICE
        self._next = now + self.PERIOD
        while checks and self._clock() < end:
            if next(checks[0], None) is None:
                del checks[0]


class RunControl:
    """Obeys the user during one run.

    keys         reads keys, None without
    error_lines  lines of the engines' standard error, None without
    take_commands  returns the commands of `storage.paths.COMMANDS` given since the last call
    unit         unit of the jobs: "games"
    page         address of the live page, "" without

    signals    interrupt signals
    stopping   why no more games are made in this run: "stopped by q"; "" while they may be
    holds      whether games that no worker has yet wait for a later run
    paused     whether new games wait until the user continues
    has_help   whether the display explains the keys
    """

    def __init__(
        self,
        keys: KeyReader | None,
        error_lines: ErrorLines | None,
        take_commands: Callable[[], list[str]],
        unit: str,
        page: str = "",
    ) -> None:
        self._keys = keys
        self._error_lines = error_lines
        self._take_commands = take_commands
        self.signals = Signals()
        self._unit = unit
        self.page = page
        self._next_look = 0.0
        self.stopping = ""
        self.holds = False
        self.paused = False
        self.has_help = False

    def attach(self, executor: Executor, say: Callable[[str], None]) -> None:
        """Set the executor and the function that shows and logs a message."""
        self._executor = executor
        self._say = say

    def wake_fds(self) -> list[int]:
        """Return the descriptors that end a wait for results."""
        fds: list[int | None] = [self.signals.fd]
        fds += [source.fileno() for source in (self._keys, self._error_lines) if source is not None]
        return [fd for fd in fds if fd is not None]

    def check(self) -> None:
        """Obey new keys, and every COMMAND_PERIOD the command."""
        for key in self._keys.read() if self._keys is not None else "":
            self._obey(key)
        if not self.holds and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + COMMAND_PERIOD
            for command in self._take_commands():
                self._carry_out(command)

    def _obey(self, key: str) -> None:
        if key in _STOPS:
            self.stop(f"stopped by {_STOPS[key]}")
        elif key in "pP":
            self.pause(not self.paused)
        elif key in "+=":
            self.change_parallel(1)
        elif key in "-_":
            self.change_parallel(-1)
        elif key == "?":
            self.has_help = not self.has_help
            return
        self.has_help = False

    def _carry_out(self, command: str) -> None:
        match command:
            case "stop":
                self.stop("stopped by command")
            case "pause" | "resume":
                self.pause(command == "pause", "the command resume")
            case "more" | "fewer":
                self.change_parallel(1 if command == "more" else -1)

    def stop(self, reason: str) -> None:
        """Start no more games in this run."""
        if not self.holds:
            self.stopping, self.holds = reason, True
            self._say(f"{reason}: waiting for {self._unit} in progress")

    def pause(self, paused: bool, until: str = "p is pressed") -> None:
        """Start no more games until the user continues, or start games again."""
        if paused == self.paused or self.stopping:
            return
        self.paused = paused
        self._say(f"paused: no {self._unit} start until {until}" if paused else "continued")

    def change_parallel(self, step: int) -> None:
        """Change the number of games at a time."""
        before = self._executor.slots
        try:
            self._executor.resize(max(1, before + step))
        except ExecutorError as error:
            self._say(f"still {before} at a time: {error}")
            return
        count = self._executor.slots
        unit = self._unit.removesuffix("s") if count == 1 else self._unit
        if count != before:
            self._say(f"{count} {unit} at a time")
        else:
            self._say(
                f"still {count} {unit} at a time: there is no room for more"
                if step > 0
                else f"still {count} {unit} at a time, the least number"
            )

    def state(self) -> str:
        """Return the reason why no games start, for the display; "" while they start."""
        if self.stopping:
            return f"stopping after these {self._unit}"
        return "paused; p to go on" if self.paused else ""

    def help(self) -> list[str]:
        """Return the meanings of the keys, if the user wants to see them."""
        if not self.has_help:
            return []
        return [
            "?        show or hide this help",
            f"q        stop after the {self._unit} in progress (also Ctrl-X)",
            f"p        pause: {self._unit} in progress finish, no others start; p again goes on",
            f"+ -      more or fewer {self._unit} at a time",
            f"Ctrl-C   stop at once: {self._unit} in progress are played again in the next run",
            "Ctrl-Z   suspend; fg goes on",
            *([f"{PAGE}: {self.page}"] if self.page else []),
        ]
