"""The contract of an engine for the game loop, for all protocols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, Literal

from ringmaster.engines.channel import Channel, Exchange, Transcript
from ringmaster.engines.containment import Bounds
from ringmaster.engines.process import STDERR_LINES, EngineProcess, Surroundings
from ringmaster.engines.uci_messages import read_info, read_pv, read_score, score_line
from ringmaster.engines.usage import Usage
from ringmaster.errors import EngineError, EngineNotStarted, EngineRebuilt, EngineTimeout, cut
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import Player
from ringmaster.model.results import Problem

#: Seconds for the handshake, and to get ready for a game: networks have to be loaded,
#: large hash tables cleared.
START_TIMEOUT = 60.0
#: The same over USI, where evaluation files of gigabytes are loaded at isready.
USI_START_TIMEOUT: Final = 120.0
#: Seconds until the user hears of an engine that does not answer at its start.
SILENCE = 10.0
#: Seconds for an engine to quit before it is killed.
QUIT_PATIENCE: Final = 1.0
#: The same for an engine that broke its protocol or is replaced at once; GNU Chess is slow.
RESTART_PATIENCE: Final = 0.1


#: Characters kept of an engine's name, and of longer texts of its own.
MAX_NAME: Final = 200
MAX_TEXT: Final = 4000


def start_timeout(settings: GameSettings, player: Player) -> float:
    """Return the seconds for starting and getting ready."""
    if player.ready_timeout is not None:
        return player.ready_timeout
    usual = USI_START_TIMEOUT if player.protocol == "usi" else START_TIMEOUT
    return max(usual, settings.hang_timeout)


GameOutcome = Literal["win", "lose", "draw"]
ThoughtKind = Literal["move", "resign", "claim"]


@dataclass(slots=True)
class Limits:
    """The limits of one move; `nodes`, `depth` and `move_time_ms` are the same all game.

    clock_ms, increment_ms  of both sides in move order, None without a clock; base
                            time only, 0 in overtime
    byoyomi_ms              the mover's period (USI), 0 without one
    moves_to_go             moves to the next time control, 0 without one
    seconds                 deadline for the answer
    time_left               of both sides as GTP counts: seconds, and stones or
                            periods left in overtime, else 0; None without a clock
    """

    seconds: float
    clock_ms: tuple[int, int] | None = None
    increment_ms: tuple[int, int] = (0, 0)
    byoyomi_ms: int = 0
    moves_to_go: int = 0
    nodes: int | None = None
    depth: int | None = None
    move_time_ms: int | None = None
    time_left: tuple[tuple[float, int] | None, tuple[float, int] | None] = (None, None)


@dataclass(eq=False)
class Thought:
    """The answer to a request to move.

    move        as the engine wrote it
    elapsed_ns  from the moment before the last byte of the request was written to the
                read of the answer
    ponder      the opponent's move that the engine expects, "" if it names none
    info_lines  info lines of the search (UCI, USI) with the one that has the score; parsed
                on demand; over GTP an analysis as such a line
    is_turned   whether that score is the opponent's
    lead        points ahead from the mover's side (Go), None unknown
    """

    kind: ThoughtKind
    move: str
    elapsed_ns: int
    ponder: str = ""
    info_lines: bytes = b""
    is_turned: bool = False
    lead: float | None = None

    @cached_property
    def info(self) -> bytes:
        """The info line with the score, b"" without one."""
        return score_line(self.info_lines) if self.info_lines else b""

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return read_info(self.info)

    def number(self, name: str) -> int | None:
        """Return the info line's "depth", "seldepth", "nodes", "nps", "hashfull" or
        "tbhits", None without it."""
        return self._numbers.get(name)

    def score_and_mate(self) -> tuple[int | None, int | None]:
        """Return the mover's (centipawns, mate), at most one of them not None; a mate is in
        moves over UCI and in plies over USI."""
        score, mate = read_score(self.info)
        if self.is_turned:
            # "mate 0" has no opposite.
            score, mate = None if score is None else -score, -mate if mate else None
        return score, mate

    @property
    def pv(self) -> tuple[str, ...]:
        """The principal variation, the engine's own move first."""
        return read_pv(self.info)


class _StartTranscript:
    """Passes on traffic, and keeps the first lines of standard output for messages."""

    def __init__(self, transcript: Transcript | None) -> None:
        self._transcript = transcript
        self.lines: list[bytes] = []

    def note(self, code: str, direction: str, data: bytes) -> None:
        if direction == "<" and len(self.lines) < STDERR_LINES:
            self.lines += data.split(b"\n")
        if self._transcript is not None:
            self._transcript.note(code, direction, data)


