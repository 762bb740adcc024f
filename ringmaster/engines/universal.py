"""What UCI and USI share: handshake, options, positions, go, and pondering.

The position is kept as one growing byte string that is written together with
`go`, so that a move costs one write and one answer.

An engine that ponders has a `go ponder` under way while its opponent thinks.
When the opponent plays the expected move, `ponderhit` makes it an ordinary
search; else `stop` ends it, its answer is dropped, and a new one begins.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from ringmaster.engines.engine import (
    MAX_NAME,
    Engine,
    Limits,
    Thought,
    ThoughtKind,
    start_timeout,
)
from ringmaster.engines.exchange import Exchange
from ringmaster.engines.info import MAX_INFO, score_line
from ringmaster.engines.options import OptionDeclaration, describe_unknown
from ringmaster.errors import EngineError, EngineProtocolError, EngineTimeout, OptionRefused
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import OptionValue
from ringmaster.model.wording import shown

#: An engine may declare this many options.
MAX_OPTIONS: Final = 10_000

_NS: Final = 1_000_000_000
_MS: Final = 1_000_000
# "(none)", "NULL" and "0000" are no moves
_EXPECTED: Final = re.compile(r"(?=.*[a-z])(?=.*[1-9])[A-Za-z0-9+*@=]{4,8}")
#: Seconds for an engine to read what is not followed by a wait for an answer.
_READING: Final = 1.0
#: Seconds that a search is given to begin before it is ended or made an ordinary one.
_BEGINNING: Final = 0.05


class Handshake(Exchange):
    """uci … uciok, usi … usiok: collects the engine's name and its options.

    Lines that are no part of it are passed over: Stockfish greets before it
    answers, Toga II reports on missing bitbases, YaneuraOu tells of its build.

    Raises EngineProtocolError for an engine that says it does not know the command.
    """

    def __init__(self, protocol: str = "uci") -> None:
        self.request = protocol.encode() + b"\n"
        self._word = protocol
        self._end = protocol + "ok"
        self.name = ""
        self.options: dict[str, OptionDeclaration] = {}

    def feed(self, line: bytes) -> bool:
        text = line.decode("utf-8", "replace").strip()
        if text == self._end:
            return True
        # Stockfish: "Unknown command: 'usi'. …"; GNU Go over GTP: "? unknown command"
        if "unknown command" in text.casefold() and (self._word in text or text[:1] == "?"):
            raise EngineProtocolError(
                f"it does not speak {self._word.upper()}: it answers {shown(text)}"
            )
        if text.startswith("id name "):
            self.name = text[8:].strip()
        elif text.startswith("option "):
            option = OptionDeclaration.parse(text)
            if option is not None:
                self.options[option.name.casefold()] = option
            if len(self.options) > MAX_OPTIONS:
                raise EngineProtocolError(f"it declares more than {MAX_OPTIONS} options")
        return False


@mypyc_attr(allow_interpreted_subclasses=True)
class Ready(Exchange):
    """isready … readyok, after whatever `before` sets up."""

    def __init__(self, before: bytes = b"") -> None:
        self.request = before + b"isready\n"
        self.complaints: list[str] = []

    def feed(self, line: bytes) -> bool:
        if line.strip() == b"readyok":
            return True
        # Stockfish: "No such option: X"; others say it in an info string
        if b"No such option" in line and len(self.complaints) < 20:
            self.complaints.append(line.decode("utf-8", "replace").strip())
        return False


class Go(Exchange):
    """position … go … bestmove.  Of the info lines only the one that counts is kept, or a
    few of them, to be looked through when somebody asks for a score."""

    # until there is an answer; one is made for every move
    bestmove = ""
    ponder = ""
    is_complete = False
    #: Info lines, the one that counts among them; bounded.
    said = b""

    def __init__(self, request: bytes) -> None:
        self.request = request

    @property
    def info(self) -> bytes:
        """The info line that the score is from, b"" without one; bounded."""
        return score_line(self.said)

    def feed(self, line: bytes) -> bool:
        return self.take(line + b"\n") is not None

    def take(self, lines: bytes) -> bytes | None:
        if not lines.startswith(b"bestmove"):
            said, found, lines = lines.partition(b"\nbestmove")
            self.said += said + b"\n" if found else said
            if len(self.said) > MAX_INFO:
                line = score_line(self.said)
                self.said = line + b"\n" if line else b""
            if not found:
                return None
            lines = b"bestmove" + lines
        answer, _, rest = lines.partition(b"\n")
        words = answer.split(None, 4)
        # an answer that is no text is kept visible for the error message
        if len(words) > 1:
            self.bestmove = words[1].decode("ascii", "replace")
            if len(words) > 3 and words[2] == b"ponder":
                self.ponder = words[3].decode("ascii", "replace")
        self.is_complete = True
        return rest


class PonderedGo(Exchange):
    """go ponder … bestmove; knows whether the engine has said anything yet.  The
    answer is in `go`."""

    def __init__(self, request: bytes, started: int) -> None:
        self.go = Go(request)
        self.started = started
        self.has_spoken = False

    def feed(self, line: bytes) -> bool:
        return self.take(line + b"\n") is not None

    def take(self, lines: bytes) -> bytes | None:
        self.has_spoken = True
        return self.go.take(lines)


class _FirstLine(Exchange):
    """Ends with whatever the search says first; all of it goes to the search."""

    def __init__(self, pondered: PonderedGo) -> None:
        self._pondered = pondered

    def feed(self, line: bytes) -> bool:
        self._pondered.feed(line)
        return True

    def take(self, lines: bytes) -> bytes | None:
        return self._pondered.take(lines) or b""


@mypyc_attr(allow_interpreted_subclasses=True)
class UniversalEngine(Engine):
    """An engine over UCI or USI, kept from game to game."""

    #: The word for a start position of its own ("fen", "sfen").
    _setup_word: ClassVar[str]
    #: Options that say whether the engine may ponder, the usual name first.
    _ponder_options: ClassVar[tuple[str, ...]]

    def _shake_hands(self) -> None:
        handshake = Handshake(self.protocol)
        self.channel.converse(handshake, self._timeout)
        self.name = handshake.name[:MAX_NAME]
        self.options = handshake.options
        self._set: dict[str, str] = {}
        #: The position as it was asked about last, and the words since: moves, and before
        #: the first of them what stands there.
        self._position = b""
        self._since = ["moves"]
        #: The opponent's move that the last answer expects, and the last one played.
        self._expected = ""
        self._last_move = ""
        #: The search that was asked for last, and the one on the opponent's time.
        self._search: Go | None = None
        self._pondering: PonderedGo | None = None
        #: The last limits without a clock, and the line for them with the end of the one before.
        self._limits: Limits | None = None
        self._go = b""
        #: Whether its scores are to be turned round, as each colour.
        self._turned: tuple[bool, ...] = (False, False)

    @abstractmethod
    def _go_command(self, limits: Limits, *, ponder: bool = False) -> bytes:
        """Return the `go` line for the limits, its newline included."""

    def _declared(self, name: str) -> OptionDeclaration | None:
        """Return the option of that name, None when the engine has none."""
        return self.options.get(name.casefold())

    def _gives(self, name: str) -> bool:
        """Whether the player sets an option itself; `name` is folded."""
        return any(key.casefold() == name for key in self.player.options)

    def _own_options(self, settings: GameSettings, opening: Opening) -> dict[str, OptionValue]:
        """Return the options that the player does not set but a game needs.
        Raises OptionRefused for what the engine cannot do."""
        for name in map(str.casefold, self._ponder_options):
            if name in self.options:
                return {} if self._gives(name) else {self.options[name].name: self.player.ponder}
        return {}

    def option_lines(self, settings: GameSettings, opening: Opening) -> list[str]:
        """Return the setoption lines that bring the engine from what it was
        last told to its player's options.

        An option that the previous player set and this one does not is set to
        its declared default.  Raises OptionRefused naming every wrong option.
        """
        wanted: dict[str, str] = {}
        problems: list[str] = []
        try:
            own = self._own_options(settings, opening)
        except OptionRefused as refusal:
            own = {}
            problems += str(refusal).splitlines()
        for name, value in (*own.items(), *self.player.options.items()):
            declared = self._declared(name)
            if declared is None:
                problems.append(describe_unknown(name, self.options.values()))
                continue
            try:
                wanted[declared.name] = declared.render(value)
            except OptionRefused as refusal:
                problems.append(str(refusal))
        if problems:
            raise OptionRefused("\n".join(problems), self.player.code)
        for name in own:
            # what it does by itself need not be said
            if name not in self._set and self._default(name) == wanted[name]:
                del wanted[name]
        for name in self._set.keys() - wanted.keys():
            declared = self._declared(name)
            if declared is not None and declared.type != "button":
                wanted[name] = declared.default
        lines = []
        for name, text in wanted.items():
            declared = self._declared(name)
            is_button = declared is not None and declared.type == "button"
            if self._set.get(name) != text or is_button:
                lines.append(f"setoption name {name}" + (f" value {text}" if text else ""))
        self._set = wanted
        return lines

    def _default(self, name: str) -> str | None:
        option = self._declared(name)
        return None if option is None else option.default

    def _get_ready(self, settings: GameSettings, opening: Opening) -> Ready:
        """Set options and wait until the engine is ready for a new game."""
        self._timeout = start_timeout(settings, self.player)
        lines = self._ready_lines(self.option_lines(settings, opening))
        exchange = Ready("".join(f"{line}\n" for line in lines).encode())
        self.channel.converse(exchange, self._timeout)
        return exchange

    @abstractmethod
    def _ready_lines(self, options: list[str]) -> list[str]:
        """Return what is said before isready."""

    def check(self, settings: GameSettings) -> list[str]:
        try:
            complaints = self._get_ready(settings, Opening()).complaints
            return [self._explained(line) for line in complaints]
        except OptionRefused as refusal:
            return str(refusal).splitlines()
        except EngineError as error:
            return [str(error)]

    def number_in_force(self, names: tuple[str, ...]) -> int | None:
        for name in names:
            declared = self._declared(name)
            if declared is not None:
                text = self._set.get(declared.name, declared.default)
                return int(text) if text.isdecimal() and len(text) < 10 else None
        return None

    def _explained(self, complaint: str) -> str:
        """Return the words for "No such option: X" that name what there is instead."""
        name = complaint.partition("No such option:")[2].strip()
        declared = name.casefold() in self.options
        return complaint if declared or not name else describe_unknown(name, self.options.values())

    def start_game(self, settings: GameSettings, opening: Opening, colour: int) -> None:
        self._get_ready(settings, opening)
        start = "startpos" if opening.fen is None else f"{self._setup_word} {opening.fen}"
        self._position = f"position {start}".encode()
        self._since = ["moves"]
        self._expected = self._last_move = ""
        self._search = self._pondering = self._limits = None
        self._turned = (self.player.turns_scores(0), self.player.turns_scores(1))
        for move in opening.moves:
            self.observe(0, move, own=False)

    def prepare(self, settings: GameSettings, *, new_game: bool) -> None:
        """Set the player's options and wait until they are taken, for positions that
        are asked for one by one (`position_line`).

        new_game  whether a new game begins, and hash tables are emptied where the
                  engine has a button for that

        Raises OptionRefused.
        """
        if not new_game:
            self._timeout = start_timeout(settings, self.player)
            lines = self.option_lines(settings, Opening())
            self.channel.converse(Ready("".join(f"{o}\n" for o in lines).encode()), self._timeout)
            return
        self.start_game(settings, Opening(), 0)
        button = self.options.get("clear hash")
        if button is not None and button.type == "button":
            line = f"setoption name {button.name}\n".encode()
            self.channel.converse(Ready(line), self._timeout)

    def requests(self, texts: Sequence[bytes], command: bytes) -> list[bytes]:
        """Return for each position the lines that set it up and ask `command` of it.

        texts  FEN (SFEN over USI), or as much of it as an EPD has
        """
        begin, end = f"position {self._setup_word} ".encode(), b"\n" + command + b"\n"
        if self._setup_word != "fen":
            return [begin + text + end for text in texts]
        # EPD has neither counter, and some engines want them
        return [begin + (text if text.count(b" ") != 3 else text + b" 0 1") + end for text in texts]

    def observe(self, colour: int, move: str, *, own: bool) -> None:
        self._since.append(move)
        self._last_move = move

    def _present(self) -> bytes:
        """Return the line that sets up the position, without its end."""
        if self._last_move and self._since:
            self._position += b" " + " ".join(self._since).encode()
            self._since = []
        return self._position

    def _request(self, limits: Limits) -> bytes:
        """Return the lines that ask for a move."""
        if limits.clock_ms is not None:
            return self._present() + b"\n" + self._go_command(limits)
        # without a clock they stay as they are from move to move of a game
        if limits is not self._limits:
            self._limits, self._go = limits, b"\n" + self._go_command(limits)
        return self._present() + self._go

    def think(self, colour: int, limits: Limits) -> Thought:
        seconds, spent = limits.seconds, 0
        if (pondering := self._pondering) is not None:
            self._pondering = None
            self._let_begin(pondering)
            if self._last_move == self._expected:
                return self._take_up(colour, pondering.go, seconds)
            if not pondering.go.is_complete:
                # its opponent has moved: what it takes to stop is its own time
                spent = self._converse(pondering.go, b"stop\n", seconds)
                seconds = max(0.001, seconds - spent / _NS)
                limits = _without(limits, colour, spent)
        channel = self.channel
        # A late line of the last search must not answer this one.
        channel.discard_input()
        go = Go(self._request(limits))
        self._search = go
        return self._thought(colour, go, spent + channel.converse(go, seconds))

    def _converse(self, go: Go, request: bytes, seconds: float) -> int:
        self._search = go
        go.request = request
        return self.channel.converse(go, seconds)

    def _let_begin(self, pondering: PonderedGo) -> None:
        """Give a search that was asked for a moment ago the time to begin, on
        nobody's clock.

        Ethereal forgets a `ponderhit` that comes before its search thread runs, and
        thinks on for ever.
        """
        left = _BEGINNING - (self._clock() - pondering.started) / _NS
        if pondering.has_spoken or left <= 0:
            return
        try:
            self.channel.converse(_FirstLine(pondering), left)
        except EngineTimeout:
            self.channel.has_failed = False

    def _take_up(self, colour: int, go: Go, seconds: float) -> Thought:
        """Make the search on the opponent's time an ordinary one.

        An answer that came too early is kept for now, though the protocol forbids
        it: the engine is asked nothing more, and has used none of its time.
        """
        elapsed = 0 if go.is_complete else self._converse(go, b"ponderhit\n", seconds)
        return self._thought(colour, go, elapsed)

    def _thought(self, colour: int, go: Go, elapsed: int) -> Thought:
        move = go.bestmove
        self._expected = ponder = go.ponder
        return Thought(self._kind(move), move, elapsed, ponder, go.said, self._turned[colour])

    def _kind(self, answer: str) -> ThoughtKind:
        """Return what an answer is, which need not be a move."""
        return "move"

    def ponder(self, colour: int, limits: Limits) -> Exchange | None:
        if not _EXPECTED.fullmatch(self._expected):
            return None
        request = self._present() + f" {self._expected}\n".encode()
        request += self._go_command(limits, ponder=True)
        self.channel.discard_input()
        self.channel.send(request, _READING)
        self._pondering = PonderedGo(request, self._clock())
        return self._pondering

    def stop_pondering(self, seconds: float) -> None:
        pondering, self._pondering = self._pondering, None
        if pondering is not None:
            self._let_begin(pondering)
            if not pondering.go.is_complete:
                self._converse(pondering.go, b"stop\n", seconds)

    def stop_thinking(self, seconds: float) -> float | None:
        if self._search is None:
            return None
        try:
            elapsed = self._converse(self._search, b"stop\n", seconds)
        except EngineError:
            return None
        self.channel.has_failed = False
        return elapsed / _NS

    def _say_goodbye(self) -> None:
        # `stop` first: some engines read nothing else while they search
        self.channel.send(b"stop\nquit\n", 0.1)


def move_limits(limits: Limits) -> bytes:
    """Return the words for what limits a single move, a space before each."""
    words = b"" if limits.nodes is None else b" nodes %d" % limits.nodes
    if limits.depth is not None:
        words += b" depth %d" % limits.depth
    if limits.move_time_ms is not None:
        words += b" movetime %d" % limits.move_time_ms
    return words


def _without(limits: Limits, colour: int, spent: int) -> Limits:
    """Return the limits of a mover that has used `spent` ns of its time already."""
    gone = spent // _MS
    clocks, byoyomi, move_time = limits.clock_ms, limits.byoyomi_ms, limits.move_time_ms
    if clocks is not None:
        left = clocks[colour] - gone
        if byoyomi:
            byoyomi = max(1, byoyomi + min(0, left))
        left = max(0 if byoyomi else 1, left)
        clocks = (left, clocks[1]) if colour == 0 else (clocks[0], left)
    if move_time is not None:
        move_time = max(1, move_time - gone)
    return replace(limits, clock_ms=clocks, byoyomi_ms=byoyomi, move_time_ms=move_time)
