"""Scores of many positions out of one engine: streams of requests and what is found in
the bytes that come back.

Nothing here waits for one answer before it sends the next request, unless it is told
to, and the output is searched by the chunk, never line by line: an engine that prints
two kilobytes for a position is to be the only thing that is slow.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Sequence

from ringmaster.engines.exchange import Stream
from ringmaster.engines.info import last_score_lines, read_info, read_score
from ringmaster.errors import EngineProtocolError
from ringmaster.model.wording import shown

#: Centipawns that stand for a mate.
MATE = 10_000.0
#: Bytes kept of one answer, its end.
MAX_ANSWER = 1 << 14

_READY = b"isready\n"
_READYOK = re.compile(rb"\nreadyok[ \t\r]*(?=\n)")
_BESTMOVE = b"\nbestmove"


class Requests(Stream):
    """Requests of which so many are under way at a time.

    requests   what is written for each position, in order; whole lines
    in_flight  how many may be without an answer
    end        is written behind the last one
    """

    def __init__(self, requests: Sequence[bytes], in_flight: int, end: bytes = b"") -> None:
        self._requests = requests
        self._in_flight = max(1, in_flight)
        # filled up again when half of it is answered: fewer writes, fewer wakings
        self._enough = max(1, self._in_flight // 2)
        self._end = end
        self._sent = 0
        # a quarter: the engine must not run out of requests meanwhile
        self.slack = self._in_flight // 4
        self.done = 0

    def begin(self) -> bytes:
        return self._more()

    def _more(self) -> bytes:
        """Return the next requests that may be written, b"" for none."""
        sent, total = self._sent, len(self._requests)
        under_way = sent - self.done
        if sent == total or self._in_flight - under_way < self._enough:
            return b""
        upto = self._sent = min(total, self.done + self._in_flight)
        return b"".join(self._requests[sent:upto]) + (self._end if upto == total else b"")

    def _check_count(self) -> None:
        if self.done > self._sent:
            raise EngineProtocolError(f"it gave {self.done} answers to {self._sent} requests")

    @abstractmethod
    def take(self, lines: bytes) -> bytes | None:
        """See Stream."""


class EvaluationStream(Requests):
    """Answers that hold one line of a known form each, found by counting them; isready
    follows the last request, so that an answer that is missing is found out at once.

    pattern  begins with a newline; its group is the score, or "none"
    values   the scores as printed, NaN for "none"
    """

    def __init__(
        self, requests: Sequence[bytes], in_flight: int, pattern: re.Pattern[bytes]
    ) -> None:
        super().__init__(requests, in_flight, _READY)
        self._find = pattern.findall
        self.values: list[float] = []
        self._nones = 0

    def take(self, lines: bytes) -> bytes | None:
        text = b"\n" + lines
        found = self._find(text)
        if found:
            try:
                self.values += map(float, found)
            except ValueError:
                del self.values[self.done :]
                self.values += map(self._value, found)
            self.done = len(self.values)
            self._check_count()
        if self._sent < len(self._requests):
            return self._more()
        if _READYOK.search(text) is None:
            return b""
        self._check()
        return None

    def _value(self, text: bytes) -> float:
        if text == b"none":
            self._nones += 1
            return math.nan
        try:
            return float(text)
        except ValueError:
            raise EngineProtocolError(
                f"it gave {shown(text.decode('ascii', 'replace'))} for a score"
            ) from None

    def _check(self) -> None:
        if self.done != len(self._requests):
            raise EngineProtocolError(
                f"it gave a score for {self.done} of {len(self._requests)} positions, and"
                " nobody knows for which"
            )
        if sum(map(math.isnan, self.values)) != self._nones or any(map(math.isinf, self.values)):
            bad = next(v for v in self.values if not math.isfinite(v))
            raise EngineProtocolError(f"it gave {bad} for a score")


class SearchStream(Requests):
    """Answers to `go`, each of which ends with bestmove.

    values  the last exact score of each for the mover, in centipawns; a mate is ±MATE,
            NaN where there is no exact score
    """

    def __init__(self, requests: Sequence[bytes], in_flight: int) -> None:
        super().__init__(requests, in_flight)
        self.values: list[float] = []
        self.last_line = b""
        self._kept = b""

    def take(self, lines: bytes) -> bytes | None:
        *answers, rest = (b"\n" + lines).split(_BESTMOVE)
        kept = self._kept
        for part in answers:
            line = last_score_lines(part)[0] or kept
            kept = b""
            self.values.append(score_of(line))
            self.last_line = line
        self._kept = last_score_lines(rest)[0] or kept
        self.done = len(self.values)
        self._check_count()
        return None if self.done == len(self._requests) else self._more()

    @property
    def depth(self) -> int | None:
        """The depth of the last answer's score, None if it does not say."""
        return read_info(self.last_line).get("depth")


def score_of(line: bytes) -> float:
    """Return the score of an info line for the mover, NaN for b""."""
    score, mate = read_score(line)
    if mate is not None:
        # "mate 0" is the mover's own
        return MATE if mate > 0 else -MATE
    return math.nan if score is None else float(score)


class AnswerStream(Requests):
    """Answers of no known form, as texts: what is printed up to readyok, which is asked
    for behind each request, or up to bestmove where the request is a `go`.

    answers  texts without what delimits them, a bestmove line excepted; of a long one
             the end
    """

    def __init__(self, requests: Sequence[bytes], in_flight: int, *, searches: bool) -> None:
        if not searches:
            requests = [request + _READY for request in requests]
        super().__init__(requests, in_flight)
        self.answers: list[bytes] = []
        self._searches = searches
        self._kept = b""

    def take(self, lines: bytes) -> bytes | None:
        lines = lines.replace(b"\r\n", b"\n") if b"\r" in lines else lines
        sign = b"bestmove" if self._searches else b"readyok"
        text = self._kept + lines
        at = 0
        begin = max(0, len(self._kept) - len(sign))
        while (found := self._find(text, sign, begin)) >= 0:
            end = text.index(b"\n", found) + 1
            answer = text[at : end if self._searches else found]
            self.answers.append(answer[-MAX_ANSWER:])
            at = begin = end
        self._kept = text[at:][-MAX_ANSWER:]
        self.done = len(self.answers)
        self._check_count()
        return None if self.done == len(self._requests) else self._more()

    @staticmethod
    def _find(text: bytes, sign: bytes, begin: int) -> int:
        """Return where a line begins with `sign`, -1 for nowhere."""
        at = text.find(sign, begin)
        while at > 0 and text[at - 1] != 10:
            at = text.find(sign, at + 1)
        return at
