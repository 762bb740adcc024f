"""What was said to an engine and what it said, as evidence: the last lines before
and after the last command, and the whole of the handshake."""

from __future__ import annotations

from ringmaster.engines.exchange import Transcript
from ringmaster.games.text import one_line

#: Lines kept of what was sent and of what came back, for each of the last two turns.
SENT, RECEIVED = 3, 4
#: Columns of a line of evidence.
WIDTH = 160
#: Bytes and lines kept of a handshake: no list of options is as long.
HANDSHAKE_BYTES = 1 << 18


class Tape:
    """A transcript that remembers the end of the conversation.

    beside  another transcript that gets everything, too
    """

    def __init__(self, beside: Transcript | None = None) -> None:
        self._beside = beside
        #: Lines of the handshake, kept while `is_opening`.
        self.handshake: list[bytes] = []
        self.is_opening = True
        #: Lines that began with "bestmove" since this was last set to 0.
        self.bestmoves = 0
        self._room = HANDSHAKE_BYTES
        self._turns: list[tuple[list[bytes], list[bytes]]] = []

    def note(self, code: str, direction: str, data: bytes) -> None:
        """Write down lines; direction is ">", "<" or "!" (standard error)."""
        if self._beside is not None:
            self._beside.note(code, direction, data)
        if direction == ">":
            self._turns = [*self._turns[-1:], (data.split(b"\n")[-SENT:], [])]
        elif direction == "<":
            self.bestmoves += data.count(b"\nbestmove") + data.startswith(b"bestmove")
            if self.is_opening and self._room > 0:
                kept = data[: self._room]
                self._room -= len(kept)
                self.handshake += kept.split(b"\n")
            if self._turns:
                heard = self._turns[-1][1]
                # the rest of a flood is cut off before it is split
                heard += data[-RECEIVED * 4096 :].rsplit(b"\n", RECEIVED)[-RECEIVED:]
                del heard[:-RECEIVED]

    def forget(self) -> None:
        """Begin anew, for another process."""
        self._turns.clear()
        self.bestmoves = 0

    def evidence(self) -> tuple[str, ...]:
        """Return the last two turns as printable lines, "> " or "< " before each."""
        lines: list[str] = []
        for sent, heard in self._turns:
            lines += [f"> {_printable(line)}" for line in sent]
            lines += [f"< {_printable(line)}" for line in heard]
        return tuple(lines)


def _printable(line: bytes) -> str:
    return one_line(line[: 4 * WIDTH].decode("utf-8", "replace"), WIDTH)
