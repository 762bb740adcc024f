"""The contract of an engine as the game loop sees it, whatever its protocol."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from mypy_extensions import mypyc_attr

from ringmaster.engines.channel import Channel
from ringmaster.engines.exchange import Exchange, Transcript
from ringmaster.engines.info import read_depth, read_info, read_pv, read_score, score_line
from ringmaster.engines.process import EngineProcess, Surroundings
from ringmaster.engines.usage import Usage
from ringmaster.errors import EngineError, EngineNotStarted
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import Player

#: Seconds an engine may take to shake hands, and to get ready for a game: it
#: may have to load networks, or to clear a large hash table.
START_TIMEOUT = 60.0
#: The same over USI, where evaluation files of gigabytes are loaded at isready.
USI_START_TIMEOUT: Final = 120.0
#: Seconds an engine may take to quit before it is killed.
QUIT_PATIENCE: Final = 1.0
#: The same for one that has not kept to its protocol.
_RESTART_PATIENCE: Final = 0.1


#: Characters kept of an engine's name, and of longer texts of its own.
MAX_NAME: Final = 200
MAX_TEXT: Final = 4000


def start_timeout(settings: GameSettings, player: Player) -> float:
    """Return the seconds for starting and getting ready."""
    if player.ready_timeout is not None:
        return player.ready_timeout
    usual = USI_START_TIMEOUT if player.protocol == "usi" else START_TIMEOUT
    return max(usual, settings.hang_timeout)


def cut(text: str) -> str:
    """Return an engine's text, cut to a size that records and logs can bear."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


GameOutcome = Literal["win", "lose", "draw"]
ThoughtKind = Literal["move", "resign", "claim"]


@dataclass(slots=True)
class Limits:
    """What a mover may use for one move; `nodes`, `depth` and `move_time_ms` stay as they are.

    clock_ms, increment_ms  of both sides in move order, None without a clock; base
                            time only, 0 in overtime
    byoyomi_ms              the mover's period (USI), 0 without one
    moves_to_go             moves to the next time control, 0 without one
    seconds                 when to give up waiting, whatever the limit
    time_left               of both sides, as GTP counts: seconds, and stones or
                            periods left in overtime, else 0; None without a clock
    cleanup                 whether dead stones are being taken off the board (Go)
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
    cleanup: bool = False


class Thought:
    """What came of a request to move.

    move        as the engine wrote it
    elapsed_ns  from the moment before the last byte of the request was written to the
                first sight of the answer
    ponder      the opponent's answer that the engine expects, "" if it names none
    said        what the engine said of the search (UCI, USI): the info line that its score
                is from, perhaps among others; read when somebody asks
    is_turned   whether the line's score is the opponent's
    """

    __slots__ = (
        "_info",
        "_numbers",
        "_verdict",
        "elapsed_ns",
        "is_turned",
        "kind",
        "move",
        "ponder",
        "said",
    )

    def __init__(
        self,
        kind: ThoughtKind,
        move: str,
        elapsed_ns: int,
        ponder: str = "",
        said: bytes = b"",
        is_turned: bool = False,
    ) -> None:
        self.kind: ThoughtKind = kind
        self.move = move
        self.elapsed_ns = elapsed_ns
        self.ponder = ponder
        self.said = said
        self.is_turned = is_turned
        self._info: bytes | None = None
        self._numbers: dict[str, int] | None = None
        self._verdict: tuple[int | None, int | None] | None = None

    @property
    def info(self) -> bytes:
        """The info line that the score is from, b"" without one."""
        if self._info is None:
            self._info = score_line(self.said) if self.said else b""
        return self._info

    def number(self, name: str) -> int | None:
        """Return what the info line says of "depth", "seldepth", "nodes", "nps",
        "hashfull" or "tbhits", or None."""
        if self._numbers is None:
            self._numbers = read_info(self.info)
        return self._numbers.get(name)

    def verdict(self) -> tuple[int | None, int | None]:
        """Return the (centipawns, mate) that the mover gives itself, at most one of
        them not None; a mate is in moves over UCI and in plies over USI."""
        if self._verdict is None:
            score, mate = read_score(self.info)
            if self.is_turned:
                # "mate 0" has no opposite: it says nothing
                score, mate = None if score is None else -score, -mate if mate else None
            self._verdict = score, mate
        return self._verdict

    @property
    def score(self) -> int | None:
        """Centipawns for the mover."""
        return self.verdict()[0]

    @property
    def mate(self) -> int | None:
        """The mover's mate, see `verdict`."""
        return self.verdict()[1]

    @property
    def depth(self) -> int | None:
        """Depth searched, in plies."""
        if self._numbers is None:
            return read_depth(self.info)
        return self.number("depth")

    @property
    def nodes(self) -> int | None:
        """Nodes searched."""
        return self.number("nodes")

    @property
    def pv(self) -> tuple[str, ...]:
        """The line that the engine expects, its own move first."""
        return read_pv(self.info)


