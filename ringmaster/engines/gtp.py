"""The Go Text Protocol, version 2: the command exchange and an engine."""

from __future__ import annotations

import re

from ringmaster.engines.channel import Exchange
from ringmaster.engines.engine import MAX_NAME, Engine, Limits, Thought, cut
from ringmaster.errors import EngineError, EngineProtocolError, EngineRefused
from ringmaster.model.jobs import GameSettings, Opening

#: A longer response than this (bytes) is refused.
MAX_RESPONSE = 1 << 20

_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_COLOURS = ("b", "w")


class Command(Exchange):
    """One command; afterwards `ok` and `text` (without "=", trailing space removed).

    Blank lines before a response are passed over; anything else that is no
    response is an error, as GTP leaves no room for it.
    """

    def __init__(self, *words: str) -> None:
        self.request = (" ".join(words) + "\n").encode("utf-8", "replace")
        self.ok = False
        self.text = ""
        self._lines: list[str] = []
        self._size = 0
        self._started = False

    def feed(self, line: bytes) -> bool:
        line = _CONTROL.sub(b"", line.replace(b"\t", b" "))
        if not self._started:
            if not line.strip():
                return False
            if line[:1] not in (b"=", b"?"):
                shown = line[:80].decode("utf-8", "replace")
                raise EngineProtocolError(f"its answer to {self._name()} is no GTP: {shown!r}")
            self._started = True
            self.ok = line[:1] == b"="
            # no id was sent, so digits right after the sign are an id that nobody asked for
            rest = line[1:]
            if rest[:1].isdigit():
                raise EngineProtocolError(f"its answer to {self._name()} has a wrong id")
            line = rest.lstrip()
            if not line:
                return False
        elif not line.strip():
            self.text = "\n".join(self._lines).strip()
            return True
        self._size += len(line)
        if self._size > MAX_RESPONSE:
            raise EngineProtocolError(f"its answer to {self._name()} exceeds {MAX_RESPONSE} bytes")
        self._lines.append(line.decode("utf-8", "replace").rstrip())
        return False

    def _name(self) -> str:
        return repr(self.request.split(None, 1)[0].decode())


class GtpEngine(Engine):
    """A Go engine over GTP."""

    protocol = "gtp"

    def command(self, *words: str, seconds: float | None = None) -> str:
        """Send a command and return its response.

        `gtp_aliases` are applied.  Raises EngineRefused for a failure response
        (its message is the engine's).
        """
        return self._timed(words, seconds)[0]

    def _timed(self, words: tuple[str, ...], seconds: float | None) -> tuple[str, int]:
        name = self.player.gtp_aliases.get(words[0], words[0])
        exchange = Command(name, *words[1:])
        elapsed = self.channel.converse(exchange, self._timeout if seconds is None else seconds)
        if not exchange.ok:
            raise EngineRefused(cut(exchange.text) or "unspecified failure", self.player.code)
        return exchange.text, elapsed

    def optional(self, *words: str) -> str | None:
        """Return the response to a command that the engine may not have, or
        may refuse: None in both cases."""
        if not self.knows(words[0]):
            return None
        try:
            return self.command(*words)
        except EngineRefused:
            return None

    def knows(self, name: str) -> bool:
        """Whether the engine has a command, by its list of commands or else by
        its own word; `gtp_aliases` are applied."""
        name = self.player.gtp_aliases.get(name, name)
        if name not in self._known:
            self._known[name] = not self._has_list and self._says_it_knows(name)
        return self._known[name]

    def _says_it_knows(self, name: str) -> bool:
        try:
            return self.command("known_command", name).strip().lower() == "true"
        except EngineRefused:
            return False

    def _shake_hands(self) -> None:
        self._known: dict[str, bool] = {}
        self._has_list = False
        try:
            version = self.command("protocol_version")
        except EngineRefused:
            # Gomill: an engine without the command is taken to speak version 2
            version = "2"
        if version.strip() != "2":
            raise EngineProtocolError(f"it speaks GTP version {version[:20]!r}, not 2")
        try:
            self._known = dict.fromkeys(self.command("list_commands").split(), True)
            self._has_list = True
        except EngineRefused:
            pass
        name = self.optional("name") or ""
        release = self.optional("version") or ""
        # an engine may repeat its name in its version
        if release.startswith(name) and name:
            release = release[len(name) :].lstrip()
        self.name = (f"{name}:{release}" if name and release else name)[:MAX_NAME]
        self.description = cut(self.optional("gomill-describe_engine") or "")

    def check(self, settings: GameSettings) -> list[str]:
        problems = []
        needed = ["boardsize", "clear_board", "komi", "play", "genmove"]
        missing = [name for name in needed if not self.knows(name)]
        if missing:
            problems.append("it has no command " + ", ".join(missing))
        try:
            self._set_up(settings)
        except EngineError as error:
            problems.append(str(error))
        return problems

    def _set_up(self, settings: GameSettings) -> None:
        self._timeout = settings.hang_timeout
        commands = [
            *self.player.startup_gtp_commands,
            ("boardsize", str(settings.board_size)),
            ("clear_board",),
            ("komi", _komi(settings.komi)),
        ]
        for words in commands:
            try:
                self.command(*words)
            except EngineRefused as refusal:
                raise EngineRefused(
                    f"it refused {' '.join(words)!r}: {refusal}", self.player.code
                ) from None

    def start_game(self, settings: GameSettings, opening: Opening, colour: int) -> None:
        self._set_up(settings)
        self._claims = self.player.allow_claim and self.knows("gomill-genmove_ex")
        for i, move in enumerate(opening.moves):
            self.observe(i % 2, move, own=False)

    def think(self, colour: int, limits: Limits) -> Thought:
        name = _COLOURS[colour]
        words = ("gomill-genmove_ex", name, "claim") if self._claims else ("genmove", name)
        text, elapsed = self._timed(words, limits.seconds)
        answer = text.strip()
        folded = answer.lower()
        if folded == "resign":
            return Thought("resign", answer, elapsed)
        if folded == "claim" and self._claims:
            return Thought("claim", answer, elapsed)
        return Thought("move", answer, elapsed)

    def observe(self, colour: int, move: str, *, own: bool) -> None:
        if not own:
            self.command("play", _COLOURS[colour], move)

    def explain_last_move(self) -> str:
        """Return the engine's comment on the move it just made, "" if none."""
        return cut(self.optional("gomill-explain_last_move") or "")

    def cpu_time(self) -> float | None:
        """Return the CPU seconds since its start that the engine itself
        reports, or None."""
        try:
            seconds = float(self.optional("gomill-cpu_time") or "")
        except ValueError:
            return None
        return seconds if 0 <= seconds < 1e9 else None

    def _say_goodbye(self) -> None:
        self.channel.send(b"quit\n", 0.1)


def _komi(komi: float) -> str:
    """Return komi as it was meant: 6 rather than 6.0, 7.5 as it is."""
    return str(int(komi)) if komi == int(komi) else str(komi)
