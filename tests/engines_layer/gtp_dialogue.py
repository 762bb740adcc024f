"""A scripted GTP engine without a process, and scripted dialogues."""

from __future__ import annotations

from collections.abc import Callable

from ringmaster.engines.channel import Channel, Exchange
from ringmaster.engines.gtp import GtpEngine
from ringmaster.engines.process import Surroundings
from ringmaster.errors import EngineError
from ringmaster.model.players import Player

#: The answer to a command: a text, a failure ("? …"), an error, or what makes one.
Answer = str | EngineError | Callable[[list[str]], str]

STANDARD: dict[str, Answer] = {
    "protocol_version": "2",
    "name": "Talker",
    "version": "1.0",
    "boardsize": "",
    "clear_board": "",
    "komi": "",
    "play": "",
    "genmove": "D4",
}


class DialogueChannel(Channel):
    """In the place of a Channel: an exchange is answered at once."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self.written_lines: list[str] = []
        #: The same, grouped by write.
        self.writes: list[str] = []
        self.has_failed = False
        #: What stands in the pipe before the next command.
        self.stray = b""
        #: Commands written whose answers nobody has read yet.
        self.unanswered: list[str] = []

    def unasked(self) -> bytes:
        stray, self.stray = self.stray, b""
        return stray

    def converse(self, exchange: Exchange, seconds: float, ahead: int | None = None) -> int:
        if ahead is None:
            assert not self.unanswered, "answers are left behind"
            self.writes.append(exchange.request.decode())
            self.unanswered = self.writes[-1].splitlines()
            self.written_lines += self.unanswered
        words = self.unanswered.pop(0).split()
        answer = self.answers.get(words[0], "? unknown command")
        if words[0] == "list_commands" and "list_commands" not in self.answers:
            answer = "\n".join([*self.answers, "list_commands"])
        if callable(answer):
            answer = answer(words[1:])
        if isinstance(answer, Exception):
            raise answer
        text = answer if answer.startswith("?") else f"= {answer}"
        for part in [*text.split("\n"), ""]:
            exchange.feed(part.encode())
        return 1


def talker(
    player: Player | None = None, *lacking: str, **more: Answer
) -> tuple[GtpEngine, DialogueChannel]:
    """Return an engine after its handshake, and its channel.

    more     answers by command, "__" for "-"; None removes a command
    """
    answers = {**STANDARD, **{name.replace("__", "-"): text for name, text in more.items()}}
    for name in lacking:
        answers.pop(name, None)
    engine = GtpEngine(player or Player("x", ("x",)), Surroundings({}))
    channel = DialogueChannel(answers)
    engine._channel = channel
    engine._shake_hands()
    channel.written_lines.clear()
    return engine, channel


def converse(exchange: Exchange, *lines: str) -> list[str]:
    """Feed lines until the exchange is complete; returns the lines left over.

    Fails when the exchange is still waiting after the last line.
    """
    for i, line in enumerate(lines):
        if exchange.feed(line.encode()):
            return list(lines[i + 1 :])
    raise AssertionError(f"{exchange.request!r} is still waiting after {lines!r}")