@mypyc_attr(allow_interpreted_subclasses=True)
class Engine(ABC):
    """A player's engine process and what has been said to it.

    Every method that talks raises an EngineError (with the player's code) when
    the engine misbehaves; the engine must then be ended.
    """

    protocol: ClassVar[str]

    def __init__(
        self,
        player: Player,
        surroundings: Surroundings,
        *,
        interrupt_fd: int | None = None,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.player = player
        self.name = ""
        self.description = ""
        self._surroundings = surroundings
        self._interrupt_fd = interrupt_fd
        self._clock = clock
        self._channel: Channel | None = None
        self._has_head_start = False
        self._timeout = START_TIMEOUT
        #: Whether it loses a command that is written before it has answered the last
        #: one; found out by `launch`, unless it is known already.
        self.takes_one_command = False
        #: What `launch` has found out that a user ought to know.
        self.remarks: list[str] = []

    @property
    def channel(self) -> Channel:
        """The conversation; only after `launch`."""
        if self._channel is None:
            raise EngineNotStarted("the engine has not been launched", self.player.code)
        return self._channel

    @property
    def is_launched(self) -> bool:
        """Whether there is a process that has not been ended yet."""
        return self._channel is not None and self._channel.process.is_open

    def give_head_start(self, transcript: Transcript | None = None) -> None:
        """Start the process ahead of `launch`, so that it loads while others are waited
        for.  What keeps it from starting is for `launch` to tell."""
        try:
            self._start(transcript)
            self._has_head_start = True
        except EngineNotStarted:
            pass

    def launch(
        self, transcript: Transcript | None = None, *, timeout: float = START_TIMEOUT
    ) -> None:
        """Start the process, unless it has a head start, and shake hands.

        timeout  seconds for any answer before the first game

        Raises EngineNotStarted.
        """
        player = self.player
        self._timeout = timeout
        self.remarks = []
        try:
            if not self._has_head_start:
                self._start(transcript)
            self._has_head_start = False
            self._shake_hands()
        except EngineError as error:
            error.code = player.code
            words = self.last_words()
            self.end(patience=_RESTART_PATIENCE)
            message = str(error) if not words else f"{error}\nits last words:\n{words}"
            raise EngineNotStarted(message, player.code) from error
        except BaseException:
            self.end(patience=_RESTART_PATIENCE)
            raise

    def _start(self, transcript: Transcript | None) -> None:
        player = self.player
        process = EngineProcess(
            player.command,
            cwd=player.cwd,
            environ=player.environ,
            discard_stderr=player.discard_stderr,
            surroundings=self._surroundings,
        )
        self._channel = Channel(
            process, player.code, interrupt_fd=self._interrupt_fd, clock=self._clock
        )
        self._channel.transcript = transcript

    def _start_anew(self) -> None:
        """End the process and start another one in its place."""
        transcript = self.channel.transcript
        self.end(patience=_RESTART_PATIENCE)
        self._channel = None
        self._start(transcript)

    @abstractmethod
    def _shake_hands(self) -> None:
        """Do what the protocol wants first; set `name`."""

    @abstractmethod
    def check(self, settings: GameSettings) -> list[str]:
        """Set everything up as for a game; returns problems in plain words."""

    @abstractmethod
    def start_game(self, settings: GameSettings, opening: Opening, colour: int) -> None:
        """Get ready for a game that this engine plays as `colour`."""

    def tell_time(self, limits: Limits) -> None:
        """Tell the engine what the clocks say before it is asked for a move,
        where its protocol does not do both at once; it may be held back as
        `observe` says."""
        return None

    def begin(self, colour: int, limits: Limits) -> None:
        """Ask for a move for `colour`, which `think` with the same limits then waits
        for, if there is anything that the engine has to be told first; returns when
        it has taken note of that.

        Raises EngineRefused when it refuses a move that it was told of.
        """
        return None

    @abstractmethod
    def think(self, colour: int, limits: Limits) -> Thought:
        """Ask for a move for `colour`."""

    def stop_thinking(self, seconds: float) -> float | None:
        """Tell an engine whose `think` has timed out to answer at once, where its
        protocol can; returns the seconds that it took to do so, or None if it
        did not within `seconds`.  One that answers can be talked to again."""
        return None

    def ponder(self, colour: int, limits: Limits) -> Exchange | None:
        """Let the engine that plays `colour` and has just moved think on while its
        opponent does.  `limits` are those that `think` will be given next, as
        they stand now.  Returns what its answer will go to (see
        `Channel.attend`), None if it has nothing to think on."""
        return None

    def stop_pondering(self, seconds: float) -> None:
        """End what `ponder` began, without a move; idempotent."""
        return None

    def end_game(self, outcome: GameOutcome) -> None:
        """Tell the engine how the game ended for it, where its protocol does."""
        return None

    @abstractmethod
    def observe(self, colour: int, move: str, *, own: bool) -> None:
        """Tell the engine of a move that stands (`own`: it made it itself).

        What does not matter before it is asked for something may be held back until
        then, or until `catch_up`.
        """

    def catch_up(self) -> None:
        """Tell the engine what has been held back; raises what that comes to."""
        return None

    @abstractmethod
    def _say_goodbye(self) -> None:
        """Send the protocol's word for the end, without waiting."""

    def measure(self) -> Usage:
        """Return what the process has used since it was started."""
        return self.channel.process.measure()

    def used_cpu(self) -> float | None:
        """Return the CPU seconds of `measure` alone, in less time."""
        return self.channel.process.cpu_time()

    def forget_peak(self) -> None:
        """Let the peak of memory start anew."""
        self.channel.process.forget_peak()

    def is_alive(self) -> bool:
        """Whether the process can still be talked to: it is there, and has not
        missed a deadline or broken the protocol."""
        return (
            self._channel is not None
            and not self._channel.has_failed
            and not self._channel.process.has_exited()
        )

    def is_fit(self) -> bool:
        """Whether the process can be kept for another game."""
        return self.is_alive()

    def has_exited(self) -> bool:
        """Whether the process is gone."""
        return self._channel is None or self._channel.process.has_exited()

    def last_line(self) -> str:
        """Return the last line that the engine has said, "" if there is none."""
        return "" if self._channel is None else self._channel.last_line()

    def last_words(self) -> str:
        """Return the last lines of standard error, "" if there are none."""
        return "" if self._channel is None else self._channel.last_words()

    def say_goodbye(self) -> None:
        """Ask the engine to quit and do not wait, so that several may quit at
        once; idempotent."""
        if self._channel is not None and self._channel.process.stdin_fd >= 0:
            try:
                self._say_goodbye()
            except EngineError:
                pass
            self._channel.process.close_stdin()

    def end(self, patience: float = QUIT_PATIENCE) -> None:
        """Quit, or be killed after `patience` seconds; idempotent."""
        if self._channel is not None:
            self.say_goodbye()
            self._channel.process.end(patience)
