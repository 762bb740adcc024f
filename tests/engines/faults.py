"""Faults of an engine on demand, shared by the UCI and the GTP engine.

A fault with CMD[:N] strikes at the N-th command CMD of the process (the first unless
given), and only there.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

from flags import Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn


def trigger(text: str) -> tuple[str, int]:
    """Read CMD[:N]; raises ValueError."""
    command, colon, number = text.partition(":")
    if not command or (colon and int(number) < 1):
        raise ValueError("give a command, or a command and a number from 1 as go:3")
    return command, int(number) if colon else 1


FLAGS: Table = {
    "crash-on": ("CMD[:N]", trigger, [], "exit without an answer"),
    "exit-code": ("N", int, 1, "exit status of a crash; -N dies of signal N"),
    "hang-on": ("CMD[:N]", trigger, [], "neither answer nor read any more"),
    "stop-parent": ("CMD[:N]", trigger, [], "stop the process that started it, and hang"),
    "half-line-on": ("CMD[:N]", trigger, [], "print half of a line and exit"),
    "garbage-on": ("CMD[:N]", trigger, [], "answer with what is no protocol"),
    "flood-on": ("CMD[:N]", trigger, [], "print lines for ever"),
    "close-stdout": ("[CMD[:N]]", trigger, [], "close standard output and live on"),
    "eof-mid-line": ("", str, False, "exit in the middle of the first move"),
    "ignore-quit": ("", str, False, "go on after `quit` and after the end of the input"),
    "ignore-sigterm": ("", str, False, "only SIGKILL ends it"),
    "flood-stderr": ("N", int, 0, "lines on standard error before each move"),
    "long-line": ("BYTES", int, 0, "a line of that length before each move"),
    "no-newline": ("", str, False, "a move without the end of its line"),
    "slow": ("SECONDS", float, 0.0, "time for each move"),
    "overstep": ("MS", int, None, "answer that long after the clock has run out"),
    "illegal-move": ("N", int, 0, "the N-th move is illegal"),
    "bestmove": ("TEXT", str, None, "each move is this, word for word"),
    "bad-utf8": ("", str, False, "bytes that are no UTF-8, in its name and before moves"),
    "hostile": ("", str, False, "HOSTILE in its name, before moves and on standard error"),
    "windows-newlines": ("", str, False, "lines end in CR LF"),
    "spawn-child": ("", str, False, "leave a child running that shares its pipes"),
    "daemon-child": ("", str, False, "leave a child in a session of its own, without pipes"),
    "escapee": (
        "",
        str,
        False,
        "leave a process with another parent, a session of its own and no environment",
    ),
    "children": ("N", int, 0, "start so many at the first move, which wait"),
    "allocate": ("MB", int, 0, "memory to fill at the first move, in pieces"),
    "burn": ("SECONDS", float, 0.0, "CPU time for each move"),
    "pid-file": ("PATH", str, None, "append the pids of itself and its children"),
    "once": ("PATH", str, None, "only one fault strikes: the one that creates PATH"),
    "lifetime": ("SECONDS", int, 300, "the longest that it or a child lives, whatever is ignored"),
}

BAD_UTF8 = b"\xff\xfe \xc3\x28"
#: What a terminal, a text editor and a spreadsheet might obey: a formula, an escape sequence,
#: NUL, DEL, a C1 control, bidirectional marks and overrides, the end of a line, quotes, brackets.
HOSTILE = (
    "=HYPERLINK(1)\x1b]0;pwn\x07\x00\x7f\x9b2J\u202egnp\u2066\u200f\u061c\u2028\\]\"}'/;"
).encode()


class Faults:
    """Decides when a fault strikes, and carries out those that are the same in
    every protocol.

    babble        a line that the engine may print for ever
    move_command  the command that requests a move
    """

    def __init__(self, flags: dict[str, Any], babble: bytes, move_command: str) -> None:
        self.flags = flags
        self._babble = babble
        self._move_command = move_command
        self._counts: dict[str, int] = {}
        self._moves = 0
        self._closed = False
        self._memory: list[bytes] = []

    def begin(self) -> None:
        """Set up signals and children."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        if self.flags["ignore-sigterm"]:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
                signal.signal(number, signal.SIG_IGN)
        signal.alarm(self.flags["lifetime"])
        self._note_pid(os.getpid())
        if self.flags["spawn-child"]:
            self._spawn(own_session=False)
        if self.flags["daemon-child"]:
            self._spawn(own_session=True)
        if self.flags["escapee"]:
            self._escape()

    def command(self, name: str) -> bool:
        """Count a command, let its fault strike; whether the answer is to be
        garbage instead."""
        self._counts[name] = self._counts.get(name, 0) + 1
        if self._strikes("crash-on", name):
            self._die()
        if self._strikes("hang-on", name):
            self.hang()
        if self._strikes("stop-parent", name):
            os.kill(os.getppid(), signal.SIGSTOP)
            self.hang()
        if self._strikes("half-line-on", name):
            self.write(self._babble[: len(self._babble) // 2])
            self._die()
        if self._strikes("flood-on", name):
            while True:
                self.write(self._babble * 100)
        if self._strikes("close-stdout", name):
            os.close(1)
            self._closed = True
        return self._strikes("garbage-on", name)

    def move(self, honest: str, illegal: str) -> str:
        """Return the move to answer with, instead of an honest one."""
        self._moves += 1
        self._consume()
        if self.flags["hostile"]:
            os.write(2, HOSTILE + b"\n")
        lines = self.flags["flood-stderr"]
        if lines:
            text = b"".join(b"complaint %d\n" % i for i in range(lines))
            while text:
                text = text[os.write(2, text) :]
        if self._moves == self.flags["illegal-move"] and self._first():
            return illegal
        verbatim: str | None = self.flags["bestmove"]
        return honest if verbatim is None else verbatim

    def write_move(self, line: bytes) -> None:
        """Write the line with a move, or as much of it as is wanted."""
        if self.flags["eof-mid-line"] and self._first():
            self.write(line[: max(1, len(line) // 2)])
            self._die()
        self.write(line.rstrip(b"\n") if self.flags["no-newline"] else line)

    def write(self, data: bytes) -> None:
        """Write to standard output, unless that has been closed."""
        if self.flags["windows-newlines"]:
            data = data.replace(b"\n", b"\r\n")
        while data and not self._closed:
            try:
                data = data[os.write(1, data) :]
            except BrokenPipeError:
                # only where SIGPIPE is ignored
                self._closed = True

    def end_of_input(self) -> None:
        """`quit`, or nobody is there any more: exit, or not."""
        if self.flags["ignore-quit"]:
            return
        sys.exit(0)

    def hang(self) -> NoReturn:
        """Wait for a signal that ends the process."""
        while True:
            signal.pause()

    def _strikes(self, flag: str, command: str) -> bool:
        # a flag that was given without its value strikes at the first move
        triggers = [
            (self._move_command, 1) if wanted is True else wanted for wanted in self.flags[flag]
        ]
        return (command, self._counts[command]) in triggers and self._first()

    def _first(self) -> bool:
        path = self.flags["once"]
        if path is None:
            return True
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True

    def _die(self) -> NoReturn:
        status = self.flags["exit-code"]
        if status < 0:
            if -status != signal.SIGKILL:
                signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
        os._exit(max(status, 0))

    def _spawn(self, *, own_session: bool) -> None:
        if pid := os.fork():
            self._note_pid(pid)
            return
        signal.alarm(self.flags["lifetime"])
        if own_session:
            os.setsid()
            nowhere = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(nowhere, fd)
        self.hang()

    def _escape(self) -> None:
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
            return
        os.setsid()
        if pid := os.fork():
            self._note_pid(pid)
            os._exit(0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nowhere, fd)
        code = f"import signal; signal.alarm({self.flags['lifetime']}); signal.pause()"
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", code], {})

    def _consume(self) -> None:
        """Use processes, memory and CPU time as requested."""
        while self._moves == 1 and self.flags["children"]:
            self.flags["children"] -= 1
            self._spawn(own_session=False)
        while self._moves == 1 and self.flags["allocate"]:
            self.flags["allocate"] -= 1
            self._memory.append(b"x" * 1_000_000)
            # until somebody has noticed
            select.select([], [], [], 0.002)
        if self.flags["burn"]:
            end = time.process_time() + self.flags["burn"]
            while time.process_time() < end:
                pass

    def _note_pid(self, pid: int) -> None:
        path = self.flags["pid-file"]
        if path is not None:
            fd = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o666)
            os.write(fd, b"%d\n" % pid)
            os.close(fd)


class Reader:
    """Lines from standard input."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._rest = b""
        self._ended = False

    def line(self) -> bytes | None:
        """Return the next line without its end; None at the end of the input."""
        while not self._lines and not self._ended:
            self._read()
        return self._lines.pop(0) if self._lines else None

    def think(self, seconds: float, during: Callable[[bytes], bool]) -> None:
        """Let `seconds` pass, with `during` called for each line that comes: it says
        whether to go on thinking.  At the end of the input time passes still."""
        deadline = _now() + seconds
        while not self._lines or during(self._lines.pop(0)):
            left = deadline - _now()
            if left <= 0:
                return
            if self._lines:
                continue
            inputs = [] if self._ended else [0]
            if select.select(inputs, [], [], left)[0]:
                self._read()
            elif _now() >= deadline:
                return

    def put_back(self, line: bytes) -> None:
        """Have `line` read again."""
        self._lines.insert(0, line)

    def lose(self) -> None:
        """Drop input behind the last line."""
        self._lines.clear()
        self._rest = b""

    def _read(self) -> None:
        chunk = os.read(0, 1 << 16)
        if not chunk:
            self._ended = True
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._lines += [line.rstrip(b"\r") for line in lines]


def _now() -> float:
    return time.monotonic()
