"""Engines over UCI and USI: options, positions, searches, pondering.

The position is one growing byte string that is written together with `go`, so a move costs
one write and one answer.

An engine that ponders searches (`go ponder`) during its opponent's turn.  When the opponent
plays the expected move, `ponderhit` makes it an ordinary search.  Otherwise `stop` ends it,
its answer is dropped, and a new search begins.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from ringmaster.engines.channel import Exchange, now_ns
from ringmaster.engines.engine import (
    MAX_NAME,
    Engine,
    GameOutcome,
    Limits,
    Thought,
    ThoughtKind,
    start_timeout,
)
from ringmaster.engines.uci_messages import (
    FirstLine,
    Go,
    Handshake,
    OptionDeclaration,
    PonderedGo,
    Ready,
    describe_unknown,
)
from ringmaster.errors import EngineError, EngineTimeout, OptionRefused
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.players import OptionValue
from ringmaster.model.results import Problem, problems_of

_NS: Final = 1_000_000_000
_MS: Final = 1_000_000
# "(none)", "NULL" and "0000" are no moves.
_MOVE: Final = re.compile(r"(?=.*[a-z])(?=.*[1-9])[A-Za-z0-9+*@=]{4,8}")
#: Seconds for an engine to read a request that has no answer.
_SEND_TIMEOUT: Final = 1.0
#: Seconds for a pondering search to begin before it is ended or becomes an ordinary one: of an
#: engine that prints lines (without a processor it takes long), and of another.
_PONDER_START_WAIT: Final = 1.0
_SILENT_START_WAIT: Final = 0.05


class UciOrUsiEngine(Engine):
    """An engine over UCI or USI, kept from game to game."""

    #: The word for a start position of its own ("fen", "sfen").
    _setup_word: ClassVar[str]
    #: Answers that are no moves.
    _kinds: ClassVar[dict[str, ThoughtKind]] = {}
    #: Lines between the options and isready.
    _game_lines: ClassVar[tuple[str, ...]]
    #: Options that say whether the engine may ponder, the usual name first.
    _ponder_options: ClassVar[tuple[str, ...]]

    def _shake_hands(self) -> None:
        handshake = Handshake(self.protocol)
        self._converse_at_start(handshake)
        self.name = handshake.name[:MAX_NAME]
        self.options = handshake.options
        #: Texts of the options that are set, by declared name.
        self._current_options: dict[str, str] = {}
        #: The position of the last request, and the words to append: moves since, and
        #: "moves" before the first.
        self._position = b""
        self._moves_since = ["moves"]
        #: The move that the engine expects from its opponent, and the last move played.
        self._expected = ""
        self._last_move = ""
        #: The last search, and the pondering one.
        self._search: Go | None = None
        self._pondering: PonderedGo | None = None
        #: Whether it prints lines while it searches, as far as is known.
        self._prints: bool | None = None
        #: Whether its scores are the opponent's, as each colour.
        self._turned: tuple[bool, ...] = (False, False)

    @classmethod
    def go_command(cls, limits: Limits, *, ponder: bool = False) -> bytes:
        """Return the `go` line for the limits, its newline included."""
        words = b"go ponder" if ponder else b"go"
        if limits.clock_ms is not None:
            words += cls._clock_words(limits, *limits.clock_ms)
        if limits.nodes is not None:
            words += b" nodes %d" % limits.nodes
        if limits.depth is not None:
            words += b" depth %d" % limits.depth
        if limits.move_time_ms is not None:
            words += b" movetime %d" % limits.move_time_ms
        return words + b"\n"

    @staticmethod
    @abstractmethod
    def _clock_words(limits: Limits, first: int, second: int) -> bytes:
        """Return the words for the clocks, a space before each.

        first, second  milliseconds of both sides, as in `limits.clock_ms`
        """

    def _declared(self, name: str) -> OptionDeclaration | None:
        """Return the option of that name, None when the engine has none."""
        return self.options.get(name.casefold())

    def _player_sets(self, name: str) -> bool:
        """Return whether the player sets an option; `name` is folded."""
        return any(key.casefold() == name for key in self.player.options)

    def _own_options(self, settings: GameSettings, opening: Opening) -> dict[str, OptionValue]:
        """Return options that a game needs and the player does not set.

        Raises OptionRefused for a game that the engine cannot play.
        """
        for name in map(str.casefold, self._ponder_options):
            if name in self.options:
                return (
                    {} if self._player_sets(name) else {self.options[name].name: self.player.ponder}
                )
        return {}

    def option_lines(self, settings: GameSettings, opening: Opening) -> list[str]:
        """Return the setoption lines that bring the engine to its player's options.

        An option that only the previous player set gets its declared default.  Without a
        known default a new process replaces the engine's.  Raises OptionRefused naming every
        wrong option, and EngineNotStarted.
        """
        wanted: dict[str, str] = {}
        refusals: list[OptionRefused] = []
        try:
            own = self._own_options(settings, opening)
        except OptionRefused as refusal:
            own = {}
            refusals.append(refusal)
        for name, value in (*own.items(), *self.player.options.items()):
            declared = self._declared(name)
            try:
                if declared is None:
                    text = describe_unknown(name, self.options.values())
                    raise OptionRefused(text, option=name)
                text = declared.render(value)
            except OptionRefused as refusal:
                refusals.append(refusal)
                continue
            # A default needs no line.
            is_default = name in own and declared.default == text
            if not is_default or declared.name in self._current_options:
                wanted[declared.name] = text
        if refusals:
            text = "\n".join(map(str, refusals))
            raise OptionRefused(text, self.player.code, refusals=refusals)
        for name in self._current_options.keys() - wanted.keys():
            declared = self._declared(name)
            default = None if declared is None else declared.reset_text
            if default is None:
                self._restart()
                return self.option_lines(settings, opening)
            wanted[name] = default
        lines = []
        for name, text in wanted.items():
            if not text:
                # A button.
                lines.append(f"setoption name {name}")
            elif self._current_options.get(name) != text:
                lines.append(f"setoption name {name} value {text}")
        self._current_options = wanted
        return lines

    def _get_ready(self, settings: GameSettings, opening: Opening) -> list[str]:
        """Set options and wait until the engine is ready for a new game; return its
        complaints.  Does nothing when `check` has made the engine ready."""
        self._timeout = start_timeout(settings, self.player)
        options = self.option_lines(settings, opening)
        is_ready = self.checked_for == settings and not options
        self.checked_for = None
        if is_ready:
            return []
        exchange = Ready(*options, *self._game_lines)
        self._count_extra(self.channel.unasked())
        self._converse_at_start(exchange)
        self._count_extra(exchange.moves)
        return exchange.complaints

    def check(self, settings: GameSettings) -> list[Problem]:
        try:
            complaints = self._get_ready(settings, Opening())
            if not complaints:
                self.checked_for = settings
            return [self._explained(line) for line in complaints]
        except EngineError as error:
            return problems_of(error)

    def option_number(self, names: tuple[str, ...]) -> int | None:
        for name in names:
            declared = self._declared(name)
            if declared is not None:
                text = self._current_options.get(declared.name, declared.default)
                return int(text) if text.isdecimal() and len(text) < 10 else None
        return None

    def _explained(self, complaint: str) -> Problem:
        """Return the problem for "No such option: X", with similar names."""
        name = complaint.partition("No such option:")[2].strip()
        if not name or name.casefold() in self.options:
            return Problem(complaint)
        return Problem(describe_unknown(name, self.options.values()), "option", name)

    def start_game(self, settings: GameSettings, opening: Opening, colour: int) -> None:
        self._get_ready(settings, opening)
        start = "startpos" if opening.fen is None else f"{self._setup_word} {opening.fen}"
        self._position = f"position {start}".encode()
        self._moves_since = ["moves"]
        self._expected = self._last_move = ""
        self._search = self._pondering = None
        self._turned = (self.player.turns_scores(0), self.player.turns_scores(1))
        for move in opening.moves:
            self.observe(0, move, own=False)

    def prepare(self, settings: GameSettings, *, new_game: bool) -> None:
        """Set the player's options for the evaluation of positions, and wait for readyok.

        new_game  begin a new game, and clear the hash if the engine has a button for it

        Raises OptionRefused.
        """
        if not new_game:
            self.checked_for = None
            self._timeout = start_timeout(settings, self.player)
            ready = Ready(*self.option_lines(settings, Opening()))
            self.channel.converse(ready, self._timeout)
            return
        self.start_game(settings, Opening(), 0)
        button = self.options.get("clear hash")
        if button is not None and button.type == "button":
            self.channel.converse(Ready(f"setoption name {button.name}"), self._timeout)

    def requests(self, texts: Sequence[bytes], command: bytes) -> list[bytes]:
        """Return the lines that set up each position and send `command`.

        texts  FEN (SFEN over USI), or EPD without operations
        """
        begin, end = f"position {self._setup_word} ".encode(), b"\n" + command + b"\n"
        if self._setup_word != "fen":
            return [begin + text + end for text in texts]
        # EPD lacks the two counters, which some engines need.
        return [begin + (text if text.count(b" ") != 3 else text + b" 0 1") + end for text in texts]

    def observe(self, colour: int, move: str, *, own: bool) -> None:
        self._moves_since.append(move)
        self._last_move = move

    def _present(self) -> bytes:
        """Return the line that sets up the position, without its end."""
        if self._last_move and self._moves_since:
            self._position += b" " + " ".join(self._moves_since).encode()
            self._moves_since = []
        return self._position

    def think(self, colour: int, limits: Limits) -> Thought:
        seconds, spent = limits.seconds, 0
        if (pondering := self._pondering) is not None:
            self._pondering = None
            self._let_begin(pondering)
            if self._last_move == self._expected:
                # An answer that came too early, which the protocol forbids, costs no time.
                if not pondering.is_complete:
                    spent = self._converse(pondering, b"ponderhit\n", seconds)
                return self._thought(colour, pondering, spent)
            if not pondering.is_complete:
                # The opponent has moved: stopping costs the engine's own time.
                spent = self._converse(pondering, b"stop\n", seconds)
                seconds = max(0.001, seconds - spent / _NS)
                limits = _without(limits, colour, spent)
        self._clear(seconds)
        go = Go(self._present() + b"\n" + self.go_command(limits))
        self._search = go
        return self._thought(colour, go, spent + self.channel.converse(go, seconds))

    def _clear(self, seconds: float) -> None:
        """Drop output since the last answer, which must not answer the next search."""
        pending = self.channel.unasked()
        if pending:
            self._count_extra(pending)
        if self.needs_sync:
            self.synchronise(seconds)

    def synchronise(self, seconds: float) -> None:
        self._count_extra(self.channel.unasked())
        ready = Ready()
        self.channel.converse(ready, seconds)
        self._count_extra(ready.moves)

    def _count_extra(self, lines: bytes) -> None:
        """Count the moves in output without a search."""
        moves = sum(line.lstrip().startswith(b"bestmove") for line in lines.split(b"\n"))
        self.extra_moves += moves
        self.needs_sync = self.needs_sync or moves > 0

    def _converse(self, go: Go, request: bytes, seconds: float) -> int:
        self._search = go
        go.request = request
        return self.channel.converse(go, seconds)

    def _let_begin(self, pondering: PonderedGo) -> None:
        """Wait until a pondering search has begun, on nobody's clock.

        Ethereal forgets a `ponderhit` or a `stop` that comes before its search thread runs,
        and thinks on for ever.
        """
        wait = _PONDER_START_WAIT if self._prints else _SILENT_START_WAIT
        left = wait - (now_ns() - pondering.started) / _NS
        if pondering.info_lines or pondering.is_complete or left <= 0:
            return
        try:
            self.channel.converse(FirstLine(pondering), left)
        except EngineTimeout:
            self.channel.has_failed = False
            if self._prints:
                # Its lines come with its move.
                self._prints = False

    def _thought(self, colour: int, go: Go, elapsed: int) -> Thought:
        move = go.bestmove
        self._expected = ponder = go.ponder
        if self._prints is None and go.info_lines:
            self._prints = True
        kind = self._kinds.get(move, "move")
        return Thought(kind, move, elapsed, ponder, go.info_lines, self._turned[colour])

    def ponder(self, colour: int, limits: Limits) -> Exchange | None:
        if not _MOVE.fullmatch(self._expected):
            return None
        request = self._present() + f" {self._expected}\n".encode()
        request += self.go_command(limits, ponder=True)
        self._clear(limits.seconds)
        self.channel.send(request, _SEND_TIMEOUT)
        self._pondering = PonderedGo(request, now_ns())
        return self._pondering

    def stop_pondering(self, seconds: float) -> None:
        pondering, self._pondering = self._pondering, None
        if pondering is not None:
            self._let_begin(pondering)
            if not pondering.is_complete:
                self._converse(pondering, b"stop\n", seconds)

    def stop_thinking(self, seconds: float) -> Thought | None:
        go = self._search
        if go is None:
            return None
        try:
            elapsed = self._converse(go, b"stop\n", seconds)
        except EngineError:
            return None
        self.channel.has_failed = False
        kind = self._kinds.get(go.bestmove, "move")
        return Thought(kind, go.bestmove, elapsed, go.ponder, go.info_lines)

    def _say_goodbye(self) -> None:
        # Some engines read only `stop` during a search.
        self.channel.send(b"stop\nquit\n", 0.1)


def _without(limits: Limits, colour: int, spent: int) -> Limits:
    """Return the limits of a mover that has already used `spent` ns."""
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


class UciEngine(UciOrUsiEngine):
    """A chess engine over UCI."""

    protocol = "uci"
    _setup_word = "fen"
    _game_lines = ("ucinewgame",)
    _ponder_options = ("Ponder",)

    def _own_options(self, settings: GameSettings, opening: Opening) -> dict[str, OptionValue]:
        # The variant first: it makes engines load their tables.
        return {**self._variant(settings.variant), **super()._own_options(settings, opening)}

    def _variant(self, variant: str) -> dict[str, OptionValue]:
        """Return the option that sets the variant.

        Raises OptionRefused for a variant that the engine does not play.
        """
        if variant == "standard":
            return {}
        name = "UCI_Chess960" if variant == "chess960" else "UCI_Variant"
        option = self._declared(name)
        if option is None:
            raise OptionRefused(f"it has no option {name!r}, which {variant} needs", option=name)
        if name == "UCI_Chess960":
            return {option.name: True}
        if variant.casefold() not in (choice.casefold() for choice in option.choices):
            text = f"option {name!r} cannot be {variant!r}, which it does not play"
            raise OptionRefused(text, option=name)
        return {option.name: variant}

    @staticmethod
    def _clock_words(limits: Limits, first: int, second: int) -> bytes:
        words = b" wtime %d btime %d" % (first, second)
        if limits.increment_ms != (0, 0):
            words += b" winc %d binc %d" % limits.increment_ms
        if limits.moves_to_go:
            words += b" movestogo %d" % limits.moves_to_go
        return words


#: Options of every engine by the protocol's text, declared or not.
_ALWAYS: Final = {
    option.name.casefold(): option
    for option in (
        OptionDeclaration("USI_Hash", "spin", minimum=1),
        OptionDeclaration("USI_Ponder", "check", "false"),
    )
}

#: Options for the ply at which a game is drawn (YaneuraOu, dlshogi).
_MOVE_LIMITS: Final = ("maxmovestodraw", "draw_ply")


class UsiEngine(UciOrUsiEngine):
    """A shogi engine over USI.

    It reads options at `isready`, before `usinewgame`.  Its clock may have byo-yomi.  It can
    resign or declare a win, and learns the result.
    """

    protocol = "usi"
    _setup_word = "sfen"
    _kinds: ClassVar[dict[str, ThoughtKind]] = {"resign": "resign", "win": "claim"}
    _game_lines = ()
    # Fairy-Stockfish declares UCI's name over USI, too.
    _ponder_options = ("USI_Ponder", "Ponder")

    def _declared(self, name: str) -> OptionDeclaration | None:
        return super()._declared(name) or _ALWAYS.get(name.casefold())

    def _own_options(self, settings: GameSettings, opening: Opening) -> dict[str, OptionValue]:
        own = super()._own_options(settings, opening)
        if (
            self.player.ponder
            and not own
            and not any(map(self._player_sets, ("usi_ponder", "ponder")))
        ):
            own = {"USI_Ponder": True}
        return {**own, **self._move_limit(settings, opening)}

    def _move_limit(self, settings: GameSettings, opening: Opening) -> dict[str, OptionValue]:
        """Return the option for a move limit that makes a draw, if the engine has one and
        the player does not set it."""
        if not settings.move_limit or settings.move_limit_result == "unknown":
            return {}
        for name in _MOVE_LIMITS:
            option = self._declared(name)
            if option is None or option.type != "spin":
                continue
            # It counts like the move numbers of a position.
            plies = _first_number(opening) - 1 + len(opening.moves) + settings.move_limit
            fits = option.maximum is None or plies <= option.maximum
            return {option.name: plies} if fits and not self._player_sets(name) else {}
        return {}

    def start_game(self, settings: GameSettings, opening: Opening, colour: int) -> None:
        super().start_game(settings, opening, colour)
        self.channel.send(b"usinewgame\n", self._timeout)

    @staticmethod
    def _clock_words(limits: Limits, first: int, second: int) -> bytes:
        """Byo-yomi is 0 without byo-yomi and increment: some engines search for ever on a `go`
        without it.  USI allows increments or byo-yomi; YaneuraOu reads both together.
        """
        words = b" btime %d wtime %d" % (first, second)
        has_increment = limits.increment_ms != (0, 0)
        if limits.byoyomi_ms or not has_increment:
            words += b" byoyomi %d" % limits.byoyomi_ms
        if has_increment:
            words += b" binc %d winc %d" % limits.increment_ms
        return words

    def end_game(self, outcome: GameOutcome) -> None:
        self.channel.send(f"gameover {outcome}\n".encode(), 0.1)


def _first_number(opening: Opening) -> int:
    """Return the number of the first move from a start position."""
    number = "" if opening.fen is None else opening.fen.split()[-1]
    return max(1, int(number)) if number.isdecimal() and len(number) < 6 else 1
