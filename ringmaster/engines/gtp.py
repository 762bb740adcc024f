"""The Go Text Protocol, version 2: the command exchange and an engine.

Commands without a wait of their own (moves, clocks) are delayed and written together with
the next request.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Final

from ringmaster.engines.channel import Exchange, quoted
from ringmaster.engines.engine import MAX_NAME, MAX_TEXT, Engine, Limits, Thought, start_timeout
from ringmaster.engines.gtp_analysis import COMMANDS, INTERVAL, info_line
from ringmaster.engines.gtp_clock import KATA, clock_command
from ringmaster.errors import EngineError, EngineProtocolError, EngineRefused, EngineTimeout, cut
from ringmaster.model.jobs import GameSettings, Opening
from ringmaster.model.results import Problem, problems_of
from ringmaster.model.time_control import number

#: Longest response in bytes.
MAX_RESPONSE: Final = 1 << 20

_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_ID: Final = re.compile(rb"\d+ +\S")
#: The usual answer: nothing, or a word that begins with a letter.
_USUAL: Final = re.compile(rb"= ?([A-Za-z][!-~]{0,99})?\n\n")
_COLOURS: Final = ("b", "w")
#: Longest version that becomes part of an engine's name; longer ones are greetings.
_MAX_VERSION: Final = 32
_CLAIMING: Final = "gomill-genmove_ex"
_SET_RULES, _GET_RULES = "kata-set-rules", "kata-get-rules"
#: Seconds for an engine that has refused a move to answer the commands behind it.
_REMAINDER = 1.0
#: Seconds for the answer to a command that was written together with the one before.
_AHEAD_PATIENCE = 2.0
#: Limit of delayed commands, which must fit in a pipe.
_MAX_DELAYED: Final = 64


class Command(Exchange):
    """One command; afterwards `ok` and `text` (without "=", trailing space removed).

    Blank lines before a response are ignored.  Any other text is an error.

    line      the command itself; `request` may contain further commands
    optional  whether a refusal is ignored
    label     the command in a refusal's message, "" to leave it out
    """

    ok = False
    text = ""
    _size = 0
    _started = False
    _lines: list[str]

    def __init__(self, *words: str, optional: bool = False, label: str = "") -> None:
        self.line = self.request = (" ".join(words) + "\n").encode("utf-8", "replace")
        self.optional = optional
        self.label = label

    def take(self, lines: bytes) -> bytes | None:
        if not self._started:
            usual = _USUAL.match(lines)
            if usual is not None:
                self.ok = True
                self.text = str(usual[1] or b"", "ascii")
                return lines[usual.end() :]
        return super().take(lines)

    def feed(self, line: bytes) -> bool:
        line = _CONTROL.sub(b"", line.replace(b"\t", b" "))
        if not self._started:
            if not line.strip():
                return False
            if line[:1] not in (b"=", b"?"):
                shown = line[:80].decode("utf-8", "replace")
                raise EngineProtocolError(f"its answer to {self.name()} is no GTP: {shown!r}")
            self._started = True
            self._lines = []
            self.ok = line[:1] == b"="
            # No id was sent, so digits between the sign and a space are a wrong id;
            # "=2" alone is an answer without its space.
            rest = line[1:]
            if _ID.match(rest):
                raise EngineProtocolError(f"its answer to {self.name()} has a wrong id")
            line = rest.lstrip()
            if not line:
                return False
        elif not line.strip():
            self.text = "\n".join(self._lines).strip()
            return True
        self._keep(line)
        return False

    def _keep(self, line: bytes) -> None:
        """Add a line to the answer."""
        self._size += len(line)
        if self._size > MAX_RESPONSE:
            raise EngineProtocolError(f"its answer to {self.name()} exceeds {MAX_RESPONSE} bytes")
        self._lines.append(line.decode("utf-8", "replace").rstrip())

    def name(self) -> str:
        """Return the command's name as a message quotes it."""
        return repr(self.line.split(None, 1)[0].decode())

    def describe(self) -> str:
        return quoted(self.line)