class Engine(ABC):
    """A player's engine process and the state of the conversation with it.

    Every method that talks to the process raises an EngineError with the player's code when
    the engine misbehaves; the engine must then be ended.
    """

    protocol: ClassVar[str]

    def __init__(
        self,
        player: Player,
        surroundings: Surroundings,
        *,
        interrupt_fd: int | None = None,
    ) -> None:
        self.player = player
        self.name = ""
        self.description = ""
        #: Label of its build, "" if unknown.
        self.build = ""
        self._surroundings = surroundings
        self._interrupt_fd = interrupt_fd
        self._channel: Channel | None = None
        self._timeout = START_TIMEOUT
        #: Whether each request must wait until everything is answered: over GTP the engine
        #: loses a command that is written before its last answer; over UCI and USI it sends
        #: moves without a search.
        self.needs_sync = False
        #: Moves that it sent without a search; the game loop resets it.
        self.extra_moves = 0
        #: Findings of `launch` for the user.
        self.remarks: list[str] = []
        #: The settings of a successful `check`, None once the engine has been used since.
        #: A game under the same settings needs no further preparation.
        self.checked_for: GameSettings | None = None

    @property
    def channel(self) -> Channel:
        """The conversation.  Raises EngineNotStarted before `launch`."""
        if self._channel is None:
            raise EngineNotStarted("the engine has not been launched", self.player.code)
        return self._channel

    @property
    def is_launched(self) -> bool:
        """Return whether there is a process that `end` has not ended."""
        return self._channel is not None and self._channel.process.is_open

    def start_early(self, transcript: Transcript | None = None) -> None:
        """Start the process before `launch`, so that several engines load at once; `launch`
        reports errors."""
        with suppress(EngineNotStarted):
            self._start(transcript)

    def launch(
        self, transcript: Transcript | None = None, *, timeout: float = START_TIMEOUT
    ) -> None:
        """Start the process, unless `start_early` has, and shake hands.

        timeout  seconds for each answer before the first game

        Raises EngineNotStarted.
        """
        player = self.player
        self._timeout = timeout
        self.remarks = []
        start = _StartTranscript(transcript)
        try:
            if not self.is_launched:
                self._start(transcript)
            self.channel.transcript = start
            self._shake_hands()
            self.channel.transcript = transcript
        except EngineNotStarted as error:
            error.code = player.code
            raise
        except EngineError as error:
            message = str(error)
            # Programs print their usage on standard output, and exit.
            if self.channel.process.wait(RESTART_PATIENCE, keep_output=True):
                self.channel.unasked()
                if output := b"\n".join(start.lines[:STDERR_LINES]).rstrip():
                    message += f"\nits output:\n{cut(output.decode('utf-8', 'replace'), MAX_TEXT)}"
            if words := self.last_words():
                message += f"\nits last words:\n{words}"
            self.end(patience=RESTART_PATIENCE)
            raise EngineNotStarted(message, player.code) from error
        except BaseException:
            self.end(patience=RESTART_PATIENCE)
            raise

    def change_player(self, player: Player, surroundings: Surroundings | None = None) -> None:
        """Play for `player`, whose process is the same (`engine_pool.launch_key`).

        surroundings  for a process that may replace the present one; None leaves them
        """
        self._surroundings = surroundings or self._surroundings
        self.player = player
        self.channel.code = player.code

    def _start(self, transcript: Transcript | None) -> None:
        player = self.player
        self.checked_for = None
        process = EngineProcess(
            player.command,
            cwd=player.cwd,
            environ=player.environ,
            discard_stderr=player.discard_stderr,
            surroundings=self._surroundings,
            bounds=Bounds(player.max_memory, player.max_cpu, player.max_processes),
            sandbox=player.sandbox,
        )
        if self._surroundings.watch is not None:
            # after the start, so that no rebuild between look and start is missed
            try:
                self.build = self._surroundings.watch(player)
            except EngineRebuilt:
                process.end(0.0)
                raise
        self._channel = Channel(process, player.code, interrupt_fd=self._interrupt_fd)
        self._channel.transcript = transcript
        self._channel.echo = self._surroundings.echo

    def _restart(self) -> None:
        """End the process and start another one."""
        transcript = self.channel.transcript
        self.end(patience=RESTART_PATIENCE)
        self._channel = None
        self.launch(transcript, timeout=self._timeout)

    def _converse_at_start(self, exchange: Exchange) -> None:
        """Carry out an exchange before the first move; tell the user of a silent engine.

        Raises as `Channel.converse` does.
        """
        say, seconds = self._surroundings.say, self._timeout
        if say is None or seconds <= SILENCE:
            self.channel.converse(exchange, seconds)
            return
        request = exchange.describe()
        try:
            self.channel.converse(exchange, SILENCE)
            return
        except EngineTimeout:
            say(
                f"player {self.player.code!r} ({self.player.command[0]}) has not answered "
                f"{request} for {SILENCE:g} s; waiting up to {seconds:g} s"
            )
        self.channel.has_failed = False
        exchange.request = b""
        try:
            self.channel.converse(exchange, seconds - SILENCE)
        except EngineTimeout:
            raise EngineTimeout(f"no answer to {request} in {seconds:g} s") from None

    @abstractmethod
    def _shake_hands(self) -> None:
        """Carry out the protocol's handshake; set `name`."""

    @abstractmethod
    def check(self, settings: GameSettings) -> list[Problem]:
        """Prepare the engine as for a game; return the problems.

        Without problems sets `checked_for`.
        """

    def option_number(self, names: tuple[str, ...]) -> int | None:
        """Return the current value of the first of these options (folded names) that the
        engine has; None without a number."""
        return None

    @abstractmethod
    def start_game(self, settings: GameSettings, opening: Opening, colour: int) -> None:
        """Prepare for a game as `colour`."""

    def send_time(self, limits: Limits) -> None:
        """Send the clocks before the request to move, where the protocol separates both;
        delayed as in `observe`."""
        return None

    def begin(self, colour: int, limits: Limits) -> None:
        """Send the delayed commands together with the request to move for `colour`, and
        wait for the answers to the commands; `think` waits for the move.

        Raises EngineRefused when the engine refuses its opponent's move.
        """
        return None

    @abstractmethod
    def think(self, colour: int, limits: Limits) -> Thought:
        """Request a move for `colour`."""

    def synchronise(self, seconds: float) -> None:
        """Wait until everything is answered, where the protocol can, and count extra moves.

        Raises EngineTimeout after `seconds`.
        """
        return None

    def stop_thinking(self, seconds: float) -> Thought | None:
        """Stop a search after a timeout, where the protocol can; return the answer, None
        without one in time.  After an answer the engine is usable."""
        return None

    def ponder(self, colour: int, limits: Limits) -> Exchange | None:
        """Begin to ponder after a move of `colour`.

        limits  the limits of the next `think`, as they stand now

        Returns the exchange for the answer (see `Channel.attend`), None when the engine
        expects no move.
        """
        return None

    def stop_pondering(self, seconds: float) -> None:
        """Stop pondering and drop the answer; idempotent."""
        return None

    def end_game(self, outcome: GameOutcome) -> None:
        """Send the engine's own outcome, where the protocol has a command for it."""
        return None

    @abstractmethod
    def observe(self, colour: int, move: str, *, own: bool) -> None:
        """Send a legal move to the engine (`own`: the engine made it).

        The command may be delayed until the next request, or until `send_delayed`.
        """

    def send_delayed(self) -> None:
        """Send delayed commands and wait for the answers."""
        return None

    @abstractmethod
    def _say_goodbye(self) -> None:
        """Send the protocol's quit command without waiting."""

    def measure(self) -> Usage:
        """Return the CPU time and memory that the process has used since its start."""
        return self.channel.process.measure()

    def restart_count(self) -> None:
        """Count the use of memory and CPU for a new game."""
        self.channel.process.restart_count()

    def is_usable(self) -> bool:
        """Return whether the process runs, met its deadlines and kept to the protocol."""
        return (
            self._channel is not None
            and not self._channel.has_failed
            and not self._channel.process.has_exited()
        )

    def is_reusable(self) -> bool:
        """Return whether the process can play another game."""
        return self.is_usable()

    def has_exited(self) -> bool:
        """Return whether the process is gone."""
        return self._channel is None or self._channel.process.has_exited()

    def last_line(self) -> str:
        """Return the engine's last line of output, "" without one."""
        return "" if self._channel is None else self._channel.last_line()

    def last_words(self) -> str:
        """Return the last lines of standard error, "" without any."""
        return "" if self._channel is None else self._channel.errors.last_words()

    def say_goodbye(self) -> None:
        """Send the quit command without waiting, so that several engines quit at once;
        idempotent."""
        if self._channel is not None and self._channel.process.stdin_fd >= 0:
            with suppress(EngineError):
                self._say_goodbye()
            self._channel.process.close_stdin()

    def end(self, patience: float = QUIT_PATIENCE) -> None:
        """Quit, and kill the process after `patience` seconds; idempotent."""
        if self._channel is not None:
            self.say_goodbye()
            self._channel.process.end(patience)
