"""Faults of engines by protocol and phase, each with its expected verdict.

`strike` plays a game with such an engine in a worker, between two honest ones.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from ringmaster.competitions.result_lines import result_line
from ringmaster.model.jobs import GameJob, GameSettings
from ringmaster.model.players import PROTOCOL_OF_GAME, Player, ProtocolName
from ringmaster.model.results import GameResult
from ringmaster.model.time_control import TimeControl
from ringmaster.play.worker import Worker
from tests.processes import LONG, under

ENGINES = Path(__file__).parent.parent / "engines"
GAME_OF_PROTOCOL = {protocol: game for game, protocol in PROTOCOL_OF_GAME.items()}
PROTOCOLS: tuple[ProtocolName, ...] = ("uci", "usi", "gtp")
PHASES = ("start", "handshake", "options", "thinking", "quit")

#: Seconds of silence until an engine has hung, where one does, and for its options.
HANG, START = 1.0, 3.0


@dataclass(frozen=True)
class Fault:
    """An engine's misbehaviour with the expected verdict.

    phase    one of PHASES
    flags    of the scripted engine
    reason   of the result; "" for a game that counts
    message  a part of the line in the log
    forfeit  whether the game is lost; otherwise it is void
    waits    whether it is found by waiting
    player   settings of the player
    """

    protocol: ProtocolName
    phase: str
    name: str
    flags: tuple[str, ...]
    reason: str = ""
    message: str = ""
    forfeit: bool = False
    waits: bool = False
    player: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if not self.reason:
            return "the game counts"
        return f"{'lost' if self.forfeit else 'void'}: {self.reason}"


class Struck(NamedTuple):
    """The effect of a fault.

    line       of the log and the history
    seconds    from the start of the game with the fault to the start of the next game
    processes  of the faulty engine, after that game
    files      descriptors of this process that it left open
    """

    result: GameResult
    line: str
    seconds: float
    processes: list[int]
    files: int

    @property
    def verdict(self) -> str:
        """The verdict in the words of `Fault.verdict`."""
        if self.result.outcome == "void":
            return f"void: {self.result.reason}"
        return f"lost: {self.result.reason}" if self.result.forfeit else "the game counts"


def faults() -> list[Fault]:
    """Return all faults by protocol and phase."""
    parts = (_at_start, _at_commands, _while_thinking, _at_quit)
    unordered = [
        Fault(protocol, *row) for protocol in PROTOCOLS for part in parts for row in part(protocol)
    ]
    return sorted(unordered, key=lambda f: (PROTOCOLS.index(f.protocol), PHASES.index(f.phase)))


#: The fields of a fault from the second one on.
Row = tuple[Any, ...]
#: A command of each phase.
_COMMANDS: dict[ProtocolName, dict[str, str]] = {
    "uci": {"handshake": "uci", "options": "setoption", "thinking": "go:3"},
    "usi": {"handshake": "usi", "options": "setoption", "thinking": "go:3"},
    "gtp": {"handshake": "protocol_version", "options": "set_level", "thinking": "genmove:2"},
}
_UCI_OPTION = {"options": {"Strength": 600}}
_GTP_OPTION = {"startup_gtp_commands": (("set_level", "3"),)}


def _at_start(protocol: ProtocolName) -> Iterator[Row]:
    shell = "/bin/sh", "-c"
    for name, message, waits, *command in (
        ("no such program", "no such file", False, "/nonexistent/engine"),
        ("not executable", "not an executable file", False, str(ENGINES / "flags.py")),
        ("exits at once", "status 7", False, *shell, "echo no licence >&2; exit 7"),
        ("dies at once", "SIGKILL", False, *shell, "kill -9 $$"),
        ("closes its output", "closed its", False, *shell, "exec >&-; exec sleep 300"),
        ("is silent", "no answer to", True, *shell, "exec sleep 300"),
    ):
        yield "start", name, (), "start", message, False, waits, {"command": tuple(command)}


def _at_commands(protocol: ProtocolName) -> Iterator[Row]:
    """Yield faults at a command of each phase."""
    go = protocol == "gtp"
    for phase, command in _COMMANDS[protocol].items():
        settings: dict[str, Any] = {}
        also: tuple[str, ...] = ()
        if phase == "options":
            settings = _GTP_OPTION if go else _UCI_OPTION
            also = ("--also", "set_level") if go else ()
        for name, flags, reason, message, waits in (
            ("exits", ("--crash-on", command, "--exit-code", "3"), "crash", "status 3", False),
            ("dies", ("--crash-on", command, "--exit-code", "-11"), "crash", "SIGSEGV", False),
            ("half a line, exits", ("--half-line-on", command), "crash", "exited", False),
            ("closes its output", ("--close-stdout", command), "crash", "closed its", False),
            ("hangs", ("--hang-on", command), "hang", "no answer to", True),
            (
                "prints for ever",
                ("--flood-on", command),
                "protocol" if go else "hang",
                "is no GTP" if go else "no answer to",
                not go,
            ),
            (
                "garbage",
                ("--garbage-on", command),
                "protocol" if go else "hang",
                "is no GTP" if go else "no answer to",
                not go,
            ),
        ):
            if phase == "handshake":
                reason = "start"
            if name == "garbage" and phase == "options" and not go:
                # `setoption` has no answer, and other lines are ignored
                reason, message, waits = "", "", False
            yield phase, name, (*flags, *also), reason, message, False, waits, settings
    if go:
        refusal = ("--fail", "set_level:too high")
        yield "options", "refused", refusal, "setup", "too high", False, False, _GTP_OPTION
        return
    for name, options in (("unknown", {"Nonesuch": 1}), ("out of range", {"Strength": 5000})):
        message = next(iter(options))
        yield "options", name, (), "setup", message, False, False, {"options": options}


def _while_thinking(protocol: ProtocolName) -> Iterator[Row]:
    go = protocol == "gtp"
    clock = {"time_control": TimeControl.parse("0+25/1" if go else "0.5")}
    for name, flags, reason, message, forfeit, waits, settings in (
        ("half a move, exits", ("--eof-mid-line",), "crash", "exited", False, False, {}),
        ("no end of line", ("--no-newline",), "hang", "no answer", False, True, {}),
        ("a line of 3 MB", ("--long-line", "3000000"), "protocol", "more than", False, False, {}),
        ("illegal move", ("--illegal-move", "2"), "illegal move", "illegal", True, False, {}),
        ("no move", ("--bestmove", " "), "illegal move", "illegal", True, False, {}),
        ("late", ("--overstep", "100"), "time", "time", True, False, clock),
        (
            "exits, its child stays",
            ("--crash-on", "genmove:2" if go else "go:3", "--spawn-child", "--ignore-sigterm"),
            "crash",
            "status 1",
            False,
            False,
            {},
        ),
        (
            "late, deaf to stop",
            ("--hang-on", "genmove:2") if go else ("--slow", "300", "--ignore-stop"),
            "stall",
            "no answer",
            True,
            False,
            clock,
        ),
        ("no UTF-8", ("--bad-utf8",), "", "", False, False, {}),
        ("3,000 lines of errors", ("--flood-stderr", "3000"), "", "", False, False, {}),
    ):
        if go and name == "no end of line":
            # an empty line ends a response
            flags, reason = ("--missing-blank-line",), "start"
        if go and name == "no UTF-8":
            # in a second line of the answer, which is no move then
            reason, message, forfeit = "illegal move", "illegal", True
        yield "thinking", name, flags, reason, message, forfeit, waits, settings
    if go:
        refusal = ("--fail", "genmove:out of memory")
        yield "thinking", "refused", refusal, "refused", "out of memory", True
        yield "thinking", "answers twice", ("--twice", "genmove"), "protocol", "unasked"


def _at_quit(protocol: ProtocolName) -> Iterator[Row]:
    for name, *flags in (
        ("exits with an error", "--crash-on", "quit"),
        ("hangs", "--hang-on", "quit"),
        ("prints for ever", "--flood-on", "quit"),
        ("closes its output, stays", "--close-stdout", "quit", "--ignore-quit"),
        ("ignores quit", "--ignore-quit"),
        ("ignores quit and SIGTERM", "--ignore-quit", "--ignore-sigterm"),
        ("so does its child", "--ignore-quit", "--ignore-sigterm", "--spawn-child"),
    ):
        # a new process for each game: it quits at the end of the game
        yield "quit", name, tuple(flags), "", "", False, False, {"restart": "on"}


def player(folder: Path, code: str, protocol: ProtocolName, *flags: str, **more: Any) -> Player:
    """Return a player of the scripted engine, which notes its processes in `folder`."""
    plies = () if protocol == "gtp" else ("--plies", "40")
    engine = str(ENGINES / f"fault_{protocol}.py")
    note = ("--pid-file", str(folder / f"{code}.pids"))
    command = (sys.executable, "-I", "-S", engine, *plies, *note, *flags)
    settings: dict[str, Any] = {"command": command, "ready_timeout": LONG, **more}
    if protocol != "gtp" and "time_control" not in more:
        settings["nodes"] = 1
    return Player(code, protocol=protocol, **settings)


def play(worker: Worker, first: Player, second: Player, hang_timeout: float = LONG) -> GameResult:
    """Play a game."""
    settings = GameSettings(
        game=GAME_OF_PROTOCOL[first.protocol],
        board_size=5,
        komi=0.5,
        scorer="internal",
        margin=0.0,
        hang_timeout=hang_timeout,
    )
    result = worker.run(GameJob("g", (first, second), settings))
    assert isinstance(result, GameResult)
    return result


def strike(worker: Worker, folder: Path, fault: Fault) -> Struck:
    """Play a game with a faulty engine between two honest ones."""
    good, other = (player(folder, code, fault.protocol) for code in ("good", "other"))
    ready = LONG
    if fault.waits and fault.reason == "start":
        ready = HANG
    elif fault.waits and fault.phase == "options":
        ready = START  # the time for its start, too
    settings = {"ready_timeout": ready, **fault.player}
    bad = player(folder, "bad", fault.protocol, *fault.flags, **settings)
    # processes of other tests in this one
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    play(worker, good, other)
    files = _open_files()
    begun = time.monotonic()
    result = play(worker, good, bad, HANG if fault.waits else LONG)
    after = play(worker, good, other)
    seconds = time.monotonic() - after.seconds - begun
    if after.outcome != "win":
        raise RuntimeError(f"the next game failed: {after.detail}")
    new = [pid for pid in _children(folder) if pid not in before]
    processes = [*new, *_noted(folder / "bad.pids")]
    return Struck(
        result, result_line(result, ("good", "bad")), seconds, processes, _open_files() - files
    )


def _children(folder: Path) -> list[int]:
    """Return the processes under this one that are not the honest engines."""
    honest = under(*(str(folder / f"{code}.pids") for code in ("good", "other")))
    children = psutil.Process().children(recursive=True)
    return [child.pid for child in children if child not in honest]


def _noted(pids: Path) -> list[int]:
    """Return the noted processes that still run, and forget them."""
    if not pids.exists():
        return []
    noted = [int(line) for line in pids.read_text().split()]
    pids.unlink()
    processes = [psutil.Process(pid) for pid in noted if psutil.pid_exists(pid)]
    # a killed child lives until its new parent reaps it
    _, alive = psutil.wait_procs(processes, timeout=LONG)
    return [each.pid for each in alive if each.status() != psutil.STATUS_ZOMBIE]


def _open_files() -> int:
    """Return the number of open descriptors of this process."""
    # earlier tests of this process may have left closed loops to the collector
    gc.collect()
    return len(os.listdir("/proc/self/fd"))