class AnalysisCommand(Command):
    """A request to move with analysis; `text` is the move.

    info  the last line of analysis before the move, b"" without one; of megabytes no other is kept
    """

    info = b""
    _move = ""
    # an empty answer lacks the move, too
    take = Exchange.take

    def feed(self, line: bytes) -> bool:
        if not super().feed(line):
            return False
        if self.ok and not self._move:
            raise EngineProtocolError(
                f"its answer to {self.name()} has no line 'play MOVE': choose the other form of "
                "analysis in its Player(…), or none"
            )
        self.text = self._move or self.text
        return True

    def _keep(self, line: bytes) -> None:
        word = line.split(None, 1)[0]
        if word in (b"info", b"rootInfo"):
            # Leela Zero that ponders goes on after its move.
            self.info = self.info if self._move else line
        elif word == b"play" and not self._move:
            self._move = line[4:].decode("utf-8", "replace").strip()
        else:
            super()._keep(line)


class GtpEngine(Engine):
    """A Go engine over GTP."""

    protocol = "gtp"

    #: The command that set the clock for this game.
    _clock_command: tuple[str, ...] = ()
    _claims = False
    #: The last request that `stop_thinking` may wait for.
    _last_request: Command | None = None
    _delayed: tuple[Command, ...] = ()
    #: The request to move that was written behind delayed commands, and the nanoseconds
    #: that the answer before it took.
    _begun: Command | None = None
    _ahead: int = 0
    #: Whether it gets time_left before each move.
    _sends_time_left: bool = False
    #: After `check`: whether it was told the rules, and its own word on them, "" without one.
    told_rules: bool = False
    rules: str = ""
    #: The rules that it had before it was told others, "" if it was told none.
    _own_rules: str = ""
    #: Whether it has known_command, as far as is known.
    _has_known_command: bool = True

    @property
    def _analysis(self) -> tuple[str, float]:
        """The command that requests a move with analysis, "" for none, and the winrate of a
        certain win."""
        return COMMANDS[self.player.analysis]

    def command(self, *words: str, seconds: float | None = None) -> str:
        """Send a command and return its response.

        `gtp_aliases` are applied.  Raises EngineRefused for a failure response
        (its message is the engine's).
        """
        return self._timed(words, seconds)[0].text

    def _timed(self, words: tuple[str, ...], seconds: float | None) -> tuple[Command, int]:
        self.send_delayed()
        exchange = self._make(words)
        self._require_silence(exchange)
        self._last_request = exchange
        elapsed = self.channel.converse(exchange, self._timeout if seconds is None else seconds)
        if not exchange.ok:
            raise self._refusal(exchange)
        return exchange, elapsed

    def _make(self, words: tuple[str, ...], *, optional: bool = False, label: str = "") -> Command:
        name = self.player.gtp_aliases.get(words[0], words[0])
        kind = AnalysisCommand if words[0] == self._analysis[0] else Command
        return kind(name, *words[1:], optional=optional, label=label)

    def _refusal(self, command: Command) -> EngineRefused:
        text = cut(command.text, MAX_TEXT) or "unspecified failure"
        return EngineRefused(text, self.player.code, command.label)

    def _require_silence(self, command: Command) -> None:
        """Raise EngineProtocolError for output that would pass for the next answer."""
        unasked = self.channel.unasked()
        if unasked:
            self.channel.has_failed = True
            shown = unasked[:80].decode("utf-8", "replace")
            raise EngineProtocolError(
                f"it said {shown!r} unasked, before {command.name()}", self.player.code
            )

    def is_reusable(self) -> bool:
        return self.is_usable() and not self.channel.unasked()

    def optional(self, *words: str) -> str | None:
        """Send a command; return None if the engine does not have it or refuses it."""
        if not self.knows(words[0]):
            return None
        try:
            return self.command(*words)
        except EngineRefused:
            return None

    def knows(self, name: str) -> bool:
        """Return whether the engine has a command, by its list or, since lists may be
        incomplete, by known_command; `gtp_aliases` are applied."""
        return bool(self._is_known(name))

    def _is_known(self, name: str) -> bool | None:
        """Return whether the engine has a command, None when that is unknown."""
        name = self.player.gtp_aliases.get(name, name)
        if name not in self._known:
            self._known[name] = False if self._has_list else None
            if self._has_known_command:
                try:
                    answer = self.command("known_command", name)
                    self._known[name] = answer.strip().lower() == "true"
                except EngineRefused:
                    self._has_known_command = False
        return self._known[name]

    def _shake_hands(self) -> None:
        self._known: dict[str, bool | None] = {}
        self._own_rules = ""
        self._has_known_command = True
        self._has_list: bool = False
        first = self._make(("protocol_version",))
        self._require_silence(first)
        self._converse_at_start(first)
        # As in Gomill: an engine without the command speaks version 2.
        version = first.text if first.ok else "2"
        if not _is_two(version):
            raise EngineProtocolError(f"it speaks GTP version {version[:20]!r}, not 2")
        with suppress(EngineRefused):
            self._known.update(dict.fromkeys(self.command("list_commands").split(), True))
            self._has_list = True
        introduction = self._introduce()
        if introduction is None:
            self.needs_sync = True
            self._restart()
            self.remarks.append(
                f"{self.player.code} takes one command at a time: of two that were written"
                " together it answered the first"
            )
            return
        name, release = introduction
        # Some versions repeat the name or greet the opponent.
        if name and release.casefold().startswith(name.casefold()):
            release = release[len(name) :].lstrip()
        if len(release) > _MAX_VERSION:
            release = ""
        self.name = (f"{name}:{release}" if name and release else name)[:MAX_NAME]
        self.description = cut(self.optional("gomill-describe_engine") or "", MAX_TEXT)

    def _introduce(self) -> tuple[str, str] | None:
        """Return the engine's name and version, "" for a refusal; None for an engine that
        loses the second of two commands that are written together."""
        if self.needs_sync:
            return self.optional("name") or "", self.optional("version") or ""
        name, release = self._make(("name",)), self._make(("version",))
        self._require_silence(name)
        name.request += release.request
        ahead = self.channel.converse(name, self._timeout)
        try:
            self.channel.converse(release, min(_AHEAD_PATIENCE, self._timeout), ahead)
        except EngineTimeout:
            return None
        return name.text if name.ok else "", release.text if release.ok else ""

    def check(self, settings: GameSettings) -> list[Problem]:
        problems: list[Problem] = []
        needed = ["boardsize", "clear_board", "komi", "play", "genmove"]
        if settings.handicap is not None and settings.handicap_style == "fixed":
            needed.append("fixed_handicap")
        if settings.referee is not None and settings.referee.code == self.player.code:
            needed += ["final_score", *(["set_free_handicap"] if settings.handicap else [])]
        # An unknown command is tried.
        missing = [name for name in needed if self._is_known(name) is False]
        if missing:
            problems.append(Problem("it has no command " + ", ".join(missing)))
        if settings.handicap is not None and settings.handicap_style == "free":
            # The colour decides which one it needs; one will do here.
            either = "place_free_handicap", "set_free_handicap"
            if not any(map(self.knows, either)):
                problems.append(Problem("it has neither of the commands " + ", ".join(either)))
        if self._analysis[0] and self._is_known(self._analysis[0]) is False:
            remedy = "choose the other form of analysis in its Player(…), or none"
            problems.append(Problem(f"it has no command {self._analysis[0]}: {remedy}"))
        try:
            self._set_up(settings)
            self.rules = self.optional(_GET_RULES) or ""
            wrong = settings.rules.differences(self.rules) if self.told_rules else ""
            if wrong:
                text = f"told the rules {settings.rules}, it says that it has others: {wrong}"
                problems.append(Problem(f"{text}; choose rules that it knows"))
        except EngineError as error:
            problems += problems_of(error)
        return problems

    def _set_up(self, settings: GameSettings) -> None:
        self._delayed, self._begun = (), None
        # Startup commands may load networks.
        self._timeout = start_timeout(settings, self.player)
        # a tune may have a startup command for the same limit
        self._limit_search()
        rules = settings.rules
        self.told_rules = bool(rules.name) and self.knows(_SET_RULES)
        if self.told_rules and not self._own_rules:
            self._own_rules = self.optional(_GET_RULES) or ""
        elif self._own_rules and not rules.name:
            # a process that goes on to games without rules
            self.require(_SET_RULES, self._own_rules)
        for words in self.player.startup_gtp_commands:
            self.require(*words)
        for words in (
            ("boardsize", str(settings.board_size)),
            ("clear_board",),
            ("komi", number(settings.komi)),
            *([(_SET_RULES, rules.command)] if self.told_rules else []),
        ):
            self._delayed += (self._make(words, label=" ".join(words)),)
        self.send_delayed()
        self._set_clock()
        self._timeout = settings.hang_timeout

    def _limit_search(self) -> None:
        """Send the limits of visits and playouts.  Raises EngineRefused."""
        player = self.player
        if player.analysis == "lz" or player.playouts is not None:
            # Leela Zero ends an answer with analysis only after pondering, and limits no playouts
            # of an engine that ponders.
            self.optional("lz-setoption", "name", "pondering", "value", "false")
        for name, limit in ("visits", player.visits), ("playouts", player.playouts):
            if limit is None:
                continue
            if self.knows("kata-set-param"):
                self.require("kata-set-param", f"max{name.capitalize()}", str(limit))
            elif self.knows("lz-setoption"):
                self.require("lz-setoption", "name", name, "value", str(limit))
            else:
                raise EngineRefused(
                    f"it cannot be told its {name}: it has neither of the commands "
                    f"kata-set-param, lz-setoption; leave {name} out, and limit it by its command "
                    "line or startup_gtp_commands",
                    player.code,
                )

    def require(self, *words: str) -> str:
        """Send a command that the game needs and return its response.

        Raises EngineRefused that names the command.
        """
        try:
            return self.command(*words)
        except EngineRefused as refusal:
            raise EngineRefused(str(refusal), self.player.code, " ".join(words)) from None

    def _set_clock(self) -> None:
        self._clock_command = clock_command(
            self.player, self.knows, lambda: self.optional("kata-list_time_settings")
        )
        if self._clock_command:
            self.require(*self._clock_command)
        self._sends_time_left = bool(self._clock_command) and self.knows("time_left")

    def start_game(self, settings: GameSettings, opening: Opening, colour: int) -> None:
        self._set_up(settings)
        if self.player.startup_gtp_commands:
            # They may have changed the description.
            self.description = cut(self.optional("gomill-describe_engine") or "", MAX_TEXT)
        self._claims = self._may_claim()
        for i, move in enumerate(opening.moves):
            self.observe(i % 2, move, own=False)
        self.send_delayed()

    def _may_claim(self) -> bool:
        """Return whether requests to move allow the engine to claim a win."""
        if not self.player.allow_claim or not self.knows(_CLAIMING):
            return False
        try:
            # Without arguments it lists the engine's keywords.
            return "claim" in self.command(_CLAIMING).split()
        except EngineRefused:
            # As in Gomill: an engine must ignore unknown keywords.
            return True

    def send_time(self, limits: Limits) -> None:
        if not self._sends_time_left:
            return
        has_fractions = self._clock_command[0] == KATA
        for colour, left in zip(_COLOURS, limits.time_left, strict=True):
            if left is not None:
                seconds = number(left[0]) if has_fractions else str(int(left[0]))
                words = ("time_left", colour, seconds, str(left[1]))
                self._delayed += (self._make(words, optional=True),)

    def send_delayed(self) -> None:
        if self._delayed:
            self._send_delayed_and(())

    def begin(self, colour: int, limits: Limits) -> None:
        if self._delayed and self.needs_sync:
            self._send_delayed_and(())
        elif self._delayed:
            self._begun = self._last_request = self._make(self._request(colour, limits))
            self._send_delayed_and((self._begun,))

    def _send_delayed_and(self, behind: tuple[Command, ...]) -> None:
        """Write the delayed commands and then `behind` at once; read the answers to the
        delayed commands.

        GTP answers commands in order, so none has to wait for the answer before.  An
        engine that takes one command at a time must have nothing `behind`.  Raises
        EngineRefused.
        """
        delayed, self._delayed = self._delayed, ()
        if self.needs_sync:
            for command in delayed:
                self._require_silence(command)
                self.channel.converse(command, self._timeout)
                if not command.ok and not command.optional:
                    raise self._refusal(command)
            return
        commands = delayed + behind
        first = delayed[0]
        self._require_silence(first)
        first.request = b"".join([command.request for command in commands])
        ahead = None
        for done, command in enumerate(delayed, 1):
            ahead = self.channel.converse(command, self._timeout, ahead)
            if not command.ok and not command.optional:
                self._begun = None
                self._drain(commands[done:], ahead)
                raise self._refusal(command)
            self._ahead = ahead

    def _drain(self, commands: tuple[Command, ...], ahead: int) -> None:
        """Read the answers to the commands behind a refused one.  An engine that does not
        give them in time is unusable."""
        try:
            for command in commands:
                ahead = self.channel.converse(command, _REMAINDER, ahead)
        except EngineError:
            self.channel.has_failed = True

    def _request(self, colour: int, limits: Limits) -> tuple[str, ...]:
        """Return the command that requests a move."""
        name = _COLOURS[colour]
        if self._claims:
            return (_CLAIMING, name, "claim")
        return (self._analysis[0], name, INTERVAL) if self._analysis[0] else ("genmove", name)

    def think(self, colour: int, limits: Limits) -> Thought:
        request, self._begun = self._begun, None
        if request is None:
            request, elapsed = self._timed(self._request(colour, limits), limits.seconds)
        else:
            elapsed = self.channel.converse(request, limits.seconds, self._ahead)
            if not request.ok:
                raise self._refusal(request)
            if not request.text:
                self._require_synchrony(request, limits.seconds)
        answer = request.text.strip()
        folded = answer.lower()
        if folded == "resign":
            return Thought("resign", answer, elapsed)
        if folded == "claim" and self._claims:
            return Thought("claim", answer, elapsed)
        thought = Thought("move", answer, elapsed)
        if isinstance(request, AnalysisCommand):
            is_turned = self.player.turns_scores(colour)
            thought.info_lines, thought.lead = info_line(
                request.info, answer, self._analysis[1], is_turned=is_turned
            )
        return thought

    def _require_synchrony(self, request: Command, seconds: float) -> None:
        """Check whether an empty answer to `request` was a second answer to the command
        before it, with the move still to come.  Raises EngineProtocolError."""
        try:
            version = self.command("protocol_version", seconds=seconds)
        except EngineProtocolError:
            raise
        except EngineError:
            return
        if not _is_two(version):
            self.channel.has_failed = True
            raise EngineProtocolError(
                f"it said '=' unasked, before {request.name()}", self.player.code
            )

    def stop_thinking(self, seconds: float) -> Thought | None:
        # GTP cannot stop a search; wait whether the answer comes.
        request = self._last_request
        if request is None:
            return None
        request.request = b""
        try:
            elapsed = self.channel.converse(request, seconds)
        except EngineError:
            return None
        self.channel.has_failed = False
        return Thought("move", request.text, elapsed)

    def observe(self, colour: int, move: str, *, own: bool) -> None:
        if not own:
            if len(self._delayed) >= _MAX_DELAYED:
                self.send_delayed()
            self._delayed += (self._make(("play", _COLOURS[colour], move)),)

    def explain_last_move(self) -> str:
        """Return the engine's comment on its last move, "" without one."""
        return cut(self.optional("gomill-explain_last_move") or "", MAX_TEXT)

    def cpu_time(self) -> float | None:
        """Return the CPU seconds that the engine itself reports, or None."""
        try:
            seconds = float(self.optional("gomill-cpu_time") or "")
        except ValueError:
            return None
        return seconds if 0 <= seconds < 1e9 else None

    def _say_goodbye(self) -> None:
        self.channel.send(b"quit\n", 0.1)


def _is_two(version: str) -> bool:
    """Return whether a protocol version is 2; some engines write 2.0."""
    try:
        return float(version) == 2
    except ValueError:
        return False
